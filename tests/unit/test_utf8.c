/* test_utf8.c - UTF-8 against a plain reading of RFC 3629. */
#include "shared/utf8.h"

#include <check.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of the valid character at `bytes`, or 0: by its code point. */
static size_t reference_size(const uint8_t *bytes, size_t length)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint32_t code_point;
	size_t size;

	if (bytes[0] < 0x80)
		return 1;
	size = (bytes[0] & 0xe0) == 0xc0 ? 2 : (bytes[0] & 0xf0) == 0xe0 ? 3 :
	       (bytes[0] & 0xf8) == 0xf0 ? 4 : 0;
	if (size == 0 || size > length)
		return 0;
	code_point = bytes[0] & (0x7fu >> size);
	for (size_t i = 1; i < size; i++) {
		if ((bytes[i] & 0xc0) != 0x80)
			return 0;
		code_point = code_point << 6 | (bytes[i] & 0x3f);
	}
	if (code_point < least[size] || code_point > 0x10ffff ||
	    (code_point >= 0xd800 && code_point <= 0xdfff))
		return 0;
	return size;
}

static size_t reference_valid(const uint8_t *bytes, size_t length)
{
	size_t at = 0, size;

	for (; at < length; at += size) {
		size = reference_size(bytes + at, length - at);
		if (size == 0)
			break;
	}
	return at;
}

START_TEST(every_code_point_is_written_and_accepted)
{
	unsigned wrong = 0;            /* an assertion each would take too long */

	for (uint32_t code_point = 0; code_point <= 0x10ffff; code_point++) {
		uint8_t bytes[4];
		size_t size;

		if (code_point >= 0xd800 && code_point <= 0xdfff)
			continue;
		size = utf8_put(bytes, code_point);
		wrong += reference_size(bytes, size) != size || utf8_valid(bytes, size) != size;
		for (size_t part = 1; part < size; part++)
			wrong += utf8_valid(bytes, part) != 0 || !utf8_could_continue(bytes, part);
		wrong += utf8_could_continue(bytes, size) != 0;
	}
	ck_assert_uint_eq(wrong, 0);
}
END_TEST

/* All leads, with following bytes around each bound. */
START_TEST(sequences_are_valid_as_the_rfc_says)
{
	static const uint8_t edges[] = { 0x00, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xff };
	const size_t count = sizeof(edges);
	unsigned wrong = 0;

	for (unsigned lead = 0; lead < 256; lead++) {
		for (size_t i = 0; i < count * count * count; i++) {
			uint8_t bytes[4] = { (uint8_t)lead, edges[i % count], edges[i / count % count],
			                     edges[i / count / count] };

			for (size_t length = 1; length <= 4; length++)
				wrong += utf8_valid(bytes, length) != reference_valid(bytes, length);
		}
	}
	ck_assert_uint_eq(wrong, 0);
}
END_TEST

/* A start can continue exactly if some end makes it valid. */
START_TEST(a_cut_character_could_continue_if_any_end_fits)
{
	unsigned wrong = 0;

	for (unsigned i = 0; i < 1u << 16; i++) {
		uint8_t bytes[4] = { (uint8_t)(i >> 8), (uint8_t)i };
		bool one = false, two = false;

		for (unsigned edge = 0; edge < 2; edge++) {
			bytes[2] = bytes[3] = edge ? 0xbf : 0x80;
			two |= reference_size(bytes, 4) > 2;
			for (unsigned second = 0x80; second <= 0xbf; second++) {
				uint8_t more[4] = { bytes[0], (uint8_t)second, bytes[2], bytes[3] };

				one |= reference_size(more, 4) > 1;
			}
		}
		wrong += utf8_could_continue(bytes, 1) != one || utf8_could_continue(bytes, 2) != two;
	}
	ck_assert_uint_eq(wrong, 0);
	ck_assert_int_eq(utf8_could_continue((const uint8_t *)"", 0), 0);
	ck_assert_int_eq(utf8_could_continue((const uint8_t *)"\xf0\x9f\x98", 3), 1);
	ck_assert_int_eq(utf8_could_continue((const uint8_t *)"\xf0\x9f\x28", 3), 0);
	ck_assert_int_eq(utf8_could_continue((const uint8_t *)"\xe2\x82\xac", 3), 0);
}
END_TEST

/* Long texts with a fault at each place, and every alignment. */
START_TEST(the_first_fault_is_found_wherever_it_is)
{
	static const char *const characters[] = { "a", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80" };
	uint8_t text[200];
	size_t length = 0;
	unsigned random = 1;

	while (length < sizeof(text) - 4) {
		const char *next = characters[random >> 16 & 3];

		random = random * 1103515245u + 12345u;
		for (unsigned run = 1 + (random >> 20 & 15); run > 0 && length < sizeof(text) - 4; run--) {
			memcpy(text + length, next, strlen(next));
			length += strlen(next);
		}
	}
	ck_assert_uint_eq(utf8_valid(text, length), length);
	for (size_t start = 0; start < 32; start++)
		ck_assert_uint_eq(utf8_valid(text + start, length - start),
		                  reference_valid(text + start, length - start));
	for (size_t at = 0; at < length; at++) {
		uint8_t kept = text[at];

		text[at] = 0xff;
		ck_assert_uint_eq(utf8_valid(text, length), reference_valid(text, length));
		text[at] = kept;
		ck_assert_uint_eq(utf8_valid(text, at), reference_valid(text, at));
	}
}
END_TEST

START_TEST(a_cut_does_not_split_a_character)
{
	const uint8_t *text = (const uint8_t *)"a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z";
	static const size_t cuts[] = { 0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11 };

	for (size_t length = 0; length < sizeof(cuts) / sizeof(cuts[0]); length++)
		ck_assert_uint_eq(utf8_cut(text, length), cuts[length]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("utf8");
	TCase *all = tcase_create("utf8");
	SRunner *runner;
	int failed;

	tcase_add_test(all, every_code_point_is_written_and_accepted);
	tcase_add_test(all, sequences_are_valid_as_the_rfc_says);
	tcase_add_test(all, a_cut_character_could_continue_if_any_end_fits);
	tcase_add_test(all, the_first_fault_is_found_wherever_it_is);
	tcase_add_test(all, a_cut_does_not_split_a_character);
	suite_add_tcase(suite, all);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
