/* test_ring_linger.c - readers that die and come back to their entry. */
// needs: tests/unit/ring_fixture.c
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "tests/unit/ring_fixture.h"

#define KEY 0x5eed
#define LONG_MS 60000              /* lingers as long as the test */
#define SHORT_MS 60

static struct events events;       /* of the writer */

static struct ring_reader_options keyed(uint64_t key, uint32_t linger_ms)
{
	return (struct ring_reader_options){ .label = "keyed", .key = key, .linger_ms = linger_ms };
}

static struct ring_writer *make_observed(uint32_t slots)
{
	return make_ring_with(slots, (struct ring_writer_options){
		.observer = events_note, .observer_context = &events });
}

static struct ring_reader *join_keyed(uint32_t linger_ms)
{
	return join_ring_with(keyed(KEY, linger_ms));
}

/* Returns what ring_attach_again says; a reader that was got is in *reader. */
static int come_back(struct ring_reader **reader, uint64_t key)
{
	struct ring_reader_options options = keyed(key, LONG_MS);

	*reader = NULL;
	return ring_attach_again(reader, fixture_name(0), &options);
}

static struct ring_reader *expect_back(void)
{
	struct ring_reader *reader;

	ck_assert_int_eq(come_back(&reader, KEY), 0);
	return reader;
}

static void expect_refused(uint64_t key, int error)
{
	struct ring_reader *reader;

	ck_assert_int_eq(come_back(&reader, key), error);
	ck_assert_ptr_null(reader);
}

static void take_part(struct ring_reader *reader, size_t length)
{
	const uint8_t *bytes;
	size_t there;

	ck_assert_int_eq(ring_reader_peek(reader, &bytes, &there), RING_DATA);
	ck_assert_uint_ge(there, length);
	expect_bytes(bytes, ring_reader_position(reader), length);
	ck_assert_int_eq(ring_reader_release(reader, length), 0);
}

static struct ring_reader_report only_report(struct ring_writer *writer)
{
	struct ring_reader_report report = { .outcome = RING_PENDING };

	ck_assert_uint_eq(ring_writer_reports(writer, &report, 1), 1);
	return report;
}

/* ---- coming back ---------------------------------------------------------------------- */

START_TEST(who_comes_with_the_key_goes_on_at_the_tail)
{
	struct ring_writer *writer = make_observed(2);
	struct ring_reader *reader = join_keyed(LONG_MS);

	put_and_publish(writer, 300);
	take_part(reader, 100);
	reader_dies(reader);
	wait_until(entry_is(writer, 0, ENTRY_LINGER));
	wait_until(events_of(&events, RING_EVENT_READER_LOST) == 1);
	ck_assert_uint_eq(events.last[RING_EVENT_READER_LOST].tail, 100);
	reader = expect_back();
	ck_assert_uint_eq(reader->index, 0);
	ck_assert_uint_eq(ring_reader_start(reader), 0);
	ck_assert_uint_eq(ring_reader_position(reader), 100);
	ck_assert_uint_eq(ring_reader_tail(reader), 100);
	ck_assert_uint_eq(take_bytes(reader), 200);
	wait_until(events_of(&events, RING_EVENT_READER_BACK) == 1);
	ck_assert_int_eq(events.last[RING_EVENT_READER_BACK].process.pid, getpid());
	ck_assert(entry_is(writer, 0, ENTRY_ACTIVE));
	ck_assert_uint_eq(events_of(&events, RING_EVENT_READER_DIED), 0);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

START_TEST(one_need_not_wait_for_the_death_to_be_noticed)
{
	struct ring_writer *writer = make_observed(2);
	struct ring_reader *reader = join_keyed(LONG_MS);

	put_and_publish(writer, 10);
	pass_looks(&events, 1);
	for (unsigned turn = 0; turn < 3; turn++) {
		reader_dies(reader);
		reader = expect_back();
	}
	wait_until(events_of(&events, RING_EVENT_READER_BACK) >= 1);
	pass_looks(&events, 2);
	ck_assert_int_eq(ring_reader_check(reader), 0);
	ck_assert_uint_eq(take_bytes(reader), 10);
	ck_assert_uint_eq(events_of(&events, RING_EVENT_READER_DIED), 0);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

START_TEST(only_the_key_opens_an_entry)
{
	struct ring_writer *writer = make_observed(2);
	struct ring_reader *reader = join_keyed(LONG_MS), *plain = join_ring();

	expect_refused(KEY, -EBUSY);         /* its owner lives */
	expect_refused(KEY + 1, -ESRCH);
	expect_refused(0, -ESRCH);           /* though there is an entry with it */
	reader_dies(reader);
	wait_until(entry_is(writer, 0, ENTRY_LINGER));
	expect_refused(KEY + 1, -ESRCH);
	expect_refused(0, -ESRCH);
	ring_detach(expect_back());
	ring_detach(plain);
	ring_destroy(writer);
}
END_TEST

START_TEST(a_free_entry_is_not_taken_over_though_the_key_is_still_there)
{
	struct ring_writer *writer = make_observed(2);
	struct ring_reader *reader = join_keyed(0);

	reader_dies(reader);
	wait_until(events_of(&events, RING_EVENT_READER_DIED) == 1);
	wait_until(entry_is(writer, 0, ENTRY_FREE));
	ck_assert_uint_eq(atomic_load(&writer->segment.shared->entries[0].key), KEY);
	expect_refused(KEY, -ESRCH);
	/* Nor is its next owner's. */
	reader = join_ring();
	ck_assert_uint_eq(reader->index, 0);
	expect_refused(KEY, -ESRCH);
	reader_dies(reader);
	expect_refused(KEY, -ESRCH);
	ring_destroy(writer);
}
END_TEST

static void *come_back_at_once(void *result)
{
	struct ring_reader *reader;

	*(int *)result = come_back(&reader, KEY);
	return reader;
}

START_TEST(of_several_who_come_back_one_gets_the_entry)
{
	struct ring_writer *writer = make_observed(2);
	struct ring_reader *reader = join_keyed(LONG_MS);

	for (unsigned turn = 0; turn < 10; turn++) {
		pthread_t threads[4];
		int results[4];
		unsigned got = 0;

		reader_dies(reader);
		for (int i = 0; i < 4; i++)
			ck_assert_int_eq(pthread_create(&threads[i], NULL, come_back_at_once, &results[i]), 0);
		for (int i = 0; i < 4; i++) {
			void *handle;

			pthread_join(threads[i], &handle);
			if (results[i] == 0) {
				got++;
				reader = handle;
			} else {
				ck_assert(results[i] == -EBUSY || results[i] == -ESRCH);
			}
		}
		ck_assert_uint_eq(got, 1);
		ck_assert_int_eq(ring_reader_check(reader), 0);
	}
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

START_TEST(one_can_come_back_after_the_end)
{
	struct ring_writer *writer = make_observed(2);
	struct ring_reader *reader = join_keyed(LONG_MS);

	ck_assert_int_eq(ring_writer_wait_readers(writer, 1, DEADLINE_MS, NULL), 0);
	put_and_publish(writer, 100);
	ring_writer_end(writer, RING_COMPLETE, 0);
	reader_dies(reader);
	wait_until(entry_is(writer, 0, ENTRY_LINGER));
	ck_assert_int_eq(ring_writer_drain(writer, 0), -ETIMEDOUT);
	reader = expect_back();
	ck_assert_uint_eq(take_bytes(reader), 100);
	ck_assert_int_eq(peek_at(reader), RING_ENDED);
	ck_assert_int_eq(ring_reader_set_result(reader, 0), 0);
	ck_assert_int_eq(ring_writer_drain(writer, DEADLINE_MS), 0);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

START_TEST(what_was_counted_goes_on)
{
	struct ring_writer *writer = make_observed(2);
	struct ring_reader *reader = join_keyed(LONG_MS);

	ring_reader_count_messages(reader, 7);
	ring_reader_count_drop(reader);
	reader_dies(reader);
	reader = expect_back();
	ring_reader_count_messages(reader, 1);
	ring_reader_count_drop(reader);
	pass_looks(&events, 1);
	ck_assert_uint_eq(atomic_load(&writer->segment.shared->entries[0].messages), 8);
	ck_assert_uint_eq(only_report(writer).dropped_messages, 2);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

/* ---- who is waited for ------------------------------------------------------------------ */

START_TEST(a_lingering_entry_holds_the_writer_back_until_its_time_is_over)
{
	struct ring_writer *writer = make_observed(2);

	reader_dies(join_keyed(SHORT_MS));
	put_and_publish(writer, SLOT);
	put_and_publish(writer, SLOT);
	while (put_bytes(writer, 1) == -EAGAIN)
		ck_assert_int_eq(ring_writer_wait_space(writer, DEADLINE_MS), 0);
	wait_until(events_of(&events, RING_EVENT_READER_DIED) == 1);
	ck_assert_uint_eq(events_of(&events, RING_EVENT_READER_LOST), 1);
	wait_until(entry_is(writer, 0, ENTRY_FREE));
	ck_assert_int_eq(only_report(writer).outcome, RING_DIED);
	expect_refused(KEY, -ESRCH);
	ring_destroy(writer);
}
END_TEST

START_TEST(without_a_key_an_entry_is_freed_at_once)
{
	struct ring_writer *writer = make_observed(2);

	reader_dies(join_ring_with(keyed(0, LONG_MS)));
	wait_until(entry_is(writer, 0, ENTRY_FREE));
	wait_until(events_of(&events, RING_EVENT_READER_DIED) == 1);
	ck_assert_uint_eq(events_of(&events, RING_EVENT_READER_LOST), 0);
	ring_destroy(writer);
}
END_TEST

START_TEST(who_leaves_is_not_waited_for)
{
	struct ring_writer *writer = make_observed(2);

	ring_detach(join_keyed(LONG_MS));
	pass_looks(&events, 2);
	ck_assert(entry_is(writer, 0, ENTRY_FREE));
	ck_assert_uint_eq(events_of(&events, RING_EVENT_READER_LOST), 0);
	expect_refused(KEY, -ESRCH);
	ring_destroy(writer);
}
END_TEST

START_TEST(a_required_reader_stays_required)
{
	struct ring_writer *writer = make_observed(2);
	struct ring_reader *reader = join_keyed(LONG_MS);

	ck_assert_int_eq(ring_writer_wait_readers(writer, 1, DEADLINE_MS, NULL), 0);
	put_and_publish(writer, 100);
	reader_dies(reader);
	wait_until(events_of(&events, RING_EVENT_READER_LOST) == 1);
	ck_assert(events.last[RING_EVENT_READER_LOST].required);
	ck_assert_int_eq(put_bytes(writer, 1), 0);
	reader = expect_back();
	ck_assert(ring_reader_required(reader));
	ring_writer_end(writer, RING_COMPLETE, 0);
	ck_assert_int_eq(ring_reader_set_result(reader, 9), 0);
	ck_assert_int_eq(ring_writer_drain(writer, DEADLINE_MS), -EPIPE);
	ck_assert_int_eq(only_report(writer).outcome, RING_FAILED);
	ck_assert_int_eq(only_report(writer).code, 9);
	ck_assert(only_report(writer).required);
	ck_assert_uint_eq(events_of(&events, RING_EVENT_READER_LATE), 0);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

START_TEST(a_required_reader_that_does_not_come_back_died)
{
	struct ring_writer *writer = make_observed(2);
	struct ring_reader *reader = join_keyed(SHORT_MS);

	ck_assert_int_eq(ring_writer_wait_readers(writer, 1, DEADLINE_MS, NULL), 0);
	reader_dies(reader);
	wait_until(events_of(&events, RING_EVENT_READERS_OUT) == 1);
	ck_assert_int_eq(put_bytes(writer, 1), -EPIPE);
	ck_assert_int_eq(ring_writer_drain(writer, RING_FOREVER), -EPIPE);
	ck_assert_int_eq(only_report(writer).outcome, RING_DIED);
	ck_assert_uint_eq(atomic_load(&writer->segment.control->required), 0);
	ck_assert_uint_eq(atomic_load(&writer->segment.control->failed), 1);
	ring_destroy(writer);
}
END_TEST

START_TEST(who_stored_a_result_and_died_is_not_waited_for)
{
	struct ring_writer *writer = make_observed(2);
	struct ring_reader *reader = join_keyed(LONG_MS);
	int code;

	ck_assert_int_eq(ring_writer_wait_readers(writer, 1, DEADLINE_MS, NULL), 0);
	ring_writer_end(writer, RING_COMPLETE, 0);
	ck_assert_int_eq(ring_reader_set_result(reader, 0), 0);
	reader_dies(reader);
	ck_assert_int_eq(ring_writer_drain(writer, DEADLINE_MS), 0);
	/* But its heir can see what came of it. */
	wait_until(entry_is(writer, 0, ENTRY_LINGER));
	reader = expect_back();
	ck_assert(ring_reader_result(reader, &code));
	ck_assert_int_eq(code, 0);
	ring_detach(reader);
	wait_until(entry_is(writer, 0, ENTRY_FREE));
	ck_assert_int_eq(only_report(writer).outcome, RING_GOOD);
	ck_assert_uint_eq(events_of(&events, RING_EVENT_READER_LOST), 0);
	ck_assert_uint_eq(events_of(&events, RING_EVENT_READER_BACK), 0);
	ring_destroy(writer);
}
END_TEST

START_TEST(the_barrier_counts_nobody_who_is_dead)
{
	struct ring_writer *writer = make_observed(2);
	struct ring_reader *reader = join_keyed(LONG_MS);
	unsigned attached = 1;

	reader_dies(reader);
	wait_until(entry_is(writer, 0, ENTRY_LINGER));
	ck_assert_int_eq(ring_writer_wait_readers(writer, 1, 20, &attached), -ETIMEDOUT);
	ck_assert_uint_eq(attached, 0);
	reader = expect_back();
	ck_assert_int_eq(ring_writer_wait_readers(writer, 1, DEADLINE_MS, NULL), 0);
	ck_assert(ring_reader_required(reader));
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

START_TEST(a_lingering_reader_that_holds_the_ring_full_is_evicted)
{
	struct ring_writer *writer = make_ring_with(2, (struct ring_writer_options){
		.observer = events_note, .observer_context = &events, .stall_timeout_ms = SHORT_MS });
	struct ring_reader *reader = join_keyed(LONG_MS);

	ck_assert_int_eq(ring_writer_wait_readers(writer, 1, DEADLINE_MS, NULL), 0);
	reader_dies(reader);
	wait_until(entry_is(writer, 0, ENTRY_LINGER));
	put_and_publish(writer, SLOT);
	put_and_publish(writer, SLOT);
	while (put_bytes(writer, 1) == -EAGAIN)
		ring_writer_wait_space(writer, DEADLINE_MS);
	wait_until(events_of(&events, RING_EVENT_READER_EVICTED) == 1);
	ck_assert_int_eq(ring_writer_drain(writer, RING_FOREVER), -EPIPE);
	ck_assert_int_eq(only_report(writer).outcome, RING_EVICTED);
	expect_refused(KEY, -ESRCH);
	wait_until(entry_is(writer, 0, ENTRY_FREE));
	ck_assert_uint_eq(events_of(&events, RING_EVENT_READER_DIED), 0);
	ring_destroy(writer);
}
END_TEST

/* Whoever is first: either it died, or it came back and is there. */
START_TEST(coming_back_and_the_end_of_the_time_exclude_each_other)
{
	struct ring_writer *writer = make_observed(2);
	unsigned died = 0;

	for (unsigned turn = 0; turn < 20; turn++) {
		struct ring_reader *reader = join_keyed(1 + turn % 3);
		int error = -EAGAIN;

		pass_looks(&events, 1);
		reader_dies(reader);
		/* Half of them come as soon as the entry lingers: the writer's
		 * next look finds its time over. */
		wait_until(turn % 2 == 0 || !entry_is(writer, 0, ENTRY_ACTIVE));
		wait_until((error = come_back(&reader, KEY)) != -EBUSY);
		if (error != 0) {
			ck_assert_int_eq(error, -ESRCH);
			wait_until(events_of(&events, RING_EVENT_READER_DIED) == ++died);
			wait_until(entry_is(writer, 0, ENTRY_FREE));
			continue;
		}
		pass_looks(&events, 1);
		ck_assert_int_eq(ring_reader_check(reader), 0);
		ck_assert_uint_eq(events_of(&events, RING_EVENT_READER_DIED), died);
		ring_reader_set_result(reader, 0);
		ring_detach(reader);
		wait_until(entry_is(writer, 0, ENTRY_FREE));
	}
	ring_destroy(writer);
}
END_TEST

/* ---- garbage ------------------------------------------------------------------------------ */

START_TEST(a_forged_time_neither_overflows_nor_frees_early)
{
	static const uint64_t times[] = { UINT64_MAX, UINT64_MAX / 1000000u + 1, (uint64_t)1 << 63 };
	struct ring_writer *writer = make_observed(2);
	_Atomic uint64_t *linger_ms = &writer->segment.shared->entries[0].linger_ms;

	reader_dies(join_keyed(LONG_MS));
	for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
		atomic_store(linger_ms, times[i]);
		pass_looks(&events, 2);
		ck_assert(entry_is(writer, 0, ENTRY_LINGER));
	}
	atomic_store(linger_ms, 0);
	wait_until(entry_is(writer, 0, ENTRY_FREE));
	ring_destroy(writer);
}
END_TEST

START_TEST(a_forged_tail_makes_no_sense_to_who_comes_back)
{
	static const uint64_t tails[] = { 101, 5 * SLOT, (uint64_t)1 << 63, UINT64_MAX - 1 };
	struct ring_writer *writer = make_observed(2);

	put_and_publish(writer, 100);
	for (size_t i = 0; i < sizeof tails / sizeof tails[0]; i++) {
		struct ring_reader *reader = join_keyed(LONG_MS);

		reader_dies(reader);
		atomic_store(&writer->segment.shared->entries[0].tail, tails[i]);
		reader = expect_back();
		ck_assert_int_eq(peek_at(reader), -EBADMSG);
		ring_detach(reader);
		wait_until(entry_is(writer, 0, ENTRY_FREE));
	}
	ring_destroy(writer);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ring linger");
	TCase *back = fixture_case(suite, "back"), *waited = fixture_case(suite, "waited for");
	TCase *garbage = fixture_case(suite, "garbage");

	tcase_add_test(back, who_comes_with_the_key_goes_on_at_the_tail);
	tcase_add_test(back, one_need_not_wait_for_the_death_to_be_noticed);
	tcase_add_test(back, only_the_key_opens_an_entry);
	tcase_add_test(back, a_free_entry_is_not_taken_over_though_the_key_is_still_there);
	tcase_add_test(back, of_several_who_come_back_one_gets_the_entry);
	tcase_add_test(back, one_can_come_back_after_the_end);
	tcase_add_test(back, what_was_counted_goes_on);
	tcase_add_test(waited, a_lingering_entry_holds_the_writer_back_until_its_time_is_over);
	tcase_add_test(waited, without_a_key_an_entry_is_freed_at_once);
	tcase_add_test(waited, who_leaves_is_not_waited_for);
	tcase_add_test(waited, a_required_reader_stays_required);
	tcase_add_test(waited, a_required_reader_that_does_not_come_back_died);
	tcase_add_test(waited, who_stored_a_result_and_died_is_not_waited_for);
	tcase_add_test(waited, the_barrier_counts_nobody_who_is_dead);
	tcase_add_test(waited, a_lingering_reader_that_holds_the_ring_full_is_evicted);
	tcase_add_test(waited, coming_back_and_the_end_of_the_time_exclude_each_other);
	tcase_add_test(garbage, a_forged_time_neither_overflows_nor_frees_early);
	tcase_add_test(garbage, a_forged_tail_makes_no_sense_to_who_comes_back);
	return fixture_run(suite);
}
