/* test_stream_read.c - the parts that a reader finds; late readers, and dropping. */
// needs: tests/unit/ring_fixture.c tests/unit/stream_fixture.c
#include <errno.h>
#include <string.h>

#include "tests/unit/stream_fixture.h"

static struct text text;

static void open_streams(void)
{
	streams_open(RING_MIN_SLOT_SIZE, 4, true);
	text_clear(&text);
}

/* A reader that began within the stream. */
static void open_late(void)
{
	open_streams();
	ring_in->start = 1;
	stream_reader_close(in);
	ck_assert_int_eq(stream_reader_open(&in, ring_in, false), 0);
}

static void open_dropping(void)
{
	open_streams();
	stream_reader_close(in);
	ck_assert_int_eq(stream_reader_open(&in, ring_in, true), 0);
}

/* ---- parts ------------------------------------------------------------------------------ */

START_TEST(a_whole_message_is_one_part_in_place)
{
	struct stream_item item;

	forge("WH\0\0\0\1\xa0" "D\0\0\0\2\x18\x20", 14);
	item = expect_part(STREAM_PART_WHOLE);
	ck_assert_uint_eq(item.header_length, 1);
	ck_assert_uint_eq(item.header[0], 0xa0);
	ck_assert_uint_eq(item.length, 2);
	ck_assert_ptr_eq(item.bytes, ring_in->segment.payload + 12);
	ck_assert_uint_eq(item.position, 7);
	ck_assert_uint_eq(item.message, 0);
	ck_assert(!stream_reader_is_open(in));
	ck_assert_uint_eq(stream_reader_messages(in), 1);
	ck_assert_uint_eq(stream_reader_body_bytes(in), 2);
	expect_part(STREAM_PART_EMPTY);
}
END_TEST

START_TEST(a_message_without_a_header_has_none)
{
	struct stream_item item;

	forge("WH\0\0\0\1\xa0" "D\0\0\0\1\1" "WD\0\0\0\1\2", 20);
	ck_assert_ptr_nonnull(expect_part(STREAM_PART_WHOLE).header);
	item = expect_part(STREAM_PART_WHOLE);
	ck_assert_ptr_null(item.header);
	ck_assert_uint_eq(item.message, 1);
}
END_TEST

START_TEST(a_chunked_message_begins_has_bodies_and_finishes)
{
	struct stream_item item;

	text_byte(&text, 'C');
	text_frame(&text, 'H', "\xa0", 1);
	text_frame(&text, 'D', "\x82\x01", 2);
	text_frame(&text, 'D', "\x02", 1);
	text_end(&text, "\x82\x01\x02", 3, true);
	forge_text(&text);
	item = expect_part(STREAM_PART_BEGIN);
	ck_assert_uint_eq(item.header_length, 1);
	ck_assert(stream_reader_is_open(in));
	expect_body(STREAM_PART_BODY, "\x82\x01", 2);
	ck_assert_uint_eq(stream_reader_body_bytes(in), 2);
	expect_body(STREAM_PART_BODY, "\x02", 1);
	expect_part(STREAM_PART_FINISH);
	ck_assert(!stream_reader_is_open(in));
	ck_assert_uint_eq(stream_reader_messages(in), 1);
	ck_assert_uint_eq(stream_reader_body_bytes(in), 3);
}
END_TEST

START_TEST(an_empty_chunked_message_finishes)
{
	text_byte(&text, 'C');
	text_end(&text, "", 0, true);
	text_byte(&text, 'U');
	text_end(&text, "", 0, false);
	forge_text(&text);
	for (int i = 0; i < 2; i++) {
		expect_part(STREAM_PART_BEGIN);
		expect_part(STREAM_PART_FINISH);
	}
}
END_TEST

START_TEST(pads_are_skipped_wherever_a_frame_may_stand)
{
	text_frame(&text, 'P', "", 0);
	text_frame(&text, 'P', "pad", 3);
	text_byte(&text, 'W');
	text_frame(&text, 'P', "W", 1);
	text_frame(&text, 'H', "\xa0", 1);
	text_frame(&text, 'P', "", 0);
	text_frame(&text, 'D', "\x01", 1);
	text_frame(&text, 'P', "pad", 3);
	text_byte(&text, 'C');
	text_frame(&text, 'P', "pad", 3);
	text_frame(&text, 'D', "\x02", 1);
	text_frame(&text, 'P', "pad", 3);
	text_end(&text, "\x02", 1, true);
	text_frame(&text, 'P', "pad", 3);
	forge_text(&text);
	ck_assert_uint_eq(expect_part(STREAM_PART_WHOLE).header_length, 1);
	expect_part(STREAM_PART_BEGIN);
	expect_body(STREAM_PART_BODY, "\x02", 1);
	expect_part(STREAM_PART_FINISH);
	expect_part(STREAM_PART_EMPTY);
}
END_TEST

START_TEST(a_message_may_be_published_piece_by_piece)
{
	struct stream_item item;

	forge("C", 1);
	expect_part(STREAM_PART_EMPTY);
	ck_assert(stream_reader_is_open(in));
	forge("H\0\0\0\2\xa0z", 7);
	/* Its room is given back, so it is kept elsewhere. */
	expect_part(STREAM_PART_EMPTY);
	ck_assert_uint_eq(atomic_load(&ring_in->entry->tail), 8);
	memset(ring_out->segment.payload, 'x', 8);
	forge("D\0\0\0\1\x01", 6);
	item = expect_part(STREAM_PART_BEGIN);
	ck_assert_uint_eq(item.header_length, 2);
	ck_assert_mem_eq(item.header, "\xa0z", 2);
	expect_body(STREAM_PART_BODY, "\x01", 1);
	text_end(&text, "\x01", 1, true);
	forge_text(&text);
	expect_part(STREAM_PART_FINISH);
}
END_TEST

START_TEST(a_whole_messages_header_survives_its_release)
{
	struct stream_item item;

	forge("WH\0\0\0\2\xa0z", 8);
	expect_part(STREAM_PART_EMPTY);
	memset(ring_out->segment.payload, 'x', 8);
	forge("D\0\0\0\1\x01", 6);
	item = expect_part(STREAM_PART_WHOLE);
	ck_assert_uint_eq(item.header_length, 2);
	ck_assert_mem_eq(item.header, "\xa0z", 2);
}
END_TEST

START_TEST(room_is_given_back_within_a_large_batch)
{
	static uint8_t body[1000];
	uint64_t tail = 0;
	unsigned rises = 0;

	streams_close();
	streams_open(1u << 20, 2, true);
	for (int i = 0; i < 1000; i++)
		ck_assert_int_eq(stream_send(out, NULL, 0, body, sizeof body), 0);
	stream_flush(out, false);
	for (int i = 0; i < 1000; i++) {
		expect_part(STREAM_PART_WHOLE);
		rises += atomic_load(&ring_in->entry->tail) > tail;
		tail = atomic_load(&ring_in->entry->tail);
	}
	/* About every 64 KiB, so neither per message nor at the end. */
	ck_assert_uint_ge(rises, 10);
	ck_assert_uint_le(rises, 20);
	expect_part(STREAM_PART_EMPTY);
	ck_assert_uint_eq(atomic_load(&ring_in->entry->tail), ring_writer_position(ring_out));
}
END_TEST

START_TEST(the_end_is_told_between_messages_and_within_one)
{
	forge("WD\0\0\0\1\x01" "CD\0\0\0\1\x01", 14);
	ring_writer_end(ring_out, RING_COMPLETE, 0);
	expect_part(STREAM_PART_WHOLE);
	expect_part(STREAM_PART_BEGIN);
	expect_part(STREAM_PART_BODY);
	expect_part(STREAM_PART_ENDED);
	ck_assert(stream_reader_is_open(in));
}
END_TEST

START_TEST(a_dead_writer_is_told_after_every_part)
{
	struct stream_item item;

	forge("WD\0\0\0\1\x01" "C", 8);
	atomic_store(&ring_in->writer_dead, true);
	expect_part(STREAM_PART_WHOLE);
	ck_assert_int_eq(stream_next(in, &item), -EOWNERDEAD);
	ck_assert(stream_reader_is_open(in));
}
END_TEST

/* ---- late readers ------------------------------------------------------------------------------------ */

START_TEST(a_late_reader_skips_to_the_next_message)
{
	struct stream_item item;

	text_frame(&text, 'D', "WC", 2);
	text_frame(&text, 'P', "W", 1);
	text_frame(&text, 'D', "\x01", 1);
	text_end(&text, "not the body that was seen", 26, true);
	text_bytes(&text, "WD\0\0\0\1\x07", 7);
	forge_text(&text);
	item = expect_part(STREAM_PART_WHOLE);
	ck_assert_uint_eq(item.bytes[0], 7);
	ck_assert_uint_eq(item.message, 0);
	ck_assert_uint_eq(stream_reader_messages(in), 1);
}
END_TEST

START_TEST(a_late_reader_may_begin_at_a_message)
{
	forge("WD\0\0\0\1\x07", 7);
	expect_body(STREAM_PART_WHOLE, "\x07", 1);
}
END_TEST

START_TEST(a_late_reader_skips_a_message_that_fails)
{
	forge("D\0\0\0\1\x01X\0\0\0\0P\0\0\0\0WD\0\0\0\1\x07", 23);
	expect_body(STREAM_PART_WHOLE, "\x07", 1);
}
END_TEST

START_TEST(a_late_reader_that_finds_only_frames_waits_and_ends)
{
	forge("D\0\0\0\1\x01", 6);
	expect_part(STREAM_PART_EMPTY);
	forge("D\0\0\0\1\x01", 6);
	expect_part(STREAM_PART_EMPTY);
	ck_assert(!stream_reader_is_open(in));
	ck_assert_uint_eq(atomic_load(&ring_in->entry->tail), 12);
	ring_writer_end(ring_out, RING_COMPLETE, 0);
	expect_part(STREAM_PART_ENDED);
}
END_TEST

START_TEST(a_late_reader_tells_of_unknown_bytes)
{
	forge("D\0\0\0\1\x01Z\0\0\0\0", 11);
	expect_fault("unknown frame type", 6, 0);
}
END_TEST

START_TEST(a_real_late_reader_joins_a_chunked_message_and_takes_the_next)
{
	static uint8_t body[2000];

	streams_close();
	streams_open(RING_MIN_SLOT_SIZE, 4, true);
	ck_assert_int_eq(stream_begin(out, "\xa0", 1), 0);
	for (int i = 0; i < 40; i++)
		ck_assert_int_eq(stream_put(out, body, sizeof body), 0);
	stream_flush(out, true);
	/* Its beginning is in slot 0, it goes on in slot 1. */
	ring_detach(ring_in);
	stream_reader_close(in);
	ring_in = join_ring();
	ck_assert_uint_eq(ring_reader_start(ring_in), RING_MIN_SLOT_SIZE);
	ck_assert_int_eq(stream_reader_open(&in, ring_in, false), 0);
	expect_part(STREAM_PART_EMPTY);
	ck_assert_int_eq(stream_finish(out), 0);
	ck_assert_int_eq(stream_send(out, NULL, 0, "\x07", 1), 0);
	stream_flush(out, false);
	expect_body(STREAM_PART_WHOLE, "\x07", 1);
	expect_part(STREAM_PART_EMPTY);
}
END_TEST

/* ---- dropping ------------------------------------------------------------------------------------------ */

static void wish(bool for_us)
{
	atomic_store(&ring_out->segment.shared->wish, wish_make(1u << 20, for_us ? 0 : 1));
}

START_TEST(whole_messages_are_dropped_while_the_writer_waits)
{
	for (int i = 0; i < 4; i++)
		text_bytes(&text, "WD\0\0\0\1\x01", 7);
	forge_text(&text);
	expect_part(STREAM_PART_WHOLE);
	wish(true);
	expect_part(STREAM_PART_DROPPED);
	expect_part(STREAM_PART_DROPPED);
	wish(false);
	ck_assert_uint_eq(expect_part(STREAM_PART_WHOLE).message, 3);
	ck_assert_int_eq(stream_release(in), 0);
	ck_assert_uint_eq(atomic_load(&ring_in->entry->dropped), 2);
	ck_assert_uint_eq(atomic_load(&ring_in->entry->messages), 2);
}
END_TEST

START_TEST(a_message_that_has_begun_is_not_dropped)
{
	text_byte(&text, 'C');
	text_frame(&text, 'D', "\x01", 1);
	text_end(&text, "\x01", 1, true);
	forge_text(&text);
	expect_part(STREAM_PART_BEGIN);
	wish(true);
	expect_part(STREAM_PART_BODY);
	expect_part(STREAM_PART_FINISH);
	ck_assert_uint_eq(atomic_load(&ring_in->entry->dropped), 0);
}
END_TEST

START_TEST(a_chunked_message_is_dropped_as_a_whole_though_the_wish_is_gone)
{
	wish(true);
	text_byte(&text, 'C');
	text_frame(&text, 'H', "\xa0", 1);
	text_frame(&text, 'D', "\x01", 1);
	forge_text(&text);
	expect_part(STREAM_PART_EMPTY);
	wish(false);
	text_clear(&text);
	text_frame(&text, 'D', "\x02", 1);
	text_end(&text, "its digest is not looked at", 27, true);
	text_byte(&text, 'C');
	text_end(&text, "", 0, true);
	forge_text(&text);
	expect_part(STREAM_PART_DROPPED);
	expect_part(STREAM_PART_BEGIN);
	expect_part(STREAM_PART_FINISH);
}
END_TEST

START_TEST(a_message_that_fails_while_it_is_dropped_is_dropped)
{
	wish(true);
	forge("CD\0\0\0\1\x01X\0\0\0\0", 12);
	expect_part(STREAM_PART_DROPPED);
	expect_part(STREAM_PART_EMPTY);
	ck_assert_uint_eq(atomic_load(&ring_in->entry->dropped), 1);
}
END_TEST

START_TEST(bad_bytes_in_a_dropped_message_are_told)
{
	wish(true);
	forge("CD\0\0\0\1\x01Z\0\0\0\0", 12);
	expect_fault("unknown frame type", 7, 0);
}
END_TEST

START_TEST(nothing_is_dropped_unless_asked_for)
{
	streams_close();
	open_streams();
	wish(true);
	forge("WD\0\0\0\1\x01", 7);
	expect_part(STREAM_PART_WHOLE);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stream read");
	TCase *parts = fixture_case(suite, "parts"), *late = fixture_case(suite, "late");
	TCase *drop = fixture_case(suite, "drop");

	tcase_add_checked_fixture(parts, open_streams, streams_close);
	tcase_add_checked_fixture(late, open_late, streams_close);
	tcase_add_checked_fixture(drop, open_dropping, streams_close);
	tcase_add_test(parts, a_whole_message_is_one_part_in_place);
	tcase_add_test(parts, a_message_without_a_header_has_none);
	tcase_add_test(parts, a_chunked_message_begins_has_bodies_and_finishes);
	tcase_add_test(parts, an_empty_chunked_message_finishes);
	tcase_add_test(parts, pads_are_skipped_wherever_a_frame_may_stand);
	tcase_add_test(parts, a_message_may_be_published_piece_by_piece);
	tcase_add_test(parts, a_whole_messages_header_survives_its_release);
	tcase_add_test(parts, room_is_given_back_within_a_large_batch);
	tcase_add_test(parts, the_end_is_told_between_messages_and_within_one);
	tcase_add_test(parts, a_dead_writer_is_told_after_every_part);
	tcase_add_test(late, a_late_reader_skips_to_the_next_message);
	tcase_add_test(late, a_late_reader_may_begin_at_a_message);
	tcase_add_test(late, a_late_reader_skips_a_message_that_fails);
	tcase_add_test(late, a_late_reader_that_finds_only_frames_waits_and_ends);
	tcase_add_test(late, a_late_reader_tells_of_unknown_bytes);
	tcase_add_test(late, a_real_late_reader_joins_a_chunked_message_and_takes_the_next);
	tcase_add_test(drop, whole_messages_are_dropped_while_the_writer_waits);
	tcase_add_test(drop, a_message_that_has_begun_is_not_dropped);
	tcase_add_test(drop, a_chunked_message_is_dropped_as_a_whole_though_the_wish_is_gone);
	tcase_add_test(drop, a_message_that_fails_while_it_is_dropped_is_dropped);
	tcase_add_test(drop, bad_bytes_in_a_dropped_message_are_told);
	tcase_add_test(drop, nothing_is_dropped_unless_asked_for);
	return fixture_run(suite);
}
