/* test_ring_outcomes.c - the start barrier, results, deaths. */
// needs: tests/unit/ring_fixture.c
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* A ring with readers that the writer waits for. */
static struct ring_writer *make_required(struct ring_reader **readers, unsigned count)
{
	struct ring_writer *writer = make_observed(2, 0);
	unsigned attached = 0;

	for (unsigned i = 0; i < count; i++)
		readers[i] = join_ring();
	ck_assert_int_eq(ring_writer_wait_readers(writer, count, DEADLINE_MS, &attached), 0);
	ck_assert_uint_eq(attached, count);
	return writer;
}

static struct ring_reader_report report_of(struct ring_writer *writer, size_t number, size_t count)
{
	struct ring_reader_report reports[WRITER_KEPT_REPORTS + RING_MAX_READERS];

	ck_assert_uint_eq(ring_writer_reports(writer, reports, sizeof reports / sizeof reports[0]), count);
	return reports[number];
}

/* ---- the start barrier ------------------------------------------------------------------ */

START_TEST(the_barrier_times_out_and_says_how_many_came)
{
	struct ring_writer *writer = make_observed(2, 0);
	struct ring_reader *reader = join_ring();
	unsigned attached = 0;

	ck_assert_int_eq(ring_writer_wait_readers(writer, 2, 20, &attached), -ETIMEDOUT);
	ck_assert_uint_eq(attached, 1);
	ck_assert(!ring_reader_required(reader));
	ck_assert_uint_eq(atomic_load(&writer->segment.control->started), 0);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

START_TEST(a_barrier_for_none_or_too_many_is_refused)
{
	struct ring_writer *writer = make_ring(2);

	ck_assert_int_eq(ring_writer_wait_readers(writer, 0, 0, NULL), -EINVAL);
	ck_assert_int_eq(ring_writer_wait_readers(writer, RING_MAX_READERS + 1, 0, NULL), -EINVAL);
	ring_destroy(writer);
}
END_TEST

static void *join_soon(void *unused)
{
	(void)unused;
	return join_ring();
}

START_TEST(the_barrier_wakes_when_the_last_one_comes)
{
	struct ring_writer *writer = make_ring(2);
	pthread_t thread;
	void *reader;

	pthread_create(&thread, NULL, join_soon, NULL);
	ck_assert_int_eq(ring_writer_wait_readers(writer, 1, DEADLINE_MS, NULL), 0);
	pthread_join(thread, &reader);
	ck_assert(ring_reader_required(reader));
	ck_assert_uint_eq(atomic_load(&writer->segment.control->started), 1);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

START_TEST(who_comes_after_the_barrier_is_late_and_not_required)
{
	struct ring_reader *readers[1], *late;
	struct ring_writer *writer = make_required(readers, 1);

	late = join_ring();
	wait_until(events_of(&events, RING_EVENT_READER_LATE) == 1);
	ck_assert_int_eq(events.last[RING_EVENT_READER_LATE].entry, 1);
	ck_assert(!events.last[RING_EVENT_READER_LATE].required);
	ck_assert_int_eq(events.last[RING_EVENT_READER_LATE].process.pid, getpid());
	ck_assert_str_eq(events.last[RING_EVENT_READER_LATE].process.label, "reader");
	ck_assert(ring_reader_required(readers[0]));
	ck_assert(!ring_reader_required(late));
	ring_detach(late);
	ring_detach(readers[0]);
	ring_destroy(writer);
}
END_TEST

START_TEST(all_64_readers_can_be_required)
{
	struct ring_reader *readers[RING_MAX_READERS];
	struct ring_writer *writer = make_required(readers, RING_MAX_READERS);

	ck_assert_uint_eq(atomic_load(&writer->segment.control->required), UINT64_MAX);
	ring_writer_end(writer, RING_COMPLETE, 0);
	for (unsigned i = 0; i < RING_MAX_READERS; i++) {
		ck_assert(ring_reader_required(readers[i]));
		ck_assert_int_eq(ring_reader_set_result(readers[i], 0), 0);
		ring_detach(readers[i]);
	}
	ck_assert_int_eq(ring_writer_drain(writer, DEADLINE_MS), 0);
	ck_assert_int_eq(report_of(writer, 63, RING_MAX_READERS).outcome, RING_GOOD);
	ring_destroy(writer);
}
END_TEST

/* ---- results ------------------------------------------------------------------------------ */

START_TEST(the_drain_is_good_when_every_required_result_is)
{
	struct ring_reader *readers[2];
	struct ring_writer *writer = make_required(readers, 2);

	put_and_publish(writer, 100);
	ring_writer_end(writer, RING_COMPLETE, 0);
	ck_assert_int_eq(ring_writer_drain(writer, 0), -ETIMEDOUT);
	take_bytes(readers[0]);
	ck_assert_int_eq(ring_reader_set_result(readers[0], 0), 0);
	ck_assert_int_eq(ring_writer_drain(writer, 20), -ETIMEDOUT);
	take_bytes(readers[1]);
	ck_assert_int_eq(ring_reader_set_result(readers[1], 0), 0);
	ck_assert_int_eq(ring_writer_drain(writer, DEADLINE_MS), 0);
	ck_assert_int_eq(ring_writer_drain(writer, 0), 0);
	ck_assert_int_eq(report_of(writer, 0, 2).outcome, RING_GOOD);
	ck_assert_uint_eq(report_of(writer, 1, 2).tail, 100);
	ck_assert_uint_eq(events_of(&events, RING_EVENT_READERS_OUT), 1);
	ck_assert_uint_eq(events_of(&events, RING_EVENT_READER_DIED), 0);
	ring_detach(readers[0]);
	ring_detach(readers[1]);
	ring_destroy(writer);
}
END_TEST

START_TEST(a_result_that_was_stored_before_leaving_is_no_death)
{
	struct ring_reader *readers[1];
	struct ring_writer *writer = make_required(readers, 1);

	ring_writer_end(writer, RING_COMPLETE, 0);
	ck_assert_int_eq(ring_reader_set_result(readers[0], 0), 0);
	ring_detach(readers[0]);
	ck_assert_int_eq(ring_writer_drain(writer, DEADLINE_MS), 0);
	wait_until(entry_is(writer, 0, ENTRY_FREE));
	ck_assert_int_eq(report_of(writer, 0, 1).outcome, RING_GOOD);
	ck_assert_uint_eq(events_of(&events, RING_EVENT_READER_DIED), 0);
	ring_destroy(writer);
}
END_TEST

START_TEST(a_bad_result_spoils_the_drain_and_is_told)
{
	struct ring_reader *readers[2];
	struct ring_writer *writer = make_required(readers, 2);

	ring_writer_end(writer, RING_COMPLETE, 0);
	ck_assert_int_eq(ring_reader_set_result(readers[0], 5), 0);
	ck_assert_int_eq(ring_reader_set_result(readers[1], 0), 0);
	ck_assert_int_eq(ring_writer_drain(writer, DEADLINE_MS), -EPIPE);
	ck_assert_int_eq(report_of(writer, 0, 2).outcome, RING_FAILED);
	ck_assert_int_eq(report_of(writer, 0, 2).code, 5);
	ck_assert_int_eq(report_of(writer, 1, 2).outcome, RING_GOOD);
	ck_assert_uint_eq(events_of(&events, RING_EVENT_READER_FAILED), 1);
	ck_assert_int_eq(events.last[RING_EVENT_READER_FAILED].code, 5);
	ck_assert(events.last[RING_EVENT_READER_FAILED].required);
	ring_detach(readers[0]);
	ring_detach(readers[1]);
	ring_destroy(writer);
}
END_TEST

START_TEST(the_first_result_is_final)
{
	struct ring_reader *readers[1];
	struct ring_writer *writer = make_required(readers, 1);

	ck_assert_int_eq(ring_reader_set_result(readers[0], 5), 0);
	wait_until(events_of(&events, RING_EVENT_READER_FAILED) == 1);
	ck_assert_int_eq(ring_reader_set_result(readers[0], 0), 0);
	ck_assert_int_eq(ring_writer_drain(writer, DEADLINE_MS), -EPIPE);
	ring_detach(readers[0]);
	wait_until(entry_is(writer, 0, ENTRY_FREE));
	ck_assert_int_eq(ring_writer_drain(writer, 0), -EPIPE);
	ck_assert_int_eq(report_of(writer, 0, 1).outcome, RING_FAILED);
	ring_destroy(writer);
}
END_TEST

START_TEST(a_late_readers_outcome_does_not_count)
{
	struct ring_reader *readers[1], *late;
	struct ring_writer *writer = make_required(readers, 1);

	late = join_ring();
	wait_until(events_of(&events, RING_EVENT_READER_LATE) == 1);
	ring_writer_end(writer, RING_COMPLETE, 0);
	ck_assert_int_eq(ring_reader_set_result(late, 7), 0);
	ck_assert_int_eq(ring_reader_set_result(readers[0], 0), 0);
	ck_assert_int_eq(ring_writer_drain(writer, DEADLINE_MS), 0);
	wait_until(events_of(&events, RING_EVENT_READER_FAILED) == 1);
	ck_assert(report_of(writer, 0, 2).required);
	ck_assert(!report_of(writer, 1, 2).required);
	ck_assert_int_eq(report_of(writer, 1, 2).code, 7);
	ring_detach(late);
	ring_detach(readers[0]);
	ring_destroy(writer);
}
END_TEST

START_TEST(a_late_reader_in_a_required_ones_entry_does_not_speak_for_it)
{
	struct ring_reader *readers[1], *late;
	struct ring_writer *writer = make_required(readers, 1);

	ring_detach(readers[0]);
	wait_until(entry_is(writer, 0, ENTRY_FREE));
	late = join_ring();
	ck_assert_uint_eq(late->index, 0);
	ck_assert(!ring_reader_required(late));
	ck_assert_int_eq(ring_reader_set_result(late, 0), 0);
	ck_assert_int_eq(ring_writer_drain(writer, DEADLINE_MS), -EPIPE);
	ck_assert_int_eq(report_of(writer, 0, 2).outcome, RING_DIED);
	ck_assert_int_eq(report_of(writer, 1, 2).outcome, RING_GOOD);
	ring_detach(late);
	ring_destroy(writer);
}
END_TEST

START_TEST(reports_that_find_no_room_are_counted)
{
	struct ring_reader *readers[3];
	struct ring_writer *writer = make_required(readers, 3);
	struct ring_reader_report one;

	memset(&one, 0, sizeof one);
	ck_assert_uint_eq(ring_writer_reports(writer, NULL, 0), 3);
	ck_assert_uint_eq(ring_writer_reports(writer, &one, 1), 3);
	ck_assert_int_eq(one.process.pid, getpid());
	for (int i = 0; i < 3; i++)
		ring_detach(readers[i]);
	ring_destroy(writer);
}
END_TEST

/* More leave than reports are kept: the required one's stays. */
START_TEST(a_required_readers_report_is_kept_among_many)
{
	struct ring_reader *readers[1], *late[RING_MAX_READERS - 1];
	struct ring_reader_report reports[WRITER_KEPT_REPORTS + RING_MAX_READERS];
	struct ring_writer *writer = make_required(readers, 1);
	size_t count;

	for (int turn = 0; turn < 3; turn++) {
		for (int i = 0; i < RING_MAX_READERS - 1; i++)
			late[i] = join_ring();
		pass_looks(&events, 2);
		for (int i = 0; i < RING_MAX_READERS - 1; i++)
			ring_detach(late[i]);
		for (unsigned i = 1; i < RING_MAX_READERS; i++)
			wait_until(entry_is(writer, i, ENTRY_FREE));
	}
	ck_assert_int_eq(ring_reader_set_result(readers[0], 3), 0);
	ring_detach(readers[0]);
	wait_until(entry_is(writer, 0, ENTRY_FREE));
	count = ring_writer_reports(writer, reports, sizeof reports / sizeof reports[0]);
	ck_assert_uint_le(count, WRITER_KEPT_REPORTS);
	ck_assert(reports[0].required);
	ck_assert_int_eq(reports[0].outcome, RING_FAILED);
	ck_assert_int_eq(reports[0].code, 3);
	ring_destroy(writer);
}
END_TEST

/* ---- deaths --------------------------------------------------------------------------------- */

/* Waits for the ring, takes what there is until 100 bytes came, tells, hangs. */
static void attach_and_hang(struct sides sides)
{
	struct ring_reader_options options = { .label = "victim" };
	struct ring_reader *reader;
	const uint8_t *bytes;
	size_t length;

	if (ring_attach_wait(&reader, fixture_name(0), &options, DEADLINE_MS, NULL) != 0)
		_exit(1);
	parent_tell(sides);
	while (ring_reader_position(reader) < 100)
		if (ring_reader_peek(reader, &bytes, &length) == RING_DATA)
			ring_reader_release(reader, length);
		else
			ring_reader_wait(reader, RING_FOREVER);
	parent_tell(sides);
	child_hang();
}

START_TEST(a_killed_reader_is_told_and_its_entry_freed)
{
	struct child child = child_start(attach_and_hang);
	struct ring_writer *writer = make_observed(2, 0);

	child_await(&child);
	ck_assert_int_eq(ring_writer_wait_readers(writer, 1, DEADLINE_MS, NULL), 0);
	put_and_publish(writer, 100);
	child_await(&child);
	put_and_publish(writer, 50);
	child_kill(&child);
	wait_until(entry_is(writer, 0, ENTRY_FREE));
	wait_until(events_of(&events, RING_EVENT_READERS_OUT) == 1);
	ck_assert_uint_eq(events_of(&events, RING_EVENT_READER_DIED), 1);
	ck_assert_int_eq(events.last[RING_EVENT_READER_DIED].process.pid, child.pid);
	ck_assert_str_eq(events.last[RING_EVENT_READER_DIED].process.label, "victim");
	ck_assert_uint_ge(events.last[RING_EVENT_READER_DIED].tail, 100);
	ck_assert(events.last[RING_EVENT_READER_DIED].required);
	ck_assert_uint_eq(atomic_load(&writer->segment.control->required), 0);
	ck_assert_int_eq(report_of(writer, 0, 1).outcome, RING_DIED);
	ring_destroy(writer);
}
END_TEST

START_TEST(a_killed_reader_wakes_the_writer_that_waits_for_it)
{
	struct child child = child_start(attach_and_hang);
	struct ring_reader *reader;
	struct ring_writer *writer = make_observed(2, 0);
	uint64_t before;

	child_await(&child);
	reader = join_ring();
	ck_assert_int_eq(ring_writer_wait_readers(writer, 2, DEADLINE_MS, NULL), 0);
	for (int slot = 0; slot < 4; slot++) {
		int error;

		while ((error = put_bytes(writer, SLOT)) == -EAGAIN && slot < 3)
			ck_assert_int_eq(ring_writer_wait_space(writer, DEADLINE_MS), 0);
		ring_writer_publish(writer);
		ck_assert_int_eq(error, slot < 3 ? 0 : -EAGAIN);
		if (error == 0)
			take_bytes(reader);
	}
	child_await(&child);
	before = ring_writer_blocked_ns(writer);
	child_kill(&child);
	while (put_bytes(writer, SLOT) == -EAGAIN)
		ck_assert_int_eq(ring_writer_wait_space(writer, DEADLINE_MS), 0);
	ck_assert_uint_ge(ring_writer_blocked_ns(writer), before);
	/* One required reader is left, so the stream goes on. */
	ring_writer_publish(writer);
	take_bytes(reader);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

START_TEST(without_a_required_reader_the_writer_is_stopped)
{
	struct ring_reader *readers[2], *late;
	struct ring_writer *writer = make_required(readers, 2);
	uint64_t position;

	late = join_ring();
	put_and_publish(writer, SLOT);
	put_and_publish(writer, SLOT - 10);
	ring_detach(readers[0]);
	wait_until(entry_is(writer, 0, ENTRY_FREE));
	ck_assert_int_eq(put_bytes(writer, 1), 0);
	ring_detach(readers[1]);
	wait_until(events_of(&events, RING_EVENT_READERS_OUT) == 1);
	position = ring_writer_position(writer);
	ck_assert_int_eq(put_bytes(writer, 1), -EPIPE);
	ck_assert_int_eq(ring_writer_wait_space(writer, RING_FOREVER), -EPIPE);
	ck_assert_uint_eq(ring_writer_position(writer), position);
	/* The end can always be told. */
	ring_writer_end(writer, RING_ABORTED, 1);
	ck_assert_int_eq(ring_writer_drain(writer, RING_FOREVER), -EPIPE);
	ring_detach(late);
	ring_destroy(writer);
}
END_TEST

START_TEST(a_reader_that_lost_its_lock_is_dead_and_is_told_so)
{
	struct ring_reader *readers[1];
	struct ring_writer *writer = make_required(readers, 1);

	put_and_publish(writer, 10);
	segment_unlock(&readers[0]->segment, RING_LOCK_ENTRY(0));
	wait_until(entry_is(writer, 0, ENTRY_FREE));
	ck_assert_uint_eq(events_of(&events, RING_EVENT_READER_DIED), 1);
	ck_assert_int_eq(ring_reader_check(readers[0]), -ESTALE);
	ck_assert_int_eq(ring_reader_release(readers[0], 10), -ESTALE);
	ck_assert_int_eq(peek_at(readers[0]), -ESTALE);
	ck_assert_int_eq(ring_reader_set_result(readers[0], 0), -ESTALE);
	ring_detach(readers[0]);
	ring_destroy(writer);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ring outcomes");
	TCase *barrier = fixture_case(suite, "barrier"), *results = fixture_case(suite, "results");
	TCase *deaths = fixture_case(suite, "deaths");

	tcase_add_test(barrier, the_barrier_times_out_and_says_how_many_came);
	tcase_add_test(barrier, a_barrier_for_none_or_too_many_is_refused);
	tcase_add_test(barrier, the_barrier_wakes_when_the_last_one_comes);
	tcase_add_test(barrier, who_comes_after_the_barrier_is_late_and_not_required);
	tcase_add_test(barrier, all_64_readers_can_be_required);
	tcase_add_test(results, the_drain_is_good_when_every_required_result_is);
	tcase_add_test(results, a_result_that_was_stored_before_leaving_is_no_death);
	tcase_add_test(results, a_bad_result_spoils_the_drain_and_is_told);
	tcase_add_test(results, the_first_result_is_final);
	tcase_add_test(results, a_late_readers_outcome_does_not_count);
	tcase_add_test(results, a_late_reader_in_a_required_ones_entry_does_not_speak_for_it);
	tcase_add_test(results, reports_that_find_no_room_are_counted);
	tcase_add_test(results, a_required_readers_report_is_kept_among_many);
	tcase_add_test(deaths, a_killed_reader_is_told_and_its_entry_freed);
	tcase_add_test(deaths, a_killed_reader_wakes_the_writer_that_waits_for_it);
	tcase_add_test(deaths, without_a_required_reader_the_writer_is_stopped);
	tcase_add_test(deaths, a_reader_that_lost_its_lock_is_dead_and_is_told_so);
	return fixture_run(suite);
}
