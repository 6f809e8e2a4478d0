/* attach.c - taking and leaving an entry; waiting for a name. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "ring/fence.h"
#include "ring/reader.h"
#include "ring/testpoint.h"

/* ---- the watcher ------------------------------------------------------------- */

static void emit(struct ring_reader *reader, enum ring_event_kind kind)
{
	struct ring_event event = { .kind = kind, .entry = (int)reader->index };

	if (reader->observer == NULL)
		return;
	watcher_read_display(&reader->segment.control->writer, &event.process);
	event.required = (atomic_load_explicit(&reader->segment.control->required,
	                                       memory_order_relaxed) >> reader->index) & 1;
	if (kind == RING_EVENT_END) {
		uint64_t end = atomic_load_explicit(&reader->segment.control->end,
		                                    memory_order_acquire);

		event.end = (end & 0xff) == RING_COMPLETE ? RING_COMPLETE : RING_ABORTED;
		event.code = (int)(end >> 8 & 0xff);
	}
	reader->observer(reader->observer_context, &event);
}

/* Is the dead writer's place to be filled again?  The time begins when it is
 * missed, and anew if another came and died between two looks. */
static bool writer_may_return(struct ring_reader *reader, uint64_t now)
{
	uint64_t patience = (uint64_t)reader->segment.takeover_ms * 1000000u;
	uint64_t alive = atomic_load_explicit(&reader->segment.control->alive_ns, memory_order_relaxed);

	if (alive != reader->lost_alive_ns) {
		reader->lost_alive_ns = alive;
		reader->lost_ns = wait_now_ns();
		return patience != 0;
	}
	return now - reader->lost_ns < patience;
}

/* The writer's lock was seen free, after `now`, while the stream was open: an
 * ended stream may be left by its writer, and that is no death. */
static void writer_gone(struct ring_reader *reader, uint64_t now)
{
	bool may_return = writer_may_return(reader, now);

	if (may_return && !reader->lost_told)
		emit(reader, RING_EVENT_WRITER_LOST);
	reader->lost_told = may_return;
	if (may_return)
		return;
	atomic_store_explicit(&reader->writer_dead, true, memory_order_release);
	sem_post(&reader->entry->data);
	emit(reader, RING_EVENT_WRITER_DIED);
}

static void reader_watch(void *context)
{
	struct ring_reader *reader = context;
	/* The time before the lock: if we are stopped between them, another may
	 * have become the writer in time. */
	uint64_t now = wait_now_ns();
	bool alive = segment_is_locked(&reader->segment, RING_LOCK_WRITER);
	uint64_t end = atomic_load_explicit(&reader->segment.control->end, memory_order_acquire);

	if (atomic_load_explicit(&reader->entry->word, memory_order_relaxed) != reader->word &&
	    !reader->eviction_told) {
		reader->eviction_told = true;
		sem_post(&reader->entry->data);
		emit(reader, RING_EVENT_EVICTED);
	}
	if (end != RING_OPEN && !reader->end_told) {
		reader->end_told = true;
		emit(reader, RING_EVENT_END);
	}
	if (alive)
		reader->lost_alive_ns = 0;
	if (alive && reader->lost_told) {
		reader->lost_told = false;
		emit(reader, RING_EVENT_WRITER_BACK);
	}
	if (!alive && end == RING_OPEN && !atomic_load(&reader->writer_dead))
		writer_gone(reader, now);
	emit(reader, RING_EVENT_TICK);
}

/* ---- taking an entry ----------------------------------------------------------- */

static void entry_clear(struct ring_entry *entry, const char *label)
{
	atomic_store_explicit(&entry->key, 0, memory_order_relaxed);
	atomic_store_explicit(&entry->result, 0, memory_order_relaxed);
	atomic_store_explicit(&entry->messages, 0, memory_order_relaxed);
	atomic_store_explicit(&entry->dropped, 0, memory_order_relaxed);
	atomic_store_explicit(&entry->blocked_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&entry->blocked_since_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&entry->progress_ns, wait_now_ns(), memory_order_relaxed);
	watcher_describe(&entry->owner, label);
}

/*
 * Take entry `index` if it is free.  The lock byte comes first, so of those
 * who see it FREE with the lock in hand there is only one.
 */
static int entry_take(struct ring_reader *reader, unsigned index, const char *label)
{
	const struct ring_control *control = reader->segment.control;
	struct ring_entry *entry = &reader->segment.shared->entries[index];
	uint64_t word, head;

	if (word_state(atomic_load_explicit(&entry->word, memory_order_relaxed)) != ENTRY_FREE)
		return -EBUSY;
	if (segment_lock(&reader->segment, RING_LOCK_ENTRY(index)) != 0)
		return -EBUSY;
	TESTPOINT("attach_locked");
	word = atomic_load_explicit(&entry->word, memory_order_acquire);
	if (word_state(word) != ENTRY_FREE) {
		segment_unlock(&reader->segment, RING_LOCK_ENTRY(index));
		return -EBUSY;
	}
	entry_clear(entry, label);
	head = atomic_load_explicit(&control->head, memory_order_acquire);
	atomic_store_explicit(&entry->tail, head, memory_order_relaxed);
	TESTPOINT("attach_tail_stored");
	/* Release: tail and result before ACTIVE, or the writer would see an
	 * old owner's.  Nobody else takes a FREE entry whose lock we hold. */
	reader->word = word_next(word, ENTRY_ACTIVE);
	if (!atomic_compare_exchange_strong_explicit(&entry->word, &word, reader->word,
	                                             memory_order_acq_rel, memory_order_relaxed)) {
		segment_unlock(&reader->segment, RING_LOCK_ENTRY(index));
		return -EBUSY;
	}
	fence_full();      /* E: either the writer sees us, or we see its head */
	TESTPOINT("attach_active");
	reader->index = index;
	reader->entry = entry;
	return 0;
}

/*
 * Begin where head's slot begins: the writer does not re-enter that slot, so
 * its bytes stand, however far it went since.  -ENOENT: the stream is over.
 *
 * But the writer may have counted us as soon as we were ACTIVE, met its start
 * barrier, and gone on to the end.  It marks those it counted before it first
 * publishes, and heeds their tails from then on: they begin where it began.
 */
static int entry_begin(struct ring_reader *reader)
{
	const struct ring_control *control = reader->segment.control;
	uint64_t end = atomic_load_explicit(&control->end, memory_order_acquire);
	uint64_t head = atomic_load_explicit(&control->head, memory_order_acquire);
	bool counted = ring_reader_required(reader);

	reader->start = counted ? reader->segment.start : head & ~(reader->slot_bytes - 1);
	reader->cursor = reader->tail = reader->peeked = reader->start;
	atomic_store_explicit(&reader->entry->start, reader->start, memory_order_relaxed);
	atomic_store_explicit(&reader->entry->tail, reader->start, memory_order_release);
	TESTPOINT("attach_begun");
	sem_post(&reader->segment.shared->space);      /* the start barrier may be met */
	return end == RING_OPEN || counted ? 0 : -ENOENT;
}

static int entry_take_any(struct ring_reader *reader, const struct ring_reader_options *options)
{
	for (unsigned i = 0; i < RING_MAX_READERS; i++)
		if (entry_take(reader, i, options->label) == 0)
			return entry_begin(reader);
	return -EUSERS;
}

/*
 * From here on the entry outlives us.  The key comes last: an entry with a key
 * whose tail is not final would be taken over at a position that is not there
 * any more, and one that we did not get would be waited for.
 */
static void entry_keep(struct ring_reader *reader, const struct ring_reader_options *options)
{
	atomic_store_explicit(&reader->entry->linger_ms, options->linger_ms, memory_order_relaxed);
	atomic_store_explicit(&reader->entry->key, options->key, memory_order_release);
	TESTPOINT("attach_keyed");
}

/* ---- taking a dead owner's entry over -------------------------------------------- */

/*
 * Take entry `index` over if it has our key.  Its owner is dead if we get the
 * lock byte.  The writer frees a lingering entry by compare-and-swap, and so do
 * we take it: one of both.  The new generation tells whoever used the entry
 * before, and is stopped, that it is not his any more.
 */
static int entry_take_over(struct ring_reader *reader, unsigned index,
                           const struct ring_reader_options *options)
{
	struct ring_entry *entry = &reader->segment.shared->entries[index];
	uint64_t word;

	/* A free entry keeps the key of whoever had it. */
	if (!word_holds(atomic_load_explicit(&entry->word, memory_order_acquire)) ||
	    atomic_load_explicit(&entry->key, memory_order_relaxed) != options->key)
		return -ESRCH;
	if (segment_lock(&reader->segment, RING_LOCK_ENTRY(index)) != 0)
		return -EBUSY;
	TESTPOINT("takeover_locked");
	watcher_describe(&entry->owner, options->label);
	word = atomic_load_explicit(&entry->word, memory_order_acquire);
	/* The writer may swap ACTIVE for LINGER in between: then look again. */
	do {
		reader->word = word_next(word, ENTRY_ACTIVE);
		if (!word_holds(word) ||
		    atomic_load_explicit(&entry->key, memory_order_acquire) != options->key) {
			segment_unlock(&reader->segment, RING_LOCK_ENTRY(index));
			return -ESRCH;
		}
	} while (!atomic_compare_exchange_strong_explicit(&entry->word, &word, reader->word,
	                                                  memory_order_acq_rel, memory_order_acquire));
	TESTPOINT("takeover_active");
	reader->index = index;
	reader->entry = entry;
	reader->start = atomic_load_explicit(&entry->start, memory_order_relaxed);
	reader->tail = atomic_load_explicit(&entry->tail, memory_order_acquire);
	reader->cursor = reader->peeked = reader->tail;
	reader->messages = atomic_load_explicit(&entry->messages, memory_order_relaxed);
	reader->dropped = atomic_load_explicit(&entry->dropped, memory_order_relaxed);
	atomic_store_explicit(&entry->blocked_since_ns, 0, memory_order_relaxed);
	ring_reader_progress(reader);
	sem_post(&reader->segment.shared->space);
	return 0;
}

static int entry_take_own(struct ring_reader *reader, const struct ring_reader_options *options)
{
	for (unsigned i = 0; options->key != 0 && i < RING_MAX_READERS; i++) {
		int error = entry_take_over(reader, i, options);

		if (error != -ESRCH)
			return error;
	}
	return -ESRCH;
}

/* ---- attaching ------------------------------------------------------------------ */

/* Open the ring NAME for a reader.  -EOWNERDEAD its writer is gone, and may be
 * replaced; -ENOENT also if it may not be: then the name is removed. */
static int open_living(struct segment *segment, const char *name, bool any_user)
{
	int error = segment_open(segment, name, any_user);

	if (error != 0)
		return error;
	if (segment_is_locked(segment, RING_LOCK_WRITER))
		return 0;
	error = segment_may_be_taken_over(segment) ? -EOWNERDEAD : -ENOENT;
	segment_remove_if_stale(segment);
	segment_close(segment);
	return error;
}

static int attach(struct ring_reader **out, const char *name, const struct ring_reader_options *options,
                  int (*take)(struct ring_reader *, const struct ring_reader_options *), bool ended_too)
{
	struct ring_reader *reader = calloc(1, sizeof *reader);
	int error;

	if (reader == NULL)
		return -ENOMEM;
	error = open_living(&reader->segment, name, options->any_user);
	if (error != 0)
		goto free_reader;
	error = -ENOENT;
	if (!ended_too &&
	    atomic_load_explicit(&reader->segment.control->end, memory_order_acquire) != RING_OPEN)
		goto close_segment;
	reader->slot_bytes = reader->segment.geometry.slot_size;
	reader->slot_shift = (unsigned)__builtin_ctzll(reader->slot_bytes);
	reader->observer = options->observer;
	reader->observer_context = options->observer_context;
	spinner_init(&reader->spinner, options->spin);
	error = take(reader, options);
	if (error == 0)
		error = watcher_start(&reader->watcher, reader_watch, reader);
	if (error != 0)
		goto close_segment;    /* drops the lock: the writer frees the entry */
	entry_keep(reader, options);
	*out = reader;
	return 0;

close_segment:
	segment_close(&reader->segment);
free_reader:
	free(reader);
	return error;
}

int ring_attach(struct ring_reader **reader, const char *name, const struct ring_reader_options *options)
{
	return attach(reader, name, options, entry_take_any, false);
}

int ring_attach_again(struct ring_reader **reader, const char *name,
                      const struct ring_reader_options *options)
{
	return attach(reader, name, options, entry_take_own, true);
}

int ring_look(const char *name, bool any_user, struct ring_facts *facts)
{
	struct segment segment;
	int error = open_living(&segment, name, any_user);

	if (error != 0)
		return error;
	facts->geometry = segment.geometry;
	memcpy(facts->stream_id, segment.control->stream_id, sizeof facts->stream_id);
	facts->start = segment.start;
	facts->ended = atomic_load_explicit(&segment.control->end, memory_order_acquire) != RING_OPEN;
	facts->head = atomic_load_explicit(&segment.control->head, memory_order_acquire);
	facts->started = atomic_load_explicit(&segment.control->started, memory_order_acquire) != 0;
	segment_close(&segment);
	return 0;
}

void ring_detach(struct ring_reader *reader)
{
	watcher_stop(&reader->watcher);
	/* Who leaves is not to be waited for. */
	if (ring_reader_check(reader) == 0)
		atomic_store_explicit(&reader->entry->key, 0, memory_order_release);
	TESTPOINT("detach_before_unlock");
	segment_unlock(&reader->segment, RING_LOCK_ENTRY(reader->index));
	segment_remove_if_stale(&reader->segment);
	TESTPOINT("detach_unlocked");
	sem_post(&reader->segment.shared->space);      /* the writer may free the entry at once */
	segment_close(&reader->segment);
	free(reader);
}

/* ---- waiting for the name --------------------------------------------------------- */

/* Sleep until something appears in the directory, or for a slice. */
static void wait_for_change(int notify, uint64_t deadline_ns)
{
	struct pollfd poll_fd = { .fd = notify, .events = POLLIN };
	uint64_t now = wait_now_ns();
	int timeout_ms = WAIT_SLICE_MS;
	char events[4096];

	if (now >= deadline_ns)
		return;
	if ((deadline_ns - now) / 1000000u < WAIT_SLICE_MS)
		timeout_ms = (int)((deadline_ns - now) / 1000000u) + 1;
	/* Without inotify (notify < 0: poll ignores it) the slices do. */
	if (poll(&poll_fd, 1, timeout_ms) > 0)
		while (read(notify, events, sizeof events) > 0)
			continue;
}

/* Try until there is a ring with a writer; -ENOENT: there was none in time. */
static int wait_for_name(int (*attempt)(void *context), void *context, int64_t timeout_ms,
                         bool (*interrupted)(void))
{
	uint64_t deadline = wait_deadline_ns(timeout_ms);
	int notify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	int error;

	if (notify >= 0)
		inotify_add_watch(notify, SEGMENT_DIR, IN_CREATE | IN_MOVED_TO | IN_DELETE);
	/* The watch comes before the look, so no name slips between them. */
	for (;;) {
		error = attempt(context);
		if (error == -EOWNERDEAD)
			error = -ENOENT;
		if (error != -ENOENT || wait_now_ns() >= deadline)
			break;
		if (interrupted != NULL && interrupted()) {
			error = -EINTR;
			break;
		}
		wait_for_change(notify, deadline);
	}
	if (notify >= 0)
		close(notify);
	return error;
}

struct attach_attempt {
	struct ring_reader **reader;
	const char *name;
	const struct ring_reader_options *options;
};

static int attempt_attach(void *context)
{
	struct attach_attempt *attempt = context;

	return ring_attach(attempt->reader, attempt->name, attempt->options);
}

int ring_attach_wait(struct ring_reader **reader, const char *name,
                     const struct ring_reader_options *options,
                     int64_t timeout_ms, bool (*interrupted)(void))
{
	struct attach_attempt attempt = { .reader = reader, .name = name, .options = options };

	return wait_for_name(attempt_attach, &attempt, timeout_ms, interrupted);
}

struct look_attempt {
	const char *name;
	bool any_user;
	struct ring_facts *facts;
};

static int attempt_look(void *context)
{
	struct look_attempt *attempt = context;

	return ring_look(attempt->name, attempt->any_user, attempt->facts);
}

int ring_look_wait(const char *name, bool any_user, struct ring_facts *facts,
                   int64_t timeout_ms, bool (*interrupted)(void))
{
	struct look_attempt attempt = { .name = name, .any_user = any_user, .facts = facts };

	return wait_for_name(attempt_look, &attempt, timeout_ms, interrupted);
}
