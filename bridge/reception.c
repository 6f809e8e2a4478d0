/* reception.c - one stream as it is received. */
#include "bridge/reception.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "ring/testpoint.h"
#include "ring/wait.h"
#include "shared/log.h"

#define PUBLISH_BYTES (64u << 10)      /* received before it is shown */
#define TURN_NS UINT64_C(20000000)     /* with the peer, before others have theirs */

/* ---- how far it is ---------------------------------------------------------------------- */

void reception_phase_set(struct reception *r, enum phase phase)
{
	r->phase = phase;
	r->phase_ns = wait_now_ns();
}

void reception_come_out(struct reception *r, enum exit_code code, const char *format, ...)
{
	va_list arguments;

	if (r->reason[0] != '\0')
		return;
	r->code = code;
	va_start(arguments, format);
	vsnprintf(r->reason, sizeof r->reason, format, arguments);
	va_end(arguments);
}

void reception_go_on(struct reception *r)
{
	int code;

	r->end.end = ring_writer_ended(r->mirror.ring, &code);
	r->end.report.code = code;
	r->sender_resumes = true;          /* one that cannot is gone by now */
	if (r->end.end != RING_OPEN)
		reception_phase_set(r, PHASE_DRAINING);
	else
		reception_phase_set(r, ring_writer_started(r->mirror.ring) ? PHASE_STREAMING
		                                                           : PHASE_BARRIER);
}

/* ---- the connection --------------------------------------------------------------------- */

void reception_disconnect(struct reception *r)
{
	if (r->peer.transport == NULL)
		return;
	peer_close(&r->peer);
	r->lost_ns = wait_now_ns();
}

void reception_lost(struct reception *r, const char *why)
{
	if (r->phase == PHASE_TELLING && r->peer.told && r->code != EXIT_COMPLETE) {
		reception_disconnect(r);
		/* Nothing that it could do would change the outcome. */
		reception_phase_set(r, PHASE_GONE);
		return;
	}
	log_warning("sender %s: %s; waiting for it for up to %.1f s", r->peer.text, why,
	            (double)r->options->retry_ms / 1000);
	reception_disconnect(r);
}

/* The peer does what no bridge does: break off, and let it come again. */
static void break_off(struct reception *r, const char *what)
{
	struct wire_report report = { .code = 0 };

	snprintf(report.text, sizeof report.text, "%s", what);
	if (peer_report_error(&r->peer, &report))
		peer_flush(&r->peer);
	reception_lost(r, what);
}

void reception_flush(struct reception *r)
{
	int error = peer_flush(&r->peer);

	if (error != 0 && error != -EAGAIN)
		reception_lost(r, transport_error(r->peer.transport));
}

/* ---- what the peer sends ---------------------------------------------------------------- */

/* Show what was received, and tell the sender that it is safe here. */
static void show_and_ack(struct reception *r)
{
	uint64_t position = mirror_publish(&r->mirror);

	TESTPOINT("record_published");
	if (position != r->peer.acked)
		peer_say(&r->peer, WIRE_ACK, position);
	TESTPOINT("ack_queued");
}

/* After a bad outcome, which the sender may not have read yet, its bytes are
 * only in the way. */
static bool record_discard(struct reception *r)
{
	if (r->peer.scratch == NULL)
		r->peer.scratch = malloc(r->mirror.slot_size);
	if (r->peer.scratch == NULL)
		return false;
	inbox_place(&r->peer.inbox, r->peer.scratch);
	return true;
}

/* A place in the ring for the record that is to come.  False: not now, or not
 * at all. */
static bool record_place(struct reception *r)
{
	const struct wire_record *record = &r->peer.inbox.record;
	uint8_t *room;
	size_t length;
	int error;

	if (r->phase == PHASE_TELLING && r->code != EXIT_COMPLETE)
		return record_discard(r);
	if (r->phase != PHASE_STREAMING) {
		break_off(r, "bytes of the stream before it may begin, or after its end");
		return false;
	}
	error = ring_writer_seek(r->mirror.ring, record->position);
	r->peer.blocked = error == -EAGAIN;
	if (error == -EPIPE)
		atomic_store(&r->mirror.readers_out, true);
	if (error == -EINVAL) {
		break_off(r, "a record that does not follow what came before");
		return false;
	}
	if (error != 0)
		return false;      /* no room; or we must leave, and others see to that */
	room = ring_writer_room(r->mirror.ring, &length);
	if (record->length > length) {
		break_off(r, "a record that does not fit its slot");
		return false;
	}
	inbox_place(&r->peer.inbox, room);
	TESTPOINT("record_placed");
	return true;
}

static void data_take(struct reception *r)
{
	if (r->phase != PHASE_STREAMING)
		return;            /* it was discarded */
	ring_writer_commit(r->mirror.ring, r->peer.inbox.record.length);
	TESTPOINT("record_received");
	if (ring_writer_position(r->mirror.ring) - ring_writer_published(r->mirror.ring) >= PUBLISH_BYTES)
		show_and_ack(r);
}

static void end_take(struct reception *r)
{
	uint64_t here = ring_writer_position(r->mirror.ring), position = r->peer.inbox.record.position;
	char why[WIRE_WHY_MAX];

	r->peer.end_heard = true;
	if (r->phase > PHASE_STREAMING)
		return;            /* heard before the connection broke */
	if (r->phase < PHASE_STREAMING || position < here || position - here >= r->mirror.slot_size ||
	    (position != here && position % r->mirror.slot_size != 0)) {
		break_off(r, "an end that is not where the stream is");
		return;
	}
	if (wire_end_decode(r->peer.inbox.payload, r->peer.inbox.record.length, &r->end,
	                    why, sizeof why) != 0) {
		break_off(r, why);
		return;
	}
	show_and_ack(r);
	mirror_end(&r->mirror, r->end.end, r->end.report.code);
	TESTPOINT("mirror_ended");
	reception_phase_set(r, PHASE_DRAINING);
}

/* The sender leaves and will not come back. */
static void error_take(struct reception *r)
{
	struct wire_report report = { .code = EXIT_INCOMPLETE };
	char why[WIRE_WHY_MAX];

	wire_report_decode(r->peer.inbox.payload, r->peer.inbox.record.length, &report, why, sizeof why);
	if (r->phase >= PHASE_TELLING) {
		reception_phase_set(r, PHASE_GONE);
		return;
	}
	reception_come_out(r, EXIT_INCOMPLETE, "sender %s gave up: %.400s", r->peer.text, report.text);
	mirror_end(&r->mirror, RING_ABORTED, report.code != 0 ? report.code : EXIT_INCOMPLETE);
	reception_phase_set(r, PHASE_GONE);
}

static void record_take(struct reception *r)
{
	switch (r->peer.inbox.record.type) {
	case WIRE_DATA:
		data_take(r);
		break;
	case WIRE_END:
		end_take(r);
		break;
	case WIRE_PING:
		peer_say(&r->peer, WIRE_ACK, ring_writer_published(r->mirror.ring));
		break;
	case WIRE_BYE:
		if (r->peer.told)
			reception_phase_set(r, PHASE_GONE);
		else
			break_off(r, "a farewell before the outcome");
		break;
	case WIRE_ERROR:
		error_take(r);
		break;
	default:
		break_off(r, "a record that a sender does not send");
		break;
	}
}

/* Go on with one piece.  False: nothing more to be had now. */
static bool hear_once(struct reception *r)
{
	int found = inbox_read(&r->peer.inbox, r->peer.transport);

	if (found == INBOX_RECORD) {
		r->peer.heard_ns = wait_now_ns();
		r->peer.silence_said = false;
	}
	switch (found) {
	case INBOX_HEAD:
		return record_place(r);
	case INBOX_RECORD:
		record_take(r);
		return r->peer.transport != NULL && r->phase != PHASE_GONE;
	case -EAGAIN:
		return false;
	case -EBADMSG:
		break_off(r, r->peer.inbox.why);
		return false;
	case -EPIPE:
		reception_lost(r, "closed the connection");
		return false;
	default:
		reception_lost(r, transport_error(r->peer.transport));
		return false;
	}
}

void reception_hear(struct reception *r)
{
	uint64_t until = wait_now_ns() + TURN_NS;

	while (r->peer.transport != NULL && hear_once(r) && wait_now_ns() < until)
		reception_flush(r);
	if (r->peer.transport != NULL && r->mirror.ring != NULL && r->phase == PHASE_STREAMING)
		show_and_ack(r);
	reception_flush(r);
}
