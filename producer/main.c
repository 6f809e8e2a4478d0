/* main.c - sluice-producer: inputs into a ring. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "producer/options.h"
#include "producer/source.h"
#include "ring/wait.h"
#include "shared/command.h"
#include "shared/json_out.h"
#include "shared/leave.h"
#include "shared/log.h"
#include "shared/progress.h"
#include "shared/ready.h"
#include "shared/units.h"
#include "shared/version.h"

#define REPORTS_MAX 192

/* The one run of this program; the watcher's observer and signal handler see it. */
static struct {
	struct producer_options options;
	_Atomic(struct ring_writer *) ring;
	struct stream_writer *stream;
	struct source_job job;
	struct progress progress;
	uint64_t started_ns;
	uint64_t input_bytes;
	_Atomic int ended;             /* the stream's end is stored */
} run;

/* ---- what happens meanwhile ---------------------------------------------------- */

static void on_leave(void)
{
	struct ring_writer *ring = run.ring;

	if (ring != NULL)
		ring_writer_interrupt(ring);
}

static const char *described(const struct ring_process *process, char *text, size_t size)
{
	if (process->label[0] != '\0')
		snprintf(text, size, "consumer \"%s\" (pid %d)", process->label, (int)process->pid);
	else
		snprintf(text, size, "consumer (pid %d)", (int)process->pid);
	return text;
}

static void show_progress(void)
{
	struct ring_process process;
	struct ring_writer *ring = run.ring;
	char tail[160] = "", who[RING_LABEL_MAX + 32];
	struct ring_geometry geometry;
	uint64_t lag, payload;

	if (ring == NULL || !progress_is_due(&run.progress))
		return;
	geometry = ring_writer_geometry(ring);
	payload = (uint64_t)geometry.slot_size * geometry.slot_count;
	if (ring_writer_slowest(ring, &lag, &process) >= 0)
		snprintf(tail, sizeof tail, ", ring %u%% full, slowest: %s",
		         (unsigned)(lag * 100 / payload),
		         described(&process, who, sizeof who));
	progress_show(&run.progress, tail);
}

static void on_event(void *context, const struct ring_event *event)
{
	const char *kind = event->required ? "" : " (not required)";
	char who[RING_LABEL_MAX + 32];

	(void)context;
	described(&event->process, who, sizeof who);
	switch (event->kind) {
	case RING_EVENT_TICK:
		show_progress();
		leave_nudge();
		break;
	case RING_EVENT_READER_DIED:
		log_warning("ring \"%s\": %s died at byte %" PRIu64 "%s", run.options.ring,
		            who, event->tail, kind);
		break;
	case RING_EVENT_READER_FAILED:
		log_warning("ring \"%s\": %s failed with exit code %d%s", run.options.ring,
		            who, event->code, kind);
		break;
	case RING_EVENT_READER_EVICTED:
		log_warning("ring \"%s\": %s evicted: no progress for %.1f s while the ring was full%s",
		            run.options.ring, who, (double)run.options.stall_timeout_ms / 1000, kind);
		break;
	case RING_EVENT_READER_SLOW:
		log_warning("ring \"%s\": %s has held the ring full for 10 s at byte %" PRIu64 "%s",
		            run.options.ring, who, event->tail, kind);
		break;
	case RING_EVENT_READER_LATE:
		log_note("ring \"%s\": %s joined late; it is not required", run.options.ring, who);
		break;
	case RING_EVENT_READERS_OUT:
		if (!atomic_load(&run.ended))
			leave_request();
		break;
	default:
		break;
	}
}

/* Why the program must leave, and its exit code. */
static enum exit_code leaving(void)
{
	if (leave_signal() != 0) {
		log_fatal("ring \"%s\": stopped by signal %d (%s) at message %" PRIu64 ", byte %" PRIu64,
		          run.options.ring, leave_signal(), strsignal(leave_signal()),
		          run.stream != NULL ? stream_messages(run.stream) : 0,
		          run.ring != NULL ? ring_writer_position(run.ring) : 0);
		return (enum exit_code)(128 + leave_signal());
	}
	log_fatal("ring \"%s\": no required consumer is left, at byte %" PRIu64,
	          run.options.ring, ring_writer_position(run.ring));
	return EXIT_INCOMPLETE;
}

enum exit_code source_stream_failed(int error)
{
	if (error == -EINTR || error == -EPIPE)
		return leaving();
	if (error == -EMSGSIZE) {
		log_fatal("ring \"%s\": a piece does not fit a slot; try a larger --slot-size",
		          run.options.ring);
		return EXIT_BAD_DATA;
	}
	log_fatal("ring \"%s\": %s", run.options.ring, strerror(-error));
	return EXIT_INTERNAL;
}

/* ---- the steps of a run ---------------------------------------------------------- */

static enum exit_code say_shortage(const struct ring_shortage *shortage)
{
	char needed[UNITS_TEXT_MAX], there[UNITS_TEXT_MAX];

	units_format_bytes(shortage->needed_bytes, needed);
	units_format_bytes(shortage->available_bytes, there);
	log_fatal("cannot create ring \"%s\": %s (needs %s, %s %s; try --slots or --slot-size)",
	          run.options.ring, strerror(ENOSPC), needed,
	          shortage->memory_cgroup ? "the memory cgroup leaves" : "/dev/shm has", there);
	return EXIT_SYSTEM;
}

static enum exit_code create(void)
{
	struct ring_writer_options options = {
		.geometry = run.options.geometry,
		.mode = run.options.mode,
		.label = "sluice-producer",
		.stall_timeout_ms = run.options.stall_timeout_ms,
		.spin = run.options.spin,
		.observer = on_event,
	};
	struct ring_shortage shortage;
	bool replaced;
	struct ring_writer *ring = NULL;
	int error = ring_create(&ring, run.options.ring, &options, &shortage, &replaced);

	run.ring = ring;

	if (error == -EEXIST) {
		log_fatal("ring \"%s\" is in use by another producer", run.options.ring);
		return EXIT_ABSENT;
	}
	if (error == -EBUSY) {
		log_fatal("ring \"%s\" is a dead producer's, and who removes it does not come to an end",
		          run.options.ring);
		return EXIT_ABSENT;
	}
	if (error == -EINTR && leave_is_requested())
		return leaving();
	if (error == -ENOSPC && shortage.needed_bytes > shortage.available_bytes)
		return say_shortage(&shortage);
	if (error == -EINVAL) {
		log_fatal("not a ring name: \"%s\" (1 to %d characters, no '/', no blanks, no leading '.')",
		          run.options.ring, RING_NAME_MAX);
		return EXIT_USAGE;
	}
	if (error != 0) {
		log_fatal("cannot create ring \"%s\": %s", run.options.ring, strerror(-error));
		return EXIT_SYSTEM;
	}
	if (replaced)
		log_note("ring \"%s\": replaced a stale segment, whose producer is gone", run.options.ring);
	return EXIT_COMPLETE;
}

static enum exit_code wait_for_consumers(void)
{
	unsigned attached = 0;
	int error = ring_writer_wait_readers(run.ring, run.options.consumers,
	                                     run.options.start_timeout_ms, &attached);

	if (error == 0)
		return EXIT_COMPLETE;
	if (error != -ETIMEDOUT)
		return source_stream_failed(error);
	log_fatal("ring \"%s\": %u of %u consumers came within %.1f s", run.options.ring, attached,
	          run.options.consumers, (double)run.options.start_timeout_ms / 1000);
	return EXIT_ABSENT;
}

/* One input, from its first to its last byte. */
static enum exit_code take_input(const char *path)
{
	struct input input;
	enum exit_code code;
	int error;

	/* Opening may wait, for the other end of a pipe, say. */
	stream_flush(run.stream, false);
	error = input_open(&input, path, run.stream);
	if (error == -EINTR)
		return leaving();
	if (error != 0) {
		log_fatal("cannot open %s: %s", path, strerror(-error));
		return EXIT_SYSTEM;
	}
	input.progress = &run.progress;
	code = run.options.source->run(&run.job, &input);
	run.input_bytes += input.taken;
	input_close(&input);
	/* A signal that came after the last byte counts as well. */
	if (code == EXIT_COMPLETE && leave_is_requested())
		code = leaving();
	return code;
}

static enum exit_code take_inputs(void)
{
	enum exit_code code = EXIT_COMPLETE;

	for (int i = 0; code == EXIT_COMPLETE && i < run.options.path_count; i++)
		code = take_input(run.options.paths[i]);
	return code;
}

static enum exit_code drain(void)
{
	int error = ring_writer_drain(run.ring, run.options.drain_timeout_ms);

	if (error == 0)
		return EXIT_COMPLETE;
	if (error == -EINTR)
		return leaving();
	if (error == -ETIMEDOUT) {
		log_fatal("ring \"%s\": consumers did not finish within %.1f s of the end",
		          run.options.ring, (double)run.options.drain_timeout_ms / 1000);
		return EXIT_TIMEOUT;
	}
	log_fatal("ring \"%s\": the stream was sent, but not every required consumer completed it",
	          run.options.ring);
	return EXIT_INCOMPLETE;
}

static enum exit_code send_all(void)
{
	enum exit_code code;

	if (stream_writer_open(&run.stream, run.ring, run.options.digest) != 0) {
		log_fatal("out of memory");
		return EXIT_SYSTEM;
	}
	run.job.stream = run.stream;
	run.job.options = &run.options.source_options;
	code = wait_for_consumers();
	if (code == EXIT_COMPLETE)
		code = take_inputs();
	if (code != EXIT_COMPLETE) {
		/* Nothing unpublished is seen; what is published ends in the abort. */
		stream_abandon(run.stream);
		atomic_store(&run.ended, 1);
		ring_writer_end(run.ring, RING_ABORTED, (int)code);
		return code;
	}
	stream_flush(run.stream, false);
	atomic_store(&run.ended, 1);
	ring_writer_end(run.ring, RING_COMPLETE, 0);
	code = drain();
	if (code == EXIT_COMPLETE && run.job.bad_records > 0) {
		log_fatal("%" PRIu64 " bad record%s skipped", run.job.bad_records,
		          run.job.bad_records == 1 ? " was" : "s were");
		code = EXIT_INCOMPLETE;
	}
	return code;
}

/* ---- the account -------------------------------------------------------------------- */

static void summarize_consumers(struct json_out *out)
{
	static const char *const outcomes[] = { "pending", "complete", "failed", "died", "evicted" };
	struct ring_reader_report reports[REPORTS_MAX];
	size_t count = ring_writer_reports(run.ring, reports, REPORTS_MAX);

	json_out_open(out, "consumers", '[');
	for (size_t i = 0; i < count && i < REPORTS_MAX; i++) {
		json_out_open(out, NULL, '{');
		json_out_text(out, "name", reports[i].process.label);
		json_out_number(out, "pid", (uint64_t)reports[i].process.pid);
		json_out_bool(out, "required", reports[i].required);
		json_out_text(out, "outcome", outcomes[reports[i].outcome]);
		json_out_number(out, "code", (uint64_t)reports[i].code);
		json_out_number(out, "position", reports[i].tail);
		json_out_seconds(out, "held_back_seconds", reports[i].blocked_ns);
		json_out_number(out, "dropped_messages", reports[i].dropped_messages);
		json_out_close(out, '}');
	}
	json_out_close(out, ']');
}

static void summarize_ring(struct json_out *out)
{
	struct ring_geometry geometry = ring_writer_geometry(run.ring);

	json_out_number(out, "messages", stream_messages(run.stream));
	json_out_number(out, "body_bytes", stream_body_bytes(run.stream));
	json_out_number(out, "stream_bytes", ring_writer_position(run.ring));
	json_out_number(out, "slot_size", geometry.slot_size);
	json_out_number(out, "slots", geometry.slot_count);
	json_out_number(out, "segment_bytes", ring_writer_segment_bytes(run.ring));
	json_out_seconds(out, "blocked_seconds", ring_writer_blocked_ns(run.ring));
	summarize_consumers(out);
}

static enum exit_code summarize(enum exit_code code)
{
	struct json_out out;
	int error = json_out_begin(&out, run.options.summary);

	if (error == 0) {
		json_out_text(&out, "program", "sluice-producer");
		json_out_text(&out, "version", SLUICE_VERSION);
		json_out_text(&out, "ring", run.options.ring);
		json_out_number(&out, "exit", code);
		json_out_text(&out, "reason", log_fatal_text());
		json_out_seconds(&out, "seconds", wait_now_ns() - run.started_ns);
		json_out_number(&out, "input_bytes", run.input_bytes);
		json_out_number(&out, "bad_records", run.job.bad_records);
		json_out_peak_memory(&out, "peak_memory_kib");
		if (run.stream != NULL)
			summarize_ring(&out);
		error = json_out_end(&out, run.options.summary);
	}
	if (error == 0)
		return code;
	log_fatal("cannot write %s: %s", run.options.summary, strerror(-error));
	return code == EXIT_COMPLETE ? EXIT_SYSTEM : code;
}

int main(int argc, char **argv)
{
	struct ring_writer *ring;
	enum exit_code code;

	command_begin("sluice-producer");
	run.started_ns = wait_now_ns();
	producer_options_parse(&run.options, argc, argv);
	leave_setup(on_leave);
	progress_start(&run.progress, run.options.progress);
	atomic_store(&run.progress.total, run.options.total_bytes);

	code = create();
	if (code == EXIT_COMPLETE) {
		code = ready_tell(run.options.ready_fd) == 0 ? send_all() : EXIT_SYSTEM;
		if (run.stream == NULL)
			ring_writer_end(run.ring, RING_ABORTED, (int)code);
	}
	if (run.options.summary != NULL)
		code = summarize(code);
	if (run.stream != NULL)
		stream_writer_close(run.stream);
	ring = run.ring;
	if (ring != NULL) {
		run.ring = NULL;       /* a late signal finds nothing to interrupt */
		ring_destroy(ring);
	}
	return (int)code;
}
