/* test_csv_parser.c - which rows and faults the parser finds in CSV. */
// needs: producer/csv_parser.c
#include <check.h>

#include "tests/unit/csv_record.h"

static struct csv_record record;

static void parse(const char *input, size_t length, const struct csv_feed *feed)
{
	free(record.text);
	csv_record(&record, input, length, feed);
}

static const struct csv_feed plain, tabs = { .delimiter = '\t', .quote = '\0' },
                             odd = { .delimiter = '|', .quote = '\'' };

/* ---- rows ---------------------------------------------------------------------- */

struct example {
	const char *input;
	const char *rows;      /* ~ stands for a field's end, a quote for one in quotes, / for a row's end */
};

static const struct example examples[] = {
	{ "", "" },
	{ "a", "a~/" },
	{ "a\n", "a~/" },
	{ "a,b\n1,2\n", "a~b~/1~2~/" },
	{ "a,b\r\n1,2\r\n", "a~b~/1~2~/" },
	{ "a,b\r1,2\r", "a~b~/1~2~/" },
	{ "a,b\r1,2\n3,4\r\n5,6", "a~b~/1~2~/3~4~/5~6~/" },
	{ ",", "~~/" },
	{ ",\n,\n", "~~/~~/" },
	{ "a,b\n,\n1,", "a~b~/~~/1~~/" },
	{ "\n", "~/" },
	{ "\n\n", "~/~/" },
	{ "\r\n\r\n", "~/~/" },
	{ "\r\r", "~/~/" },
	{ "a\n\nb", "a~/~/b~/" },
	{ "\"\"", "'~/" },
	{ "\"a\"", "'a~/" },
	{ "\"a\",b\n", "'a~b~/" },
	{ "a,\"b\"\n", "a~'b~/" },
	{ "a,\"b\"\r\nc,d", "a~'b~/c~d~/" },
	{ "a,\"b\"\rc,d", "a~'b~/c~d~/" },
	{ "\"a\"\"b\"", "'a\"b~/" },
	{ "\"\"\"\"", "'\"~/" },
	{ "\"\"\"\"\"\",\"\"\"x\"\n", "'\"\"~'\"x~/" },
	{ "\"a,b\",c", "'a,b~c~/" },
	{ "\"a\nb\",c", "'a\nb~c~/" },
	{ "\"a\r\nb\r\",c", "'a\r\nb\r~c~/" },
	{ " a , b ", " a ~ b ~/" },
	{ "\xef\xbb\xbf" "a,b", "a~b~/" },
	{ "\xef\xbb\xbf\"a\",b", "'a~b~/" },
	{ "a,\xef\xbb\xbf" "b", "a~\xef\xbb\xbf" "b~/" },
	{ "\xef\xbb\xbf", "" },
	{ "\xef\xbb\xbf\n", "~/" },
	{ "\xc3\xa9,\"\xe2\x82\xac\"\n\xf0\x9f\x98\x80,z", "\xc3\xa9~'\xe2\x82\xac~/\xf0\x9f\x98\x80~z~/" },
	{ "a field that is longer than sixteen bytes,\"another, which is in quotes, and \"\" more\"\n",
	  "a field that is longer than sixteen bytes~'another, which is in quotes, and \" more~/" },
};

/* As in `example`. */
static void rows_must_be(const char *input, const char *rows)
{
	size_t length = strlen(rows);
	char *shown = malloc(record.length + 1);

	for (size_t i = 0; i <= record.length; i++)
		shown[i] = record.text[i];
	for (size_t i = 0; i < record.length; i++)
		if (shown[i] == '\0')
			shown[i] = '~';
		else if (shown[i] == RECORD_QUOTED[0])
			shown[i] = '\'';
		else if (shown[i] == RECORD_ROW[0])
			shown[i] = '/';
	ck_assert_msg(record.fault_count == 0, "%s: %s", input, record.faults[0].reason);
	ck_assert_msg(record.length == length && memcmp(shown, rows, length) == 0, "\"%s\" gives \"%s\"",
	              input, shown);
	free(shown);
}

START_TEST(inputs_become_rows)
{
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		parse(examples[i].input, strlen(examples[i].input), &plain);
		rows_must_be(examples[i].input, examples[i].rows);
	}
}
END_TEST

START_TEST(another_delimiter_and_quote_mean_what_the_usual_ones_do)
{
	static const char input[] = "a,\"b\"|'c|''d'\n1\t2|3\n";

	parse(input, strlen(input), &odd);
	rows_must_be(input, "a,\"b\"~'c|'d~/1\t2~3~/");
}
END_TEST

START_TEST(without_quotes_a_quote_is_a_byte_like_any_other)
{
	static const char input[] = "\"a\tb\"\n\"\t5\" x\n\t\n";

	parse(input, strlen(input), &tabs);
	rows_must_be(input, "\"a~b\"~/\"~5\" x~/~~/");
}
END_TEST

/* ---- faults ---------------------------------------------------------------------- */

struct fault_example {
	const char *input;
	unsigned line, column;
	const char *reason;
};

static const struct fault_example fault_examples[] = {
	{ "a\"b", 1, 2, "quote within a field that does not begin with one" },
	{ "a,b\n1, \"2\"\n", 2, 4, "quote within a field that does not begin with one" },
	{ "\"a\"b", 1, 4, "text behind a closing quote" },
	{ "x\n\"a\" \n", 2, 4, "text behind a closing quote" },
	{ "x,\"a", 1, 3, "quote that is never closed" },
	{ "x\n\"a\n\nb\"\"", 2, 1, "quote that is never closed" },
	{ "\"", 1, 1, "quote that is never closed" },
	{ "a,b\n1\n", 2, 2, "row of 1 field, not 2" },
	{ "a,b,c\n1,2", 2, 4, "row of 2 fields, not 3" },
	{ "a,b\n\n", 2, 1, "row of 1 field, not 2" },
	{ "a,b\n1,2,3\n", 2, 5, "row of more than 2 fields" },
	{ "a\n1,\n", 2, 3, "row of more than 1 field" },
	{ "a,b\n\"x\ny\",\"z\nw\"v,\n", 4, 3, "text behind a closing quote" },
	{ "a\r\n\"x\r\ny\rz\nw\"v", 5, 3, "text behind a closing quote" },
	{ "\xff", 1, 1, "bytes that are not UTF-8" },
	{ "a,\xc3", 1, 3, "bytes that are not UTF-8" },
	{ "a,\xc3,", 1, 3, "bytes that are not UTF-8" },
	{ "\"\xed\xa0\x80\"", 1, 2, "bytes that are not UTF-8" },
	{ "a\n\"bc\xf5\"", 2, 4, "bytes that are not UTF-8" },
	{ "\xef\xbb", 1, 1, "bytes that are not UTF-8" },
	{ "\xef\xbb\xbf" "a\"", 1, 2, "quote within a field that does not begin with one" },
};

START_TEST(faults_say_where_and_why)
{
	for (size_t i = 0; i < sizeof(fault_examples) / sizeof(fault_examples[0]); i++) {
		const struct fault_example *example = &fault_examples[i];
		const struct csv_fault *fault = &record.faults[0];

		parse(example->input, strlen(example->input), &plain);
		ck_assert_msg(record.fault_count == 1, "%s: %zu faults", example->input, record.fault_count);
		ck_assert_msg(fault->line == example->line && fault->column == example->column &&
		              strcmp(fault->reason, example->reason) == 0, "%s: line %u, column %u: %s",
		              example->input, (unsigned)fault->line, (unsigned)fault->column, fault->reason);
		ck_assert(fault->encoding == (strstr(fault->reason, "UTF-8") != NULL));
	}
}
END_TEST

START_TEST(a_nul_is_good_nowhere)
{
	static const char plain_one[] = "a,b\nx\0y,2\n", quoted_one[] = "a,b\n1,\"\0\"\n", last[] = "a\0";

	parse(plain_one, sizeof(plain_one) - 1, &plain);
	ck_assert_uint_eq(record.fault_count, 1);
	ck_assert_str_eq(record.faults[0].reason, "NUL byte");
	ck_assert_uint_eq(record.faults[0].line, 2);
	ck_assert_uint_eq(record.faults[0].column, 2);
	parse(quoted_one, sizeof(quoted_one) - 1, &plain);
	ck_assert_uint_eq(record.fault_count, 1);
	ck_assert_uint_eq(record.faults[0].column, 4);
	parse(last, sizeof(last) - 1, &plain);
	ck_assert_uint_eq(record.fault_count, 1);
}
END_TEST

START_TEST(a_fault_costs_its_row)
{
	static const char input[] =
		"a,b\n"
		"1\n"                      /* too short */
		"2,2\n"
		"\"x\"y,\"quoted,\n\nline\",z\n" /* junk, then a quoted line end */
		"3,3\r\n"
		"4,4,\"4\n4\",4\r"         /* too long, with one */
		"5,5\n"
		"\"\xff\",\"\n\"\n"
		"6,6\n"
		"q\"q,\"\n\n\"\"\",\n"
		"7,7\n"
		"8,\"never\n9,9\n";

	parse(input, strlen(input), &plain);
	ck_assert_uint_eq(record.fault_count, 6);
	ck_assert_uint_eq(record.rows, 6);
	record.fault_count = 0;
	rows_must_be(input, "a~b~/2~2~/3~3~/5~5~/6~6~/7~7~/");
}
END_TEST

START_TEST(the_first_good_row_says_how_many_fields_there_are)
{
	static const char input[] = "a\"\nb,c\nd\n";

	parse(input, strlen(input), &plain);
	ck_assert_uint_eq(record.width, 2);
	ck_assert_uint_eq(record.fault_count, 2);
	ck_assert_uint_eq(record.faults[1].line, 3);
}
END_TEST

/* ---- cuts --------------------------------------------------------------------------- */

static void cuts_must_change_nothing(const char *input, size_t length)
{
	struct csv_record whole;
	struct csv_feed feed = plain;

	csv_record(&whole, input, length, &plain);
	for (feed.first = 0; feed.first <= length; feed.first++) {
		for (feed.most = 1; feed.most < 5; feed.most++) {
			const char *differ;

			feed.buffer_size = feed.most % 2 ? CSV_BUFFER_MIN : 0;
			parse(input, length, &feed);
			differ = csv_records_differ(&whole, &record);
			ck_assert_msg(differ == NULL, "\"%s\", cut at %zu, then %zu: %s", input, feed.first,
			              feed.most, differ);
		}
	}
	free(whole.text);
}

START_TEST(cuts_change_nothing)
{
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++)
		cuts_must_change_nothing(examples[i].input, strlen(examples[i].input));
	for (size_t i = 0; i < sizeof(fault_examples) / sizeof(fault_examples[0]); i++)
		cuts_must_change_nothing(fault_examples[i].input, strlen(fault_examples[i].input));
}
END_TEST

/* A field of `length` bytes, made of `unit`; in quotes, its quotes twice. */
static void long_field(const char *unit, size_t length, bool quoted, size_t buffer_size)
{
	size_t unit_length = strlen(unit), at = 0;
	char *input = malloc(2 * length + 64);
	struct csv_feed feed = { .buffer_size = buffer_size };
	size_t expected = 0;

	at += (size_t)sprintf(input, "a,b\n1,%s", quoted ? "\"" : "");
	for (; expected + unit_length <= length; expected += unit_length) {
		for (size_t i = 0; i < unit_length; i++) {
			input[at++] = unit[i];
			if (quoted && unit[i] == '"')
				input[at++] = '"';
		}
	}
	at += (size_t)sprintf(input + at, "%s\n", quoted ? "\"" : "");
	parse(input, at, &feed);
	ck_assert_msg(record.fault_count == 0, "%s", record.faults[0].reason);
	ck_assert_uint_eq(record.rows, 2);
	/* a, b, row; 1, the field with its mark and end, row */
	ck_assert_uint_eq(record.length, 5 + 2 + quoted + expected + 2);
	for (size_t i = 0; i < expected; i++)
		ck_assert_int_eq(record.text[7 + quoted + i], unit[i % unit_length]);
	free(input);
}

START_TEST(a_field_longer_than_the_buffer_comes_in_pieces)
{
	static const char *const units[] = { "x", "abcdefghi", "\xc3\xa9", "\xe2\x82\xac.", "\xf0\x9f\x98\x80" };

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		for (unsigned quoted = 0; quoted < 2; quoted++) {
			long_field(units[i], 5000, quoted, CSV_BUFFER_MIN);
			ck_assert_uint_gt(record.pieces, 2);
			long_field(units[i], 5000, quoted, 190);
			long_field(units[i], 5000, quoted, 1022);
		}
	}
	long_field("\"", 3000, true, CSV_BUFFER_MIN);
	long_field("a\"\r\n", 3000, true, CSV_BUFFER_MIN + 6);
}
END_TEST

START_TEST(a_field_of_up_to_half_the_buffer_comes_whole)
{
	long_field("x", 2000, false, 4096);
	ck_assert_uint_eq(record.pieces, 0);
	long_field("\"", 1000, true, 4096);
	ck_assert_uint_eq(record.pieces, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("csv_parser");
	TCase *all = tcase_create("csv_parser");
	SRunner *runner;
	int failed;

	tcase_add_test(all, inputs_become_rows);
	tcase_add_test(all, another_delimiter_and_quote_mean_what_the_usual_ones_do);
	tcase_add_test(all, without_quotes_a_quote_is_a_byte_like_any_other);
	tcase_add_test(all, faults_say_where_and_why);
	tcase_add_test(all, a_nul_is_good_nowhere);
	tcase_add_test(all, a_fault_costs_its_row);
	tcase_add_test(all, the_first_good_row_says_how_many_fields_there_are);
	tcase_add_test(all, cuts_change_nothing);
	tcase_add_test(all, a_field_longer_than_the_buffer_comes_in_pieces);
	tcase_add_test(all, a_field_of_up_to_half_the_buffer_comes_whole);
	suite_add_tcase(suite, all);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
