/* feed.c - the ring of a session. */
#include "bridge/feed.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ring/testpoint.h"
#include "ring/wait.h"
#include "shared/exit.h"
#include "shared/log.h"

#define LOOK_MS 200                /* how often to see whether an unattached ring is there */
#define QUEUE_BYTES (1u << 20)     /* of the stream, handed to the socket at once */

/* ---- its entry -------------------------------------------------------------------------- */

enum step feed_attach(struct session *s)
{
	struct destination *destination = s->destination;
	struct ring_reader_options options;
	struct ring_reader *reader;
	int error;

	destination_reader_options(destination, &options);
	error = ring_attach(&reader, session_options(s)->ring, &options);
	if (error == -EOWNERDEAD)
		return STEP_ON;    /* a mirror, whose bridge may come back: feed_watch tries again */
	if (error == -ENOENT)
		return session_over(s, EXIT_ABSENT, "ring \"%s\" is gone", session_options(s)->ring);
	if (error != 0)
		return session_over(s, EXIT_SYSTEM, "cannot attach to ring \"%s\": %s",
		                    session_options(s)->ring, strerror(-error));
	if (!destination_is_ours(destination, reader)) {
		ring_detach(reader);
		return session_over(s, EXIT_ABSENT, "ring \"%s\" carries another stream by now",
		                    session_options(s)->ring);
	}
	atomic_store(&destination->reader, reader);
	if (ring_reader_start(reader) != s->head)
		return session_over(s, EXIT_INCOMPLETE, "joined late: the first %" PRIu64 " bytes are missed",
		                    ring_reader_start(reader));
	destination_counted(destination);
	return STEP_ON;
}

enum step feed_watch(struct session *s, uint64_t now)
{
	struct ring_facts facts;
	int error;

	if (session_reader(s) != NULL || now - s->looked_ns < LOOK_MS * 1000000u)
		return STEP_ON;
	s->looked_ns = now;
	error = ring_look(session_options(s)->ring, session_options(s)->any_user, &facts);
	if (error == -ENOENT ||
	    (error == 0 && (facts.ended || memcmp(facts.stream_id, s->destination->fan->facts.stream_id,
	                                          WIRE_STREAM_ID) != 0)))
		return session_over(s, EXIT_ABSENT, "the producer of ring \"%s\" left before anything began",
		                    session_options(s)->ring);
	return s->ready ? feed_attach(s) : STEP_ON;
}

/* ---- records ---------------------------------------------------------------------------- */

static void end_queue(struct session *s, enum ring_end end, int code, const char *text)
{
	struct wire_end message = { .end = end, .report.code = code };

	snprintf(message.report.text, sizeof message.report.text, "%s", text);
	outbox_put(&s->outbox, WIRE_END, ring_reader_position(session_reader(s)), s->report,
	           (uint32_t)wire_end_encode(&message, s->report));
	s->ended = true;
	s->complete = end == RING_COMPLETE;
	s->end_position = ring_reader_position(session_reader(s));
	session_state_set(s, DESTINATION_FINISHING);
	TESTPOINT("end_queued");
}

static void end_take(struct session *s)
{
	int code;

	if (ring_reader_end(session_reader(s), &code) == RING_COMPLETE)
		end_queue(s, RING_COMPLETE, 0, "");
	else
		end_queue(s, RING_ABORTED, code, "the producer gave the stream up");
}

/* Queue one record.  1: there was one; 0: there was none; -errno of peek. */
static int record_queue(struct session *s)
{
	struct ring_reader *reader = session_reader(s);
	const uint8_t *bytes;
	struct cut cut;
	size_t length;
	int found = ring_reader_peek(reader, &bytes, &length);

	if (found == RING_ENDED)
		end_take(s);
	if (found != RING_DATA)
		return found < 0 ? found : found == RING_ENDED;
	found = cuts_get(&s->destination->fan->cuts, reader, bytes, length, &cut);
	if (found != 0)
		return found;
	outbox_put_made(&s->outbox, cut.head, bytes, cut.length);
	ring_reader_take(reader, cut.length);
	if (!s->destination->begun && !session_options(s)->late && !ring_reader_required(reader))
		log_warning("destination %s: the producer does not wait for it; give it --consumers %zu",
		            s->destination->text, session_options(s)->to_count);
	s->destination->begun = true;
	atomic_fetch_add_explicit(&s->destination->sent_bytes, cut.length, memory_order_relaxed);
	if (session_options(s)->rate != 0)
		s->rate_due_ns += cut.length * UINT64_C(1000000000) / session_options(s)->rate;
	TESTPOINT("record_queued");
	return 1;
}

bool feed_is_paced(const struct session *s, uint64_t now)
{
	return session_options(s)->rate != 0 && s->rate_due_ns > now;
}

enum step feed_fill(struct session *s, bool *progress)
{
	uint64_t now = wait_now_ns();
	int found = 1;

	/* What was not used up for a while is not made up for. */
	if (s->rate_due_ns + SESSION_SLICE_MS * 1000000u < now)
		s->rate_due_ns = now - SESSION_SLICE_MS * 1000000u;
	while (found == 1 && !s->ended && !outbox_is_full(&s->outbox) &&
	       s->outbox.queued < QUEUE_BYTES && !feed_is_paced(s, now)) {
		found = record_queue(s);
		*progress = *progress || found == 1;
	}
	switch (found) {
	case 0:
	case 1:
		return STEP_ON;
	case -EOWNERDEAD:
		end_queue(s, RING_ABORTED, EXIT_INCOMPLETE, "the producer was killed");
		return STEP_ON;
	case -ESTALE:
		return session_leaving(s);
	default:
		return session_over(s, EXIT_BAD_DATA, "the words of ring \"%s\" make no sense",
		                    session_options(s)->ring);
	}
}
