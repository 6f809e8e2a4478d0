/* farewell.c - last words. */
#include "bridge/farewell.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "bridge/dial.h"
#include "ring/wait.h"

#define FAREWELL_FIRST_MS 200      /* where there is another way */

/* Until the other side closes: did we so before it, what it says meanwhile
 * would turn into a reset, and take our last words with it.  False: it does not. */
static bool hear_out(struct session *s, uint64_t deadline)
{
	struct iovec piece = { .iov_base = s->report, .iov_len = sizeof s->report };

	for (;;) {
		struct pollfd poll_fd = { .fd = transport_fd(s->transport) };
		ssize_t got = transport_recv(s->transport, &piece, 1);
		uint64_t now = wait_now_ns();

		if (got <= 0 && got != -EAGAIN)
			return true;
		if (now >= deadline)
			return false;
		poll_fd.events = transport_events(s->transport, true, false);
		if (got == -EAGAIN)
			poll(&poll_fd, 1, session_ms_until(deadline, now));
	}
}

bool farewell_send(struct session *s, unsigned within_ms)
{
	uint64_t deadline = wait_now_ns() + within_ms * UINT64_C(1000000);

	for (;;) {
		struct pollfd poll_fd = { .fd = transport_fd(s->transport) };
		uint64_t now = wait_now_ns();
		bool progress;
		int error = outbox_flush(&s->outbox, s->transport, &progress);

		if (error == 0)
			return hear_out(s, deadline);
		if (error != -EAGAIN || now >= deadline)
			return false;
		poll_fd.events = transport_events(s->transport, false, true);
		poll(&poll_fd, 1, session_ms_until(deadline, now));
	}
}

/* Break off, and come again only to say a last thing. */
static enum step connection_renew(struct session *s)
{
	uint64_t deadline = wait_now_ns() + FAREWELL_MS * 1000000u;
	struct linger at_once = { .l_onoff = 1 };
	enum step step;

	setsockopt(transport_fd(s->transport), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
	transport_close(s->transport);
	s->transport = NULL;
	step = dial_open(s, deadline);
	return step == STEP_ON ? dial_hello(s, deadline) : step;
}

static bool error_say(struct session *s, const struct wire_report *report, unsigned within_ms)
{
	outbox_init(&s->outbox);
	outbox_put(&s->outbox, WIRE_ERROR, 0, s->report,
	           (uint32_t)wire_report_encode(report, s->report));
	return farewell_send(s, within_ms);
}

void farewell_tell(struct session *s)
{
	struct destination *destination = s->destination;
	struct wire_report report = { .code = s->stopped_code != 0 ? s->stopped_code : destination->code };
	int code = destination->code;

	snprintf(report.text, sizeof report.text, "%s", destination->reason);
	if (s->told)
		return;
	s->parting = true;
	if ((s->outbox.sent != 0 || !error_say(s, &report, FAREWELL_FIRST_MS)) &&
	    connection_renew(s) == STEP_ON)
		error_say(s, &report, FAREWELL_MS);
	/* What came of the farewell is no news of the destination's. */
	destination->code = code;
	snprintf(destination->reason, sizeof destination->reason, "%s", report.text);
}
