/* test_stream_forged.c - bytes that are no stream, or not the one that was sent. */
// needs: tests/unit/ring_fixture.c tests/unit/stream_fixture.c
#include <errno.h>

#include "tests/unit/stream_fixture.h"

static struct text text;

static void open_streams(void)
{
	streams_open(RING_MIN_SLOT_SIZE, 4, true);
	text_clear(&text);
}

/* Raw bytes, parts that come before the fault, and the fault. */
static const struct {
	const char *bytes;
	size_t length;
	int parts;
	const char *fault;
	uint64_t position, message;
} faults[] = {
	{ "Z", 1, 0, "no marker where a message begins", 0, 0 },
	{ "\0", 1, 0, "no marker where a message begins", 0, 0 },
	{ "D\0\0\0\1\1", 6, 0, "no marker where a message begins", 0, 0 },
	{ "E\0\0\0\x08\0\0\0\0\0\0\0\0", 13, 0, "no marker where a message begins", 0, 0 },
	{ "X\0\0\0\0", 5, 0, "no marker where a message begins", 0, 0 },
	{ "WD\0\0\0\1\1Z", 8, 1, "no marker where a message begins", 7, 1 },
	{ "WD\0\0\0\1\1D\0\0\0\1\1", 13, 1, "no marker where a message begins", 7, 1 },
	{ "WE\0\0\0\x08\0\0\0\0\0\0\0\0", 14, 0, "no DATA in a whole message", 1, 0 },
	{ "WX\0\0\0\0", 6, 0, "no DATA in a whole message", 1, 0 },
	{ "WW", 2, 0, "no DATA in a whole message", 1, 0 },
	{ "WZ", 2, 0, "no DATA in a whole message", 1, 0 },
	{ "WD\0\0\0", 5, 0, "frame head cut off", 1, 0 },
	{ "WD", 2, 0, "frame head cut off", 1, 0 },
	{ "P\0\0", 3, 0, "frame head cut off", 0, 0 },
	{ "WD\0\0\0\2\1", 7, 0, "frame longer than what is there", 1, 0 },
	{ "WD\xff\xff\xff\xff\1", 7, 0, "frame longer than what is there", 1, 0 },
	{ "WD\0\0\xff\xff\1", 7, 0, "frame longer than what is there", 1, 0 },
	{ "P\xff\xff\xff\xfa", 5, 0, "frame longer than what is there", 0, 0 },
	{ "WH\0\0\0\2\xa0", 7, 0, "frame longer than what is there", 1, 0 },
	{ "WH\0\0\0\1\xa0H\0\0\0\1\xa0", 13, 0, "unexpected HEADER", 7, 0 },
	{ "CD\0\0\0\1\1H\0\0\0\1\xa0", 13, 2, "unexpected HEADER", 7, 0 },
	{ "CZ\0\0\0\0", 6, 1, "unknown frame type", 1, 0 },
	{ "CW\0\0\0\0", 6, 1, "unknown frame type", 1, 0 },
	{ "CC\0\0\0\0", 6, 1, "unknown frame type", 1, 0 },
	{ "CE\0\0\0\0", 6, 1, "END of a wrong size", 1, 0 },
	{ "CE\0\0\0\7\0\0\0\0\0\0\0", 13, 1, "END of a wrong size", 1, 0 },
	{ "CE\0\0\0\x11\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 23, 1, "END of a wrong size", 1, 0 },
	{ "CE\0\0\0\x08\0\0\0\0\0\0\0\0", 14, 1, "END of a wrong size", 1, 0 },
	{ "UE\0\0\0\x10\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 22, 1, "END of a wrong size", 1, 0 },
	{ "UE\0\0\0\x08\0\0\0\0\0\0\0\1", 14, 1, "END does not match the length of the body", 1, 0 },
	{ "UD\0\0\0\1\1E\0\0\0\x08\0\0\0\0\0\0\0\0", 20, 2, "END does not match the length of the body", 7, 0 },
	{ "UD\0\0\0\1\1E\0\0\0\x08\1\0\0\0\0\0\0\1", 20, 2, "END does not match the length of the body", 7, 0 },
	{ "CE\0\0\0\x10\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 22, 1, "digest mismatch", 1, 0 },
};

START_TEST(forged_bytes_are_told_by_what_and_where)
{
	struct stream_item item;

	forge(faults[_i].bytes, faults[_i].length);
	for (int i = 0; i < faults[_i].parts; i++)
		ck_assert_int_eq(stream_next(in, &item), 0);
	expect_fault(faults[_i].fault, faults[_i].position, faults[_i].message);
}
END_TEST

START_TEST(every_changed_byte_of_a_body_or_its_end_is_found)
{
	for (size_t at = 6; at < 30; at++) {
		struct stream_item item;
		int error = 0;

		if (at == 9)
			at = 14;       /* past the END's head */
		text_clear(&text);
		text_byte(&text, 'C');
		text_frame(&text, 'D', "\x82\x01\x02", 3);
		text_end(&text, "\x82\x01\x02", 3, true);
		ck_assert_uint_eq(text.length, 30);
		text.bytes[at] ^= (uint8_t)(1u << at % 8);
		forge_text(&text);
		for (int parts = 0; parts < 3 && error == 0; parts++)
			error = stream_next(in, &item);
		ck_assert_int_eq(error, -EBADMSG);
		streams_close();
		open_streams();
	}
}
END_TEST

START_TEST(a_header_longer_than_32_KiB_is_refused)
{
	static uint8_t header[STREAM_HEADER_MAX + 1];

	text_byte(&text, 'W');
	text_frame(&text, 'H', header, STREAM_HEADER_MAX);
	text_frame(&text, 'D', "\x01", 1);
	forge_text(&text);
	ck_assert_uint_eq(expect_part(STREAM_PART_WHOLE).header_length, STREAM_HEADER_MAX);
	expect_part(STREAM_PART_EMPTY);
	text_clear(&text);
	text_byte(&text, 'W');
	text_frame(&text, 'H', header, STREAM_HEADER_MAX + 1);
	forge_text(&text);
	/* It stands in the next slot. */
	expect_fault("unexpected HEADER", RING_MIN_SLOT_SIZE + 1, 1);
}
END_TEST

START_TEST(a_frame_does_not_continue_in_the_next_batch)
{
	forge("WD\0\0\0\2\1", 7);
	expect_fault("frame longer than what is there", 1, 0);
	forge("\2", 1);
	expect_fault("frame longer than what is there", 1, 0);
}
END_TEST

START_TEST(an_evicted_reader_is_told_so_whatever_the_bytes_are)
{
	struct stream_item item;

	forge("Z", 1);
	atomic_store(&ring_in->entry->word, word_next(ring_in->word, ENTRY_EVICTED));
	ck_assert_int_eq(stream_next(in, &item), -ESTALE);
}
END_TEST

START_TEST(an_evicted_reader_is_told_when_it_releases)
{
	struct stream_item item;

	forge("WD\0\0\0\1\x01", 7);
	expect_part(STREAM_PART_WHOLE);
	atomic_store(&ring_in->entry->word, word_next(ring_in->word, ENTRY_EVICTED));
	ck_assert_int_eq(stream_next(in, &item), -ESTALE);
	ck_assert_int_eq(stream_release(in), 0);       /* nothing is left to give back */
}
END_TEST

/* ---- ERROR ----------------------------------------------------------------------------------------- */

static const struct {
	const char *payload;
	size_t length;
	int code;
	const char *text;
} errors[] = {
	{ "\xa2\x64" "code\x04\x64text\x63" "bad", 16, 4, "bad" },
	{ "\xa2\x64text\x63" "bad\x64" "code\x18\xff", 17, 255, "bad" },
	{ "\xa2\x64" "code\x19\x01\x00\x64text\x60", 15, 1, "" },         /* no exit code */
	{ "\xa2\x64" "code\x20\x64text\x60", 13, 1, "" },
	{ "\xa1\x64text\x66" "a\x1b\n\x7fz.", 13, 1, "a???z." },
	{ "\xa1\x64text\x63" "a\0b", 10, 1, "a" },
	{ "\xa1\x64text\x62\xff\xfe", 9, 1, "" },                         /* no UTF-8 */
	{ "\xa3\x65other\x05\x64" "code\x06\x64text\x61x", 21, 6, "x" },
	{ "\xa1\x64text\x7a\xff\xff\xff\xff" "abc", 14, 1, "" },          /* longer than the frame */
	{ "\xa0", 1, 1, "" },
	{ "", 0, 1, "" },
	{ "\xff\xff\xff", 3, 1, "" },
	{ "\x64text\x63" "bad", 9, 1, "bad" },
};

START_TEST(an_errors_code_and_text_are_read_as_far_as_they_make_sense)
{
	struct stream_item item;

	text_byte(&text, 'C');
	text_frame(&text, 'X', errors[_i].payload, errors[_i].length);
	text_bytes(&text, "WD\0\0\0\1\x01", 7);
	forge_text(&text);
	expect_part(STREAM_PART_BEGIN);
	item = expect_part(STREAM_PART_FAIL);
	ck_assert_int_eq(item.code, errors[_i].code);
	ck_assert_str_eq(item.text, errors[_i].text);
	ck_assert(!stream_reader_is_open(in));
	ck_assert_uint_eq(expect_part(STREAM_PART_WHOLE).message, 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stream forged");
	TCase *fault = fixture_case(suite, "faults");

	tcase_add_checked_fixture(fault, open_streams, streams_close);
	tcase_add_loop_test(fault, forged_bytes_are_told_by_what_and_where, 0,
	                    sizeof faults / sizeof faults[0]);
	tcase_add_test(fault, every_changed_byte_of_a_body_or_its_end_is_found);
	tcase_add_test(fault, a_header_longer_than_32_KiB_is_refused);
	tcase_add_test(fault, a_frame_does_not_continue_in_the_next_batch);
	tcase_add_test(fault, an_evicted_reader_is_told_so_whatever_the_bytes_are);
	tcase_add_test(fault, an_evicted_reader_is_told_when_it_releases);
	tcase_add_loop_test(fault, an_errors_code_and_text_are_read_as_far_as_they_make_sense, 0,
	                    sizeof errors / sizeof errors[0]);
	return fixture_run(suite);
}
