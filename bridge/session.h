/*
 * session.h - one connection of a destination, from the greeting to its end.
 *
 * A session belongs to its destination's thread, which takes it through four
 * subjects, each with a file: dial (connect and greet), carry (what goes to and
 * fro), feed (what the ring has for it) and farewell (last words).  They share the
 * struct below, and say with a step how they came out.
 */
#ifndef SLUICE_BRIDGE_SESSION_H
#define SLUICE_BRIDGE_SESSION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "bridge/destination.h"
#include "bridge/inbox.h"
#include "bridge/outbox.h"
#include "bridge/transport.h"
#include "bridge/wire.h"

enum session_end {
	SESSION_LOST,                  /* try again: `why` says what happened */
	SESSION_OVER,                  /* the destination came out: code and reason are set */
};

struct session_report {
	enum session_end end;
	char why[WIRE_WHY_MAX];
};

/* Connect, greet, and carry the stream until the connection or the destination
 * is at its end. */
void session_run(struct destination *destination, struct session_report *report);

/* ---- for its parts -------------------------------------------------------------------- */

#define SESSION_SLICE_MS 100           /* no wait is longer: who must leave sees it then */

/* How a step came out. */
enum step {
	STEP_ON,
	STEP_LOST,                     /* this connection is over: s->why */
	STEP_OVER,                     /* the destination is over: its code and reason */
};

struct session {
	struct destination *destination;
	struct transport *transport;   /* NULL: none.  Closed by session_run */
	struct greetings *greetings;   /* dial's; NULL once they are over */
	struct inbox inbox;
	struct outbox outbox;
	bool ready;                    /* the other side's start barrier is met */
	uint64_t asked_ns;             /* when the kernel was asked whether the peer is there */
	bool ended;                    /* END is queued, */
	bool complete;                 /* and says that all of it was sent */
	uint64_t end_position;         /* which END names */
	bool silent_said;
	bool greeted;                  /* the other side is a bridge, and takes records */
	bool told;                     /* the other side knows how it came out, or said it */
	bool parting;                  /* we leave already, and only say so */
	uint64_t head;                 /* where the other side goes on */
	uint64_t heard_ns, spoke_ns, looked_ns;
	uint64_t stalled_ns;           /* since when it holds the ring back; 0: it does not */
	uint64_t stopped_ns;           /* since when the producer is known to be stopped; 0: it is not */
	int stopped_code;
	uint64_t rate_due_ns;          /* when more may be sent */
	uint8_t report[WIRE_REPORT_MAX];   /* the one that is queued */
	char why[WIRE_WHY_MAX];
};

/* This connection is over, and why.  Returns STEP_LOST. */
enum step session_lost(struct session *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The destination is over: its exit code, and why.  Returns STEP_OVER. */
enum step session_over(struct session *s, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Must we leave, by a signal or as the producer evicted us?  And the step for it. */
bool session_must_leave(const struct session *s);
enum step session_leaving(struct session *s);

/* The step for what the transport said: a peer that is not trusted will not be so
 * later. */
enum step session_transport_failed(struct session *s, int error);

/* The step for a refusal by the other side.  Some of its reasons pass. */
enum step session_refused(struct session *s, const struct wire_report *report);

/* How long to poll(2), at most a slice. */
int session_ms_until(uint64_t deadline_ns, uint64_t now);

void session_state_set(struct session *s, enum destination_state state);

static inline const struct bridge_options *session_options(const struct session *s)
{
	return s->destination->fan->options;
}

/* NULL: not attached. */
static inline struct ring_reader *session_reader(const struct session *s)
{
	return atomic_load_explicit(&s->destination->reader, memory_order_relaxed);
}

#endif
