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
#include "shared/account.h"
#include "shared/command.h"
#include "shared/leave.h"
#include "shared/log.h"
#include "shared/progress.h"
#include "shared/ready.h"
#include "shared/writer_talk.h"

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

static void show_progress(void)
{
	struct ring_writer *ring = run.ring;
	char tail[160];

	if (ring == NULL || !progress_is_due(&run.progress))
		return;
	writer_talk_progress(ring, tail, sizeof tail);
	progress_show(&run.progress, tail);
}

static void on_event(void *context, const struct ring_event *event)
{
	(void)context;
	switch (event->kind) {
	case RING_EVENT_TICK:
		show_progress();
		leave_nudge();
		break;
	case RING_EVENT_READERS_OUT:
		if (!atomic_load(&run.ended))
			leave_request();
		break;
	default:
		writer_talk_event(run.options.ring, event, run.options.stall_timeout_ms);
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

	if (error == -EINTR && leave_is_requested())
		return leaving();
	if (error != 0)
		return writer_talk_create_failed(run.options.ring, error, &shortage,
		                                 "--slots or --slot-size");
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

static void account(struct json_out *out)
{
	json_out_number(out, "input_bytes", run.input_bytes);
	json_out_number(out, "bad_records", run.job.bad_records);
	if (run.stream == NULL)
		return;
	json_out_number(out, "messages", stream_messages(run.stream));
	json_out_number(out, "body_bytes", stream_body_bytes(run.stream));
	writer_talk_account(out, run.ring);
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
	code = account_write(run.options.summary, "sluice-producer", run.options.ring, code,
	                     run.started_ns, account);
	if (run.stream != NULL)
		stream_writer_close(run.stream);
	ring = run.ring;
	if (ring != NULL) {
		run.ring = NULL;       /* a late signal finds nothing to interrupt */
		ring_destroy(ring);
	}
	return (int)code;
}
