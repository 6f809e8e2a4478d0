/* carry.c - records that come in, clocks, sleep. */
#include "bridge/carry.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <sys/epoll.h>

#include "bridge/farewell.h"
#include "bridge/feed.h"
#include "ring/testpoint.h"
#include "ring/wait.h"
#include "shared/exit.h"
#include "shared/log.h"

#define RECORDS_A_TURN 64u             /* that come in, before other things have their turn */
#define ASK_NS UINT64_C(200000000)    /* how often the kernel is asked for the peer */
#define SILENT_BEATS 5             /* three are --dead-after; the kernel's verdict takes a little longer */
#define STOPPED_MS 100             /* to tell of a stopped producer after what it sent, at most */

/* ---- records that come in --------------------------------------------------------------- */

static enum step ack_take(struct session *s, uint64_t position)
{
	int error;

	if (session_reader(s) == NULL)
		return STEP_ON;
	TESTPOINT("ack_received");
	error = ring_reader_give_back(session_reader(s), position);
	if (error == -ESTALE)
		return session_leaving(s);
	if (error != 0)
		return session_over(s, EXIT_BAD_DATA, "it acknowledged byte %" PRIu64 ", which was not sent",
		                    position);
	if (position != atomic_load_explicit(&s->destination->acked, memory_order_relaxed))
		s->stalled_ns = 0;
	atomic_store_explicit(&s->destination->acked, position, memory_order_relaxed);
	TESTPOINT("ack_taken");
	return STEP_ON;
}

static enum step ready_take(struct session *s)
{
	struct destination *destination = s->destination;

	if (destination->outage_said)
		log_note("destination %s: connected, goes on at byte %" PRIu64, destination->text, s->head);
	if (session_reader(s) != NULL && destination->begun)
		atomic_fetch_add_explicit(&destination->reconnects, 1, memory_order_relaxed);
	destination->outage_said = false;
	s->ready = true;
	session_state_set(s, DESTINATION_STREAMING);
	return session_reader(s) == NULL ? feed_attach(s) : STEP_ON;
}

/* Has who is at `position` all that END speaks of?  What lies between the end of
 * what a slot holds and the next slot is nothing. */
static bool is_all(const struct session *s, uint64_t position)
{
	uint64_t end = s->end_position, slot = s->inbox.slot_size;

	return position == end || (end % slot == 0 && position < end && end - position < slot);
}

/*
 * The other side's verdict.  Ours is stored before it is told that we know: were
 * we killed in between, it would be gone, and nobody could ask again.
 */
static enum step outcome_take(struct session *s)
{
	struct wire_report report;
	enum step step;

	if (wire_report_decode(s->inbox.payload, s->inbox.record.length, &report,
	                       s->why, sizeof s->why) != 0)
		return session_over(s, EXIT_BAD_DATA, "%s", s->why);
	if (report.code == 0 && (!s->complete || !is_all(s, s->inbox.record.position)))
		return session_over(s, EXIT_BAD_DATA, "it says that it is complete %s",
		                    s->ended && !s->complete ? "though the stream is not" : "before the end");
	TESTPOINT("outcome_received");
	if (report.code == 0)
		step = session_reader(s) != NULL && ring_reader_set_result(session_reader(s), 0) == 0
		       ? session_over(s, EXIT_COMPLETE, "complete") : session_leaving(s);
	else
		step = session_over(s, EXIT_INCOMPLETE, "%s", report.text);
	TESTPOINT("outcome_stored");
	s->told = true;
	if (!outbox_is_full(&s->outbox)) {
		outbox_put(&s->outbox, WIRE_BYE, s->inbox.record.position, NULL, 0);
		farewell_send(s, FAREWELL_MS);
	}
	return step;
}

static enum step error_take(struct session *s)
{
	struct wire_report report;

	if (wire_report_decode(s->inbox.payload, s->inbox.record.length, &report,
	                       s->why, sizeof s->why) != 0)
		return session_over(s, EXIT_BAD_DATA, "%s", s->why);
	if (report.code == 0)
		return session_lost(s, "the other side broke off: %s", report.text);
	return session_refused(s, &report);
}

static enum step record_take(struct session *s)
{
	switch (s->inbox.record.type) {
	case WIRE_ACK:
		return ack_take(s, s->inbox.record.position);
	case WIRE_READY:
		return ready_take(s);
	case WIRE_OUTCOME:
		return outcome_take(s);
	case WIRE_ERROR:
		return error_take(s);
	default:
		return session_lost(s, "unexpected record");      /* inbox lets none through */
	}
}

/* What is there, as far as it is a turn.  @progress: there was something. */
static enum step records_take(struct session *s, bool *progress)
{
	for (unsigned turn = 0; turn < RECORDS_A_TURN; turn++) {
		int found = inbox_read(&s->inbox, s->transport);
		enum step step;

		if (found == -EAGAIN)
			return STEP_ON;
		if (found == -EBADMSG)
			return session_lost(s, "%s", s->inbox.why);
		if (found < 0)
			return session_transport_failed(s, found);
		*progress = true;
		s->heard_ns = wait_now_ns();
		s->silent_said = false;
		step = record_take(s);
		if (step != STEP_ON)
			return step;
	}
	return STEP_ON;
}

/* ---- clocks ----------------------------------------------------------------------------- */

static uint64_t beat_ns(const struct session *s)
{
	return (uint64_t)session_options(s)->dead_after_ms * 1000000u / 3;
}

/* Does the destination keep the whole ring waiting, and for too long? */
static enum step stall_check(struct session *s, uint64_t now)
{
	uint64_t limit = (uint64_t)session_options(s)->stall_timeout_ms * 1000000u;

	if (limit == 0 || session_reader(s) == NULL || !ring_reader_holds_back(session_reader(s)))
		s->stalled_ns = 0;
	else if (s->stalled_ns == 0)
		s->stalled_ns = now;
	if (s->stalled_ns == 0 || now - s->stalled_ns < limit)
		return STEP_ON;
	return session_over(s, EXIT_INCOMPLETE, "no progress for %.1f s while it held the ring full",
	                    (double)session_options(s)->stall_timeout_ms / 1000);
}

/* A producer that was stopped by a signal takes all along, also those whose ring
 * is full: they would not hear of it in its turn. */
static enum step stopped_check(struct session *s, uint64_t now)
{
	int code;

	if (session_reader(s) == NULL ||
	    ring_reader_end(session_reader(s), &code) != RING_ABORTED || code <= 128)
		return STEP_ON;
	if (s->stopped_ns == 0)
		s->stopped_ns = now;
	if (now - s->stopped_ns < STOPPED_MS * 1000000u)
		return STEP_ON;
	s->stopped_code = code;
	return session_over(s, EXIT_INCOMPLETE, "the producer gave the stream up (exit code %d)", code);
}

static enum step gone_check(struct session *s, uint64_t now)
{
	if (now - s->asked_ns < ASK_NS)
		return STEP_ON;
	s->asked_ns = now;
	return transport_peer_is_gone(s->transport, session_options(s)->dead_after_ms)
	       ? session_lost(s, "%s", transport_error(s->transport)) : STEP_ON;
}

static enum step clocks_check(struct session *s)
{
	uint64_t now = wait_now_ns();
	enum step step = feed_watch(s, now);

	if (step == STEP_ON)
		step = stall_check(s, now);
	if (step == STEP_ON)
		step = stopped_check(s, now);
	if (step == STEP_ON)
		step = gone_check(s, now);
	if (step != STEP_ON)
		return step;
	if (now - s->spoke_ns >= beat_ns(s) && outbox_is_empty(&s->outbox)) {
		outbox_put(&s->outbox, WIRE_PING, 0, NULL, 0);
		s->spoke_ns = now;
	}
	/* The kernel tells a host that is gone; one that is there and silent was
	 * stopped, and that is no death. */
	if (now - s->heard_ns >= SILENT_BEATS * beat_ns(s) && !s->silent_said) {
		s->silent_said = true;
		log_warning("destination %s: silent for %.0f s, though its host is there: is its bridge stopped?",
		            s->destination->text, (double)(now - s->heard_ns) / 1e9);
	}
	return STEP_ON;
}

/* ---- resting ---------------------------------------------------------------------------- */

/* Sleep on the ring; the socket rings the bell when something comes in. */
static void rest_on_ring(struct session *s)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLRDHUP | EPOLLONESHOT };

	dozer_clear(&s->destination->dozer);
	event.data.ptr = s->destination;
	if (epoll_ctl(s->destination->fan->bell, EPOLL_CTL_MOD, transport_fd(s->transport), &event) != 0)
		epoll_ctl(s->destination->fan->bell, EPOLL_CTL_ADD, transport_fd(s->transport), &event);
	lookout_rest(&s->destination->fan->lookout, &s->destination->dozer, session_reader(s),
	             SESSION_SLICE_MS);
}

/* Nothing could be done: sleep until something can, or for a slice. */
static void rest(struct session *s)
{
	struct pollfd poll_fd = { .fd = transport_fd(s->transport) };
	uint64_t now = wait_now_ns();
	bool sending = !outbox_is_empty(&s->outbox);
	int timeout_ms = SESSION_SLICE_MS;

	if (transport_pending(s->transport))
		return;
	if (session_reader(s) != NULL && !sending && !s->ended && !feed_is_paced(s, now)) {
		rest_on_ring(s);
		return;
	}
	if (feed_is_paced(s, now))
		timeout_ms = session_ms_until(s->rate_due_ns, now);
	poll_fd.events = transport_events(s->transport, true, sending);
	poll(&poll_fd, 1, timeout_ms);
}

/* ---- all of it -------------------------------------------------------------------------- */

enum step carry(struct session *s)
{
	session_state_set(s, DESTINATION_WAITING);
	s->heard_ns = s->spoke_ns = wait_now_ns();
	for (;;) {
		bool received = false, queued = false, sent = false;
		enum step step = session_must_leave(s) ? session_leaving(s) : records_take(s, &received);
		int error;

		if (step == STEP_ON && session_reader(s) != NULL && s->ready)
			step = feed_fill(s, &queued);
		if (step == STEP_ON)
			step = clocks_check(s);
		if (step != STEP_ON)
			return step;
		error = outbox_flush(&s->outbox, s->transport, &sent);
		/* Why it takes no more, it may have said before it closed. */
		if (error != 0 && error != -EAGAIN) {
			step = records_take(s, &received);
			return step != STEP_ON ? step : session_transport_failed(s, error);
		}
		if (sent) {
			s->spoke_ns = wait_now_ns();
			TESTPOINT("record_sent");
		}
		if (!received && !queued && !sent)
			rest(s);
	}
}
