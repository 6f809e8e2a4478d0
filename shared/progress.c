/* progress.c - how far a run is. */
#include "shared/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "ring/wait.h"
#include "shared/log.h"
#include "shared/units.h"

#define TERMINAL_NS 500000000u         /* between two refreshes */
#define PLAIN_NS 10000000000u          /* between two lines */

void progress_start(struct progress *progress, int wanted)
{
	progress->terminal = isatty(STDERR_FILENO) == 1;
	progress->on = wanted > 0 || (wanted < 0 && progress->terminal);
	progress->started_ns = progress->shown_ns = wait_now_ns();
	progress->shown_bytes = 0;
}

bool progress_is_due(const struct progress *progress)
{
	return progress->on &&
	       wait_now_ns() - progress->shown_ns >= (progress->terminal ? TERMINAL_NS : PLAIN_NS);
}

static void format_left(uint64_t left_bytes, double rate, char *out, size_t size)
{
	uint64_t seconds = rate > 0 ? (uint64_t)((double)left_bytes / rate) : 0;

	if (rate <= 0)
		snprintf(out, size, ", ETA unknown");
	else
		snprintf(out, size, ", ETA %" PRIu64 ":%02" PRIu64 ":%02" PRIu64,
		         seconds / 3600, seconds / 60 % 60, seconds % 60);
}

void progress_show(struct progress *progress, const char *tail)
{
	char done[UNITS_TEXT_MAX], rate_text[UNITS_TEXT_MAX], mean_text[UNITS_TEXT_MAX];
	uint64_t now = wait_now_ns(), bytes = atomic_load_explicit(&progress->bytes, memory_order_relaxed);
	uint64_t total = atomic_load_explicit(&progress->total, memory_order_relaxed);
	double span = (double)(now - progress->shown_ns) / 1e9;
	double whole = (double)(now - progress->started_ns) / 1e9;
	double rate = span > 0 ? (double)(bytes - progress->shown_bytes) / span : 0;
	double mean = whole > 0 ? (double)bytes / whole : 0;
	char left[48] = "", line[512];

	if (total > bytes)
		format_left(total - bytes, mean, left, sizeof left);
	snprintf(line, sizeof line, "%s, %s/s (average %s/s)%s%s",
	         units_format_bytes(bytes, done), units_format_bytes((uint64_t)rate, rate_text),
	         units_format_bytes((uint64_t)mean, mean_text), left, tail);
	progress->shown_ns = now;
	progress->shown_bytes = bytes;
	if (progress->terminal)
		log_status(line);
	else
		log_note("%s", line);
}
