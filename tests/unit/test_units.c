/* test_units.c - sizes, times and numbers as people write them. */
#include <check.h>
#include <errno.h>

#include "shared/units.h"

START_TEST(sizes_are_powers_of_1024)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} sizes[] = {
		{ "0", 0 }, { "512", 512 }, { "64K", 65536 }, { "64k", 65536 }, { "64KB", 65536 },
		{ "64KiB", 65536 }, { "1M", 1u << 20 }, { "1m", 1u << 20 }, { "4G", (uint64_t)4 << 30 },
		{ "2T", (uint64_t)2 << 40 }, { "007", 7 }, { "18446744073709551615", UINT64_MAX },
		{ "16777215T", (uint64_t)16777215 << 40 },
	};

	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		uint64_t bytes = 1;

		ck_assert_int_eq(units_parse_size(sizes[i].text, &bytes), 0);
		ck_assert_uint_eq(bytes, sizes[i].bytes);
	}
}
END_TEST

START_TEST(what_is_no_size_is_refused)
{
	static const char *const texts[] = {
		"", "K", "-1", "+1", " 1", "1 ", "1 K", "1X", "1KK", "1Kb", "1.5M", "1e3", "0x10", "1KiBx", "one",
		"18446744073709551616", "16777216T", "99999999999999999999",
	};
	uint64_t bytes;

	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
		ck_assert_msg(units_parse_size(texts[i], &bytes) == -EINVAL, "\"%s\"", texts[i]);
}
END_TEST

START_TEST(times_have_units_and_seconds_by_default)
{
	static const struct {
		const char *text;
		int64_t ms;
	} times[] = {
		{ "0", 0 }, { "500ms", 500 }, { "10", 10000 }, { "30s", 30000 }, { "2m", 120000 },
		{ "1h", 3600000 }, { "0ms", 0 },
	};

	for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
		int64_t ms = -1;

		ck_assert_int_eq(units_parse_time(times[i].text, &ms), 0);
		ck_assert_int_eq(ms, times[i].ms);
	}
}
END_TEST

START_TEST(what_is_no_time_is_refused)
{
	static const char *const texts[] = {
		"", "s", "-1", "-1s", "1d", "1 s", "1.5s", "1S", "ms", "1mss", "9223372036854775807",
		"99999999999999999999s",
	};
	int64_t ms;

	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
		ck_assert_msg(units_parse_time(texts[i], &ms) == -EINVAL, "\"%s\"", texts[i]);
}
END_TEST

START_TEST(the_longest_time_can_still_be_counted_in_nanoseconds)
{
	int64_t ms = 0;

	ck_assert_int_eq(units_parse_time("9223372036s", &ms), 0);
	ck_assert_int_le(ms, INT64_MAX / 1000000);
	ck_assert_int_eq(units_parse_time("9223372037s", &ms), -EINVAL);
}
END_TEST

START_TEST(numbers_are_held_within_their_bounds)
{
	uint64_t number = 0;

	ck_assert_int_eq(units_parse_number("1", 1, 64, &number), 0);
	ck_assert_uint_eq(number, 1);
	ck_assert_int_eq(units_parse_number("64", 1, 64, &number), 0);
	ck_assert_uint_eq(number, 64);
	ck_assert_int_eq(units_parse_number("0", 1, 64, &number), -EINVAL);
	ck_assert_int_eq(units_parse_number("65", 1, 64, &number), -EINVAL);
	ck_assert_int_eq(units_parse_number("6x", 1, 64, &number), -EINVAL);
	ck_assert_int_eq(units_parse_number("", 0, 64, &number), -EINVAL);
	ck_assert_int_eq(units_parse_number("-1", 0, UINT64_MAX, &number), -EINVAL);
	ck_assert_int_eq(units_parse_number("18446744073709551616", 0, UINT64_MAX, &number), -EINVAL);
}
END_TEST

START_TEST(bytes_are_shown_with_one_decimal)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} shown[] = {
		{ 0, "0 bytes" }, { 1, "1 bytes" }, { 1023, "1023 bytes" }, { 1024, "1.0 KiB" },
		{ 1536, "1.5 KiB" }, { 16882074, "16.1 MiB" }, { (1u << 20) - 1, "1.0 MiB" },
		{ (uint64_t)5 << 30, "5.0 GiB" }, { UINT64_MAX, "16.0 EiB" },
	};
	char text[UNITS_TEXT_MAX];

	for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++)
		ck_assert_str_eq(units_format_bytes(shown[i].bytes, text), shown[i].text);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("units");
	TCase *tcase = tcase_create("units");
	SRunner *runner = srunner_create(suite);
	int failures;

	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, sizes_are_powers_of_1024);
	tcase_add_test(tcase, what_is_no_size_is_refused);
	tcase_add_test(tcase, times_have_units_and_seconds_by_default);
	tcase_add_test(tcase, what_is_no_time_is_refused);
	tcase_add_test(tcase, the_longest_time_can_still_be_counted_in_nanoseconds);
	tcase_add_test(tcase, numbers_are_held_within_their_bounds);
	tcase_add_test(tcase, bytes_are_shown_with_one_decimal);
	srunner_run_all(runner, CK_ENV);
	failures = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failures != 0;
}
