/* destination.c - one destination: sessions, one after the other. */
#include "bridge/destination.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <xxhash.h>

#include "bridge/session.h"
#include "ring/wait.h"
#include "shared/exit.h"
#include "shared/leave.h"
#include "shared/log.h"

#define BACKOFF_LEAST_MS 50u
#define BACKOFF_MOST_MS 2000u
#define SLICE_MS 50
#define GOOD_NS UINT64_C(1000000000)     /* a connection that lasts so long was good */

/* ---- its entry --------------------------------------------------------------------- */

/* The ring's own bridge, of a ring that is a mirror: each destination has an
 * entry and sees it, one says it. */
static void on_event(void *context, const struct ring_event *event)
{
	struct destination *destination = context;
	const char *ring = destination->fan->options->ring;

	int speaker = -1;

	if (!atomic_compare_exchange_strong(&destination->fan->speaker, &speaker, event->entry) &&
	    speaker != event->entry)
		return;
	if (event->kind == RING_EVENT_WRITER_LOST)
		log_warning("ring \"%s\": its bridge was killed; waiting for it to come back", ring);
	else if (event->kind == RING_EVENT_WRITER_BACK)
		log_note("ring \"%s\": its bridge came back", ring);
}

/* A restarted bridge finds its entry again by this: the same for the same
 * destination under the same name. */
static uint64_t key_of(const struct destination *destination)
{
	const char *name = destination->fan->options->name;
	uint64_t seed = name != NULL ? XXH3_64bits(name, strlen(name)) : 0;
	uint64_t key = XXH3_64bits_withSeed(destination->text, strlen(destination->text), seed);

	return key != 0 ? key : 1;
}

void destination_reader_options(struct destination *destination, struct ring_reader_options *options)
{
	const struct bridge_options *wanted = destination->fan->options;

	*options = (struct ring_reader_options){
		.label = wanted->name != NULL ? wanted->name : destination->text,
		.any_user = wanted->any_user,
		.observer = on_event,
		.observer_context = destination,
		.key = key_of(destination),
		.linger_ms = (uint32_t)wanted->retry_ms,
	};
}

void destination_counted(struct destination *destination)
{
	if (destination->counted)
		return;
	destination->counted = true;
	if (atomic_fetch_sub(&destination->fan->left, 1) == 1)
		destination->fan->attached();
}

bool destination_is_ours(const struct destination *destination, const struct ring_reader *reader)
{
	return memcmp(ring_reader_stream_id(reader), destination->fan->facts.stream_id,
	              WIRE_STREAM_ID) == 0;
}

/*
 * Of a destination that failed: an entry that holds nothing back, so that the
 * producer's barrier is met and its verdict waits for ours.  If it never came to
 * have one, and cannot have one any more, the producer does without.
 */
static void entry_let_go(struct destination *destination)
{
	struct ring_reader *reader = atomic_load(&destination->reader);

	if (reader == NULL) {
		struct ring_reader_options options;

		destination_reader_options(destination, &options);
		if (ring_attach(&reader, destination->fan->options->ring, &options) != 0)
			return;
		if (!destination_is_ours(destination, reader)) {
			ring_detach(reader);
			return;
		}
		atomic_store(&destination->reader, reader);
	}
	ring_reader_let_go(reader);
}

/* ---- outages ------------------------------------------------------------------------- */

static uint32_t backoff_ms(unsigned attempts)
{
	uint32_t most = BACKOFF_LEAST_MS << (attempts < 6 ? attempts : 6), random = 0;

	if (most > BACKOFF_MOST_MS)
		most = BACKOFF_MOST_MS;
	/* Many that lost the same peer are not to come back all at once. */
	(void)!getrandom(&random, sizeof random, GRND_NONBLOCK);
	return most / 2 + random % (most / 2 + 1);
}

static void pause_for(uint32_t ms)
{
	uint64_t deadline = wait_deadline_ns(ms);

	while (wait_now_ns() < deadline && !leave_is_requested())
		poll(NULL, 0, SLICE_MS);
}

static bool give_up(struct destination *destination, double seconds, const char *why)
{
	destination->code = destination->begun ? EXIT_INCOMPLETE : EXIT_ABSENT;
	snprintf(destination->reason, sizeof destination->reason,
	         "no connection for %.1f s: %.400s", seconds, why);
	return false;
}

/* The connection is lost, or did not come about.  Wait a little; false: no
 * longer. */
static bool outage_go_on(struct destination *destination, const char *why)
{
	uint64_t now = wait_now_ns();
	uint64_t patience = (uint64_t)destination->fan->options->retry_ms * 1000000u;

	if (destination->begun && !destination->resumes)
		return give_up(destination, 0, why);
	/* One that was good for a while begins an outage anew; one that always
	 * breaks at once does not. */
	if (destination->greeted_ns != 0 && now - destination->greeted_ns >= GOOD_NS)
		destination->outage_ns = 0;
	destination->greeted_ns = 0;
	if (destination->outage_ns == 0) {
		destination->outage_ns = now;
		destination->attempts = 0;
	} else if (now - destination->outage_ns >= patience) {
		return give_up(destination, (double)patience / 1e9, why);
	}
	if (!destination->outage_said) {
		destination->outage_said = true;
		log_warning("destination %s: %s; trying for up to %.1f s", destination->text, why,
		            (double)destination->fan->options->retry_ms / 1000);
	}
	/* One that was there may be there again at once. */
	if (destination->attempts++ > 0)
		pause_for(backoff_ms(destination->attempts - 2));
	return true;
}

/* ---- its life --------------------------------------------------------------------------- */

void *destination_run(void *context)
{
	struct destination *destination = context;
	struct session_report report;

	destination->outage_ns = wait_now_ns();
	destination->attempts = 1;
	do {
		session_run(destination, &report);
	} while (report.end == SESSION_LOST && outage_go_on(destination, report.why));
	if (destination->code != 0)
		entry_let_go(destination);
	destination->over_ns = wait_now_ns();
	destination_counted(destination);
	atomic_store(&destination->state, DESTINATION_OVER);
	destination->fan->over();
	return NULL;
}
