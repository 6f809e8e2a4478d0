/* reader.c - the reading side: peek, release, wait, result. */
#include "ring/reader.h"

#include <errno.h>

#include "ring/fence.h"
#include "ring/testpoint.h"

/* ---- the entry --------------------------------------------------------------- */

int ring_reader_check(struct ring_reader *reader)
{
	/* G: the bytes that were used, then the word.  An evicted reader sees
	 * here that they may have changed under its eyes. */
	fence_acquire();
	return atomic_load_explicit(&reader->entry->word, memory_order_relaxed) == reader->word
	       ? 0 : -ESTALE;
}

/* Give room back up to `position`, and wake the writer if it wished for that. */
static int tail_store(struct ring_reader *reader, uint64_t position)
{
	struct ring_shared *shared = reader->segment.shared;
	uint64_t wish;

	if (ring_reader_check(reader) != 0)
		return -ESTALE;
	TESTPOINT("release_checked");
	reader->tail = position;
	/* F: reads of the payload first, or the writer would overwrite them. */
	atomic_store_explicit(&reader->entry->tail, position, memory_order_release);
	/* D: the tail before the wish, else both sides miss each other. */
	fence_full();
	TESTPOINT("release_tail_stored");
	wish = atomic_load_explicit(&shared->wish, memory_order_relaxed);
	if ((wish & 0xff) != reader->index + 1 || position >> reader->slot_shift < wish >> 8)
		return 0;
	/* Only who takes the wish posts, so one wish is one post. */
	if (atomic_compare_exchange_strong_explicit(&shared->wish, &wish, 0, memory_order_acq_rel,
	                                            memory_order_relaxed)) {
		TESTPOINT("release_wish_taken");
		sem_post(&shared->space);
	}
	return 0;
}

/* ---- peek and release ---------------------------------------------------------- */

static uint64_t slot_end_of(const struct ring_reader *reader, uint64_t position)
{
	return ((position >> reader->slot_shift) + 1) << reader->slot_shift;
}

/* How far the slot that holds `position` is used, seen from head.  0: nonsense. */
static uint64_t slot_limit(const struct ring_reader *reader, uint64_t position, uint64_t head)
{
	uint64_t slot = position >> reader->slot_shift;
	uint64_t start = slot << reader->slot_shift, limit;

	if (head < slot_end_of(reader, position))
		return head;
	/* The acquire load of head carries used[] (A). */
	limit = start + atomic_load_explicit(
		&reader->segment.control->used[slot % reader->segment.geometry.slot_count],
		memory_order_relaxed);
	if (limit < position || limit > slot_end_of(reader, position))
		return 0;
	return limit;
}

/* At the end of what was used of a slot that head has left: the next slot's
 * start, so that the writer may have the whole slot. */
static uint64_t past_slot(const struct ring_reader *reader, uint64_t position)
{
	uint64_t head = atomic_load_explicit(&reader->segment.control->head,
	                                     memory_order_acquire);   /* A */

	if (head >= slot_end_of(reader, position) && slot_limit(reader, position, head) == position)
		return slot_end_of(reader, position);
	return position;
}

/* Words that contradict each other: torn by an eviction, or garbage. */
static int reader_nonsense(struct ring_reader *reader)
{
	return ring_reader_check(reader) != 0 ? -ESTALE : -EBADMSG;
}

int ring_reader_peek(struct ring_reader *reader, const uint8_t **bytes, size_t *length)
{
	const struct ring_control *control = reader->segment.control;
	uint64_t ring_bytes = (uint64_t)reader->segment.geometry.slot_count << reader->slot_shift;

	for (;;) {
		/* The writer's death first, then end, then head: so neither a
		 * death nor an end hides bytes that came before it (H). */
		bool dead = atomic_load_explicit(&reader->writer_dead, memory_order_acquire);
		uint64_t end = atomic_load_explicit(&control->end, memory_order_acquire);
		uint64_t head = atomic_load_explicit(&control->head, memory_order_acquire);   /* A */
		uint64_t limit;

		if (reader->cursor != RING_AFTER_ALL &&
		    (head < reader->cursor ||
		     head - (reader->cursor & ~(reader->slot_bytes - 1)) > ring_bytes))
			return reader_nonsense(reader);
		if (head == reader->cursor || reader->cursor == RING_AFTER_ALL) {
			if (end != RING_OPEN)
				return RING_ENDED;
			if (ring_reader_check(reader) != 0)
				return -ESTALE;
			return dead ? -EOWNERDEAD : RING_EMPTY;
		}
		limit = slot_limit(reader, reader->cursor, head);
		if (limit == 0)
			return reader_nonsense(reader);
		if (limit > reader->cursor) {
			uint64_t offset = reader->cursor & (reader->slot_bytes - 1);
			uint64_t slot = reader->cursor >> reader->slot_shift;

			*bytes = reader->segment.payload + offset +
			         ((slot % reader->segment.geometry.slot_count) << reader->slot_shift);
			*length = (size_t)(limit - reader->cursor);
			reader->peeked = limit;
			TESTPOINT("after_peek");
			return RING_DATA;
		}
		/* The rest of the slot is unused: give it back, unless something
		 * before it is still held. */
		limit = slot_end_of(reader, reader->cursor);
		if (reader->tail == reader->cursor && tail_store(reader, limit) != 0)
			return -ESTALE;
		reader->cursor = limit;
	}
}

void ring_reader_take(struct ring_reader *reader, size_t length)
{
	reader->cursor += length;
}

/*
 * A tail at a slot's start stands for the end of what the slot before it held:
 * that end is named by who was handed the bytes, and knows nothing of the rest.
 */
static bool position_is_before_tail(const struct ring_reader *reader, uint64_t position)
{
	return (reader->tail & (reader->slot_bytes - 1)) == 0 && position < reader->tail &&
	       reader->tail - position < reader->slot_bytes;
}

int ring_reader_give_back(struct ring_reader *reader, uint64_t position)
{
	uint64_t next;

	if (position < reader->tail || position > reader->cursor)
		return position_is_before_tail(reader, position) ? 0 : -EINVAL;
	next = past_slot(reader, position);
	if (position == reader->cursor)
		reader->cursor = next;
	ring_reader_progress(reader);
	return tail_store(reader, next);
}

int ring_reader_release(struct ring_reader *reader, size_t length)
{
	uint64_t slot = reader->cursor >> reader->slot_shift;

	reader->cursor += length;
	if (reader->cursor == reader->peeked && reader->cursor >> reader->slot_shift == slot)
		reader->cursor = past_slot(reader, reader->cursor);
	ring_reader_progress(reader);
	return tail_store(reader, reader->cursor);
}

int ring_reader_rewind(struct ring_reader *reader, uint64_t position)
{
	uint64_t head = atomic_load_explicit(&reader->segment.control->head,
	                                     memory_order_acquire);   /* A */

	if (position_is_before_tail(reader, position))
		position = reader->tail;
	if (position < reader->tail || position > head)
		return -EINVAL;
	reader->cursor = position;
	return 0;
}

int ring_reader_let_go(struct ring_reader *reader)
{
	reader->cursor = RING_AFTER_ALL;
	return tail_store(reader, RING_AFTER_ALL);
}

void ring_reader_progress(struct ring_reader *reader)
{
	atomic_store_explicit(&reader->entry->progress_ns, wait_now_ns(), memory_order_relaxed);
}

/* ---- waiting for data ------------------------------------------------------------- */

static bool data_ready(void *context)
{
	struct ring_reader *reader = context;
	const struct ring_control *control = reader->segment.control;

	return (atomic_load_explicit(&control->head, memory_order_relaxed) != reader->cursor &&
	        reader->cursor != RING_AFTER_ALL) ||
	       atomic_load_explicit(&control->end, memory_order_relaxed) != RING_OPEN ||
	       atomic_load_explicit(&reader->entry->word, memory_order_relaxed) != reader->word ||
	       atomic_load_explicit(&reader->writer_dead, memory_order_relaxed) ||
	       atomic_load_explicit(&reader->nudged, memory_order_relaxed) ||
	       atomic_load_explicit(&reader->interrupted, memory_order_relaxed);
}

static void sleep_for_data(struct ring_reader *reader, uint64_t deadline_ns)
{
	struct ring_shared *shared = reader->segment.shared;
	uint64_t bit = (uint64_t)1 << reader->index;

	wait_drain(&reader->entry->data);
	/* B, C: the bit, a full fence, then the second look at head and end:
	 * else a publish might slip between, and nobody would post. */
	atomic_fetch_or_explicit(&shared->sleeping, bit, memory_order_relaxed);
	fence_full();
	TESTPOINT("wait_data_bit_set");
	if (!data_ready(reader))
		wait_sleep(&reader->entry->data, deadline_ns);
	atomic_fetch_and_explicit(&shared->sleeping, ~bit, memory_order_relaxed);
}

/* Sleep, slice by slice, until there is something to see or the deadline. */
static int wait_for_data(struct ring_reader *reader, uint64_t deadline_ns)
{
	for (;;) {
		if (data_ready(reader))
			return 0;
		if (wait_now_ns() >= deadline_ns)
			return -ETIMEDOUT;
		sleep_for_data(reader, deadline_ns);
	}
}

int ring_reader_wait(struct ring_reader *reader, int64_t timeout_ms)
{
	uint64_t deadline = wait_deadline_ns(timeout_ms), before;
	bool nudged;
	int error = 0;

	if (!spinner_spin(&reader->spinner, data_ready, reader)) {
		before = wait_now_ns();
		atomic_store_explicit(&reader->entry->blocked_since_ns, before, memory_order_relaxed);
		error = wait_for_data(reader, deadline);
		atomic_store_explicit(&reader->entry->blocked_since_ns, 0, memory_order_relaxed);
		atomic_fetch_add_explicit(&reader->entry->blocked_ns, wait_now_ns() - before,
		                          memory_order_relaxed);
	}
	/* Acquire: what was done before the nudge is to be seen after it. */
	nudged = atomic_exchange_explicit(&reader->nudged, false, memory_order_acq_rel);
	if (atomic_load(&reader->interrupted))
		return -EINTR;
	return nudged ? 0 : error;
}

void ring_reader_interrupt(struct ring_reader *reader)
{
	atomic_store(&reader->interrupted, true);
	sem_post(&reader->entry->data);
}

void ring_reader_nudge(struct ring_reader *reader)
{
	atomic_store(&reader->nudged, true);
	sem_post(&reader->entry->data);
}

/* ---- what is known ----------------------------------------------------------------- */

uint64_t ring_reader_position(const struct ring_reader *reader)
{
	return reader->cursor;
}

uint64_t ring_reader_tail(const struct ring_reader *reader)
{
	return reader->tail;
}

uint64_t ring_reader_start(const struct ring_reader *reader)
{
	return reader->start;
}

bool ring_reader_holds_back(const struct ring_reader *reader)
{
	uint64_t wish = atomic_load_explicit(&reader->segment.shared->wish, memory_order_relaxed);

	return (wish & 0xff) == reader->index + 1;
}

bool ring_reader_required(const struct ring_reader *reader)
{
	return (atomic_load_explicit(&reader->segment.control->required, memory_order_relaxed) >>
	        reader->index) & 1;
}

enum ring_end ring_reader_end(const struct ring_reader *reader, int *code)
{
	uint64_t end = atomic_load_explicit(&reader->segment.control->end, memory_order_acquire);

	*code = (int)(end >> 8 & 0xff);
	return (end & 0xff) == RING_COMPLETE || (end & 0xff) == RING_OPEN
	       ? (enum ring_end)(end & 0xff) : RING_ABORTED;
}

int ring_reader_set_result(struct ring_reader *reader, int code)
{
	if (ring_reader_check(reader) != 0)
		return -ESTALE;
	TESTPOINT("result_before_store");
	/* I: release, and before the lock is given back. */
	atomic_store_explicit(&reader->entry->result, RESULT_SET | (uint64_t)(code & 0xff),
	                      memory_order_release);
	TESTPOINT("result_stored");
	sem_post(&reader->segment.shared->space);
	return 0;
}

bool ring_reader_lets_go(const struct ring_reader *reader)
{
	return reader->tail == RING_AFTER_ALL;
}

bool ring_reader_result(const struct ring_reader *reader, int *code)
{
	uint64_t result = atomic_load_explicit(&reader->entry->result, memory_order_acquire);

	*code = (int)(result & 0xff);
	return result != 0;
}

void ring_reader_count_messages(struct ring_reader *reader, uint64_t count)
{
	reader->messages += count;
	atomic_store_explicit(&reader->entry->messages, reader->messages, memory_order_relaxed);
}

void ring_reader_count_drop(struct ring_reader *reader)
{
	atomic_store_explicit(&reader->entry->dropped, ++reader->dropped, memory_order_relaxed);
}

struct ring_geometry ring_reader_geometry(const struct ring_reader *reader)
{
	return reader->segment.geometry;
}

const uint8_t *ring_reader_stream_id(const struct ring_reader *reader)
{
	return reader->segment.control->stream_id;
}

struct ring_process ring_reader_writer(const struct ring_reader *reader)
{
	struct ring_process process;

	watcher_read_display(&reader->segment.control->writer, &process);
	return process;
}
