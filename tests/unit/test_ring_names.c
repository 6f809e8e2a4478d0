/* test_ring_names.c - names that lead to no ring, to one that is over, or to one yet to come. */
// needs: tests/unit/ring_fixture.c
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/ring_fixture.h"

/* ---- what is not a ring --------------------------------------------------------------- */

static void make_file(const void *bytes, size_t length, off_t size)
{
	int fd = open(fixture_path(0), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, bytes, length), (ssize_t)length);
	ck_assert_int_eq(ftruncate(fd, size), 0);
	close(fd);
}

static void expect_refused(int error)
{
	unsigned before = descriptors();

	ck_assert_int_eq(try_join(false), error);
	ck_assert_uint_eq(descriptors(), before);
}

START_TEST(a_name_that_is_not_there_is_told)
{
	expect_refused(-ENOENT);
}
END_TEST

START_TEST(a_file_of_any_size_that_is_no_ring_is_refused_and_left_alone)
{
	static const off_t sizes[] = { 0, 1, 255, 256, 1279, 1280, 4096, 1 << 20 };
	static const uint8_t garbage[256] = "SLUICE!!garbage";

	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		make_file(garbage, sizes[i] < 256 ? (size_t)sizes[i] : 256, sizes[i]);
		expect_refused(-EBADMSG);
		ck_assert(name_exists(0));
		unlink(fixture_path(0));
	}
}
END_TEST

START_TEST(what_is_no_plain_file_is_refused)
{
	ck_assert_int_eq(mkfifo(fixture_path(0), 0600), 0);
	expect_refused(-EBADMSG);
	unlink(fixture_path(0));
	ck_assert_int_eq(mkdir(fixture_path(0), 0700), 0);
	expect_refused(-EISDIR);
	rmdir(fixture_path(0));
	ck_assert_int_eq(symlink("/dev/null", fixture_path(0)), 0);
	expect_refused(-EBADMSG);
	unlink(fixture_path(0));
}
END_TEST

START_TEST(a_ring_of_another_size_than_it_says_is_refused)
{
	struct ring_writer *writer = make_ring(2);
	off_t whole = (off_t)ring_writer_segment_bytes(writer);

	ck_assert_int_eq(truncate(fixture_path(0), whole + 4096), 0);
	expect_refused(-EBADMSG);
	ck_assert_int_eq(truncate(fixture_path(0), whole - 1), 0);
	expect_refused(-EBADMSG);
	ck_assert_int_eq(truncate(fixture_path(0), whole), 0);
	ck_assert_int_eq(try_join(false), 0);
	ring_destroy(writer);
}
END_TEST

/* A field of the header, what it is made to say, and what attaching then says. */
struct forgery {
	size_t offset, size;
	uint64_t value;
	int error;
};

#define FORGE(field, value, error) \
	{ offsetof(struct ring_control, field), sizeof(((struct ring_control *)0)->field), value, error }

static const struct forgery forgeries[] = {
	FORGE(magic, 0, -EBADMSG),
	FORGE(abi_version, 0, -EPROTONOSUPPORT),
	FORGE(abi_version, RING_ABI_VERSION + 1, -EPROTONOSUPPORT),
	FORGE(byte_order, 0x04030201, -EPROTONOSUPPORT),
	FORGE(control_size, sizeof(struct ring_control) + 128, -EPROTONOSUPPORT),
	FORGE(shared_size, sizeof(struct ring_shared) - 128, -EPROTONOSUPPORT),
	FORGE(slot_size, 0, -EBADMSG),
	FORGE(slot_size, RING_MIN_SLOT_SIZE / 2, -EBADMSG),
	FORGE(slot_size, RING_MIN_SLOT_SIZE * 2, -EBADMSG),
	FORGE(slot_size, RING_MIN_SLOT_SIZE + 1, -EBADMSG),
	FORGE(slot_size, UINT32_MAX, -EBADMSG),
	FORGE(slot_count, 0, -EBADMSG),
	FORGE(slot_count, 1, -EBADMSG),
	FORGE(slot_count, 3, -EBADMSG),
	FORGE(slot_count, RING_MAX_SLOTS + 1, -EBADMSG),
	FORGE(slot_count, UINT32_MAX, -EBADMSG),
	FORGE(shared_offset, 0, -EBADMSG),
	FORGE(shared_offset, 8192, -EBADMSG),
	FORGE(shared_offset, UINT64_MAX - 4095, -EBADMSG),
	FORGE(payload_offset, 4096, -EBADMSG),
	FORGE(payload_offset, UINT64_MAX - 4095, -EBADMSG),
	FORGE(segment_size, 0, -EBADMSG),
	FORGE(segment_size, UINT64_MAX, -EBADMSG),
	FORGE(start, 1, -EBADMSG),
	FORGE(start, UINT64_MAX, -EBADMSG),
};

START_TEST(a_forged_header_is_refused)
{
	const struct forgery *forgery = &forgeries[_i];
	struct ring_writer *writer = make_ring(2);
	uint8_t *field = (uint8_t *)writer->segment.control + forgery->offset, kept[8];

	memcpy(kept, field, forgery->size);
	memcpy(field, &forgery->value, forgery->size);
	expect_refused(forgery->error);
	memcpy(field, kept, forgery->size);
	ck_assert_int_eq(try_join(false), 0);
	ring_destroy(writer);
}
END_TEST

START_TEST(a_file_cut_within_the_header_is_refused)
{
	struct ring_writer *writer = make_ring(2);
	struct ring_control header = *writer->segment.control;

	ring_destroy(writer);
	for (size_t length = 0; length < sizeof header; length += 8) {
		make_file(&header, length, (off_t)length);
		expect_refused(-EBADMSG);
		unlink(fixture_path(0));
	}
}
END_TEST

START_TEST(another_users_ring_is_refused_unless_asked_for)
{
	struct ring_writer *writer = make_ring(2);

	if (geteuid() == 0) {
		ck_assert_int_eq(chown(fixture_path(0), 65534, (gid_t)-1), 0);
		expect_refused(-EPERM);
		ck_assert_int_eq(try_join(true), 0);
	}
	ring_destroy(writer);
}
END_TEST

/* ---- a ring that is over --------------------------------------------------------------------- */

START_TEST(a_ring_that_ended_is_passed_over_and_left)
{
	struct ring_writer *writer = make_ring(2);

	ring_writer_end(writer, RING_COMPLETE, 0);
	expect_refused(-ENOENT);
	ck_assert(name_exists(0));
	for (unsigned i = 0; i < RING_MAX_READERS; i++)
		ck_assert(entry_is(writer, i, ENTRY_FREE));
	ring_destroy(writer);
}
END_TEST

START_TEST(a_ring_whose_writer_died_is_passed_over_and_removed)
{
	struct child child = child_start(child_creates_ring);

	child_await(&child);
	child_kill(&child);
	ck_assert(name_exists(0));
	expect_refused(-ENOENT);
	ck_assert(!name_exists(0));
}
END_TEST

/* ---- waiting for a name ------------------------------------------------------------------------- */

static atomic_bool stop_waiting;

static bool is_stopped(void)
{
	return atomic_load(&stop_waiting);
}

START_TEST(waiting_for_a_name_ends_with_its_time)
{
	struct ring_reader_options options = { .label = NULL };
	struct ring_reader *reader = NULL;
	unsigned before = descriptors();

	ck_assert_int_eq(ring_attach_wait(&reader, fixture_name(0), &options, 20, NULL), -ENOENT);
	ck_assert_int_eq(ring_attach_wait(&reader, fixture_name(0), &options, 0, NULL), -ENOENT);
	ck_assert_ptr_null(reader);
	ck_assert_uint_eq(descriptors(), before);
}
END_TEST

static void *wait_for_ring(void *result)
{
	struct ring_reader_options options = { .label = NULL };
	struct ring_reader *reader = NULL;

	*(int *)result = ring_attach_wait(&reader, fixture_name(0), &options, RING_FOREVER, is_stopped);
	return reader;
}

START_TEST(waiting_for_a_name_can_be_interrupted)
{
	pthread_t thread;
	int result = 1;

	ck_assert_int_eq(pthread_create(&thread, NULL, wait_for_ring, &result), 0);
	atomic_store(&stop_waiting, true);
	pthread_join(thread, NULL);
	ck_assert_int_eq(result, -EINTR);
}
END_TEST

START_TEST(waiting_for_a_name_passes_over_a_ring_that_ended)
{
	struct ring_writer *writer = make_ring(2);
	pthread_t thread;
	void *reader;
	int result = 1;

	ring_writer_end(writer, RING_ABORTED, 3);
	ck_assert_int_eq(pthread_create(&thread, NULL, wait_for_ring, &result), 0);
	ring_destroy(writer);
	writer = make_ring(2);
	pthread_join(thread, &reader);
	ck_assert_int_eq(result, 0);
	ck_assert_mem_eq(ring_reader_stream_id(reader), ring_writer_stream_id(writer), 16);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

START_TEST(waiting_does_not_wait_where_it_cannot_help)
{
	struct ring_reader_options options = { .label = NULL };
	struct ring_reader *reader = NULL;

	make_file("", 0, 4096);
	ck_assert_int_eq(ring_attach_wait(&reader, fixture_name(0), &options, RING_FOREVER, NULL),
	                 -EBADMSG);
	unlink(fixture_path(0));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ring names");
	TCase *garbage = fixture_case(suite, "garbage"), *over = fixture_case(suite, "over");
	TCase *waiting = fixture_case(suite, "waiting");

	tcase_add_test(garbage, a_name_that_is_not_there_is_told);
	tcase_add_test(garbage, a_file_of_any_size_that_is_no_ring_is_refused_and_left_alone);
	tcase_add_test(garbage, what_is_no_plain_file_is_refused);
	tcase_add_test(garbage, a_ring_of_another_size_than_it_says_is_refused);
	tcase_add_loop_test(garbage, a_forged_header_is_refused, 0, sizeof forgeries / sizeof forgeries[0]);
	tcase_add_test(garbage, a_file_cut_within_the_header_is_refused);
	tcase_add_test(garbage, another_users_ring_is_refused_unless_asked_for);
	tcase_add_test(over, a_ring_that_ended_is_passed_over_and_left);
	tcase_add_test(over, a_ring_whose_writer_died_is_passed_over_and_removed);
	tcase_add_test(waiting, waiting_for_a_name_ends_with_its_time);
	tcase_add_test(waiting, waiting_for_a_name_can_be_interrupted);
	tcase_add_test(waiting, waiting_for_a_name_passes_over_a_ring_that_ended);
	tcase_add_test(waiting, waiting_does_not_wait_where_it_cannot_help);
	return fixture_run(suite);
}
