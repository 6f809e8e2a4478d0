/* peer.c - the connection to the sender. */
#include "bridge/peer.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ring/wait.h"

int peer_open(struct peer *peer, struct guest *guest, struct ring_writer *ring)
{
	memset(peer, 0, sizeof *peer);
	if (inbox_open(&peer->inbox, WIRE_FROM_SENDER, ring_writer_geometry(ring).slot_size) != 0)
		return -ENOMEM;
	outbox_init(&peer->outbox);
	peer->transport = guest->transport;
	guest->transport = NULL;
	snprintf(peer->text, sizeof peer->text, "%s", guest->peer);
	peer->acked = ring_writer_published(ring);
	peer->heard_ns = peer->spoke_ns = wait_now_ns();
	return 0;
}

void peer_close(struct peer *peer)
{
	if (peer->transport == NULL)
		return;
	transport_close(peer->transport);
	peer->transport = NULL;
	peer->blocked = false;
	inbox_close(&peer->inbox);
	free(peer->scratch);
	peer->scratch = NULL;
}

void peer_say(struct peer *peer, enum wire_type type, uint64_t position)
{
	if (peer->transport == NULL || outbox_is_full(&peer->outbox))
		return;
	outbox_put(&peer->outbox, type, position, NULL, 0);
	peer->spoke_ns = wait_now_ns();
	if (type == WIRE_ACK)
		peer->acked = position;
}

void peer_report(struct peer *peer, enum wire_type type, uint64_t position,
                 const struct wire_report *report)
{
	outbox_put(&peer->outbox, type, position, peer->report,
	           (uint32_t)wire_report_encode(report, peer->report));
}

bool peer_report_error(struct peer *peer, const struct wire_report *report)
{
	if (peer->outbox.sent != 0)
		return false;
	outbox_init(&peer->outbox);
	peer_report(peer, WIRE_ERROR, 0, report);
	return true;
}

int peer_flush(struct peer *peer)
{
	bool progress;

	if (peer->transport == NULL || outbox_is_empty(&peer->outbox))
		return 0;
	return outbox_flush(&peer->outbox, peer->transport, &progress);
}

bool peer_seems_there(const struct peer *peer, int64_t dead_after_ms)
{
	struct pollfd poll_fd;

	if (peer->transport == NULL)
		return false;
	poll_fd.fd = transport_fd(peer->transport);
	poll_fd.events = POLLRDHUP;
	return poll(&poll_fd, 1, 0) == 0 &&
	       wait_now_ns() - peer->heard_ns < (uint64_t)dead_after_ms * 1000000u / 2;
}
