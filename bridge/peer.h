/*
 * peer.h - the connection of a receiving bridge to its sender.
 *
 * The peer owns its transport from peer_open to peer_close.  All belongs to one
 * thread, and nothing blocks.
 */
#ifndef SLUICE_BRIDGE_PEER_H
#define SLUICE_BRIDGE_PEER_H

#include <stdbool.h>
#include <stdint.h>

#include "bridge/address.h"
#include "bridge/guests.h"
#include "bridge/inbox.h"
#include "bridge/outbox.h"
#include "bridge/transport.h"
#include "bridge/wire.h"
#include "ring/ring.h"

struct peer {
	struct transport *transport;   /* NULL: none */
	char text[ADDRESS_TEXT_MAX];   /* of the last one; "": none yet */
	struct inbox inbox;
	struct outbox outbox;
	bool blocked;                  /* the ring has no room for the record that is to come */
	bool end_heard;
	bool told;                     /* the outcome is queued */
	bool silence_said;
	uint64_t acked;                /* position that was acknowledged */
	uint64_t spoke_ns, heard_ns, asked_ns;
	uint8_t *scratch;              /* takes what comes after a bad outcome */
	uint8_t report[WIRE_REPORT_MAX];   /* the one that is queued */
};

/*
 * The guest becomes the peer, and its transport the peer's; of the one before,
 * which must be closed, nothing is left.
 *
 * @ring  where the peer's stream goes: up to what is published it is acknowledged
 *
 * Returns 0; -ENOMEM: there is no peer, and the guest keeps its transport.
 */
int peer_open(struct peer *peer, struct guest *guest, struct ring_writer *ring);

/* Its text, and how far it was, stay.  Nothing if there is none. */
void peer_close(struct peer *peer);

/* Queue a record without payload, if there is a peer and room: acknowledgements are
 * made up for by the next. */
void peer_say(struct peer *peer, enum wire_type type, uint64_t position);

/* Queue a record with a report.  There must be a peer, and room. */
void peer_report(struct peer *peer, enum wire_type type, uint64_t position,
                 const struct wire_report *report);

/* Queue an ERROR, in place of all that is queued.  False: part of a record is sent,
 * so that nothing else can be said; nothing was changed. */
bool peer_report_error(struct peer *peer, const struct wire_report *report);

/* Send what can be sent.  Returns 0 all is gone; -EAGAIN; or what the transport said. */
int peer_flush(struct peer *peer);

/*
 * Is there a peer, and does it still seem to be there?  One that came back has
 * left a connection behind that may look alive; two for one stream would put each
 * other out for ever.
 */
bool peer_seems_there(const struct peer *peer, int64_t dead_after_ms);

#endif
