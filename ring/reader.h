/*
 * reader.h - a reader's handle, shared by attach.c (taking and leaving an
 * entry) and reader.c (everything in between).
 */
#ifndef SLUICE_RING_READER_H
#define SLUICE_RING_READER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "ring/segment.h"
#include "ring/wait.h"
#include "ring/watcher.h"

struct ring_reader {
	struct segment segment;
	unsigned index;                /* of our entry */
	struct ring_entry *entry;
	uint64_t word;                 /* the entry's word while it is ours */

	/* Owner thread only. */
	uint64_t cursor;               /* next position to peek */
	uint64_t tail;                 /* given back up to here: the entry's tail */
	uint64_t peeked;               /* end of what was peeked */
	uint64_t start;                /* where this reader began */
	uint64_t slot_bytes;
	unsigned slot_shift;           /* slot_bytes is 1 << slot_shift */
	uint64_t messages, dropped;
	struct spinner spinner;

	/* Any thread. */
	_Atomic bool interrupted;
	_Atomic bool nudged;           /* the next wait returns at once */
	_Atomic bool writer_dead;      /* its lock was seen free, then a fence */

	/* Watcher thread only. */
	bool end_told, eviction_told, lost_told;
	uint64_t lost_ns;              /* when the writer was first seen dead */
	uint64_t lost_alive_ns;        /* its alive_ns then; 0: it was last seen alive */

	ring_observer observer;
	void *observer_context;
	struct watcher watcher;
};

#endif
