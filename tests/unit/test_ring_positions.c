/* test_ring_positions.c - positions beside 2^32, 2^63 and the numbers between. */
// needs: tests/unit/ring_fixture.c
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "tests/unit/ring_fixture.h"

/* The stream begins a few slots before each of these and goes past it. */
static const uint64_t boundaries[] = {
	(uint64_t)1 << 31, (uint64_t)1 << 32, (uint64_t)1 << 48, (uint64_t)1 << 56, (uint64_t)1 << 63,
};
#define BOUNDARIES (int)(sizeof boundaries / sizeof boundaries[0])
#define BEFORE 3                   /* slots before the boundary */
#define LAPS 4

static uint64_t beside(int i)
{
	return boundaries[i] - BEFORE * SLOT;
}

START_TEST(a_reader_attaches_at_a_great_position)
{
	struct ring_writer *writer = make_ring(3);
	struct ring_reader *reader;

	ring_move_to(writer, beside(_i));
	reader = join_ring();
	ck_assert_uint_eq(ring_reader_start(reader), beside(_i));
	ck_assert_int_eq(peek_at(reader), RING_EMPTY);
	ck_assert_uint_eq(atomic_load(&reader->entry->tail), beside(_i));
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

START_TEST(whole_slots_pass_a_boundary_in_lockstep)
{
	for (uint32_t slots = 2; slots <= 5; slots++) {
		struct ring_writer *writer = make_ring(slots);
		struct ring_reader *reader;

		ring_move_to(writer, beside(_i));
		reader = join_ring();
		for (unsigned lap = 0; lap < LAPS; lap++) {
			for (unsigned slot = 0; slot < slots; slot++)
				put_and_publish(writer, SLOT);
			ck_assert_int_eq(put_bytes(writer, 1), -EAGAIN);
			ck_assert_int_eq(ring_writer_wait_space(writer, 1), -ETIMEDOUT);
			for (unsigned slot = 0; slot < slots; slot++)
				ck_assert_uint_eq(take_bytes(reader), SLOT);
			ck_assert_int_eq(peek_at(reader), RING_EMPTY);
		}
		ck_assert_uint_eq(ring_reader_position(reader), beside(_i) + LAPS * slots * SLOT);
		ring_writer_end(writer, RING_COMPLETE, 0);
		ck_assert_int_eq(peek_at(reader), RING_ENDED);
		ring_detach(reader);
		ring_destroy(writer);
	}
}
END_TEST

START_TEST(partly_used_slots_pass_a_boundary)
{
	struct ring_writer *writer = make_ring(3);
	struct ring_reader *reader;

	ring_move_to(writer, beside(_i));
	reader = join_ring();
	for (unsigned i = 0; i < 3 * LAPS; i++) {
		put_and_publish(writer, SLOT / 2 + 1 + i);
		ck_assert_uint_eq(take_bytes(reader), SLOT / 2 + 1 + i);
	}
	ck_assert_uint_eq(ring_writer_position(writer),
	                  beside(_i) + (3 * LAPS - 1) * SLOT + SLOT / 2 + 3 * LAPS);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

START_TEST(a_late_reader_begins_beside_a_boundary)
{
	struct ring_writer *writer = make_ring(2);

	ring_move_to(writer, boundaries[_i] - 2 * SLOT);
	for (unsigned i = 0; i < 6; i++) {
		struct ring_reader *reader;

		put_and_publish(writer, SLOT / 2 + 1);
		reader = join_ring();
		ck_assert_uint_eq(ring_reader_start(reader), boundaries[_i] - 2 * SLOT + i * SLOT);
		ck_assert_uint_eq(take_bytes(reader), SLOT / 2 + 1);
		ring_detach(reader);
		wait_until(entry_is(writer, 0, ENTRY_FREE));
	}
	ring_destroy(writer);
}
END_TEST

/* Both sides sleep and wake each other while they pass the boundary. */
static void *take_all(void *context)
{
	struct ring_reader *reader = context;
	const uint8_t *bytes;
	size_t length;

	for (;;) {
		switch (ring_reader_peek(reader, &bytes, &length)) {
		case RING_EMPTY:
			ring_reader_wait(reader, RING_FOREVER);
			break;
		case RING_DATA:
			expect_bytes(bytes, ring_reader_position(reader), length);
			ck_assert_int_eq(ring_reader_release(reader, length), 0);
			break;
		case RING_ENDED:
			return reader;
		default:
			return NULL;
		}
	}
}

START_TEST(sleepers_are_woken_across_a_boundary)
{
	struct ring_writer *writer = make_ring(3);
	struct ring_reader *reader;
	unsigned seed = (unsigned)_i + 1;
	pthread_t thread;
	void *taken;

	ring_move_to(writer, beside(_i));
	reader = join_ring();
	ck_assert_int_eq(pthread_create(&thread, NULL, take_all, reader), 0);
	while (ring_writer_position(writer) < boundaries[_i] + 20 * SLOT) {
		size_t length = 1 + (size_t)rand_r(&seed) % SLOT;
		int error;

		while ((error = put_bytes(writer, length)) == -EAGAIN)
			ck_assert_int_eq(ring_writer_wait_space(writer, DEADLINE_MS), 0);
		ck_assert_int_eq(error, 0);
		if (rand_r(&seed) % 4 == 0)
			ring_writer_publish(writer);
	}
	ring_writer_end(writer, RING_COMPLETE, 0);
	ck_assert_int_eq(pthread_join(thread, &taken), 0);
	ck_assert_ptr_eq(taken, reader);
	ck_assert_uint_eq(ring_reader_position(reader), ring_writer_position(writer));
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ring positions");
	TCase *boundary = fixture_case(suite, "boundary");

	tcase_add_loop_test(boundary, a_reader_attaches_at_a_great_position, 0, BOUNDARIES);
	tcase_add_loop_test(boundary, whole_slots_pass_a_boundary_in_lockstep, 0, BOUNDARIES);
	tcase_add_loop_test(boundary, partly_used_slots_pass_a_boundary, 0, BOUNDARIES);
	tcase_add_loop_test(boundary, a_late_reader_begins_beside_a_boundary, 0, BOUNDARIES);
	tcase_add_loop_test(boundary, sleepers_are_woken_across_a_boundary, 0, BOUNDARIES);
	return fixture_run(suite);
}
