/*
 * inbox.h - records as they come in, each checked before it is seen.
 */
#ifndef SLUICE_BRIDGE_INBOX_H
#define SLUICE_BRIDGE_INBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bridge/transport.h"
#include "bridge/wire.h"
#include "shared/digest.h"

struct inbox {
	enum wire_side from;           /* whose records these are */
	uint32_t slot_size;            /* the longest DATA */

	struct wire_record record;     /* valid after INBOX_HEAD and INBOX_RECORD */
	const uint8_t *payload;        /* after INBOX_RECORD: record.length bytes */
	char why[WIRE_WHY_MAX];        /* after -EBADMSG */

	/* Its own. */
	uint8_t head[WIRE_RECORD_HEAD];
	size_t head_got;               /* of the head to come */
	bool headed;                   /* `record` is known, its payload not complete */
	uint8_t *place;                /* where the payload goes; NULL: not said yet */
	size_t got;
	struct digest digest;          /* of the payload, */
	size_t digested;               /* up to here */
	uint8_t report[WIRE_REPORT_MAX];
};

enum inbox_found {
	INBOX_HEAD = 1,                /* DATA is to come: inbox_place, then go on */
	INBOX_RECORD = 2,              /* a record, intact */
};

/* Returns 0 or -ENOMEM. */
int inbox_open(struct inbox *inbox, enum wire_side from, uint32_t slot_size);
void inbox_close(struct inbox *inbox);

/* Say where the payload of the DATA record that INBOX_HEAD announced goes:
 * room for record.length bytes, until the record is complete or given up. */
void inbox_place(struct inbox *inbox, uint8_t *room);

/* Read on.  Returns enum inbox_found; -EAGAIN; -EPIPE the peer is done; -EBADMSG
 * nonsense, or a record that was damaged; or what the transport said. */
int inbox_read(struct inbox *inbox, struct transport *transport);

#endif
