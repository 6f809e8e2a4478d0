/* ring_fixture.c - see ring_fixture.h. */
#include "tests/unit/ring_fixture.h"

#include <dirent.h>
#include <glob.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define CASE_TIMEOUT_S 120

static pid_t program;

/* ---- programs and cases ---------------------------------------------------------- */

/* How many segments of this program are left; they are removed. */
static size_t sweep(void)
{
	char pattern[64];
	glob_t found;
	size_t count = 0;

	snprintf(pattern, sizeof pattern, "%s/sluice.unit-%d-*", SEGMENT_DIR, (int)program);
	if (glob(pattern, 0, NULL, &found) != 0)
		return 0;
	for (count = 0; count < found.gl_pathc; count++) {
		fprintf(stderr, "left behind: %s\n", found.gl_pathv[count]);
		unlink(found.gl_pathv[count]);
	}
	globfree(&found);
	return count;
}

int fixture_run(Suite *suite)
{
	SRunner *runner = srunner_create(suite);
	int failures;

	program = getpid();
	srunner_run_all(runner, CK_ENV);
	failures = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failures + (int)sweep() != 0;
}

TCase *fixture_case(Suite *suite, const char *name)
{
	TCase *tcase = tcase_create(name);

	tcase_set_timeout(tcase, CASE_TIMEOUT_S);
	suite_add_tcase(suite, tcase);
	return tcase;
}

void fixture_nap(void)
{
	poll(NULL, 0, 1);
}

const char *fixture_name(unsigned which)
{
	static char names[4][64];
	static pid_t test;

	if (test == 0)
		test = getpid();       /* a child uses its parent's */
	if (names[which][0] == '\0')       /* threads may ask again */
		snprintf(names[which], sizeof names[which], "unit-%d-%d-%u", (int)program, (int)test, which);
	return names[which];
}

const char *fixture_path(unsigned which)
{
	static char paths[4][96];

	snprintf(paths[which], sizeof paths[which], "%s/sluice.%s", SEGMENT_DIR, fixture_name(which));
	return paths[which];
}

bool name_exists(unsigned which)
{
	return access(fixture_path(which), F_OK) == 0;
}

unsigned descriptors(void)
{
	DIR *directory = opendir("/proc/self/fd");
	unsigned count = 0;

	ck_assert_ptr_nonnull(directory);
	while (readdir(directory) != NULL)
		count++;
	closedir(directory);
	return count;
}

/* ---- rings ------------------------------------------------------------------------- */

struct ring_writer *make_ring_with(uint32_t slots, struct ring_writer_options options)
{
	struct ring_writer *writer = NULL;

	options.geometry.slot_size = RING_MIN_SLOT_SIZE;
	options.geometry.slot_count = slots;
	ck_assert_int_eq(ring_create(&writer, fixture_name(0), &options, NULL, NULL), 0);
	return writer;
}

struct ring_writer *make_ring(uint32_t slots)
{
	return make_ring_with(slots, (struct ring_writer_options){ .label = "writer" });
}

struct ring_reader *join_ring_with(struct ring_reader_options options)
{
	struct ring_reader *reader = NULL;

	ck_assert_int_eq(ring_attach(&reader, fixture_name(0), &options), 0);
	return reader;
}

struct ring_reader *join_ring(void)
{
	return join_ring_with((struct ring_reader_options){ .label = "reader" });
}

int try_join(bool any_user)
{
	struct ring_reader_options options = { .label = "reader", .any_user = any_user };
	struct ring_reader *reader = NULL;
	int error = ring_attach(&reader, fixture_name(0), &options);

	if (error == 0)
		ring_detach(reader);
	else
		ck_assert_ptr_null(reader);
	return error;
}

void ring_move_to(struct ring_writer *writer, uint64_t position)
{
	ck_assert_uint_eq(position % SLOT, 0);
	writer->cursor = writer->published = writer->min_tail = position;
	writer->slot_end = position + SLOT;
	writer->slot_base = writer->segment.payload +
	                    position / SLOT % writer->segment.geometry.slot_count * SLOT;
	atomic_store(&writer->segment.control->head, position);
}

void fill_bytes(uint8_t *out, uint64_t position, size_t length)
{
	for (size_t i = 0; i < length; i++)
		out[i] = byte_at(position + i);
}

void expect_bytes(const uint8_t *bytes, uint64_t position, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (bytes[i] != byte_at(position + i))
			ck_abort_msg("byte at %llu is %d, not %d", (unsigned long long)(position + i),
			             bytes[i], byte_at(position + i));
}

int put_bytes(struct ring_writer *writer, size_t length)
{
	uint8_t *room;
	size_t left;
	int error = ring_writer_claim(writer, length, &room, &left);

	if (error != 0)
		return error;
	ck_assert_uint_ge(left, length);
	fill_bytes(room, ring_writer_position(writer), length);
	ring_writer_commit(writer, length);
	return 0;
}

void put_and_publish(struct ring_writer *writer, size_t length)
{
	ck_assert_int_eq(put_bytes(writer, length), 0);
	ring_writer_publish(writer);
}

size_t take_bytes(struct ring_reader *reader)
{
	const uint8_t *bytes;
	size_t length;

	ck_assert_int_eq(ring_reader_peek(reader, &bytes, &length), RING_DATA);
	ck_assert_uint_gt(length, 0);
	expect_bytes(bytes, ring_reader_position(reader), length);
	ck_assert_int_eq(ring_reader_release(reader, length), 0);
	return length;
}

int peek_at(struct ring_reader *reader)
{
	const uint8_t *bytes;
	size_t length;

	return ring_reader_peek(reader, &bytes, &length);
}

void reader_dies(struct ring_reader *reader)
{
	watcher_stop(&reader->watcher);
	segment_close(&reader->segment);
	free(reader);
}

void writer_dies(struct ring_writer *writer, uint64_t ago_ms)
{
	watcher_stop(&writer->watcher);
	atomic_store(&writer->segment.control->alive_ns, wait_now_ns() - ago_ms * 1000000u);
	segment_close(&writer->segment);
	pthread_mutex_destroy(&writer->lock);
	free(writer);
}

bool entry_is(const struct ring_writer *writer, unsigned entry, enum ring_entry_state state)
{
	return word_state(atomic_load(&writer->segment.shared->entries[entry].word)) == state;
}

/* ---- events ------------------------------------------------------------------------- */

void events_note(void *context, const struct ring_event *event)
{
	struct events *events = context;

	events->last[event->kind] = *event;
	atomic_fetch_add(&events->count[event->kind], 1);
}

void pass_looks(const struct events *events, unsigned looks)
{
	unsigned before = events_of(events, RING_EVENT_TICK);

	wait_until(events_of(events, RING_EVENT_TICK) - before >= looks);
}

/* ---- children ------------------------------------------------------------------------ */

struct child child_start(void (*body)(struct sides sides))
{
	int down[2], up[2];
	struct child child;
	pid_t parent = getpid();

	fixture_name(0);
	ck_assert_int_eq(pipe(down), 0);
	ck_assert_int_eq(pipe(up), 0);
	child.pid = fork();
	ck_assert_int_ge(child.pid, 0);
	if (child.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		close(down[1]);
		close(up[0]);
		body((struct sides){ .in = down[0], .out = up[1] });
		_exit(0);
	}
	close(down[0]);
	close(up[1]);
	child.to_child = down[1];
	child.from_child = up[0];
	return child;
}

void child_tell(const struct child *child)
{
	ck_assert_int_eq(write(child->to_child, "+", 1), 1);
}

void child_await(const struct child *child)
{
	struct pollfd wait = { .fd = child->from_child, .events = POLLIN };
	char byte;

	ck_assert_int_eq(poll(&wait, 1, DEADLINE_MS), 1);
	ck_assert_int_eq(read(child->from_child, &byte, 1), 1);
}

int child_reap(struct child *child)
{
	int status;

	wait_until(waitpid(child->pid, &status, WNOHANG) == child->pid);
	close(child->to_child);
	close(child->from_child);
	return WIFSIGNALED(status) ? 256 + WTERMSIG(status) : WEXITSTATUS(status);
}

void child_kill(struct child *child)
{
	kill(child->pid, SIGKILL);
	ck_assert_int_eq(child_reap(child), 256 + SIGKILL);
}

void child_creates_ring(struct sides sides)
{
	struct ring_writer_options options = { .geometry = { RING_MIN_SLOT_SIZE, 2 } };
	struct ring_writer *writer;

	if (ring_create(&writer, fixture_name(0), &options, NULL, NULL) != 0)
		_exit(1);
	parent_tell(sides);
	child_hang();
}

void parent_tell(struct sides sides)
{
	if (write(sides.out, "+", 1) != 1)
		_exit(1);
}

void parent_await(struct sides sides)
{
	char byte;

	if (read(sides.in, &byte, 1) != 1)
		_exit(1);
}

_Noreturn void child_hang(void)
{
	for (;;)
		pause();
}
