/*
 * reception.h - one stream as it is received: from what the peer sends into the
 * mirror, with acknowledgements back.
 *
 * A reception owns its mirror and its peer, and says how far the stream is (its
 * phase) and what came of it.  All belongs to one thread.  Nothing blocks: what
 * goes wrong with the connection ends the connection, and what goes wrong with
 * the stream becomes its outcome.
 */
#ifndef SLUICE_BRIDGE_RECEPTION_H
#define SLUICE_BRIDGE_RECEPTION_H

#include <stdbool.h>
#include <stdint.h>

#include "bridge/mirror.h"
#include "bridge/options.h"
#include "bridge/peer.h"
#include "bridge/wire.h"
#include "shared/exit.h"

enum phase {
	PHASE_AWAITING,                /* no stream yet */
	PHASE_BARRIER,                 /* the ring is there, its consumers are not */
	PHASE_STREAMING,
	PHASE_DRAINING,                /* the end is known; for the consumers' results */
	PHASE_TELLING,                 /* the outcome is known; the sender is to know it */
	PHASE_GONE,
};

struct reception {
	const struct bridge_options *options;
	struct mirror mirror;
	struct peer peer;
	enum phase phase;
	uint64_t phase_ns;             /* since when the phase lasts */
	unsigned reconnects;
	bool sender_resumes;           /* it can come back after a broken connection */
	uint64_t lost_ns;              /* since when there is no peer */
	struct wire_end end;           /* as the sender said it */

	/* What came of it. */
	enum exit_code code;
	char reason[WIRE_TEXT_MAX + 1];    /* "": nothing yet */
};

void reception_phase_set(struct reception *r, enum phase phase);

/* Note what comes of the stream, and why.  The first cause counts. */
void reception_come_out(struct reception *r, enum exit_code code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The mirror was taken over: the stream is where it is, and begun. */
void reception_go_on(struct reception *r);

/* All that the peer sent, as far as there is room for it; but others want their
 * turn.  What was received is shown and acknowledged.  Nothing without a peer. */
void reception_hear(struct reception *r);

/* Send what can be sent to the peer. */
void reception_flush(struct reception *r);

/* The connection broke: wait for another, if it can change anything. */
void reception_lost(struct reception *r, const char *why);

/* Close the connection, if there is one. */
void reception_disconnect(struct reception *r);

#endif
