/*
 * writer.h - the writer's handle, shared by writer.c (bytes) and readers.c
 * (who reads them, and how they came out).
 */
#ifndef SLUICE_RING_WRITER_H
#define SLUICE_RING_WRITER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "ring/segment.h"
#include "ring/wait.h"
#include "ring/watcher.h"

#define WRITER_SLOW_NS 10000000000u    /* a reader is named after 10 s */
#define WRITER_WAKE_NS 1000000u        /* a full slot wakes readers at least after 1 ms */
#define WRITER_KEPT_REPORTS 128u
/* Of one look: for each entry its coming, going and slowness, and two for all. */
#define WRITER_EVENTS (3 * RING_MAX_READERS + 2)

/* What the writer knows of one entry: private memory, guarded by `lock`. */
struct reader_note {
	bool present;                  /* ACTIVE or LINGER under this generation, not freed yet */
	bool warned;                   /* named as slow, until it moves */
	uint64_t word;                 /* the entry's word, as last seen or made */
	uint64_t lingers_ns;           /* since when it lingers */
	uint64_t last_tail, last_progress;
	uint64_t progress_ns;          /* last time that it moved, or was not waited for */
	struct ring_reader_report report;
};

struct ring_writer {
	struct segment segment;

	/* Owner thread only. */
	uint64_t cursor;               /* committed up to here */
	uint64_t published;            /* head, as last stored */
	uint64_t slot_end;             /* of the slot that holds cursor */
	uint8_t *slot_base;
	uint64_t min_tail;             /* a lower bound of every tail that counts */
	uint64_t slots_left, messages;
	bool wake_owed;                /* head was stored, and sleepers were not woken since */
	uint64_t woken_slot, woken_ns; /* when they were: the slot after, the time */
	struct spinner spinner;

	/* Any thread. */
	_Atomic int stop;              /* 0, -EINTR or -EPIPE: claims and waits return it */
	_Atomic uint64_t waiting_for;  /* position that every tail must reach; 0: not waiting */

	/* Guarded by lock. */
	pthread_mutex_t lock;
	struct reader_note notes[RING_MAX_READERS];
	struct ring_reader_report kept[WRITER_KEPT_REPORTS];
	unsigned kept_count;
	bool started;                  /* the barrier was met */
	unsigned required_count;
	unsigned required_pending;     /* required, and no outcome yet */
	struct ring_event events[WRITER_EVENTS];   /* to be told once the lock is free */
	unsigned event_count;

	uint64_t stall_timeout_ns;
	ring_observer observer;
	void *observer_context;
	struct watcher watcher;
};

/* One look at every entry: joins, results, deaths, evictions (readers.c). */
void readers_settle(struct ring_writer *writer);

/* Note who is there, of a writer that was taken over: before its watcher starts. */
void readers_inherit(struct ring_writer *writer);

/* The watcher's look. */
void readers_watch(void *writer);

#endif
