/* test_json_parser.c - JSON texts as events, however the input is cut. */
// needs: producer/json_parser.c
#include "tests/unit/json_record.h"

#include <check.h>

static const struct json_feed sequence = { .sequence = true };
static const struct json_feed one_text = { .sequence = false };

static struct json_record record;

static const char *parse(const char *input, size_t length, const struct json_feed *feed)
{
	free(record.text);
	json_record(&record, input, length, feed);
	return record.text;
}

/* Texts, and what is recorded of them as a sequence. */
static const struct {
	const char *input, *events;
} accepted[] = {
	{ "", "" },
	{ " \n\t\r ", "" },
	{ "null", "null\n" },
	{ "true false\nnull", "true\nfalse\nnull\n" },
	{ "0 -0 12 -34.5e-6 1E+9 0e0", "0\n-0\n12\n-34.5e-6\n1E+9\n0e0\n" },
	{ "\"\" \"a\"\"b\"", "\"\"\n\"a\"\n\"b\"\n" },
	{ "[]{}[1][{}]", "[]\n{}\n[1]\n[{}]\n" },
	{ "[1, 2 ,3]\n{\"a\" : 1 ,\"b\":[null]}", "[1,2,3]\n{\"a\":1,\"b\":[null]}\n" },
	{ "{\"a\":1,\"a\":2}", "{\"a\":1,\"a\":2}\n" },
	{ "{\n    \"a\": [\n        1,\n\t\t2\r\n    ]\n}\n", "{\"a\":[1,2]}\n" },
	{ "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\u0022\\u005c/\\u0008\\u000c\\u000a\\u000d\\u0009\"\n" },
	{ "\"x\\u0041y\\u00e9\\u20AC\\uD83d\\uDe00z\\u0000\"",
	  "\"xAy\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z\\u0000\"\n" },
	{ "{\"k\\u0065y, longer than sixteen\": \"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\x7f\"}",
	  "{\"key, longer than sixteen\":\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\x7f\"}\n" },
	{ "\xef\xbb\xbf[1]", "[1]\n" },
	{ "\x1e{\"a\":1}\n\x1e\x1e[2]\n\x1e" "3\n", "{\"a\":1}\n[2]\n3\n" },
	{ "1\x1e" "2 ", "1\n2\n" },
};

START_TEST(texts_become_events)
{
	for (size_t i = 0; i < sizeof(accepted) / sizeof(accepted[0]); i++) {
		ck_assert_str_eq(parse(accepted[i].input, strlen(accepted[i].input), &sequence),
		                 accepted[i].events);
		ck_assert_uint_eq(record.fault_count, 0);
	}
}
END_TEST

/* What is no JSON: where the first fault is, and why. */
static const struct {
	const char *input;
	unsigned line, column;
	const char *reason;
} refused[] = {
	{ "nul", 1, 4, "unexpected end of input" },
	{ "nulL", 1, 4, "expected null, true or false" },
	{ "[1,\n  tru]", 2, 6, "expected null, true or false" },
	{ "truefalse", 1, 5, "expected white space or the end of the input" },
	{ "1true", 1, 2, "expected white space or the end of the input" },
	{ "1-2", 1, 2, "expected white space or the end of the input" },
	{ "01", 1, 2, "number with a leading zero" },
	{ "[-01]", 1, 4, "number with a leading zero" },
	{ "[-]", 1, 3, "expected a digit" },
	{ "-", 1, 2, "unexpected end of input" },
	{ "[1.]", 1, 4, "expected a digit" },
	{ "[1.5e+]", 1, 7, "expected a digit" },
	{ "+1", 1, 1, "expected a value" },
	{ "[.5]", 1, 2, "expected a value or ']'" },
	{ "[NaN]", 1, 2, "expected a value or ']'" },
	{ "[1e9999999999999999999]", 1, 2, "number with too many digits or too large an exponent" },
	{ "[1 2]", 1, 4, "expected ',' or ']'" },
	{ "[1,]", 1, 4, "expected a value" },
	{ "[1}", 1, 3, "expected ',' or ']'" },
	{ "{\"a\":1]", 1, 7, "expected ',' or '}'" },
	{ "{\"a\" 1}", 1, 6, "expected ':'" },
	{ "{\"a\":}", 1, 6, "expected a value" },
	{ "{\"a\":1,}", 1, 8, "expected a key" },
	{ "{1:2}", 1, 2, "expected a key or '}'" },
	{ "]", 1, 1, "expected a value" },
	{ "\n\n  {\"a\":\n\n [1, x", 5, 6, "expected a value" },
	{ "\"abc", 1, 5, "unexpected end of input" },
	{ "[\"a\nb\"]", 1, 4, "control character in a string" },
	{ "\"a\x1f\"", 1, 3, "control character in a string" },
	{ "\"\\x41\"", 1, 3, "no such escape in a string" },
	{ "\"\\u12g4\"", 1, 6, "expected four hexadecimal digits after \\u" },
	{ "\"\\u12", 1, 6, "unexpected end of input" },
	{ "\"ab\\udc00\"", 1, 4, "second half of a surrogate pair without the first" },
	{ "\"ab\\ud800\"", 1, 4, "first half of a surrogate pair without the second" },
	{ "\"ab\\ud800\\n\"", 1, 4, "first half of a surrogate pair without the second" },
	{ "\"ab\\ud800\\ud800\"", 1, 4, "first half of a surrogate pair without the second" },
	{ "\"ab\\ud800\\u12\"", 1, 14, "expected four hexadecimal digits after \\u" },
	{ "\"ab\xff\"", 1, 4, "invalid UTF-8 in a string" },
	{ "\"ab\xc3\"", 1, 4, "invalid UTF-8 in a string" },
	{ "\"\xed\xa0\x80\"", 1, 2, "invalid UTF-8 in a string" },
	{ "\"\xc0\x80\"", 1, 2, "invalid UTF-8 in a string" },
	{ "\"\xe2\x82", 1, 4, "unexpected end of input" },
	{ " \xef\xbb\xbf[1]", 1, 2, "expected a value" },
	{ "\xef\xbb\xbf x", 1, 2, "expected a value" },
	{ "\x1e" "12", 1, 4, "expected white space: the text may have been cut short" },
	{ "[1\x1e", 1, 3, "expected ',' or ']'" },
	{ "// comment\n1", 1, 1, "expected a value" },
	{ "{'a':1}", 1, 2, "expected a key or '}'" },
	{ "[1]\xa0", 1, 4, "expected a value" },
};

START_TEST(faults_say_where_and_why)
{
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		parse(refused[i].input, strlen(refused[i].input), &sequence);
		ck_assert_msg(record.fault_count > 0, "accepted: %s", refused[i].input);
		ck_assert_str_eq(record.faults[0].reason, refused[i].reason);
		ck_assert_msg(record.faults[0].line == refused[i].line &&
		              record.faults[0].column == refused[i].column, "%s: line %lu, column %lu",
		              refused[i].input, (unsigned long)record.faults[0].line,
		              (unsigned long)record.faults[0].column);
	}
}
END_TEST

START_TEST(a_nul_is_good_nowhere)
{
	static const char input[] = "[\"a\", 1.5, {\"b\": null}]";
	char copy[2 * sizeof(input)];

	for (size_t at = 0; at < sizeof(input); at++) {
		memcpy(copy, input, at);
		copy[at] = '\0';
		memcpy(copy + at + 1, input + at, sizeof(input) - 1 - at);
		parse(copy, sizeof(input), &one_text);
		ck_assert_uint_eq(record.fault_count, 1);
		ck_assert_uint_eq(record.faults[0].offset, at);
	}
}
END_TEST

START_TEST(one_text_is_exactly_one)
{
	ck_assert_str_eq(parse(" [1] \n", 6, &one_text), "[1]\n");
	ck_assert_uint_eq(record.fault_count, 0);
	ck_assert_str_eq(parse("12", 2, &one_text), "12\n");
	ck_assert_uint_eq(record.fault_count, 0);
	parse("", 0, &one_text);
	ck_assert_str_eq(record.faults[0].reason, "unexpected end of input");
	parse("\xef\xbb\xbf", 3, &one_text);
	ck_assert_str_eq(record.faults[0].reason, "unexpected end of input");
	parse("[1]\n [2]", 8, &one_text);
	ck_assert_str_eq(record.faults[0].reason, "expected nothing more behind the text");
	ck_assert_uint_eq(record.faults[0].line, 2);
	ck_assert_uint_eq(record.faults[0].column, 2);
	parse("\x1e" "1\n", 3, &one_text);
	ck_assert_uint_eq(record.fault_count, 1);
}
END_TEST

/* ---- cuts --------------------------------------------------------------- */

static void compare(const char *input, size_t length, const struct json_feed *feed)
{
	struct json_record cut;
	const char *differ;

	json_record(&cut, input, length, feed);
	differ = json_records_differ(&record, &cut);
	if (differ != NULL)
		ck_abort_msg("%s: buffer %zu, first %zu, most %zu change the %s:\n%s---\n%s", input,
		             feed->buffer_size, feed->first, feed->most, differ, record.text, cut.text);
	free(cut.text);
}

/* All inputs above, cut in two at each place, byte by byte, and at random. */
static void compare_cuts(const char *input, bool several)
{
	size_t length = strlen(input);
	struct json_feed feed = { .sequence = several };

	parse(input, length, &feed);
	for (feed.first = 1; feed.first < length; feed.first++)
		compare(input, length, &feed);
	for (feed.first = 0; feed.buffer_size <= 256; feed.buffer_size += 64)
		for (feed.most = 1; feed.most < 20; feed.most++)
			compare(input, length, &feed);
}

START_TEST(cuts_change_nothing)
{
	for (size_t i = 0; i < sizeof(accepted) / sizeof(accepted[0]); i++) {
		compare_cuts(accepted[i].input, true);
		compare_cuts(accepted[i].input, false);
	}
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		compare_cuts(refused[i].input, true);
		compare_cuts(refused[i].input, false);
	}
}
END_TEST

/* A string with all kinds of content, much longer than the buffer. */
START_TEST(a_string_longer_than_the_buffer_comes_in_pieces)
{
	static const char *const content[] = { "plain text ", "\\n", "\\u20ac", "\xe2\x82\xac",
	                                       "\\ud83d\\ude00", "\xf0\x9f\x98\x80", "\\\\" };
	static char input[20000];
	struct json_feed feed = { .sequence = true };
	size_t length = 0, i = 0;

	length = (size_t)sprintf(input, "{\"short\": 1, \"");
	for (; length < sizeof(input) - 100; i = i * 5 + 3)
		length += (size_t)sprintf(input + length, "%s", content[i % 7]);
	length += (size_t)sprintf(input + length, "\": [\"");
	for (; length < sizeof(input) - 50; i = i * 5 + 3)
		length += (size_t)sprintf(input + length, "%s", content[i % 7]);
	length += (size_t)sprintf(input + length, "\", 2]}\n");

	parse(input, length, &feed);
	ck_assert_uint_eq(record.fault_count, 0);
	ck_assert_uint_eq(record.pieces, 0);
	for (feed.buffer_size = 64; feed.buffer_size <= 40000; feed.buffer_size = feed.buffer_size * 3 / 2)
		for (feed.most = 1; feed.most < 50000; feed.most = feed.most * 3 + 4)
			compare(input, length, &feed);
}
END_TEST

START_TEST(a_string_of_up_to_half_the_buffer_comes_whole)
{
	char input[1100];
	struct json_feed feed = { .buffer_size = 1024, .sequence = true };

	for (size_t length = 505; length <= 600; length++) {
		input[0] = '"';
		memset(input + 1, 'x', length);
		input[length + 1] = '"';
		for (feed.most = 1; feed.most <= 1000; feed.most += 111) {
			parse(input, length + 2, &feed);
			ck_assert_uint_eq(record.length, length + 3);
			ck_assert(length > 512 || record.pieces == 0);
		}
	}
}
END_TEST

START_TEST(no_piece_splits_a_character)
{
	static const char content[] = "\xe2\x82\xac\xf0\x9f\x98\x80";
	struct json_parser *parser = malloc(sizeof(*parser));
	char buffer[64 + JSON_PADDING];
	struct json_event events[8];
	size_t pieces = 0, length;
	int count;

	json_parser_init(parser, buffer, 64, true);
	*json_parser_room(parser, &length) = '"';
	json_parser_fill(parser, 1);
	for (unsigned i = 0; i < 1000; i++) {
		*json_parser_room(parser, &length) = content[i % 7];
		json_parser_fill(parser, 1);
		while ((count = json_parser_next(parser, events, 8)) > 0)
			for (int k = 0; k < count; k++)
				if (events[k].kind == JSON_EVENT_STRING) {
					ck_assert_int_ne(events[k].bytes[0] & 0xc0, 0x80);
					pieces++;
				}
		ck_assert_int_eq(count, 0);
	}
	ck_assert_uint_gt(pieces, 20);
	free(parser);
}
END_TEST

/* ---- limits ------------------------------------------------------------- */

START_TEST(nesting_has_a_limit)
{
	static char input[2 * JSON_MAX_DEPTH + 3];

	memset(input, '[', JSON_MAX_DEPTH);
	memset(input + JSON_MAX_DEPTH, ']', JSON_MAX_DEPTH);
	parse(input, 2 * JSON_MAX_DEPTH, &one_text);
	ck_assert_uint_eq(record.fault_count, 0);
	memset(input, '[', JSON_MAX_DEPTH + 1);
	memset(input + JSON_MAX_DEPTH + 1, ']', JSON_MAX_DEPTH + 1);
	parse(input, 2 * JSON_MAX_DEPTH + 2, &one_text);
	ck_assert_uint_eq(record.fault_count, 1);
	ck_assert_str_eq(record.faults[0].reason, "nested too deep");
	ck_assert_uint_eq(record.faults[0].column, JSON_MAX_DEPTH + 1);
}
END_TEST

START_TEST(numbers_have_a_limit)
{
	size_t most = JSON_MAX_NUMBER;
	char *input = malloc(most + 2);
	struct json_feed feed = { .buffer_size = 256u << 10, .most = 4096 };

	memset(input, '1', most + 1);
	parse(input, most, &feed);
	ck_assert_uint_eq(record.fault_count, 0);
	ck_assert_uint_eq(record.length, most + 1);
	parse(input, most + 1, &feed);
	ck_assert_uint_eq(record.fault_count, 1);
	ck_assert(record.number_too_long);
	input[1] = '.';
	input[most] = 'e';
	parse(input, most + 1, &feed);
	ck_assert(record.number_too_long);
	feed.buffer_size = 64;
	feed.most = 3;
	parse(input, 32, &feed);
	ck_assert_uint_eq(record.fault_count, 0);
	parse(input, 33, &feed);
	ck_assert(record.number_too_long);
	free(input);
}
END_TEST

/* ---- going on after a fault --------------------------------------------- */

static const struct {
	const char *input, *events;
	size_t faults;
} resumed[] = {
	{ "1\nx y z\n2\n", "1\n!\n2\n", 1 },
	{ "[1,2\n{\"a\":1}\n", "[1,2!\n{\"a\":1}\n", 1 },             /* cut short: its line only */
	{ "{\"a\":\n  [1}\n3\n", "{\"a\":[1!\n3\n", 1 },
	{ "{\"a\":\"b\n{\"c\":1}\n", "{\"a\":!\n{\"c\":1}\n", 1 },
	{ "[1,\n\n   2 3]\n4", "[1,2!\n4\n", 1 },
	{ "]\n]\n5", "!\n!\n5\n", 2 },
	{ "x", "!\n", 1 },
	{ "[\n", "[!\n", 1 },
	{ "\x1e[1,\n2\n\n\x1e[3]\n", "[1,2!\n[3]\n", 1 },            /* to the next RS */
	{ "\x1e[1,\x1e[3]\n", "[1!\n[3]\n", 1 },
	{ "\x1e" "12\x1e[3]\n", "!\n[3]\n", 1 },
	{ "{\"a\" \"b\"\x1e[3]\n", "{\"a\":!\n[3]\n", 1 },
};

START_TEST(a_fault_costs_its_line_or_record)
{
	for (size_t i = 0; i < sizeof(resumed) / sizeof(resumed[0]); i++) {
		ck_assert_str_eq(parse(resumed[i].input, strlen(resumed[i].input), &sequence),
		                 resumed[i].events);
		ck_assert_uint_eq(record.fault_count, resumed[i].faults);
		compare_cuts(resumed[i].input, true);
	}
}
END_TEST

START_TEST(lines_are_counted_across_faults)
{
	static const char input[] = "1\n[x\n2\n\n[\n1\n}\n\"\n3 x\n";
	static const unsigned lines[] = { 2, 7, 7, 8, 9 };

	parse(input, strlen(input), &sequence);
	ck_assert_uint_eq(record.fault_count, 5);
	for (size_t i = 0; i < record.fault_count; i++)
		ck_assert_uint_eq(record.faults[i].line, lines[i]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("json_parser");
	TCase *all = tcase_create("json_parser");
	SRunner *runner;
	int failed;

	tcase_add_test(all, texts_become_events);
	tcase_add_test(all, faults_say_where_and_why);
	tcase_add_test(all, a_nul_is_good_nowhere);
	tcase_add_test(all, one_text_is_exactly_one);
	tcase_add_test(all, cuts_change_nothing);
	tcase_add_test(all, a_string_longer_than_the_buffer_comes_in_pieces);
	tcase_add_test(all, a_string_of_up_to_half_the_buffer_comes_whole);
	tcase_add_test(all, no_piece_splits_a_character);
	tcase_add_test(all, nesting_has_a_limit);
	tcase_add_test(all, numbers_have_a_limit);
	tcase_add_test(all, a_fault_costs_its_line_or_record);
	tcase_add_test(all, lines_are_counted_across_faults);
	suite_add_tcase(suite, all);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
