/* test_ring_ends.c - how a stream ends: told, by death, or interrupted. */
// needs: tests/unit/ring_fixture.c
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/unit/ring_fixture.h"

static struct events events;       /* of the reader */

static struct ring_reader *join_observed(void)
{
	return join_ring_with((struct ring_reader_options){
		.observer = events_note, .observer_context = &events });
}

/* ---- told ------------------------------------------------------------------------------- */

START_TEST(the_end_is_found_after_every_byte)
{
	struct ring_writer *writer = make_ring(3);
	struct ring_reader *reader = join_ring();
	int code = -1;

	ck_assert_int_eq(ring_reader_end(reader, &code), RING_OPEN);
	ck_assert_int_eq(put_bytes(writer, SLOT - 1), 0);
	ck_assert_int_eq(put_bytes(writer, 100), 0);
	ring_writer_end(writer, RING_COMPLETE, 0);
	ck_assert_int_eq(ring_reader_end(reader, &code), RING_COMPLETE);
	ck_assert_int_eq(code, 0);
	ck_assert_uint_eq(take_bytes(reader), SLOT - 1);
	ck_assert_uint_eq(take_bytes(reader), 100);
	ck_assert_int_eq(peek_at(reader), RING_ENDED);
	ck_assert_int_eq(peek_at(reader), RING_ENDED);
	ck_assert_int_eq(ring_reader_wait(reader, RING_FOREVER), 0);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

START_TEST(an_empty_stream_ends_at_once)
{
	struct ring_writer *writer = make_ring(2);
	struct ring_reader *reader = join_ring();

	ring_writer_end(writer, RING_COMPLETE, 0);
	ck_assert_int_eq(peek_at(reader), RING_ENDED);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

START_TEST(an_abort_carries_the_writers_exit_code)
{
	static const int codes[] = { 0, 1, 5, 127, 143, 255 };

	for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
		struct ring_writer *writer = make_ring(2);
		struct ring_reader *reader = join_observed();
		int code = -1;

		atomic_store(&events.count[RING_EVENT_END], 0);
		ring_writer_end(writer, RING_ABORTED, codes[i]);
		ck_assert_int_eq(ring_reader_end(reader, &code), RING_ABORTED);
		ck_assert_int_eq(code, codes[i]);
		wait_until(events_of(&events, RING_EVENT_END) == 1);
		ck_assert_int_eq(events.last[RING_EVENT_END].end, RING_ABORTED);
		ck_assert_int_eq(events.last[RING_EVENT_END].code, codes[i]);
		ring_detach(reader);
		ring_destroy(writer);
	}
}
END_TEST

START_TEST(an_abort_needs_no_room_in_the_ring)
{
	struct ring_writer *writer = make_ring(2);
	struct ring_reader *reader = join_ring();

	put_and_publish(writer, SLOT);
	ck_assert_int_eq(put_bytes(writer, SLOT), 0);
	ck_assert_int_eq(put_bytes(writer, 1), -EAGAIN);
	ring_writer_end(writer, RING_ABORTED, 1);
	ck_assert_uint_eq(take_bytes(reader), SLOT);
	ck_assert_uint_eq(take_bytes(reader), SLOT);
	ck_assert_int_eq(peek_at(reader), RING_ENDED);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

START_TEST(a_writer_that_leaves_after_the_end_did_not_die)
{
	struct ring_writer *writer = make_ring(2);
	struct ring_reader *reader = join_observed();
	unsigned looks;
	int code;

	put_and_publish(writer, 100);
	ring_writer_end(writer, RING_COMPLETE, 0);
	ring_destroy(writer);
	looks = events_of(&events, RING_EVENT_TICK);
	wait_until(events_of(&events, RING_EVENT_TICK) >= looks + 3);
	ck_assert_uint_eq(take_bytes(reader), 100);
	ck_assert_int_eq(peek_at(reader), RING_ENDED);
	ck_assert_int_eq(ring_reader_end(reader, &code), RING_COMPLETE);
	ck_assert_uint_eq(events_of(&events, RING_EVENT_WRITER_DIED), 0);
	ck_assert_uint_eq(events_of(&events, RING_EVENT_END), 1);
	ck_assert_int_eq(ring_reader_set_result(reader, 0), 0);
	ring_detach(reader);
}
END_TEST

static void *wait_and_peek(void *reader)
{
	int *found = malloc(sizeof *found);

	ck_assert_ptr_nonnull(found);
	do {
		if (ring_reader_wait(reader, DEADLINE_MS) != 0) {
			*found = -ETIMEDOUT;
			break;
		}
		*found = peek_at(reader);
	} while (*found == RING_EMPTY);
	return found;
}

START_TEST(the_end_wakes_readers_that_sleep)
{
	struct ring_writer *writer = make_ring(2);
	struct ring_reader *readers[3];
	pthread_t threads[3];

	for (int i = 0; i < 3; i++) {
		readers[i] = join_ring();
		ck_assert_int_eq(pthread_create(&threads[i], NULL, wait_and_peek, readers[i]), 0);
	}
	wait_until(atomic_load(&writer->segment.shared->sleeping) == 7);
	ring_writer_end(writer, RING_COMPLETE, 0);
	for (int i = 0; i < 3; i++) {
		void *found;

		ck_assert_int_eq(pthread_join(threads[i], &found), 0);
		ck_assert_int_eq(*(int *)found, RING_ENDED);
		free(found);
		ring_detach(readers[i]);
	}
	ring_destroy(writer);
}
END_TEST

/* ---- the writer's death ------------------------------------------------------------------------ */

#define PUBLISHED (SLOT + 1000)

/* Publishes some, commits more, has room for more still, and hangs. */
static void publish_and_hang(struct sides sides)
{
	struct ring_writer *writer = make_ring(3);
	uint8_t *room;
	size_t length;

	if (ring_writer_wait_readers(writer, 1, DEADLINE_MS, NULL) != 0)
		_exit(1);
	put_and_publish(writer, SLOT);
	put_and_publish(writer, PUBLISHED - SLOT);
	if (put_bytes(writer, 100) != 0 || ring_writer_claim(writer, 100, &room, &length) != 0)
		_exit(1);
	fill_bytes(room, 0, 100);
	parent_tell(sides);
	child_hang();
}

static struct ring_reader *join_soon(void)
{
	struct ring_reader_options options = {
		.observer = events_note, .observer_context = &events };
	struct ring_reader *reader = NULL;

	ck_assert_int_eq(ring_attach_wait(&reader, fixture_name(0), &options, DEADLINE_MS, NULL), 0);
	return reader;
}

START_TEST(a_killed_writer_is_told_after_every_published_byte)
{
	struct child child = child_start(publish_and_hang);
	struct ring_reader *reader = join_soon();
	int code;

	child_await(&child);
	child_kill(&child);
	wait_until(events_of(&events, RING_EVENT_WRITER_DIED) == 1);
	ck_assert_int_eq(events.last[RING_EVENT_WRITER_DIED].process.pid, child.pid);
	ck_assert_uint_eq(take_bytes(reader), SLOT);
	ck_assert_uint_eq(take_bytes(reader), PUBLISHED - SLOT);
	ck_assert_int_eq(peek_at(reader), -EOWNERDEAD);
	ck_assert_int_eq(peek_at(reader), -EOWNERDEAD);
	ck_assert_int_eq(ring_reader_wait(reader, RING_FOREVER), 0);
	ck_assert_uint_eq(ring_reader_position(reader), PUBLISHED);
	ck_assert_int_eq(ring_reader_end(reader, &code), RING_OPEN);
	ck_assert(name_exists(0));
	ring_detach(reader);
	ck_assert(!name_exists(0));
}
END_TEST

START_TEST(a_killed_writer_wakes_a_reader_that_sleeps)
{
	struct child child = child_start(publish_and_hang);
	struct ring_reader *reader = join_soon();

	child_await(&child);
	take_bytes(reader);
	take_bytes(reader);
	ck_assert_int_eq(peek_at(reader), RING_EMPTY);
	child_kill(&child);
	ck_assert_int_eq(ring_reader_wait(reader, DEADLINE_MS), 0);
	ck_assert_int_eq(peek_at(reader), -EOWNERDEAD);
	ring_detach(reader);
}
END_TEST

START_TEST(a_stopped_writer_is_alive)
{
	struct child child = child_start(publish_and_hang);
	struct ring_reader *reader = join_soon();
	unsigned looks;

	child_await(&child);
	kill(child.pid, SIGSTOP);
	looks = events_of(&events, RING_EVENT_TICK);
	wait_until(events_of(&events, RING_EVENT_TICK) >= looks + 5);
	ck_assert_uint_eq(events_of(&events, RING_EVENT_WRITER_DIED), 0);
	take_bytes(reader);
	take_bytes(reader);
	ck_assert_int_eq(peek_at(reader), RING_EMPTY);
	child_kill(&child);
	wait_until(events_of(&events, RING_EVENT_WRITER_DIED) == 1);
	ring_detach(reader);
}
END_TEST

START_TEST(a_ring_destroyed_without_an_end_reads_as_a_death)
{
	struct ring_writer *writer = make_ring(2);
	struct ring_reader *reader = join_observed();

	put_and_publish(writer, 100);
	ring_destroy(writer);
	ck_assert_uint_eq(take_bytes(reader), 100);
	wait_until(peek_at(reader) == -EOWNERDEAD);
	ck_assert_uint_eq(events_of(&events, RING_EVENT_END), 0);
	ring_detach(reader);
}
END_TEST

START_TEST(the_last_reader_of_a_dead_writer_leaves_a_new_ring_alone)
{
	struct child child = child_start(publish_and_hang);
	struct ring_reader *reader = join_soon();
	struct ring_writer *writer;

	child_await(&child);
	child_kill(&child);
	writer = make_ring(2);
	wait_until(events_of(&events, RING_EVENT_WRITER_DIED) == 1);
	ring_detach(reader);
	ck_assert(name_exists(0));
	ring_detach(join_ring());
	ring_destroy(writer);
}
END_TEST

/* ---- interrupted ---------------------------------------------------------------------------------- */

START_TEST(an_interrupted_reader_does_not_wait_again)
{
	struct ring_writer *writer = make_ring(2);
	struct ring_reader *reader = join_ring();

	ring_reader_interrupt(reader);
	ck_assert_int_eq(ring_reader_wait(reader, RING_FOREVER), -EINTR);
	ck_assert_int_eq(ring_reader_wait(reader, RING_FOREVER), -EINTR);
	put_and_publish(writer, 10);
	ck_assert_uint_eq(take_bytes(reader), 10);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

static void *wait_as_reader(void *reader)
{
	ck_assert_int_eq(ring_reader_wait(reader, DEADLINE_MS), -EINTR);
	return NULL;
}

START_TEST(a_sleeping_reader_is_interrupted)
{
	struct ring_writer *writer = make_ring(2);
	struct ring_reader *reader = join_ring();
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, wait_as_reader, reader), 0);
	wait_until(atomic_load(&writer->segment.shared->sleeping) == 1);
	ring_reader_interrupt(reader);
	pthread_join(thread, NULL);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

START_TEST(an_interrupted_writer_neither_claims_nor_waits_but_ends)
{
	struct ring_writer *writer = make_ring(2);
	struct ring_reader *reader = join_ring();
	int code;

	put_and_publish(writer, 10);
	ck_assert_int_eq(put_bytes(writer, 10), 0);
	ring_writer_interrupt(writer);
	ring_writer_interrupt(writer);
	ck_assert_int_eq(put_bytes(writer, 10), -EINTR);
	ck_assert_int_eq(ring_writer_wait_space(writer, RING_FOREVER), -EINTR);
	ck_assert_int_eq(ring_writer_wait_readers(writer, 2, RING_FOREVER, NULL), -EINTR);
	ck_assert_uint_eq(ring_writer_position(writer), 20);
	ring_writer_end(writer, RING_ABORTED, 143);
	ck_assert_uint_eq(take_bytes(reader), 20);
	ck_assert_int_eq(peek_at(reader), RING_ENDED);
	ck_assert_int_eq(ring_reader_end(reader, &code), RING_ABORTED);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

static void *wait_for_readers(void *writer)
{
	ck_assert_int_eq(ring_writer_wait_readers(writer, 1, DEADLINE_MS, NULL), -EINTR);
	return NULL;
}

static void *wait_for_space(void *writer)
{
	int error;

	while ((error = ring_writer_wait_space(writer, DEADLINE_MS)) == 0)
		continue;
	ck_assert_int_eq(error, -EINTR);
	return NULL;
}

static void *wait_for_results(void *writer)
{
	ck_assert_int_eq(ring_writer_drain(writer, DEADLINE_MS), -EINTR);
	return NULL;
}

static void interrupt_while(struct ring_writer *writer, void *(*waiting)(void *))
{
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, waiting, writer), 0);
	fixture_nap();
	ring_writer_interrupt(writer);
	pthread_join(thread, NULL);
}

START_TEST(a_writer_is_interrupted_while_it_waits_for_readers)
{
	struct ring_writer *writer = make_ring(2);

	interrupt_while(writer, wait_for_readers);
	ring_destroy(writer);
}
END_TEST

START_TEST(a_writer_is_interrupted_while_it_waits_for_space)
{
	struct ring_writer *writer = make_ring(2);
	struct ring_reader *reader = join_ring();

	put_and_publish(writer, SLOT);
	put_and_publish(writer, SLOT);
	ck_assert_int_eq(put_bytes(writer, 1), -EAGAIN);
	interrupt_while(writer, wait_for_space);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

START_TEST(a_writer_is_interrupted_while_it_waits_for_results)
{
	struct ring_writer *writer = make_ring(2);
	struct ring_reader *reader = join_ring();

	ck_assert_int_eq(ring_writer_wait_readers(writer, 1, DEADLINE_MS, NULL), 0);
	ring_writer_end(writer, RING_COMPLETE, 0);
	interrupt_while(writer, wait_for_results);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ring ends");
	TCase *told = fixture_case(suite, "told"), *death = fixture_case(suite, "death");
	TCase *interrupted = fixture_case(suite, "interrupted");

	tcase_add_test(told, the_end_is_found_after_every_byte);
	tcase_add_test(told, an_empty_stream_ends_at_once);
	tcase_add_test(told, an_abort_carries_the_writers_exit_code);
	tcase_add_test(told, an_abort_needs_no_room_in_the_ring);
	tcase_add_test(told, a_writer_that_leaves_after_the_end_did_not_die);
	tcase_add_test(told, the_end_wakes_readers_that_sleep);
	tcase_add_test(death, a_killed_writer_is_told_after_every_published_byte);
	tcase_add_test(death, a_killed_writer_wakes_a_reader_that_sleeps);
	tcase_add_test(death, a_stopped_writer_is_alive);
	tcase_add_test(death, a_ring_destroyed_without_an_end_reads_as_a_death);
	tcase_add_test(death, the_last_reader_of_a_dead_writer_leaves_a_new_ring_alone);
	tcase_add_test(interrupted, an_interrupted_reader_does_not_wait_again);
	tcase_add_test(interrupted, a_sleeping_reader_is_interrupted);
	tcase_add_test(interrupted, an_interrupted_writer_neither_claims_nor_waits_but_ends);
	tcase_add_test(interrupted, a_writer_is_interrupted_while_it_waits_for_readers);
	tcase_add_test(interrupted, a_writer_is_interrupted_while_it_waits_for_space);
	tcase_add_test(interrupted, a_writer_is_interrupted_while_it_waits_for_results);
	return fixture_run(suite);
}
