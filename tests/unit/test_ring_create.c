/* test_ring_create.c - names, geometry, replacement, removal. */
// needs: tests/unit/ring_fixture.c
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ring/space.h"
#include "tests/unit/ring_fixture.h"

static int create(unsigned which, struct ring_geometry geometry, struct ring_shortage *shortage)
{
	struct ring_writer_options options = { .geometry = geometry };
	struct ring_writer *writer;
	int error = ring_create(&writer, fixture_name(which), &options, shortage, NULL);

	if (error == 0)
		ring_destroy(writer);
	return error;
}

/* ---- names -------------------------------------------------------------------------- */

static const char *const bad_names[] = {
	"", ".", "..", ".hidden", "a/b", "/a", "a b", "a\tb", "a\nb", "\x01", "a\x7f",
};

START_TEST(a_bad_name_is_refused)
{
	struct ring_writer_options options = { .geometry = { 0, 2 } };
	struct ring_reader_options reading = { .label = NULL };
	struct ring_writer *writer = NULL;
	struct ring_reader *reader = NULL;

	ck_assert_int_eq(ring_create(&writer, bad_names[_i], &options, NULL, NULL), -EINVAL);
	ck_assert_int_eq(ring_attach(&reader, bad_names[_i], &reading), -EINVAL);
	ck_assert_int_eq(ring_attach_wait(&reader, bad_names[_i], &reading, RING_FOREVER, NULL), -EINVAL);
	ck_assert_ptr_null(writer);
	ck_assert_ptr_null(reader);
}
END_TEST

START_TEST(a_name_has_at_most_200_bytes)
{
	char path[SEGMENT_PATH_MAX], name[RING_NAME_MAX + 2];

	memset(name, 'n', sizeof name);
	name[RING_NAME_MAX + 1] = '\0';
	ck_assert_int_eq(segment_path(name, path), -EINVAL);
	name[RING_NAME_MAX] = '\0';
	ck_assert_int_eq(segment_path(name, path), 0);
	ck_assert_str_eq(path + strlen(path) - RING_NAME_MAX, name);
	ck_assert_int_eq(segment_path("\xc3\xa4-1.x", path), 0);
	ck_assert_str_eq(path, "/dev/shm/sluice.\xc3\xa4-1.x");
}
END_TEST

/* ---- geometry ------------------------------------------------------------------------ */

static const struct ring_geometry bad_geometries[] = {
	{ 1, 2 }, { RING_MIN_SLOT_SIZE / 2, 2 }, { RING_MIN_SLOT_SIZE + 1, 2 }, { 3 * RING_MIN_SLOT_SIZE, 2 },
	{ RING_MAX_SLOT_SIZE * 2, 2 }, { UINT32_MAX, 2 }, { RING_MIN_SLOT_SIZE, 1 },
	{ RING_MIN_SLOT_SIZE, RING_MAX_SLOTS + 1 }, { RING_MIN_SLOT_SIZE, UINT32_MAX }, { 0, 1 },
	{ 100, 0 },
};

START_TEST(a_bad_geometry_is_refused_and_leaves_nothing)
{
	struct ring_shortage shortage;
	unsigned before = descriptors();

	ck_assert_int_eq(create(0, bad_geometries[_i], &shortage), -EINVAL);
	ck_assert_uint_eq(shortage.needed_bytes, 0);
	ck_assert(!name_exists(0));
	ck_assert_uint_eq(descriptors(), before);
}
END_TEST

START_TEST(a_geometry_that_cannot_fit_says_what_is_missing)
{
	const struct ring_geometry largest = { RING_MAX_SLOT_SIZE, RING_MAX_SLOTS };
	struct ring_shortage shortage = { 0, 0, false };
	unsigned before = descriptors();
	bool memory_cgroup;

	if (space_available(&memory_cgroup) >= segment_size(largest))
		return;                /* it would fit, and take 256 GiB */
	ck_assert_int_eq(create(0, largest, &shortage), -ENOSPC);
	ck_assert_uint_eq(shortage.needed_bytes, segment_size(largest));
	ck_assert_uint_lt(shortage.available_bytes, shortage.needed_bytes);
	ck_assert(!name_exists(0));
	ck_assert_uint_eq(descriptors(), before);
}
END_TEST

START_TEST(a_geometry_that_is_given_is_taken_exactly)
{
	struct ring_writer *writer = make_ring(7);
	struct stat status;

	ck_assert_int_eq(stat(fixture_path(0), &status), 0);
	ck_assert_uint_eq(ring_writer_segment_bytes(writer), (uint64_t)status.st_size);
	ck_assert_uint_eq(segment_size(ring_writer_geometry(writer)), (uint64_t)status.st_size);
	/* All of it is allocated: writing can never fail. */
	ck_assert_int_ge(status.st_blocks * 512, status.st_size);
	ring_destroy(writer);
}
END_TEST

START_TEST(the_mode_is_as_asked_whatever_the_umask)
{
	struct ring_writer *writer;
	struct stat status;

	umask(077);
	writer = make_ring_with(2, (struct ring_writer_options){ .mode = 0664 });
	ck_assert_int_eq(stat(fixture_path(0), &status), 0);
	ck_assert_uint_eq(status.st_mode & 07777, 0664);
	ring_destroy(writer);
	umask(0);
	writer = make_ring(2);
	ck_assert_int_eq(stat(fixture_path(0), &status), 0);
	ck_assert_uint_eq(status.st_mode & 07777, 0600);
	ring_destroy(writer);
}
END_TEST

/* ---- limits of the process ---------------------------------------------------------------- */

static void limit_descriptors(rlim_t most)
{
	struct rlimit limit;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = most;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void limit_file_size(rlim_t most)
{
	const struct rlimit limit = { most, most };

	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

START_TEST(without_a_descriptor_nothing_is_made_or_joined)
{
	struct ring_writer *writer = make_ring(2);
	struct ring_reader_options reading = { .label = NULL };
	struct ring_reader *reader = NULL;
	struct ring_geometry geometry = { RING_MIN_SLOT_SIZE, 2 };
	int next = dup(STDERR_FILENO);

	close(next);
	limit_descriptors((rlim_t)next);
	ck_assert_int_eq(create(1, geometry, NULL), -EMFILE);
	ck_assert_int_eq(ring_attach(&reader, fixture_name(0), &reading), -EMFILE);
	ck_assert_int_eq(ring_attach_wait(&reader, fixture_name(0), &reading, RING_FOREVER, NULL), -EMFILE);
	limit_descriptors((rlim_t)next + 8);
	ck_assert(!name_exists(1));
	for (unsigned i = 0; i < RING_MAX_READERS; i++)
		ck_assert(entry_is(writer, i, ENTRY_FREE));
	ring_destroy(writer);
}
END_TEST

START_TEST(a_standard_descriptor_that_is_closed_is_not_taken)
{
	struct ring_writer *writer;
	struct ring_reader *reader;

	close(STDIN_FILENO);
	writer = make_ring(2);
	reader = join_ring();
	ck_assert_int_gt(writer->segment.fd, STDERR_FILENO);
	ck_assert_int_gt(reader->segment.fd, STDERR_FILENO);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

START_TEST(a_ring_that_may_not_be_so_large_leaves_nothing)
{
	unsigned before = descriptors();

	limit_file_size(100000);
	ck_assert_int_eq(create(0, (struct ring_geometry){ RING_MIN_SLOT_SIZE, 2 }, NULL), -EFBIG);
	ck_assert(!name_exists(0));
	ck_assert_uint_eq(descriptors(), before);
}
END_TEST

/* ---- who has the name ------------------------------------------------------------------ */

START_TEST(a_second_writer_is_refused_and_the_first_goes_on)
{
	struct ring_writer *writer = make_ring(2);
	struct ring_reader *reader = join_ring();
	unsigned before = descriptors();
	bool replaced = true;
	struct ring_writer_options options = { .geometry = { RING_MIN_SLOT_SIZE, 2 } };
	struct ring_writer *second = NULL;

	ck_assert_int_eq(ring_create(&second, fixture_name(0), &options, NULL, &replaced), -EEXIST);
	ck_assert(!replaced);
	ck_assert_ptr_null(second);
	ck_assert_uint_eq(descriptors(), before);
	put_and_publish(writer, 10);
	ck_assert_uint_eq(take_bytes(reader), 10);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

START_TEST(a_ring_whose_writer_was_killed_is_replaced)
{
	struct child child = child_start(child_creates_ring);
	struct ring_writer_options options = { .geometry = { RING_MIN_SLOT_SIZE, 3 } };
	struct ring_writer *writer = NULL;
	bool replaced = false;

	child_await(&child);
	ck_assert_int_eq(ring_create(&writer, fixture_name(0), &options, NULL, &replaced), -EEXIST);
	child_kill(&child);
	ck_assert(name_exists(0));
	ck_assert_int_eq(ring_create(&writer, fixture_name(0), &options, NULL, &replaced), 0);
	ck_assert(replaced);
	ck_assert_uint_eq(ring_writer_geometry(writer).slot_count, 3);
	ring_destroy(writer);
	ck_assert(!name_exists(0));
}
END_TEST

START_TEST(garbage_of_that_name_is_replaced)
{
	int fd = open(fixture_path(0), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	struct ring_writer_options options = { .geometry = { RING_MIN_SLOT_SIZE, 2 } };
	struct ring_writer *writer = NULL;
	bool replaced = false;

	ck_assert_int_eq(write(fd, "garbage", 7), 7);
	close(fd);
	ck_assert_int_eq(ring_create(&writer, fixture_name(0), &options, NULL, &replaced), 0);
	ck_assert(replaced);
	ring_detach(join_ring());
	ring_destroy(writer);
}
END_TEST

START_TEST(a_link_of_that_name_is_not_followed)
{
	struct ring_writer_options options = { .geometry = { RING_MIN_SLOT_SIZE, 2 } };
	struct ring_writer *writer = NULL;
	struct ring_reader_options reading = { .label = NULL };
	struct ring_reader *reader = NULL;
	int fd = open(fixture_path(1), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	close(fd);
	ck_assert_int_eq(symlink(fixture_path(1), fixture_path(0)), 0);
	ck_assert_int_ne(ring_create(&writer, fixture_name(0), &options, NULL, NULL), 0);
	ck_assert_int_eq(ring_attach(&reader, fixture_name(0), &reading), -EBADMSG);
	ck_assert(name_exists(1));
	unlink(fixture_path(0));
	unlink(fixture_path(1));
}
END_TEST

START_TEST(destroying_removes_the_name_and_closes_everything)
{
	unsigned before = descriptors();
	struct ring_writer *writer = make_ring(2);

	ck_assert(name_exists(0));
	ring_destroy(writer);
	ck_assert(!name_exists(0));
	ck_assert_uint_eq(descriptors(), before);
}
END_TEST

START_TEST(destroying_leaves_a_name_that_leads_elsewhere)
{
	struct ring_writer *writer = make_ring(2);
	int fd;

	ck_assert_int_eq(unlink(fixture_path(0)), 0);
	fd = open(fixture_path(0), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	close(fd);
	ring_destroy(writer);
	ck_assert_int_eq(unlink(fixture_path(0)), 0);
}
END_TEST

START_TEST(destroying_a_ring_whose_name_is_gone_is_no_error)
{
	struct ring_writer *writer = make_ring(2);

	ck_assert_int_eq(unlink(fixture_path(0)), 0);
	ring_destroy(writer);
}
END_TEST

START_TEST(rings_of_two_names_do_not_meet)
{
	struct ring_writer *first = make_ring(2), *second = NULL;
	struct ring_writer_options options = { .geometry = { RING_MIN_SLOT_SIZE, 2 } };
	struct ring_reader *reader;

	ck_assert_int_eq(ring_create(&second, fixture_name(1), &options, NULL, NULL), 0);
	ck_assert_mem_ne(ring_writer_stream_id(first), ring_writer_stream_id(second), 16);
	reader = join_ring();
	put_and_publish(second, 10);
	ck_assert_int_eq(peek_at(reader), RING_EMPTY);
	ring_detach(reader);
	ring_destroy(second);
	ring_destroy(first);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ring create");
	TCase *names = fixture_case(suite, "names"), *geometry = fixture_case(suite, "geometry");
	TCase *limits = fixture_case(suite, "limits"), *owner = fixture_case(suite, "owner");

	tcase_add_loop_test(names, a_bad_name_is_refused, 0, sizeof bad_names / sizeof bad_names[0]);
	tcase_add_test(names, a_name_has_at_most_200_bytes);
	tcase_add_loop_test(geometry, a_bad_geometry_is_refused_and_leaves_nothing, 0,
	                    sizeof bad_geometries / sizeof bad_geometries[0]);
	tcase_add_test(geometry, a_geometry_that_cannot_fit_says_what_is_missing);
	tcase_add_test(geometry, a_geometry_that_is_given_is_taken_exactly);
	tcase_add_test(geometry, the_mode_is_as_asked_whatever_the_umask);
	tcase_add_test(limits, without_a_descriptor_nothing_is_made_or_joined);
	tcase_add_test(limits, a_standard_descriptor_that_is_closed_is_not_taken);
	tcase_add_test(limits, a_ring_that_may_not_be_so_large_leaves_nothing);
	tcase_add_test(owner, a_second_writer_is_refused_and_the_first_goes_on);
	tcase_add_test(owner, a_ring_whose_writer_was_killed_is_replaced);
	tcase_add_test(owner, garbage_of_that_name_is_replaced);
	tcase_add_test(owner, a_link_of_that_name_is_not_followed);
	tcase_add_test(owner, destroying_removes_the_name_and_closes_everything);
	tcase_add_test(owner, destroying_leaves_a_name_that_leads_elsewhere);
	tcase_add_test(owner, destroying_a_ring_whose_name_is_gone_is_no_error);
	tcase_add_test(owner, rings_of_two_names_do_not_meet);
	return fixture_run(suite);
}
