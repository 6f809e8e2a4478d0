/* test_ring_takeover.c - writers that die and are replaced. */
// needs: tests/unit/ring_fixture.c
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/ring_fixture.h"

#define LONG_MS 60000              /* may be replaced as long as the test runs */
#define SHORT_MS 150

static struct events writer_events, reader_events;

static struct ring_writer *make_replaceable(uint32_t slots, uint32_t takeover_ms)
{
	return make_ring_with(slots, (struct ring_writer_options){
		.observer = events_note, .observer_context = &writer_events, .takeover_ms = takeover_ms });
}

static struct ring_reader *join_observed(void)
{
	return join_ring_with((struct ring_reader_options){
		.observer = events_note, .observer_context = &reader_events });
}

/* Returns what ring_takeover says; a writer that was got is in *writer. */
static int replace(struct ring_writer **writer)
{
	struct ring_writer_options options = {
		.label = "heir", .observer = events_note, .observer_context = &writer_events };

	*writer = NULL;
	return ring_takeover(writer, fixture_name(0), &options);
}

static struct ring_writer *expect_heir(void)
{
	struct ring_writer *writer;

	ck_assert_int_eq(replace(&writer), 0);
	return writer;
}

static void expect_refused(int error)
{
	struct ring_writer *writer;
	unsigned before = descriptors();

	ck_assert_int_eq(replace(&writer), error);
	ck_assert_ptr_null(writer);
	ck_assert_uint_eq(descriptors(), before);
}

/* ---- where it goes on -------------------------------------------------------------------- */

START_TEST(an_heir_goes_on_at_head_and_what_was_not_published_never_was)
{
	struct ring_writer *writer = make_replaceable(3, LONG_MS);
	struct ring_reader *reader = join_observed();
	uint8_t id[16];

	memcpy(id, ring_writer_stream_id(writer), sizeof id);
	ring_writer_count_messages(writer, 3);
	put_and_publish(writer, 1000);
	ck_assert_int_eq(put_bytes(writer, 500), 0);
	writer_dies(writer, 0);
	writer = expect_heir();
	ck_assert_uint_eq(ring_writer_position(writer), 1000);
	ck_assert_uint_eq(ring_writer_published(writer), 1000);
	ck_assert_uint_eq(ring_writer_geometry(writer).slot_count, 3);
	ck_assert_mem_eq(ring_writer_stream_id(writer), id, sizeof id);
	ck_assert(!ring_writer_started(writer));
	ck_assert_uint_eq(take_bytes(reader), 1000);
	ck_assert_int_eq(peek_at(reader), RING_EMPTY);
	for (unsigned slot = 0; slot < 6; slot++) {
		put_and_publish(writer, SLOT - 100);
		while (peek_at(reader) == RING_DATA)
			take_bytes(reader);
	}
	ring_writer_count_messages(writer, 1);
	ck_assert_uint_eq(atomic_load(&writer->segment.control->messages), 4);
	ck_assert_str_eq(ring_reader_writer(reader).label, "heir");
	ck_assert(name_exists(0));
	ring_detach(reader);
	ring_destroy(writer);
	ck_assert(!name_exists(0));
}
END_TEST

START_TEST(an_heir_at_a_slots_end_enters_the_next_when_there_is_room)
{
	struct ring_writer *writer = make_replaceable(2, LONG_MS);
	struct ring_reader *reader = join_observed();
	size_t length;

	put_and_publish(writer, SLOT);
	put_and_publish(writer, SLOT);
	writer_dies(writer, 0);
	writer = expect_heir();
	ck_assert_uint_eq(ring_writer_position(writer), 2 * SLOT);
	ring_writer_room(writer, &length);
	ck_assert_uint_eq(length, 0);
	ck_assert_int_eq(put_bytes(writer, 1), -EAGAIN);
	ck_assert_uint_eq(take_bytes(reader), SLOT);
	put_and_publish(writer, 7);
	ck_assert_uint_eq(take_bytes(reader), SLOT);
	ck_assert_uint_eq(take_bytes(reader), 7);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

START_TEST(an_heir_of_one_that_left_its_slot_early_leaves_the_gap)
{
	struct ring_writer *writer = make_replaceable(3, LONG_MS);
	struct ring_reader *reader = join_observed();
	uint8_t *room;
	size_t length;

	put_and_publish(writer, 100);
	ck_assert_int_eq(ring_writer_claim(writer, SLOT, &room, &length), 0);
	ring_writer_publish(writer);
	writer_dies(writer, 0);
	writer = expect_heir();
	ck_assert_uint_eq(ring_writer_position(writer), SLOT);
	put_and_publish(writer, 50);
	ck_assert_uint_eq(ring_writer_position(writer), SLOT + 50);
	ck_assert_uint_eq(take_bytes(reader), 100);
	ck_assert_uint_eq(take_bytes(reader), 50);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

START_TEST(an_heir_of_one_that_published_nothing_begins_where_the_ring_does)
{
	struct ring_writer *writer = make_ring_with(2, (struct ring_writer_options){
		.start = 6 * SLOT, .takeover_ms = LONG_MS });
	struct ring_reader *reader;
	size_t length;

	writer_dies(writer, 0);
	writer = expect_heir();
	reader = join_observed();
	ck_assert_uint_eq(ring_writer_position(writer), 6 * SLOT);
	ring_writer_room(writer, &length);
	ck_assert_uint_eq(length, SLOT);
	put_and_publish(writer, 10);
	ck_assert_uint_eq(take_bytes(reader), 10);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

START_TEST(an_heir_of_one_that_waited_for_room_waits_for_the_same_reader)
{
	struct ring_writer *writer = make_replaceable(2, LONG_MS);
	struct ring_reader *reader = join_observed();

	put_and_publish(writer, SLOT);
	put_and_publish(writer, SLOT);
	ck_assert_int_eq(put_bytes(writer, 1), -EAGAIN);
	atomic_store(&writer->segment.shared->wish, wish_make(1, 5));
	atomic_store(&writer->segment.control->blocked_since_ns, 1);
	writer_dies(writer, 0);
	writer = expect_heir();
	ck_assert_uint_eq(atomic_load(&writer->segment.shared->wish), 0);
	ck_assert_uint_eq(atomic_load(&writer->segment.control->blocked_since_ns), 0);
	ck_assert_int_eq(ring_writer_wait_space(writer, 20), -ETIMEDOUT);
	take_bytes(reader);
	ck_assert_int_eq(ring_writer_wait_space(writer, DEADLINE_MS), 0);
	ck_assert_int_eq(put_bytes(writer, 1), 0);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

/* ---- who is replaced ------------------------------------------------------------------------- */

START_TEST(a_living_writer_is_not_replaced)
{
	struct ring_writer *writer = make_replaceable(2, LONG_MS);

	expect_refused(-EEXIST);
	put_and_publish(writer, 1);
	ring_destroy(writer);
	expect_refused(-ENOENT);
}
END_TEST

START_TEST(one_that_did_not_ask_for_it_is_not_replaced)
{
	writer_dies(make_replaceable(2, 0), 0);
	expect_refused(-ENOENT);
	ck_assert_int_eq(try_join(false), -ENOENT);
	ck_assert(!name_exists(0));
}
END_TEST

START_TEST(it_can_be_too_late)
{
	struct ring_writer *writer = make_replaceable(2, LONG_MS);

	writer_dies(writer, LONG_MS);
	expect_refused(-ENOENT);
	ck_assert_int_eq(try_join(false), -ENOENT);
	ck_assert(!name_exists(0));
}
END_TEST

START_TEST(a_sign_of_life_from_the_future_is_none)
{
	struct ring_writer *writer = make_replaceable(2, LONG_MS);

	writer_dies(writer, (uint64_t)-1000);
	expect_refused(-ENOENT);
	ck_assert_int_eq(try_join(false), -ENOENT);
	ck_assert(!name_exists(0));
}
END_TEST

static void *replace_at_once(void *result)
{
	struct ring_writer *writer;

	*(int *)result = replace(&writer);
	return writer;
}

START_TEST(of_several_heirs_there_is_one)
{
	struct ring_writer *writer = make_replaceable(2, LONG_MS);

	for (unsigned turn = 0; turn < 10; turn++) {
		pthread_t threads[4];
		int results[4];
		unsigned got = 0;

		put_and_publish(writer, 10);
		writer_dies(writer, 0);
		for (int i = 0; i < 4; i++)
			ck_assert_int_eq(pthread_create(&threads[i], NULL, replace_at_once, &results[i]), 0);
		for (int i = 0; i < 4; i++) {
			void *handle;

			pthread_join(threads[i], &handle);
			if (results[i] == 0) {
				got++;
				writer = handle;
			} else {
				ck_assert_int_eq(results[i], -EEXIST);
			}
		}
		ck_assert_uint_eq(got, 1);
		ck_assert_uint_eq(ring_writer_position(writer), 10 * (turn + 1));
	}
	ring_destroy(writer);
}
END_TEST

/* Whoever holds the remover's byte, and is stopped, is not waited for long. */
START_TEST(who_removes_the_name_keeps_heirs_away)
{
	struct ring_writer *writer = make_replaceable(2, LONG_MS), *heir;
	struct segment remover;

	ck_assert_int_eq(segment_open(&remover, fixture_name(0), false), 0);
	ck_assert_int_eq(segment_lock(&remover, RING_LOCK_REMOVER), 0);
	writer_dies(writer, 0);
	ck_assert_int_eq(replace(&heir), -EBUSY);
	segment_close(&remover);
	ring_destroy(expect_heir());
}
END_TEST

/* ---- the name ---------------------------------------------------------------------------------- */

START_TEST(the_name_stays_while_its_writer_may_be_replaced)
{
	struct ring_writer_options options = { .geometry = { RING_MIN_SLOT_SIZE, 2 } };
	struct ring_writer *writer = make_replaceable(2, LONG_MS), *other = NULL;
	struct ring_reader *reader = join_observed();
	struct ring_facts facts;

	writer_dies(writer, 0);
	ck_assert_int_eq(try_join(false), -EOWNERDEAD);
	ck_assert_int_eq(ring_look(fixture_name(0), false, &facts), -EOWNERDEAD);
	ck_assert_int_eq(ring_create(&other, fixture_name(0), &options, NULL, NULL), -EEXIST);
	ring_detach(reader);
	ck_assert(name_exists(0));
	ring_destroy(expect_heir());
	ck_assert(!name_exists(0));
}
END_TEST

START_TEST(the_name_goes_with_the_last_reader_when_the_time_is_over)
{
	struct ring_writer *writer = make_replaceable(2, LONG_MS);
	struct ring_reader *reader = join_observed();

	writer_dies(writer, LONG_MS);
	ring_detach(reader);
	ck_assert(!name_exists(0));
}
END_TEST

START_TEST(a_new_ring_replaces_one_whose_time_is_over)
{
	struct ring_writer_options options = { .geometry = { RING_MIN_SLOT_SIZE, 2 } };
	struct ring_writer *writer = make_replaceable(2, SHORT_MS), *other = NULL;
	bool replaced = false;
	int error = -EEXIST;

	writer_dies(writer, 0);
	wait_until((error = ring_create(&other, fixture_name(0), &options, NULL, &replaced)) != -EEXIST);
	ck_assert_int_eq(error, 0);
	ck_assert(replaced);
	expect_refused(-EEXIST);
	ring_destroy(other);
}
END_TEST

/* ---- its readers ---------------------------------------------------------------------------------- */

START_TEST(readers_wait_for_an_heir)
{
	struct ring_writer *writer = make_replaceable(2, LONG_MS);
	struct ring_reader *reader = join_observed();

	put_and_publish(writer, 10);
	writer_dies(writer, 0);
	wait_until(events_of(&reader_events, RING_EVENT_WRITER_LOST) == 1);
	ck_assert_uint_eq(take_bytes(reader), 10);
	ck_assert_int_eq(peek_at(reader), RING_EMPTY);
	ck_assert_int_eq(ring_reader_wait(reader, 20), -ETIMEDOUT);
	writer = expect_heir();
	wait_until(events_of(&reader_events, RING_EVENT_WRITER_BACK) == 1);
	/* And once more. */
	writer_dies(writer, 0);
	wait_until(events_of(&reader_events, RING_EVENT_WRITER_LOST) == 2);
	writer = expect_heir();
	wait_until(events_of(&reader_events, RING_EVENT_WRITER_BACK) == 2);
	put_and_publish(writer, 10);
	ck_assert_uint_eq(take_bytes(reader), 10);
	ck_assert_uint_eq(events_of(&reader_events, RING_EVENT_WRITER_DIED), 0);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

START_TEST(readers_wait_no_longer_than_they_were_told)
{
	struct ring_writer *writer = make_replaceable(2, SHORT_MS);
	struct ring_reader *reader = join_observed();
	uint64_t before;

	put_and_publish(writer, 10);
	before = wait_now_ns();
	writer_dies(writer, 0);
	wait_until(events_of(&reader_events, RING_EVENT_WRITER_DIED) == 1);
	ck_assert_uint_ge(wait_now_ns() - before, SHORT_MS * 1000000u);
	ck_assert_uint_eq(events_of(&reader_events, RING_EVENT_WRITER_LOST), 1);
	ck_assert_uint_eq(events_of(&reader_events, RING_EVENT_WRITER_BACK), 0);
	ck_assert_uint_eq(take_bytes(reader), 10);
	ck_assert_int_eq(peek_at(reader), -EOWNERDEAD);
	ck_assert_int_eq(ring_reader_wait(reader, RING_FOREVER), 0);
	ring_detach(reader);
	ck_assert(!name_exists(0));
}
END_TEST

/* It was replaced and died again between two looks of a slow reader. */
START_TEST(the_time_begins_anew_with_each_heir)
{
	struct ring_writer *writer = make_replaceable(2, LONG_MS);
	struct ring_reader *reader = join_observed();

	writer_dies(writer, 0);
	wait_until(events_of(&reader_events, RING_EVENT_WRITER_LOST) == 1);
	watcher_stop(&reader->watcher);
	reader->lost_ns -= (uint64_t)LONG_MS * 1000000u;
	writer_dies(expect_heir(), 1);
	ck_assert_int_eq(watcher_start(&reader->watcher, reader->watcher.look, reader), 0);
	pass_looks(&reader_events, 3);
	ck_assert_uint_eq(events_of(&reader_events, RING_EVENT_WRITER_DIED), 0);
	ck_assert_int_eq(peek_at(reader), RING_EMPTY);
	ring_detach(reader);
	ring_destroy(expect_heir());
}
END_TEST

static void *wait_and_take(void *reader)
{
	while (peek_at(reader) == RING_EMPTY)
		ck_assert_int_eq(ring_reader_wait(reader, DEADLINE_MS), 0);
	ck_assert_uint_eq(take_bytes(reader), 10);
	return NULL;
}

START_TEST(an_heir_wakes_those_whom_the_dead_one_did_not)
{
	struct ring_writer *writer = make_replaceable(2, LONG_MS);
	struct ring_reader *reader = join_observed();
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, wait_and_take, reader), 0);
	wait_until(atomic_load(&writer->segment.shared->sleeping) == 1);
	ck_assert_int_eq(put_bytes(writer, 10), 0);
	/* Dies between the store of head and the post. */
	atomic_store(&writer->segment.control->head, 10);
	writer_dies(writer, 0);
	writer = expect_heir();
	pthread_join(thread, NULL);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

/* ---- barrier and outcomes ---------------------------------------------------------------------------- */

static struct ring_writer *make_required(struct ring_reader **readers, unsigned count)
{
	struct ring_writer *writer = make_replaceable(2, LONG_MS);

	for (unsigned i = 0; i < count; i++)
		readers[i] = join_ring();
	ck_assert_int_eq(ring_writer_wait_readers(writer, count, DEADLINE_MS, NULL), 0);
	return writer;
}

static void expect_reports(struct ring_writer *writer, size_t count, size_t required)
{
	struct ring_reader_report reports[RING_MAX_READERS];
	size_t found = 0;

	ck_assert_uint_eq(ring_writer_reports(writer, reports, RING_MAX_READERS), count);
	for (size_t i = 0; i < count; i++)
		found += reports[i].required;
	ck_assert_uint_eq(found, required);
}

START_TEST(a_barrier_that_was_not_met_is_still_to_be_met)
{
	struct ring_writer *writer = make_replaceable(2, LONG_MS);
	struct ring_reader *reader = join_observed(), *late;
	unsigned attached = 0;

	ck_assert_int_eq(ring_writer_wait_readers(writer, 2, 20, NULL), -ETIMEDOUT);
	/* Dies while it counts. */
	atomic_store(&writer->segment.control->required, 1);
	writer_dies(writer, 0);
	writer = expect_heir();
	ck_assert(!ring_writer_started(writer));
	ck_assert(!ring_reader_required(reader));
	ck_assert_int_eq(ring_writer_wait_readers(writer, 1, DEADLINE_MS, &attached), 0);
	ck_assert_uint_eq(attached, 1);
	ck_assert(ring_writer_started(writer));
	ck_assert(ring_reader_required(reader));
	late = join_ring();
	wait_until(events_of(&writer_events, RING_EVENT_READER_LATE) == 1);
	ring_detach(late);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

START_TEST(required_readers_stay_required_and_nobody_is_late_anew)
{
	struct ring_reader *readers[2], *late;
	struct ring_writer *writer = make_required(readers, 2);

	late = join_ring();
	wait_until(events_of(&writer_events, RING_EVENT_READER_LATE) == 1);
	writer_dies(writer, 0);
	writer = expect_heir();
	ck_assert(ring_writer_started(writer));
	expect_reports(writer, 3, 2);
	pass_looks(&writer_events, 2);
	ck_assert_uint_eq(events_of(&writer_events, RING_EVENT_READER_LATE), 1);
	put_and_publish(writer, 10);
	ring_writer_end(writer, RING_COMPLETE, 0);
	for (int i = 0; i < 2; i++) {
		ck_assert(ring_reader_required(readers[i]));
		take_bytes(readers[i]);
		ck_assert_int_eq(ring_writer_drain(writer, 0), -ETIMEDOUT);
		ck_assert_int_eq(ring_reader_set_result(readers[i], 0), 0);
		ring_detach(readers[i]);
	}
	ck_assert_int_eq(ring_writer_drain(writer, DEADLINE_MS), 0);
	ring_detach(late);
	ring_destroy(writer);
}
END_TEST

START_TEST(an_end_that_was_stored_stands)
{
	struct ring_reader *readers[1];
	struct ring_writer *writer = make_required(readers, 1);
	int code = 0;

	put_and_publish(writer, 10);
	ck_assert_int_eq(ring_writer_ended(writer, &code), RING_OPEN);
	ring_writer_end(writer, RING_ABORTED, 42);
	writer_dies(writer, 0);
	writer = expect_heir();
	ck_assert_int_eq(ring_writer_ended(writer, &code), RING_ABORTED);
	ck_assert_int_eq(code, 42);
	take_bytes(readers[0]);
	ck_assert_int_eq(peek_at(readers[0]), RING_ENDED);
	ck_assert_int_eq(ring_reader_set_result(readers[0], 0), 0);
	ck_assert_int_eq(ring_writer_drain(writer, DEADLINE_MS), 0);
	ring_detach(readers[0]);
	ring_destroy(writer);
}
END_TEST

START_TEST(a_failure_that_the_dead_one_saw_stands)
{
	struct ring_reader *readers[2];
	struct ring_writer *writer = make_required(readers, 2);

	ck_assert_int_eq(ring_reader_set_result(readers[0], 5), 0);
	ring_detach(readers[0]);
	wait_until(entry_is(writer, 0, ENTRY_FREE));
	writer_dies(writer, 0);
	writer = expect_heir();
	expect_reports(writer, 1, 1);
	ck_assert_int_eq(put_bytes(writer, 1), 0);
	ring_writer_end(writer, RING_COMPLETE, 0);
	ck_assert_int_eq(ring_writer_drain(writer, 0), -ETIMEDOUT);
	ck_assert_int_eq(ring_reader_set_result(readers[1], 0), 0);
	ck_assert_int_eq(ring_writer_drain(writer, DEADLINE_MS), -EPIPE);
	ring_detach(readers[1]);
	ring_destroy(writer);
}
END_TEST

START_TEST(when_all_are_out_an_heir_can_but_end)
{
	struct ring_reader *readers[1];
	struct ring_writer *writer = make_required(readers, 1);

	ring_detach(readers[0]);
	wait_until(entry_is(writer, 0, ENTRY_FREE));
	writer_dies(writer, 0);
	writer = expect_heir();
	ck_assert_int_eq(put_bytes(writer, 1), -EPIPE);
	ck_assert_int_eq(ring_writer_seek(writer, 0), -EPIPE);
	ring_writer_end(writer, RING_ABORTED, 1);
	ck_assert_int_eq(ring_writer_drain(writer, RING_FOREVER), -EPIPE);
	ring_destroy(writer);
}
END_TEST

/* The dead one had taken an entry, and noted nothing yet. */
START_TEST(an_eviction_that_was_not_noted_is_a_failure)
{
	struct ring_reader *readers[2];
	struct ring_writer *writer = make_required(readers, 2);
	struct ring_entry *entry = &writer->segment.shared->entries[_i];

	if (_i == 1)
		ring_reader_set_result(readers[1], 0);
	watcher_stop(&writer->watcher);
	atomic_store(&entry->word, word_next(atomic_load(&entry->word), ENTRY_EVICTED));
	ck_assert_int_eq(watcher_start(&writer->watcher, readers_watch, writer), 0);
	writer_dies(writer, 0);
	writer = expect_heir();
	ck_assert(!ring_reader_required(readers[_i]));
	ck_assert_int_eq(ring_reader_check(readers[_i]), -ESTALE);
	ring_writer_end(writer, RING_COMPLETE, 0);
	ck_assert_int_eq(ring_writer_drain(writer, 0), -ETIMEDOUT);
	ck_assert_int_eq(ring_reader_set_result(readers[1 - _i], 0), 0);
	/* But not of one whose result was there. */
	ck_assert_int_eq(ring_writer_drain(writer, DEADLINE_MS), _i == 0 ? -EPIPE : 0);
	ring_detach(readers[0]);
	ring_detach(readers[1]);
	wait_until(entry_is(writer, (unsigned)_i, ENTRY_FREE));
	ring_destroy(writer);
}
END_TEST

START_TEST(a_result_that_nobody_saw_counts)
{
	struct ring_reader *readers[2];
	struct ring_writer *writer = make_required(readers, 2);

	ring_writer_end(writer, RING_COMPLETE, 0);
	writer_dies(writer, 0);
	ck_assert_int_eq(ring_reader_set_result(readers[0], 0), 0);
	reader_dies(readers[0]);
	ck_assert_int_eq(ring_reader_set_result(readers[1], _i), 0);
	ring_detach(readers[1]);
	writer = expect_heir();
	expect_reports(writer, 2, 2);
	ck_assert_int_eq(ring_writer_drain(writer, DEADLINE_MS), _i == 0 ? 0 : -EPIPE);
	ck_assert_uint_eq(events_of(&writer_events, RING_EVENT_READER_DIED), 0);
	ring_destroy(writer);
}
END_TEST

START_TEST(a_death_that_nobody_saw_is_one)
{
	struct ring_reader *readers[1];
	struct ring_writer *writer = make_required(readers, 1);

	writer_dies(writer, 0);
	reader_dies(readers[0]);
	writer = expect_heir();
	ck_assert_int_eq(ring_writer_drain(writer, DEADLINE_MS), -EPIPE);
	wait_until(events_of(&writer_events, RING_EVENT_READER_DIED) == 1);
	ck_assert(events_of(&writer_events, RING_EVENT_READERS_OUT) == 1);
	ring_destroy(writer);
}
END_TEST

/* Both die, in either order, and both come back. */
START_TEST(a_reader_and_its_writer_can_both_be_replaced)
{
	struct ring_writer *writer = make_replaceable(2, LONG_MS);
	struct ring_reader_options options = { .key = 1, .linger_ms = LONG_MS };
	struct ring_reader *reader = join_ring_with(options);

	ck_assert_int_eq(ring_writer_wait_readers(writer, 1, DEADLINE_MS, NULL), 0);
	put_and_publish(writer, 10);
	if (_i == 0) {
		reader_dies(reader);
		wait_until(entry_is(writer, 0, ENTRY_LINGER));
		writer_dies(writer, 0);
	} else {
		writer_dies(writer, 0);
		reader_dies(reader);
	}
	ck_assert_int_eq(ring_attach_again(&reader, fixture_name(0), &options), -EOWNERDEAD);
	writer = expect_heir();
	expect_reports(writer, 1, 1);
	if (_i == 2)
		wait_until(entry_is(writer, 0, ENTRY_LINGER));
	ck_assert_int_eq(ring_attach_again(&reader, fixture_name(0), &options), 0);
	ck_assert(ring_reader_required(reader));
	ck_assert_uint_eq(take_bytes(reader), 10);
	pass_looks(&writer_events, 2);
	ring_writer_end(writer, RING_COMPLETE, 0);
	ck_assert_int_eq(ring_reader_set_result(reader, 0), 0);
	ck_assert_int_eq(ring_writer_drain(writer, DEADLINE_MS), 0);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ring takeover");
	TCase *place = fixture_case(suite, "place"), *who = fixture_case(suite, "who");
	TCase *name = fixture_case(suite, "name"), *readers = fixture_case(suite, "readers");
	TCase *outcomes = fixture_case(suite, "outcomes");

	tcase_add_test(place, an_heir_goes_on_at_head_and_what_was_not_published_never_was);
	tcase_add_test(place, an_heir_at_a_slots_end_enters_the_next_when_there_is_room);
	tcase_add_test(place, an_heir_of_one_that_left_its_slot_early_leaves_the_gap);
	tcase_add_test(place, an_heir_of_one_that_published_nothing_begins_where_the_ring_does);
	tcase_add_test(place, an_heir_of_one_that_waited_for_room_waits_for_the_same_reader);
	tcase_add_test(who, a_living_writer_is_not_replaced);
	tcase_add_test(who, one_that_did_not_ask_for_it_is_not_replaced);
	tcase_add_test(who, it_can_be_too_late);
	tcase_add_test(who, a_sign_of_life_from_the_future_is_none);
	tcase_add_test(who, of_several_heirs_there_is_one);
	tcase_add_test(who, who_removes_the_name_keeps_heirs_away);
	tcase_add_test(name, the_name_stays_while_its_writer_may_be_replaced);
	tcase_add_test(name, the_name_goes_with_the_last_reader_when_the_time_is_over);
	tcase_add_test(name, a_new_ring_replaces_one_whose_time_is_over);
	tcase_add_test(readers, readers_wait_for_an_heir);
	tcase_add_test(readers, readers_wait_no_longer_than_they_were_told);
	tcase_add_test(readers, the_time_begins_anew_with_each_heir);
	tcase_add_test(readers, an_heir_wakes_those_whom_the_dead_one_did_not);
	tcase_add_test(outcomes, a_barrier_that_was_not_met_is_still_to_be_met);
	tcase_add_test(outcomes, required_readers_stay_required_and_nobody_is_late_anew);
	tcase_add_test(outcomes, an_end_that_was_stored_stands);
	tcase_add_test(outcomes, a_failure_that_the_dead_one_saw_stands);
	tcase_add_test(outcomes, when_all_are_out_an_heir_can_but_end);
	tcase_add_loop_test(outcomes, an_eviction_that_was_not_noted_is_a_failure, 0, 2);
	tcase_add_loop_test(outcomes, a_result_that_nobody_saw_counts, 0, 2);
	tcase_add_test(outcomes, a_death_that_nobody_saw_is_one);
	tcase_add_loop_test(outcomes, a_reader_and_its_writer_can_both_be_replaced, 0, 3);
	return fixture_run(suite);
}
