/*
 * layout.h - the bytes of a segment, and what is always true of them.
 *
 * A segment has three regions, each page-aligned, found by offsets:
 *
 *   control   written by the writer only; readers map it read-only
 *   shared    written by all: entries, wake words
 *   payload   slot_count slots of slot_size bytes; readers map it read-only
 *
 * Invariants, true at every instant, also after a SIGKILL of anyone:
 *
 *  I1  head never decreases; it lies within or at the end of the slot that the
 *      writer fills, and always on the boundary of a committed piece.
 *  I2  used[s % N] is stored before head leaves slot s, and not again before
 *      every tail that counts is past slot s.
 *  I3  the tail of an ACTIVE or LINGER entry is at most head (or at the end of
 *      time: it holds nothing back), and the slots from tail's
 *      to head's are unchanged since they were published.
 *  I4  head - slot start of the smallest tail that counts <= N * slot_size.
 *  I5  the owner of an entry holds the lock byte 1 + entry from before the
 *      entry turns ACTIVE until after its last store to it.
 *  I6  only the writer takes ACTIVE or LINGER away, by compare-and-swap on the
 *      word; who takes over a dead owner's entry swaps it to ACTIVE.  A
 *      generation is never used twice for one entry.
 *  I7  end leaves RING_OPEN once, after the last store to head.
 *  I8  a dead writer's byte is taken, and its name removed, only by who holds
 *      the remover's byte: so no ring that has a writer loses its name.
 *  I9  the semaphores carry no count that matters: losing a token, or having
 *      one too many, delays or wakes somebody and changes nothing else.
 *
 * Ordering pairs.  Each atomic access names its pair.
 *
 *  A   head (release)            | head (acquire)        payload and used[] are
 *                                                        seen with the head
 *  B   head, fence, sleeping     | sleeping, fence, head  else a reader sleeps
 *                                                        although data is there
 *  C   end, fence, sleeping      | sleeping, fence, end   else a reader sleeps
 *                                                        at the end
 *  D   wish, fence, named tail   | tail, fence, wish      else the writer sleeps
 *      and word                                          although there is room
 *  E   head, fence, words        | ACTIVE, fence, end,    else the slot of a new
 *                                  head                  reader is overwritten
 *  F   tail (release)            | tail (acquire)        a slot is overwritten
 *                                                        after it was read
 *  G   taking CAS, release fence | acquire fence, word    else an evicted reader
 *      , payload                   (after payload)       believes torn bytes
 *  H   end (release)             | end (acquire), head    who sees the end sees
 *                                                        the last head
 *  I   result (release)          | lock seen free,        a good result is not
 *                                  fence, result         taken for a death
 */
#ifndef SLUICE_RING_LAYOUT_H
#define SLUICE_RING_LAYOUT_H

#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ring/ring.h"

#define RING_MAGIC "SLUICE\r\n"
#define RING_ABI_VERSION 2u
#define RING_BYTE_ORDER 0x01020304u

/* Two cache lines: adjacent-line prefetch makes pairs of them travel together. */
#define RING_LINE 128

#define RING_LOCK_WRITER 0
#define RING_LOCK_ENTRY(entry) (1 + (int)(entry))
#define RING_LOCK_REMOVER (1 + RING_MAX_READERS)   /* held from the last look to the unlinking,
                                                      or to the taking of the writer's byte */

/* States of an entry, the low byte of its word. */
enum ring_entry_state {
	ENTRY_FREE = 0,
	ENTRY_ACTIVE = 1,
	ENTRY_EVICTED = 2,     /* taken from its reader, not free yet: a living one's
	                          lock guards reuse, a dead one's outcome is noted */
	ENTRY_LINGER = 3,      /* its owner died; another with its key may go on */
};

/* An entry's word: generation << 8 | state. */
static inline enum ring_entry_state word_state(uint64_t word)
{
	return (enum ring_entry_state)(word & 0xff);
}

static inline uint64_t word_next(uint64_t word, enum ring_entry_state state)
{
	return ((word >> 8) + 1) << 8 | state;
}

/* Does the tail of an entry in this state hold the writer back? */
static inline bool word_holds(uint64_t word)
{
	return word_state(word) == ENTRY_ACTIVE || word_state(word) == ENTRY_LINGER;
}

/* A tail that holds nothing back, whatever comes. */
#define RING_AFTER_ALL UINT64_MAX

/* end: code << 8 | enum ring_end.  result: 0 none, else RESULT_SET | code. */
#define RESULT_SET 0x100u

/* wish: slot number << 8 | (entry + 1); 0 is no wish.  Slots have at least
 * 2^16 bytes, so slot numbers have at most 48 bits. */
static inline uint64_t wish_make(uint64_t slot, unsigned entry)
{
	return slot << 8 | (entry + 1);
}

struct ring_display {              /* of a process; never trusted */
	int32_t pid;
	uint32_t unused;
	uint64_t start_time;
	char label[RING_LABEL_MAX];
};

struct ring_control {
	char magic[8];
	uint32_t abi_version;
	uint32_t byte_order;
	uint32_t control_size;     /* sizeof(struct ring_control) */
	uint32_t shared_size;      /* sizeof(struct ring_shared) */
	uint32_t slot_size;
	uint32_t slot_count;
	uint64_t shared_offset;
	uint64_t payload_offset;
	uint64_t segment_size;
	uint8_t stream_id[16];
	uint64_t created_ns;       /* CLOCK_REALTIME */
	struct ring_display writer;
	uint64_t start;            /* position where the stream begins in this ring */
	uint32_t takeover_ms;      /* a dead writer may be replaced for so long; 0: never */
	uint32_t unused;
	_Atomic uint64_t alive_ns; /* CLOCK_MONOTONIC; a writer that may be replaced, now and then */

	_Alignas(RING_LINE) _Atomic uint64_t head;
	_Alignas(RING_LINE) _Atomic uint64_t end;
	_Alignas(RING_LINE) _Atomic uint64_t required;  /* bit per entry */
	_Atomic uint32_t started;                        /* the start barrier was met */
	_Atomic uint32_t failed;                         /* required readers that came out badly */

	/* Counters: for display only. */
	_Alignas(RING_LINE) _Atomic uint64_t messages;
	_Atomic uint64_t slots_left;
	_Atomic uint64_t blocked_ns;
	_Atomic uint64_t evictions;
	_Atomic uint64_t blocked_since_ns;               /* CLOCK_MONOTONIC; 0: not blocked */
	_Alignas(RING_LINE) _Atomic uint64_t blocked_by_ns[RING_MAX_READERS];

	/* How far each slot that was left is used, in bytes. */
	_Alignas(RING_LINE) _Atomic uint32_t used[];
};

struct ring_entry {
	_Alignas(RING_LINE) _Atomic uint64_t word;
	_Alignas(RING_LINE) _Atomic uint64_t tail;
	_Alignas(RING_LINE) _Atomic uint64_t result;
	_Atomic uint64_t key;                            /* who may take it over; 0: nobody */
	_Atomic uint64_t linger_ms;                      /* and for how long after a death */
	_Alignas(RING_LINE) sem_t data;
	_Alignas(RING_LINE) struct ring_display owner;
	/* Counters: for display only. */
	_Alignas(RING_LINE) _Atomic uint64_t start;      /* position where it began */
	_Atomic uint64_t messages;
	_Atomic uint64_t dropped;
	_Atomic uint64_t blocked_ns;                     /* asleep for want of data */
	_Atomic uint64_t blocked_since_ns;
	_Atomic uint64_t progress_ns;                    /* CLOCK_MONOTONIC of the last release */
};

struct ring_shared {
	_Alignas(RING_LINE) _Atomic uint64_t sleeping;   /* bit per entry */
	_Alignas(RING_LINE) _Atomic uint64_t wish;
	_Alignas(RING_LINE) sem_t space;
	struct ring_entry entries[RING_MAX_READERS];
};

_Static_assert(sizeof(_Atomic uint64_t) == 8, "64-bit atomics are plain words");
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "64-bit atomics are lock-free");
_Static_assert(sizeof(sem_t) <= RING_LINE, "a semaphore fits its line");
_Static_assert(sizeof(struct ring_display) == 80, "");
_Static_assert(offsetof(struct ring_control, slot_size) == 24, "");
_Static_assert(offsetof(struct ring_control, shared_offset) == 32, "");
_Static_assert(offsetof(struct ring_control, stream_id) == 56, "");
_Static_assert(offsetof(struct ring_control, writer) == 80, "");
_Static_assert(offsetof(struct ring_control, start) == 160, "");
_Static_assert(offsetof(struct ring_control, head) == 256, "");
_Static_assert(offsetof(struct ring_control, end) == 384, "");
_Static_assert(offsetof(struct ring_control, required) == 512, "");
_Static_assert(offsetof(struct ring_control, messages) == 640, "");
_Static_assert(offsetof(struct ring_control, blocked_by_ns) == 768, "");
_Static_assert(offsetof(struct ring_control, used) == 1280, "");
_Static_assert(offsetof(struct ring_shared, wish) == 128, "");
_Static_assert(offsetof(struct ring_shared, space) == 256, "");
_Static_assert(offsetof(struct ring_shared, entries) == 384, "");
_Static_assert(offsetof(struct ring_entry, tail) == 128, "");
_Static_assert(offsetof(struct ring_entry, result) == 256, "");
_Static_assert(offsetof(struct ring_entry, data) == 384, "");
_Static_assert(offsetof(struct ring_entry, owner) == 512, "");
_Static_assert(offsetof(struct ring_entry, start) == 640, "");
_Static_assert(sizeof(struct ring_entry) == 768, "");

#endif
