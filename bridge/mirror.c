/* mirror.c - the ring that is written. */
#include "bridge/mirror.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ring/testpoint.h"
#include "shared/log.h"
#include "shared/writer_talk.h"

#define REPORTS_MAX 192
#define NUMBERS_TRIED 1000             /* of streams, to find the mirror of one */

/* ---- how it comes about ----------------------------------------------------------------- */

bool mirror_name(struct mirror *mirror, const struct wire_hello *hello)
{
	const char *pattern = mirror->options->ring;
	size_t at = 0;

	for (; *pattern != '\0' && at < RING_NAME_MAX; pattern++) {
		char piece[2 * WIRE_STREAM_ID + 1] = { *pattern, '\0' };

		if (mirror->options->serve && *pattern == '%') {
			pattern++;
			if (*pattern == 'n')
				snprintf(piece, sizeof piece, "%u", mirror->number);
			for (size_t i = 0; *pattern == 'i' && i < WIRE_STREAM_ID; i++)
				snprintf(piece + 2 * i, 3, "%02x", hello->stream[i]);
		}
		snprintf(mirror->name + at, sizeof mirror->name - at, "%s", piece);
		at += strlen(piece);
	}
	return at <= RING_NAME_MAX && *pattern == '\0';
}

static void on_event(void *context, const struct ring_event *event)
{
	struct mirror *mirror = context;
	struct ring_writer *ring = mirror->ring;
	char tail[160];

	if (event->kind == RING_EVENT_READERS_OUT)
		atomic_store(&mirror->readers_out, true);
	writer_talk_event(mirror->name, event, mirror->options->stall_timeout_ms);
	if (event->kind != RING_EVENT_TICK || ring == NULL || !progress_is_due(&mirror->progress))
		return;
	writer_talk_progress(ring, tail, sizeof tail);
	progress_show(&mirror->progress, tail);
}

static struct ring_writer_options ring_options(struct mirror *mirror)
{
	const struct bridge_options *wanted = mirror->options;
	struct ring_writer_options options = {
		.mode = wanted->mode,
		.label = "sluice-bridge",
		.stall_timeout_ms = wanted->stall_timeout_ms,
		.observer = on_event,
		.observer_context = mirror,
		.takeover_ms = (uint32_t)wanted->retry_ms,
	};

	return options;
}

static void ring_is_there(struct mirror *mirror, struct ring_writer *ring)
{
	mirror->ring = ring;
	mirror->slot_size = ring_writer_geometry(ring).slot_size;
}

enum exit_code mirror_create(struct mirror *mirror, const struct wire_hello *hello)
{
	struct ring_writer_options options = ring_options(mirror);
	struct ring_shortage shortage;
	struct ring_writer *ring;
	int error;

	options.geometry = hello->geometry;
	if (mirror->options->slots != 0)
		options.geometry.slot_count = mirror->options->slots;
	options.stream_id = hello->stream;
	options.start = hello->start;
	error = ring_create(&ring, mirror->name, &options, &shortage, NULL);
	if (error != 0)
		return writer_talk_create_failed(mirror->name, error, &shortage, "--slots");
	ring_is_there(mirror, ring);
	TESTPOINT("mirror_created");
	return EXIT_COMPLETE;
}

int mirror_take_over(struct mirror *mirror, const uint8_t *stream_id)
{
	struct ring_writer_options options = ring_options(mirror);
	struct ring_writer *ring;
	int error;

	options.stream_id = stream_id;
	error = ring_takeover(&ring, mirror->name, &options);
	if (error != 0)
		return error;
	ring_is_there(mirror, ring);
	log_note("ring \"%s\": goes on at byte %" PRIu64, mirror->name, ring_writer_published(ring));
	TESTPOINT("mirror_taken_over");
	return 0;
}

bool mirror_find(struct mirror *mirror, const struct wire_hello *hello)
{
	unsigned number = mirror->number;

	if (!mirror->options->serve)
		return false;
	for (mirror->number = 1; mirror->number <= NUMBERS_TRIED; mirror->number++)
		if (mirror_name(mirror, hello) && mirror_take_over(mirror, hello->stream) == 0)
			return true;
	mirror->number = number;
	return false;
}

/* ---- its life and end ------------------------------------------------------------------- */

uint64_t mirror_publish(struct mirror *mirror)
{
	uint64_t position = ring_writer_position(mirror->ring);

	ring_writer_publish(mirror->ring);
	atomic_store(&mirror->progress.bytes, position);
	return position;
}

void mirror_blame(const struct mirror *mirror, char *text, size_t size)
{
	static const char *const outcomes[] = { "has no result", "", "failed", "died", "was evicted" };
	struct ring_reader_report reports[REPORTS_MAX];
	size_t count = ring_writer_reports(mirror->ring, reports, REPORTS_MAX);
	char who[WRITER_TALK_WHO_MAX];

	snprintf(text, size, "not every required consumer completed it");
	for (size_t i = 0; i < count && i < REPORTS_MAX; i++) {
		if (!reports[i].required || reports[i].outcome == RING_GOOD)
			continue;
		snprintf(text, size, "ring \"%s\": %s %s", mirror->name,
		         writer_talk_who(&reports[i].process, who), outcomes[reports[i].outcome]);
		return;
	}
}

void mirror_end(struct mirror *mirror, enum ring_end end, int code)
{
	int before;

	if (mirror->ring != NULL && ring_writer_ended(mirror->ring, &before) == RING_OPEN)
		ring_writer_end(mirror->ring, end, code);
}

void mirror_close(struct mirror *mirror)
{
	struct ring_writer *ring = mirror->ring;

	mirror->ring = NULL;           /* a late signal finds nothing to interrupt */
	if (ring != NULL)
		ring_destroy(ring);
}

void mirror_interrupt(struct mirror *mirror)
{
	struct ring_writer *ring = mirror->ring;

	if (ring != NULL)
		ring_writer_interrupt(ring);
}
