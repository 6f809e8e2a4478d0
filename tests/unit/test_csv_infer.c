/* test_csv_infer.c - what fields stand for. */
// needs: producer/csv_infer.c
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "producer/csv_infer.h"

static char hex[4 * CSV_INFER_ROOM];

/* In hexadecimal; "text" if it is that. */
static const char *infer(const char *field)
{
	/* Without a byte to spare. */
	size_t length = strlen(field);
	char *exact = malloc(length + (length == 0));
	uint8_t out[CSV_INFER_ROOM];
	size_t used;

	memcpy(exact, field, length);
	used = csv_infer(exact, length, out);
	ck_assert_uint_le(used, sizeof(out));
	for (size_t i = 0; i < used; i++)
		sprintf(hex + 2 * i, "%02x", out[i]);
	free(exact);
	return used > 0 ? hex : "text";
}

START_TEST(scalars_are_what_they_denote)
{
	static const struct {
		const char *field, *cbor;
	} examples[] = {
		{ "", "f6" }, { "true", "f5" }, { "false", "f4" },
		{ "0", "00" }, { "-0", "f98000" }, { "7", "07" }, { "-7", "26" }, { "1000", "1903e8" },
		{ "18446744073709551615", "1bffffffffffffffff" },
		{ "18446744073709551616", "c249010000000000000000" },
		{ "1.5", "f93e00" }, { "0.1", "fb3fb999999999999a" }, { "1.10", "c48221186e" },
		{ "1e2", "f95640" }, { "1E+2", "f95640" }, { "100e-2", "f93c00" },
	};

	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++)
		ck_assert_str_eq(infer(examples[i].field), examples[i].cbor);
}
END_TEST

START_TEST(anything_else_is_text)
{
	static const char *const examples[] = {
		"007", "00", "-", "-01", "+1", ".5", "5.", "1.e5", "1e", "1e+", "1e5x", "1 ", " 1", "1,5", "1_000",
		"0x10", "0b1", "NaN", "nan", "inf", "Infinity", "-inf", "TRUE", "True", "tru", "truee", "t", "f",
		"falsee", "FALSE", "null", "NULL", "none", "--1", "1-2", "2020-01-02", "12:30", "1/2", "\xc2\xbd",
		"1e1234567890123456789",
	};

	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++)
		ck_assert_msg(strcmp(infer(examples[i]), "text") == 0, "\"%s\" gives %s", examples[i], hex);
}
END_TEST

START_TEST(a_number_with_more_digits_than_anybody_needs_is_text)
{
	char digits[CSV_INFER_MAX + 2];

	memset(digits, '9', sizeof(digits));
	digits[CSV_INFER_MAX] = '\0';
	ck_assert_str_ne(infer(digits), "text");
	digits[CSV_INFER_MAX] = '9';
	digits[CSV_INFER_MAX + 1] = '\0';
	ck_assert_str_eq(infer(digits), "text");
	/* The longest with a fraction, too. */
	digits[CSV_INFER_MAX] = '\0';
	digits[3] = '.';
	ck_assert_str_ne(infer(digits), "text");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("csv_infer");
	TCase *all = tcase_create("csv_infer");
	SRunner *runner;
	int failed;

	tcase_add_test(all, scalars_are_what_they_denote);
	tcase_add_test(all, anything_else_is_text);
	tcase_add_test(all, a_number_with_more_digits_than_anybody_needs_is_text);
	suite_add_tcase(suite, all);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
