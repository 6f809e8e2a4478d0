/* writer.c - the writing side: room, commit, publish, wait, end. */
#include "ring/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ring/fence.h"
#include "ring/space.h"
#include "ring/testpoint.h"

/* ---- creation and the end ---------------------------------------------- */

static uint64_t slot_size(const struct ring_writer *writer)
{
	return writer->segment.geometry.slot_size;
}

/* Go on at `position`, up to which everything is published.  One that is a
 * slot's end is taken for that, not for the next slot's start: to enter that,
 * its room must be looked for. */
static void writer_place(struct ring_writer *writer, uint64_t position)
{
	uint64_t size = slot_size(writer), slot = position / size;

	if (position % size == 0 && position > writer->segment.start)
		slot--;
	writer->cursor = writer->published = position;
	writer->slot_end = (slot + 1) * size;
	writer->slot_base = writer->segment.payload +
	                    (slot % writer->segment.geometry.slot_count) * size;
}

static int writer_start(struct ring_writer *writer, const struct ring_writer_options *options)
{
	int error = pthread_mutex_init(&writer->lock, NULL);

	if (error != 0)
		return -error;
	writer_place(writer, atomic_load_explicit(&writer->segment.control->head, memory_order_relaxed));
	writer->stall_timeout_ns = (uint64_t)options->stall_timeout_ms * 1000000u;
	writer->observer = options->observer;
	writer->observer_context = options->observer_context;
	spinner_init(&writer->spinner, options->spin);
	watcher_describe(&writer->segment.control->writer, options->label);
	error = watcher_start(&writer->watcher, readers_watch, writer);
	if (error != 0)
		pthread_mutex_destroy(&writer->lock);
	return error;
}

int ring_create(struct ring_writer **out, const char *name,
                const struct ring_writer_options *options,
                struct ring_shortage *shortage, bool *replaced)
{
	struct ring_shortage unasked;
	struct ring_geometry geometry;
	struct ring_writer *writer;
	bool stale;
	int error;

	if (shortage == NULL)
		shortage = &unasked;
	if (replaced == NULL)
		replaced = &stale;
	*replaced = false;
	error = space_choose(options->geometry, &geometry, shortage);
	if (error == 0 && options->start % geometry.slot_size != 0)
		error = -EINVAL;
	if (error != 0)
		return error;
	writer = calloc(1, sizeof *writer);
	if (writer == NULL)
		return -ENOMEM;
	error = segment_create(&writer->segment, name, geometry, options);
	if (error != 0)
		goto free_writer;
	error = writer_start(writer, options);
	if (error != 0)
		goto close_segment;
	error = segment_link(&writer->segment, replaced);
	if (error != 0)
		goto stop_watcher;
	*out = writer;
	return 0;

stop_watcher:
	watcher_stop(&writer->watcher);
	pthread_mutex_destroy(&writer->lock);
close_segment:
	segment_close(&writer->segment);
free_writer:
	free(writer);
	return error;
}

/*
 * What the one before left: its counters go on; its wish and its time blocked
 * are void.  Readers that attach meanwhile either see every head that we will
 * store, or we see them (pair E): our first look for room looks at all.
 */
static int writer_inherit(struct ring_writer *writer)
{
	struct ring_control *control = writer->segment.control;
	uint64_t head = atomic_load_explicit(&control->head, memory_order_relaxed);

	if (head < writer->segment.start)
		return -EBADMSG;
	writer->messages = atomic_load_explicit(&control->messages, memory_order_relaxed);
	writer->slots_left = atomic_load_explicit(&control->slots_left, memory_order_relaxed);
	atomic_store_explicit(&control->blocked_since_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&control->alive_ns, wait_now_ns(), memory_order_relaxed);
	atomic_store_explicit(&writer->segment.shared->wish, 0, memory_order_relaxed);
	readers_inherit(writer);
	fence_full();
	/* The one before may have died between a store and its post. */
	writer->wake_owed = true;
	return 0;
}

int ring_takeover(struct ring_writer **out, const char *name, const struct ring_writer_options *options)
{
	struct ring_writer *writer = calloc(1, sizeof *writer);
	int error;

	if (writer == NULL)
		return -ENOMEM;
	error = segment_take_over(&writer->segment, name, options->stream_id);
	if (error != 0)
		goto free_writer;
	error = writer_inherit(writer);
	if (error == 0)
		error = writer_start(writer, options);
	if (error != 0)
		goto close_segment;
	ring_writer_publish(writer);
	*out = writer;
	return 0;

close_segment:
	segment_close(&writer->segment);
free_writer:
	free(writer);
	return error;
}

void ring_destroy(struct ring_writer *writer)
{
	watcher_stop(&writer->watcher);
	TESTPOINT("destroy_before_unlink");
	segment_unlink(&writer->segment);
	TESTPOINT("destroy_after_unlink");
	/* A child that was forked may still have the mapping, and the lock by it. */
	segment_unlock(&writer->segment, RING_LOCK_WRITER);
	segment_close(&writer->segment);
	pthread_mutex_destroy(&writer->lock);
	free(writer);
}

/* Number of the slot after the present one. */
static uint64_t next_slot(const struct ring_writer *writer)
{
	return writer->slot_end / slot_size(writer);
}

/* ---- publishing ---------------------------------------------------------- */

/* After a store to head or end and a full fence (pairs B and C). */
static void wake_readers(struct ring_writer *writer)
{
	struct ring_shared *shared = writer->segment.shared;
	uint64_t bits;

	if (atomic_load_explicit(&shared->sleeping, memory_order_relaxed) == 0)
		return;
	/* Clearing before posting: a stopped reader is posted once, not once
	 * per publish. */
	bits = atomic_exchange_explicit(&shared->sleeping, 0, memory_order_acq_rel);
	TESTPOINT("publish_bits_taken");
	while (bits != 0) {
		unsigned entry = (unsigned)__builtin_ctzll(bits);

		sem_post(&shared->entries[entry].data);
		bits &= bits - 1;
	}
}

static void head_store(struct ring_writer *writer)
{
	TESTPOINT("publish_before_head");
	writer->published = writer->cursor;
	/* A: payload and used[] first, or a reader would read what is not there. */
	atomic_store_explicit(&writer->segment.control->head, writer->cursor,
	                      memory_order_release);
	/* B, E: head before the sleeping bits and the words. */
	fence_full();
	writer->wake_owed = true;
	TESTPOINT("publish_after_head");
}

void ring_writer_publish(struct ring_writer *writer)
{
	if (writer->published != writer->cursor)
		head_store(writer);
	if (!writer->wake_owed)
		return;
	writer->wake_owed = false;
	writer->woken_slot = next_slot(writer);
	wake_readers(writer);
}

/*
 * Publish a slot that is left.  To wake a sleeping reader costs more than to
 * fill a small slot, so readers that keep up are woken for several slots at
 * once.  The wake is owed until then, and is paid before we sleep, at the end,
 * and whenever the program has nothing more at hand and publishes.
 */
static void publish_left_slot(struct ring_writer *writer)
{
	uint64_t now = wait_now_ns();

	if (writer->published != writer->cursor)
		head_store(writer);
	if (next_slot(writer) - writer->woken_slot < writer->segment.geometry.slot_count / 4 &&
	    now - writer->woken_ns < WRITER_WAKE_NS)
		return;
	writer->woken_ns = now;
	ring_writer_publish(writer);
}

void ring_writer_end(struct ring_writer *writer, enum ring_end end, int code)
{
	struct ring_control *control = writer->segment.control;

	ring_writer_publish(writer);
	TESTPOINT("end_before_store");
	/* H: head first, so that who sees the end sees the last head. */
	atomic_store_explicit(&control->end, (uint64_t)(unsigned)code << 8 | end,
	                      memory_order_release);
	fence_full();      /* C */
	TESTPOINT("end_after_store");
	wake_readers(writer);
}

/* ---- room --------------------------------------------------------------- */

/* Every tail must be past this slot's beginning before the next is entered. */
static uint64_t needed_slot(const struct ring_writer *writer)
{
	uint64_t next = next_slot(writer), count = writer->segment.geometry.slot_count;

	return next < count ? 0 : next - count + 1;
}

/*
 * The smallest of head and of all tails that count, and whose it is (-1:
 * nobody's).  After a full fence that follows the store of head: pair E, else
 * a reader that just attached would be overlooked.
 */
static uint64_t scan_tails(const struct ring_writer *writer, int *slowest)
{
	const struct ring_shared *shared = writer->segment.shared;
	uint64_t least = writer->published;

	*slowest = -1;
	for (unsigned i = 0; i < RING_MAX_READERS; i++) {
		const struct ring_entry *entry = &shared->entries[i];
		uint64_t word = atomic_load_explicit(&entry->word, memory_order_acquire);
		uint64_t tail;

		if (!word_holds(word))
			continue;
		/* F: what the reader read, it read before it moved on.  A tail
		 * past head is nonsense, and holds nothing back. */
		tail = atomic_load_explicit(&entry->tail, memory_order_acquire);
		if (tail < least) {
			least = tail;
			*slowest = (int)i;
		}
	}
	return least;
}

static void slot_record_used(struct ring_writer *writer, uint64_t slot, uint32_t used)
{
	uint32_t count = writer->segment.geometry.slot_count;

	/* Relaxed: the release store of head that follows carries it (A). */
	atomic_store_explicit(&writer->segment.control->used[slot % count], used,
	                      memory_order_relaxed);
}

/* Go on to the next slot.  0 or -EAGAIN. */
static int slot_enter_next(struct ring_writer *writer)
{
	struct ring_control *control = writer->segment.control;
	uint64_t next = next_slot(writer), size = slot_size(writer);
	uint64_t needed = needed_slot(writer) * size;
	int slowest;

	if (writer->min_tail < needed) {
		writer->min_tail = scan_tails(writer, &slowest);
		if (writer->min_tail < needed)
			return -EAGAIN;
	}
	/* G: an entry that was taken stays taken for who reads bytes that are
	 * written from here on. */
	fence_release();
	if (writer->cursor < writer->slot_end)
		slot_record_used(writer, next - 1,
		                 (uint32_t)(writer->cursor - (writer->slot_end - size)));
	TESTPOINT("slot_used_recorded");
	publish_left_slot(writer);
	writer->cursor = writer->slot_end;
	writer->slot_base = writer->segment.payload +
	                    (next % writer->segment.geometry.slot_count) * size;
	writer->slot_end += size;
	atomic_store_explicit(&control->slots_left, ++writer->slots_left, memory_order_relaxed);
	TESTPOINT("slot_entered");
	return 0;
}

uint8_t *ring_writer_room(struct ring_writer *writer, size_t *length)
{
	uint64_t left = writer->slot_end - writer->cursor;

	*length = (size_t)left;
	return writer->slot_base + (slot_size(writer) - left);
}

int ring_writer_claim(struct ring_writer *writer, size_t least, uint8_t **room, size_t *length)
{
	int stop = atomic_load_explicit(&writer->stop, memory_order_relaxed);

	if (stop != 0)
		return stop;
	if (writer->slot_end - writer->cursor < least) {
		if (least > slot_size(writer))
			return -EMSGSIZE;
		if (slot_enter_next(writer) != 0)
			return -EAGAIN;
	}
	*room = ring_writer_room(writer, length);
	TESTPOINT("after_claim");
	return 0;
}

int ring_writer_seek(struct ring_writer *writer, uint64_t position)
{
	int stop = atomic_load_explicit(&writer->stop, memory_order_relaxed);

	if (stop != 0)
		return stop;
	if (position == writer->cursor && position < writer->slot_end)
		return 0;
	if (position != writer->slot_end)
		return -EINVAL;
	return slot_enter_next(writer) == 0 ? 0 : -EAGAIN;
}

void ring_writer_commit(struct ring_writer *writer, size_t length)
{
	writer->cursor += length;
	if (writer->cursor == writer->slot_end)      /* I2: before head leaves it */
		slot_record_used(writer, next_slot(writer) - 1, (uint32_t)slot_size(writer));
	TESTPOINT("after_commit");
}

/* ---- waiting for room ---------------------------------------------------- */

struct space_look {
	struct ring_writer *writer;
	const struct ring_entry *entry;
	uint64_t needed;
};

/* May the reader that holds us back be past the slot by now? */
static bool space_ready(void *context)
{
	const struct space_look *look = context;
	uint64_t word = atomic_load_explicit(&look->entry->word, memory_order_relaxed);

	return !word_holds(word) ||
	       atomic_load_explicit(&look->entry->tail, memory_order_relaxed) >= look->needed ||
	       atomic_load_explicit(&look->writer->stop, memory_order_relaxed) != 0;
}

/*
 * A wish for several slots at once saves wake-ups; one past head could never
 * be granted, since no reader gets there while we sleep.
 */
static uint64_t wished_slot(const struct ring_writer *writer)
{
	uint64_t most = writer->published / slot_size(writer);
	uint64_t wish = needed_slot(writer) + writer->segment.geometry.slot_count / 4;

	return wish < most ? wish : most;
}

/* One sleep for the reader `slowest`, of at most a slice. */
static void sleep_for(struct ring_writer *writer, int slowest, struct space_look *look,
                      uint64_t deadline_ns)
{
	struct ring_shared *shared = writer->segment.shared;

	wait_drain(&shared->space);
	/* D: the wish, a full fence, then the second look, which is at the
	 * reader that was named: else its release might slip between. */
	atomic_store_explicit(&shared->wish, wish_make(wished_slot(writer), (unsigned)slowest),
	                      memory_order_relaxed);
	fence_full();
	TESTPOINT("wait_space_wished");
	if (!space_ready(look))
		wait_sleep(&shared->space, deadline_ns);
	/* Nobody acts on an old wish: the reader takes it by compare-and-swap. */
	atomic_store_explicit(&shared->wish, 0, memory_order_relaxed);
}

static int wait_for_space(struct ring_writer *writer, uint64_t deadline_ns)
{
	struct ring_control *control = writer->segment.control;
	uint64_t needed = needed_slot(writer) * slot_size(writer);

	for (;;) {
		struct space_look look = { .writer = writer, .needed = needed };
		uint64_t before, spent;
		int slowest, stop = atomic_load_explicit(&writer->stop, memory_order_relaxed);

		if (stop != 0)
			return stop;
		writer->min_tail = scan_tails(writer, &slowest);
		if (writer->min_tail >= needed)
			return 0;
		look.entry = &writer->segment.shared->entries[slowest];
		if (spinner_spin(&writer->spinner, space_ready, &look))
			continue;
		before = wait_now_ns();
		if (before >= deadline_ns)
			return -ETIMEDOUT;
		atomic_store_explicit(&writer->waiting_for, needed, memory_order_relaxed);
		sleep_for(writer, slowest, &look, deadline_ns);
		spent = wait_now_ns() - before;
		atomic_fetch_add_explicit(&control->blocked_ns, spent, memory_order_relaxed);
		atomic_fetch_add_explicit(&control->blocked_by_ns[slowest], spent, memory_order_relaxed);
		/* The watcher looks, too, but may itself be blocked in its observer. */
		if (spent >= WAIT_SLICE_MS * 1000000u)
			readers_settle(writer);
	}
}

int ring_writer_wait_space(struct ring_writer *writer, int64_t timeout_ms)
{
	struct ring_control *control = writer->segment.control;
	int error;

	/* No reader could free anything while it waits for bytes that we hold. */
	ring_writer_publish(writer);
	atomic_store_explicit(&control->blocked_since_ns, wait_now_ns(), memory_order_relaxed);
	error = wait_for_space(writer, wait_deadline_ns(timeout_ms));
	atomic_store_explicit(&writer->waiting_for, 0, memory_order_relaxed);
	atomic_store_explicit(&control->blocked_since_ns, 0, memory_order_relaxed);
	return error;
}

void ring_writer_interrupt(struct ring_writer *writer)
{
	int none = 0;

	atomic_compare_exchange_strong(&writer->stop, &none, -EINTR);
	sem_post(&writer->segment.shared->space);
}

/* ---- what it is, and how far ---------------------------------------------- */

bool ring_writer_started(const struct ring_writer *writer)
{
	return atomic_load_explicit(&writer->segment.control->started, memory_order_relaxed) != 0;
}

enum ring_end ring_writer_ended(const struct ring_writer *writer, int *code)
{
	uint64_t end = atomic_load_explicit(&writer->segment.control->end, memory_order_relaxed);

	*code = (int)(end >> 8 & 0xff);
	return (enum ring_end)(end & 0xff);
}

uint64_t ring_writer_position(const struct ring_writer *writer)
{
	return writer->cursor;
}

uint64_t ring_writer_published(const struct ring_writer *writer)
{
	return writer->published;
}

void ring_writer_count_messages(struct ring_writer *writer, uint64_t count)
{
	writer->messages += count;
	atomic_store_explicit(&writer->segment.control->messages, writer->messages,
	                      memory_order_relaxed);
}

struct ring_geometry ring_writer_geometry(const struct ring_writer *writer)
{
	return writer->segment.geometry;
}

const uint8_t *ring_writer_stream_id(const struct ring_writer *writer)
{
	return writer->segment.control->stream_id;
}

uint64_t ring_writer_segment_bytes(const struct ring_writer *writer)
{
	return writer->segment.segment_bytes;
}

uint64_t ring_writer_blocked_ns(const struct ring_writer *writer)
{
	return atomic_load_explicit(&writer->segment.control->blocked_ns, memory_order_relaxed);
}
