/* test_ring_waiting.c - waiting for room and for data, and who wakes whom. */
// needs: tests/unit/ring_fixture.c
#include <errno.h>

#include "tests/unit/ring_fixture.h"

START_TEST(waiting_for_space_publishes_first_and_times_out)
{
	struct ring_writer *writer = make_ring(2);
	struct ring_reader *reader = join_ring();

	put_and_publish(writer, SLOT);
	ck_assert_int_eq(put_bytes(writer, SLOT), 0);
	ck_assert_int_eq(put_bytes(writer, 1), -EAGAIN);
	ck_assert_int_eq(ring_writer_wait_space(writer, 20), -ETIMEDOUT);
	ck_assert_uint_eq(ring_writer_published(writer), 2 * SLOT);
	ck_assert_uint_gt(ring_writer_blocked_ns(writer), 0);
	ck_assert_uint_eq(atomic_load(&writer->segment.control->blocked_since_ns), 0);
	ck_assert_uint_eq(atomic_load(&writer->segment.shared->wish), 0);
	ck_assert_uint_eq(atomic_load(&writer->waiting_for), 0);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

START_TEST(waiting_for_space_that_is_there_returns_at_once)
{
	struct ring_writer *writer = make_ring(2);
	struct ring_reader *reader = join_ring();

	put_and_publish(writer, SLOT);
	put_and_publish(writer, SLOT);
	ck_assert_int_eq(put_bytes(writer, 1), -EAGAIN);
	take_bytes(reader);
	ck_assert_int_eq(ring_writer_wait_space(writer, 0), 0);
	ck_assert_int_eq(put_bytes(writer, 1), 0);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

START_TEST(waiting_for_data_times_out_or_finds_what_is_there)
{
	struct ring_writer *writer = make_ring(2);
	struct ring_reader *reader = join_ring();

	ck_assert_int_eq(ring_reader_wait(reader, 20), -ETIMEDOUT);
	ck_assert_int_eq(ring_reader_wait(reader, 0), -ETIMEDOUT);
	ck_assert_uint_eq(atomic_load(&writer->segment.shared->sleeping), 0);
	put_and_publish(writer, 1);
	ck_assert_int_eq(ring_reader_wait(reader, 0), 0);
	ck_assert_uint_eq(take_bytes(reader), 1);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

START_TEST(a_release_takes_the_wish_and_posts_once)
{
	struct ring_writer *writer = make_ring(2);
	struct ring_reader *reader = join_ring();
	struct ring_shared *shared = writer->segment.shared;
	int tokens;

	put_and_publish(writer, SLOT);
	put_and_publish(writer, SLOT);
	wait_drain(&shared->space);
	atomic_store(&shared->wish, wish_make(1, 0));
	ck_assert(ring_reader_holds_back(reader));
	take_bytes(reader);
	ck_assert(!ring_reader_holds_back(reader));
	ck_assert_uint_eq(atomic_load(&shared->wish), 0);
	take_bytes(reader);
	ck_assert_int_eq(sem_getvalue(&shared->space, &tokens), 0);
	ck_assert_int_eq(tokens, 1);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

START_TEST(a_release_leaves_a_wish_for_more_or_for_another)
{
	struct ring_writer *writer = make_ring(4);
	struct ring_reader *reader = join_ring();
	struct ring_shared *shared = writer->segment.shared;
	int tokens;

	for (int slot = 0; slot < 4; slot++)
		put_and_publish(writer, SLOT);
	wait_drain(&shared->space);
	atomic_store(&shared->wish, wish_make(2, 0));
	take_bytes(reader);
	ck_assert_uint_eq(atomic_load(&shared->wish), wish_make(2, 0));
	atomic_store(&shared->wish, wish_make(1, 1));
	take_bytes(reader);
	ck_assert_uint_eq(atomic_load(&shared->wish), wish_make(1, 1));
	ck_assert(!ring_reader_holds_back(reader));
	ck_assert_int_eq(sem_getvalue(&shared->space, &tokens), 0);
	ck_assert_int_eq(tokens, 0);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

START_TEST(a_publish_clears_the_sleeping_bits_and_posts_once)
{
	struct ring_writer *writer = make_ring(2);
	struct ring_reader *reader = join_ring();
	struct ring_shared *shared = writer->segment.shared;
	int tokens;

	atomic_store(&shared->sleeping, 1);
	for (int i = 0; i < 5; i++)
		put_and_publish(writer, 1);
	ck_assert_uint_eq(atomic_load(&shared->sleeping), 0);
	ck_assert_int_eq(sem_getvalue(&shared->entries[0].data, &tokens), 0);
	ck_assert_int_eq(tokens, 1);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

START_TEST(a_wake_that_was_put_off_when_a_slot_was_left_is_made_up_for)
{
	enum { PUBLISH, WAIT, FINISH };

	for (int how = PUBLISH; how <= FINISH; how++) {
		struct ring_writer *writer = make_ring(64);
		struct ring_reader *reader = join_ring();
		struct ring_shared *shared = writer->segment.shared;
		uint8_t *room;
		size_t length;
		int tokens;

		writer->woken_ns = wait_now_ns();
		atomic_store(&shared->sleeping, 1);
		ck_assert_int_eq(put_bytes(writer, SLOT - 1), 0);
		ck_assert_int_eq(ring_writer_claim(writer, SLOT, &room, &length), 0);
		/* It was left, so it can be read; nothing more is committed. */
		ck_assert_uint_eq(take_bytes(reader), SLOT - 1);
		if (how == PUBLISH)
			ring_writer_publish(writer);
		else if (how == WAIT)
			ck_assert_int_eq(ring_writer_wait_space(writer, 0), 0);
		else
			ring_writer_end(writer, RING_COMPLETE, 0);
		ck_assert_uint_eq(atomic_load(&shared->sleeping), 0);
		ck_assert_int_eq(sem_getvalue(&shared->entries[0].data, &tokens), 0);
		ck_assert_int_eq(tokens, 1);
		ring_detach(reader);
		ring_destroy(writer);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ring waiting");
	TCase *waiting = fixture_case(suite, "waiting");

	tcase_add_test(waiting, waiting_for_space_publishes_first_and_times_out);
	tcase_add_test(waiting, waiting_for_space_that_is_there_returns_at_once);
	tcase_add_test(waiting, waiting_for_data_times_out_or_finds_what_is_there);
	tcase_add_test(waiting, a_release_takes_the_wish_and_posts_once);
	tcase_add_test(waiting, a_release_leaves_a_wish_for_more_or_for_another);
	tcase_add_test(waiting, a_publish_clears_the_sleeping_bits_and_posts_once);
	tcase_add_test(waiting, a_wake_that_was_put_off_when_a_slot_was_left_is_made_up_for);
	return fixture_run(suite);
}
