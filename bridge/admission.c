/* admission.c - who becomes the peer. */
#include "bridge/admission.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ring/testpoint.h"
#include "shared/log.h"

/* Is it the stream that we have?  If not, is there place for it?  False: refused. */
static bool stream_admit(struct reception *r, struct guest *guest, const struct wire_hello *hello)
{
	enum exit_code code;

	if (r->mirror.ring != NULL) {
		bool ours = memcmp(ring_writer_stream_id(r->mirror.ring), hello->stream, WIRE_STREAM_ID) == 0;

		if (ours && !peer_seems_there(&r->peer, r->options->dead_after_ms))
			return true;
		guest_refuse(guest, EXIT_ABSENT, ours ? "another sender of this stream is connected"
		                                      : "busy with another stream");
		return false;
	}
	if (r->phase != PHASE_AWAITING) {
		guest_refuse(guest, EXIT_ABSENT, "not receiving any more");
		return false;
	}
	if (hello->resume) {
		if (mirror_find(&r->mirror, hello)) {
			reception_go_on(r);
			return true;
		}
		guest_refuse(guest, EXIT_INCOMPLETE, "the stream is not here any more");
		return false;
	}
	if (hello->start % hello->geometry.slot_size != 0) {
		guest_refuse(guest, EXIT_BAD_DATA, "its stream begins within a slot");
		return false;
	}
	if (!mirror_name(&r->mirror, hello)) {
		guest_refuse(guest, EXIT_USAGE, "the ring's name is too long");
		return false;
	}
	code = mirror_create(&r->mirror, hello);
	if (code == EXIT_COMPLETE) {
		reception_phase_set(r, PHASE_BARRIER);
		return true;
	}
	guest_refuse(guest, (int)code, log_fatal_text());
	reception_come_out(r, code, "%s", log_fatal_text());
	reception_phase_set(r, PHASE_GONE);
	return false;
}

static void welcome(struct reception *r, struct guest *guest, uint32_t proto)
{
	struct wire_greeting greeting = { .kind = WIRE_WELCOME, .proto = proto };

	greeting.peer.features = WIRE_FEATURE_RESUME;
	greeting.welcome.head = ring_writer_published(r->mirror.ring);
	snprintf(greeting.welcome.ring, sizeof greeting.welcome.ring, "%s", r->mirror.name);
	guest->out.length = wire_greeting_encode(&greeting, guest->out.bytes);
	guest->out.sent = 0;
	/* A new connection has room for so little. */
	if (greeting_send(&guest->out, r->peer.transport) != 0)
		reception_lost(r, transport_error(r->peer.transport));
}

void admission_greeted(void *reception, struct guest *guest, const struct wire_greeting *greeting)
{
	struct reception *r = reception;

	if (!stream_admit(r, guest, &greeting->hello))
		return;
	if (r->peer.transport != NULL) {
		log_note("sender %s: replaced by a new connection from %s", r->peer.text, guest->peer);
		reception_disconnect(r);
	}
	/* What lies in the ring and was not shown yet was not acknowledged either. */
	ring_writer_publish(r->mirror.ring);
	if (r->peer.text[0] != '\0') {
		log_note("sender %s: connected, goes on at byte %" PRIu64, guest->peer,
		         ring_writer_published(r->mirror.ring));
		r->reconnects++;
	}
	if (peer_open(&r->peer, guest, r->mirror.ring) != 0) {
		guest_refuse(guest, EXIT_ABSENT, "out of memory");
		return;
	}
	r->lost_ns = 0;
	r->sender_resumes = (greeting->peer.features & WIRE_FEATURE_RESUME) != 0;
	welcome(r, guest, greeting->proto);
	TESTPOINT("welcome_sent");
	if (r->phase > PHASE_BARRIER)
		peer_say(&r->peer, WIRE_READY, r->peer.acked);
}
