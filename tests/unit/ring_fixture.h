/*
 * ring_fixture.h - for tests of the ring: rings with names of their own and
 * small slots, bytes that tell their position, children, waiting with a
 * deadline.
 */
#ifndef SLUICE_RING_FIXTURE_H
#define SLUICE_RING_FIXTURE_H

#include <check.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ring/reader.h"
#include "ring/wait.h"
#include "ring/writer.h"

#define SLOT ((uint64_t)RING_MIN_SLOT_SIZE)
#define DEADLINE_MS 20000          /* reached only when a test fails */

/* Look again and again; the deadline is for failures. */
#define wait_until(condition) \
	do { \
		uint64_t deadline_ns = wait_deadline_ns(DEADLINE_MS); \
		while (!(condition)) { \
			ck_assert_msg(wait_now_ns() < deadline_ns, "never true: %s", #condition); \
			fixture_nap(); \
		} \
	} while (0)

/* Run a suite, see that it left nothing in /dev/shm.  Returns main's value. */
int fixture_run(Suite *suite);

/* Between two looks. */
void fixture_nap(void);

/* A name that only this test uses, and the path of its segment.  Numbered by
 * `which` where a test needs several. */
const char *fixture_name(unsigned which);
const char *fixture_path(unsigned which);

/* Is there something at that path? */
bool name_exists(unsigned which);

/* How many descriptors this process has open. */
unsigned descriptors(void);

/* A case of the suite with a generous timeout. */
TCase *fixture_case(Suite *suite, const char *name);

/* ---- rings ------------------------------------------------------------------- */

/* A ring of `slots` slots of 64 KiB, under fixture_name(0). */
struct ring_writer *make_ring(uint32_t slots);
struct ring_writer *make_ring_with(uint32_t slots, struct ring_writer_options options);
struct ring_reader *join_ring(void);
struct ring_reader *join_ring_with(struct ring_reader_options options);

/* Attach, and leave at once.  Returns what ring_attach says. */
int try_join(bool any_user);

/* Before anything was written or anybody attached: let the stream be at
 * `position`, the start of a slot. */
void ring_move_to(struct ring_writer *writer, uint64_t position);

/* The byte that stands at a position. */
static inline uint8_t byte_at(uint64_t position)
{
	return (uint8_t)((position ^ position >> 8 ^ position >> 16 ^ position >> 24) * 167 + 13);
}

void fill_bytes(uint8_t *out, uint64_t position, size_t length);
void expect_bytes(const uint8_t *bytes, uint64_t position, size_t length);

/* Claim room for `length` bytes, fill it, commit.  Returns what claim did. */
int put_bytes(struct ring_writer *writer, size_t length);
void put_and_publish(struct ring_writer *writer, size_t length);

/* Peek, check the bytes, release them all.  Returns how many there were. */
size_t take_bytes(struct ring_reader *reader);

/* What peek finds, when the bytes do not matter. */
int peek_at(struct ring_reader *reader);

/* Its process dies: the locks go, the shared words stay as they are, the handle
 * is freed.  A writer's last sign of life may be some time ago. */
void reader_dies(struct ring_reader *reader);
void writer_dies(struct ring_writer *writer, uint64_t ago_ms);

/* Is an entry's state as named? */
bool entry_is(const struct ring_writer *writer, unsigned entry, enum ring_entry_state state);

/* ---- events ------------------------------------------------------------------- */

struct events {
	_Atomic unsigned count[RING_EVENT_END + 1];
	struct ring_event last[RING_EVENT_END + 1];    /* read only after its count rose */
};

void events_note(void *events, const struct ring_event *event);

static inline unsigned events_of(const struct events *events, enum ring_event_kind kind)
{
	return atomic_load(&events->count[kind]);
}

/* Wait for a number of looks of the watcher that tells them. */
void pass_looks(const struct events *events, unsigned looks);

/* ---- children ------------------------------------------------------------------ */

/* A child process; each side tells the other to go on by a byte. */
struct child {
	pid_t pid;
	int to_child, from_child;
};

struct sides {
	int in, out;
};

/* Run `body` in a child that never outlives this process.  Call it before there
 * are threads, so before there is a ring. */
struct child child_start(void (*body)(struct sides sides));
void child_tell(const struct child *child);
void child_await(const struct child *child);
/* Returns its exit code, or 256 + the signal that killed it. */
int child_reap(struct child *child);
void child_kill(struct child *child);

/* A child's body: creates a ring of two slots, tells, and is there until it is killed. */
void child_creates_ring(struct sides sides);

/* In the child. */
void parent_tell(struct sides sides);
void parent_await(struct sides sides);
_Noreturn void child_hang(void);

#endif
