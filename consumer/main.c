/* main.c - sluice-consumer: a ring to an output. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "consumer/deliver.h"
#include "consumer/options.h"
#include "ring/wait.h"
#include "shared/account.h"
#include "shared/command.h"
#include "shared/leave.h"
#include "shared/log.h"
#include "shared/progress.h"
#include "shared/reader_talk.h"
#include "shared/ready.h"

#define TICKS_BEFORE_TELLING 2     /* the main thread had time to say it */
#define TICKS_AFTER_SIGNAL 30      /* 1.5 s to leave after the producer was stopped */

/* The one run of this program; the watcher's observer and signal handler see it. */
static struct {
	struct consumer_options options;
	_Atomic(struct ring_reader *) ring;
	struct stream_reader *stream;
	struct delivery delivery;
	bool delivering;               /* delivery is open */
	struct progress progress;
	uint64_t started_ns, dropped;
	_Atomic int evicted, concluded;
	/* Watcher thread only. */
	int ticks_dead, ticks_stopped; /* -1: not counting */
} run;

/* ---- what happens meanwhile ---------------------------------------------------- */

static void on_leave(void)
{
	struct ring_reader *ring = run.ring;

	if (ring != NULL)
		ring_reader_interrupt(ring);
}

static void on_tick(void)
{
	/* The main thread says it better, unless it is blocked in a write. */
	if (run.ticks_dead >= 0 && ++run.ticks_dead == TICKS_BEFORE_TELLING &&
	    !atomic_load(&run.concluded))
		log_warning("ring \"%s\": the producer was killed; delivering what it had published",
		            run.options.ring);
	if (run.ticks_stopped >= 0 && ++run.ticks_stopped == TICKS_AFTER_SIGNAL)
		leave_request();
	if (progress_is_due(&run.progress))
		progress_show(&run.progress, "");
	leave_nudge();
}

static void on_event(void *context, const struct ring_event *event)
{
	(void)context;
	switch (event->kind) {
	case RING_EVENT_TICK:
		on_tick();
		break;
	case RING_EVENT_WRITER_LOST:
		log_warning("ring \"%s\": its bridge was killed; waiting for it to come back", run.options.ring);
		break;
	case RING_EVENT_WRITER_BACK:
		log_note("ring \"%s\": its bridge came back", run.options.ring);
		break;
	case RING_EVENT_WRITER_DIED:
		run.ticks_dead = 0;
		break;
	case RING_EVENT_EVICTED:
		atomic_store(&run.evicted, 1);
		leave_request();
		break;
	case RING_EVENT_END:
		if (event->end == RING_ABORTED && event->code > 128)
			run.ticks_stopped = 0;
		break;
	default:
		break;
	}
}

/* ---- how a run ends --------------------------------------------------------------- */

/* Where we are, for error lines. */
static uint64_t message_at(void)
{
	return stream_reader_messages(run.stream);
}

static enum exit_code end_evicted(void)
{
	log_fatal("ring \"%s\": evicted by the producer at message %" PRIu64 ", byte %" PRIu64
	          ": no progress while the ring was full", run.options.ring, message_at(),
	          ring_reader_position(run.ring));
	return EXIT_INCOMPLETE;
}

static enum exit_code end_aborted(int code)
{
	char by[48] = "";

	if (code > 128)
		snprintf(by, sizeof by, ", stopped by signal %d", code - 128);
	log_fatal("ring \"%s\": the producer aborted at message %" PRIu64 ", byte %" PRIu64
	          " (exit code %d%s)", run.options.ring, message_at(),
	          ring_reader_position(run.ring), code, by);
	/* It gave up before anything began: a retry can help. */
	return code == EXIT_ABSENT ? EXIT_ABSENT : EXIT_INCOMPLETE;
}

static enum exit_code leaving(void)
{
	int code;

	if (leave_signal() != 0) {
		log_fatal("ring \"%s\": stopped by signal %d (%s) at message %" PRIu64 ", byte %" PRIu64,
		          run.options.ring, leave_signal(), strsignal(leave_signal()), message_at(),
		          ring_reader_position(run.ring));
		return (enum exit_code)(128 + leave_signal());
	}
	if (atomic_load(&run.evicted))
		return end_evicted();
	ring_reader_end(run.ring, &code);
	return end_aborted(code);
}

static enum exit_code stream_failed(int error)
{
	switch (error) {
	case -ESTALE:
		return end_evicted();
	case -EOWNERDEAD:
		atomic_store(&run.concluded, 1);
		if (ring_reader_position(run.ring) == 0) {
			log_fatal("ring \"%s\": the producer was killed before it published anything",
			          run.options.ring);
			return EXIT_ABSENT;
		}
		log_fatal("ring \"%s\": the producer was killed at message %" PRIu64 ", byte %" PRIu64,
		          run.options.ring, message_at(), ring_reader_position(run.ring));
		return EXIT_INCOMPLETE;
	case -EBADMSG:
		log_fatal("ring \"%s\": %s", run.options.ring,
		          stream_reader_fault(run.stream)[0] != '\0' ? stream_reader_fault(run.stream)
		                                                      : "the segment's words make no sense");
		return EXIT_BAD_DATA;
	default:
		log_fatal("ring \"%s\": %s", run.options.ring, strerror(-error));
		return EXIT_INTERNAL;
	}
}

/* The stream ended; was it all, and all good? */
static enum exit_code stream_ended(void)
{
	int code;

	if (ring_reader_end(run.ring, &code) != RING_COMPLETE)
		return end_aborted(code);
	if (stream_reader_is_open(run.stream)) {
		log_fatal("ring \"%s\": the stream ended within message %" PRIu64, run.options.ring,
		          message_at());
		return EXIT_BAD_DATA;
	}
	if (run.delivery.failed_messages > 0) {
		log_fatal("ring \"%s\": the producer gave up %" PRIu64 " message(s)", run.options.ring,
		          run.delivery.failed_messages);
		return EXIT_INCOMPLETE;
	}
	if (run.dropped > 0) {
		log_fatal("ring \"%s\": %" PRIu64 " message(s) dropped, being too slow", run.options.ring,
		          run.dropped);
		return EXIT_INCOMPLETE;
	}
	return delivery_commit(&run.delivery);
}

/* ---- the steps of a run -------------------------------------------------------------- */

static enum exit_code attach(void)
{
	struct ring_reader_options options = {
		.label = run.options.name,
		.any_user = run.options.any_user,
		.spin = run.options.spin,
		.observer = on_event,
	};
	struct ring_reader *ring = NULL;
	int error = ring_attach_wait(&ring, run.options.ring, &options, run.options.wait_ms,
	                             leave_is_requested);

	run.ring = ring;
	return error == 0 ? EXIT_COMPLETE
	                  : reader_talk_attach_failed(run.options.ring, error, run.options.wait_ms);
}

static enum exit_code wait_for_more(void)
{
	enum exit_code code = delivery_flush(&run.delivery);
	int error;

	if (code != EXIT_COMPLETE)
		return code;
	error = ring_reader_wait(run.ring, RING_FOREVER);
	return error == 0 || error == -EINTR ? EXIT_COMPLETE : stream_failed(error);
}

/* A step did not succeed: the first cause decides what is said. */
static enum exit_code failed(enum exit_code code)
{
	if (leave_is_requested())
		return leaving();
	return ring_reader_check(run.ring) != 0 ? end_evicted() : code;
}

static enum exit_code part_take(const struct stream_item *item)
{
	switch (item->part) {
	case STREAM_PART_EMPTY:
		return wait_for_more();
	case STREAM_PART_DROPPED:
		run.dropped++;
		return EXIT_COMPLETE;
	default:
		return delivery_take(&run.delivery, item);
	}
}

static enum exit_code deliver_all(void)
{
	struct stream_item item;
	enum exit_code code;
	int error;

	do {
		if (leave_is_requested())
			return leaving();
		error = stream_next(run.stream, &item);
		if (error != 0 || item.part == STREAM_PART_ENDED)
			break;
		code = part_take(&item);
		atomic_store_explicit(&run.progress.bytes,
		                      ring_reader_position(run.ring) - ring_reader_start(run.ring),
		                      memory_order_relaxed);
	} while (code == EXIT_COMPLETE);
	if (error == 0 && item.part != STREAM_PART_ENDED)
		return failed(code);
	/* What was published is delivered before its end is judged. */
	code = delivery_flush(&run.delivery);
	if (code == EXIT_COMPLETE)
		code = error == 0 ? stream_ended() : stream_failed(error);
	return code == EXIT_COMPLETE ? code : failed(code);
}

static enum exit_code consume(void)
{
	enum exit_code code;

	if (stream_reader_open(&run.stream, run.ring, run.options.drop) != 0) {
		log_fatal("out of memory");
		return EXIT_SYSTEM;
	}
	if (ring_reader_start(run.ring) > 0 && !run.options.late) {
		log_fatal("ring \"%s\": too late: the stream began, and %" PRIu64 " bytes of it are gone "
		          "(see --late)", run.options.ring, ring_reader_start(run.ring));
		return EXIT_INCOMPLETE;
	}
	run.delivering = true;
	code = delivery_open(&run.delivery, &run.options, run.ring);
	if (code == EXIT_COMPLETE && ready_tell(run.options.ready_fd) != 0)
		code = EXIT_SYSTEM;
	return code == EXIT_COMPLETE ? deliver_all() : failed(code);
}

/* The result comes last: a good one says that everything is durable. */
static enum exit_code conclude(enum exit_code code)
{
	if (ring_reader_set_result(run.ring, (int)code) != 0 && code == EXIT_COMPLETE)
		code = end_evicted();
	atomic_store(&run.concluded, 1);
	return code;
}

/* ---- the account -------------------------------------------------------------------- */

static void account(struct json_out *out)
{
	json_out_text(out, "name", run.options.name != NULL ? run.options.name : "");
	if (run.stream == NULL)
		return;
	json_out_number(out, "messages", stream_reader_messages(run.stream));
	json_out_number(out, "body_bytes", stream_reader_body_bytes(run.stream));
	json_out_number(out, "dropped_messages", run.dropped);
	json_out_number(out, "failed_messages", run.delivery.failed_messages);
	json_out_number(out, "start", ring_reader_start(run.ring));
	json_out_number(out, "position", ring_reader_position(run.ring));
	json_out_number(out, "output_bytes", delivery_bytes(&run.delivery));
}

int main(int argc, char **argv)
{
	struct ring_reader *ring;
	enum exit_code code;

	command_begin("sluice-consumer");
	run.started_ns = wait_now_ns();
	run.ticks_dead = run.ticks_stopped = -1;
	consumer_options_parse(&run.options, argc, argv);
	leave_setup(on_leave);
	if (run.options.progress < 0 && run.options.output == NULL &&
	    run.options.output_dir == NULL && isatty(STDOUT_FILENO) == 1)
		run.options.progress = 0;
	progress_start(&run.progress, run.options.progress);

	code = attach();
	if (code == EXIT_COMPLETE)
		code = conclude(consume());
	code = account_write(run.options.summary, "sluice-consumer", run.options.ring, code,
	                     run.started_ns, account);
	if (run.delivering)
		delivery_close(&run.delivery);
	if (run.stream != NULL)
		stream_reader_close(run.stream);
	ring = run.ring;
	if (ring != NULL) {
		run.ring = NULL;       /* a late signal finds nothing to interrupt */
		ring_detach(ring);
	}
	return (int)code;
}
