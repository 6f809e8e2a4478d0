/* test_ring_forged.c - the words that a crashed or hostile peer leaves. */
// needs: tests/unit/ring_fixture.c
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "tests/unit/ring_fixture.h"

#define HELD 100                   /* bytes published and not released in pair.ring */

/* A ring of three slots, both of its ends, and HELD bytes in slot 0. */
static struct {
	struct ring_writer *writer;
	struct ring_reader *reader;
	struct ring_control *control;
	struct ring_shared *shared;
	struct ring_entry *entry;
} pair;

static struct events events;       /* of the writer */

static void pair_make(void)
{
	pair.writer = make_ring_with(3, (struct ring_writer_options){
		.observer = events_note, .observer_context = &events });
	pair.reader = join_ring();
	pair.control = pair.writer->segment.control;
	pair.shared = pair.writer->segment.shared;
	pair.entry = &pair.shared->entries[0];
	put_and_publish(pair.writer, HELD);
}

static void pair_end(void)
{
	ring_detach(pair.reader);
	ring_destroy(pair.writer);
}

/* The reader refuses, as often as it is asked, and stays where it is. */
static void expect_nonsense(void)
{
	uint64_t position = ring_reader_position(pair.reader);
	uint64_t tail = atomic_load(&pair.entry->tail);

	ck_assert_int_eq(peek_at(pair.reader), -EBADMSG);
	ck_assert_int_eq(peek_at(pair.reader), -EBADMSG);
	ck_assert_uint_eq(ring_reader_position(pair.reader), position);
	ck_assert_uint_eq(atomic_load(&pair.entry->tail), tail);
}

/* ---- head and used ------------------------------------------------------------------------ */

START_TEST(a_head_beyond_the_ring_is_refused)
{
	static const uint64_t heads[] = {
		3 * SLOT + 1, 4 * SLOT, (uint64_t)1 << 32, (uint64_t)1 << 63, UINT64_MAX - 1, UINT64_MAX,
	};

	for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
		atomic_store(&pair.control->head, heads[i]);
		expect_nonsense();
	}
	/* The true one is accepted again. */
	atomic_store(&pair.control->head, HELD);
	ck_assert_uint_eq(take_bytes(pair.reader), HELD);
}
END_TEST

START_TEST(a_head_before_the_reader_is_refused)
{
	take_bytes(pair.reader);
	atomic_store(&pair.control->head, HELD - 1);
	expect_nonsense();
	atomic_store(&pair.control->head, 0);
	expect_nonsense();
}
END_TEST

START_TEST(a_used_length_beyond_the_slot_or_before_the_reader_is_refused)
{
	static const uint32_t used[] = { SLOT + 1, 2 * SLOT, UINT32_MAX, 0, 1, 49 };
	const uint8_t *bytes;
	size_t length;

	ck_assert_int_eq(ring_reader_peek(pair.reader, &bytes, &length), RING_DATA);
	ck_assert_int_eq(ring_reader_release(pair.reader, 50), 0);
	put_and_publish(pair.writer, SLOT);
	for (size_t i = 0; i < sizeof used / sizeof used[0]; i++) {
		atomic_store(&pair.control->used[0], used[i]);
		expect_nonsense();
	}
	atomic_store(&pair.control->used[0], HELD);
	ck_assert_uint_eq(take_bytes(pair.reader), HELD - 50);
	ck_assert_uint_eq(take_bytes(pair.reader), SLOT);
}
END_TEST

START_TEST(a_release_with_a_torn_used_length_stays_in_the_slot)
{
	const uint8_t *bytes;
	size_t length;

	put_and_publish(pair.writer, SLOT);
	ck_assert_int_eq(ring_reader_peek(pair.reader, &bytes, &length), RING_DATA);
	ck_assert_uint_eq(length, HELD);
	atomic_store(&pair.control->used[0], UINT32_MAX);
	ck_assert_int_eq(ring_reader_release(pair.reader, length), 0);
	ck_assert_uint_eq(ring_reader_position(pair.reader), HELD);
	expect_nonsense();
}
END_TEST

START_TEST(attaching_beside_any_head_is_safe)
{
	static const uint64_t heads[] = {
		SLOT - 1, (uint64_t)1 << 32, ((uint64_t)1 << 63) + 5, UINT64_MAX - SLOT, UINT64_MAX - 1, UINT64_MAX,
	};

	for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
		struct ring_reader *reader;
		const uint8_t *bytes;
		size_t length = 0;
		int found;

		atomic_store(&pair.control->head, heads[i]);
		reader = join_ring();
		ck_assert_uint_eq(ring_reader_start(reader), heads[i] / SLOT * SLOT);
		found = ring_reader_peek(reader, &bytes, &length);
		ck_assert(found == RING_DATA || found == RING_EMPTY || found == -EBADMSG);
		ck_assert_uint_le(length, SLOT);
		ring_detach(reader);
	}
}
END_TEST

START_TEST(an_end_that_is_no_end_reads_as_an_abort)
{
	static const uint64_t ends[] = { 3, 0xff, 0x1203, UINT64_MAX, (uint64_t)1 << 63 | 7 };
	int code;

	take_bytes(pair.reader);
	for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
		atomic_store(&pair.control->end, ends[i]);
		ck_assert_int_eq(peek_at(pair.reader), RING_ENDED);
		ck_assert_int_eq(ring_reader_end(pair.reader, &code), RING_ABORTED);
		ck_assert_int_eq(code, (int)(ends[i] >> 8 & 0xff));
	}
}
END_TEST

/* ---- entries -------------------------------------------------------------------------------- */

START_TEST(a_tail_past_head_holds_nothing_back_and_nothing_breaks)
{
	static const uint64_t tails[] = { 100 * SLOT, (uint64_t)1 << 48, (uint64_t)1 << 63, UINT64_MAX };

	for (size_t i = 0; i < sizeof tails / sizeof tails[0]; i++) {
		uint64_t lag;
		struct ring_process process;

		atomic_store(&pair.entry->tail, tails[i]);
		for (int slot = 0; slot < 4; slot++)
			put_and_publish(pair.writer, SLOT);
		pass_looks(&events, 1);
		ring_writer_slowest(pair.writer, &lag, &process);
		ck_assert_uint_le(lag, ring_writer_published(pair.writer));
	}
	ck_assert_uint_ge(ring_writer_position(pair.writer), 4 * SLOT);
}
END_TEST

START_TEST(a_tail_far_behind_holds_the_ring_until_its_owner_stores_the_true_one)
{
	struct ring_writer *writer = pair.writer;

	for (int lap = 0; lap < 4; lap++) {
		put_and_publish(writer, SLOT);
		while (peek_at(pair.reader) == RING_DATA)
			take_bytes(pair.reader);
	}
	atomic_store(&pair.entry->tail, 0);
	writer->min_tail = 0;
	ck_assert_int_eq(put_bytes(writer, SLOT), -EAGAIN);
	ck_assert_int_eq(ring_writer_wait_space(writer, 20), -ETIMEDOUT);
	ck_assert_int_eq(ring_reader_release(pair.reader, 0), 0);
	ck_assert_int_eq(put_bytes(writer, SLOT), 0);
}
END_TEST

START_TEST(a_garbage_state_takes_the_entry_from_its_reader_and_harms_nobody)
{
	static const uint64_t words[] = { 0, 3, 0xff, ENTRY_EVICTED, UINT64_MAX, (uint64_t)77 << 8 | ENTRY_ACTIVE };
	struct ring_reader *second = join_ring();
	uint64_t word = pair.reader->word;

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
		atomic_store(&pair.entry->word, words[i]);
		ck_assert_int_eq(ring_reader_check(pair.reader), -ESTALE);
		ck_assert_int_eq(ring_reader_release(pair.reader, 0), -ESTALE);
		ck_assert_int_eq(ring_reader_set_result(pair.reader, 0), -ESTALE);
		pass_looks(&events, 1);
		put_and_publish(pair.writer, 10);
		take_bytes(second);
	}
	atomic_store(&pair.entry->word, word);
	ck_assert_int_eq(ring_reader_check(pair.reader), 0);
	ring_detach(second);
}
END_TEST

START_TEST(every_entry_may_hold_garbage)
{
	struct ring_entry *entries = pair.shared->entries;
	struct ring_reader_report reports[WRITER_KEPT_REPORTS + RING_MAX_READERS];

	for (unsigned turn = 0; turn < 4; turn++) {
		/* Owners are no atomic words: the watcher must not read them now. */
		pthread_mutex_lock(&pair.writer->lock);
		for (unsigned i = 1; i < RING_MAX_READERS; i++) {
			atomic_store(&entries[i].word, (uint64_t)(i * 7 + turn) << 8 | (i + turn) % 4);
			atomic_store(&entries[i].tail, UINT64_MAX / (i + turn));
			atomic_store(&entries[i].result, UINT64_MAX / (i + turn));
			memset(&entries[i].owner, (int)(0x80 + i + turn), sizeof entries[i].owner);
		}
		pthread_mutex_unlock(&pair.writer->lock);
		pass_looks(&events, 2);
		put_and_publish(pair.writer, 10);
	}
	ck_assert_uint_le(ring_writer_reports(pair.writer, reports, sizeof reports / sizeof reports[0]),
	                  sizeof reports / sizeof reports[0]);
	ck_assert_int_eq(ring_writer_wait_readers(pair.writer, 1, DEADLINE_MS, NULL), 0);
	ck_assert_uint_eq(take_bytes(pair.reader), HELD + 40);
}
END_TEST

START_TEST(an_active_entry_that_nobody_owns_is_freed)
{
	atomic_store(&pair.shared->entries[5].word, (uint64_t)9 << 8 | ENTRY_ACTIVE);
	atomic_store(&pair.shared->entries[9].word, (uint64_t)9 << 8 | ENTRY_EVICTED);
	wait_until(entry_is(pair.writer, 5, ENTRY_FREE));
	wait_until(entry_is(pair.writer, 9, ENTRY_FREE));
	wait_until(events_of(&events, RING_EVENT_READER_DIED) == 1);
}
END_TEST

START_TEST(a_forged_result_is_a_failure_unless_it_is_the_good_one)
{
	static const uint64_t results[] = { 1, 0xff, RESULT_SET | 4, 0x200, UINT64_MAX, (uint64_t)1 << 63 };

	ck_assert_int_eq(ring_writer_wait_readers(pair.writer, 1, DEADLINE_MS, NULL), 0);
	ring_writer_end(pair.writer, RING_COMPLETE, 0);
	atomic_store(&pair.entry->result, results[_i]);
	ck_assert_int_eq(ring_writer_drain(pair.writer, DEADLINE_MS), -EPIPE);
	wait_until(events_of(&events, RING_EVENT_READER_FAILED) == 1);
	ck_assert_int_eq(events.last[RING_EVENT_READER_FAILED].code, (int)(results[_i] & 0xff));
}
END_TEST

START_TEST(a_forged_label_is_shown_without_control_characters)
{
	static const char label[RING_LABEL_MAX] = "a\x1b[2J\nb\x7f";
	struct ring_reader_report report;

	pthread_mutex_lock(&pair.writer->lock);
	/* No NUL at the end. */
	memset(pair.entry->owner.label, 'x', RING_LABEL_MAX);
	memcpy(pair.entry->owner.label, label, strlen(label));
	pair.writer->notes[0].present = false;     /* it may have been noted before */
	pthread_mutex_unlock(&pair.writer->lock);
	ck_assert_int_eq(ring_writer_wait_readers(pair.writer, 1, DEADLINE_MS, NULL), 0);
	ck_assert_uint_ge(ring_writer_reports(pair.writer, &report, 1), 1);
	ck_assert_uint_eq(strlen(report.process.label), RING_LABEL_MAX - 1);
	ck_assert_int_eq(strncmp(report.process.label, "a?[2J?b?xx", 10), 0);
}
END_TEST

/* ---- wake words and semaphores ------------------------------------------------------------------ */

START_TEST(a_garbage_wish_wakes_or_delays_and_changes_nothing_else)
{
	static const uint64_t wishes[] = { 1, 0xff, 200, UINT64_MAX, (uint64_t)UINT32_MAX << 8 | 1, 65 };

	for (size_t i = 0; i < sizeof wishes / sizeof wishes[0]; i++) {
		atomic_store(&pair.shared->wish, wishes[i]);
		while (peek_at(pair.reader) == RING_DATA)
			take_bytes(pair.reader);
		put_and_publish(pair.writer, SLOT);
	}
	while (peek_at(pair.reader) == RING_DATA)
		take_bytes(pair.reader);
	ck_assert_uint_eq(ring_reader_position(pair.reader), ring_writer_position(pair.writer));
}
END_TEST

START_TEST(a_wish_that_was_wiped_is_made_up_for_by_looking_again)
{
	struct ring_writer *writer = pair.writer;

	put_and_publish(writer, SLOT);
	put_and_publish(writer, SLOT);
	ck_assert_int_eq(put_bytes(writer, 1), -EAGAIN);
	ck_assert_int_eq(ring_writer_wait_space(writer, 20), -ETIMEDOUT);
	atomic_store(&pair.shared->wish, 0);
	take_bytes(pair.reader);
	ck_assert_int_eq(ring_writer_wait_space(writer, DEADLINE_MS), 0);
	ck_assert_int_eq(put_bytes(writer, 1), 0);
}
END_TEST

START_TEST(sleeping_bits_for_nobody_are_cleared_and_harm_nobody)
{
	atomic_store(&pair.shared->sleeping, UINT64_MAX);
	put_and_publish(pair.writer, 1);
	ck_assert_uint_eq(atomic_load(&pair.shared->sleeping), 0);
	ck_assert_uint_eq(take_bytes(pair.reader), HELD + 1);
	ck_assert_int_eq(ring_reader_wait(pair.reader, 20), -ETIMEDOUT);
}
END_TEST

START_TEST(semaphores_with_too_many_tokens_only_wake)
{
	for (int i = 0; i < 1000; i++) {
		sem_post(&pair.entry->data);
		sem_post(&pair.shared->space);
	}
	take_bytes(pair.reader);
	ck_assert_int_eq(ring_reader_wait(pair.reader, 20), -ETIMEDOUT);
	put_and_publish(pair.writer, SLOT);
	put_and_publish(pair.writer, SLOT);
	ck_assert_int_eq(put_bytes(pair.writer, 1), -EAGAIN);
	ck_assert_int_eq(ring_writer_wait_space(pair.writer, 20), -ETIMEDOUT);
}
END_TEST

/* Few tokens, and sleepers that do not exist. */
START_TEST(semaphores_with_sleepers_that_do_not_exist_only_delay)
{
	const uint64_t forged = (uint64_t)0xa5a5a5a5 << 32 | 3;

	memcpy(&pair.entry->data, &forged, sizeof forged);
	memcpy(&pair.shared->space, &forged, sizeof forged);
	take_bytes(pair.reader);
	ck_assert_int_eq(ring_reader_wait(pair.reader, 20), -ETIMEDOUT);
	put_and_publish(pair.writer, SLOT);
	put_and_publish(pair.writer, SLOT);
	ck_assert_int_eq(put_bytes(pair.writer, 1), -EAGAIN);
	ck_assert_int_eq(ring_writer_wait_space(pair.writer, 20), -ETIMEDOUT);
	take_bytes(pair.reader);
	ck_assert_int_eq(ring_writer_wait_space(pair.writer, DEADLINE_MS), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ring forged");
	TCase *head = fixture_case(suite, "head"), *entry = fixture_case(suite, "entry");
	TCase *wake = fixture_case(suite, "wake");

	tcase_add_checked_fixture(head, pair_make, pair_end);
	tcase_add_checked_fixture(entry, pair_make, pair_end);
	tcase_add_checked_fixture(wake, pair_make, pair_end);
	tcase_add_test(head, a_head_beyond_the_ring_is_refused);
	tcase_add_test(head, a_head_before_the_reader_is_refused);
	tcase_add_test(head, a_used_length_beyond_the_slot_or_before_the_reader_is_refused);
	tcase_add_test(head, a_release_with_a_torn_used_length_stays_in_the_slot);
	tcase_add_test(head, attaching_beside_any_head_is_safe);
	tcase_add_test(head, an_end_that_is_no_end_reads_as_an_abort);
	tcase_add_test(entry, a_tail_past_head_holds_nothing_back_and_nothing_breaks);
	tcase_add_test(entry, a_tail_far_behind_holds_the_ring_until_its_owner_stores_the_true_one);
	tcase_add_test(entry, a_garbage_state_takes_the_entry_from_its_reader_and_harms_nobody);
	tcase_add_test(entry, every_entry_may_hold_garbage);
	tcase_add_test(entry, an_active_entry_that_nobody_owns_is_freed);
	tcase_add_loop_test(entry, a_forged_result_is_a_failure_unless_it_is_the_good_one, 0, 6);
	tcase_add_test(entry, a_forged_label_is_shown_without_control_characters);
	tcase_add_test(wake, a_garbage_wish_wakes_or_delays_and_changes_nothing_else);
	tcase_add_test(wake, a_wish_that_was_wiped_is_made_up_for_by_looking_again);
	tcase_add_test(wake, sleeping_bits_for_nobody_are_cleared_and_harm_nobody);
	tcase_add_test(wake, semaphores_with_too_many_tokens_only_wake);
	tcase_add_test(wake, semaphores_with_sleepers_that_do_not_exist_only_delay);
	return fixture_run(suite);
}
