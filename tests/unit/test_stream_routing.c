/* test_stream_routing.c - whole or chunked, here or in the next slot, byte for byte. */
// needs: tests/unit/ring_fixture.c tests/unit/stream_fixture.c
#include <errno.h>
#include <string.h>

#include "tests/unit/stream_fixture.h"

#define SLOT_SIZE RING_MIN_SLOT_SIZE
#define LARGE_SLOT (256u << 10)

static struct text expected;
static uint8_t body[1u << 20];     /* one byte string of no meaning, as CBOR tokens of one byte */

static void open_small(void)
{
	streams_open(SLOT_SIZE, 4, true);
	text_clear(&expected);
	memset(body, 0x01, sizeof body);
}

static void open_large(void)
{
	streams_open(LARGE_SLOT, 4, true);
	text_clear(&expected);
	memset(body, 0x01, sizeof body);
}

static const uint8_t header[] = { 0xa1, 0x64, 'n', 'a', 'm', 'e', 0x61, 'x' };

/* A whole message of so many bytes in the slot; it is published and taken. */
static void fill_slot(size_t bytes)
{
	size_t at = 6;

	ck_assert_int_eq(stream_begin(out, NULL, 0), 0);
	while (at < bytes) {
		size_t piece = bytes - at < 1024 ? bytes - at : 1024;

		ck_assert_int_eq(stream_put(out, body, piece), 0);
		at += piece;
	}
	ck_assert_int_eq(stream_finish(out), 0);
	stream_flush(out, false);
	ck_assert_uint_eq(ring_writer_position(ring_out) % ring_writer_geometry(ring_out).slot_size, bytes);
	while (peek_at(ring_in) == RING_DATA) {
		const uint8_t *bytes_in;
		size_t length;

		ring_reader_peek(ring_in, &bytes_in, &length);
		ring_reader_release(ring_in, length);
	}
}

/* ---- whole ------------------------------------------------------------------------------ */

START_TEST(a_message_that_ended_and_fits_is_whole)
{
	ck_assert_int_eq(stream_send(out, NULL, 0, "\x01", 1), 0);
	text_bytes(&expected, "W" "D\0\0\0\1" "\x01", 7);
	expect_published(&expected);
}
END_TEST

START_TEST(a_header_stands_between_marker_and_data)
{
	ck_assert_int_eq(stream_send(out, header, sizeof header, "\xf6", 1), 0);
	text_bytes(&expected, "W" "H\0\0\0\x08" "\xa1" "dnameax" "D\0\0\0\1" "\xf6", 20);
	expect_published(&expected);
}
END_TEST

START_TEST(tokens_put_one_by_one_make_one_frame)
{
	ck_assert_int_eq(stream_begin(out, NULL, 0), 0);
	ck_assert_int_eq(stream_put(out, "\x82", 1), 0);
	ck_assert_int_eq(stream_put(out, "\x01", 1), 0);
	ck_assert_int_eq(stream_put(out, "\x02", 1), 0);
	ck_assert_int_eq(stream_finish(out), 0);
	text_byte(&expected, 'W');
	text_frame(&expected, 'D', "\x82\x01\x02", 3);
	expect_published(&expected);
}
END_TEST

START_TEST(an_empty_message_is_whole_with_an_empty_frame)
{
	ck_assert_int_eq(stream_begin(out, NULL, 0), 0);
	ck_assert_int_eq(stream_finish(out), 0);
	text_bytes(&expected, "W" "D\0\0\0\0", 6);
	expect_published(&expected);
}
END_TEST

START_TEST(finished_messages_are_published_together)
{
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(stream_send(out, NULL, 0, "\x01", 1), 0);
		text_bytes(&expected, "W" "D\0\0\0\1" "\x01", 7);
	}
	ck_assert_int_eq(peek_at(ring_in), RING_EMPTY);
	expect_published(&expected);
	ck_assert_uint_eq(stream_messages(out), 3);
	ck_assert_uint_eq(stream_body_bytes(out), 3);
}
END_TEST

START_TEST(a_flush_without_partial_keeps_the_open_message_back)
{
	ck_assert_int_eq(stream_send(out, NULL, 0, "\x01", 1), 0);
	ck_assert_int_eq(stream_begin(out, header, sizeof header), 0);
	ck_assert_int_eq(stream_put(out, "\x81", 1), 0);
	text_bytes(&expected, "W" "D\0\0\0\1" "\x01", 7);
	expect_published(&expected);
	ck_assert(stream_is_open(out));
	ck_assert(!stream_is_partly_published(out));
	ck_assert_int_eq(stream_put(out, "\x02", 1), 0);
	ck_assert_int_eq(stream_finish(out), 0);
	text_clear(&expected);
	text_byte(&expected, 'W');
	text_frame(&expected, 'H', header, sizeof header);
	text_frame(&expected, 'D', "\x81\x02", 2);
	expect_published(&expected);
}
END_TEST

/* ---- chunked ---------------------------------------------------------------------------------- */

START_TEST(a_message_published_before_its_end_is_chunked)
{
	ck_assert_int_eq(stream_begin(out, header, sizeof header), 0);
	ck_assert_int_eq(stream_put(out, "\x82", 1), 0);
	stream_flush(out, true);
	ck_assert(stream_is_partly_published(out));
	text_byte(&expected, 'C');
	text_frame(&expected, 'H', header, sizeof header);
	text_frame(&expected, 'D', "\x82", 1);
	expect_published(&expected);
	ck_assert_int_eq(stream_put(out, "\x01", 1), 0);
	ck_assert_int_eq(stream_put(out, "\x02", 1), 0);
	ck_assert_int_eq(stream_finish(out), 0);
	text_clear(&expected);
	text_frame(&expected, 'D', "\x01\x02", 2);
	text_end(&expected, "\x82\x01\x02", 3, true);
	expect_published(&expected);
	ck_assert(!stream_is_open(out));
}
END_TEST

START_TEST(the_digest_of_a_known_body_is_the_known_one)
{
	ck_assert_int_eq(stream_begin(out, NULL, 0), 0);
	stream_flush(out, true);
	ck_assert_int_eq(stream_finish(out), 0);
	/* XXH3-64 of nothing. */
	text_bytes(&expected, "C" "E\0\0\0\x10" "\0\0\0\0\0\0\0\0" "\x2d\x06\x80\x05\x38\xd3\x94\xc2", 22);
	expect_published(&expected);
}
END_TEST

START_TEST(a_chunked_message_without_digest_has_a_marker_of_its_own)
{
	streams_close();
	streams_open(SLOT_SIZE, 4, false);
	ck_assert_int_eq(stream_begin(out, NULL, 0), 0);
	ck_assert_int_eq(stream_put(out, "\x81", 1), 0);
	stream_flush(out, true);
	ck_assert_int_eq(stream_put(out, "\x01", 1), 0);
	ck_assert_int_eq(stream_finish(out), 0);
	text_bytes(&expected, "U" "D\0\0\0\1" "\x81" "D\0\0\0\1" "\x01" "E\0\0\0\x08" "\0\0\0\0\0\0\0\2", 26);
	expect_published(&expected);
}
END_TEST

START_TEST(a_flush_of_a_chunked_message_without_news_adds_nothing)
{
	ck_assert_int_eq(stream_begin(out, NULL, 0), 0);
	stream_flush(out, true);
	stream_flush(out, true);
	text_byte(&expected, 'C');
	expect_published(&expected);
	stream_flush(out, true);
	text_clear(&expected);
	expect_published(&expected);
}
END_TEST

/* ---- the next slot -------------------------------------------------------------------------------- */

START_TEST(a_message_that_would_straddle_moves_to_the_next_slot)
{
	fill_slot(SLOT_SIZE - 1000);
	ck_assert_int_eq(stream_begin(out, header, sizeof header), 0);
	ck_assert_int_eq(stream_put(out, body, 500), 0);
	ck_assert_int_eq(stream_put(out, body, 900), 0);
	/* None of it was published where it began. */
	ck_assert_int_eq(peek_at(ring_in), RING_EMPTY);
	ck_assert_uint_eq(atomic_load(&ring_out->segment.control->used[0]), SLOT_SIZE - 1000);
	ck_assert_int_eq(stream_finish(out), 0);
	text_byte(&expected, 'W');
	text_frame(&expected, 'H', header, sizeof header);
	text_frame(&expected, 'D', body, 1400);
	expect_published(&expected);
	ck_assert_uint_eq(ring_writer_position(ring_out), SLOT_SIZE + expected.length);
}
END_TEST

START_TEST(a_message_that_moves_leaves_the_finished_ones_behind)
{
	fill_slot(SLOT_SIZE - 1000);
	ck_assert_int_eq(stream_send(out, NULL, 0, "\x01", 1), 0);
	ck_assert_int_eq(stream_send(out, NULL, 0, body, 1200), 0);
	text_bytes(&expected, "W" "D\0\0\0\1" "\x01", 7);
	expect_published(&expected);
	text_clear(&expected);
	text_byte(&expected, 'W');
	text_frame(&expected, 'D', body, 1200);
	expect_published(&expected);
}
END_TEST

START_TEST(a_message_that_fits_exactly_stays)
{
	fill_slot(SLOT_SIZE - 1000);
	ck_assert_int_eq(stream_send(out, NULL, 0, body, 1000 - 6), 0);
	ck_assert_uint_eq(ring_writer_position(ring_out), SLOT_SIZE - 1000);
	text_byte(&expected, 'W');
	text_frame(&expected, 'D', body, 1000 - 6);
	expect_published(&expected);
	ck_assert_uint_eq(ring_writer_position(ring_out), SLOT_SIZE);
}
END_TEST

START_TEST(a_message_does_not_begin_in_a_small_rest)
{
	fill_slot(SLOT_SIZE - 69);
	ck_assert_int_eq(stream_begin(out, NULL, 0), 0);
	ck_assert_int_eq(stream_finish(out), 0);
	stream_flush(out, false);
	ck_assert_uint_eq(ring_writer_position(ring_out), SLOT_SIZE + 6);
}
END_TEST

START_TEST(what_was_published_does_not_move)
{
	fill_slot(SLOT_SIZE - 1000);
	ck_assert_int_eq(stream_begin(out, NULL, 0), 0);
	ck_assert_int_eq(stream_put(out, body, 500), 0);
	stream_flush(out, true);
	ck_assert_int_eq(stream_put(out, body, 900), 0);
	ck_assert_int_eq(stream_finish(out), 0);
	text_byte(&expected, 'C');
	text_frame(&expected, 'D', body, 500);
	expect_published(&expected);
	text_clear(&expected);
	text_frame(&expected, 'D', body, 900);
	text_end(&expected, body, 1400, true);
	expect_published(&expected);
}
END_TEST

/* A message of 64 KiB so far moves; one byte more, and it becomes chunked. */
static void put_until_straddling(size_t length)
{
	size_t at = 6;

	fill_slot(LARGE_SLOT - length - 10);
	ck_assert_int_eq(stream_begin(out, NULL, 0), 0);
	while (at < length) {
		size_t piece = length - at < 1000 ? length - at : 1000;

		ck_assert_int_eq(stream_put(out, body, piece), 0);
		at += piece;
	}
	ck_assert_int_eq(stream_put(out, body, 100), 0);
	ck_assert_int_eq(stream_finish(out), 0);
}

START_TEST(a_message_of_64_KiB_moves)
{
	put_until_straddling(STREAM_MOVE_MAX);
	text_byte(&expected, 'W');
	text_frame(&expected, 'D', body, STREAM_MOVE_MAX - 6 + 100);
	expect_published(&expected);
	ck_assert_uint_eq(ring_writer_position(ring_out), LARGE_SLOT + expected.length);
}
END_TEST

START_TEST(a_message_of_more_than_64_KiB_becomes_chunked)
{
	put_until_straddling(STREAM_MOVE_MAX + 1);
	text_byte(&expected, 'C');
	text_frame(&expected, 'D', body, STREAM_MOVE_MAX + 1 - 6);
	expect_published(&expected);
	text_clear(&expected);
	text_frame(&expected, 'D', body, 100);
	text_end(&expected, body, STREAM_MOVE_MAX + 1 - 6 + 100, true);
	expect_published(&expected);
}
END_TEST

START_TEST(a_message_that_would_not_fit_the_next_slot_either_becomes_chunked)
{
	ck_assert_int_eq(stream_begin(out, NULL, 0), 0);
	ck_assert_int_eq(stream_put(out, body, 32000), 0);
	ck_assert_int_eq(stream_put(out, body, 30000), 0);
	ck_assert_int_eq(stream_put(out, body, 10000), 0);
	ck_assert_int_eq(stream_finish(out), 0);
	text_byte(&expected, 'C');
	text_frame(&expected, 'D', body, 62000);
	expect_published(&expected);
	text_clear(&expected);
	text_frame(&expected, 'D', body, 10000);
	text_end(&expected, body, 72000, true);
	expect_published(&expected);
}
END_TEST

START_TEST(a_message_larger_than_the_slot_has_a_frame_in_each)
{
	size_t left;
	uint8_t *room;

	ck_assert_int_eq(stream_begin(out, NULL, 0), 0);
	for (size_t at = 0; at < 3 * SLOT_SIZE; at += 1024) {
		ck_assert_int_eq(stream_room(out, 1024, &room, &left), 0);
		ck_assert_uint_ge(left, 1024);
		memset(room, 0x01, 1024);
		stream_fill(out, 1024);
	}
	ck_assert_int_eq(stream_finish(out), 0);
	text_byte(&expected, 'C');
	text_frame(&expected, 'D', body, 63 * 1024);
	expect_published(&expected);
	for (int slot = 0; slot < 2; slot++) {
		text_clear(&expected);
		text_frame(&expected, 'D', body, 63 * 1024);
		expect_published(&expected);
	}
	text_clear(&expected);
	text_frame(&expected, 'D', body, 3 * 1024);
	text_end(&expected, body, 3 * SLOT_SIZE, true);
	expect_published(&expected);
}
END_TEST

START_TEST(an_end_that_does_not_fit_stands_in_the_next_slot)
{
	ck_assert_int_eq(stream_begin(out, NULL, 0), 0);
	stream_flush(out, true);
	ck_assert_int_eq(stream_put(out, body, 32000), 0);
	ck_assert_int_eq(stream_put(out, body, 32000), 0);
	ck_assert_int_eq(stream_put(out, body, SLOT_SIZE - 1 - 5 - 64000), 0);
	ck_assert_int_eq(stream_finish(out), 0);
	text_byte(&expected, 'C');
	text_frame(&expected, 'D', body, SLOT_SIZE - 6);
	expect_published(&expected);
	text_clear(&expected);
	text_end(&expected, body, SLOT_SIZE - 6, true);
	expect_published(&expected);
}
END_TEST

/* ---- limits ------------------------------------------------------------------------------------------ */

START_TEST(a_header_has_at_most_32_KiB)
{
	ck_assert_int_eq(stream_begin(out, body, STREAM_HEADER_MAX + 1), -EMSGSIZE);
	ck_assert(!stream_is_open(out));
	expect_published(&expected);
	ck_assert_int_eq(stream_send(out, body, STREAM_HEADER_MAX, "\x01", 1), 0);
	text_byte(&expected, 'W');
	text_frame(&expected, 'H', body, STREAM_HEADER_MAX);
	text_frame(&expected, 'D', "\x01", 1);
	expect_published(&expected);
}
END_TEST

START_TEST(a_token_has_at_most_half_a_slot)
{
	uint8_t *room;
	size_t left;

	ck_assert_int_eq(stream_begin(out, NULL, 0), 0);
	ck_assert_int_eq(stream_room(out, SLOT_SIZE / 2 + 1, &room, &left), -EMSGSIZE);
	ck_assert_int_eq(stream_put(out, body, SLOT_SIZE / 2 + 1), -EMSGSIZE);
	ck_assert_int_eq(stream_string_room(out, SLOT_SIZE / 2 + 1, &room, &left), -EMSGSIZE);
	ck_assert_int_eq(stream_put(out, body, SLOT_SIZE / 2), 0);
	ck_assert_int_eq(stream_put(out, body, SLOT_SIZE / 2), 0);
	ck_assert_int_eq(stream_put(out, body, SLOT_SIZE / 2), 0);
	ck_assert_int_eq(stream_finish(out), 0);
	ck_assert_uint_eq(stream_body_bytes(out), 3 * SLOT_SIZE / 2);
}
END_TEST

START_TEST(half_a_slot_fits_wherever_the_message_begins)
{
	for (size_t used = SLOT_SIZE / 2 - 200; used < SLOT_SIZE / 2 + 200; used += 13) {
		fill_slot(used);
		ck_assert_int_eq(stream_send(out, header, sizeof header, body, SLOT_SIZE / 2), 0);
		text_clear(&expected);
		text_byte(&expected, 'W');
		text_frame(&expected, 'H', header, sizeof header);
		text_frame(&expected, 'D', body, SLOT_SIZE / 2);
		expect_published(&expected);
		streams_close();
		streams_open(SLOT_SIZE, 4, true);
	}
}
END_TEST

/* ---- refusals by the ring ------------------------------------------------------------------------------ */

START_TEST(an_interrupted_ring_interrupts_the_stream)
{
	ck_assert_int_eq(stream_send(out, NULL, 0, body, 30000), 0);
	ck_assert_int_eq(stream_begin(out, NULL, 0), 0);
	ck_assert_int_eq(stream_put(out, body, 30000), 0);
	ring_writer_interrupt(ring_out);
	ck_assert_int_eq(stream_put(out, body, 10000), -EINTR);
	ck_assert_int_eq(stream_fail(out, 1, "interrupted"), 0);
	ck_assert(!stream_is_open(out));
	text_byte(&expected, 'W');
	text_frame(&expected, 'D', body, 30000);
	expect_published(&expected);
}
END_TEST

START_TEST(a_stream_without_required_readers_is_refused)
{
	ck_assert_int_eq(ring_writer_wait_readers(ring_out, 1, DEADLINE_MS, NULL), 0);
	ck_assert_int_eq(ring_reader_set_result(ring_in, 1), 0);
	wait_until(atomic_load(&ring_out->stop) == -EPIPE);
	ck_assert_int_eq(stream_send(out, NULL, 0, body, 30000), 0);
	ck_assert_int_eq(stream_send(out, NULL, 0, body, 30000), 0);
	ck_assert_int_eq(stream_send(out, NULL, 0, body, 30000), -EPIPE);
	stream_abandon(out);
	ck_assert_uint_eq(stream_messages(out), 2);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stream routing");
	TCase *whole = fixture_case(suite, "whole"), *chunked = fixture_case(suite, "chunked");
	TCase *next = fixture_case(suite, "next slot"), *large = fixture_case(suite, "large slots");
	TCase *limits = fixture_case(suite, "limits");

	tcase_add_checked_fixture(whole, open_small, streams_close);
	tcase_add_checked_fixture(chunked, open_small, streams_close);
	tcase_add_checked_fixture(next, open_small, streams_close);
	tcase_add_checked_fixture(large, open_large, streams_close);
	tcase_add_checked_fixture(limits, open_small, streams_close);
	tcase_add_test(whole, a_message_that_ended_and_fits_is_whole);
	tcase_add_test(whole, a_header_stands_between_marker_and_data);
	tcase_add_test(whole, tokens_put_one_by_one_make_one_frame);
	tcase_add_test(whole, an_empty_message_is_whole_with_an_empty_frame);
	tcase_add_test(whole, finished_messages_are_published_together);
	tcase_add_test(whole, a_flush_without_partial_keeps_the_open_message_back);
	tcase_add_test(chunked, a_message_published_before_its_end_is_chunked);
	tcase_add_test(chunked, the_digest_of_a_known_body_is_the_known_one);
	tcase_add_test(chunked, a_chunked_message_without_digest_has_a_marker_of_its_own);
	tcase_add_test(chunked, a_flush_of_a_chunked_message_without_news_adds_nothing);
	tcase_add_test(next, a_message_that_would_straddle_moves_to_the_next_slot);
	tcase_add_test(next, a_message_that_moves_leaves_the_finished_ones_behind);
	tcase_add_test(next, a_message_that_fits_exactly_stays);
	tcase_add_test(next, a_message_does_not_begin_in_a_small_rest);
	tcase_add_test(next, what_was_published_does_not_move);
	tcase_add_test(next, a_message_that_would_not_fit_the_next_slot_either_becomes_chunked);
	tcase_add_test(next, a_message_larger_than_the_slot_has_a_frame_in_each);
	tcase_add_test(next, an_end_that_does_not_fit_stands_in_the_next_slot);
	tcase_add_test(large, a_message_of_64_KiB_moves);
	tcase_add_test(large, a_message_of_more_than_64_KiB_becomes_chunked);
	tcase_add_test(limits, a_header_has_at_most_32_KiB);
	tcase_add_test(limits, a_token_has_at_most_half_a_slot);
	tcase_add_test(limits, half_a_slot_fits_wherever_the_message_begins);
	tcase_add_test(limits, an_interrupted_ring_interrupts_the_stream);
	tcase_add_test(limits, a_stream_without_required_readers_is_refused);
	return fixture_run(suite);
}
