/* session.c - one connection of a destination: how its steps come out, and their order. */
#include "bridge/session.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bridge/carry.h"
#include "bridge/dial.h"
#include "bridge/farewell.h"
#include "ring/wait.h"
#include "shared/exit.h"
#include "shared/leave.h"

#define GREETING_MS 10000          /* to connect and to greet, at most; */
#define GREETING_LEAST_MS 1000     /* also where --retry is over sooner */

/* ---- how a step came out ---------------------------------------------------------------- */

enum step session_lost(struct session *s, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(s->why, sizeof s->why, format, arguments);
	va_end(arguments);
	return STEP_LOST;
}

enum step session_over(struct session *s, int code, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(s->destination->reason, sizeof s->destination->reason, format, arguments);
	va_end(arguments);
	s->destination->code = code;
	return STEP_OVER;
}

bool session_must_leave(const struct session *s)
{
	return !s->parting && (leave_is_requested() ||
	       (session_reader(s) != NULL && ring_reader_check(session_reader(s)) != 0));
}

enum step session_leaving(struct session *s)
{
	if (!leave_is_requested())
		return session_over(s, EXIT_INCOMPLETE,
		                    "evicted by the producer: no progress while the ring was full");
	return session_over(s, leave_signal() != 0 ? 128 + leave_signal() : EXIT_INCOMPLETE,
	                    "stopped by signal %d", leave_signal());
}

enum step session_transport_failed(struct session *s, int error)
{
	if (error == -EPIPE)
		return session_lost(s, "connection closed by the other side");
	if (error == -EACCES || error == -EPROTO)
		return session_over(s, EXIT_BAD_DATA, "%s", transport_error(s->transport));
	return session_lost(s, "%s", transport_error(s->transport));
}

enum step session_refused(struct session *s, const struct wire_report *report)
{
	s->told = true;
	if (report->code == EXIT_ABSENT)
		return session_lost(s, "refused: %s", report->text);
	/* Codes past these are of signals, and were its. */
	return session_over(s, report->code <= EXIT_INTERNAL ? report->code : EXIT_INCOMPLETE,
	                    "refused: %s", report->text);
}

/* ---- for all parts ---------------------------------------------------------------------- */

int session_ms_until(uint64_t deadline_ns, uint64_t now)
{
	uint64_t ms;

	if (deadline_ns <= now)
		return 0;
	ms = (deadline_ns - now) / 1000000u + 1;
	return ms < SESSION_SLICE_MS ? (int)ms : SESSION_SLICE_MS;
}

void session_state_set(struct session *s, enum destination_state state)
{
	atomic_store_explicit(&s->destination->state, state, memory_order_relaxed);
}

/* ---- a session -------------------------------------------------------------------------- */

static uint64_t greeting_deadline(const struct destination *destination)
{
	uint64_t now = wait_now_ns();
	uint64_t least = now + GREETING_LEAST_MS * UINT64_C(1000000);
	uint64_t most = now + GREETING_MS * UINT64_C(1000000);
	uint64_t patience = destination->outage_ns +
	                    (uint64_t)destination->fan->options->retry_ms * 1000000u;

	if (patience < least)
		return least;
	return patience < most ? patience : most;
}

void session_run(struct destination *destination, struct session_report *report)
{
	uint64_t deadline = greeting_deadline(destination);
	struct session *s = calloc(1, sizeof *s);
	enum step step;

	if (s == NULL) {
		report->end = SESSION_LOST;
		snprintf(report->why, sizeof report->why, "out of memory");
		return;
	}
	s->destination = destination;
	session_state_set(s, DESTINATION_CONNECTING);
	outbox_init(&s->outbox);
	step = inbox_open(&s->inbox, WIRE_FROM_RECEIVER, destination->fan->facts.geometry.slot_size) == 0
	       ? STEP_ON : session_lost(s, "out of memory");
	if (step == STEP_ON)
		step = dial_open(s, deadline);
	if (step == STEP_ON)
		step = dial_greet(s, deadline);
	if (step == STEP_ON)
		step = carry(s);
	if (step == STEP_OVER && s->greeted)
		farewell_tell(s);
	report->end = step == STEP_LOST ? SESSION_LOST : SESSION_OVER;
	memcpy(report->why, s->why, sizeof report->why);
	if (s->transport != NULL)
		transport_close(s->transport);
	inbox_close(&s->inbox);
	free(s);
}
