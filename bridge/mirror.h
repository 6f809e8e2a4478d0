/*
 * mirror.h - the ring that a receiving bridge writes: its name, how it comes
 * about, its end.
 *
 * A mirror is one thread's, which owns the ring as its only writer; only
 * mirror_interrupt may be called by others.  The ring's watcher thread sets
 * `readers_out` and shows `progress`.
 */
#ifndef SLUICE_BRIDGE_MIRROR_H
#define SLUICE_BRIDGE_MIRROR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bridge/options.h"
#include "bridge/wire.h"
#include "ring/ring.h"
#include "shared/exit.h"
#include "shared/progress.h"

struct mirror {
	const struct bridge_options *options;
	unsigned number;               /* of the stream: 1, 2, ... with --serve */
	char name[RING_NAME_MAX + 1];
	_Atomic(struct ring_writer *) ring;   /* NULL: none yet, or none any more */
	uint32_t slot_size;            /* the ring's */
	_Atomic bool readers_out;      /* no required reader is left */
	struct progress progress;
};

/* Make the name of the stream's mirror from the options' pattern, where "%n" is
 * the stream's number, "%i" its id, "%%" a percent sign.  False: too long. */
bool mirror_name(struct mirror *mirror, const struct wire_hello *hello);

/* Create the ring, under its name.  EXIT_COMPLETE; or an exit code, and why was
 * said: there is no ring then. */
enum exit_code mirror_create(struct mirror *mirror, const struct wire_hello *hello);

/* Take over the mirror that a bridge before us left under the name: of this stream,
 * or NULL: of any.  Returns 0 or -errno of ring_takeover: there is no ring then. */
int mirror_take_over(struct mirror *mirror, const uint8_t *stream_id);

/* Take over the mirror of this stream, under one of the names that a bridge before
 * us may have given it; with --serve the number becomes that one's.  False:
 * there is none; without --serve never one. */
bool mirror_find(struct mirror *mirror, const struct wire_hello *hello);

/* Show readers what was committed.  Returns the position up to which it is. */
uint64_t mirror_publish(struct mirror *mirror);

/* Say which consumer is to blame that not all completed. */
void mirror_blame(const struct mirror *mirror, char *text, size_t size);

/* End the ring, if there is one that is not. */
void mirror_end(struct mirror *mirror, enum ring_end end, int code);

/* Remove the ring, if there is one.  It reads as died if it was not ended. */
void mirror_close(struct mirror *mirror);

/* Make a wait for the ring return.  Async-signal-safe. */
void mirror_interrupt(struct mirror *mirror);

#endif
