/* test_ring_bytes.c - claim, commit, publish, peek, release. */
// needs: tests/unit/ring_fixture.c
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/ring_fixture.h"

/* ---- what a refusal may not change -------------------------------------------------- */

struct snapshot {
	uint64_t cursor, published, slot_end;
	uint8_t *slot_base;
	uint8_t *control;
	size_t control_length;
};

static struct snapshot snapshot_take(const struct ring_writer *writer)
{
	struct snapshot snapshot = {
		.cursor = writer->cursor,
		.published = writer->published,
		.slot_end = writer->slot_end,
		.slot_base = writer->slot_base,
		.control_length = writer->segment.shared_offset,
		.control = malloc(writer->segment.shared_offset),
	};

	ck_assert_ptr_nonnull(snapshot.control);
	memcpy(snapshot.control, writer->segment.control, snapshot.control_length);
	return snapshot;
}

static void snapshot_expect(const struct ring_writer *writer, struct snapshot *snapshot)
{
	ck_assert_uint_eq(writer->cursor, snapshot->cursor);
	ck_assert_uint_eq(writer->published, snapshot->published);
	ck_assert_uint_eq(writer->slot_end, snapshot->slot_end);
	ck_assert_ptr_eq(writer->slot_base, snapshot->slot_base);
	ck_assert_mem_eq(writer->segment.control, snapshot->control, snapshot->control_length);
	free(snapshot->control);
}

static uint32_t used_of(const struct ring_writer *writer, uint64_t slot)
{
	return atomic_load(&writer->segment.control->used[slot % writer->segment.geometry.slot_count]);
}

/* ---- one piece --------------------------------------------------------------------------- */

START_TEST(a_fresh_ring_is_empty_at_position_0)
{
	struct ring_writer *writer = make_ring(2);
	struct ring_reader *reader = join_ring();

	ck_assert_uint_eq(ring_writer_position(writer), 0);
	ck_assert_uint_eq(ring_writer_published(writer), 0);
	ck_assert_uint_eq(ring_reader_position(reader), 0);
	ck_assert_uint_eq(ring_reader_start(reader), 0);
	ck_assert_int_eq(peek_at(reader), RING_EMPTY);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

START_TEST(both_sides_know_geometry_stream_id_and_each_other)
{
	struct ring_writer *writer = make_ring(3);
	struct ring_reader *reader = join_ring();
	static const uint8_t zeros[16];

	ck_assert_uint_eq(ring_reader_geometry(reader).slot_size, SLOT);
	ck_assert_uint_eq(ring_reader_geometry(reader).slot_count, 3);
	ck_assert_uint_eq(ring_writer_geometry(writer).slot_size, SLOT);
	ck_assert_uint_eq(ring_writer_geometry(writer).slot_count, 3);
	ck_assert_mem_eq(ring_writer_stream_id(writer), ring_reader_stream_id(reader), 16);
	ck_assert_mem_ne(ring_writer_stream_id(writer), zeros, 16);
	ck_assert_int_eq(ring_reader_writer(reader).pid, getpid());
	ck_assert_str_eq(ring_reader_writer(reader).label, "writer");
	ck_assert_uint_gt(ring_reader_writer(reader).start_time, 0);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

START_TEST(committed_bytes_are_private_until_they_are_published)
{
	struct ring_writer *writer = make_ring(2);
	struct ring_reader *reader = join_ring();

	ck_assert_int_eq(put_bytes(writer, 100), 0);
	ck_assert_uint_eq(ring_writer_position(writer), 100);
	ck_assert_uint_eq(ring_writer_published(writer), 0);
	ck_assert_int_eq(peek_at(reader), RING_EMPTY);
	ck_assert_int_eq(put_bytes(writer, 50), 0);
	ring_writer_publish(writer);
	ck_assert_uint_eq(ring_writer_published(writer), 150);
	ck_assert_uint_eq(take_bytes(reader), 150);
	ck_assert_int_eq(peek_at(reader), RING_EMPTY);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

START_TEST(claimed_bytes_that_are_not_committed_never_were)
{
	struct ring_writer *writer = make_ring(2);
	struct ring_reader *reader = join_ring();
	uint8_t *room, *again;
	size_t length;

	ck_assert_int_eq(ring_writer_claim(writer, 10, &room, &length), 0);
	memset(room, 'x', 10);
	ring_writer_publish(writer);
	ck_assert_int_eq(peek_at(reader), RING_EMPTY);
	ck_assert_int_eq(ring_writer_claim(writer, 20, &again, &length), 0);
	ck_assert_ptr_eq(room, again);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

START_TEST(a_claim_gives_the_rest_of_the_slot)
{
	struct ring_writer *writer = make_ring(2);
	uint8_t *first, *second;
	size_t length;

	ck_assert_int_eq(ring_writer_claim(writer, 1, &first, &length), 0);
	ck_assert_uint_eq(length, SLOT);
	ring_writer_commit(writer, 1000);
	ck_assert_int_eq(ring_writer_claim(writer, 1, &second, &length), 0);
	ck_assert_uint_eq(length, SLOT - 1000);
	ck_assert_ptr_eq(second, first + 1000);
	ring_destroy(writer);
}
END_TEST

START_TEST(room_changes_nothing_and_says_where_the_next_claim_goes)
{
	struct ring_writer *writer = make_ring(2);
	struct snapshot before;
	uint8_t *room, *claimed;
	size_t length;

	ck_assert_int_eq(put_bytes(writer, SLOT - 7), 0);
	before = snapshot_take(writer);
	room = ring_writer_room(writer, &length);
	ck_assert_uint_eq(length, 7);
	snapshot_expect(writer, &before);
	ck_assert_int_eq(ring_writer_claim(writer, 7, &claimed, &length), 0);
	ck_assert_ptr_eq(room, claimed);
	ring_writer_commit(writer, 7);
	ring_writer_room(writer, &length);
	ck_assert_uint_eq(length, 0);
	ring_destroy(writer);
}
END_TEST

START_TEST(bytes_are_read_in_place_and_cannot_be_written_there)
{
	struct ring_writer *writer = make_ring(2);
	struct ring_reader *reader = join_ring();
	const uint8_t *bytes;
	size_t length;

	put_and_publish(writer, 10);
	ck_assert_int_eq(ring_reader_peek(reader, &bytes, &length), RING_DATA);
	ck_assert_ptr_eq(bytes, reader->segment.payload);
	ck_assert_uint_eq(length, 10);
	/* A later change by the writer shows: nothing was copied. */
	writer->segment.payload[0] ^= 0xff;
	ck_assert_uint_eq(bytes[0], byte_at(0) ^ 0xff);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

/* ---- leaving slots -------------------------------------------------------------------------- */

START_TEST(a_claim_that_fits_exactly_stays_in_the_slot)
{
	struct ring_writer *writer = make_ring(2);

	ck_assert_int_eq(put_bytes(writer, 1), 0);
	ck_assert_int_eq(put_bytes(writer, SLOT - 1), 0);
	ck_assert_uint_eq(ring_writer_position(writer), SLOT);
	ring_destroy(writer);
}
END_TEST

START_TEST(a_slot_with_too_little_left_is_left_and_its_use_is_recorded)
{
	struct ring_writer *writer = make_ring(3);
	struct ring_reader *reader = join_ring();

	ck_assert_int_eq(put_bytes(writer, 40000), 0);
	ck_assert_int_eq(put_bytes(writer, SLOT - 40000 + 1), 0);
	ck_assert_uint_eq(ring_writer_position(writer), 2 * SLOT - 40000 + 1);
	ck_assert_uint_eq(used_of(writer, 0), 40000);
	ring_writer_publish(writer);
	ck_assert_uint_eq(take_bytes(reader), 40000);
	/* The rest of slot 0 is skipped. */
	ck_assert_uint_eq(ring_reader_position(reader), SLOT);
	ck_assert_uint_eq(take_bytes(reader), SLOT - 40000 + 1);
	ck_assert_int_eq(peek_at(reader), RING_EMPTY);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

START_TEST(leaving_a_slot_publishes_what_is_committed_in_it)
{
	struct ring_writer *writer = make_ring(3);
	struct ring_reader *reader = join_ring();
	uint8_t *room;
	size_t length;

	ck_assert_int_eq(put_bytes(writer, 100), 0);
	ck_assert_int_eq(ring_writer_claim(writer, SLOT, &room, &length), 0);
	ck_assert_uint_eq(take_bytes(reader), 100);
	/* Head has not left the slot: it moves with the next bytes. */
	ck_assert_uint_eq(ring_reader_position(reader), 100);
	ck_assert_int_eq(peek_at(reader), RING_EMPTY);
	ck_assert_uint_eq(atomic_load(&writer->segment.control->head), 100);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

START_TEST(a_full_slot_is_recorded_as_used_before_head_reaches_its_end)
{
	struct ring_writer *writer = make_ring(2);

	ck_assert_int_eq(put_bytes(writer, SLOT), 0);
	ck_assert_uint_eq(used_of(writer, 0), SLOT);
	ck_assert_uint_eq(atomic_load(&writer->segment.control->head), 0);
	ring_destroy(writer);
}
END_TEST

START_TEST(a_peek_never_spans_slots)
{
	struct ring_writer *writer = make_ring(4);
	struct ring_reader *reader = join_ring();

	for (int slot = 0; slot < 3; slot++)
		ck_assert_int_eq(put_bytes(writer, SLOT), 0);
	ring_writer_publish(writer);
	for (int slot = 0; slot < 3; slot++)
		ck_assert_uint_eq(take_bytes(reader), SLOT);
	ck_assert_int_eq(peek_at(reader), RING_EMPTY);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

START_TEST(a_part_of_what_was_peeked_can_be_released)
{
	struct ring_writer *writer = make_ring(2);
	struct ring_reader *reader = join_ring();
	const uint8_t *bytes, *rest;
	size_t length;

	put_and_publish(writer, 1000);
	ck_assert_int_eq(ring_reader_peek(reader, &bytes, &length), RING_DATA);
	ck_assert_int_eq(ring_reader_release(reader, 300), 0);
	ck_assert_uint_eq(ring_reader_position(reader), 300);
	ck_assert_uint_eq(atomic_load(&reader->entry->tail), 300);
	ck_assert_int_eq(ring_reader_peek(reader, &rest, &length), RING_DATA);
	ck_assert_ptr_eq(rest, bytes + 300);
	ck_assert_uint_eq(length, 700);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

START_TEST(a_peek_without_release_finds_the_same_again_and_more)
{
	struct ring_writer *writer = make_ring(2);
	struct ring_reader *reader = join_ring();
	const uint8_t *first, *second;
	size_t length;

	put_and_publish(writer, 10);
	ck_assert_int_eq(ring_reader_peek(reader, &first, &length), RING_DATA);
	put_and_publish(writer, 10);
	ck_assert_int_eq(ring_reader_peek(reader, &second, &length), RING_DATA);
	ck_assert_ptr_eq(first, second);
	ck_assert_uint_eq(length, 20);
	ck_assert_uint_eq(atomic_load(&reader->entry->tail), 0);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

/* ---- refusals ---------------------------------------------------------------------------------- */

START_TEST(a_claim_larger_than_a_slot_is_refused_and_changes_nothing)
{
	struct ring_writer *writer = make_ring(2);
	struct snapshot before;
	uint8_t *room = NULL;
	size_t length = 77;

	put_and_publish(writer, 100);
	ck_assert_int_eq(put_bytes(writer, 100), 0);
	before = snapshot_take(writer);
	ck_assert_int_eq(ring_writer_claim(writer, SLOT + 1, &room, &length), -EMSGSIZE);
	ck_assert_int_eq(ring_writer_claim(writer, SIZE_MAX, &room, &length), -EMSGSIZE);
	ck_assert_ptr_null(room);
	ck_assert_uint_eq(length, 77);
	snapshot_expect(writer, &before);
	ring_destroy(writer);
}
END_TEST

START_TEST(a_full_ring_refuses_and_changes_nothing)
{
	struct ring_writer *writer = make_ring(2);
	struct ring_reader *reader = join_ring();
	struct snapshot before;
	uint8_t *room = NULL;
	size_t length = 77;

	put_and_publish(writer, SLOT);
	put_and_publish(writer, SLOT - 10);
	ck_assert_int_eq(put_bytes(writer, 4), 0);
	before = snapshot_take(writer);
	ck_assert_int_eq(ring_writer_claim(writer, 7, &room, &length), -EAGAIN);
	ck_assert_int_eq(ring_writer_claim(writer, SLOT, &room, &length), -EAGAIN);
	ck_assert_ptr_null(room);
	ck_assert_uint_eq(length, 77);
	snapshot_expect(writer, &before);
	/* What still fits goes on. */
	ck_assert_int_eq(put_bytes(writer, 6), 0);
	ck_assert_int_eq(put_bytes(writer, 1), -EAGAIN);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

START_TEST(a_ring_without_readers_is_never_full)
{
	struct ring_writer *writer = make_ring(2);

	for (int lap = 0; lap < 10; lap++)
		ck_assert_int_eq(put_bytes(writer, SLOT), 0);
	ck_assert_uint_eq(ring_writer_position(writer), 10 * SLOT);
	ring_destroy(writer);
}
END_TEST

START_TEST(only_a_whole_slot_is_given_back)
{
	struct ring_writer *writer = make_ring(2);
	struct ring_reader *reader = join_ring();
	const uint8_t *bytes;
	size_t length;

	put_and_publish(writer, SLOT);
	put_and_publish(writer, SLOT);
	ck_assert_int_eq(ring_reader_peek(reader, &bytes, &length), RING_DATA);
	ck_assert_int_eq(ring_reader_release(reader, SLOT - 1), 0);
	ck_assert_int_eq(put_bytes(writer, 1), -EAGAIN);
	ck_assert_int_eq(ring_reader_release(reader, 1), 0);
	ck_assert_int_eq(put_bytes(writer, SLOT), 0);
	ck_assert_int_eq(put_bytes(writer, 1), -EAGAIN);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

START_TEST(releasing_the_used_part_gives_the_whole_slot_back)
{
	struct ring_writer *writer = make_ring(2);
	struct ring_reader *reader = join_ring();

	ck_assert_int_eq(put_bytes(writer, 10), 0);
	ck_assert_int_eq(put_bytes(writer, SLOT), 0);
	ring_writer_publish(writer);
	ck_assert_int_eq(put_bytes(writer, 1), -EAGAIN);
	ck_assert_uint_eq(take_bytes(reader), 10);
	ck_assert_int_eq(put_bytes(writer, 1), 0);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

START_TEST(a_reader_at_the_used_end_of_a_slot_goes_on_when_head_leaves_it)
{
	struct ring_writer *writer = make_ring(2);
	struct ring_reader *reader = join_ring();

	put_and_publish(writer, 10);
	ck_assert_uint_eq(take_bytes(reader), 10);
	ck_assert_uint_eq(atomic_load(&reader->entry->tail), 10);
	put_and_publish(writer, SLOT);
	ck_assert_uint_eq(take_bytes(reader), SLOT);
	ck_assert_uint_eq(atomic_load(&reader->entry->tail), 2 * SLOT);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

START_TEST(the_slowest_of_three_readers_holds_the_ring)
{
	struct ring_writer *writer = make_ring(2);
	struct ring_reader *readers[3];
	struct ring_process process;
	uint64_t lag;

	for (int i = 0; i < 3; i++)
		readers[i] = join_ring();
	ck_assert_int_eq(ring_writer_wait_readers(writer, 3, DEADLINE_MS, NULL), 0);
	ck_assert_int_eq(ring_writer_slowest(writer, &lag, &process), -1);
	ck_assert_uint_eq(lag, 0);
	put_and_publish(writer, SLOT);
	put_and_publish(writer, SLOT);
	take_bytes(readers[0]);
	take_bytes(readers[2]);
	take_bytes(readers[2]);
	ck_assert_int_eq(put_bytes(writer, 1), -EAGAIN);
	ck_assert_int_eq(ring_writer_slowest(writer, &lag, &process), 1);
	ck_assert_uint_eq(lag, 2 * SLOT);
	ck_assert_int_eq(process.pid, getpid());
	take_bytes(readers[1]);
	ck_assert_int_eq(put_bytes(writer, 1), 0);
	for (int i = 0; i < 3; i++)
		ring_detach(readers[i]);
	ring_destroy(writer);
}
END_TEST

/* ---- many laps ------------------------------------------------------------------------------------ */

START_TEST(random_pieces_arrive_in_order_over_many_laps)
{
	uint32_t slots = (uint32_t)(2 + _i);
	struct ring_writer *writer = make_ring(slots);
	struct ring_reader *readers[3];
	uint64_t at[3] = { 0, 0, 0 };
	unsigned seed = 1000u + (unsigned)_i;

	for (int i = 0; i < 3; i++)
		readers[i] = join_ring();
	for (int step = 0; step < 4000; step++) {
		struct ring_reader *reader = readers[rand_r(&seed) % 3];
		const uint8_t *bytes;
		size_t length;

		if (rand_r(&seed) % 2 == 0) {
			int error = put_bytes(writer, 1 + (size_t)rand_r(&seed) % (SLOT / 2));

			ck_assert(error == 0 || error == -EAGAIN);
			if (error != 0 || rand_r(&seed) % 2 == 0)
				ring_writer_publish(writer);
			continue;
		}
		if (ring_reader_peek(reader, &bytes, &length) != RING_DATA)
			continue;
		expect_bytes(bytes, ring_reader_position(reader), length);
		if (rand_r(&seed) % 3 == 0)
			length = 1 + (size_t)rand_r(&seed) % length;
		ck_assert_int_eq(ring_reader_release(reader, length), 0);
	}
	ring_writer_publish(writer);
	ck_assert_uint_gt(ring_writer_position(writer), 3 * slots * SLOT);
	for (int i = 0; i < 3; i++) {
		while (peek_at(readers[i]) == RING_DATA)
			at[i] += take_bytes(readers[i]);
		ck_assert_uint_eq(ring_reader_position(readers[i]), ring_writer_position(writer));
		ring_detach(readers[i]);
	}
	ring_destroy(writer);
}
END_TEST

START_TEST(messages_and_slots_are_counted)
{
	struct ring_writer *writer = make_ring(2);
	struct ring_reader *reader = join_ring();

	ring_writer_count_messages(writer, 1);
	ring_writer_count_messages(writer, 2);
	put_and_publish(writer, SLOT);
	put_and_publish(writer, 1);
	ring_reader_count_messages(reader, 1);
	ring_reader_count_drop(reader);
	ck_assert_uint_eq(atomic_load(&writer->segment.control->messages), 3);
	ck_assert_uint_eq(atomic_load(&writer->segment.control->slots_left), 1);
	ck_assert_uint_eq(atomic_load(&writer->segment.shared->entries[0].messages), 1);
	ck_assert_uint_eq(atomic_load(&writer->segment.shared->entries[0].dropped), 1);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ring bytes");
	TCase *pieces = fixture_case(suite, "one piece"), *slots = fixture_case(suite, "slots");
	TCase *refusals = fixture_case(suite, "refusals"), *laps = fixture_case(suite, "laps");

	tcase_add_test(pieces, a_fresh_ring_is_empty_at_position_0);
	tcase_add_test(pieces, both_sides_know_geometry_stream_id_and_each_other);
	tcase_add_test(pieces, committed_bytes_are_private_until_they_are_published);
	tcase_add_test(pieces, claimed_bytes_that_are_not_committed_never_were);
	tcase_add_test(pieces, a_claim_gives_the_rest_of_the_slot);
	tcase_add_test(pieces, room_changes_nothing_and_says_where_the_next_claim_goes);
	tcase_add_test(pieces, bytes_are_read_in_place_and_cannot_be_written_there);
	tcase_add_test(slots, a_claim_that_fits_exactly_stays_in_the_slot);
	tcase_add_test(slots, a_slot_with_too_little_left_is_left_and_its_use_is_recorded);
	tcase_add_test(slots, leaving_a_slot_publishes_what_is_committed_in_it);
	tcase_add_test(slots, a_full_slot_is_recorded_as_used_before_head_reaches_its_end);
	tcase_add_test(slots, a_peek_never_spans_slots);
	tcase_add_test(slots, a_part_of_what_was_peeked_can_be_released);
	tcase_add_test(slots, a_peek_without_release_finds_the_same_again_and_more);
	tcase_add_test(refusals, a_claim_larger_than_a_slot_is_refused_and_changes_nothing);
	tcase_add_test(refusals, a_full_ring_refuses_and_changes_nothing);
	tcase_add_test(refusals, a_ring_without_readers_is_never_full);
	tcase_add_test(refusals, only_a_whole_slot_is_given_back);
	tcase_add_test(refusals, releasing_the_used_part_gives_the_whole_slot_back);
	tcase_add_test(refusals, a_reader_at_the_used_end_of_a_slot_goes_on_when_head_leaves_it);
	tcase_add_test(refusals, the_slowest_of_three_readers_holds_the_ring);
	tcase_add_loop_test(laps, random_pieces_arrive_in_order_over_many_laps, 0, 6);
	tcase_add_test(laps, messages_and_slots_are_counted);
	return fixture_run(suite);
}
