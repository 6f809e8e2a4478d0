/* test_decimal.c - numbers from JSON to CBOR and back, exactly. */
#include "shared/decimal.h"

#include <check.h>
#include <float.h>
#include <gmp.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/powers_of_ten.h"
#include "shared/shortest.h"

static uint8_t cbor[DECIMAL_CBOR_MAX];
static char text[DECIMAL_TEXT_MAX + 1];

static const char *hex_of(const uint8_t *bytes, size_t length)
{
	static char hex[256];

	ck_assert_uint_lt(length, sizeof(hex) / 2);
	hex[0] = '\0';
	for (size_t i = 0; i < length; i++)
		sprintf(hex + 2 * i, "%02x", bytes[i]);
	return hex;
}

/* The bytes end where a sanitizer notices reads past them. */
static size_t to_cbor(const char *number)
{
	size_t length = strlen(number), used;
	char *exact = malloc(length);

	memcpy(exact, number, length);
	used = decimal_to_cbor(exact, length, cbor);
	free(exact);
	return used;
}

static const char *from_double(double value)
{
	size_t length = decimal_from_double(value, text);

	ck_assert_uint_lt(length, DECIMAL_DOUBLE_TEXT_MAX);
	text[length] = '\0';
	return text;
}

static const char *from_fraction(const char *mantissa, int64_t exponent)
{
	text[decimal_from_fraction(mantissa, strlen(mantissa), exponent, text)] = '\0';
	return text;
}

struct pair {
	const char *number, *hex;
};

static const struct pair integers[] = {
	{ "0", "00" }, { "1", "01" }, { "-1", "20" }, { "23", "17" }, { "24", "1818" },
	{ "-24", "37" }, { "-25", "3818" }, { "255", "18ff" }, { "256", "190100" },
	{ "65535", "19ffff" }, { "65536", "1a00010000" }, { "4294967295", "1affffffff" },
	{ "4294967296", "1b0000000100000000" },
	{ "9223372036854775807", "1b7fffffffffffffff" },
	{ "9999999999999999999", "1b8ac7230489e7ffff" },
	{ "10000000000000000000", "1b8ac7230489e80000" },
	{ "18446744073709551615", "1bffffffffffffffff" },
	{ "18446744073709551616", "c249010000000000000000" },
	{ "-18446744073709551615", "3bfffffffffffffffe" },
	{ "-18446744073709551616", "3bffffffffffffffff" },
	{ "-18446744073709551617", "c349010000000000000000" },
	{ "340282366920938463463374607431768211456", "c25101" "00000000000000000000000000000000" },
	{ "1500", "1905dc" },
};

static const struct pair floats[] = {
	{ "-0", "f98000" }, { "-0.0", "f98000" }, { "0.0", "f90000" }, { "0e+1", "f90000" },
	{ "0e-999", "f90000" }, { "-0e5", "f98000" }, { "-0.00", "f98000" }, { "0.0e5", "f90000" },
	{ "1.0", "f93c00" }, { "1.5", "f93e00" }, { "-1.5", "f9be00" }, { "1.5e3", "f965dc" },
	{ "65504.0", "f97bff" }, { "65505.0", "fa477fe100" }, { "65536.0", "fa47800000" },
	{ "5.960464477539063e-8", "f90001" }, { "6.097555160522461e-5", "f903ff" },
	{ "6.103515625e-5", "f90400" }, { "2.9802322387695312e-8", "fa33000000" },
	{ "100000.0", "fa47c35000" }, { "1e5", "fa47c35000" }, { "1E+5", "fa47c35000" },
	{ "10.0e4", "fa47c35000" }, { "0.00001e10", "fa47c35000" },
	{ "3.4028234663852886e38", "fa7f7fffff" }, { "3.402823466385289e38", "fb47efffffe0000001" },
	{ "1.401298464324817e-45", "fa00000001" },
	{ "0.1", "fb3fb999999999999a" }, { "-4.1", "fbc010666666666666" },
	{ "1.1", "fb3ff199999999999a" }, { "1e300", "fb7e37e43c8800759c" },
	{ "0.30000000000000004", "fb3fd3333333333334" }, { "9007199254740993e3", "fb43df400000000001" },
	{ "1300475167.096535", "fb41d360eb47c62da1" },
	{ "5e-324", "fb0000000000000001" }, { "2.2250738585072014e-308", "fb0010000000000000" },
	{ "2.225073858507201e-308", "fb000fffffffffffff" },
	{ "1.7976931348623157e308", "fb7fefffffffffffff" }, { "1e23", "fb44b52d02c7e14af6" },
	{ "123456789012345680000.0", "fb441ac53a7e04bcda" }, { "694403206548407.8", "fb4303bc72c3a85dbe" },
};

/* Digits that a double does not say. */
static const struct pair fractions[] = {
	{ "1.10", "c48221186e" }, { "1.00", "c482211864" }, { "0.00", "c4822100" },
	{ "-1.50e3", "c482013895" }, { "0.10", "c482210a" }, { "1e400", "c48219019001" },
	{ "-1e-999", "c4823903e620" }, { "4e-324", "c48239014304" }, { "1.8e308", "c48219013312" },
	{ "0.1000000000000000055", "c482321b0de0b6b3a7640037" },
	{ "9007199254740993.0", "c482201b014000000000000a" },
	{ "694403206548407.7", "c482201b0018ab8f7492752d" },
	{ "1.7976931348623159e308", "c4821901241b003fddec7f2faf37" },
	{ "18446744073709551616.5", "c48220c2490a0000000000000005" },
	{ "1e999999999999999999", "c4821b0de0b6b3a763ffff01" },
};

static void compare(const struct pair *pairs, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *hex;

		size_t length = to_cbor(pairs[i].number);

		hex = hex_of(cbor, length);
		ck_assert_msg(strcmp(hex, pairs[i].hex) == 0, "%s became %s, not %s", pairs[i].number,
		              hex, pairs[i].hex);
	}
}

#define COMPARE(pairs) compare(pairs, sizeof(pairs) / sizeof((pairs)[0]))

START_TEST(integers_keep_their_value)
{
	COMPARE(integers);
}
END_TEST

START_TEST(shortest_forms_become_the_smallest_float)
{
	COMPARE(floats);
}
END_TEST

START_TEST(other_decimals_keep_their_digits)
{
	COMPARE(fractions);
}
END_TEST

START_TEST(too_many_digits_and_too_large_exponents_are_refused)
{
	char *digits = malloc(DECIMAL_MAX_DIGITS + 2);

	memset(digits, '9', DECIMAL_MAX_DIGITS + 1);
	digits[DECIMAL_MAX_DIGITS + 1] = '\0';
	ck_assert_uint_eq(to_cbor(digits), 0);
	digits[1] = '.';
	ck_assert_uint_gt(to_cbor(digits), 0);
	digits[1] = '9';
	digits[DECIMAL_MAX_DIGITS] = '\0';
	ck_assert_uint_gt(to_cbor(digits), 41000);
	ck_assert_uint_lt(to_cbor(digits), DECIMAL_CBOR_MAX);
	free(digits);
	ck_assert_uint_gt(to_cbor("1e9223372036854775807"), 0);
	ck_assert_uint_gt(to_cbor("1e-9223372036854775808"), 0);
	ck_assert_uint_eq(to_cbor("1e9223372036854775808"), 0);
	ck_assert_uint_eq(to_cbor("1e-9223372036854775809"), 0);
	ck_assert_uint_eq(to_cbor("1.5e-9223372036854775808"), 0);
	ck_assert_uint_eq(to_cbor("1e99999999999999999999999"), 0);
}
END_TEST

START_TEST(doubles_are_written_in_their_shortest_form)
{
	ck_assert_str_eq(from_double(0), "0.0");
	ck_assert_str_eq(from_double(-0.0), "-0.0");
	ck_assert_str_eq(from_double(1), "1.0");
	ck_assert_str_eq(from_double(-1500), "-1500.0");
	ck_assert_str_eq(from_double(0.1), "0.1");
	ck_assert_str_eq(from_double(0.1 + 0.2), "0.30000000000000004");
	ck_assert_str_eq(from_double(1e-6), "0.000001");
	ck_assert_str_eq(from_double(1.5e-7), "1.5e-7");
	ck_assert_str_eq(from_double(1e20), "100000000000000000000.0");
	ck_assert_str_eq(from_double(1e21), "1e21");
	ck_assert_str_eq(from_double(1e23), "1e23");
	ck_assert_str_eq(from_double(9007199254740993.0), "9007199254740992.0");
	ck_assert_str_eq(from_double(0x1p-1074), "5e-324");
	ck_assert_str_eq(from_double(DBL_MAX), "1.7976931348623157e308");
	ck_assert_str_eq(from_double(-DBL_MIN), "-2.2250738585072014e-308");
	ck_assert_str_eq(from_double(0x1p-44), "5.684341886080802e-14");
	ck_assert_str_eq(from_double(694403206548407.75), "694403206548407.8");
}
END_TEST

static uint64_t random_bits(void)
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* Any bits, small integers, few digits, neighbours of powers of two. */
static double random_double(unsigned kind)
{
	uint64_t bits = random_bits();
	double value;

	switch (kind % 5) {
	case 0:
		memcpy(&value, &bits, sizeof(value));
		return isfinite(value) ? value : 1;
	case 1:
		return (double)(int64_t)(bits >> bits % 64);
	case 2:
		return (double)(bits % 1000000000) / 1e5;
	case 3:
		value = ldexp(1, (int)(bits % 2098) - 1074);
		return bits >> 62 == 0 ? value : nextafter(value, bits >> 63 ? 0 : INFINITY);
	default:
		return (double)(bits >> 11) / 0x1p53 * pow(10, (double)(bits % 40) - 20);
	}
}

/* The C library's shortest form that reads back. */
static int shortest_digits(double value)
{
	char form[40];

	for (int digits = 1;; digits++) {
		snprintf(form, sizeof(form), "%.*e", digits - 1, value);
		if (strtod(form, NULL) == value)
			return digits;
	}
}

START_TEST(random_doubles_come_back_through_both_ways)
{
	for (unsigned i = 0; i < 200000; i++) {
		double value = random_double(i);
		struct shortest shortest;
		char digits[24], *end;
		size_t length;

		/* An assertion each would take too long. */
		text[decimal_from_double(value, text)] = '\0';
		if (strtod(text, &end) != value || *end != '\0' || strpbrk(text, ".e") == NULL)
			ck_abort_msg("%s for %.17g", text, value);
		length = decimal_to_cbor(text, strlen(text), cbor);
		if (length == 0 || cbor[0] < 0xf9 || cbor[0] > 0xfb)
			ck_abort_msg("%s is no float", text);
		if (value == 0 || i % 8 != 0)
			continue;
		shortest = shortest_of(fabs(value));
		if (snprintf(digits, sizeof(digits), "%lu", (unsigned long)shortest.digits) >
		    shortest_digits(fabs(value)))
			ck_abort_msg("%s is not shortest for %.17g", digits, value);
	}
}
END_TEST

START_TEST(random_decimals_read_as_the_c_library_reads_them)
{
	for (unsigned i = 0; i < 300000; i++) {
		uint64_t digits = (random_bits() >> i % 64) % 10000000000000000000u;
		int exponent = (int)(random_bits() % (i % 2 != 0 ? 60 : 700)) - (i % 2 != 0 ? 30 : 360);
		char form[48];

		snprintf(form, sizeof(form), "%lue%d", (unsigned long)digits, exponent);
		if (shortest_read(digits, exponent) != strtod(form, NULL))
			ck_abort_msg("%s", form);
	}
	/* Halfway between doubles, and just beside. */
	for (unsigned i = 0; i < 100000; i++) {
		uint64_t half = (random_bits() >> 10 | UINT64_C(1) << 53) | 1;
		uint64_t digits = half + i % 3 - 1;

		if (shortest_read(digits, 0) != (double)digits ||
		    shortest_read(digits * 5, -1) != (double)digits / 2)
			ck_abort_msg("%lu", (unsigned long)digits);
	}
	ck_assert(shortest_read(1, 400) == HUGE_VAL);
	ck_assert(shortest_read(1, INT64_MIN) == 0);
	ck_assert(shortest_read(0, 5) == 0);
}
END_TEST

START_TEST(the_table_of_powers_is_right)
{
	mpz_t power, high;

	mpz_inits(power, high, NULL);
	for (int n = POWERS_OF_TEN_MIN; n <= POWERS_OF_TEN_MAX; n++) {
		const struct power_of_ten *entry = &powers_of_ten[n - POWERS_OF_TEN_MIN];
		size_t bits;

		mpz_ui_pow_ui(power, 10, (unsigned long)abs(n));
		if (n < 0) {
			mpz_set_ui(high, 1);
			mpz_mul_2exp(high, high, 1400);
			mpz_tdiv_q(power, high, power);
		} else {
			mpz_mul_2exp(power, power, 128);
		}
		bits = mpz_sizeinbase(power, 2);
		mpz_tdiv_q_2exp(high, power, bits - 128);
		ck_assert_uint_eq(mpz_get_ui(high), entry->low);
		mpz_tdiv_q_2exp(high, high, 64);
		ck_assert_uint_eq(mpz_get_ui(high), entry->high);
	}
	mpz_clears(power, high, NULL);
}
END_TEST

static const char *float_hex(double value)
{
	uint8_t bytes[9];

	return hex_of(bytes, decimal_put_float(value, bytes));
}

START_TEST(floats_take_the_smallest_width)
{
	ck_assert_str_eq(float_hex(INFINITY), "f97c00");
	ck_assert_str_eq(float_hex(-INFINITY), "f9fc00");
	ck_assert_str_eq(float_hex((double)NAN), "f97e00");
	ck_assert_str_eq(float_hex(0x1p-24), "f90001");
	ck_assert_str_eq(float_hex(0x1p-25), "fa33000000");
	ck_assert_str_eq(float_hex(0x1.8p-24), "fa33c00000");
	ck_assert_str_eq(float_hex(0x1.ffcp15), "f97bff");
	ck_assert_str_eq(float_hex(0x1p16), "fa47800000");
	ck_assert_str_eq(float_hex(0x1.002p0), "fa3f801000");
	ck_assert_str_eq(float_hex(0x1p-149), "fa00000001");
	ck_assert_str_eq(float_hex(0x1p-150), "fb3690000000000000");
	ck_assert_str_eq(float_hex(0x1p128), "fb47f0000000000000");
	ck_assert_str_eq(float_hex(0x1.0000001p0), "fb3ff0000001000000");
}
END_TEST

START_TEST(every_half_is_written_as_itself)
{
	for (unsigned bits = 0; bits < 0x7c00; bits++) {
		double value = bits < 0x400 ? ldexp(bits, -24)
		                            : ldexp((bits & 0x3ff) | 0x400, (int)(bits >> 10) - 25);
		uint8_t bytes[9];

		if (decimal_put_float(-value, bytes) != 3 ||
		    ((unsigned)bytes[1] << 8 | bytes[2]) != (bits | 0x8000))
			ck_abort_msg("%x", bits);
	}
}
END_TEST

START_TEST(fractions_are_written_digit_for_digit)
{
	ck_assert_str_eq(from_fraction("110", -2), "1.10");
	ck_assert_str_eq(from_fraction("-110", -2), "-1.10");
	ck_assert_str_eq(from_fraction("5", 0), "5e0");
	ck_assert_str_eq(from_fraction("150", 1), "1.50e3");
	ck_assert_str_eq(from_fraction("1", 400), "1e400");
	ck_assert_str_eq(from_fraction("10", -7), "0.0000010");
	ck_assert_str_eq(from_fraction("10", -8), "1.0e-7");
	ck_assert_str_eq(from_fraction("0", -2), "0.00");
	ck_assert_str_eq(from_fraction("0", 3), "0e3");
	ck_assert_str_eq(from_fraction("123", INT64_MAX), "123e9223372036854775807");
	ck_assert_str_eq(from_fraction("-123", INT64_MIN), "-1.23e-9223372036854775806");
}
END_TEST

START_TEST(bignums_are_written_in_full)
{
	uint8_t bytes[DECIMAL_CBOR_MAX + 1] = { 0, 0, 1 };
	size_t length;

	length = decimal_from_bignum(bytes, 11, false, text);
	text[length] = '\0';
	ck_assert_str_eq(text, "18446744073709551616");
	length = decimal_from_bignum(bytes, 11, true, text);
	text[length] = '\0';
	ck_assert_str_eq(text, "-18446744073709551617");
	length = decimal_from_bignum(bytes, 0, false, text);
	text[length] = '\0';
	ck_assert_str_eq(text, "0");
	length = decimal_from_bignum(bytes, 2, true, text);
	text[length] = '\0';
	ck_assert_str_eq(text, "-1");
	memset(bytes, 0xff, sizeof(bytes));
	ck_assert_uint_eq(decimal_from_bignum(bytes, sizeof(bytes), false, text), 0);
	ck_assert_uint_eq(decimal_from_bignum(bytes, 41525, true, text), 0);
	ck_assert_uint_eq(decimal_from_bignum(bytes, 41524, true, text), 100001);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("decimal");
	TCase *all = tcase_create("decimal");
	SRunner *runner;
	int failed;

	tcase_add_test(all, integers_keep_their_value);
	tcase_add_test(all, shortest_forms_become_the_smallest_float);
	tcase_add_test(all, other_decimals_keep_their_digits);
	tcase_add_test(all, too_many_digits_and_too_large_exponents_are_refused);
	tcase_add_test(all, doubles_are_written_in_their_shortest_form);
	tcase_add_test(all, random_doubles_come_back_through_both_ways);
	tcase_add_test(all, random_decimals_read_as_the_c_library_reads_them);
	tcase_add_test(all, the_table_of_powers_is_right);
	tcase_add_test(all, floats_take_the_smallest_width);
	tcase_add_test(all, every_half_is_written_as_itself);
	tcase_add_test(all, fractions_are_written_digit_for_digit);
	tcase_add_test(all, bignums_are_written_in_full);
	suite_add_tcase(suite, all);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
