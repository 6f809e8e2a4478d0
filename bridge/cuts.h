/*
 * cuts.h - how a stream is cut into records, once for all destinations.
 *
 * A record is what the ring shows at once when the first destination gets
 * there: whole frames within one slot.  Its checksum is computed then; the
 * others send the same head and the same bytes.
 */
#ifndef SLUICE_BRIDGE_CUTS_H
#define SLUICE_BRIDGE_CUTS_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "bridge/wire.h"
#include "ring/ring.h"

#define CUTS_KEPT 4096u                /* a destination that is further behind cuts anew */

struct cut {
	uint64_t position;
	uint32_t length;
	uint8_t head[WIRE_RECORD_HEAD];
};

struct cuts {
	pthread_mutex_t lock;
	uint64_t count;                /* ever made; the last CUTS_KEPT are there */
	struct cut kept[CUTS_KEPT];
};

/* Returns 0 or -errno. */
int cuts_init(struct cuts *cuts);
void cuts_destroy(struct cuts *cuts);

/*
 * The record that begins at the reader's position, of which it peeked `available`
 * bytes at `bytes`.  Any thread, for a reader of its own.  Returns 0; -ESTALE the
 * reader was evicted: what was checksummed may have changed meanwhile.
 */
int cuts_get(struct cuts *cuts, struct ring_reader *reader, const uint8_t *bytes, size_t available,
             struct cut *cut);

#endif
