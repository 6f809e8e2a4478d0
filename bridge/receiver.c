/*
 * receiver.c - a listening bridge: phases, clocks, and streams one after the other.
 *
 * One thread does everything, in turns: what the peer sent, who knocks at the
 * port, what the ring's readers do.  Where it has to wait for the ring, it looks
 * at the sockets every SLICE_MS.
 */
#include "bridge/receiver.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "bridge/admission.h"
#include "bridge/guests.h"
#include "bridge/listener.h"
#include "bridge/reception.h"
#include "bridge/tls.h"
#include "ring/testpoint.h"
#include "ring/wait.h"
#include "shared/leave.h"
#include "shared/log.h"
#include "shared/writer_talk.h"

#define ASK_NS UINT64_C(200000000)     /* how often the kernel is asked for the peer */
#define SLICE_MS 20
#define TICK_MS 100
#define FAREWELL_NS UINT64_C(1000000000)

static struct {
	struct reception reception;    /* of the present stream */
	struct guests guests;
	struct tls_context *tls;       /* NULL: plain */
	uint64_t attended_ns;          /* when guests had their turn */
} run;

/* ---- the outcome ------------------------------------------------------------------------ */

static void drained(struct reception *r, int verdict)
{
	char text[WIRE_TEXT_MAX + 1];

	if (r->end.end != RING_COMPLETE) {
		reception_come_out(r, EXIT_INCOMPLETE, "ring \"%s\": %.300s (exit code %d)",
		                   r->mirror.name,
		                   r->end.report.text[0] != '\0' ? r->end.report.text
		                                                 : "the producer gave the stream up",
		                   r->end.report.code);
	} else if (verdict != 0) {
		mirror_blame(&r->mirror, text, sizeof text);
		reception_come_out(r, EXIT_INCOMPLETE, "%s", text);
	}
	TESTPOINT("outcome_known");
	reception_phase_set(r, PHASE_TELLING);
}

/* Queue the outcome once the sender can do something with it: a good one only
 * after it said the end. */
static void outcome_tell(struct reception *r)
{
	struct wire_report report = { .code = (int)r->code };

	if (r->phase != PHASE_TELLING || r->peer.transport == NULL || r->peer.told ||
	    (r->code == EXIT_COMPLETE && !r->peer.end_heard) || outbox_is_full(&r->peer.outbox))
		return;
	snprintf(report.text, sizeof report.text, "%s", r->reason);
	peer_report(&r->peer, WIRE_OUTCOME, ring_writer_published(r->mirror.ring), &report);
	r->peer.told = true;
	TESTPOINT("outcome_queued");
}

/* ---- clocks ----------------------------------------------------------------------------- */

static bool is_past(uint64_t since_ns, int64_t limit_ms)
{
	return limit_ms >= 0 && wait_now_ns() - since_ns >= (uint64_t)limit_ms * 1000000u;
}

/* How long to wait for the sender to come back.  One that began nothing yet may
 * begin anew. */
static int64_t patience_ms(const struct reception *r)
{
	return r->sender_resumes || r->phase == PHASE_BARRIER ? r->options->retry_ms : 0;
}

static void check_absence(struct reception *r)
{
	if (r->phase == PHASE_AWAITING && is_past(r->phase_ns, r->options->wait_ms)) {
		reception_come_out(r, EXIT_ABSENT, "no sender within %.1f s",
		                   (double)r->options->wait_ms / 1000);
		reception_phase_set(r, PHASE_GONE);
	}
	if (r->peer.transport != NULL || r->phase == PHASE_AWAITING || r->phase == PHASE_GONE ||
	    !is_past(r->lost_ns, patience_ms(r)))
		return;
	if (r->phase == PHASE_TELLING) {
		log_warning("ring \"%s\": the sender did not come back to hear the outcome", r->mirror.name);
	} else if (r->phase != PHASE_DRAINING) {
		reception_come_out(r, EXIT_INCOMPLETE,
		                   "ring \"%s\": the sender did not come back within %.1f s, at byte %" PRIu64,
		                   r->mirror.name, (double)patience_ms(r) / 1000,
		                   ring_writer_published(r->mirror.ring));
		mirror_end(&r->mirror, RING_ABORTED, EXIT_INCOMPLETE);
	} else {
		return;            /* the consumers' results are still worth waiting for */
	}
	reception_phase_set(r, PHASE_GONE);
}

static void gone_check(struct reception *r)
{
	uint64_t now = wait_now_ns();

	if (r->peer.transport == NULL || now - r->peer.asked_ns < ASK_NS)
		return;
	r->peer.asked_ns = now;
	if (transport_peer_is_gone(r->peer.transport, r->options->dead_after_ms))
		reception_lost(r, transport_error(r->peer.transport));
}

/* Its host is there, or the kernel would say so.  While the ring is full nothing
 * is heard of anybody. */
static void silence_check(struct reception *r)
{
	if (r->peer.transport == NULL || r->peer.blocked || r->peer.silence_said ||
	    !is_past(r->peer.heard_ns, r->options->dead_after_ms))
		return;
	r->peer.silence_said = true;
	log_warning("sender %s: silent for %.0f s, though its host is there: is its bridge stopped?",
	            r->peer.text, (double)r->options->dead_after_ms / 1000);
}

static void check_clocks(struct reception *r)
{
	check_absence(r);
	if (r->phase == PHASE_BARRIER && is_past(r->phase_ns, r->options->start_timeout_ms)) {
		reception_come_out(r, EXIT_ABSENT, "ring \"%s\": %u consumers did not come within %.1f s",
		                   r->mirror.name, r->options->consumers,
		                   (double)r->options->start_timeout_ms / 1000);
		mirror_end(&r->mirror, RING_ABORTED, EXIT_ABSENT);
		reception_phase_set(r, PHASE_TELLING);
	}
	if (r->phase == PHASE_DRAINING && is_past(r->phase_ns, r->options->drain_timeout_ms)) {
		reception_come_out(r, EXIT_TIMEOUT, "ring \"%s\": consumers did not finish within %.1f s of the end",
		                   r->mirror.name, (double)r->options->drain_timeout_ms / 1000);
		reception_phase_set(r, PHASE_TELLING);
	}
	if (r->phase == PHASE_STREAMING && atomic_load(&r->mirror.readers_out)) {
		char text[WIRE_TEXT_MAX + 1];

		mirror_blame(&r->mirror, text, sizeof text);
		reception_come_out(r, EXIT_INCOMPLETE, "no required consumer is left: %.400s", text);
		mirror_end(&r->mirror, RING_ABORTED, EXIT_INCOMPLETE);
		reception_phase_set(r, PHASE_TELLING);
	}
	silence_check(r);
	gone_check(r);
	/* The sender is to know that we are there, also while the ring is full. */
	if (r->peer.transport != NULL && outbox_is_empty(&r->peer.outbox) && r->mirror.ring != NULL &&
	    is_past(r->peer.spoke_ns, r->options->dead_after_ms / 3))
		peer_say(&r->peer, WIRE_ACK, ring_writer_published(r->mirror.ring));
}

static void leave(struct reception *r)
{
	struct wire_report report = { .code = 128 + leave_signal() };
	uint64_t until = wait_now_ns() + FAREWELL_NS;

	reception_come_out(r, (enum exit_code)(128 + leave_signal()), "stopped by signal %d (%s)",
	                   leave_signal(), strsignal(leave_signal()));
	snprintf(report.text, sizeof report.text, "the receiver was %.400s", r->reason);
	mirror_end(&r->mirror, RING_ABORTED, report.code);
	reception_phase_set(r, PHASE_GONE);
	if (r->peer.transport == NULL || !peer_report_error(&r->peer, &report))
		return;
	while (r->peer.transport != NULL && !outbox_is_empty(&r->peer.outbox) && wait_now_ns() < until) {
		reception_flush(r);
		poll(NULL, 0, 1);
	}
}

/* ---- waiting ---------------------------------------------------------------------------- */

/* Sleep until a socket has something, at most timeout_ms. */
static void wait_for_sockets(struct reception *r, int timeout_ms)
{
	struct pollfd polls[GUESTS_POLLS + 1];
	size_t guests = guests_polls(&run.guests, polls), count = guests;

	if (r->peer.transport != NULL) {
		if (transport_pending(r->peer.transport))
			timeout_ms = 0;
		polls[count].fd = transport_fd(r->peer.transport);
		polls[count++].events = transport_events(r->peer.transport, true,
		                                         !outbox_is_empty(&r->peer.outbox));
	}
	if (poll(polls, (nfds_t)count, timeout_ms) <= 0)
		return;
	for (size_t i = 0; i < guests; i++)
		if (polls[i].revents != 0)
			run.attended_ns = 0;       /* now, not when it is time */
}

/* Sleep until something may have changed: at the ring, where that is what we
 * wait for. */
static void wait_a_little(struct reception *r)
{
	int error;

	switch (r->phase) {
	case PHASE_BARRIER:
		if (ring_writer_wait_readers(r->mirror.ring, r->options->consumers, SLICE_MS, NULL) != 0)
			break;
		reception_phase_set(r, PHASE_STREAMING);
		peer_say(&r->peer, WIRE_READY, ring_writer_published(r->mirror.ring));
		TESTPOINT("barrier_met");
		break;
	case PHASE_DRAINING:
		error = ring_writer_drain(r->mirror.ring, SLICE_MS);
		if (error == 0 || error == -EPIPE)
			drained(r, error);
		break;
	default:
		if (r->peer.blocked && r->phase == PHASE_STREAMING)
			ring_writer_wait_space(r->mirror.ring, SLICE_MS);
		else
			wait_for_sockets(r, TICK_MS);
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

/* ---- a stream --------------------------------------------------------------------------- */

static enum exit_code stream_begin(struct reception *r)
{
	static const struct wire_hello nobody;
	int error;

	memset(&r->peer, 0, sizeof r->peer);
	memset(&r->end, 0, sizeof r->end);
	atomic_store(&r->mirror.readers_out, false);
	r->code = EXIT_COMPLETE;
	r->reason[0] = '\0';
	r->mirror.number++;
	r->reconnects = 0;
	r->lost_ns = wait_now_ns();
	reception_phase_set(r, PHASE_AWAITING);
	/* Which name it has where streams come one after the other, a sender will
	 * say; what else is wrong with it, is seen when it is made. */
	if (r->options->serve)
		return EXIT_COMPLETE;
	error = mirror_name(&r->mirror, &nobody) ? mirror_take_over(&r->mirror, NULL) : -EINVAL;
	if (error == 0)
		reception_go_on(r);
	if (error == -EINVAL)
		return writer_talk_create_failed(r->options->ring, error, NULL, "");
	if (error != -EEXIST)
		return EXIT_COMPLETE;
	log_fatal("ring \"%s\" is in use by another producer", r->mirror.name);
	return EXIT_ABSENT;
}

static void stream_receive(struct reception *r)
{
	while (r->phase != PHASE_GONE) {
		if (leave_is_requested()) {
			leave(r);
			break;
		}
		wait_a_little(r);
		attend_guests();
		reception_hear(r);
		check_clocks(r);
		outcome_tell(r);
		reception_flush(r);
	}
	reception_disconnect(r);
}

/* One after the other; what went wrong with one is no reason to stop. */
static void streams_serve(struct reception *r)
{
	for (;;) {
		stream_receive(r);
		if (r->code != EXIT_COMPLETE && !leave_is_requested())
			log_warning("stream %u: %s", r->mirror.number, r->reason);
		else if (r->code == EXIT_COMPLETE)
			log_note("stream %u: complete, in ring \"%s\"", r->mirror.number, r->mirror.name);
		if (leave_is_requested())
			return;
		mirror_close(&r->mirror);
		if (stream_begin(r) != EXIT_COMPLETE)
			return;
	}
}

/* ---- the receiving end ------------------------------------------------------------------ */

static enum exit_code setup(void)
{
	const struct bridge_options *options = run.reception.options;
	enum exit_code code;

	run.guests.listener = -1;
	code = bridge_tls_open(options, true, &run.tls);
	if (code != EXIT_COMPLETE)
		return code;
	run.guests.tls = run.tls;
	run.guests.dead_after_ms = options->dead_after_ms;
	run.guests.greeted = admission_greeted;
	run.guests.context = &run.reception;
	return listener_open(options, run.tls != NULL, &run.guests.listener);
}

enum exit_code receiver_run(const struct bridge_options *options)
{
	struct reception *r = &run.reception;
	enum exit_code code;

	r->options = r->mirror.options = options;
	progress_start(&r->mirror.progress, options->progress);
	/* A mirror is taken over last: what fails before leaves it to another. */
	code = setup();
	if (code == EXIT_COMPLETE)
		code = stream_begin(r);
	if (code != EXIT_COMPLETE)
		return code;
	if (options->serve)
		streams_serve(r);
	else
		stream_receive(r);
	guests_close(&run.guests);
	if (r->code != EXIT_COMPLETE)
		log_fatal("%s", r->reason);
	return r->code;
}

void receiver_account(struct json_out *out)
{
	const struct reception *r = &run.reception;

	json_out_text(out, "end", "receiving");
	json_out_text(out, "mirror", r->mirror.name);
	json_out_number(out, "reconnects", r->reconnects);
	if (r->mirror.ring != NULL)
		writer_talk_account(out, r->mirror.ring);
}

void receiver_close(void)
{
	struct reception *r = &run.reception;

	mirror_end(&r->mirror, RING_ABORTED, r->code != EXIT_COMPLETE ? (int)r->code : EXIT_SYSTEM);
	mirror_close(&r->mirror);
}

void receiver_interrupt(void)
{
	mirror_interrupt(&run.reception.mirror);
}
