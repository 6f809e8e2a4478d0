/* dial.c - connecting, TLS and greetings. */
#include "bridge/dial.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bridge/greeting.h"
#include "ring/testpoint.h"
#include "ring/wait.h"
#include "shared/exit.h"

/* Needed at the beginning only. */
struct greetings {
	struct greeting_out out;
	struct greeting_in in;
	struct wire_greeting greeting;
};

/* ---- waiting for a socket --------------------------------------------------------------- */

/* Until the descriptor is ready, or deadline.  What it is ready for, its user sees. */
static enum step socket_wait(struct session *s, int fd, short events, uint64_t deadline_ns)
{
	struct pollfd poll_fd = { .fd = fd, .events = events };

	for (;;) {
		uint64_t now = wait_now_ns();

		if (session_must_leave(s))
			return session_leaving(s);
		if (now >= deadline_ns)
			return session_lost(s, "no answer in time");
		if (poll(&poll_fd, 1, session_ms_until(deadline_ns, now)) > 0)
			return STEP_ON;
	}
}

/* Repeat `attempt` until it is done, waiting for the socket as it needs. */
static enum step finish_by(struct session *s, int (*attempt)(struct session *), bool read, bool write,
                           uint64_t deadline_ns)
{
	for (;;) {
		int error = attempt(s);
		enum step step;

		if (error == 0)
			return STEP_ON;
		if (error == -EBADMSG)
			return session_over(s, EXIT_BAD_DATA, "%s", s->why);
		if (error != -EAGAIN)
			return session_transport_failed(s, error);
		step = socket_wait(s, transport_fd(s->transport),
		                   transport_events(s->transport, read, write), deadline_ns);
		if (step != STEP_ON)
			return step;
	}
}

/* ---- connecting ------------------------------------------------------------------------- */

static bool is_allowed(const struct session *s, const struct address_socket *address)
{
	return address_is_loopback(address) || s->destination->fan->tls != NULL ||
	       session_options(s)->insecure;
}

static enum step connect_one(struct session *s, const struct address_socket *address,
                             uint64_t deadline_ns, int *fd)
{
	enum step step;
	int error;

	*fd = address_connect(address);
	if (*fd < 0)
		return session_lost(s, "cannot connect: %s", strerror(-*fd));
	step = socket_wait(s, *fd, POLLOUT, deadline_ns);
	error = step == STEP_ON ? address_connected(*fd) : 0;
	if (step == STEP_ON && error != 0)
		step = session_lost(s, "cannot connect: %s", strerror(-error));
	if (step != STEP_ON)
		close(*fd);
	return step;
}

/* Try the host's addresses in turn; each has its share of the time that is left. */
static enum step connect_any(struct session *s, uint64_t deadline_ns, int *fd)
{
	struct address_list list;
	enum step step = STEP_LOST;
	char why[ADDRESS_WHY_MAX];
	uint64_t now;

	*fd = -1;
	if (address_resolve(&s->destination->address, false, &list, why, sizeof why) != 0)
		return session_lost(s, "%s", why);
	for (size_t i = 0; i < list.count && step == STEP_LOST; i++) {
		if (!is_allowed(s, &list.entries[i]))
			return session_over(s, EXIT_USAGE, "it is another host: use TLS (--tls-cert and the like), "
			                    "or --insecure");
		now = wait_now_ns();
		step = connect_one(s, &list.entries[i], deadline_ns > now
		                   ? now + (deadline_ns - now) / (list.count - i) : now, fd);
	}
	return step;
}

static int attempt_handshake(struct session *s)
{
	return transport_handshake(s->transport);
}

enum step dial_open(struct session *s, uint64_t deadline_ns)
{
	enum step step;
	int fd, error;

	step = connect_any(s, deadline_ns, &fd);
	if (step != STEP_ON)
		return step;
	transport_tune(fd, session_options(s)->dead_after_ms);
	transport_fit(fd);
	error = transport_open(&s->transport, fd, s->destination->fan->tls, false,
	                       s->destination->address.host);
	if (error != 0)
		return session_over(s, EXIT_SYSTEM, "%s", strerror(-error));
	return finish_by(s, attempt_handshake, true, true, deadline_ns);
}

/* ---- greeting --------------------------------------------------------------------------- */

static int attempt_hello(struct session *s)
{
	return greeting_send(&s->greetings->out, s->transport);
}

static int attempt_welcome(struct session *s)
{
	return greeting_read(&s->greetings->in, s->transport, s->why, sizeof s->why);
}

static void hello_make(struct session *s)
{
	struct destination *destination = s->destination;
	struct wire_hello *hello = &s->greetings->greeting.hello;

	memset(&s->greetings->greeting, 0, sizeof s->greetings->greeting);
	s->greetings->greeting.kind = WIRE_HELLO;
	s->greetings->greeting.peer.features = WIRE_FEATURE_RESUME;
	memcpy(hello->stream, destination->fan->facts.stream_id, sizeof hello->stream);
	hello->geometry = destination->fan->facts.geometry;
	hello->start = destination->start;
	hello->resume = destination->begun;
	hello->retry_ms = (uint64_t)session_options(s)->retry_ms;
	snprintf(hello->name, sizeof hello->name, "%s", destination->text);
	s->greetings->out.length = wire_greeting_encode(&s->greetings->greeting, s->greetings->out.bytes);
}

/* Go on where the other side is.  It cannot be where our entry is not. */
static enum step resume_at(struct session *s, uint64_t head)
{
	struct destination *destination = s->destination;

	s->head = head;
	if (session_reader(s) != NULL ? ring_reader_rewind(session_reader(s), head) != 0
	                         : head != destination->start)
		return session_over(s, EXIT_BAD_DATA, "it wants to go on at byte %" PRIu64
		                    ", which is not here any more", head);
	destination->greeted_ns = wait_now_ns();
	/* What it has, it need not acknowledge again. */
	if (session_reader(s) != NULL && ring_reader_give_back(session_reader(s), head) == -ESTALE)
		return session_leaving(s);
	atomic_store_explicit(&destination->acked, head, memory_order_relaxed);
	return STEP_ON;
}

static enum step welcome_take(struct session *s)
{
	struct wire_greeting *greeting = &s->greetings->greeting;
	int error = wire_greeting_decode(WIRE_WELCOME, s->greetings->in.bytes + WIRE_PREAMBLE,
	                                 s->greetings->in.map, greeting, s->why, sizeof s->why);

	s->greeted = error != -EBADMSG;
	if (error != 0)
		return session_over(s, EXIT_BAD_DATA, "%s", s->why);
	if (greeting->kind == WIRE_REFUSE)
		return session_refused(s, &greeting->refusal);
	s->destination->resumes = (greeting->peer.features & WIRE_FEATURE_RESUME) != 0;
	return resume_at(s, greeting->welcome.head);
}

static enum step hello_say(struct session *s, uint64_t deadline_ns)
{
	s->greetings = calloc(1, sizeof *s->greetings);
	if (s->greetings == NULL)
		return session_over(s, EXIT_SYSTEM, "out of memory");
	hello_make(s);
	return finish_by(s, attempt_hello, false, true, deadline_ns);
}

static void greetings_end(struct session *s)
{
	free(s->greetings);
	s->greetings = NULL;
}

enum step dial_greet(struct session *s, uint64_t deadline_ns)
{
	enum step step = hello_say(s, deadline_ns);

	TESTPOINT("hello_sent");
	if (step == STEP_ON)
		step = finish_by(s, attempt_welcome, true, false, deadline_ns);
	if (step == STEP_ON)
		step = welcome_take(s);
	greetings_end(s);
	return step;
}

enum step dial_hello(struct session *s, uint64_t deadline_ns)
{
	enum step step = hello_say(s, deadline_ns);

	greetings_end(s);
	return step;
}
