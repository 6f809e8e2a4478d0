/* test_mtx_parser.c - Matrix Market files, line by line. */
// needs: producer/mtx_parser.c
#include "producer/mtx_parser.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct mtx_parser parser;
static char *exact;                    /* the line, with nothing behind it */

static enum mtx_line take(const char *line)
{
	free(exact);
	exact = malloc(strlen(line) + (*line == '\0'));
	memcpy(exact, line, strlen(line));
	return mtx_parser_line(&parser, exact, strlen(line));
}

/* Banner and size, and no entry yet. */
static void begin(const char *banner, const char *size)
{
	mtx_parser_init(&parser);
	ck_assert_msg(take(banner) == MTX_LINE_BANNER, "%s: %s", banner, parser.reason);
	ck_assert_msg(take(size) == MTX_LINE_SIZE, "%s: %s", size, parser.reason);
}

static void must_refuse(const char *line, const char *reason, size_t column)
{
	ck_assert_msg(take(line) == MTX_LINE_FAULT, "%s", line);
	ck_assert_str_eq(parser.reason, reason);
	ck_assert_msg(parser.column_at == column, "%s: column %zu", line, parser.column_at);
}

START_TEST(banners_are_read_in_any_case)
{
	mtx_parser_init(&parser);
	ck_assert_int_eq(take("%%matrixmarket\tMATRIX  Coordinate\tReal Skew-Symmetric \r"), MTX_LINE_BANNER);
	ck_assert(!parser.banner.vector && parser.banner.coordinate);
	ck_assert(parser.banner.field == MTX_REAL && parser.banner.symmetry == MTX_SKEW);
	mtx_parser_init(&parser);
	ck_assert_int_eq(take("%%MatrixMarket vector array complex general"), MTX_LINE_BANNER);
	ck_assert(parser.banner.vector && !parser.banner.coordinate);
	ck_assert(parser.banner.field == MTX_COMPLEX && parser.banner.symmetry == MTX_GENERAL);
}
END_TEST

START_TEST(banners_that_are_none_are_refused)
{
	static const struct {
		const char *line, *reason;
		size_t column;
	} cases[] = {
		{ "", "expected the banner: %%MatrixMarket", 1 },
		{ "3 3", "expected the banner: %%MatrixMarket", 1 },
		{ "%MatrixMarket matrix array real general", "expected the banner: %%MatrixMarket", 1 },
		{ " %%MatrixMarket matrix array real general", "expected the banner: %%MatrixMarket", 1 },
		{ "%%MatrixMarkets matrix array real general", "expected the banner: %%MatrixMarket", 1 },
		{ "%%MatrixMarket", "expected matrix or vector", 15 },
		{ "%%MatrixMarket cube array real general", "expected matrix or vector", 16 },
		{ "%%MatrixMarket matrix dense real general", "expected coordinate or array", 23 },
		{ "%%MatrixMarket matrix array float general", "expected real, integer, complex or pattern", 29 },
		{ "%%MatrixMarket matrix array real", "expected general, symmetric, skew-symmetric or hermitian", 33 },
		{ "%%MatrixMarket matrix array real general x", "something after the banner", 42 },
		{ "%%MatrixMarket matrix array pattern general", "an array cannot be a pattern", 44 },
		{ "%%MatrixMarket vector array real symmetric", "a vector can only be general", 43 },
		{ "%%MatrixMarket matrix coordinate pattern hermitian", "a pattern can only be general or symmetric", 51 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		mtx_parser_init(&parser);
		must_refuse(cases[i].line, cases[i].reason, cases[i].column);
	}
}
END_TEST

START_TEST(comments_and_blanks_stand_before_the_size)
{
	mtx_parser_init(&parser);
	ck_assert_int_eq(take("%%MatrixMarket matrix array real general"), MTX_LINE_BANNER);
	ck_assert_int_eq(take("% a comment \r"), MTX_LINE_COMMENT);
	ck_assert_uint_eq(parser.length, 11);
	ck_assert_mem_eq(parser.text, " a comment ", 11);
	ck_assert_int_eq(take("  %"), MTX_LINE_COMMENT);
	ck_assert_uint_eq(parser.length, 0);
	ck_assert_int_eq(take(""), MTX_LINE_NOTHING);
	ck_assert_int_eq(take(" \t\r"), MTX_LINE_NOTHING);
	ck_assert_str_eq(mtx_parser_finish(&parser), "ends before the size");
	ck_assert_int_eq(take(" 2\t1 "), MTX_LINE_SIZE);
	ck_assert_int_eq(take("% late"), MTX_LINE_LATE_COMMENT);
	ck_assert_int_eq(take(""), MTX_LINE_NOTHING);
	ck_assert_int_eq(take("1"), MTX_LINE_ENTRY);
	ck_assert_str_eq(mtx_parser_finish(&parser), "fewer entries than the size says");
	ck_assert_int_eq(take("2"), MTX_LINE_ENTRY);
	ck_assert_ptr_null(mtx_parser_finish(&parser));
	must_refuse("3", "more entries than the size says", 1);
	mtx_parser_init(&parser);
	ck_assert_str_eq(mtx_parser_finish(&parser), "expected the banner: %%MatrixMarket");
}
END_TEST

START_TEST(arrays_store_as_much_as_their_symmetry_needs)
{
	begin("%%MatrixMarket matrix array real general", "3 4");
	ck_assert_uint_eq(parser.entries, 12);
	begin("%%MatrixMarket matrix array real symmetric", "3 3");
	ck_assert_uint_eq(parser.entries, 6);
	begin("%%MatrixMarket matrix array complex hermitian", "4 4");
	ck_assert_uint_eq(parser.entries, 10);
	begin("%%MatrixMarket matrix array real skew-symmetric", "4 4");
	ck_assert_uint_eq(parser.entries, 6);
	begin("%%MatrixMarket matrix array real skew-symmetric", "0 0");
	ck_assert_uint_eq(parser.entries, 0);
	begin("%%MatrixMarket vector array real general", "18446744073709551615");
	ck_assert_uint_eq(parser.entries, UINT64_MAX);
	begin("%%MatrixMarket matrix coordinate real symmetric", "1099511627776 1099511627776 3");
	ck_assert_uint_eq(parser.entries, 3);
}
END_TEST

START_TEST(sizes_that_cannot_be_are_refused)
{
	static const struct {
		const char *banner, *size, *reason;
		size_t column;
	} cases[] = {
		{ "%%MatrixMarket matrix array real general", "3", "expected an integer, not negative", 2 },
		{ "%%MatrixMarket matrix array real general", "3 4 5", "something after the size", 5 },
		{ "%%MatrixMarket matrix array real general", "-3 4", "expected an integer, not negative", 1 },
		{ "%%MatrixMarket matrix array real general", "3x 4", "expected an integer, not negative", 1 },
		{ "%%MatrixMarket matrix array real general", "18446744073709551616 1", "an integer beyond 64 bits", 1 },
		{ "%%MatrixMarket matrix array real general", "4294967296 4294967296", "more than 2^64 entries", 22 },
		{ "%%MatrixMarket matrix array real symmetric", "18446744073709551615 18446744073709551615",
		  "more than 2^64 entries", 42 },
		{ "%%MatrixMarket matrix array real symmetric", "3 4", "a matrix with a symmetry that is not square", 4 },
		{ "%%MatrixMarket matrix coordinate real general", "3 4", "expected an integer, not negative", 4 },
		{ "%%MatrixMarket vector coordinate real general", "3 4 5", "something after the size", 5 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		mtx_parser_init(&parser);
		ck_assert_int_eq(take(cases[i].banner), MTX_LINE_BANNER);
		must_refuse(cases[i].size, cases[i].reason, cases[i].column);
	}
}
END_TEST

/* Value `i` of the line taken last. */
static void value_is(unsigned i, const char *text)
{
	ck_assert_int_eq(parser.values[i].kind, MTX_FINITE);
	ck_assert_msg(parser.values[i].length == strlen(text) &&
	              memcmp(parser.values[i].text, text, strlen(text)) == 0,
	              "\"%.*s\" is not \"%s\"", (int)parser.values[i].length, parser.values[i].text, text);
}

START_TEST(entries_are_indices_and_values)
{
	begin("%%MatrixMarket matrix coordinate real general", "3 4 9");
	ck_assert_int_eq(take(" 3\t4  -1.5e-3 \r"), MTX_LINE_ENTRY);
	ck_assert(parser.row == 3 && parser.column == 4 && parser.value_count == 1);
	value_is(0, "-1.5e-3");
	begin("%%MatrixMarket matrix coordinate complex general", "3 4 9");
	ck_assert_int_eq(take("1 1 +.5 1."), MTX_LINE_ENTRY);
	ck_assert_uint_eq(parser.value_count, 2);
	value_is(0, "0.5");
	value_is(1, "1.0");
	begin("%%MatrixMarket matrix coordinate pattern symmetric", "3 3 9");
	ck_assert_int_eq(take("2 1"), MTX_LINE_ENTRY);
	ck_assert_uint_eq(parser.value_count, 0);
	begin("%%MatrixMarket vector coordinate integer general", "18446744073709551615 1");
	ck_assert_int_eq(take("18446744073709551615 123456789012345678901234567890"), MTX_LINE_ENTRY);
	ck_assert_uint_eq(parser.row, UINT64_MAX);
	value_is(0, "123456789012345678901234567890");
}
END_TEST

START_TEST(numbers_become_such_as_json_has)
{
	static const char *const cases[][2] = {
		{ "1", "1" }, { "-1", "-1" }, { "+1", "1" }, { "007", "7" }, { "-007.50", "-7.50" }, { "0", "0" },
		{ "-0", "-0" }, { "000", "0" }, { ".5", "0.5" }, { "-.5", "-0.5" }, { "5.", "5.0" }, { "+5.e3", "5.0e3" },
		{ ".5E+03", "0.5e+03" }, { "1E310", "1E310" }, { "1.10", "1.10" },
		{ "1e000000000000000000000000001", "1e000000000000000000000000001" },
	};
	static const struct {
		const char *text;
		enum mtx_number_kind kind;
	} specials[] = {
		{ "nan", MTX_NAN }, { "NaN", MTX_NAN }, { "-nan", MTX_NAN }, { "inf", MTX_INFINITY },
		{ "+Inf", MTX_INFINITY }, { "-INF", MTX_NEGATIVE_INFINITY }, { "infinity", MTX_INFINITY },
		{ "-Infinity", MTX_NEGATIVE_INFINITY },
	};

	begin("%%MatrixMarket matrix array real general", "1000 1000");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ck_assert_msg(take(cases[i][0]) == MTX_LINE_ENTRY, "%s: %s", cases[i][0], parser.reason);
		value_is(0, cases[i][1]);
	}
	for (size_t i = 0; i < sizeof(specials) / sizeof(specials[0]); i++) {
		enum mtx_number_kind kind;

		ck_assert_msg(take(specials[i].text) == MTX_LINE_ENTRY, "%s: %s", specials[i].text, parser.reason);
		kind = parser.values[0].kind;
		ck_assert_msg(kind == specials[i].kind, "%s", specials[i].text);
	}
	begin("%%MatrixMarket matrix array integer general", "1000 1000");
	ck_assert_int_eq(take("-0"), MTX_LINE_ENTRY);
	value_is(0, "0");
	ck_assert_int_eq(take("-00"), MTX_LINE_ENTRY);
	value_is(0, "0");
	ck_assert_int_eq(take("-010"), MTX_LINE_ENTRY);
	value_is(0, "-10");
}
END_TEST

START_TEST(entries_that_are_none_are_refused)
{
	static const struct {
		const char *line, *reason;
		size_t column;
	} cases[] = {
		{ "0 1 1", "an index outside of the matrix", 1 },
		{ "4 1 1", "an index outside of the matrix", 1 },
		{ "3 5 1", "an index outside of the matrix", 3 },
		{ "-1 1 1", "expected an integer, not negative", 1 },
		{ "1.0 1 1", "expected an integer, not negative", 1 },
		{ "1", "expected an integer, not negative", 2 },
		{ "1 1", "expected a value", 4 },
		{ "1 1 1 1", "something after the entry", 7 },
		{ "1 1 x", "expected a number", 5 },
		{ "1 1 .", "expected a number", 5 },
		{ "1 1 -", "expected a number", 5 },
		{ "1 1 1e", "expected a number", 5 },
		{ "1 1 1e+", "expected a number", 5 },
		{ "1 1 1d5", "expected a number", 5 },
		{ "1 1 1,5", "expected a number", 5 },
		{ "1 1 0x10", "expected a number", 5 },
		{ "1 1 infin", "expected a number", 5 },
		{ "1 1 1e1000000000000000000", "an exponent that is too large", 5 },
	};

	begin("%%MatrixMarket matrix coordinate real general", "3 4 9");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		must_refuse(cases[i].line, cases[i].reason, cases[i].column);
	begin("%%MatrixMarket matrix array integer general", "3 4");
	must_refuse("1.0", "expected an integer", 1);
	must_refuse("1e3", "expected an integer", 1);
	must_refuse("nan", "expected a number", 1);
	begin("%%MatrixMarket matrix coordinate pattern general", "3 4 9");
	must_refuse("1 1 1", "something after the entry", 5);
}
END_TEST

START_TEST(numbers_have_a_longest_text)
{
	static char line[MTX_MAX_NUMBER + 16];

	begin("%%MatrixMarket matrix array complex general", "3 4");
	memset(line, '9', MTX_MAX_NUMBER - 2);
	strcpy(line + MTX_MAX_NUMBER - 2, " 1");
	ck_assert_int_eq(take(line), MTX_LINE_ENTRY);
	memset(line, '9', MTX_MAX_NUMBER - 1);
	strcpy(line + MTX_MAX_NUMBER - 1, " 1");
	must_refuse(line, "a number that is too long", 1);
	/* Twice the longest that is written otherwise. */
	memset(line, '9', MTX_MAX_NUMBER - 2);
	line[0] = '.';
	line[MTX_MAX_NUMBER - 2] = '\0';
	char *both = malloc(2 * sizeof(line));
	sprintf(both, "%s %s", line, line);
	ck_assert_int_eq(take(both), MTX_LINE_ENTRY);
	ck_assert_uint_eq(parser.values[1].length, MTX_MAX_NUMBER - 1);
	free(both);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("mtx_parser");
	TCase *lines = tcase_create("lines");
	SRunner *runner;
	int failed;

	tcase_add_test(lines, banners_are_read_in_any_case);
	tcase_add_test(lines, banners_that_are_none_are_refused);
	tcase_add_test(lines, comments_and_blanks_stand_before_the_size);
	tcase_add_test(lines, arrays_store_as_much_as_their_symmetry_needs);
	tcase_add_test(lines, sizes_that_cannot_be_are_refused);
	tcase_add_test(lines, entries_are_indices_and_values);
	tcase_add_test(lines, numbers_become_such_as_json_has);
	tcase_add_test(lines, entries_that_are_none_are_refused);
	tcase_add_test(lines, numbers_have_a_longest_text);
	suite_add_tcase(suite, lines);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
