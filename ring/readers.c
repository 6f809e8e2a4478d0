/* readers.c - the writer's view of its readers: barrier, outcomes, deaths, evictions. */
#include <errno.h>
#include <string.h>

#include "ring/fence.h"
#include "ring/testpoint.h"
#include "ring/writer.h"

#define LINGER_MOST_MS 2147483647u   /* of what a reader asks for */

/* How far a reader has come.  One that lets all pass is nowhere in particular. */
static uint64_t entry_tail(const struct ring_writer *writer, int i)
{
	uint64_t tail = atomic_load_explicit(&writer->segment.shared->entries[i].tail,
	                                     memory_order_acquire);
	uint64_t head = atomic_load_explicit(&writer->segment.control->head, memory_order_relaxed);

	return tail < head ? tail : head;
}

static void emit(struct ring_writer *writer, enum ring_event_kind kind, int entry)
{
	struct ring_event event = { .kind = kind, .entry = entry };

	if (entry >= 0) {
		event.process = writer->notes[entry].report.process;
		event.required = writer->notes[entry].report.required;
		event.code = writer->notes[entry].report.code;
		event.tail = entry_tail(writer, entry);
	}
	if (writer->event_count < WRITER_EVENTS)
		writer->events[writer->event_count++] = event;
}

static void writer_lock(struct ring_writer *writer)
{
	pthread_mutex_lock(&writer->lock);
}

/* Unlock, and only then tell what happened: an observer may block. */
static void writer_unlock(struct ring_writer *writer)
{
	struct ring_event events[WRITER_EVENTS];
	unsigned count = writer->event_count;

	memcpy(events, writer->events, count * sizeof events[0]);
	writer->event_count = 0;
	pthread_mutex_unlock(&writer->lock);
	for (unsigned i = 0; i < count && writer->observer != NULL; i++)
		writer->observer(writer->observer_context, &events[i]);
}

/* ---- notes on one entry ---------------------------------------------------- */

static void note_joined(struct ring_writer *writer, int i, uint64_t word, uint64_t now)
{
	const struct ring_entry *entry = &writer->segment.shared->entries[i];
	struct reader_note *note = &writer->notes[i];

	memset(note, 0, sizeof *note);
	note->present = true;
	note->word = word;
	note->progress_ns = now;
	watcher_read_display(&entry->owner, &note->report.process);
	atomic_store_explicit(&writer->segment.control->blocked_by_ns[i], 0, memory_order_relaxed);
	if (writer->started)
		emit(writer, RING_EVENT_READER_LATE, i);
}

/* Another process took the entry over: it is the same reader still. */
static void note_resumed(struct ring_writer *writer, int i, uint64_t word, uint64_t now)
{
	struct reader_note *note = &writer->notes[i];

	note->word = word;
	note->progress_ns = now;
	watcher_read_display(&writer->segment.shared->entries[i].owner, &note->report.process);
	if (note->report.outcome == RING_PENDING)
		emit(writer, RING_EVENT_READER_BACK, i);
}

static void note_outcome(struct ring_writer *writer, int i, enum ring_outcome outcome, int code)
{
	static const enum ring_event_kind events[] = {
		[RING_FAILED] = RING_EVENT_READER_FAILED,
		[RING_DIED] = RING_EVENT_READER_DIED,
		[RING_EVICTED] = RING_EVENT_READER_EVICTED,
	};
	struct reader_note *note = &writer->notes[i];
	int none = 0;

	if (note->report.outcome != RING_PENDING)
		return;            /* the first is final */
	note->report.outcome = outcome;
	note->report.code = code;
	if (outcome != RING_GOOD)
		emit(writer, events[outcome], i);
	/* For a writer that takes over from us: before the entry is freed. */
	if (outcome != RING_GOOD && note->report.required)
		atomic_fetch_add_explicit(&writer->segment.control->failed, 1, memory_order_relaxed);
	if (!note->report.required || --writer->required_pending > 0)
		return;
	atomic_compare_exchange_strong(&writer->stop, &none, -EPIPE);
	emit(writer, RING_EVENT_READERS_OUT, -1);
}

static void note_refresh(struct ring_writer *writer, int i)
{
	const struct ring_entry *entry = &writer->segment.shared->entries[i];
	struct ring_reader_report *report = &writer->notes[i].report;

	report->tail = entry_tail(writer, i);
	report->dropped_messages = atomic_load_explicit(&entry->dropped, memory_order_relaxed);
	report->blocked_ns = atomic_load_explicit(&writer->segment.control->blocked_by_ns[i],
	                                          memory_order_relaxed);
}

/* Keep the report of an entry that is about to be freed.  Required ones always
 * find room: there are at most RING_MAX_READERS of them. */
static void note_keep(struct ring_writer *writer, int i)
{
	struct reader_note *note = &writer->notes[i];
	unsigned room = WRITER_KEPT_REPORTS;

	if (!note->report.required)
		room -= RING_MAX_READERS;
	note_refresh(writer, i);
	if (note->report.required || writer->kept_count < room)
		writer->kept[writer->kept_count++] = note->report;
	note->present = false;
}

/* ---- taking an entry -------------------------------------------------------- */

/*
 * Take the entry from its owner, or give it free.  Whoever takes ACTIVE away
 * posts `space`: the owner thread may be asleep for this very reader.
 */
static bool entry_take(struct ring_writer *writer, int i, uint64_t word, enum ring_entry_state state)
{
	struct ring_entry *entry = &writer->segment.shared->entries[i];

	if (!atomic_compare_exchange_strong_explicit(&entry->word, &word, word_next(word, state),
	                                             memory_order_acq_rel, memory_order_relaxed))
		return false;
	fence_release();       /* G */
	TESTPOINT("entry_taken");
	sem_post(&writer->segment.shared->space);
	return true;
}

static void entry_require(struct ring_writer *writer, int i, bool required)
{
	_Atomic uint64_t *mask = &writer->segment.control->required;

	if (required)
		atomic_fetch_or_explicit(mask, (uint64_t)1 << i, memory_order_relaxed);
	else
		atomic_fetch_and_explicit(mask, ~((uint64_t)1 << i), memory_order_relaxed);
}

/*
 * The owner is dead and nobody goes on.  Take the entry from those who might
 * take it over; note its outcome; only then is it free for another owner.
 * Without a key nobody might, and its tail counts until its outcome is noted:
 * else a writer that has lost its last reader would run on for a moment.
 */
static void entry_give_up(struct ring_writer *writer, int i, uint64_t word)
{
	const struct ring_entry *entry = &writer->segment.shared->entries[i];

	if (atomic_load_explicit(&entry->key, memory_order_acquire) != 0) {
		if (!entry_take(writer, i, word, ENTRY_EVICTED))
			return;    /* taken over meanwhile */
		word = word_next(word, ENTRY_EVICTED);
	}
	note_outcome(writer, i, RING_DIED, 0);
	note_keep(writer, i);
	entry_require(writer, i, false);
	entry_take(writer, i, word, ENTRY_FREE);
}

static void linger(struct ring_writer *writer, int i, uint64_t word, uint64_t now)
{
	struct reader_note *note = &writer->notes[i];

	if (!entry_take(writer, i, word, ENTRY_LINGER))
		return;            /* taken over meanwhile */
	note->word = word_next(word, ENTRY_LINGER);
	note->lingers_ns = now;
	if (note->report.outcome == RING_PENDING)
		emit(writer, RING_EVENT_READER_LOST, i);
}

static void settle_active(struct ring_writer *writer, int i, uint64_t word, uint64_t now)
{
	struct ring_entry *entry = &writer->segment.shared->entries[i];
	struct reader_note *note = &writer->notes[i];
	uint64_t result;
	bool alive;

	if (!note->present)
		note_joined(writer, i, word, now);
	else if (note->word != word)
		note_resumed(writer, i, word, now);
	/* I: the lock first, then the result, or a reader that stores its
	 * result and leaves in between would be called dead. */
	alive = segment_is_locked(&writer->segment, RING_LOCK_ENTRY(i));
	result = atomic_load_explicit(&entry->result, memory_order_acquire);
	if (result != 0)
		note_outcome(writer, i, result == RESULT_SET ? RING_GOOD : RING_FAILED,
		             (int)(result & 0xff));
	if (alive)
		return;
	/* Also one that came out: its heir may not know it yet. */
	if (atomic_load_explicit(&entry->key, memory_order_acquire) != 0)
		linger(writer, i, word, now);
	else
		entry_give_up(writer, i, word);
}

/* A dead owner's entry: until somebody with its key goes on, or time is over. */
static void settle_lingering(struct ring_writer *writer, int i, uint64_t word, uint64_t now)
{
	const struct ring_entry *entry = &writer->segment.shared->entries[i];
	struct reader_note *note = &writer->notes[i];
	uint64_t patience_ms = atomic_load_explicit(&entry->linger_ms, memory_order_relaxed);

	if (!note->present) {      /* it came and went before we looked */
		note_joined(writer, i, word, now);
		note->lingers_ns = now;
	}
	if (patience_ms > LINGER_MOST_MS)
		patience_ms = LINGER_MOST_MS;
	if (now - note->lingers_ns >= patience_ms * 1000000u)
		entry_give_up(writer, i, word);
}

static void settle_all(struct ring_writer *writer)
{
	uint64_t now = wait_now_ns();

	for (int i = 0; i < RING_MAX_READERS; i++) {
		struct ring_entry *entry = &writer->segment.shared->entries[i];
		uint64_t word = atomic_load_explicit(&entry->word, memory_order_acquire);

		if (word_state(word) == ENTRY_ACTIVE)
			settle_active(writer, i, word, now);
		else if (word_state(word) == ENTRY_LINGER)
			settle_lingering(writer, i, word, now);
		else if (word_state(word) == ENTRY_EVICTED &&
		         !segment_is_locked(&writer->segment, RING_LOCK_ENTRY(i)))
			entry_take(writer, i, word, ENTRY_FREE);
	}
}

void readers_settle(struct ring_writer *writer)
{
	writer_lock(writer);
	settle_all(writer);
	writer_unlock(writer);
}

/* The one before died between taking a required reader's entry and noting why. */
static void inherit_taken(struct ring_writer *writer, int i)
{
	uint64_t result = atomic_load_explicit(&writer->segment.shared->entries[i].result,
	                                       memory_order_acquire);

	if (result != RESULT_SET)
		atomic_fetch_add_explicit(&writer->segment.control->failed, 1, memory_order_relaxed);
	entry_require(writer, i, false);
}

void readers_inherit(struct ring_writer *writer)
{
	struct ring_control *control = writer->segment.control;
	bool started = atomic_load_explicit(&control->started, memory_order_relaxed) != 0;
	uint64_t required, now = wait_now_ns();

	/* It may have died at the barrier, with some of them counted. */
	if (!started)
		atomic_store_explicit(&control->required, 0, memory_order_relaxed);
	required = atomic_load_explicit(&control->required, memory_order_relaxed);
	for (int i = 0; i < RING_MAX_READERS; i++) {
		uint64_t word = atomic_load_explicit(&writer->segment.shared->entries[i].word,
		                                     memory_order_acquire);
		bool counted = (required >> i & 1) != 0;

		if (word_holds(word)) {
			note_joined(writer, i, word, now);
			writer->notes[i].lingers_ns = now;
			writer->notes[i].report.required = counted;
			writer->required_count += counted;
			writer->required_pending += counted;
		} else if (counted) {
			inherit_taken(writer, i);
		}
	}
	if (started && writer->required_pending == 0) {
		atomic_store(&writer->stop, -EPIPE);
		emit(writer, RING_EVENT_READERS_OUT, -1);      /* told at the first look */
	}
	writer->started = started;     /* from here on, who joins is late */
}

/* ---- slow readers -------------------------------------------------------------- */

static void evict(struct ring_writer *writer, int i)
{
	struct reader_note *note = &writer->notes[i];

	if (!entry_take(writer, i, note->word, ENTRY_EVICTED))
		return;
	note_outcome(writer, i, RING_EVICTED, 0);
	note_keep(writer, i);
	entry_require(writer, i, false);
	atomic_fetch_add_explicit(&writer->segment.control->evictions, 1, memory_order_relaxed);
	/* It may be asleep; it is to learn of it. */
	sem_post(&writer->segment.shared->entries[i].data);
}

/* A reader that holds the ring full must move: release something, or say that
 * it gets on. */
static bool has_moved(const struct ring_writer *writer, struct reader_note *note, int i)
{
	const struct ring_entry *entry = &writer->segment.shared->entries[i];
	uint64_t tail = atomic_load_explicit(&entry->tail, memory_order_relaxed);
	uint64_t progress = atomic_load_explicit(&entry->progress_ns, memory_order_relaxed);
	uint64_t needed = atomic_load_explicit(&writer->waiting_for, memory_order_relaxed);
	bool moved = tail != note->last_tail || progress != note->last_progress || tail >= needed;

	note->last_tail = tail;
	note->last_progress = progress;
	return moved;
}

static void check_progress(struct ring_writer *writer)
{
	uint64_t now = wait_now_ns();

	for (int i = 0; i < RING_MAX_READERS; i++) {
		struct reader_note *note = &writer->notes[i];

		if (!note->present)
			continue;
		if (has_moved(writer, note, i)) {
			note->progress_ns = now;
			note->warned = false;
		} else if (writer->stall_timeout_ns != 0 &&
		           now - note->progress_ns >= writer->stall_timeout_ns) {
			evict(writer, i);
		} else if (!note->warned && now - note->progress_ns >= WRITER_SLOW_NS) {
			note->warned = true;
			emit(writer, RING_EVENT_READER_SLOW, i);
		}
	}
}

void readers_watch(void *context)
{
	struct ring_writer *writer = context;

	writer_lock(writer);
	settle_all(writer);
	check_progress(writer);
	if (writer->segment.takeover_ms != 0)
		atomic_store_explicit(&writer->segment.control->alive_ns, wait_now_ns(),
		                      memory_order_relaxed);
	emit(writer, RING_EVENT_TICK, -1);
	writer_unlock(writer);
}

/* ---- the start barrier, and the drain -------------------------------------------- */

/* Does the barrier count it?  Not one that died, though it may come back. */
static bool note_counts(const struct reader_note *note)
{
	return note->present && note->report.outcome == RING_PENDING &&
	       word_state(note->word) == ENTRY_ACTIVE;
}

/* How many readers are there; once there are `count`, they are required. */
static unsigned readers_require(struct ring_writer *writer, unsigned count)
{
	unsigned present = 0;

	for (int i = 0; i < RING_MAX_READERS; i++)
		present += note_counts(&writer->notes[i]);
	if (present < count)
		return present;
	for (int i = 0; i < RING_MAX_READERS && writer->required_count < count; i++) {
		struct reader_note *note = &writer->notes[i];

		if (!note_counts(note))
			continue;
		note->report.required = true;
		entry_require(writer, i, true);
		writer->required_count++;
		writer->required_pending++;
	}
	writer->started = true;
	atomic_store_explicit(&writer->segment.control->started, 1, memory_order_relaxed);
	return present;
}

int ring_writer_wait_readers(struct ring_writer *writer, unsigned count,
                             int64_t timeout_ms, unsigned *attached)
{
	uint64_t deadline = wait_deadline_ns(timeout_ms);

	if (count == 0 || count > RING_MAX_READERS)
		return -EINVAL;
	for (;;) {
		unsigned present;
		int stop;

		wait_drain(&writer->segment.shared->space);
		writer_lock(writer);
		settle_all(writer);
		present = readers_require(writer, count);
		writer_unlock(writer);
		if (attached != NULL)
			*attached = present;
		TESTPOINT("barrier_looked");
		if (present >= count)
			return 0;
		stop = atomic_load(&writer->stop);
		if (stop != 0)
			return stop;
		if (wait_now_ns() >= deadline)
			return -ETIMEDOUT;
		wait_sleep(&writer->segment.shared->space, deadline);
	}
}

/* 1: some are pending; 0: all are good; -EPIPE: all came out, not all good. */
static int required_verdict(const struct ring_writer *writer)
{
	if (writer->required_pending > 0)
		return 1;
	for (int i = 0; i < RING_MAX_READERS; i++) {
		const struct reader_note *note = &writer->notes[i];

		if (note->present && note->report.required && note->report.outcome != RING_GOOD)
			return -EPIPE;
	}
	for (unsigned i = 0; i < writer->kept_count; i++)
		if (writer->kept[i].required && writer->kept[i].outcome != RING_GOOD)
			return -EPIPE;
	/* Those that a writer before us saw fail. */
	return atomic_load_explicit(&writer->segment.control->failed, memory_order_relaxed) == 0
	       ? 0 : -EPIPE;
}

int ring_writer_drain(struct ring_writer *writer, int64_t timeout_ms)
{
	uint64_t deadline = wait_deadline_ns(timeout_ms);

	for (;;) {
		int verdict, stop;

		wait_drain(&writer->segment.shared->space);
		writer_lock(writer);
		settle_all(writer);
		verdict = required_verdict(writer);
		writer_unlock(writer);
		TESTPOINT("drain_looked");
		if (verdict <= 0)
			return verdict;
		/* -EPIPE is the verdict's business here. */
		stop = atomic_load(&writer->stop);
		if (stop == -EINTR)
			return stop;
		if (wait_now_ns() >= deadline)
			return -ETIMEDOUT;
		wait_sleep(&writer->segment.shared->space, deadline);
	}
}

/* ---- reports ------------------------------------------------------------------- */

size_t ring_writer_reports(struct ring_writer *writer, struct ring_reader_report *reports, size_t size)
{
	size_t count = 0;

	writer_lock(writer);
	for (int pass = 1; pass >= 0; pass--) {
		for (unsigned i = 0; i < writer->kept_count; i++)
			if (writer->kept[i].required == (pass == 1) && count++ < size)
				reports[count - 1] = writer->kept[i];
		for (int i = 0; i < RING_MAX_READERS; i++) {
			if (!writer->notes[i].present || writer->notes[i].report.required != (pass == 1))
				continue;
			note_refresh(writer, i);
			if (count++ < size)
				reports[count - 1] = writer->notes[i].report;
		}
	}
	writer_unlock(writer);
	return count;
}

int ring_writer_slowest(struct ring_writer *writer, uint64_t *lag_bytes, struct ring_process *process)
{
	uint64_t head, least;
	int slowest = -1;

	writer_lock(writer);
	head = atomic_load_explicit(&writer->segment.control->head, memory_order_relaxed);
	least = head;
	for (int i = 0; i < RING_MAX_READERS; i++) {
		uint64_t tail = atomic_load_explicit(&writer->segment.shared->entries[i].tail,
		                                     memory_order_relaxed);

		if (!writer->notes[i].present || tail >= least)
			continue;
		least = tail;
		slowest = i;
		*process = writer->notes[i].report.process;
	}
	writer_unlock(writer);
	*lag_bytes = head - least;
	return slowest;
}
