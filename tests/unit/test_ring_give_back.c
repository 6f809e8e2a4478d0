/* test_ring_give_back.c - readers that give room back late, or go back. */
// needs: tests/unit/ring_fixture.c
#include <errno.h>
#include <pthread.h>

#include "tests/unit/ring_fixture.h"

static struct events events;       /* of the writer */

static struct {
	struct ring_writer *writer;
	struct ring_reader *reader;
} pair;

/* A ring of three slots, and both of its ends. */
static void pair_make(void)
{
	pair.writer = make_ring_with(3, (struct ring_writer_options){
		.observer = events_note, .observer_context = &events });
	pair.reader = join_ring();
}

static void pair_end(void)
{
	ring_detach(pair.reader);
	ring_destroy(pair.writer);
}

/* Peek, check the bytes, take `length` of them (0: all), give nothing back. */
static size_t take_only(size_t length)
{
	const uint8_t *bytes;
	size_t there;

	ck_assert_int_eq(ring_reader_peek(pair.reader, &bytes, &there), RING_DATA);
	expect_bytes(bytes, ring_reader_position(pair.reader), there);
	if (length == 0)
		length = there;
	ck_assert_uint_le(length, there);
	ring_reader_take(pair.reader, length);
	return length;
}

static uint64_t shared_tail(void)
{
	uint64_t tail = atomic_load(&pair.writer->segment.shared->entries[0].tail);

	ck_assert_uint_eq(tail, ring_reader_tail(pair.reader));
	return tail;
}

static void give_back(uint64_t position, uint64_t tail)
{
	ck_assert_int_eq(ring_reader_give_back(pair.reader, position), 0);
	ck_assert_uint_eq(shared_tail(), tail);
}

/* ---- giving back ------------------------------------------------------------------------ */

START_TEST(what_is_taken_holds_the_writer_back_until_it_is_given_back)
{
	for (unsigned slot = 0; slot < 3; slot++)
		put_and_publish(pair.writer, SLOT);
	for (unsigned slot = 0; slot < 3; slot++)
		ck_assert_uint_eq(take_only(0), SLOT);
	ck_assert_int_eq(peek_at(pair.reader), RING_EMPTY);
	ck_assert_uint_eq(shared_tail(), 0);
	ck_assert_int_eq(put_bytes(pair.writer, 1), -EAGAIN);
	give_back(SLOT - 1, SLOT - 1);
	ck_assert_int_eq(put_bytes(pair.writer, 1), -EAGAIN);
	give_back(SLOT, SLOT);
	ck_assert_int_eq(put_bytes(pair.writer, SLOT), 0);
	ck_assert_int_eq(put_bytes(pair.writer, 1), -EAGAIN);
	give_back(3 * SLOT, 3 * SLOT);
	ck_assert_int_eq(put_bytes(pair.writer, 1), 0);
}
END_TEST

START_TEST(one_gives_back_as_much_as_one_likes)
{
	put_and_publish(pair.writer, 1000);
	take_only(600);
	give_back(0, 0);
	give_back(1, 1);
	give_back(1, 1);
	give_back(599, 599);
	give_back(600, 600);
	take_only(0);
	ck_assert_uint_eq(shared_tail(), 600);
	give_back(1000, 1000);
	ck_assert_uint_eq(ring_reader_position(pair.reader), 1000);
}
END_TEST

START_TEST(one_gives_back_only_what_was_taken_and_that_once)
{
	static const uint64_t wrong[] = { 0, 299, 601, 1000, SLOT, (uint64_t)1 << 63, UINT64_MAX };

	put_and_publish(pair.writer, 1000);
	take_only(600);
	give_back(300, 300);
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		ck_assert_int_eq(ring_reader_give_back(pair.reader, wrong[i]), -EINVAL);
		ck_assert_uint_eq(shared_tail(), 300);
		ck_assert_uint_eq(ring_reader_position(pair.reader), 600);
	}
}
END_TEST

START_TEST(the_end_of_what_a_slot_held_gives_the_whole_slot_back)
{
	put_and_publish(pair.writer, 100);
	take_only(0);
	/* Nobody left the slot yet. */
	give_back(100, 100);
	put_and_publish(pair.writer, SLOT);
	take_only(0);
	ck_assert_uint_eq(ring_reader_position(pair.reader), 2 * SLOT);
	give_back(100, SLOT);
	/* Who is handed positions knows nothing of the rest, and says it twice. */
	give_back(100, SLOT);
	give_back(SLOT, SLOT);
	give_back(2 * SLOT, 2 * SLOT);
}
END_TEST

START_TEST(the_position_goes_on_with_what_is_given_back_at_a_slots_end)
{
	put_and_publish(pair.writer, 100);
	take_only(0);
	put_and_publish(pair.writer, SLOT);
	give_back(100, SLOT);
	ck_assert_uint_eq(ring_reader_position(pair.reader), SLOT);
	ck_assert_uint_eq(take_only(0), SLOT);
}
END_TEST

START_TEST(gaps_are_passed_and_given_back_with_what_was_before_them)
{
	for (unsigned slot = 0; slot < 3; slot++)
		put_and_publish(pair.writer, SLOT - 100);
	for (unsigned slot = 0; slot < 3; slot++)
		ck_assert_uint_eq(take_only(0), SLOT - 100);
	ck_assert_uint_eq(shared_tail(), 0);
	give_back(SLOT - 101, SLOT - 101);
	give_back(2 * SLOT - 100, 2 * SLOT);
	give_back(3 * SLOT - 100, 3 * SLOT - 100);
}
END_TEST

START_TEST(a_gap_is_given_back_by_who_holds_nothing_before_it)
{
	put_and_publish(pair.writer, 100);
	take_only(0);
	give_back(100, 100);
	ck_assert_int_eq(put_bytes(pair.writer, SLOT), 0);      /* leaves the slot */
	ck_assert_int_eq(peek_at(pair.reader), RING_EMPTY);
	ring_writer_publish(pair.writer);
	ck_assert_int_eq(peek_at(pair.reader), RING_DATA);
	ck_assert_uint_eq(shared_tail(), SLOT);
}
END_TEST

START_TEST(release_and_give_back_can_be_mixed)
{
	put_and_publish(pair.writer, 1000);
	take_only(100);
	ck_assert_uint_eq(take_bytes(pair.reader), 900);        /* releases what was taken, too */
	ck_assert_uint_eq(shared_tail(), 1000);
	put_and_publish(pair.writer, 10);
	take_only(0);
	give_back(1010, 1010);
}
END_TEST

START_TEST(an_evicted_reader_gives_nothing_back)
{
	struct ring_entry *entry = &pair.writer->segment.shared->entries[0];

	put_and_publish(pair.writer, 1000);
	take_only(0);
	atomic_store(&entry->word, word_next(pair.reader->word, ENTRY_EVICTED));
	ck_assert_int_eq(ring_reader_give_back(pair.reader, 500), -ESTALE);
	ck_assert_int_eq(ring_reader_let_go(pair.reader), -ESTALE);
	ck_assert_uint_eq(atomic_load(&entry->tail), 0);
}
END_TEST

static void *give_back_soon(void *unused)
{
	wait_until(atomic_load(&pair.writer->segment.shared->wish) != 0);
	ck_assert_int_eq(ring_reader_give_back(pair.reader, SLOT), 0);
	return unused;
}

START_TEST(giving_back_wakes_the_writer)
{
	pthread_t thread;

	for (unsigned slot = 0; slot < 3; slot++) {
		put_and_publish(pair.writer, SLOT);
		take_only(0);
	}
	ck_assert_int_eq(put_bytes(pair.writer, 1), -EAGAIN);
	ck_assert_int_eq(pthread_create(&thread, NULL, give_back_soon, NULL), 0);
	ck_assert_int_eq(ring_writer_wait_space(pair.writer, DEADLINE_MS), 0);
	pthread_join(thread, NULL);
	ck_assert_int_eq(put_bytes(pair.writer, 1), 0);
}
END_TEST

/* ---- going back ------------------------------------------------------------------------------ */

START_TEST(one_goes_back_to_what_was_not_given_back)
{
	put_and_publish(pair.writer, 1000);
	put_and_publish(pair.writer, SLOT);
	take_only(0);
	take_only(0);
	give_back(400, 400);
	ck_assert_int_eq(ring_reader_rewind(pair.reader, 400), 0);
	ck_assert_uint_eq(take_only(0), 600);
	ck_assert_int_eq(ring_reader_rewind(pair.reader, SLOT + 5), 0);
	ck_assert_uint_eq(take_only(0), SLOT - 5);
	ck_assert_int_eq(ring_reader_rewind(pair.reader, 999), 0);
	ck_assert_uint_eq(take_only(0), 1);
	ck_assert_uint_eq(take_only(0), SLOT);
	ck_assert_uint_eq(shared_tail(), 400);
}
END_TEST

START_TEST(one_may_go_forward_up_to_head)
{
	put_and_publish(pair.writer, 1000);
	ck_assert_int_eq(put_bytes(pair.writer, 10), 0);
	ck_assert_int_eq(ring_reader_rewind(pair.reader, 1000), 0);
	ck_assert_int_eq(peek_at(pair.reader), RING_EMPTY);
	ck_assert_int_eq(ring_reader_rewind(pair.reader, 1001), -EINVAL);
	ck_assert_uint_eq(ring_reader_position(pair.reader), 1000);
	ck_assert_uint_eq(shared_tail(), 0);
}
END_TEST

START_TEST(one_does_not_go_back_behind_the_tail)
{
	put_and_publish(pair.writer, 1000);
	take_only(0);
	give_back(400, 400);
	ck_assert_int_eq(ring_reader_rewind(pair.reader, 399), -EINVAL);
	ck_assert_int_eq(ring_reader_rewind(pair.reader, 0), -EINVAL);
	ck_assert_uint_eq(ring_reader_position(pair.reader), 1000);
}
END_TEST

START_TEST(a_position_just_before_a_tail_at_a_slots_start_is_that_tail)
{
	put_and_publish(pair.writer, 100);
	put_and_publish(pair.writer, SLOT);
	take_only(0);
	take_only(0);
	give_back(100, SLOT);
	ck_assert_int_eq(ring_reader_rewind(pair.reader, 100), 0);
	ck_assert_uint_eq(ring_reader_position(pair.reader), SLOT);
	ck_assert_uint_eq(take_only(0), SLOT);
	give_back(2 * SLOT, 2 * SLOT);
	ck_assert_int_eq(ring_reader_rewind(pair.reader, SLOT), -EINVAL);
	ck_assert_int_eq(ring_reader_rewind(pair.reader, 100), -EINVAL);
}
END_TEST

/* ---- letting go -------------------------------------------------------------------------------- */

START_TEST(who_lets_go_holds_nobody_back_and_is_still_there)
{
	struct ring_reader_report report;
	uint64_t lag;
	struct ring_process process;

	ck_assert_int_eq(ring_writer_wait_readers(pair.writer, 1, DEADLINE_MS, NULL), 0);
	put_and_publish(pair.writer, 1000);
	take_only(0);
	ck_assert_int_eq(ring_reader_let_go(pair.reader), 0);
	for (unsigned slot = 0; slot < 10; slot++)
		put_and_publish(pair.writer, SLOT);
	pass_looks(&events, 1);
	ck_assert_int_eq(ring_writer_slowest(pair.writer, &lag, &process), -1);
	ck_assert_uint_eq(lag, 0);
	ck_assert_uint_eq(ring_writer_reports(pair.writer, &report, 1), 1);
	ck_assert_int_eq(report.outcome, RING_PENDING);
	ck_assert_uint_eq(report.tail, ring_writer_published(pair.writer));
	ring_writer_end(pair.writer, RING_COMPLETE, 0);
	ck_assert_int_eq(ring_writer_drain(pair.writer, 0), -ETIMEDOUT);
	ck_assert_int_eq(ring_reader_check(pair.reader), 0);
	ck_assert_int_eq(ring_reader_set_result(pair.reader, 3), 0);
	ck_assert_int_eq(ring_writer_drain(pair.writer, DEADLINE_MS), -EPIPE);
	ck_assert_uint_eq(ring_writer_reports(pair.writer, &report, 1), 1);
	ck_assert_int_eq(report.code, 3);
	ck_assert_uint_eq(report.tail, ring_writer_published(pair.writer));
}
END_TEST

START_TEST(who_let_go_finds_and_waits_for_nothing_but_the_end)
{
	put_and_publish(pair.writer, 1000);
	ck_assert_int_eq(ring_reader_let_go(pair.reader), 0);
	ck_assert_int_eq(peek_at(pair.reader), RING_EMPTY);
	ck_assert_int_eq(ring_reader_wait(pair.reader, 20), -ETIMEDOUT);
	ck_assert_int_eq(ring_reader_rewind(pair.reader, 0), -EINVAL);
	ck_assert_int_eq(ring_reader_give_back(pair.reader, 1000), -EINVAL);
	put_and_publish(pair.writer, 1);
	ck_assert_int_eq(peek_at(pair.reader), RING_EMPTY);
	ring_writer_end(pair.writer, RING_COMPLETE, 0);
	ck_assert_int_eq(ring_reader_wait(pair.reader, RING_FOREVER), 0);
	ck_assert_int_eq(peek_at(pair.reader), RING_ENDED);
}
END_TEST

START_TEST(letting_go_wakes_the_writer)
{
	for (unsigned slot = 0; slot < 3; slot++)
		put_and_publish(pair.writer, SLOT);
	ck_assert_int_eq(put_bytes(pair.writer, 1), -EAGAIN);
	atomic_store(&pair.writer->segment.shared->wish, wish_make(1, 0));
	ck_assert_int_eq(ring_reader_let_go(pair.reader), 0);
	ck_assert_uint_eq(atomic_load(&pair.writer->segment.shared->wish), 0);
	ck_assert_int_eq(ring_writer_wait_space(pair.writer, DEADLINE_MS), 0);
	ck_assert_int_eq(put_bytes(pair.writer, 1), 0);
}
END_TEST

START_TEST(who_let_go_and_died_comes_back_to_the_same)
{
	struct ring_reader_options options = { .key = 1, .linger_ms = DEADLINE_MS };
	struct ring_reader *reader = join_ring_with(options);

	put_and_publish(pair.writer, 1000);
	ck_assert_int_eq(ring_reader_let_go(reader), 0);
	reader_dies(reader);
	ck_assert_int_eq(ring_attach_again(&reader, fixture_name(0), &options), 0);
	ck_assert_uint_eq(ring_reader_tail(reader), RING_AFTER_ALL);
	ck_assert_int_eq(peek_at(reader), RING_EMPTY);
	ck_assert_int_eq(ring_reader_set_result(reader, 4), 0);
	ring_detach(reader);
}
END_TEST

/* ---- nudging ----------------------------------------------------------------------------------- */

START_TEST(a_nudge_ends_the_next_wait_once)
{
	ring_reader_nudge(pair.reader);
	ring_reader_nudge(pair.reader);
	ck_assert_int_eq(ring_reader_wait(pair.reader, RING_FOREVER), 0);
	ck_assert_int_eq(ring_reader_wait(pair.reader, 20), -ETIMEDOUT);
	ring_reader_nudge(pair.reader);
	ck_assert_int_eq(ring_reader_wait(pair.reader, 0), 0);
	ring_reader_nudge(pair.reader);
	ring_reader_interrupt(pair.reader);
	ck_assert_int_eq(ring_reader_wait(pair.reader, RING_FOREVER), -EINTR);
}
END_TEST

static int done;                   /* by who nudges, before it does */

static void *wait_for_nudge(void *unused)
{
	ck_assert_int_eq(ring_reader_wait(pair.reader, DEADLINE_MS), 0);
	ck_assert_int_eq(done, 1);
	return unused;
}

START_TEST(a_nudge_ends_the_present_wait)
{
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, wait_for_nudge, NULL), 0);
	wait_until(atomic_load(&pair.writer->segment.shared->sleeping) == 1);
	done = 1;
	ring_reader_nudge(pair.reader);
	pthread_join(thread, NULL);
	ck_assert_int_eq(peek_at(pair.reader), RING_EMPTY);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ring give back");
	TCase *given = fixture_case(suite, "given"), *back = fixture_case(suite, "back");
	TCase *gone = fixture_case(suite, "let go"), *nudge = fixture_case(suite, "nudge");

	tcase_add_checked_fixture(given, pair_make, pair_end);
	tcase_add_checked_fixture(back, pair_make, pair_end);
	tcase_add_checked_fixture(gone, pair_make, pair_end);
	tcase_add_checked_fixture(nudge, pair_make, pair_end);
	tcase_add_test(given, what_is_taken_holds_the_writer_back_until_it_is_given_back);
	tcase_add_test(given, one_gives_back_as_much_as_one_likes);
	tcase_add_test(given, one_gives_back_only_what_was_taken_and_that_once);
	tcase_add_test(given, the_end_of_what_a_slot_held_gives_the_whole_slot_back);
	tcase_add_test(given, the_position_goes_on_with_what_is_given_back_at_a_slots_end);
	tcase_add_test(given, gaps_are_passed_and_given_back_with_what_was_before_them);
	tcase_add_test(given, a_gap_is_given_back_by_who_holds_nothing_before_it);
	tcase_add_test(given, release_and_give_back_can_be_mixed);
	tcase_add_test(given, an_evicted_reader_gives_nothing_back);
	tcase_add_test(given, giving_back_wakes_the_writer);
	tcase_add_test(back, one_goes_back_to_what_was_not_given_back);
	tcase_add_test(back, one_may_go_forward_up_to_head);
	tcase_add_test(back, one_does_not_go_back_behind_the_tail);
	tcase_add_test(back, a_position_just_before_a_tail_at_a_slots_start_is_that_tail);
	tcase_add_test(gone, who_lets_go_holds_nobody_back_and_is_still_there);
	tcase_add_test(gone, who_let_go_finds_and_waits_for_nothing_but_the_end);
	tcase_add_test(gone, letting_go_wakes_the_writer);
	tcase_add_test(gone, who_let_go_and_died_comes_back_to_the_same);
	tcase_add_test(nudge, a_nudge_ends_the_next_wait_once);
	tcase_add_test(nudge, a_nudge_ends_the_present_wait);
	return fixture_run(suite);
}
