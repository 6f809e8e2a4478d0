/* test_ring_attach.c - taking and leaving an entry. */
// needs: tests/unit/ring_fixture.c
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/ring_fixture.h"

/* ---- entries -------------------------------------------------------------------------------------- */

START_TEST(there_is_room_for_64_readers_and_a_65th_is_refused)
{
	struct ring_writer *writer = make_ring(2);
	struct ring_reader *readers[RING_MAX_READERS];
	unsigned before;

	for (unsigned i = 0; i < RING_MAX_READERS; i++) {
		readers[i] = join_ring();
		ck_assert_uint_eq(readers[i]->index, i);
	}
	before = descriptors();
	ck_assert_int_eq(try_join(false), -EUSERS);
	ck_assert_uint_eq(descriptors(), before);
	put_and_publish(writer, 1000);
	for (unsigned i = 0; i < RING_MAX_READERS; i++)
		ck_assert_uint_eq(take_bytes(readers[i]), 1000);
	/* One leaves: there is room for one. */
	ring_detach(readers[40]);
	wait_until(entry_is(writer, 40, ENTRY_FREE));
	readers[40] = join_ring();
	ck_assert_uint_eq(readers[40]->index, 40);
	ck_assert_int_eq(try_join(false), -EUSERS);
	for (unsigned i = 0; i < RING_MAX_READERS; i++)
		ring_detach(readers[i]);
	ring_destroy(writer);
}
END_TEST

START_TEST(a_reader_holds_its_lock_byte_and_gives_it_back)
{
	struct ring_writer *writer = make_ring(2);
	struct ring_reader *reader = join_ring();

	ck_assert(segment_is_locked(&writer->segment, RING_LOCK_ENTRY(0)));
	ck_assert(!segment_is_locked(&writer->segment, RING_LOCK_ENTRY(1)));
	ck_assert(segment_is_locked(&reader->segment, RING_LOCK_WRITER));
	ring_detach(reader);
	ck_assert(!segment_is_locked(&writer->segment, RING_LOCK_ENTRY(0)));
	ring_destroy(writer);
}
END_TEST

START_TEST(an_entry_is_reused_under_a_new_generation_and_clean)
{
	struct ring_writer *writer = make_ring(2);
	struct ring_reader *reader = join_ring();
	struct ring_entry *entry = &writer->segment.shared->entries[0];
	uint64_t word = reader->word;

	put_and_publish(writer, 100);
	take_bytes(reader);
	ring_reader_count_messages(reader, 1);
	ring_reader_count_drop(reader);
	ck_assert_int_eq(ring_reader_set_result(reader, 9), 0);
	ring_detach(reader);
	wait_until(entry_is(writer, 0, ENTRY_FREE));
	reader = join_ring();
	ck_assert_uint_eq(reader->index, 0);
	ck_assert_uint_gt(reader->word >> 8, word >> 8);
	ck_assert_uint_eq(atomic_load(&entry->word), reader->word);
	ck_assert_uint_eq(atomic_load(&entry->result), 0);
	ck_assert_uint_eq(atomic_load(&entry->messages), 0);
	ck_assert_uint_eq(atomic_load(&entry->dropped), 0);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

START_TEST(a_free_entry_whose_lock_is_held_is_passed_over)
{
	struct ring_writer *writer = make_ring(2);
	struct segment other;
	struct ring_reader *reader;

	ck_assert_int_eq(segment_open(&other, fixture_name(0), false), 0);
	ck_assert_int_eq(segment_lock(&other, RING_LOCK_ENTRY(0)), 0);
	reader = join_ring();
	ck_assert_uint_eq(reader->index, 1);
	ring_detach(reader);
	segment_close(&other);
	ring_destroy(writer);
}
END_TEST

START_TEST(a_detached_reader_leaves_nothing)
{
	struct ring_writer *writer = make_ring(2);
	unsigned before = descriptors();

	ring_detach(join_ring());
	ck_assert_uint_eq(descriptors(), before);
	wait_until(entry_is(writer, 0, ENTRY_FREE));
	ck_assert(name_exists(0));
	ring_destroy(writer);
}
END_TEST

START_TEST(a_detached_reader_holds_nothing_back)
{
	struct ring_writer *writer = make_ring(2);
	struct ring_reader *reader = join_ring();

	put_and_publish(writer, SLOT);
	put_and_publish(writer, SLOT);
	ck_assert_int_eq(put_bytes(writer, 1), -EAGAIN);
	ring_detach(reader);
	ck_assert_int_eq(ring_writer_wait_space(writer, DEADLINE_MS), 0);
	ck_assert_int_eq(put_bytes(writer, 1), 0);
	ring_destroy(writer);
}
END_TEST

/* ---- late readers ------------------------------------------------------------------------------------ */

START_TEST(a_late_reader_begins_at_the_start_of_heads_slot)
{
	struct ring_writer *writer = make_ring(3);
	struct ring_reader *reader;

	put_and_publish(writer, SLOT);
	put_and_publish(writer, 100);
	reader = join_ring();
	ck_assert_uint_eq(ring_reader_start(reader), SLOT);
	ck_assert_uint_eq(ring_reader_position(reader), SLOT);
	ck_assert_uint_eq(take_bytes(reader), 100);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

START_TEST(a_late_reader_does_not_see_what_is_not_published)
{
	struct ring_writer *writer = make_ring(3);
	struct ring_reader *reader;

	put_and_publish(writer, 100);
	ck_assert_int_eq(put_bytes(writer, 100), 0);
	reader = join_ring();
	ck_assert_uint_eq(ring_reader_start(reader), 0);
	ck_assert_uint_eq(take_bytes(reader), 100);
	ck_assert_int_eq(peek_at(reader), RING_EMPTY);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

START_TEST(a_late_reader_at_a_slots_end_begins_with_the_next)
{
	struct ring_writer *writer = make_ring(3);
	struct ring_reader *reader;

	put_and_publish(writer, SLOT);
	reader = join_ring();
	ck_assert_uint_eq(ring_reader_start(reader), SLOT);
	ck_assert_int_eq(peek_at(reader), RING_EMPTY);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

START_TEST(a_late_reader_keeps_the_slot_where_it_begins)
{
	struct ring_writer *writer = make_ring(2);
	struct ring_reader *reader;

	for (int slot = 0; slot < 5; slot++)
		put_and_publish(writer, SLOT);
	put_and_publish(writer, SLOT - 1);
	reader = join_ring();
	ck_assert_uint_eq(ring_reader_start(reader), 5 * SLOT);
	ck_assert_int_eq(put_bytes(writer, SLOT), 0);
	ck_assert_int_eq(put_bytes(writer, 1), -EAGAIN);
	ring_writer_publish(writer);
	ck_assert_uint_eq(take_bytes(reader), SLOT - 1);
	ck_assert_uint_eq(take_bytes(reader), SLOT);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

/* ---- children ------------------------------------------------------------------------------------------ */

/* A child that was forked while there were handles, and lives on. */
static pid_t fork_child(void)
{
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		child_hang();
	return pid;
}

START_TEST(a_child_does_not_keep_its_parents_locks)
{
	struct ring_writer *writer = make_ring(2);
	struct ring_reader *reader = join_ring();
	struct segment other;
	struct child child = { .to_child = -1, .from_child = -1 };

	ck_assert_int_eq(segment_open(&other, fixture_name(0), false), 0);
	child.pid = fork_child();
	ring_detach(reader);
	wait_until(entry_is(writer, 0, ENTRY_FREE));
	ck_assert(segment_is_locked(&other, RING_LOCK_WRITER));
	ring_destroy(writer);
	wait_until(!segment_is_locked(&other, RING_LOCK_WRITER));
	ck_assert(!segment_is_locked(&other, RING_LOCK_ENTRY(0)));
	segment_close(&other);
	child_kill(&child);
}
END_TEST

/* Does the process have a descriptor of a segment? */
static bool has_segment_open(pid_t pid)
{
	char path[64], target[256];
	struct dirent *found;
	bool open = false;
	DIR *directory;

	snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
	directory = opendir(path);
	ck_assert_ptr_nonnull(directory);
	while ((found = readdir(directory)) != NULL) {
		ssize_t length = readlinkat(dirfd(directory), found->d_name, target, sizeof target);

		if (length > (ssize_t)strlen(SEGMENT_DIR) &&
		    strncmp(target, SEGMENT_DIR, strlen(SEGMENT_DIR)) == 0)
			open = true;
	}
	closedir(directory);
	return open;
}

static bool has_segment_mapped(pid_t pid)
{
	char path[64], line[4096];
	bool mapped = false;
	FILE *maps;

	snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	maps = fopen(path, "re");
	ck_assert_ptr_nonnull(maps);
	while (fgets(line, sizeof line, maps) != NULL)
		mapped = mapped || strstr(line, SEGMENT_DIR) != NULL;
	fclose(maps);
	return mapped;
}

START_TEST(a_child_has_neither_descriptor_nor_mapping)
{
	struct ring_writer *writer = make_ring(2);
	struct ring_reader *reader = join_ring();
	struct child child = { .to_child = -1, .from_child = -1 };

	ck_assert(has_segment_open(getpid()));
	ck_assert(has_segment_mapped(getpid()));
	child.pid = fork_child();
	ck_assert(!has_segment_mapped(child.pid));
	wait_until(!has_segment_open(child.pid));
	child_kill(&child);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ring attach");
	TCase *entries = fixture_case(suite, "entries"), *late = fixture_case(suite, "late");
	TCase *children = fixture_case(suite, "children");

	tcase_add_test(entries, there_is_room_for_64_readers_and_a_65th_is_refused);
	tcase_add_test(entries, a_reader_holds_its_lock_byte_and_gives_it_back);
	tcase_add_test(entries, an_entry_is_reused_under_a_new_generation_and_clean);
	tcase_add_test(entries, a_free_entry_whose_lock_is_held_is_passed_over);
	tcase_add_test(entries, a_detached_reader_leaves_nothing);
	tcase_add_test(entries, a_detached_reader_holds_nothing_back);
	tcase_add_test(late, a_late_reader_begins_at_the_start_of_heads_slot);
	tcase_add_test(late, a_late_reader_does_not_see_what_is_not_published);
	tcase_add_test(late, a_late_reader_at_a_slots_end_begins_with_the_next);
	tcase_add_test(late, a_late_reader_keeps_the_slot_where_it_begins);
	tcase_add_test(children, a_child_does_not_keep_its_parents_locks);
	tcase_add_test(children, a_child_has_neither_descriptor_nor_mapping);
	return fixture_run(suite);
}
