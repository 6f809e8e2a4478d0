/*
 * outbox.h - records on their way out.
 */
#ifndef SLUICE_BRIDGE_OUTBOX_H
#define SLUICE_BRIDGE_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bridge/transport.h"
#include "bridge/wire.h"

#define OUTBOX_RECORDS 64u

struct outbox {
	struct outbox_record {
		uint8_t head[WIRE_RECORD_HEAD];
		const uint8_t *payload;
		uint32_t length;
	} records[OUTBOX_RECORDS];         /* in a circle */
	unsigned first, count;
	size_t sent;                       /* bytes of the first, head and payload */
	uint64_t queued;                   /* bytes of payload that are not sent yet */
};

void outbox_init(struct outbox *outbox);

static inline bool outbox_is_empty(const struct outbox *outbox)
{
	return outbox->count == 0;
}

static inline bool outbox_is_full(const struct outbox *outbox)
{
	return outbox->count == OUTBOX_RECORDS;
}

/* Queue a record; its payload is borrowed until it is sent.  There must be room.
 * With `head` the head was made before, for all who get the record. */
void outbox_put(struct outbox *outbox, enum wire_type type, uint64_t position,
                const void *payload, uint32_t length);
void outbox_put_made(struct outbox *outbox, const uint8_t head[WIRE_RECORD_HEAD],
                     const uint8_t *payload, uint32_t length);

/* Send what can be sent.  Returns 0 all is gone; -EAGAIN; or what the transport
 * said.  @progress, out: something was sent. */
int outbox_flush(struct outbox *outbox, struct transport *transport, bool *progress);

#endif
