/* test_ring_mirror.c - rings that begin where another's stream is, and go on as it does. */
// needs: tests/unit/ring_fixture.c
#include <errno.h>
#include <string.h>

#include "tests/unit/ring_fixture.h"

#define START (9 * SLOT)

static const uint8_t id[16] = "another's stream";

static struct ring_writer *make_mirror(uint32_t slots)
{
	return make_ring_with(slots, (struct ring_writer_options){ .stream_id = id, .start = START });
}

/* ---- the start ----------------------------------------------------------------------- */

START_TEST(a_mirror_has_the_id_and_the_start_that_it_is_given)
{
	struct ring_writer *writer = make_mirror(2);
	struct ring_reader *reader = join_ring();

	ck_assert_mem_eq(ring_writer_stream_id(writer), id, sizeof id);
	ck_assert_mem_eq(ring_reader_stream_id(reader), id, sizeof id);
	ck_assert_uint_eq(ring_writer_position(writer), START);
	ck_assert_uint_eq(ring_writer_published(writer), START);
	ck_assert_uint_eq(ring_reader_start(reader), START);
	ck_assert_int_eq(peek_at(reader), RING_EMPTY);
	put_and_publish(writer, 100);
	ck_assert_uint_eq(take_bytes(reader), 100);
	ck_assert_uint_eq(ring_reader_position(reader), START + 100);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

START_TEST(a_start_within_a_slot_is_refused)
{
	static const uint64_t starts[] = { 1, SLOT / 2, START + 1, UINT64_MAX };

	for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
		struct ring_writer_options options = {
			.geometry = { RING_MIN_SLOT_SIZE, 2 }, .start = starts[i] };
		struct ring_writer *writer = NULL;

		ck_assert_int_eq(ring_create(&writer, fixture_name(0), &options, NULL, NULL), -EINVAL);
		ck_assert(!name_exists(0));
	}
}
END_TEST

START_TEST(a_mirror_goes_on_lap_after_lap)
{
	struct ring_writer *writer = make_mirror(2);
	struct ring_reader *reader = join_ring();

	for (unsigned slot = 0; slot < 7; slot++) {
		put_and_publish(writer, SLOT - slot);
		ck_assert_uint_eq(take_bytes(reader), SLOT - slot);
	}
	put_and_publish(writer, SLOT);
	ck_assert_int_eq(put_bytes(writer, 1), -EAGAIN);
	ck_assert_uint_eq(ring_writer_position(writer), START + 8 * SLOT);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

/* As in test_ring_attach.c, but for the start. */
START_TEST(who_is_counted_begins_at_the_start_and_who_is_late_at_heads_slot)
{
	struct ring_writer *writer = make_mirror(3);
	struct ring_reader *reader = join_ring(), *late;

	ck_assert_int_eq(ring_writer_wait_readers(writer, 1, DEADLINE_MS, NULL), 0);
	put_and_publish(writer, SLOT);
	put_and_publish(writer, 10);
	late = join_ring();
	ck_assert_uint_eq(ring_reader_start(reader), START);
	ck_assert_uint_eq(ring_reader_start(late), START + SLOT);
	ck_assert_uint_eq(take_bytes(reader), SLOT);
	ck_assert_uint_eq(take_bytes(late), 10);
	ring_detach(late);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

/* ---- seek -------------------------------------------------------------------------------- */

START_TEST(one_may_seek_where_one_is_or_to_the_next_slot)
{
	struct ring_writer *writer = make_mirror(3);
	struct ring_reader *reader = join_ring();

	ck_assert_int_eq(ring_writer_seek(writer, START), 0);
	put_and_publish(writer, 100);
	ck_assert_int_eq(ring_writer_seek(writer, START + 100), 0);
	ck_assert_uint_eq(ring_writer_position(writer), START + 100);
	ck_assert_int_eq(ring_writer_seek(writer, START + SLOT), 0);
	ck_assert_int_eq(ring_writer_seek(writer, START + SLOT), 0);
	ck_assert_uint_eq(ring_writer_position(writer), START + SLOT);
	ck_assert_uint_eq(ring_writer_published(writer), START + 100);
	put_and_publish(writer, 50);
	ck_assert_uint_eq(take_bytes(reader), 100);
	ck_assert_uint_eq(take_bytes(reader), 50);
	ck_assert_uint_eq(ring_reader_position(reader), START + SLOT + 50);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

START_TEST(one_may_seek_on_from_a_full_slot)
{
	struct ring_writer *writer = make_mirror(3);
	struct ring_reader *reader = join_ring();

	put_and_publish(writer, SLOT);
	ck_assert_int_eq(ring_writer_seek(writer, START + SLOT), 0);
	put_and_publish(writer, 1);
	ck_assert_uint_eq(take_bytes(reader), SLOT);
	ck_assert_uint_eq(take_bytes(reader), 1);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

START_TEST(a_slot_may_be_left_empty)
{
	struct ring_writer *writer = make_mirror(3);
	struct ring_reader *reader = join_ring();

	ck_assert_int_eq(ring_writer_seek(writer, START + SLOT), 0);
	ck_assert_int_eq(ring_writer_seek(writer, START + 2 * SLOT), 0);
	put_and_publish(writer, 30);
	ck_assert_uint_eq(take_bytes(reader), 30);
	ck_assert_uint_eq(ring_reader_position(reader), START + 2 * SLOT + 30);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

START_TEST(one_may_not_seek_anywhere_else)
{
	static const uint64_t wrong[] = {
		0, START - SLOT, START - 1, START, START + 99, START + 101, START + SLOT - 1,
		START + SLOT + 1, START + 2 * SLOT, START + 3 * SLOT, (uint64_t)1 << 63, UINT64_MAX,
	};
	struct ring_writer *writer = make_mirror(3);

	put_and_publish(writer, 100);
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		ck_assert_int_eq(ring_writer_seek(writer, wrong[i]), -EINVAL);
		ck_assert_uint_eq(ring_writer_position(writer), START + 100);
	}
	put_and_publish(writer, 1);
	ring_writer_interrupt(writer);
	ck_assert_int_eq(ring_writer_seek(writer, START + 101), -EINTR);
	ring_destroy(writer);
}
END_TEST

START_TEST(a_full_ring_refuses_to_seek_and_changes_nothing)
{
	struct ring_writer *writer = make_mirror(2);
	struct ring_reader *reader = join_ring();

	put_and_publish(writer, SLOT);
	put_and_publish(writer, 100);
	ck_assert_int_eq(ring_writer_seek(writer, START + 2 * SLOT), -EAGAIN);
	ck_assert_uint_eq(ring_writer_position(writer), START + SLOT + 100);
	ck_assert_uint_eq(take_bytes(reader), SLOT);
	ck_assert_int_eq(ring_writer_wait_space(writer, DEADLINE_MS), 0);
	ck_assert_int_eq(ring_writer_seek(writer, START + 2 * SLOT), 0);
	put_and_publish(writer, 5);
	ck_assert_uint_eq(take_bytes(reader), 100);
	ck_assert_uint_eq(take_bytes(reader), 5);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

/* ---- looking ---------------------------------------------------------------------------------- */

START_TEST(one_can_look_at_a_ring_without_attaching)
{
	struct ring_writer *writer;
	struct ring_facts facts;

	ck_assert_int_eq(ring_look(fixture_name(0), false, &facts), -ENOENT);
	ck_assert_int_eq(ring_look("not/a name", false, &facts), -EINVAL);
	writer = make_mirror(3);
	ck_assert_int_eq(ring_look(fixture_name(0), false, &facts), 0);
	ck_assert_uint_eq(facts.geometry.slot_size, SLOT);
	ck_assert_uint_eq(facts.geometry.slot_count, 3);
	ck_assert_mem_eq(facts.stream_id, id, sizeof id);
	ck_assert_uint_eq(facts.head, START);
	ck_assert(!facts.started && !facts.ended);
	for (unsigned i = 0; i < RING_MAX_READERS; i++)
		ck_assert(entry_is(writer, i, ENTRY_FREE));
	ring_destroy(writer);
	ck_assert_int_eq(ring_look(fixture_name(0), false, &facts), -ENOENT);
}
END_TEST

START_TEST(a_look_tells_how_far_it_is)
{
	struct ring_writer *writer = make_mirror(3);
	struct ring_reader *reader = join_ring();
	struct ring_facts facts;

	ck_assert_int_eq(ring_writer_wait_readers(writer, 1, DEADLINE_MS, NULL), 0);
	put_and_publish(writer, 10);
	ck_assert_int_eq(put_bytes(writer, 10), 0);
	ck_assert_int_eq(ring_look(fixture_name(0), false, &facts), 0);
	ck_assert_uint_eq(facts.head, START + 10);
	ck_assert(facts.started && !facts.ended);
	ring_writer_end(writer, RING_ABORTED, 1);
	ck_assert_int_eq(ring_look(fixture_name(0), false, &facts), 0);
	ck_assert(facts.started && facts.ended);
	ck_assert_uint_eq(facts.head, START + 20);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

START_TEST(a_look_removes_a_name_that_nobody_needs)
{
	struct ring_facts facts;

	writer_dies(make_mirror(2), 0);
	ck_assert_int_eq(ring_look(fixture_name(0), false, &facts), -ENOENT);
	ck_assert(!name_exists(0));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ring mirror");
	TCase *start = fixture_case(suite, "start"), *seek = fixture_case(suite, "seek");
	TCase *look = fixture_case(suite, "look");

	tcase_add_test(start, a_mirror_has_the_id_and_the_start_that_it_is_given);
	tcase_add_test(start, a_start_within_a_slot_is_refused);
	tcase_add_test(start, a_mirror_goes_on_lap_after_lap);
	tcase_add_test(start, who_is_counted_begins_at_the_start_and_who_is_late_at_heads_slot);
	tcase_add_test(seek, one_may_seek_where_one_is_or_to_the_next_slot);
	tcase_add_test(seek, one_may_seek_on_from_a_full_slot);
	tcase_add_test(seek, a_slot_may_be_left_empty);
	tcase_add_test(seek, one_may_not_seek_anywhere_else);
	tcase_add_test(seek, a_full_ring_refuses_to_seek_and_changes_nothing);
	tcase_add_test(look, one_can_look_at_a_ring_without_attaching);
	tcase_add_test(look, a_look_tells_how_far_it_is);
	tcase_add_test(look, a_look_removes_a_name_that_nobody_needs);
	return fixture_run(suite);
}
