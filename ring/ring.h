/*
 * ring.h - a bounded ring of slots in POSIX shared memory.
 *
 * One writer, up to RING_MAX_READERS readers; every reader sees every byte, in
 * place.  The ring carries bytes: it knows nothing of messages or programs.
 *
 * Functions return 0 or a positive outcome, or -errno; they never print and
 * never exit.  A handle belongs to one thread; ring_writer_interrupt,
 * ring_reader_interrupt and ring_reader_nudge may be called from any thread and
 * from a signal handler.  Each handle runs one watcher thread, which notices deaths while
 * the owner is blocked elsewhere and reports them through the observer.
 */
#ifndef SLUICE_RING_H
#define SLUICE_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RING_MAX_READERS 64
#define RING_NAME_MAX 200      /* bytes, without the "sluice." in front */
#define RING_LABEL_MAX 64      /* bytes of a process's display name, with NUL */
#define RING_MIN_SLOT_SIZE (64u << 10)
#define RING_MAX_SLOT_SIZE (64u << 20)
#define RING_MIN_SLOTS 2u
#define RING_MAX_SLOTS 4096u
#define RING_DEFAULT_SLOT_SIZE (512u << 10)
#define RING_DEFAULT_SLOTS 8u
#define RING_WATCH_MS 50       /* how often a watcher looks */

#define RING_FOREVER (-1)      /* a timeout_ms without limit */

/* How a stream ended; kept in the segment. */
enum ring_end {
	RING_OPEN = 0,
	RING_COMPLETE = 1,
	RING_ABORTED = 2,
};

/* What ring_reader_peek found. */
enum ring_peeked {
	RING_DATA = 0,         /* bytes are there */
	RING_EMPTY = 1,        /* nothing yet */
	RING_ENDED = 2,        /* the stream ended, and every byte was taken */
};

struct ring_geometry {
	uint32_t slot_size;    /* bytes, a power of two; 0: choose */
	uint32_t slot_count;   /* 0: choose */
};

/* Why a ring could not be made: bytes needed against bytes there. */
struct ring_shortage {
	uint64_t needed_bytes;
	uint64_t available_bytes;
	bool memory_cgroup;    /* the limit is the cgroup's, not /dev/shm's */
};

/* Who holds a lock of the segment, for display only. */
struct ring_process {
	pid_t pid;
	uint64_t start_time;   /* clock ticks after boot, as /proc/PID/stat has it */
	char label[RING_LABEL_MAX];
};

enum ring_event_kind {
	RING_EVENT_TICK,            /* every RING_WATCH_MS */
	RING_EVENT_READER_LATE,     /* to the writer: joined after the start barrier */
	RING_EVENT_READER_DIED,     /* to the writer: gone without a result */
	RING_EVENT_READER_FAILED,   /* to the writer: stored a bad result, `code` */
	RING_EVENT_READER_EVICTED,  /* to the writer: no progress for stall_timeout_ms */
	RING_EVENT_READER_SLOW,     /* to the writer: held the ring full for 10 s */
	RING_EVENT_READER_LOST,     /* to the writer: died, and may be taken over */
	RING_EVENT_READER_BACK,     /* to the writer: was taken over */
	RING_EVENT_READERS_OUT,     /* to the writer: each required one has an outcome */
	RING_EVENT_WRITER_LOST,     /* to a reader: died, and may be taken over */
	RING_EVENT_WRITER_BACK,     /* to a reader: was taken over */
	RING_EVENT_WRITER_DIED,     /* to a reader: died, for good */
	RING_EVENT_EVICTED,         /* to a reader: it lost its entry */
	RING_EVENT_END,             /* to a reader: the stream's end is known */
};

struct ring_event {
	enum ring_event_kind kind;
	int entry;                  /* the reader's entry, or -1 */
	bool required;              /* the reader is one that the writer waits for */
	struct ring_process process;
	enum ring_end end;          /* RING_EVENT_END */
	int code;                   /* RING_EVENT_END: the writer's exit code */
	uint64_t tail;              /* to the writer: how far that reader had come */
};

/* Called by the watcher thread, or by the owner within a wait.  It may not call
 * into the handle, but for the interrupt functions, and at RING_EVENT_TICK for
 * those that say so. */
typedef void (*ring_observer)(void *context, const struct ring_event *event);

/* ---- the writer ------------------------------------------------------- */

struct ring_writer;

struct ring_writer_options {
	struct ring_geometry geometry;
	mode_t mode;                  /* permission bits of the segment; 0: 0600 */
	const char *label;            /* display name; NULL: none */
	int64_t stall_timeout_ms;     /* evict a reader after this long without
	                                 progress while the ring is full; 0: never */
	bool spin;                    /* lowest latency: spin before sleeping */
	ring_observer observer;       /* may be NULL */
	void *observer_context;

	/* Of a ring that mirrors another. */
	const uint8_t *stream_id;     /* 16 bytes; NULL: a new one */
	uint64_t start;               /* position where the stream begins here: a slot's start */
	uint32_t takeover_ms;         /* readers wait so long for another writer, should
	                                 this one die (ring_takeover); 0: they do not */
};

/* How a required reader came out. */
enum ring_outcome {
	RING_PENDING = 0,
	RING_GOOD,                    /* result stored: everything is durable */
	RING_FAILED,                  /* result stored: it failed, with its exit code */
	RING_DIED,                    /* gone without a result */
	RING_EVICTED,
};

struct ring_reader_report {
	struct ring_process process;
	enum ring_outcome outcome;
	int code;                     /* RING_FAILED: exit code of the reader */
	bool required;
	uint64_t tail;                /* position up to which it had finished */
	uint64_t blocked_ns;          /* how long the writer was held back by it */
	uint64_t dropped_messages;
};

/*
 * Create the ring NAME and become its writer.
 *
 * @shortage  out, on -ENOSPC: bytes needed and bytes there; may be NULL
 * @replaced  out: a stale segment of that name was replaced; may be NULL
 *
 * A geometry of zeros is chosen, and shrinks to what is there; one that was
 * given is taken exactly or refused.  Returns 0; -EINVAL bad name or geometry;
 * -EEXIST a living writer has that name, or a dead one that may still be
 * replaced (ring_takeover); -EBUSY somebody who is removing a dead
 * one's is stopped at it; -ENOSPC; or what the system said.
 * On failure nothing is left behind.  A named ring is always complete: dying
 * here leaves no name, or a whole ring without an owner.
 */
int ring_create(struct ring_writer **writer, const char *name,
                const struct ring_writer_options *options,
                struct ring_shortage *shortage, bool *replaced);

/*
 * Become the writer of the ring NAME, whose writer died, and go on at its head:
 * what was committed and not published is lost, and so are the reports of
 * readers that are gone.  Of the options, geometry, mode, start and takeover_ms
 * do not count: they stay as they were.  With a stream_id only that stream is
 * taken.
 *
 * Returns 0; -ENOENT no such ring or stream, or it is too late or was never
 * allowed; -EEXIST its writer lives; -EBUSY, -EBADMSG, -EPROTONOSUPPORT, -EPERM and the
 * like as ring_create and ring_attach.  Dying here: as before it.
 */
int ring_takeover(struct ring_writer **writer, const char *name,
                  const struct ring_writer_options *options);

/* Was the start barrier met, by this writer or by one before it?  How was the
 * stream ended, and with which code? */
bool ring_writer_started(const struct ring_writer *writer);
enum ring_end ring_writer_ended(const struct ring_writer *writer, int *code);

/*
 * Unlink the name if it still leads to this ring, unmap and free.  A ring that
 * was not ended reads as died to its readers, so call ring_writer_end first.
 */
void ring_destroy(struct ring_writer *writer);

/*
 * Wait until `count` readers are attached; from then on they are required.
 * Returns 0; -ETIMEDOUT; -EINTR after ring_writer_interrupt.  Call once,
 * before the first publish.  @attached, out, may be NULL: how many there are.
 */
int ring_writer_wait_readers(struct ring_writer *writer, unsigned count,
                             int64_t timeout_ms, unsigned *attached);

/*
 * Reserve contiguous room of at least `least` bytes within one slot, leaving
 * the current slot if too little of it is left.
 *
 * @least   bytes, 1 .. slot size
 * @room    out: where to write; borrowed until commit or publish
 * @length  out: how much is there, >= least, to the end of the slot
 *
 * Returns 0; -EAGAIN the ring is full: ring_writer_wait_space, then try again;
 * -EMSGSIZE can never fit; -EPIPE no required reader is left.  On failure
 * nothing changed.  Never blocks.  Dying before commit: the bytes never were.
 */
int ring_writer_claim(struct ring_writer *writer, size_t least,
                      uint8_t **room, size_t *length);

/* Where the next claim of one byte would go, and how much room its slot still
 * has (0: the slot is full).  Changes nothing. */
uint8_t *ring_writer_room(struct ring_writer *writer, size_t *length);

/*
 * Let the next claim begin at `position`, which is where the last commit ended,
 * or the start of the slot after it: for a ring that mirrors another.
 * Returns 0; -EAGAIN as claim; -EINVAL another position; -EPIPE, -EINTR.
 */
int ring_writer_seek(struct ring_writer *writer, uint64_t position);

/* End a piece of `length` bytes, privately: it will be published with the next
 * publish.  `length` may not exceed what was claimed. */
void ring_writer_commit(struct ring_writer *writer, size_t length);

/*
 * Make every committed byte visible, and wake readers that sleep.  Leaving a
 * slot makes its bytes visible, too, but may leave sleepers asleep for some
 * slots more: publish before anything that takes its time.
 */
void ring_writer_publish(struct ring_writer *writer);

/*
 * Publish, then sleep until the claim that was refused may succeed.
 * Returns 0 (look again); -ETIMEDOUT; -EINTR; -EPIPE no required reader left.
 */
int ring_writer_wait_space(struct ring_writer *writer, int64_t timeout_ms);

/* Position up to which bytes are committed (not necessarily published), and
 * how far they are published. */
uint64_t ring_writer_position(const struct ring_writer *writer);
uint64_t ring_writer_published(const struct ring_writer *writer);

/* Count finished messages, for display. */
void ring_writer_count_messages(struct ring_writer *writer, uint64_t count);

/*
 * Publish what is committed and end the stream.  Needs no room in the ring, so
 * an abort can always be told.  @code: the writer's exit code, for readers.
 * Nothing may be claimed afterwards.
 */
void ring_writer_end(struct ring_writer *writer, enum ring_end end, int code);

/*
 * Wait until every required reader has stored a result or is gone.
 * Returns 0 every one is good; -EPIPE at least one is not; -ETIMEDOUT; -EINTR.
 */
int ring_writer_drain(struct ring_writer *writer, int64_t timeout_ms);

/* Reports of all readers that were ever seen, the required ones first.
 * Returns how many there are; fills at most `size`. */
size_t ring_writer_reports(struct ring_writer *writer,
                           struct ring_reader_report *reports, size_t size);

/* Make the present or the next wait return -EINTR, once and for all. */
void ring_writer_interrupt(struct ring_writer *writer);

struct ring_geometry ring_writer_geometry(const struct ring_writer *writer);
const uint8_t *ring_writer_stream_id(const struct ring_writer *writer); /* 16 bytes */
uint64_t ring_writer_segment_bytes(const struct ring_writer *writer);
uint64_t ring_writer_blocked_ns(const struct ring_writer *writer);

/* Smallest tail and its reader, for progress displays.  Returns its entry, or -1
 * if nobody is behind.  Any thread, also at RING_EVENT_TICK. */
int ring_writer_slowest(struct ring_writer *writer, uint64_t *lag_bytes,
                        struct ring_process *process);

/* ---- a reader --------------------------------------------------------- */

struct ring_reader;

struct ring_reader_options {
	const char *label;
	bool any_user;                /* accept a segment of another user */
	bool spin;
	ring_observer observer;
	void *observer_context;

	/* Should this process die, another with the same key may take the entry
	 * over, and goes on at its tail.  0: the entry is freed. */
	uint64_t key;
	uint32_t linger_ms;           /* how long it waits for that */
};

/*
 * Take an entry of the ring NAME, if it is there and its stream has not ended.
 *
 * Returns 0; -ENOENT no such ring, or one that is over (wait and try again);
 * -EOWNERDEAD its writer died, and may be replaced (likewise);
 * -EBADMSG not a ring, truncated, or garbage; -EPROTONOSUPPORT a ring of
 * another version of the layout; -EACCES, -EPERM not allowed, or of another
 * user; -EUSERS all entries are taken.  On failure nothing is left behind.
 * Dying here: the writer frees the entry.
 */
int ring_attach(struct ring_reader **reader, const char *name,
                const struct ring_reader_options *options);

/*
 * As ring_attach, but only to take over the entry with the key of the options,
 * whose owner died; also of a stream that has ended.  The reader begins at the
 * entry's tail, which may be the end of time (ring_reader_let_go).
 * -ESRCH: there is none, or its time is over; -EBUSY its owner lives, or
 * another is taking it over.  Dying here: the entry waits again.
 */
int ring_attach_again(struct ring_reader **reader, const char *name,
                      const struct ring_reader_options *options);

/* What a ring is, without attaching. */
struct ring_facts {
	struct ring_geometry geometry;
	uint8_t stream_id[16];
	uint64_t start;               /* position where the stream begins in this ring */
	uint64_t head;                /* position published so far */
	bool started;                 /* the start barrier was met: a new reader is late */
	bool ended;
};

/* Errors as ring_attach. */
int ring_look(const char *name, bool any_user, struct ring_facts *facts);

/* Wait for the name, up to timeout_ms; otherwise as ring_look.  -EINTR once
 * interrupted() is true (NULL: never). */
int ring_look_wait(const char *name, bool any_user, struct ring_facts *facts,
                   int64_t timeout_ms, bool (*interrupted)(void));

/* Wait for the name, up to timeout_ms; otherwise as ring_attach.  Returns
 * -ENOENT after the time is over; -EINTR once interrupted() is true (NULL: never). */
int ring_attach_wait(struct ring_reader **reader, const char *name,
                     const struct ring_reader_options *options,
                     int64_t timeout_ms, bool (*interrupted)(void));

/* Free the entry, unmap, free; removes the name of a ring whose writer died. */
void ring_detach(struct ring_reader *reader);

/*
 * Look at the bytes after the reader's position: as many as are there within
 * one slot.  They are borrowed until release, and are read in place.
 *
 * Returns RING_DATA, RING_EMPTY or RING_ENDED; -EOWNERDEAD the writer died and
 * everything it had published was taken; -ESTALE evicted; -EBADMSG the
 * segment's words make no sense.  Never blocks.
 */
int ring_reader_peek(struct ring_reader *reader, const uint8_t **bytes, size_t *length);

/*
 * Finish the first `length` bytes of what was peeked and give their room back.
 * Returns 0; -ESTALE evicted: the bytes may have been overwritten while they
 * were used, so nothing made of them counts.
 */
int ring_reader_release(struct ring_reader *reader, size_t length);

/*
 * For a reader that hands bytes on, and gives their room back only when they
 * have arrived: take what was peeked without giving it back; give back up to a
 * position that was taken; and go back to a position that was not given back.
 * -EINVAL: another position.
 */
void ring_reader_take(struct ring_reader *reader, size_t length);
int ring_reader_give_back(struct ring_reader *reader, uint64_t position);
int ring_reader_rewind(struct ring_reader *reader, uint64_t position);

/* Was it let go, by us or by who had the entry before? */
bool ring_reader_lets_go(const struct ring_reader *reader);

/* Was a result stored already, by who had the entry before?  @code, out. */
bool ring_reader_result(const struct ring_reader *reader, int *code);

/* Position up to which everything was given back. */
uint64_t ring_reader_tail(const struct ring_reader *reader);

/* Hold the writer back no more: what comes is not for this reader, which finds
 * and waits for nothing but the end.  The entry and its lock stay, and the
 * result is still to be stored.  0 or -ESTALE. */
int ring_reader_let_go(struct ring_reader *reader);

/* Is the entry still ours?  Call after using bytes and before acting on them.
 * Returns 0 or -ESTALE. */
int ring_reader_check(struct ring_reader *reader);

/* Sleep until there is something to peek.  Returns 0 (look again);
 * -ETIMEDOUT; -EINTR. */
int ring_reader_wait(struct ring_reader *reader, int64_t timeout_ms);

/* Make the present or the next wait return 0, once. */
void ring_reader_nudge(struct ring_reader *reader);

/* Position of the next byte to peek, and where this reader began. */
uint64_t ring_reader_position(const struct ring_reader *reader);
uint64_t ring_reader_start(const struct ring_reader *reader);

/* Does the writer sleep for space that this reader holds? */
bool ring_reader_holds_back(const struct ring_reader *reader);

/* Is this reader one that the writer waits for? */
bool ring_reader_required(const struct ring_reader *reader);

/* How the stream ended; *code is the writer's exit code. */
enum ring_end ring_reader_end(const struct ring_reader *reader, int *code);

/*
 * Store the outcome: 0 only when everything is durable; otherwise an exit
 * code, 1 .. 255.  Returns 0; -ESTALE evicted: it does not count.
 */
int ring_reader_set_result(struct ring_reader *reader, int code);

/* Say that the reader gets on with what it peeked, though it releases nothing
 * yet: a writer evicts readers that do not.  Any thread. */
void ring_reader_progress(struct ring_reader *reader);

/* Count for display. */
void ring_reader_count_messages(struct ring_reader *reader, uint64_t count);
void ring_reader_count_drop(struct ring_reader *reader);

void ring_reader_interrupt(struct ring_reader *reader);

struct ring_geometry ring_reader_geometry(const struct ring_reader *reader);
const uint8_t *ring_reader_stream_id(const struct ring_reader *reader);
struct ring_process ring_reader_writer(const struct ring_reader *reader);

#ifdef __cplusplus
}
#endif
#endif
