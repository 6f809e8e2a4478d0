/* test_stream_strings.c - long strings, alignment, and messages given up, byte for byte. */
// needs: tests/unit/ring_fixture.c tests/unit/stream_fixture.c
#include <stdlib.h>
#include <string.h>

#include "shared/utf8.h"
#include "tests/unit/stream_fixture.h"

#define SLOT_SIZE RING_MIN_SLOT_SIZE

static struct text expected;

static void open_small(void)
{
	streams_open(SLOT_SIZE, 8, true);
	text_clear(&expected);
}

static void put_string(bool text, bool bulk, const void *bytes, size_t length)
{
	ck_assert_int_eq(stream_string_begin(out, text, bulk), 0);
	ck_assert_int_eq(stream_string_put(out, bytes, length), 0);
	ck_assert_int_eq(stream_string_end(out), 0);
}

/* ---- definite ------------------------------------------------------------------------- */

START_TEST(a_string_in_one_piece_is_definite_with_the_smallest_head)
{
	static const struct {
		size_t length;
		const char *bytes, *text;
		size_t head;
	} sizes[] = {
		{ 0, "\x40", "\x60", 1 },
		{ 1, "\x41", "\x61", 1 },
		{ 23, "\x57", "\x77", 1 },
		{ 24, "\x58\x18", "\x78\x18", 2 },
		{ 255, "\x58\xff", "\x78\xff", 2 },
		{ 256, "\x59\x01\x00", "\x79\x01\x00", 3 },
		{ 40000, "\x59\x9c\x40", "\x79\x9c\x40", 3 },
	};
	static char content[SLOT_SIZE], body[SLOT_SIZE];

	memset(content, 's', sizeof content);
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
		for (int text = 0; text < 2; text++) {
			ck_assert_int_eq(stream_begin(out, NULL, 0), 0);
			put_string(text != 0, false, content, sizes[i].length);
			ck_assert_int_eq(stream_finish(out), 0);
			memcpy(body, text ? sizes[i].text : sizes[i].bytes, sizes[i].head);
			memcpy(body + sizes[i].head, content, sizes[i].length);
			text_clear(&expected);
			text_byte(&expected, 'W');
			text_frame(&expected, 'D', body, sizes[i].head + sizes[i].length);
			expect_published(&expected);
		}
}
END_TEST

START_TEST(a_string_of_64_KiB_and_more_in_one_slot_has_a_head_of_four_bytes)
{
	static char content[70000], body[70005];

	streams_close();
	streams_open(256u << 10, 2, true);
	memset(content, 's', sizeof content);
	ck_assert_int_eq(stream_begin(out, NULL, 0), 0);
	put_string(false, true, content, sizeof content);
	ck_assert_int_eq(stream_finish(out), 0);
	memcpy(body, "\x5a\x00\x01\x11\x70", 5);
	memcpy(body + 5, content, sizeof content);
	text_byte(&expected, 'W');
	/* PAD, so that the data would have been aligned with the longer head. */
	text_frame(&expected, 'P', (uint8_t[64]){ 0 }, 64 - 1 - 5 - 5 - 6);
	text_frame(&expected, 'D', body, sizeof body);
	expect_published(&expected);
}
END_TEST

START_TEST(strings_stand_between_other_tokens)
{
	ck_assert_int_eq(stream_begin(out, NULL, 0), 0);
	ck_assert_int_eq(stream_put(out, "\x84\x01", 2), 0);
	put_string(true, false, "hello", 5);
	put_string(false, true, "\xff\xfe", 2);
	ck_assert_int_eq(stream_put(out, "\x02", 1), 0);
	ck_assert_int_eq(stream_finish(out), 0);
	text_byte(&expected, 'W');
	text_frame(&expected, 'D', "\x84\x01\x65hello\x42\xff\xfe\x02", 12);
	expect_published(&expected);
}
END_TEST

/* ---- indefinite ------------------------------------------------------------------------------ */

START_TEST(a_string_published_before_its_end_is_indefinite)
{
	ck_assert_int_eq(stream_begin(out, NULL, 0), 0);
	ck_assert_int_eq(stream_string_begin(out, true, false), 0);
	ck_assert_int_eq(stream_string_put(out, "abc", 3), 0);
	stream_flush(out, true);
	text_byte(&expected, 'C');
	text_frame(&expected, 'D', "\x7f\x7a\0\0\0\3" "abc", 9);
	expect_published(&expected);
	ck_assert_int_eq(stream_string_put(out, "de", 2), 0);
	ck_assert_int_eq(stream_string_end(out), 0);
	ck_assert_int_eq(stream_finish(out), 0);
	text_clear(&expected);
	text_frame(&expected, 'D', "\x7a\0\0\0\2" "de\xff", 8);
	text_end(&expected, "\x7f\x7a\0\0\0\3" "abc\x7a\0\0\0\2" "de\xff", 17, true);
	expect_published(&expected);
}
END_TEST

START_TEST(an_indefinite_string_may_be_empty)
{
	ck_assert_int_eq(stream_begin(out, NULL, 0), 0);
	ck_assert_int_eq(stream_string_begin(out, false, false), 0);
	stream_flush(out, true);
	text_byte(&expected, 'C');
	text_frame(&expected, 'D', "\x5f", 1);
	expect_published(&expected);
	ck_assert_int_eq(stream_string_end(out), 0);
	ck_assert_int_eq(stream_finish(out), 0);
	text_clear(&expected);
	text_frame(&expected, 'D', "\xff", 1);
	text_end(&expected, "\x5f\xff", 2, true);
	expect_published(&expected);
}
END_TEST

START_TEST(a_string_that_ends_with_a_flush_gets_only_a_break)
{
	ck_assert_int_eq(stream_begin(out, NULL, 0), 0);
	ck_assert_int_eq(stream_put(out, "\x81", 1), 0);
	ck_assert_int_eq(stream_string_begin(out, false, false), 0);
	ck_assert_int_eq(stream_string_put(out, "xy", 2), 0);
	stream_flush(out, true);
	ck_assert_int_eq(stream_string_end(out), 0);
	ck_assert_int_eq(stream_finish(out), 0);
	text_byte(&expected, 'C');
	text_frame(&expected, 'D', "\x81\x5f\x5a\0\0\0\2xy", 9);
	text_frame(&expected, 'D', "\xff", 1);
	text_end(&expected, "\x81\x5f\x5a\0\0\0\2xy\xff", 10, true);
	expect_published(&expected);
}
END_TEST

START_TEST(a_string_of_a_message_that_moves_stays_definite)
{
	static char content[2000], body[2004];

	memset(content, 's', sizeof content);
	/* Leave 1000 bytes of the slot. */
	ck_assert_int_eq(stream_begin(out, NULL, 0), 0);
	put_string(false, false, (char[SLOT_SIZE]){ 0 }, SLOT_SIZE - 1000 - 6 - 3);
	ck_assert_int_eq(stream_finish(out), 0);
	ck_assert_int_eq(stream_begin(out, NULL, 0), 0);
	ck_assert_int_eq(stream_put(out, "\x81", 1), 0);
	ck_assert_int_eq(stream_string_begin(out, true, false), 0);
	for (size_t at = 0; at < sizeof content; at += 100)
		ck_assert_int_eq(stream_string_put(out, content + at, 100), 0);
	ck_assert_int_eq(stream_string_end(out), 0);
	ck_assert_int_eq(stream_finish(out), 0);
	stream_flush(out, false);
	expect_part(STREAM_PART_WHOLE);
	memcpy(body, "\x81\x79\x07\xd0", 4);
	memcpy(body + 4, content, sizeof content);
	expect_body(STREAM_PART_WHOLE, body, sizeof body);
	ck_assert_uint_eq(ring_writer_position(ring_out), SLOT_SIZE + 6 + sizeof body);
}
END_TEST

/* ---- long ones, as a reader sees them ------------------------------------------------------------- */

/* The chunks of the indefinite string that is the whole body, joined. */
static size_t read_chunks(uint8_t *joined, bool text, bool bulk)
{
	struct stream_item item;
	size_t length = 0;
	bool first = true, ended = false;

	expect_part(STREAM_PART_BEGIN);
	for (;;) {
		const uint8_t *bytes;

		ck_assert_int_eq(stream_next(in, &item), 0);
		if (item.part == STREAM_PART_FINISH)
			break;
		ck_assert_int_eq(item.part, STREAM_PART_BODY);
		bytes = item.bytes;
		if (first) {
			ck_assert_uint_eq(*bytes++, text ? 0x7f : 0x5f);
			first = false;
		}
		while (bytes < item.bytes + item.length && *bytes != 0xff) {
			size_t chunk = get_u32(bytes + 1);

			ck_assert_uint_eq(bytes[0], text ? 0x7a : 0x5a);
			bytes += 5;
			ck_assert_uint_gt(chunk, 0);
			ck_assert_uint_le(chunk, (size_t)(item.bytes + item.length - bytes));
			if (text)
				ck_assert_uint_eq(utf8_valid(bytes, chunk), chunk);
			if (bulk)
				ck_assert_uint_eq((uintptr_t)bytes % STREAM_ALIGN, 0);
			memcpy(joined + length, bytes, chunk);
			length += chunk;
			bytes += chunk;
		}
		if (bytes < item.bytes + item.length) {
			ck_assert_ptr_eq(bytes + 1, item.bytes + item.length);
			ended = true;
		}
	}
	ck_assert(ended);
	return length;
}

#define LONG (5 * SLOT_SIZE + 321)
static uint8_t content[LONG], joined[LONG];

START_TEST(a_long_byte_string_has_a_chunk_per_frame)
{
	unsigned seed = 1;

	fill_bytes(content, 0, LONG);
	ck_assert_int_eq(stream_begin(out, NULL, 0), 0);
	ck_assert_int_eq(stream_string_begin(out, false, false), 0);
	for (size_t at = 0, piece; at < LONG; at += piece) {
		piece = 1 + (size_t)rand_r(&seed) % 3000;
		piece = piece < LONG - at ? piece : LONG - at;
		ck_assert_int_eq(stream_string_put(out, content + at, piece), 0);
	}
	ck_assert_int_eq(stream_string_end(out), 0);
	ck_assert_int_eq(stream_finish(out), 0);
	stream_flush(out, false);
	ck_assert_uint_eq(read_chunks(joined, false, false), LONG);
	ck_assert_mem_eq(joined, content, LONG);
}
END_TEST

START_TEST(bulk_data_is_aligned_in_every_frame)
{
	static const char header[] = "\xa1\x64sizX\x01";

	fill_bytes(content, 0, LONG);
	/* Whatever stands before it. */
	for (size_t before = 0; before < 70; before++) {
		uint8_t *room;
		size_t left;

		streams_close();
		streams_open(SLOT_SIZE, 8, true);
		for (size_t i = 0; i < before; i++)
			ck_assert_int_eq(stream_send(out, NULL, 0, "\x01", 1), 0);
		ck_assert_int_eq(stream_begin(out, header, before % 7), 0);
		ck_assert_int_eq(stream_string_begin(out, false, true), 0);
		for (size_t at = 0; at < LONG; at += left) {
			ck_assert_int_eq(stream_string_room(out, 4096, &room, &left), 0);
			ck_assert_uint_ge(left, 4096);
			left = left < LONG - at ? left : LONG - at;
			memcpy(room, content + at, left);
			stream_string_fill(out, left);
		}
		ck_assert_int_eq(stream_string_end(out), 0);
		ck_assert_int_eq(stream_finish(out), 0);
		stream_flush(out, false);
		for (size_t i = 0; i < before; i++)
			expect_part(STREAM_PART_WHOLE);
		ck_assert_uint_eq(read_chunks(joined, false, true), LONG);
		ck_assert_mem_eq(joined, content, LONG);
	}
}
END_TEST

START_TEST(bulk_data_does_not_begin_in_a_small_rest)
{
	ck_assert_int_eq(stream_begin(out, NULL, 0), 0);
	put_string(false, false, content, SLOT_SIZE / 2 + 10);
	ck_assert_int_eq(stream_finish(out), 0);
	ck_assert_int_eq(stream_begin(out, NULL, 0), 0);
	ck_assert_int_eq(stream_string_begin(out, false, true), 0);
	ck_assert_int_eq(stream_string_put(out, content, 10), 0);
	ck_assert_int_eq(stream_string_end(out), 0);
	ck_assert_int_eq(stream_finish(out), 0);
	stream_flush(out, false);
	ck_assert_uint_gt(ring_writer_position(ring_out), SLOT_SIZE);
}
END_TEST

START_TEST(long_text_is_cut_between_characters)
{
	/* Characters of 1 to 4 bytes, so that every cut is tried. */
	static const char *const characters[] = { "a", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80" };
	size_t length = 0;
	unsigned seed = (unsigned)_i;

	while (length < LONG - 4) {
		const char *character = characters[rand_r(&seed) % 4];

		memcpy(content + length, character, strlen(character));
		length += strlen(character);
	}
	ck_assert_int_eq(stream_begin(out, NULL, 0), 0);
	ck_assert_int_eq(stream_string_begin(out, true, false), 0);
	ck_assert_int_eq(stream_string_put(out, content, length), 0);
	ck_assert_int_eq(stream_string_end(out), 0);
	ck_assert_int_eq(stream_finish(out), 0);
	stream_flush(out, false);
	ck_assert_uint_eq(read_chunks(joined, true, false), length);
	ck_assert_mem_eq(joined, content, length);
}
END_TEST

/* ---- given up --------------------------------------------------------------------------------------- */

START_TEST(a_message_that_failed_before_it_was_published_leaves_no_trace)
{
	ck_assert_int_eq(stream_send(out, NULL, 0, "\x01", 1), 0);
	ck_assert_int_eq(stream_begin(out, "\xa0", 1), 0);
	ck_assert_int_eq(stream_put(out, "\x82\x01", 2), 0);
	ck_assert_int_eq(stream_fail(out, 4, "bad"), 0);
	ck_assert(!stream_is_open(out));
	ck_assert_int_eq(stream_fail(out, 4, "none is open"), 0);
	ck_assert_int_eq(stream_send(out, NULL, 0, "\x02", 1), 0);
	text_bytes(&expected, "W" "D\0\0\0\1" "\x01" "W" "D\0\0\0\1" "\x02", 14);
	expect_published(&expected);
	ck_assert_uint_eq(stream_messages(out), 2);
}
END_TEST

START_TEST(a_message_that_failed_after_it_was_published_ends_with_an_error)
{
	ck_assert_int_eq(stream_begin(out, NULL, 0), 0);
	ck_assert_int_eq(stream_put(out, "\x82", 1), 0);
	stream_flush(out, true);
	ck_assert_int_eq(stream_put(out, "\x01", 1), 0);
	ck_assert_int_eq(stream_fail(out, 4, "bad"), 1);
	ck_assert(!stream_is_open(out));
	text_byte(&expected, 'C');
	text_frame(&expected, 'D', "\x82", 1);
	text_frame(&expected, 'X', "\xa2\x64" "code" "\x04\x64" "text" "\x63" "bad", 16);
	expect_published(&expected);
	ck_assert_uint_eq(stream_messages(out), 0);
}
END_TEST

START_TEST(an_errors_text_is_cut_to_1_KiB_of_whole_characters)
{
	char text[2000];
	struct stream_item item;

	memset(text, 'x', sizeof text);
	text[sizeof text - 1] = '\0';
	memcpy(text + STREAM_TEXT_MAX - 1, "\xe2\x82\xac", 3);
	ck_assert_int_eq(stream_begin(out, NULL, 0), 0);
	stream_flush(out, true);
	ck_assert_int_eq(stream_fail(out, 255, text), 1);
	stream_flush(out, false);
	expect_part(STREAM_PART_BEGIN);
	item = expect_part(STREAM_PART_FAIL);
	ck_assert_int_eq(item.code, 255);
	ck_assert_uint_eq(strlen(item.text), STREAM_TEXT_MAX - 1);
}
END_TEST

START_TEST(an_errors_text_ends_where_it_is_no_text)
{
	struct stream_item item;

	ck_assert_int_eq(stream_begin(out, NULL, 0), 0);
	stream_flush(out, true);
	ck_assert_int_eq(stream_fail(out, 1, "good \xff bad"), 1);
	stream_flush(out, false);
	expect_part(STREAM_PART_BEGIN);
	item = expect_part(STREAM_PART_FAIL);
	ck_assert_str_eq(item.text, "good ");
}
END_TEST

START_TEST(an_error_goes_to_the_next_slot_when_there_is_no_room)
{
	size_t left;
	uint8_t *room;

	ck_assert_int_eq(stream_begin(out, NULL, 0), 0);
	ck_assert_int_eq(stream_room(out, 1, &room, &left), 0);
	stream_fill(out, left - 10);
	stream_flush(out, true);
	ck_assert_int_eq(stream_fail(out, 2, "a text of more than five bytes"), 1);
	stream_flush(out, false);
	expect_part(STREAM_PART_BEGIN);
	expect_part(STREAM_PART_BODY);
	ck_assert_uint_eq(expect_part(STREAM_PART_FAIL).position, SLOT_SIZE);
}
END_TEST

START_TEST(an_abandoned_message_leaves_no_trace)
{
	ck_assert_int_eq(stream_send(out, NULL, 0, "\x01", 1), 0);
	ck_assert_int_eq(stream_begin(out, "\xa0", 1), 0);
	ck_assert_int_eq(stream_put(out, "\x82", 1), 0);
	stream_abandon(out);
	ck_assert(!stream_is_open(out));
	text_bytes(&expected, "W" "D\0\0\0\1" "\x01", 7);
	expect_published(&expected);
}
END_TEST

START_TEST(an_abandoned_message_that_was_published_is_cut_short)
{
	ck_assert_int_eq(stream_begin(out, NULL, 0), 0);
	ck_assert_int_eq(stream_put(out, "\x82", 1), 0);
	stream_flush(out, true);
	ck_assert_int_eq(stream_put(out, "\x01", 1), 0);
	stream_abandon(out);
	ring_writer_end(ring_out, RING_ABORTED, 1);
	expect_part(STREAM_PART_BEGIN);
	expect_body(STREAM_PART_BODY, "\x82", 1);
	expect_part(STREAM_PART_ENDED);
	ck_assert(stream_reader_is_open(in));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stream strings");
	TCase *definite = fixture_case(suite, "definite"), *indefinite = fixture_case(suite, "indefinite");
	TCase *lengthy = fixture_case(suite, "long"), *given_up = fixture_case(suite, "given up");

	tcase_add_checked_fixture(definite, open_small, streams_close);
	tcase_add_checked_fixture(indefinite, open_small, streams_close);
	tcase_add_checked_fixture(lengthy, open_small, streams_close);
	tcase_add_checked_fixture(given_up, open_small, streams_close);
	tcase_add_test(definite, a_string_in_one_piece_is_definite_with_the_smallest_head);
	tcase_add_test(definite, a_string_of_64_KiB_and_more_in_one_slot_has_a_head_of_four_bytes);
	tcase_add_test(definite, strings_stand_between_other_tokens);
	tcase_add_test(definite, a_string_of_a_message_that_moves_stays_definite);
	tcase_add_test(indefinite, a_string_published_before_its_end_is_indefinite);
	tcase_add_test(indefinite, an_indefinite_string_may_be_empty);
	tcase_add_test(indefinite, a_string_that_ends_with_a_flush_gets_only_a_break);
	tcase_add_test(lengthy, a_long_byte_string_has_a_chunk_per_frame);
	tcase_add_test(lengthy, bulk_data_is_aligned_in_every_frame);
	tcase_add_test(lengthy, bulk_data_does_not_begin_in_a_small_rest);
	tcase_add_loop_test(lengthy, long_text_is_cut_between_characters, 0, 20);
	tcase_add_test(given_up, a_message_that_failed_before_it_was_published_leaves_no_trace);
	tcase_add_test(given_up, a_message_that_failed_after_it_was_published_ends_with_an_error);
	tcase_add_test(given_up, an_errors_text_is_cut_to_1_KiB_of_whole_characters);
	tcase_add_test(given_up, an_errors_text_ends_where_it_is_no_text);
	tcase_add_test(given_up, an_error_goes_to_the_next_slot_when_there_is_no_room);
	tcase_add_test(given_up, an_abandoned_message_leaves_no_trace);
	tcase_add_test(given_up, an_abandoned_message_that_was_published_is_cut_short);
	return fixture_run(suite);
}
