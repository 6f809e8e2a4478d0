/* sender.c - a sending bridge: its destinations, and what comes of them. */
#include "bridge/sender.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "bridge/destination.h"
#include "ring/wait.h"
#include "shared/json_out.h"
#include "shared/leave.h"
#include "shared/log.h"
#include "shared/progress.h"
#include "shared/reader_talk.h"
#include "shared/ready.h"

#define TICK_MS 50
#define BELLS 64
#define ENDED_PAUSE_MS 20
#define TAKEOVER_MS 500                /* for an entry's owner to be gone */
#define BARRIER_PAUSE_MS 10
#define BARRIER_WAIT_MS 1000           /* for the producer to count who failed, when all are over */

static struct {
	const struct bridge_options *options;
	struct fan_out fan;
	struct destination *destinations;
	size_t count;
	int wake;                      /* eventfd(2): somebody is over, or all are attached */
	_Atomic bool all_attached;
	bool barrier_past;             /* the producer's */
	struct progress progress;
	uint64_t started_ns;
} run;

/* ---- waking this thread --------------------------------------------------------------- */

static void wake(void)
{
	uint64_t one = 1;

	(void)!write(run.wake, &one, sizeof one);
}

static void on_attached(void)
{
	atomic_store(&run.all_attached, true);
	wake();
}

void sender_interrupt(void)
{
	for (size_t i = 0; i < run.count; i++) {
		struct ring_reader *reader = atomic_load(&run.destinations[i].reader);

		if (reader != NULL)
			ring_reader_interrupt(reader);
		sem_post(&run.destinations[i].dozer.wake);
	}
	wake();
}

/* ---- the verdict ------------------------------------------------------------------------ */

struct tally {
	size_t good, failed, needed;
};

static bool is_over(const struct destination *destination)
{
	return atomic_load(&destination->state) == DESTINATION_OVER;
}

static struct tally tally_take(void)
{
	struct tally tally = {
		.needed = run.options->require != 0 ? run.options->require : run.count,
	};

	for (size_t i = 0; i < run.count; i++) {
		if (!is_over(&run.destinations[i]))
			continue;
		if (run.destinations[i].code == 0)
			tally.good++;
		else
			tally.failed++;
	}
	return tally;
}

/* What the producer is told of a destination that failed, once it is known
 * whether it can be done without. */
static void result_tell(struct destination *destination, bool excused)
{
	struct ring_reader *reader = atomic_load(&destination->reader);

	destination->told = true;
	destination->excused = excused;
	if (reader != NULL)
		ring_reader_set_result(reader, excused ? 0 : destination->code);
}

/*
 * Has the producer counted its readers?  One that had its result before would
 * not be counted, and be waited for.
 */
static bool barrier_is_past(void)
{
	struct ring_facts facts;

	if (!run.barrier_past)
		run.barrier_past = leave_is_requested() || run.fan.facts.started ||
		                   ring_look(run.options->ring, run.options->any_user, &facts) != 0 ||
		                   facts.started || facts.ended;
	return run.barrier_past;
}

/* False: some are still to be told. */
static bool results_tell(void)
{
	struct tally tally = tally_take();
	bool enough = tally.good >= tally.needed;

	if (tally.failed == 0)
		return true;
	if ((!enough && run.count - tally.failed >= tally.needed) || !barrier_is_past())
		return false;      /* not decided yet */
	for (size_t i = 0; i < run.count; i++) {
		struct destination *destination = &run.destinations[i];

		if (is_over(destination) && destination->code != 0 && !destination->told)
			result_tell(destination, enough);
	}
	return true;
}

static enum exit_code verdict(void)
{
	const struct destination *first = NULL;
	struct tally tally = tally_take();

	if (tally.good >= tally.needed)
		return EXIT_COMPLETE;
	for (size_t i = 0; i < run.count; i++) {
		const struct destination *destination = &run.destinations[i];

		if (destination->code != 0 && (first == NULL || destination->over_ns < first->over_ns))
			first = destination;
	}
	if (first == NULL)         /* without one, all were good */
		return EXIT_INTERNAL;
	if (run.count == 1)
		log_fatal("destination %s: %s", first->text, first->reason);
	else
		log_fatal("%zu of %zu destinations completed, %zu are required; first %s: %s", tally.good,
		          run.count, tally.needed, first->text, first->reason);
	return (enum exit_code)first->code;
}

/* ---- reports ------------------------------------------------------------------------------ */

static const char *outcome_of(const struct destination *destination)
{
	if (destination->code == 0)
		return "complete";
	return destination->excused ? "excused" : "failed";
}

/* A line for each, if there are several. */
static void table_print(void)
{
	int width = 0;

	for (size_t i = 0; i < run.count; i++)
		if ((int)strlen(run.destinations[i].text) > width)
			width = (int)strlen(run.destinations[i].text);
	for (size_t i = 0; i < run.count && run.count > 1; i++) {
		const struct destination *destination = &run.destinations[i];

		log_note("%-*s  %-8s  %15" PRIu64 " bytes  %6.1f s  %u reconnects%s%s", width,
		         destination->text, outcome_of(destination),
		         atomic_load(&destination->acked),
		         (double)(destination->over_ns - run.started_ns) / 1e9,
		         atomic_load(&destination->reconnects),
		         destination->code != 0 ? "  " : "", destination->code != 0 ? destination->reason : "");
	}
}

void sender_account(struct json_out *out)
{
	json_out_text(out, "end", "sending");
	json_out_open(out, "destinations", '[');
	for (size_t i = 0; i < run.count; i++) {
		const struct destination *destination = &run.destinations[i];

		json_out_open(out, NULL, '{');
		json_out_text(out, "destination", destination->text);
		json_out_text(out, "outcome", outcome_of(destination));
		json_out_number(out, "code", (uint64_t)destination->code);
		json_out_text(out, "reason", destination->reason);
		json_out_number(out, "position", atomic_load(&destination->acked));
		json_out_number(out, "sent_bytes", atomic_load(&destination->sent_bytes));
		json_out_number(out, "reconnects", atomic_load(&destination->reconnects));
		json_out_seconds(out, "seconds", destination->over_ns > run.started_ns
		                                 ? destination->over_ns - run.started_ns : 0);
		json_out_close(out, '}');
	}
	json_out_close(out, ']');
}

static void progress_tick(void)
{
	const struct destination *slowest = &run.destinations[0];
	uint64_t least = UINT64_MAX;
	char tail[160];

	if (!progress_is_due(&run.progress))
		return;
	for (size_t i = 0; i < run.count; i++) {
		uint64_t acked = atomic_load(&run.destinations[i].acked);

		if (!is_over(&run.destinations[i]) && acked < least) {
			least = acked;
			slowest = &run.destinations[i];
		}
	}
	if (least != UINT64_MAX)
		atomic_store(&run.progress.bytes, least);
	snprintf(tail, sizeof tail, ", slowest: %s", slowest->text);
	progress_show(&run.progress, run.count > 1 ? tail : "");
}

/* ---- before anything begins ------------------------------------------------------------------ */

static enum exit_code ring_failed(int error)
{
	return reader_talk_attach_failed(run.options->ring, error, run.options->wait_ms);
}

/* A destination that came out before anything was begun with it here. */
static void come_out(struct destination *destination, int code, const char *reason)
{
	destination->code = code;
	snprintf(destination->reason, sizeof destination->reason, "%s", reason);
	destination->over_ns = wait_now_ns();
	destination_counted(destination);
	atomic_store(&destination->state, DESTINATION_OVER);
}

/* Go on with an entry that a bridge before us left behind. */
static void entry_go_on(struct destination *destination, struct ring_reader *reader)
{
	int code;

	atomic_store(&destination->reader, reader);
	destination->start = ring_reader_start(reader);
	destination->begun = ring_reader_tail(reader) != destination->start;
	destination->resumes = true;
	destination_counted(destination);
	if (ring_reader_result(reader, &code)) {
		destination->told = true;
		come_out(destination, code, code == 0 ? "complete" : "it failed before this bridge was started");
	} else if (ring_reader_lets_go(reader)) {
		come_out(destination, EXIT_INCOMPLETE, "it failed before this bridge was started");
	} else {
		log_note("destination %s: goes on at byte %" PRIu64 " of ring \"%s\"", destination->text,
		         ring_reader_tail(reader), run.options->ring);
	}
}

/* Take an entry over; its owner may be just about to be gone. */
static int entry_take_over(struct destination *destination, struct ring_reader **reader)
{
	uint64_t deadline = wait_deadline_ns(TAKEOVER_MS);
	struct ring_reader_options options;
	int error;

	destination_reader_options(destination, &options);
	while ((error = ring_attach_again(reader, run.options->ring, &options)) == -EBUSY &&
	       wait_now_ns() < deadline)
		poll(NULL, 0, ENDED_PAUSE_MS);
	return error;
}

/* Entries that a bridge before us left behind.  How many there were. */
static size_t entries_take_over(void)
{
	size_t taken = 0;

	for (size_t i = 0; i < run.count; i++) {
		struct ring_reader *reader;

		if (entry_take_over(&run.destinations[i], &reader) != 0)
			continue;
		entry_go_on(&run.destinations[i], reader);
		taken++;
	}
	/* The others go on without one that has none. */
	for (size_t i = 0; i < run.count && taken > 0; i++)
		if (atomic_load(&run.destinations[i].reader) == NULL)
			come_out(&run.destinations[i], EXIT_INCOMPLETE,
			         "the bridge before this one left no entry of it");
	return taken;
}

/* A stream that has begun is taken up where it is, before the other side is
 * asked: it waits for us now. */
static enum exit_code entries_take_late(void)
{
	for (size_t i = 0; i < run.count; i++) {
		struct destination *destination = &run.destinations[i];
		struct ring_reader_options options;
		struct ring_reader *reader;
		int error;

		if (atomic_load(&destination->reader) != NULL || is_over(destination))
			continue;
		if (!run.options->late) {
			log_fatal("ring \"%s\": the stream has begun, and this bridge would miss its first bytes "
			          "(--late sends the rest)", run.options->ring);
			return EXIT_INCOMPLETE;
		}
		destination_reader_options(destination, &options);
		error = ring_attach(&reader, run.options->ring, &options);
		if (error != 0)
			return ring_failed(error);
		atomic_store(&destination->reader, reader);
		destination->start = ring_reader_start(reader);
		destination_counted(destination);
	}
	return EXIT_COMPLETE;
}

static enum exit_code ring_find(void)
{
	uint64_t deadline = wait_deadline_ns(run.options->wait_ms);
	size_t taken;
	int error;

	for (;;) {
		uint64_t now = wait_now_ns();
		int64_t left_ms = now < deadline ? (int64_t)((deadline - now) / 1000000u) : 0;

		error = ring_look_wait(run.options->ring, run.options->any_user, &run.fan.facts,
		                       run.options->wait_ms < 0 ? RING_FOREVER : left_ms, leave_is_requested);
		if (error != 0)
			return ring_failed(error);
		taken = entries_take_over();
		if (taken > 0 || !run.fan.facts.ended)
			break;
		if (left_ms == 0)
			return ring_failed(-ENOENT);
		poll(NULL, 0, ENDED_PAUSE_MS);      /* one that ended is as good as none */
	}
	for (size_t i = 0; i < run.count; i++)
		if (atomic_load(&run.destinations[i].reader) == NULL)
			run.destinations[i].start = run.fan.facts.start;
	return run.fan.facts.started ? entries_take_late() : EXIT_COMPLETE;
}

static enum exit_code setup(void)
{
	const struct bridge_options *options = run.options;
	struct epoll_event event = { .events = EPOLLIN };

	run.destinations = calloc(options->to_count, sizeof run.destinations[0]);
	run.fan.options = options;
	run.fan.attached = on_attached;
	run.fan.over = wake;
	atomic_store(&run.fan.left, (int)options->to_count);
	atomic_store(&run.fan.speaker, -1);
	run.fan.bell = epoll_create1(EPOLL_CLOEXEC);
	run.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (run.destinations == NULL || run.fan.bell < 0 || run.wake < 0 || cuts_init(&run.fan.cuts) != 0 ||
	    lookout_init(&run.fan.lookout) != 0 ||
	    epoll_ctl(run.fan.bell, EPOLL_CTL_ADD, run.wake, &event) != 0) {
		log_fatal("cannot begin: %s", strerror(errno));
		return EXIT_SYSTEM;
	}
	for (size_t i = 0; i < options->to_count; i++) {
		run.destinations[i].fan = &run.fan;
		run.destinations[i].text = options->to[i];
		run.destinations[i].address = options->addresses[i];
		if (dozer_init(&run.destinations[i].dozer) != 0)
			return EXIT_INTERNAL;
	}
	run.count = options->to_count;
	return bridge_tls_open(options, false, &run.fan.tls);
}

/* ---- while it runs --------------------------------------------------------------------------- */

static bool all_over(void)
{
	for (size_t i = 0; i < run.count; i++)
		if (!is_over(&run.destinations[i]))
			return false;
	return true;
}

/* Wait for what happens: a destination's socket that it must look at, or us. */
static void bells_answer(void)
{
	struct epoll_event events[BELLS];
	int count = epoll_wait(run.fan.bell, events, BELLS, TICK_MS);
	uint64_t ignored;

	for (int i = 0; i < count; i++) {
		struct destination *destination = events[i].data.ptr;
		struct ring_reader *reader = destination != NULL ? atomic_load(&destination->reader) : NULL;

		if (destination == NULL)
			(void)!read(run.wake, &ignored, sizeof ignored);
		else if (reader != NULL)
			dozer_call(&destination->dozer, reader);
	}
}

static void watch_over(void)
{
	bool told = false;
	uint64_t deadline;

	while (!all_over()) {
		bells_answer();
		results_tell();
		if (!told && atomic_load(&run.all_attached)) {
			told = true;
			ready_tell(run.options->ready_fd);
		}
		progress_tick();
	}
	deadline = wait_deadline_ns(BARRIER_WAIT_MS);
	while (!results_tell() && wait_now_ns() < deadline)
		poll(NULL, 0, BARRIER_PAUSE_MS);
}

/* Threads leave signals to this one. */
static int threads_start(void)
{
	sigset_t all, before;
	int error = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	for (size_t i = 0; i < run.count && error == 0; i++) {
		if (is_over(&run.destinations[i]))
			continue;
		error = pthread_create(&run.destinations[i].thread, NULL, destination_run,
		                       &run.destinations[i]);
		run.destinations[i].running = error == 0;
		if (error != 0)
			run.count = i;     /* those that began end by themselves */
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error;
}

static enum exit_code carry(void)
{
	int error = threads_start();
	enum exit_code code = EXIT_COMPLETE;

	if (error != 0) {
		log_fatal("cannot begin a thread: %s", strerror(error));
		code = EXIT_SYSTEM;
		leave_request();
	}
	watch_over();
	for (size_t i = 0; i < run.count; i++)
		if (run.destinations[i].running)
			pthread_join(run.destinations[i].thread, NULL);
	table_print();
	return code == EXIT_COMPLETE ? verdict() : code;
}

enum exit_code sender_run(const struct bridge_options *options)
{
	enum exit_code code;

	run.options = options;
	run.started_ns = wait_now_ns();
	progress_start(&run.progress, options->progress);
	code = setup();
	if (code == EXIT_COMPLETE)
		code = ring_find();
	if (code == EXIT_COMPLETE)
		code = carry();
	return code;
}

void sender_close(void)
{
	for (size_t i = 0; i < run.count; i++) {
		struct ring_reader *reader = atomic_exchange(&run.destinations[i].reader, NULL);

		if (reader != NULL)
			ring_detach(reader);
	}
}
