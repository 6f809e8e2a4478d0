/*
 * receiver.c - a listening bridge: one connection at a time into a mirror ring.
 *
 * One thread does everything, in turns: what the peer sent, who knocks at the
 * port, what the ring's readers do.  Where it has to wait for the ring, it looks
 * at the sockets every SLICE_MS.
 */
#include "bridge/receiver.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bridge/guests.h"
#include "bridge/inbox.h"
#include "bridge/listener.h"
#include "bridge/outbox.h"
#include "bridge/tls.h"
#include "ring/testpoint.h"
#include "ring/wait.h"
#include "shared/leave.h"
#include "shared/log.h"
#include "shared/progress.h"
#include "shared/writer_talk.h"

#define SLICE_MS 20
#define TICK_MS 100
#define PUBLISH_BYTES (64u << 10)      /* received before it is shown */
#define TURN_NS UINT64_C(20000000)     /* with the peer, before others have theirs */
#define FAREWELL_NS UINT64_C(1000000000)
#define REPORTS_MAX 192
#define NUMBERS_TRIED 1000             /* of streams, to find the mirror of one */

enum phase {
	AWAITING,                      /* no stream yet */
	BARRIER,                       /* the ring is there, its consumers are not */
	STREAMING,
	DRAINING,                      /* the end is known; for the consumers' results */
	TELLING,                       /* the outcome is known; the sender is to know it */
	GONE,
};

/* The connection to the sender, if there is one. */
struct peer {
	struct transport *transport;   /* NULL: none */
	char text[ADDRESS_TEXT_MAX];
	struct inbox inbox;
	struct outbox outbox;
	bool blocked;                  /* the ring has no room for the record that is to come */
	bool end_heard;
	bool told;                     /* the outcome is queued */
	bool silence_said;
	uint64_t acked;                /* position that was acknowledged */
	uint64_t spoke_ns, heard_ns;
	uint8_t *scratch;              /* takes what comes after a bad outcome */
	uint8_t report[WIRE_REPORT_MAX];
};

static struct {
	const struct bridge_options *options;
	struct guests guests;
	struct tls_context *tls;
	struct progress progress;

	/* The stream. */
	enum phase phase;
	unsigned number;               /* 1, 2, ... with --serve */
	char name[RING_NAME_MAX + 1];
	_Atomic(struct ring_writer *) ring;
	_Atomic bool readers_out;
	uint32_t slot_size;
	struct peer peer;
	unsigned reconnects;
	bool sender_resumes;           /* it can come back after a broken connection */
	uint64_t lost_ns;              /* since when there is no peer */
	uint64_t phase_ns;             /* since when the phase lasts */
	uint64_t attended_ns;          /* when guests had their turn */
	struct wire_end end;           /* as the sender said it */

	/* What came of it. */
	enum exit_code code;
	char reason[WIRE_TEXT_MAX + 1];
} run;

static void phase_set(enum phase phase)
{
	run.phase = phase;
	run.phase_ns = wait_now_ns();
}

static void come_out(enum exit_code code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The first cause counts. */
static void come_out(enum exit_code code, const char *format, ...)
{
	va_list arguments;

	if (run.reason[0] != '\0')
		return;
	run.code = code;
	va_start(arguments, format);
	vsnprintf(run.reason, sizeof run.reason, format, arguments);
	va_end(arguments);
}

/* ---- the ring ----------------------------------------------------------------------------- */

void receiver_interrupt(void)
{
	struct ring_writer *ring = run.ring;

	if (ring != NULL)
		ring_writer_interrupt(ring);
}

static void on_event(void *context, const struct ring_event *event)
{
	struct ring_writer *ring = run.ring;
	char tail[160];

	(void)context;
	if (event->kind == RING_EVENT_READERS_OUT)
		atomic_store(&run.readers_out, true);
	writer_talk_event(run.name, event, run.options->stall_timeout_ms);
	if (event->kind != RING_EVENT_TICK || ring == NULL || !progress_is_due(&run.progress))
		return;
	writer_talk_progress(ring, tail, sizeof tail);
	progress_show(&run.progress, tail);
}

static struct ring_writer_options ring_options(void)
{
	struct ring_writer_options options = {
		.mode = run.options->mode,
		.label = "sluice-bridge",
		.stall_timeout_ms = run.options->stall_timeout_ms,
		.observer = on_event,
		.takeover_ms = (uint32_t)(run.options->retry_ms < UINT32_MAX ? run.options->retry_ms : UINT32_MAX),
	};

	return options;
}

static void ring_is_there(struct ring_writer *ring)
{
	run.ring = ring;
	run.slot_size = ring_writer_geometry(ring).slot_size;
}

static enum exit_code mirror_create(const struct wire_hello *hello)
{
	struct ring_writer_options options = ring_options();
	struct ring_shortage shortage;
	struct ring_writer *ring;
	int error;

	options.geometry = hello->geometry;
	if (run.options->slots != 0)
		options.geometry.slot_count = run.options->slots;
	options.stream_id = hello->stream;
	options.start = hello->start;
	error = ring_create(&ring, run.name, &options, &shortage, NULL);
	if (error != 0)
		return writer_talk_create_failed(run.name, error, &shortage, "--slots");
	ring_is_there(ring);
	run.peer.acked = hello->start;
	phase_set(BARRIER);
	TESTPOINT("mirror_created");
	return EXIT_COMPLETE;
}

/* The mirror of a bridge before us that died: of this stream, or NULL: of any.
 * 0 or -errno of ring_takeover. */
static int mirror_take_over(const uint8_t *stream_id)
{
	struct ring_writer_options options = ring_options();
	struct ring_writer *ring;
	int code, error;

	options.stream_id = stream_id;
	error = ring_takeover(&ring, run.name, &options);
	if (error != 0)
		return error;
	ring_is_there(ring);
	log_note("ring \"%s\": goes on at byte %" PRIu64, run.name, ring_writer_published(ring));
	run.end.end = ring_writer_ended(ring, &code);
	run.end.report.code = code;
	run.sender_resumes = true;         /* one that cannot is gone by now */
	if (run.end.end != RING_OPEN)
		phase_set(DRAINING);
	else
		phase_set(ring_writer_started(ring) ? STREAMING : BARRIER);
	TESTPOINT("mirror_taken_over");
	return 0;
}

/* End the mirror, if it is not. */
static void mirror_end(enum ring_end end, int code)
{
	int before;

	if (run.ring != NULL && ring_writer_ended(run.ring, &before) == RING_OPEN)
		ring_writer_end(run.ring, end, code);
}

/* ---- the peer ------------------------------------------------------------------------------- */

static void peer_close(void)
{
	if (run.peer.transport == NULL)
		return;
	transport_close(run.peer.transport);
	run.peer.transport = NULL;
	run.peer.blocked = false;
	inbox_close(&run.peer.inbox);
	free(run.peer.scratch);
	run.peer.scratch = NULL;
	run.lost_ns = wait_now_ns();
}

static void peer_lost(const char *why)
{
	if (run.phase == TELLING && run.peer.told && run.code != EXIT_COMPLETE) {
		peer_close();
		phase_set(GONE);   /* nothing that it could do would change the outcome */
		return;
	}
	log_warning("sender %s: %s; waiting for it for up to %.1f s", run.peer.text, why,
	            (double)run.options->retry_ms / 1000);
	peer_close();
}

/* It does what no bridge does: break off, and let it come again. */
static void peer_wrong(const char *what)
{
	struct wire_report report = { .code = 0 };

	snprintf(report.text, sizeof report.text, "%s", what);
	if (run.peer.outbox.sent == 0) {
		bool progress;

		outbox_init(&run.peer.outbox);
		outbox_put(&run.peer.outbox, WIRE_ERROR, 0, run.peer.report,
		           (uint32_t)wire_report_encode(&report, run.peer.report));
		outbox_flush(&run.peer.outbox, run.peer.transport, &progress);
	}
	peer_lost(what);
}

/* Queue a record without payload, if there is room: acknowledgements are made
 * up for by the next. */
static void peer_say(enum wire_type type, uint64_t position)
{
	if (run.peer.transport == NULL || outbox_is_full(&run.peer.outbox))
		return;
	outbox_put(&run.peer.outbox, type, position, NULL, 0);
	run.peer.spoke_ns = wait_now_ns();
	if (type == WIRE_ACK)
		run.peer.acked = position;
}

static void peer_flush(void)
{
	bool progress;
	int error;

	if (run.peer.transport == NULL || outbox_is_empty(&run.peer.outbox))
		return;
	error = outbox_flush(&run.peer.outbox, run.peer.transport, &progress);
	if (error != 0 && error != -EAGAIN)
		peer_lost(transport_error(run.peer.transport));
}

/*
 * Does the sender that we have still seem to be there?  One that came back has
 * left a connection behind that may look alive; two for one stream would put each
 * other out for ever.
 */
static bool peer_seems_there(void)
{
	struct pollfd poll_fd;

	if (run.peer.transport == NULL)
		return false;
	poll_fd.fd = transport_fd(run.peer.transport);
	poll_fd.events = POLLRDHUP;
	return poll(&poll_fd, 1, 0) == 0 &&
	       wait_now_ns() - run.peer.heard_ns < (uint64_t)run.options->dead_after_ms * 1000000u / 2;
}

/* ---- admitting a sender ------------------------------------------------------------------------ */

/* "%n" the stream's number, "%i" its id, "%%" a percent sign.  False: too long. */
static bool name_make(const struct wire_hello *hello)
{
	const char *pattern = run.options->ring;
	size_t at = 0;

	for (; *pattern != '\0' && at < RING_NAME_MAX; pattern++) {
		char piece[2 * WIRE_STREAM_ID + 1] = { *pattern, '\0' };

		if (run.options->serve && *pattern == '%') {
			pattern++;
			if (*pattern == 'n')
				snprintf(piece, sizeof piece, "%u", run.number);
			for (size_t i = 0; *pattern == 'i' && i < WIRE_STREAM_ID; i++)
				snprintf(piece + 2 * i, 3, "%02x", hello->stream[i]);
		}
		snprintf(run.name + at, sizeof run.name - at, "%s", piece);
		at += strlen(piece);
	}
	return at <= RING_NAME_MAX && *pattern == '\0';
}

/* The mirror that a bridge before us left of this stream, under one of the names
 * that it may have given it. */
static bool mirror_find(const struct wire_hello *hello)
{
	unsigned number = run.number;

	for (run.number = 1; run.options->serve && run.number <= NUMBERS_TRIED; run.number++)
		if (name_make(hello) && mirror_take_over(hello->stream) == 0)
			return true;
	run.number = number;
	return false;
}

/* Is it the stream that we have?  If not, is there place for it?  False: refused. */
static bool stream_admit(struct guest *guest, const struct wire_hello *hello)
{
	if (run.ring != NULL) {
		bool ours = memcmp(ring_writer_stream_id(run.ring), hello->stream, WIRE_STREAM_ID) == 0;

		if (ours && !peer_seems_there())
			return true;
		guest_refuse(guest, EXIT_ABSENT, ours ? "another sender of this stream is connected"
		                                      : "busy with another stream");
		return false;
	}
	if (hello->resume) {
		if (mirror_find(hello))
			return true;
		guest_refuse(guest, EXIT_INCOMPLETE, "the stream is not here any more");
		return false;
	}
	if (hello->start % hello->geometry.slot_size != 0) {
		guest_refuse(guest, EXIT_BAD_DATA, "its stream begins within a slot");
		return false;
	}
	if (!name_make(hello)) {
		guest_refuse(guest, EXIT_USAGE, "the ring's name is too long");
		return false;
	}
	run.code = mirror_create(hello);
	if (run.code == EXIT_COMPLETE)
		return true;
	guest_refuse(guest, (int)run.code, log_fatal_text());
	come_out(run.code, "%s", log_fatal_text());
	phase_set(GONE);
	return false;
}

static void welcome(struct guest *guest, uint32_t proto)
{
	struct wire_greeting greeting = { .kind = WIRE_WELCOME, .proto = proto };

	greeting.peer.features = WIRE_FEATURE_RESUME;
	greeting.welcome.head = ring_writer_published(run.ring);
	snprintf(greeting.welcome.ring, sizeof greeting.welcome.ring, "%s", run.name);
	guest->out.length = wire_greeting_encode(&greeting, guest->out.bytes);
	guest->out.sent = 0;
	/* A new connection has room for so little. */
	if (greeting_send(&guest->out, run.peer.transport) != 0)
		peer_lost(transport_error(run.peer.transport));
}

/* The guest becomes the peer; nothing of the connection before is left. */
static int peer_init(struct guest *guest)
{
	memset(&run.peer, 0, sizeof run.peer);
	if (inbox_open(&run.peer.inbox, WIRE_FROM_SENDER, run.slot_size) != 0)
		return -ENOMEM;
	outbox_init(&run.peer.outbox);
	run.peer.transport = guest->transport;
	guest->transport = NULL;
	snprintf(run.peer.text, sizeof run.peer.text, "%s", guest->peer);
	run.peer.acked = ring_writer_published(run.ring);
	run.peer.heard_ns = run.peer.spoke_ns = wait_now_ns();
	return 0;
}

static void on_greeted(void *context, struct guest *guest, const struct wire_greeting *greeting)
{
	(void)context;
	if (!stream_admit(guest, &greeting->hello))
		return;
	if (run.peer.transport != NULL) {
		log_note("sender %s: replaced by a new connection from %s", run.peer.text, guest->peer);
		peer_close();
	}
	/* What lies in the ring and was not shown yet was not acknowledged either. */
	ring_writer_publish(run.ring);
	if (run.peer.text[0] != '\0') {
		log_note("sender %s: connected, goes on at byte %" PRIu64, guest->peer,
		         ring_writer_published(run.ring));
		run.reconnects++;
	}
	if (peer_init(guest) != 0) {
		guest_refuse(guest, EXIT_ABSENT, "out of memory");
		return;
	}
	run.lost_ns = 0;
	run.sender_resumes = (greeting->peer.features & WIRE_FEATURE_RESUME) != 0;
	welcome(guest, greeting->proto);
	TESTPOINT("welcome_sent");
	if (run.phase > BARRIER)
		peer_say(WIRE_READY, run.peer.acked);
}

/* ---- what the peer sends --------------------------------------------------------------------------- */

/* Show what was received, and tell the sender that it is safe here. */
static void show_and_ack(void)
{
	uint64_t position = ring_writer_position(run.ring);

	ring_writer_publish(run.ring);
	atomic_store(&run.progress.bytes, position);
	TESTPOINT("record_published");
	if (position != run.peer.acked)
		peer_say(WIRE_ACK, position);
	TESTPOINT("ack_queued");
}

/* After a bad outcome, which the sender may not have read yet, its bytes are
 * only in the way. */
static bool record_discard(void)
{
	if (run.peer.scratch == NULL)
		run.peer.scratch = malloc(run.slot_size);
	if (run.peer.scratch == NULL)
		return false;
	inbox_place(&run.peer.inbox, run.peer.scratch);
	return true;
}

/* A place in the ring for the record that is to come.  False: not now, or not
 * at all. */
static bool record_place(void)
{
	const struct wire_record *record = &run.peer.inbox.record;
	uint8_t *room;
	size_t length;
	int error;

	if (run.phase == TELLING && run.code != EXIT_COMPLETE)
		return record_discard();
	if (run.phase != STREAMING) {
		peer_wrong("bytes of the stream before it may begin, or after its end");
		return false;
	}
	error = ring_writer_seek(run.ring, record->position);
	run.peer.blocked = error == -EAGAIN;
	if (error == -EINVAL) {
		peer_wrong("a record that does not follow what came before");
		return false;
	}
	if (error != 0)
		return false;      /* no room; or we must leave, and others see to that */
	room = ring_writer_room(run.ring, &length);
	if (record->length > length) {
		peer_wrong("a record that does not fit its slot");
		return false;
	}
	inbox_place(&run.peer.inbox, room);
	TESTPOINT("record_placed");
	return true;
}

static void data_take(void)
{
	if (run.phase != STREAMING)
		return;            /* it was discarded */
	ring_writer_commit(run.ring, run.peer.inbox.record.length);
	TESTPOINT("record_received");
	if (ring_writer_position(run.ring) - ring_writer_published(run.ring) >= PUBLISH_BYTES)
		show_and_ack();
}

static void end_take(void)
{
	uint64_t here = ring_writer_position(run.ring), position = run.peer.inbox.record.position;
	char why[WIRE_WHY_MAX];

	run.peer.end_heard = true;
	if (run.phase > STREAMING)
		return;            /* heard before the connection broke */
	if (run.phase < STREAMING || position < here || position - here >= run.slot_size ||
	    (position != here && position % run.slot_size != 0)) {
		peer_wrong("an end that is not where the stream is");
		return;
	}
	if (wire_end_decode(run.peer.inbox.payload, run.peer.inbox.record.length, &run.end,
	                    why, sizeof why) != 0) {
		peer_wrong(why);
		return;
	}
	show_and_ack();
	mirror_end(run.end.end, run.end.report.code);
	TESTPOINT("mirror_ended");
	phase_set(DRAINING);
}

/* The sender leaves and will not come back. */
static void error_take(void)
{
	struct wire_report report = { .code = EXIT_INCOMPLETE };
	char why[WIRE_WHY_MAX];

	wire_report_decode(run.peer.inbox.payload, run.peer.inbox.record.length, &report, why, sizeof why);
	if (run.phase >= TELLING) {
		phase_set(GONE);
		return;
	}
	come_out(EXIT_INCOMPLETE, "sender %s gave up: %.400s", run.peer.text, report.text);
	mirror_end(RING_ABORTED, report.code != 0 ? report.code : EXIT_INCOMPLETE);
	phase_set(GONE);
}

static void record_take(void)
{
	switch (run.peer.inbox.record.type) {
	case WIRE_DATA:
		data_take();
		break;
	case WIRE_END:
		end_take();
		break;
	case WIRE_PING:
		peer_say(WIRE_ACK, ring_writer_published(run.ring));
		break;
	case WIRE_BYE:
		if (run.peer.told)
			phase_set(GONE);
		else
			peer_wrong("a farewell before the outcome");
		break;
	case WIRE_ERROR:
		error_take();
		break;
	default:
		peer_wrong("a record that a sender does not send");
		break;
	}
}

/* Go on with one piece.  False: nothing more to be had now. */
static bool hear_once(void)
{
	int found = inbox_read(&run.peer.inbox, run.peer.transport);

	if (found == INBOX_RECORD) {
		run.peer.heard_ns = wait_now_ns();
		run.peer.silence_said = false;
	}
	switch (found) {
	case INBOX_HEAD:
		return record_place();
	case INBOX_RECORD:
		record_take();
		return run.peer.transport != NULL && run.phase != GONE;
	case -EAGAIN:
		return false;
	case -EBADMSG:
		peer_wrong(run.peer.inbox.why);
		return false;
	case -EPIPE:
		peer_lost("closed the connection");
		return false;
	default:
		peer_lost(transport_error(run.peer.transport));
		return false;
	}
}

/* All that the peer sent, as far as there is room for it; but others want their
 * turn. */
static void hear(void)
{
	uint64_t until = wait_now_ns() + TURN_NS;

	while (run.peer.transport != NULL && hear_once() && wait_now_ns() < until)
		peer_flush();
	if (run.peer.transport != NULL && run.ring != NULL && run.phase == STREAMING)
		show_and_ack();
	peer_flush();
}

/* ---- the outcome ------------------------------------------------------------------------------------- */

/* The consumer that is to blame. */
static void blame(char *text, size_t size)
{
	static const char *const outcomes[] = { "has no result", "", "failed", "died", "was evicted" };
	struct ring_reader_report reports[REPORTS_MAX];
	size_t count = ring_writer_reports(run.ring, reports, REPORTS_MAX);
	char who[WRITER_TALK_WHO_MAX];

	snprintf(text, size, "not every required consumer completed it");
	for (size_t i = 0; i < count && i < REPORTS_MAX; i++) {
		if (!reports[i].required || reports[i].outcome == RING_GOOD)
			continue;
		snprintf(text, size, "ring \"%s\": %s %s", run.name,
		         writer_talk_who(&reports[i].process, who), outcomes[reports[i].outcome]);
		return;
	}
}

static void drained(int verdict)
{
	char text[WIRE_TEXT_MAX + 1];

	if (run.end.end != RING_COMPLETE) {
		come_out(EXIT_INCOMPLETE, "ring \"%s\": %.300s (exit code %d)", run.name,
		         run.end.report.text[0] != '\0' ? run.end.report.text
		                                        : "the producer gave the stream up",
		         run.end.report.code);
	} else if (verdict != 0) {
		blame(text, sizeof text);
		come_out(EXIT_INCOMPLETE, "%s", text);
	}
	TESTPOINT("outcome_known");
	phase_set(TELLING);
}

/* Queue the outcome once the sender can do something with it: a good one only
 * after it said the end. */
static void outcome_tell(void)
{
	struct wire_report report = { .code = (int)run.code };

	if (run.phase != TELLING || run.peer.transport == NULL || run.peer.told ||
	    (run.code == EXIT_COMPLETE && !run.peer.end_heard) || outbox_is_full(&run.peer.outbox))
		return;
	snprintf(report.text, sizeof report.text, "%s", run.reason);
	outbox_put(&run.peer.outbox, WIRE_OUTCOME, ring_writer_published(run.ring), run.peer.report,
	           (uint32_t)wire_report_encode(&report, run.peer.report));
	run.peer.told = true;
	TESTPOINT("outcome_queued");
}

/* ---- clocks ---------------------------------------------------------------------------------------------- */

static bool is_past(uint64_t since_ns, int64_t limit_ms)
{
	return limit_ms >= 0 && wait_now_ns() - since_ns >= (uint64_t)limit_ms * 1000000u;
}

/* How long to wait for the sender to come back.  One that began nothing yet may
 * begin anew. */
static int64_t patience_ms(void)
{
	return run.sender_resumes || run.phase == BARRIER ? run.options->retry_ms : 0;
}

static void check_absence(void)
{
	if (run.phase == AWAITING && is_past(run.phase_ns, run.options->wait_ms)) {
		come_out(EXIT_ABSENT, "no sender within %.1f s", (double)run.options->wait_ms / 1000);
		phase_set(GONE);
	}
	if (run.peer.transport != NULL || run.phase == AWAITING || run.phase == GONE ||
	    !is_past(run.lost_ns, patience_ms()))
		return;
	if (run.phase == TELLING) {
		log_warning("ring \"%s\": the sender did not come back to hear the outcome", run.name);
	} else if (run.phase != DRAINING) {
		come_out(EXIT_INCOMPLETE, "ring \"%s\": the sender did not come back within %.1f s, at byte %"
		         PRIu64, run.name, (double)patience_ms() / 1000,
		         ring_writer_published(run.ring));
		mirror_end(RING_ABORTED, EXIT_INCOMPLETE);
	} else {
		return;            /* the consumers' results are still worth waiting for */
	}
	phase_set(GONE);
}

/* Its host is there, or the kernel would say so.  While the ring is full nothing
 * is heard of anybody. */
static void silence_check(void)
{
	if (run.peer.transport == NULL || run.peer.blocked || run.peer.silence_said ||
	    !is_past(run.peer.heard_ns, run.options->dead_after_ms))
		return;
	run.peer.silence_said = true;
	log_warning("sender %s: silent for %.0f s, though its host is there: is its bridge stopped?",
	            run.peer.text, (double)run.options->dead_after_ms / 1000);
}

static void check_clocks(void)
{
	check_absence();
	if (run.phase == BARRIER && is_past(run.phase_ns, run.options->start_timeout_ms)) {
		come_out(EXIT_ABSENT, "ring \"%s\": %u consumers did not come within %.1f s", run.name,
		         run.options->consumers, (double)run.options->start_timeout_ms / 1000);
		mirror_end(RING_ABORTED, EXIT_ABSENT);
		phase_set(TELLING);
	}
	if (run.phase == DRAINING && is_past(run.phase_ns, run.options->drain_timeout_ms)) {
		come_out(EXIT_TIMEOUT, "ring \"%s\": consumers did not finish within %.1f s of the end",
		         run.name, (double)run.options->drain_timeout_ms / 1000);
		phase_set(TELLING);
	}
	if (run.phase == STREAMING && atomic_load(&run.readers_out)) {
		char text[WIRE_TEXT_MAX + 1];

		blame(text, sizeof text);
		come_out(EXIT_INCOMPLETE, "no required consumer is left: %.400s", text);
		mirror_end(RING_ABORTED, EXIT_INCOMPLETE);
		phase_set(TELLING);
	}
	silence_check();
	/* The sender is to know that we are there, also while the ring is full. */
	if (run.peer.transport != NULL && outbox_is_empty(&run.peer.outbox) && run.ring != NULL &&
	    is_past(run.peer.spoke_ns, run.options->dead_after_ms / 3))
		peer_say(WIRE_ACK, ring_writer_published(run.ring));
}

static void leave(void)
{
	struct wire_report report = { .code = 128 + leave_signal() };
	uint64_t until = wait_now_ns() + FAREWELL_NS;

	come_out((enum exit_code)(128 + leave_signal()), "stopped by signal %d (%s)", leave_signal(),
	         strsignal(leave_signal()));
	snprintf(report.text, sizeof report.text, "the receiver was %.400s", run.reason);
	mirror_end(RING_ABORTED, report.code);
	phase_set(GONE);
	if (run.peer.transport == NULL || run.peer.outbox.sent != 0)
		return;
	outbox_init(&run.peer.outbox);
	outbox_put(&run.peer.outbox, WIRE_ERROR, 0, run.peer.report,
	           (uint32_t)wire_report_encode(&report, run.peer.report));
	while (run.peer.transport != NULL && !outbox_is_empty(&run.peer.outbox) && wait_now_ns() < until) {
		peer_flush();
		poll(NULL, 0, 1);
	}
}

/* ---- waiting ------------------------------------------------------------------------------------------------ */

/* Sleep until a socket has something, at most timeout_ms. */
static void wait_for_sockets(int timeout_ms)
{
	struct pollfd polls[GUESTS_POLLS + 1];
	size_t guests = guests_polls(&run.guests, polls), count = guests;

	if (run.peer.transport != NULL) {
		if (transport_pending(run.peer.transport))
			timeout_ms = 0;
		polls[count].fd = transport_fd(run.peer.transport);
		polls[count++].events = transport_events(run.peer.transport, true,
		                                         !outbox_is_empty(&run.peer.outbox));
	}
	if (poll(polls, (nfds_t)count, timeout_ms) <= 0)
		return;
	for (size_t i = 0; i < guests; i++)
		if (polls[i].revents != 0)
			run.attended_ns = 0;       /* now, not when it is time */
}

/* Sleep until something may have changed: at the ring, where that is what we
 * wait for. */
static void wait_a_little(void)
{
	int error;

	switch (run.phase) {
	case BARRIER:
		if (ring_writer_wait_readers(run.ring, run.options->consumers, SLICE_MS, NULL) != 0)
			break;
		phase_set(STREAMING);
		peer_say(WIRE_READY, ring_writer_published(run.ring));
		TESTPOINT("barrier_met");
		break;
	case DRAINING:
		error = ring_writer_drain(run.ring, SLICE_MS);
		if (error == 0 || error == -EPIPE)
			drained(error);
		break;
	default:
		if (run.peer.blocked && run.phase == STREAMING)
			ring_writer_wait_space(run.ring, SLICE_MS);
		else
			wait_for_sockets(TICK_MS);
		break;
	}
}

static void attend_guests(void)
{
	uint64_t now = wait_now_ns();

	if (now - run.attended_ns < SLICE_MS * 1000000u)
		return;
	run.attended_ns = now;
	guests_attend(&run.guests);
}

/* ---- a stream ------------------------------------------------------------------------------------------------ */

static enum exit_code stream_begin(void)
{
	static const struct wire_hello nobody;
	int error;

	memset(&run.peer, 0, sizeof run.peer);
	memset(&run.end, 0, sizeof run.end);
	atomic_store(&run.readers_out, false);
	run.code = EXIT_COMPLETE;
	run.reason[0] = '\0';
	run.number++;
	run.reconnects = 0;
	run.lost_ns = wait_now_ns();
	phase_set(AWAITING);
	/* Which name it has where streams come one after the other, a sender will
	 * say; what else is wrong with it, is seen when it is made. */
	if (run.options->serve)
		return EXIT_COMPLETE;
	error = name_make(&nobody) ? mirror_take_over(NULL) : -EINVAL;
	if (error == -EINVAL)
		return writer_talk_create_failed(run.options->ring, error, NULL, "");
	if (error != -EEXIST)
		return EXIT_COMPLETE;
	log_fatal("ring \"%s\" is in use by another producer", run.name);
	return EXIT_ABSENT;
}

static void stream_receive(void)
{
	while (run.phase != GONE) {
		if (leave_is_requested()) {
			leave();
			break;
		}
		wait_a_little();
		attend_guests();
		hear();
		check_clocks();
		outcome_tell();
		peer_flush();
	}
	peer_close();
}

static void stream_close(void)
{
	struct ring_writer *ring = run.ring;

	run.ring = NULL;           /* a late signal finds nothing to interrupt */
	if (ring != NULL)
		ring_destroy(ring);
}

/* One after the other; what went wrong with one is no reason to stop. */
static void streams_serve(void)
{
	for (;;) {
		stream_receive();
		if (run.code != EXIT_COMPLETE && !leave_is_requested())
			log_warning("stream %u: %s", run.number, run.reason);
		else if (run.code == EXIT_COMPLETE)
			log_note("stream %u: complete, in ring \"%s\"", run.number, run.name);
		if (leave_is_requested())
			return;
		stream_close();
		if (stream_begin() != EXIT_COMPLETE)
			return;
	}
}

/* ---- the receiving end -------------------------------------------------------------------------------------------------- */

static enum exit_code setup(void)
{
	const struct bridge_options *options = run.options;
	enum exit_code code;

	run.guests.listener = -1;
	code = bridge_tls_open(options, true, &run.tls);
	if (code != EXIT_COMPLETE)
		return code;
	run.guests.tls = run.tls;
	run.guests.dead_after_ms = options->dead_after_ms;
	run.guests.greeted = on_greeted;
	return listener_open(options, run.tls != NULL, &run.guests.listener);
}

enum exit_code receiver_run(const struct bridge_options *options)
{
	enum exit_code code;

	run.options = options;
	progress_start(&run.progress, options->progress);
	/* The mirror first: its readers wait for somebody who takes it over. */
	code = stream_begin();
	if (code == EXIT_COMPLETE)
		code = setup();
	if (code != EXIT_COMPLETE)
		return code;
	if (options->serve)
		streams_serve();
	else
		stream_receive();
	guests_close(&run.guests);
	if (run.code != EXIT_COMPLETE)
		log_fatal("%s", run.reason);
	return run.code;
}

void receiver_account(struct json_out *out)
{
	json_out_text(out, "end", "receiving");
	json_out_text(out, "mirror", run.name);
	json_out_number(out, "reconnects", run.reconnects);
	if (run.ring != NULL)
		writer_talk_account(out, run.ring);
}

void receiver_close(void)
{
	mirror_end(RING_ABORTED, run.code != EXIT_COMPLETE ? (int)run.code : EXIT_SYSTEM);
	stream_close();
}
