/* test_cbor_walk.c - what is well-formed, and what a token says. */
#include "shared/cbor_walk.h"

#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct cbor_walker walker;
static struct cbor_token token;

/* Bytes from their hex digits.  Returns how many. */
static size_t unhex(const char *hex, uint8_t *out)
{
	size_t length = strlen(hex) / 2;

	for (size_t i = 0; i < length; i++) {
		char digits[3] = { hex[2 * i], hex[2 * i + 1], '\0' };

		out[i] = (uint8_t)strtoul(digits, NULL, 16);
	}
	return length;
}

/* Walk all of it, in a copy without a byte to spare.  Returns the last outcome. */
static int walk(const char *hex)
{
	uint8_t *bytes = malloc(strlen(hex) / 2 + 1);
	uint8_t *exact;
	size_t length = unhex(hex, bytes), at = 0;
	int outcome = 1;

	exact = malloc(length + (length == 0));
	memcpy(exact, bytes, length);
	cbor_walker_init(&walker);
	while (at < length && outcome == 1) {
		outcome = cbor_walk(&walker, exact + at, length - at, &token);
		at += outcome == 1 ? token.size : 0;
	}
	free(exact);
	free(bytes);
	return outcome;
}

static void must_be_items(const char *hex)
{
	ck_assert_msg(walk(hex) == 1 && cbor_walker_idle(&walker), "%s: %s", hex, cbor_walk_fault());
}

static void must_be_bad(const char *hex, const char *fault)
{
	ck_assert_msg(walk(hex) == -EBADMSG, "%s", hex);
	ck_assert_str_eq(cbor_walk_fault(), fault);
}

START_TEST(every_initial_byte_is_known_or_refused)
{
	for (unsigned initial = 0; initial < 256; initial++) {
		/* Enough zeros for the longest head, and a whole item. */
		uint8_t bytes[16] = { (uint8_t)initial };
		unsigned major = initial >> 5, info = initial & 31;
		bool reserved = info >= 28 && info <= 30;
		bool endless = info == 31 && (major < 2 || major > 5);
		bool expected = !reserved && !endless && initial != 0xf8;

		cbor_walker_init(&walker);
		ck_assert_int_eq(cbor_walk(&walker, bytes, sizeof(bytes), &token) >= 0, expected);
	}
}
END_TEST

START_TEST(integers_keep_their_values)
{
	static const struct {
		const char *hex;
		enum cbor_kind kind;
		uint64_t number;
	} cases[] = {
		{ "00", CBOR_UNSIGNED, 0 },
		{ "17", CBOR_UNSIGNED, 23 },
		{ "1818", CBOR_UNSIGNED, 24 },
		{ "1800", CBOR_UNSIGNED, 0 },
		{ "190100", CBOR_UNSIGNED, 256 },
		{ "1a00010000", CBOR_UNSIGNED, 65536 },
		{ "1bffffffffffffffff", CBOR_UNSIGNED, UINT64_MAX },
		{ "20", CBOR_NEGATIVE, 0 },
		{ "37", CBOR_NEGATIVE, 23 },
		{ "38ff", CBOR_NEGATIVE, 255 },
		{ "39ffff", CBOR_NEGATIVE, 65535 },
		{ "3affffffff", CBOR_NEGATIVE, UINT32_MAX },
		{ "3bffffffffffffffff", CBOR_NEGATIVE, UINT64_MAX },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		must_be_items(cases[i].hex);
		ck_assert_int_eq(token.kind, cases[i].kind);
		ck_assert_uint_eq(token.number, cases[i].number);
		ck_assert_uint_eq(token.size, strlen(cases[i].hex) / 2);
	}
}
END_TEST

START_TEST(floats_keep_their_values_and_width)
{
	must_be_items("f93e00");
	ck_assert(token.kind == CBOR_FLOAT && token.width == 2 && token.real == 1.5);
	must_be_items("f90001");
	ck_assert(token.real == ldexp(1, -24));
	must_be_items("fa47c35000");
	ck_assert(token.kind == CBOR_FLOAT && token.width == 4 && token.real == 100000.0);
	must_be_items("fbc010666666666666");
	ck_assert(token.kind == CBOR_FLOAT && token.width == 8 && token.real == -4.1);
	must_be_items("f9fc00");
	ck_assert(isinf(token.real) && token.real < 0);
	must_be_items("fb7ff8000000000000");
	ck_assert(isnan(token.real));
}
END_TEST

START_TEST(all_tags_and_simple_values_are_known)
{
	char hex[16];

	for (unsigned tag = 0; tag < 24; tag++) {
		snprintf(hex, sizeof(hex), "%02x00", 0xc0 + tag);
		must_be_items(hex);
	}
	must_be_items("d81800");
	must_be_items("dbffffffffffffffff00");
	for (unsigned value = 0; value < 24; value++) {
		snprintf(hex, sizeof(hex), "%02x", 0xe0 + value);
		must_be_items(hex);
		ck_assert(token.kind == CBOR_SIMPLE && token.number == value);
	}
	for (unsigned value = 0; value < 256; value++) {
		snprintf(hex, sizeof(hex), "f8%02x", value);
		if (value < 32) {
			must_be_bad(hex, "simple value below 32 in two bytes");
		} else {
			must_be_items(hex);
			ck_assert(token.kind == CBOR_SIMPLE && token.number == value);
		}
	}
}
END_TEST

START_TEST(breaks_end_only_what_has_no_length)
{
	must_be_items("9fff");
	must_be_items("bf0001ff");
	must_be_items("5fff");
	must_be_items("7fff");
	must_be_bad("ff", "stray break");
	must_be_bad("81ff", "stray break");
	must_be_bad("9f81ffff", "stray break");
	must_be_bad("c0ff", "stray break");
	must_be_bad("9fc0ff", "stray break");
	must_be_bad("9fffff", "stray break");
	must_be_bad("a1ff", "stray break");
	must_be_bad("a100ff", "stray break");
	must_be_bad("bf00ff", "break after a key");
	must_be_bad("bf000102ff", "break after a key");
}
END_TEST

START_TEST(breaks_say_what_they_close)
{
	static const struct {
		const char *hex;
		enum cbor_kind closes;
	} cases[] = {
		{ "9f00ff", CBOR_ARRAY },
		{ "bf0001ff", CBOR_MAP },
		{ "5f4100ff", CBOR_BYTES_START },
		{ "7f6161ff", CBOR_TEXT_START },
		{ "819fff", CBOR_ARRAY },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		must_be_items(cases[i].hex);
		ck_assert_int_eq(token.kind, CBOR_BREAK);
		ck_assert_int_eq(token.closes, cases[i].closes);
	}
}
END_TEST

START_TEST(chunks_are_definite_strings_of_the_same_kind)
{
	must_be_items("5f41004200005800ff");
	must_be_items("7f616162c3bcff");
	must_be_bad("5f6161ff", "not a chunk of the string's kind");
	must_be_bad("7f4100ff", "not a chunk of the string's kind");
	must_be_bad("5f5f4100ffff", "not a chunk of the string's kind");
	must_be_bad("7f7fffff", "not a chunk of the string's kind");
	must_be_bad("5f00ff", "not a chunk of the string's kind");
	must_be_bad("5fc04100ff", "not a chunk of the string's kind");
	must_be_bad("5f80ff", "not a chunk of the string's kind");
	must_be_bad("5ff6ff", "not a chunk of the string's kind");
	must_be_bad("5f5cff", "unknown initial byte");
	ck_assert_int_eq(walk("5f41"), 0);
}
END_TEST

START_TEST(text_is_utf8_in_each_chunk)
{
	must_be_items("62c3bc");
	must_be_items("63e6b0b4");
	must_be_items("64f0908591");
	must_be_bad("61c3", "text is not valid UTF-8");
	must_be_bad("62c080", "text is not valid UTF-8");
	must_be_bad("63eda080", "text is not valid UTF-8");
	must_be_bad("7f61c361bcff", "text is not valid UTF-8");
	/* Also past what is looked at at once. */
	must_be_bad("7822616161616161616161616161616161616161616161616161616161616161616161ff",
	            "text is not valid UTF-8");
}
END_TEST

START_TEST(a_token_cut_short_says_what_it_needs)
{
	static const struct {
		const char *hex;
		size_t needs;
	} cases[] = {
		{ "18", 2 },
		{ "190000", 3 },
		{ "1b00000000", 9 },
		{ "f93c", 3 },
		{ "f8", 2 },
		{ "fb", 9 },
		{ "d9ff", 3 },
		{ "9a0000", 5 },
		{ "43aabb", 4 },
		{ "58", 2 },
		{ "5820aa", 34 },
		{ "5901", 3 },
		{ "590100", 259 },
		{ "7a00000100", 261 },
		{ "5bfffffffffffffff6", SIZE_MAX },
		{ "7bffffffffffffffff", SIZE_MAX },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t bytes[16];
		size_t length = unhex(cases[i].hex, bytes);

		cbor_walker_init(&walker);
		token.size = 0;
		if (cases[i].needs == length) {
			ck_assert_int_eq(cbor_walk(&walker, bytes, length, &token), 1);
			continue;
		}
		ck_assert_int_eq(cbor_walk(&walker, bytes, length, &token), 0);
		ck_assert_uint_eq(token.size, cases[i].needs);
		ck_assert(cbor_walker_idle(&walker));
	}
	ck_assert_int_eq(cbor_walk(&walker, NULL, 0, &token), 0);
	ck_assert_uint_eq(token.size, 1);
}
END_TEST

START_TEST(items_end_where_their_last_part_ends)
{
	must_be_items("80");
	must_be_items("a0");
	must_be_items("8180");
	must_be_items("83018202039f0405ff");
	must_be_items("a26161016162820203");
	must_be_items("c1c2c340");
	must_be_items("9fbf6161c19fffffff");
	ck_assert(walk("8301") == 1 && !cbor_walker_idle(&walker));
	ck_assert(walk("a16161") == 1 && !cbor_walker_idle(&walker));
	ck_assert(walk("c0") == 1 && !cbor_walker_idle(&walker));
}
END_TEST

START_TEST(huge_counts_neither_end_nor_overflow)
{
	static const char *const heads[] = {
		"9bffffffffffffffff", "9bfffffffffffffffe",
		"bbffffffffffffffff", "bb8000000000000000", "bb7fffffffffffffff",
	};

	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		char hex[64];

		snprintf(hex, sizeof(hex), "%s00000000", heads[i]);
		ck_assert(walk(hex) == 1 && walker.depth == 1);
		snprintf(hex, sizeof(hex), "%s0000ff", heads[i]);
		must_be_bad(hex, "stray break");
	}
}
END_TEST

START_TEST(maps_know_key_from_value)
{
	ck_assert(walk("a200") == 1 && walker.levels[1].odd);
	ck_assert(walk("a20000") == 1 && !walker.levels[1].odd);
	ck_assert(walk("bf8100") == 1 && walker.levels[1].odd);
	ck_assert(walk("bf810000") == 1 && !walker.levels[1].odd);
	ck_assert(walk("bfc100") == 1 && walker.levels[1].odd);
	ck_assert(walk("bf7fff") == 1 && walker.levels[1].odd);
}
END_TEST

START_TEST(nesting_is_bounded_and_a_refusal_changes_nothing)
{
	static const uint8_t openers[] = { 0x81, 0x9f, 0xa1, 0xbf, 0xc0, 0x5f, 0x7f };
	const uint8_t empty = 0x80;

	cbor_walker_init(&walker);
	for (unsigned i = 0; i < CBOR_MAX_DEPTH; i++)
		ck_assert_int_eq(cbor_walk(&walker, openers, 1, &token), 1);
	ck_assert_uint_eq(walker.depth, CBOR_MAX_DEPTH);
	for (size_t i = 0; i < sizeof(openers); i++)
		ck_assert_int_eq(cbor_walk(&walker, openers + i, 1, &token), -E2BIG);
	ck_assert_str_eq(cbor_walk_fault(), "nested too deep");
	ck_assert_uint_eq(walker.depth, CBOR_MAX_DEPTH);
	/* What opens nothing still fits, and ends them all. */
	ck_assert_int_eq(cbor_walk(&walker, &empty, 1, &token), 1);
	ck_assert(cbor_walker_idle(&walker));
}
END_TEST

START_TEST(heads_of_long_strings_are_read_alone)
{
	uint8_t bytes[16];
	enum cbor_kind kind;
	uint64_t number;
	size_t length;

	cbor_walker_init(&walker);
	length = unhex("5b000000ffffffffff", bytes);
	ck_assert_uint_eq(cbor_string_head(&walker, bytes, length, &kind, &number), 9);
	ck_assert(kind == CBOR_BYTES && number == 0xffffffffff);
	ck_assert_uint_eq(cbor_string_head(&walker, bytes, length - 1, &kind, &number), 0);
	length = unhex("7a00010000", bytes);
	ck_assert_uint_eq(cbor_string_head(&walker, bytes, length, &kind, &number), 5);
	ck_assert(kind == CBOR_TEXT && number == 65536);

	unhex("5f", bytes);
	ck_assert_uint_eq(cbor_string_head(&walker, bytes, 1, &kind, &number), 0);
	ck_assert_int_eq(cbor_walk(&walker, bytes, 1, &token), 1);
	ck_assert_uint_eq(cbor_string_head(&walker, bytes, 1, &kind, &number), 0);
	unhex("61", bytes);
	ck_assert_uint_eq(cbor_string_head(&walker, bytes, 1, &kind, &number), 0);
	unhex("41", bytes);
	ck_assert_uint_eq(cbor_string_head(&walker, bytes, 1, &kind, &number), 1);
	/* A chunk does not end its string; a string that is an item does end it. */
	cbor_walker_skip_string(&walker);
	ck_assert_uint_eq(walker.depth, 1);
	unhex("81", bytes);
	cbor_walker_init(&walker);
	ck_assert_int_eq(cbor_walk(&walker, bytes, 1, &token), 1);
	cbor_walker_skip_string(&walker);
	ck_assert(cbor_walker_idle(&walker));
}
END_TEST

START_TEST(a_run_stops_at_an_item_a_fault_or_a_cut_token)
{
	uint8_t bytes[64];
	size_t length, taken;

	cbor_walker_init(&walker);
	length = unhex("a26161016162820203f6", bytes);
	ck_assert_int_eq(cbor_walk_run(&walker, bytes, length, &taken), 1);
	ck_assert_uint_eq(taken, 9);
	ck_assert_int_eq(cbor_walk_run(&walker, bytes + 9, 1, &taken), 1);
	ck_assert_uint_eq(taken, 1);
	ck_assert_int_eq(cbor_walk_run(&walker, bytes, 0, &taken), 0);
	ck_assert_uint_eq(taken, 0);

	length = unhex("8401190203f9", bytes);
	ck_assert_int_eq(cbor_walk_run(&walker, bytes, length, &taken), 0);
	ck_assert_uint_eq(taken, 5);
	cbor_walker_init(&walker);
	length = unhex("82f93c007f6161", bytes);
	ck_assert_int_eq(cbor_walk_run(&walker, bytes, length, &taken), 0);
	ck_assert_uint_eq(taken, length);

	cbor_walker_init(&walker);
	length = unhex("9f0061ff", bytes);
	ck_assert_int_eq(cbor_walk_run(&walker, bytes, length, &taken), -EBADMSG);
	ck_assert_uint_eq(taken, 2);
	ck_assert_uint_eq(walker.depth, 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cbor_walk");
	TCase *tokens = tcase_create("tokens");
	SRunner *runner;
	int failed;

	tcase_add_test(tokens, every_initial_byte_is_known_or_refused);
	tcase_add_test(tokens, integers_keep_their_values);
	tcase_add_test(tokens, floats_keep_their_values_and_width);
	tcase_add_test(tokens, all_tags_and_simple_values_are_known);
	tcase_add_test(tokens, breaks_end_only_what_has_no_length);
	tcase_add_test(tokens, breaks_say_what_they_close);
	tcase_add_test(tokens, chunks_are_definite_strings_of_the_same_kind);
	tcase_add_test(tokens, text_is_utf8_in_each_chunk);
	tcase_add_test(tokens, a_token_cut_short_says_what_it_needs);
	tcase_add_test(tokens, items_end_where_their_last_part_ends);
	tcase_add_test(tokens, huge_counts_neither_end_nor_overflow);
	tcase_add_test(tokens, maps_know_key_from_value);
	tcase_add_test(tokens, nesting_is_bounded_and_a_refusal_changes_nothing);
	tcase_add_test(tokens, heads_of_long_strings_are_read_alone);
	tcase_add_test(tokens, a_run_stops_at_an_item_a_fault_or_a_cut_token);
	suite_add_tcase(suite, tokens);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
