/*
 * shortest.c - see shortest.h.
 *
 * The shortest decimal is found as in Raffaello Giulietti, "The Schubfach way
 * to render doubles" (2020).  Reading multiplies by 128 bits of the power of
 * ten and rounds, if what they leave unknown does not matter; else the C
 * library does it.
 */
#include "shared/shortest.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "shared/powers_of_ten.h"

_Static_assert(FLT_EVAL_METHOD == 0, "doubles are rounded at each step");

typedef unsigned __int128 wide;

#define FRACTION_BITS 52
#define HIDDEN_BIT (UINT64_C(1) << FRACTION_BITS)
#define SMALLEST_EXPONENT (-1074)      /* of the unit of subnormals */
#define EXACT_POWER 22                 /* 10^22 is a double, 10^23 is not */

/* floor(exponent * log10(2)), floor(log10(3/4 * 2^exponent)) and
 * floor(exponent * log2(10)), for all exponents that doubles have */
static int log10_of_pow2(int exponent)
{
	return (int)((int64_t)exponent * 1262611 >> 22);
}

static int log10_of_three_quarters_pow2(int exponent)
{
	return (int)(((int64_t)exponent * 1262611 - 524031) >> 22);
}

static int log2_of_pow10(int exponent)
{
	return (int)((int64_t)exponent * 1741647 >> 19);
}

static const struct power_of_ten *power_of(int exponent)
{
	return &powers_of_ten[exponent - POWERS_OF_TEN_MIN];
}

/* ---- writing ------------------------------------------------------------ */

/* The high 64 bits of power * factor / 2^64, the lowest set if there is more. */
static uint64_t multiply_to_odd(struct power_of_ten power, uint64_t factor)
{
	wide low = (wide)power.low * factor;
	wide high = (wide)power.high * factor + (uint64_t)(low >> 64);

	return (uint64_t)(high >> 64) | ((uint64_t)high > 1);
}

static struct shortest zeros_strip(uint64_t digits, int exponent)
{
	while (digits % 10000 == 0) {
		digits /= 10000;
		exponent += 4;
	}
	while (digits % 10 == 0) {
		digits /= 10;
		exponent++;
	}
	return (struct shortest){ digits, exponent };
}

/* @mantissa * 2^exponent is the value; @narrow: below it doubles are half as
 * far apart as above */
static struct shortest schubfach(uint64_t mantissa, int exponent, bool narrow)
{
	int k = narrow ? log10_of_three_quarters_pow2(exponent) : log10_of_pow2(exponent);
	int shift = exponent + log2_of_pow10(-k) + 1;
	struct power_of_ten power = *power_of(-k);
	uint64_t odd = mantissa & 1;   /* then the bounds read as other doubles */
	uint64_t value, lower, upper, digits, tens;
	bool below, above;

	if (k > 0 || -k > POWERS_OF_TEN_EXACT_MAX) {
		power.low++;           /* the algorithm wants it rounded up */
		power.high += power.low == 0;
	}
	/* In quarters of a unit of the last digit. */
	value = multiply_to_odd(power, 4 * mantissa << shift);
	lower = multiply_to_odd(power, (4 * mantissa - (narrow ? 1 : 2)) << shift) + odd;
	upper = multiply_to_odd(power, (4 * mantissa + 2) << shift) - odd;
	digits = value / 4;

	if (digits >= 10) {
		tens = digits / 10;
		below = lower <= 40 * tens;
		above = 40 * tens + 40 <= upper;
		if (below != above)
			return zeros_strip(tens + above, k + 1);
	}
	below = lower <= 4 * digits;
	above = 4 * digits + 4 <= upper;
	if (below == above)            /* both read as the value, or none: the nearer one */
		above = value > 4 * digits + 2 || (value == 4 * digits + 2 && digits % 2 != 0);
	return zeros_strip(digits + above, k);
}

struct shortest shortest_of(double value)
{
	uint64_t bits, fraction;
	int biased;

	/* An integer that is kept exactly is its own shortest form. */
	if (value < (double)(2 * HIDDEN_BIT) && value == (double)(uint64_t)value)
		return zeros_strip((uint64_t)value, 0);
	memcpy(&bits, &value, sizeof(bits));
	fraction = bits & (HIDDEN_BIT - 1);
	biased = (int)(bits >> FRACTION_BITS);
	if (biased == 0)
		return schubfach(fraction, SMALLEST_EXPONENT, false);
	return schubfach(fraction | HIDDEN_BIT, SMALLEST_EXPONENT + biased - 1, fraction == 0 && biased > 1);
}

/* ---- reading ------------------------------------------------------------ */

/*
 * digits * 10^exponent as a normal double; false if it is none, or if what the
 * power's 128 bits leave out would decide how it is rounded.
 */
static bool read_fast(uint64_t digits, int exponent, double *value)
{
	const unsigned tail_bits = 128 - (FRACTION_BITS + 1);
	const struct power_of_ten *power = power_of(exponent);
	int zeros = __builtin_clzll(digits);
	int biased = log2_of_pow10(exponent) - zeros + 64 + 1023;
	wide low = (wide)power->low * (digits << zeros), product, tail, half;
	uint64_t bits;

	product = (wide)power->high * (digits << zeros) + (uint64_t)(low >> 64);
	if (product >> 127 == 0) {
		product <<= 1;
		biased--;
	}
	/* The true product is less than 4 more. */
	tail = product << (FRACTION_BITS + 1) >> (FRACTION_BITS + 1);
	half = (wide)1 << (tail_bits - 1);
	if (tail - (half - 4) <= 4 || biased <= 0 || biased >= 2046)
		return false;
	/* A fraction that rounds up to 2 carries into the exponent. */
	bits = (uint64_t)(product >> tail_bits) - HIDDEN_BIT + (tail > half);
	bits += (uint64_t)biased << FRACTION_BITS;
	memcpy(value, &bits, sizeof(*value));
	return true;
}

static char *text_of(uint64_t value, char *end)
{
	do
		*--end = (char)('0' + value % 10);
	while ((value /= 10) > 0);
	return end;
}

static double read_exactly(uint64_t digits, int exponent)
{
	char text[32], *end = text + sizeof(text) - 1;

	*end = '\0';
	end = text_of((uint64_t)abs(exponent), end);
	*--end = exponent < 0 ? '-' : '+';
	*--end = 'e';
	return strtod(text_of(digits, end), NULL);
}

double shortest_read(uint64_t digits, int64_t exponent)
{
	static const double powers[EXACT_POWER + 1] = {
		1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
		1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
	};
	double value;

	/* Both are exact: one operation rounds once. */
	if (digits <= 2 * HIDDEN_BIT && exponent >= -EXACT_POWER && exponent <= EXACT_POWER)
		return exponent < 0 ? (double)digits / powers[-exponent] : (double)digits * powers[exponent];
	if (digits == 0 || exponent < POWERS_OF_TEN_MIN)
		return 0;
	if (exponent > DBL_MAX_10_EXP)
		return HUGE_VAL;
	if (read_fast(digits, (int)exponent, &value))
		return value;
	return read_exactly(digits, (int)exponent);
}
