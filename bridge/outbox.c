/* outbox.c - sending records, several with one call. */
#include "bridge/outbox.h"

#include <errno.h>
#include <string.h>

#define PIECES 32                      /* records per call are half of it */

void outbox_init(struct outbox *outbox)
{
	outbox->first = outbox->count = 0;
	outbox->sent = 0;
	outbox->queued = 0;
}

static struct outbox_record *record_at(struct outbox *outbox, unsigned index)
{
	return &outbox->records[(outbox->first + index) % OUTBOX_RECORDS];
}

static struct outbox_record *record_add(struct outbox *outbox, const uint8_t *payload, uint32_t length)
{
	struct outbox_record *record = record_at(outbox, outbox->count);

	outbox->count++;
	outbox->queued += length;
	record->payload = payload;
	record->length = length;
	return record;
}

void outbox_put(struct outbox *outbox, enum wire_type type, uint64_t position,
                const void *payload, uint32_t length)
{
	struct outbox_record *record = record_add(outbox, payload, length);

	wire_record_encode(type, position, payload, length, record->head);
}

void outbox_put_made(struct outbox *outbox, const uint8_t head[WIRE_RECORD_HEAD],
                     const uint8_t *payload, uint32_t length)
{
	struct outbox_record *record = record_add(outbox, payload, length);

	memcpy(record->head, head, WIRE_RECORD_HEAD);
}

/* The first `skip` bytes of the piece are sent.  Returns how many of them it had. */
static size_t piece_add(struct iovec *pieces, int *count, const uint8_t *bytes, size_t length, size_t skip)
{
	if (skip >= length)
		return length;
	/* sendmsg(2) does not write there, but its type does not say so. */
	pieces[*count].iov_base = (void *)(uintptr_t)(bytes + skip);
	pieces[*count].iov_len = length - skip;
	++*count;
	return skip;
}

static int pieces_make(struct outbox *outbox, struct iovec *pieces, size_t *total)
{
	size_t skip = outbox->sent;
	int count = 0;

	*total = 0;
	for (unsigned i = 0; i < outbox->count && count + 2 <= PIECES; i++) {
		const struct outbox_record *record = record_at(outbox, i);

		skip -= piece_add(pieces, &count, record->head, WIRE_RECORD_HEAD, skip);
		skip -= piece_add(pieces, &count, record->payload, record->length, skip);
	}
	for (int i = 0; i < count; i++)
		*total += pieces[i].iov_len;
	return count;
}

static void sent_take(struct outbox *outbox, size_t sent)
{
	outbox->sent += sent;
	while (outbox->count > 0) {
		const struct outbox_record *record = record_at(outbox, 0);

		if (outbox->sent < WIRE_RECORD_HEAD + record->length)
			return;
		outbox->sent -= WIRE_RECORD_HEAD + record->length;
		outbox->queued -= record->length;
		outbox->first = (outbox->first + 1) % OUTBOX_RECORDS;
		outbox->count--;
	}
}

int outbox_flush(struct outbox *outbox, struct transport *transport, bool *progress)
{
	*progress = false;
	while (outbox->count > 0) {
		struct iovec pieces[PIECES];
		size_t total;
		int count = pieces_make(outbox, pieces, &total);
		ssize_t sent = transport_send(transport, pieces, count);

		if (sent < 0)
			return (int)sent;
		*progress = true;
		sent_take(outbox, (size_t)sent);
		/* The socket is full; TLS takes one record at a time. */
		if ((size_t)sent < total && !transport_is_tls(transport))
			return -EAGAIN;
	}
	return 0;
}
