/* session.c - one connection of a destination. */
#include "bridge/session.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "bridge/greeting.h"
#include "bridge/inbox.h"
#include "bridge/outbox.h"
#include "ring/testpoint.h"
#include "ring/wait.h"
#include "shared/exit.h"
#include "shared/leave.h"
#include "shared/log.h"

#define GREETING_MS 10000          /* to connect and to greet, at most; */
#define GREETING_LEAST_MS 1000     /* also where --retry is over sooner */
#define FAREWELL_MS 500            /* for the last record to be heard, at most; */
#define FAREWELL_FIRST_MS 200      /* where there is another way */
#define SLICE_MS 100               /* no wait is longer: who must leave sees it then */
#define SILENT_BEATS 5             /* three are --dead-after; the kernel's verdict takes a little longer */
#define STOPPED_MS 100             /* to tell of a stopped producer after what it sent, at most */
#define LOOK_MS 200                /* how often to see whether an unattached ring is there */
#define QUEUE_BYTES (1u << 20)     /* of the stream, handed to the socket at once */

/* How a step came out. */
enum step {
	ON,
	LOST,                      /* this connection is over: s->why */
	OVER,                      /* the destination is over: its code and reason */
};

/* Needed at the beginning only. */
struct greetings {
	struct greeting_out out;
	struct greeting_in in;
	struct wire_greeting greeting;
};

struct session {
	struct destination *destination;
	struct transport *transport;
	struct greetings *greetings;   /* NULL once they are over */
	struct inbox inbox;
	struct outbox outbox;
	bool ready;                /* the other side's start barrier is met */
	bool ended;                /* END is queued */
	bool silent_said;
	bool greeted;              /* the other side is a bridge, and takes records */
	bool told;                 /* the other side knows how it came out, or said it */
	bool parting;              /* we leave already, and only say so */
	uint64_t head;             /* where the other side goes on */
	uint64_t heard_ns, spoke_ns, looked_ns;
	uint64_t stalled_ns;       /* since when it holds the ring back; 0: it does not */
	uint64_t stopped_ns;       /* since when the producer is known to be stopped; 0: it is not */
	int stopped_code;
	uint64_t rate_due_ns;      /* when more may be sent */
	uint8_t report[WIRE_REPORT_MAX];
	char why[WIRE_WHY_MAX];
};

static enum step lost(struct session *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
static enum step over(struct session *s, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static enum step lost(struct session *s, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(s->why, sizeof s->why, format, arguments);
	va_end(arguments);
	return LOST;
}

static enum step over(struct session *s, int code, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(s->destination->reason, sizeof s->destination->reason, format, arguments);
	va_end(arguments);
	s->destination->code = code;
	return OVER;
}

static const struct bridge_options *options_of(const struct session *s)
{
	return s->destination->fan->options;
}

static struct ring_reader *reader_of(const struct session *s)
{
	return atomic_load_explicit(&s->destination->reader, memory_order_relaxed);
}

static void state_set(struct session *s, enum destination_state state)
{
	atomic_store_explicit(&s->destination->state, state, memory_order_relaxed);
}

/* ---- waiting for a socket --------------------------------------------------------- */

static bool must_leave(const struct session *s)
{
	return !s->parting && (leave_is_requested() ||
	       (reader_of(s) != NULL && ring_reader_check(reader_of(s)) != 0));
}

static enum step leaving(struct session *s)
{
	if (!leave_is_requested())
		return over(s, EXIT_INCOMPLETE, "evicted by the producer: no progress while the ring was full");
	return over(s, leave_signal() != 0 ? 128 + leave_signal() : EXIT_INCOMPLETE,
	            "stopped by signal %d", leave_signal());
}

static int ms_until(uint64_t deadline_ns, uint64_t now)
{
	uint64_t ms;

	if (deadline_ns <= now)
		return 0;
	ms = (deadline_ns - now) / 1000000u + 1;
	return ms < SLICE_MS ? (int)ms : SLICE_MS;
}

/* Until the descriptor is ready, or deadline.  What it is ready for, its user sees. */
static enum step socket_wait(struct session *s, int fd, short events, uint64_t deadline_ns)
{
	struct pollfd poll_fd = { .fd = fd, .events = events };

	for (;;) {
		uint64_t now = wait_now_ns();

		if (must_leave(s))
			return leaving(s);
		if (now >= deadline_ns)
			return lost(s, "no answer in time");
		if (poll(&poll_fd, 1, ms_until(deadline_ns, now)) > 0)
			return ON;
	}
}

/* ---- connecting -------------------------------------------------------------------- */

static bool is_allowed(const struct session *s, const struct address_socket *address)
{
	return address_is_loopback(address) || s->destination->fan->tls != NULL ||
	       options_of(s)->insecure;
}

static enum step connect_one(struct session *s, const struct address_socket *address,
                             uint64_t deadline_ns, int *fd)
{
	enum step step;
	int error;

	*fd = address_connect(address);
	if (*fd < 0)
		return lost(s, "cannot connect: %s", strerror(-*fd));
	step = socket_wait(s, *fd, POLLOUT, deadline_ns);
	error = step == ON ? address_connected(*fd) : 0;
	if (step == ON && error != 0)
		step = lost(s, "cannot connect: %s", strerror(-error));
	if (step != ON)
		close(*fd);
	return step;
}

/* Try the host's addresses in turn.  The deadline is for all of them. */
static enum step connect_any(struct session *s, uint64_t deadline_ns, int *fd)
{
	struct address_list list;
	enum step step = LOST;
	char why[ADDRESS_WHY_MAX];

	*fd = -1;
	if (address_resolve(&s->destination->address, false, &list, why, sizeof why) != 0)
		return lost(s, "%s", why);
	for (size_t i = 0; i < list.count && step == LOST; i++) {
		if (!is_allowed(s, &list.entries[i]))
			return over(s, EXIT_USAGE, "it is another host: use TLS (--tls-cert and the like), "
			            "or --insecure");
		step = connect_one(s, &list.entries[i], deadline_ns, fd);
	}
	return step;
}

/* What the transport said: a peer that is not trusted will not be so later. */
static enum step transport_failed(struct session *s, int error)
{
	if (error == -EPIPE)
		return lost(s, "connection closed by the other side");
	if (error == -EACCES || error == -EPROTO)
		return over(s, EXIT_BAD_DATA, "%s", transport_error(s->transport));
	return lost(s, "%s", transport_error(s->transport));
}

/* Repeat `attempt` until it is done, waiting for the socket as it needs. */
static enum step finish_by(struct session *s, int (*attempt)(struct session *), bool read, bool write,
                           uint64_t deadline_ns)
{
	for (;;) {
		int error = attempt(s);
		enum step step;

		if (error == 0)
			return ON;
		if (error == -EBADMSG)
			return over(s, EXIT_BAD_DATA, "%s", s->why);
		if (error != -EAGAIN)
			return transport_failed(s, error);
		step = socket_wait(s, transport_fd(s->transport),
		                   transport_events(s->transport, read, write), deadline_ns);
		if (step != ON)
			return step;
	}
}

static int attempt_handshake(struct session *s)
{
	return transport_handshake(s->transport);
}

static enum step connection_open(struct session *s, uint64_t deadline_ns)
{
	enum step step;
	int fd, error;

	step = connect_any(s, deadline_ns, &fd);
	if (step != ON)
		return step;
	transport_tune(fd, options_of(s)->dead_after_ms);
	error = transport_open(&s->transport, fd, s->destination->fan->tls, false,
	                       s->destination->address.host);
	if (error != 0)
		return over(s, EXIT_SYSTEM, "%s", strerror(-error));
	return finish_by(s, attempt_handshake, true, true, deadline_ns);
}

/* ---- greeting ----------------------------------------------------------------------- */

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
	hello->retry_ms = (uint64_t)options_of(s)->retry_ms;
	snprintf(hello->name, sizeof hello->name, "%s", destination->text);
	s->greetings->out.length = wire_greeting_encode(&s->greetings->greeting, s->greetings->out.bytes);
}

/* The other side refused.  Some of its reasons pass. */
static enum step refused(struct session *s, const struct wire_report *report)
{
	s->told = true;
	if (report->code == EXIT_ABSENT)
		return lost(s, "refused: %s", report->text);
	/* Codes past these are of signals, and were its. */
	return over(s, report->code <= EXIT_INTERNAL ? report->code : EXIT_INCOMPLETE, "refused: %s",
	            report->text);
}

/* Go on where the other side is.  It cannot be where our entry is not. */
static enum step resume_at(struct session *s, uint64_t head)
{
	struct destination *destination = s->destination;

	s->head = head;
	if (reader_of(s) != NULL ? ring_reader_rewind(reader_of(s), head) != 0
	                         : head != destination->start)
		return over(s, EXIT_BAD_DATA, "it wants to go on at byte %" PRIu64
		            ", which is not here any more", head);
	atomic_store_explicit(&destination->acked, head, memory_order_relaxed);
	return ON;
}

static enum step welcome_take(struct session *s)
{
	struct wire_greeting *greeting = &s->greetings->greeting;
	int error = wire_greeting_decode(WIRE_WELCOME, s->greetings->in.bytes + WIRE_PREAMBLE,
	                                 s->greetings->in.map, greeting, s->why, sizeof s->why);

	s->greeted = error != -EBADMSG;
	if (error != 0)
		return over(s, EXIT_BAD_DATA, "%s", s->why);
	if (greeting->kind == WIRE_REFUSE)
		return refused(s, &greeting->refusal);
	s->destination->resumes = (greeting->peer.features & WIRE_FEATURE_RESUME) != 0;
	return resume_at(s, greeting->welcome.head);
}

static enum step hello_say(struct session *s, uint64_t deadline_ns)
{
	s->greetings = calloc(1, sizeof *s->greetings);
	if (s->greetings == NULL)
		return over(s, EXIT_SYSTEM, "out of memory");
	hello_make(s);
	return finish_by(s, attempt_hello, false, true, deadline_ns);
}

static void greetings_end(struct session *s)
{
	free(s->greetings);
	s->greetings = NULL;
}

static enum step greet(struct session *s, uint64_t deadline_ns)
{
	enum step step = hello_say(s, deadline_ns);

	TESTPOINT("hello_sent");
	if (step == ON)
		step = finish_by(s, attempt_welcome, true, false, deadline_ns);
	if (step == ON)
		step = welcome_take(s);
	greetings_end(s);
	return step;
}

/* ---- records that come in -------------------------------------------------------------- */

static enum step ack_take(struct session *s, uint64_t position)
{
	int error;

	if (reader_of(s) == NULL)
		return ON;
	TESTPOINT("ack_received");
	error = ring_reader_give_back(reader_of(s), position);
	if (error == -ESTALE)
		return leaving(s);
	if (error != 0)
		return over(s, EXIT_BAD_DATA, "it acknowledged byte %" PRIu64 ", which was not sent", position);
	if (position != atomic_load_explicit(&s->destination->acked, memory_order_relaxed))
		s->stalled_ns = 0;
	atomic_store_explicit(&s->destination->acked, position, memory_order_relaxed);
	TESTPOINT("ack_taken");
	return ON;
}

static enum step attach(struct session *s);

static enum step ready_take(struct session *s)
{
	struct destination *destination = s->destination;

	if (destination->outage_said)
		log_note("destination %s: connected, goes on at byte %" PRIu64, destination->text, s->head);
	if (reader_of(s) != NULL && destination->begun)
		atomic_fetch_add_explicit(&destination->reconnects, 1, memory_order_relaxed);
	destination->outage_ns = 0;
	destination->outage_said = false;
	s->ready = true;
	state_set(s, DESTINATION_STREAMING);
	return reader_of(s) == NULL ? attach(s) : ON;
}

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
			poll(&poll_fd, 1, ms_until(deadline, now));
	}
}

/* Send what is queued, but do not wait for ever: the other side may be gone.
 * False: it did not hear us out. */
static bool say_farewell(struct session *s, unsigned within_ms)
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
		poll(&poll_fd, 1, ms_until(deadline, now));
	}
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
		return over(s, EXIT_BAD_DATA, "%s", s->why);
	if (report.code == 0 && !s->ended)
		return over(s, EXIT_BAD_DATA, "it says that it is complete before the end");
	TESTPOINT("outcome_received");
	if (report.code == 0)
		step = reader_of(s) != NULL && ring_reader_set_result(reader_of(s), 0) == 0
		       ? over(s, EXIT_COMPLETE, "complete") : leaving(s);
	else
		step = over(s, EXIT_INCOMPLETE, "%s", report.text);
	TESTPOINT("outcome_stored");
	s->told = true;
	if (!outbox_is_full(&s->outbox)) {
		outbox_put(&s->outbox, WIRE_BYE, s->inbox.record.position, NULL, 0);
		say_farewell(s, FAREWELL_MS);
	}
	return step;
}

static enum step error_take(struct session *s)
{
	struct wire_report report;

	if (wire_report_decode(s->inbox.payload, s->inbox.record.length, &report,
	                       s->why, sizeof s->why) != 0)
		return over(s, EXIT_BAD_DATA, "%s", s->why);
	if (report.code == 0)
		return lost(s, "the other side broke off: %s", report.text);
	return refused(s, &report);
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
		return lost(s, "unexpected record");      /* inbox lets none through */
	}
}

/* All that is there.  @progress: there was something. */
static enum step records_take(struct session *s, bool *progress)
{
	for (;;) {
		int found = inbox_read(&s->inbox, s->transport);
		enum step step;

		if (found == -EAGAIN)
			return ON;
		if (found == -EBADMSG)
			return lost(s, "%s", s->inbox.why);
		if (found < 0)
			return transport_failed(s, found);
		*progress = true;
		s->heard_ns = wait_now_ns();
		s->silent_said = false;
		step = record_take(s);
		if (step != ON)
			return step;
	}
}

/* ---- the ring ------------------------------------------------------------------------------ */

/* The other side's start barrier is met: now we count for ours. */
static enum step attach(struct session *s)
{
	struct destination *destination = s->destination;
	struct ring_reader_options options;
	struct ring_reader *reader;
	int error;

	destination_reader_options(destination, &options);
	error = ring_attach(&reader, options_of(s)->ring, &options);
	if (error == -ENOENT)
		return over(s, EXIT_ABSENT, "ring \"%s\" is gone", options_of(s)->ring);
	if (error != 0)
		return over(s, EXIT_SYSTEM, "cannot attach to ring \"%s\": %s", options_of(s)->ring,
		            strerror(-error));
	atomic_store(&destination->reader, reader);
	if (memcmp(ring_reader_stream_id(reader), destination->fan->facts.stream_id, WIRE_STREAM_ID) != 0)
		return over(s, EXIT_ABSENT, "ring \"%s\" carries another stream by now", options_of(s)->ring);
	if (ring_reader_start(reader) != s->head)
		return over(s, EXIT_INCOMPLETE, "joined late: the first %" PRIu64 " bytes are missed",
		            ring_reader_start(reader));
	destination_counted(destination);
	return ON;
}

/* Without an entry nobody tells us that the ring goes away. */
static enum step ring_watch(struct session *s, uint64_t now)
{
	struct ring_facts facts;
	int error;

	if (reader_of(s) != NULL || now - s->looked_ns < LOOK_MS * 1000000u)
		return ON;
	s->looked_ns = now;
	error = ring_look(options_of(s)->ring, options_of(s)->any_user, &facts);
	if (error == -ENOENT ||
	    (error == 0 && (facts.ended || memcmp(facts.stream_id, s->destination->fan->facts.stream_id,
	                                          WIRE_STREAM_ID) != 0)))
		return over(s, EXIT_ABSENT, "the producer of ring \"%s\" left before anything began",
		            options_of(s)->ring);
	return ON;
}

static void end_queue(struct session *s, enum ring_end end, int code, const char *text)
{
	struct wire_end message = { .end = end, .report.code = code };

	snprintf(message.report.text, sizeof message.report.text, "%s", text);
	outbox_put(&s->outbox, WIRE_END, ring_reader_position(reader_of(s)), s->report,
	           (uint32_t)wire_end_encode(&message, s->report));
	s->ended = true;
	state_set(s, DESTINATION_FINISHING);
	TESTPOINT("end_queued");
}

static void end_take(struct session *s)
{
	int code;

	if (ring_reader_end(reader_of(s), &code) == RING_COMPLETE)
		end_queue(s, RING_COMPLETE, 0, "");
	else
		end_queue(s, RING_ABORTED, code, "the producer gave the stream up");
}

/* Queue one record.  1: there was one; 0: there was none; -errno of peek. */
static int record_queue(struct session *s)
{
	struct ring_reader *reader = reader_of(s);
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
	if (!s->destination->begun && !options_of(s)->late && !ring_reader_required(reader))
		log_warning("destination %s: the producer does not wait for it; give it --consumers %zu",
		            s->destination->text, options_of(s)->to_count);
	s->destination->begun = true;
	atomic_fetch_add_explicit(&s->destination->sent_bytes, cut.length, memory_order_relaxed);
	if (options_of(s)->rate != 0)
		s->rate_due_ns += cut.length * UINT64_C(1000000000) / options_of(s)->rate;
	TESTPOINT("record_queued");
	return 1;
}

static bool is_paced(const struct session *s, uint64_t now)
{
	return options_of(s)->rate != 0 && s->rate_due_ns > now;
}

static enum step queue_fill(struct session *s, bool *progress)
{
	uint64_t now = wait_now_ns();
	int found = 1;

	/* What was not used up for a while is not made up for. */
	if (s->rate_due_ns + SLICE_MS * 1000000u < now)
		s->rate_due_ns = now - SLICE_MS * 1000000u;
	while (found == 1 && !s->ended && !outbox_is_full(&s->outbox) &&
	       s->outbox.queued < QUEUE_BYTES && !is_paced(s, now)) {
		found = record_queue(s);
		*progress = *progress || found == 1;
	}
	switch (found) {
	case 0:
	case 1:
		return ON;
	case -EOWNERDEAD:
		end_queue(s, RING_ABORTED, EXIT_INCOMPLETE, "the producer was killed");
		return ON;
	case -ESTALE:
		return leaving(s);
	default:
		return over(s, EXIT_BAD_DATA, "the words of ring \"%s\" make no sense", options_of(s)->ring);
	}
}

/* ---- clocks --------------------------------------------------------------------------------- */

static uint64_t beat_ns(const struct session *s)
{
	return (uint64_t)options_of(s)->dead_after_ms * 1000000u / 3;
}

/* Does the destination keep the whole ring waiting, and for too long? */
static enum step stall_check(struct session *s, uint64_t now)
{
	uint64_t limit = (uint64_t)options_of(s)->stall_timeout_ms * 1000000u;

	if (limit == 0 || reader_of(s) == NULL || !ring_reader_holds_back(reader_of(s)))
		s->stalled_ns = 0;
	else if (s->stalled_ns == 0)
		s->stalled_ns = now;
	if (s->stalled_ns == 0 || now - s->stalled_ns < limit)
		return ON;
	return over(s, EXIT_INCOMPLETE, "no progress for %.1f s while it held the ring full",
	            (double)options_of(s)->stall_timeout_ms / 1000);
}

/* A producer that was stopped by a signal takes all along, also those whose ring
 * is full: they would not hear of it in its turn. */
static enum step stopped_check(struct session *s, uint64_t now)
{
	int code;

	if (reader_of(s) == NULL || ring_reader_end(reader_of(s), &code) != RING_ABORTED || code <= 128)
		return ON;
	if (s->stopped_ns == 0)
		s->stopped_ns = now;
	if (now - s->stopped_ns < STOPPED_MS * 1000000u)
		return ON;
	s->stopped_code = code;
	return over(s, EXIT_INCOMPLETE, "the producer gave the stream up (exit code %d)", code);
}

static enum step clocks_check(struct session *s)
{
	uint64_t now = wait_now_ns();
	enum step step = ring_watch(s, now);

	if (step == ON)
		step = stall_check(s, now);
	if (step == ON)
		step = stopped_check(s, now);
	if (step != ON)
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
	return ON;
}

/* ---- resting ---------------------------------------------------------------------------------- */

/* Sleep on the ring; the socket rings the bell when something comes in. */
static void rest_on_ring(struct session *s)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLRDHUP | EPOLLONESHOT };

	dozer_clear(&s->destination->dozer);
	event.data.ptr = s->destination;
	if (epoll_ctl(s->destination->fan->bell, EPOLL_CTL_MOD, transport_fd(s->transport), &event) != 0)
		epoll_ctl(s->destination->fan->bell, EPOLL_CTL_ADD, transport_fd(s->transport), &event);
	lookout_rest(&s->destination->fan->lookout, &s->destination->dozer, reader_of(s), SLICE_MS);
}

/* Nothing could be done: sleep until something can, or for a slice. */
static void rest(struct session *s)
{
	struct pollfd poll_fd = { .fd = transport_fd(s->transport) };
	uint64_t now = wait_now_ns();
	bool sending = !outbox_is_empty(&s->outbox);
	int timeout_ms = SLICE_MS;

	if (transport_pending(s->transport))
		return;
	if (reader_of(s) != NULL && !sending && !s->ended && !is_paced(s, now)) {
		rest_on_ring(s);
		return;
	}
	if (is_paced(s, now))
		timeout_ms = ms_until(s->rate_due_ns, now);
	poll_fd.events = transport_events(s->transport, true, sending);
	poll(&poll_fd, 1, timeout_ms);
}

/* ---- a session ---------------------------------------------------------------------------------- */

/* Break off, and come again only to say a last thing. */
static enum step connection_renew(struct session *s)
{
	uint64_t deadline = wait_now_ns() + FAREWELL_MS * 1000000u;
	struct linger at_once = { .l_onoff = 1 };
	enum step step;

	setsockopt(transport_fd(s->transport), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
	transport_close(s->transport);
	s->transport = NULL;
	step = connection_open(s, deadline);
	if (step != ON)
		return step;
	step = hello_say(s, deadline);
	greetings_end(s);
	return step;
}

static bool error_say(struct session *s, const struct wire_report *report, unsigned within_ms)
{
	outbox_init(&s->outbox);
	outbox_put(&s->outbox, WIRE_ERROR, 0, s->report,
	           (uint32_t)wire_report_encode(report, s->report));
	return say_farewell(s, within_ms);
}

/*
 * Tell the other side that we will not come back, and why.  In the middle of a
 * record nothing else can be said, and behind others that it has no room for it
 * would not be heard.
 */
static void give_up_tell(struct session *s)
{
	struct destination *destination = s->destination;
	struct wire_report report = { .code = s->stopped_code != 0 ? s->stopped_code : destination->code };
	int code = destination->code;

	snprintf(report.text, sizeof report.text, "%s", destination->reason);
	if (s->told)
		return;
	s->parting = true;
	if ((s->outbox.sent != 0 || !error_say(s, &report, FAREWELL_FIRST_MS)) &&
	    connection_renew(s) == ON)
		error_say(s, &report, FAREWELL_MS);
	/* What came of the farewell is no news of the destination's. */
	destination->code = code;
	snprintf(destination->reason, sizeof destination->reason, "%s", report.text);
}

static enum step carry(struct session *s)
{
	state_set(s, DESTINATION_WAITING);
	s->heard_ns = s->spoke_ns = wait_now_ns();
	for (;;) {
		bool received = false, queued = false, sent = false;
		enum step step = must_leave(s) ? leaving(s) : records_take(s, &received);
		int error;

		if (step == ON && reader_of(s) != NULL && s->ready)
			step = queue_fill(s, &queued);
		if (step == ON)
			step = clocks_check(s);
		if (step != ON)
			return step;
		error = outbox_flush(&s->outbox, s->transport, &sent);
		/* Why it takes no more, it may have said before it closed. */
		if (error != 0 && error != -EAGAIN) {
			step = records_take(s, &received);
			return step != ON ? step : transport_failed(s, error);
		}
		if (sent) {
			s->spoke_ns = wait_now_ns();
			TESTPOINT("record_sent");
		}
		if (!received && !queued && !sent)
			rest(s);
	}
}

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
	state_set(s, DESTINATION_CONNECTING);
	outbox_init(&s->outbox);
	step = inbox_open(&s->inbox, WIRE_FROM_RECEIVER, destination->fan->facts.geometry.slot_size) == 0
	       ? ON : lost(s, "out of memory");
	if (step == ON)
		step = connection_open(s, deadline);
	if (step == ON)
		step = greet(s, deadline);
	if (step == ON)
		step = carry(s);
	if (step == OVER && s->greeted)
		give_up_tell(s);
	report->end = step == LOST ? SESSION_LOST : SESSION_OVER;
	memcpy(report->why, s->why, sizeof report->why);
	if (s->transport != NULL)
		transport_close(s->transport);
	inbox_close(&s->inbox);
	free(s);
}
