/* test_ring_eviction.c - readers without progress: named, or evicted. */
// needs: tests/unit/ring_fixture.c
#include <errno.h>
#include <pthread.h>

#include "tests/unit/ring_fixture.h"

static struct events events;       /* of the writer */

static struct ring_writer *make_observed(uint32_t slots, int64_t stall_timeout_ms)
{
	return make_ring_with(slots, (struct ring_writer_options){
		.observer = events_note,
		.observer_context = &events,
		.stall_timeout_ms = stall_timeout_ms,
	});
}

/* A ring that is full for a reader, and the writer waits until that is evicted. */
static struct ring_writer *make_stalled(struct ring_reader **stalled, struct events *of_reader)
{
	struct ring_writer *writer = make_observed(2, 100);

	*stalled = join_ring_with((struct ring_reader_options){
		.label = "stalled", .observer = events_note, .observer_context = of_reader });
	ck_assert_int_eq(ring_writer_wait_readers(writer, 1, DEADLINE_MS, NULL), 0);
	put_and_publish(writer, SLOT);
	put_and_publish(writer, SLOT);
	while (put_bytes(writer, SLOT) == -EAGAIN) {
		int error = ring_writer_wait_space(writer, DEADLINE_MS);

		if (error == -EPIPE)
			break;
		ck_assert_int_eq(error, 0);
	}
	return writer;
}

START_TEST(a_stalled_reader_is_evicted_and_both_sides_know)
{
	static struct events of_reader;
	struct ring_reader *reader;
	struct ring_writer *writer = make_stalled(&reader, &of_reader);
	struct ring_reader_report report;

	ck_assert(entry_is(writer, 0, ENTRY_EVICTED));
	wait_until(events_of(&events, RING_EVENT_READERS_OUT) == 1);
	ck_assert_uint_eq(events_of(&events, RING_EVENT_READER_EVICTED), 1);
	ck_assert_str_eq(events.last[RING_EVENT_READER_EVICTED].process.label, "stalled");
	wait_until(events_of(&of_reader, RING_EVENT_EVICTED) == 1);
	ck_assert_int_eq(ring_reader_check(reader), -ESTALE);
	ck_assert_int_eq(ring_reader_release(reader, 0), -ESTALE);
	ck_assert_int_eq(ring_reader_set_result(reader, 0), -ESTALE);
	ck_assert_int_eq(ring_reader_wait(reader, RING_FOREVER), 0);
	ck_assert_uint_eq(atomic_load(&writer->segment.control->evictions), 1);
	ck_assert_int_eq(ring_writer_drain(writer, DEADLINE_MS), -EPIPE);
	ck_assert_uint_eq(ring_writer_reports(writer, &report, 1), 1);
	ck_assert_int_eq(report.outcome, RING_EVICTED);
	ck_assert_uint_gt(ring_writer_blocked_ns(writer), 0);
	ck_assert_uint_eq(events_of(&events, RING_EVENT_READER_DIED), 0);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

START_TEST(an_evicted_reader_keeps_its_entry_locked_until_it_leaves)
{
	static struct events of_reader;
	struct ring_reader *reader, *next;
	struct ring_writer *writer = make_stalled(&reader, &of_reader);

	pass_looks(&events, 3);
	ck_assert(entry_is(writer, 0, ENTRY_EVICTED));
	next = join_ring();
	ck_assert_uint_eq(next->index, 1);
	ring_detach(reader);
	wait_until(entry_is(writer, 0, ENTRY_FREE));
	/* That was told already. */
	ck_assert_uint_eq(events_of(&events, RING_EVENT_READER_DIED), 0);
	ck_assert_uint_eq(events_of(&events, RING_EVENT_READER_EVICTED), 1);
	ring_detach(next);
	ring_destroy(writer);
}
END_TEST

START_TEST(an_evicted_reader_holds_nothing_back_and_others_go_on)
{
	struct ring_writer *writer = make_observed(2, 100);
	struct ring_reader *stalled = join_ring(), *good = join_ring();

	ck_assert_int_eq(ring_writer_wait_readers(writer, 2, DEADLINE_MS, NULL), 0);
	for (int slot = 0; slot < 6; slot++) {
		while (put_bytes(writer, SLOT) == -EAGAIN)
			ck_assert_int_eq(ring_writer_wait_space(writer, DEADLINE_MS), 0);
		ring_writer_publish(writer);
		ck_assert_uint_eq(take_bytes(good), SLOT);
	}
	wait_until(events_of(&events, RING_EVENT_READER_EVICTED) == 1);
	ck_assert_int_eq(events.last[RING_EVENT_READER_EVICTED].entry, 0);
	/* It was lapped, and does not take what it sees for the stream. */
	ck_assert_int_eq(peek_at(stalled), -ESTALE);
	ring_detach(stalled);
	ring_detach(good);
	ring_destroy(writer);
}
END_TEST

START_TEST(a_reader_that_waits_for_data_is_not_stalled)
{
	struct ring_writer *writer = make_observed(2, 1);
	struct ring_reader *reader = join_ring();

	ck_assert_int_eq(ring_writer_wait_readers(writer, 1, DEADLINE_MS, NULL), 0);
	put_and_publish(writer, 100);
	pass_looks(&events, 5);
	ck_assert_uint_eq(events_of(&events, RING_EVENT_READER_EVICTED), 0);
	ck_assert_int_eq(ring_reader_check(reader), 0);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

START_TEST(a_full_ring_evicts_nobody_while_the_writer_does_not_wait)
{
	struct ring_writer *writer = make_observed(2, 1);
	struct ring_reader *reader = join_ring();

	ck_assert_int_eq(ring_writer_wait_readers(writer, 1, DEADLINE_MS, NULL), 0);
	put_and_publish(writer, SLOT);
	put_and_publish(writer, SLOT);
	ck_assert_int_eq(put_bytes(writer, 1), -EAGAIN);
	pass_looks(&events, 5);
	ck_assert_uint_eq(events_of(&events, RING_EVENT_READER_EVICTED), 0);
	ck_assert_uint_eq(take_bytes(reader), SLOT);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

START_TEST(without_a_stall_timeout_a_slow_reader_is_only_named)
{
	struct ring_writer *writer = make_observed(2, 0);
	struct ring_reader *reader = join_ring();
	struct reader_note *note = &writer->notes[0];

	ck_assert_int_eq(ring_writer_wait_readers(writer, 1, DEADLINE_MS, NULL), 0);
	put_and_publish(writer, SLOT);
	put_and_publish(writer, SLOT);
	/* As if the writer slept, and had done so for ten seconds. */
	atomic_store(&writer->waiting_for, 2 * SLOT);
	pass_looks(&events, 2);
	pthread_mutex_lock(&writer->lock);
	note->progress_ns -= WRITER_SLOW_NS;
	pthread_mutex_unlock(&writer->lock);
	wait_until(events_of(&events, RING_EVENT_READER_SLOW) == 1);
	pass_looks(&events, 3);
	ck_assert_uint_eq(events_of(&events, RING_EVENT_READER_SLOW), 1);
	ck_assert_int_eq(events.last[RING_EVENT_READER_SLOW].entry, 0);
	ck_assert_uint_eq(events_of(&events, RING_EVENT_READER_EVICTED), 0);
	/* When it moves, and stops again, it is named again. */
	take_bytes(reader);
	pass_looks(&events, 2);
	pthread_mutex_lock(&writer->lock);
	note->progress_ns -= WRITER_SLOW_NS;
	pthread_mutex_unlock(&writer->lock);
	wait_until(events_of(&events, RING_EVENT_READER_SLOW) == 2);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ring eviction");
	TCase *eviction = fixture_case(suite, "eviction");

	tcase_add_test(eviction, a_stalled_reader_is_evicted_and_both_sides_know);
	tcase_add_test(eviction, an_evicted_reader_keeps_its_entry_locked_until_it_leaves);
	tcase_add_test(eviction, an_evicted_reader_holds_nothing_back_and_others_go_on);
	tcase_add_test(eviction, a_reader_that_waits_for_data_is_not_stalled);
	tcase_add_test(eviction, a_full_ring_evicts_nobody_while_the_writer_does_not_wait);
	tcase_add_test(eviction, without_a_stall_timeout_a_slow_reader_is_only_named);
	return fixture_run(suite);
}
