/* inbox.c - reading records. */
#include "bridge/inbox.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A payload is digested in pieces while they are in the cache. */
#define DIGEST_PIECE (64u << 10)

int inbox_open(struct inbox *inbox, enum wire_side from, uint32_t slot_size)
{
	memset(inbox, 0, sizeof *inbox);
	inbox->from = from;
	inbox->slot_size = slot_size;
	return digest_open(&inbox->digest) == 0 ? 0 : -ENOMEM;
}

void inbox_close(struct inbox *inbox)
{
	digest_close(&inbox->digest);
}

void inbox_place(struct inbox *inbox, uint8_t *room)
{
	inbox->place = room;
	inbox->payload = room;
}

/* Digest what has come of the payload, if it is enough or all. */
static void digest(struct inbox *inbox)
{
	size_t fresh = inbox->got - inbox->digested;

	if (fresh < DIGEST_PIECE && inbox->got < inbox->record.length)
		return;
	digest_add(&inbox->digest, inbox->payload + inbox->digested, fresh);
	inbox->digested = inbox->got;
}

/* One receive: what is missing of the payload, and the next head with it.
 * @drained, out: there was less than that. */
static int fill(struct inbox *inbox, struct transport *transport, bool *drained)
{
	size_t missing = inbox->headed ? inbox->record.length - inbox->got : 0;
	struct iovec pieces[2] = {
		{ .iov_base = missing > 0 ? inbox->place + inbox->got : NULL, .iov_len = missing },
		{ .iov_base = inbox->head + inbox->head_got,
		  .iov_len = WIRE_RECORD_HEAD - inbox->head_got },
	};
	ssize_t got = missing > 0 ? transport_recv(transport, pieces, 2)
	                          : transport_recv(transport, pieces + 1, 1);

	if (got <= 0)
		return got == 0 ? -EPIPE : (int)got;
	/* Of TLS there may be another record. */
	*drained = (size_t)got < missing + pieces[1].iov_len && !transport_is_tls(transport);
	if (missing == 0) {
		inbox->head_got += (size_t)got;
		return 0;
	}
	inbox->got += (size_t)got < missing ? (size_t)got : missing;
	inbox->head_got += (size_t)got < missing ? 0 : (size_t)got - missing;
	digest(inbox);
	return 0;
}

static int head_take(struct inbox *inbox)
{
	if (wire_record_decode(inbox->head, inbox->from, inbox->slot_size, &inbox->record,
	                       inbox->why, sizeof inbox->why) != 0)
		return -EBADMSG;
	inbox->headed = true;
	inbox->head_got = 0;
	inbox->got = inbox->digested = 0;
	inbox->place = NULL;
	inbox->payload = NULL;
	digest_begin_seeded(&inbox->digest, wire_record_seed(&inbox->record));
	if (inbox->record.type == WIRE_DATA)
		return INBOX_HEAD;
	if (inbox->record.length > 0)
		inbox_place(inbox, inbox->report);
	return 0;
}

static int record_take(struct inbox *inbox)
{
	inbox->headed = false;
	if (digest_value(&inbox->digest) == inbox->record.check)
		return INBOX_RECORD;
	snprintf(inbox->why, sizeof inbox->why, "the record at byte %" PRIu64 " was damaged on its way",
	         inbox->record.position);
	return -EBADMSG;
}

int inbox_read(struct inbox *inbox, struct transport *transport)
{
	bool drained = false;

	for (;;) {
		int found;

		if (inbox->headed && inbox->got == inbox->record.length)
			return record_take(inbox);
		if (!inbox->headed && inbox->head_got == WIRE_RECORD_HEAD) {
			found = head_take(inbox);
			if (found != 0)
				return found;
			continue;
		}
		if (inbox->headed && inbox->place == NULL)
			return INBOX_HEAD;
		if (drained)
			return -EAGAIN;
		found = fill(inbox, transport, &drained);
		if (found != 0)
			return found;
	}
}
