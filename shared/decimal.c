/*
 * decimal.c - see decimal.h.
 */
#include "shared/decimal.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include <gmp.h>

#include "shared/bigendian.h"
#include "shared/cbor_put.h"
#include "shared/shortest.h"

#define TAG_BIGNUM 2                   /* 3: -1 - the bignum */
#define TAG_DECIMAL_FRACTION 4
#define WORD_DIGITS 19                 /* any number of so many digits fits 64 bits */
#define SURE_DIGITS 1000000000000000u  /* below it, 15 digits at most: their own shortest form */
#define SURE_EXPONENT 22
#define PLAIN_POINT_MAX 21             /* 1e21 and more are written with an exponent, */
#define PLAIN_POINT_MIN (-5)           /* and so is what is below 1e-6, */
#define PLAIN_ZERO_POINT_MIN (-59)     /* but for 0.000, which is nothing but its zeros */

/* ---- floats ------------------------------------------------------------- */

/* Is the double with these bits exactly a half?  Then `half` has its bits. */
static bool half_of(uint64_t bits, uint16_t *half)
{
	uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
	int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
	unsigned spare = 42, biased;           /* low bits of the fraction that must be 0 */

	if (exponent == 1024) {                /* infinity, not a number */
		biased = 31;
	} else if (bits << 1 == 0) {
		biased = 0;
	} else if (exponent >= -14 && exponent <= 15) {
		biased = (unsigned)(exponent + 15);
	} else if (exponent >= -24 && exponent < -14) {
		biased = 0;                    /* a subnormal: units of 2^-24 */
		fraction |= UINT64_C(1) << 52;
		spare = (unsigned)(28 - exponent);
	} else {
		return false;
	}
	*half = (uint16_t)((bits >> 48 & 0x8000) | biased << 10 | fraction >> spare);
	return fraction << (64 - spare) == 0;
}

static uint8_t *put_float(uint8_t *out, double value)
{
	bool single = isnan(value) || isinf(value) || (fabs(value) <= FLT_MAX && (double)(float)value == value);
	uint64_t bits;
	uint16_t half;

	memcpy(&bits, &value, sizeof(bits));
	if (single && half_of(bits, &half)) {
		*out++ = CBOR_BYTE_FLOAT16;
		*out++ = (uint8_t)(half >> 8);
		*out++ = (uint8_t)half;
		return out;
	}
	if (single && !isnan(value)) {
		float narrow = (float)value;
		uint32_t narrow_bits;

		memcpy(&narrow_bits, &narrow, sizeof(narrow_bits));
		*out++ = CBOR_BYTE_FLOAT32;
		put_u32(out, narrow_bits);
		return out + 4;
	}
	*out++ = CBOR_BYTE_FLOAT64;
	put_u64(out, bits);
	return out + 8;
}

size_t decimal_put_float(double value, uint8_t *out)
{
	return (size_t)(put_float(out, value) - out);
}

/* ---- text to CBOR ------------------------------------------------------- */

/* A number's text, taken apart. */
struct number {
	const char *whole, *fraction;
	size_t whole_length, fraction_length;
	bool negative;
	bool integer;          /* neither a point nor an exponent */
	uint64_t digits;       /* of both, as one integer, if they are few */
	int64_t exponent;
};

static inline const char *digits_take(const char *at, const char *end, uint64_t *digits)
{
	for (; at < end && (unsigned)(*at - '0') < 10; at++)
		*digits = *digits * 10 + (uint64_t)(*at - '0');
	return at;
}

/* Returns false if the exponent does not fit 64 bits. */
static bool exponent_take(const char *at, const char *end, int64_t *exponent)
{
	bool negative = *at == '-';

	at += *at == '-' || *at == '+';
	for (; at < end; at++)
		if (__builtin_mul_overflow(*exponent, 10, exponent) ||
		    __builtin_sub_overflow(*exponent, *at - '0', exponent))
			return false;
	return negative || !__builtin_sub_overflow(0, *exponent, exponent);
}

static bool number_take(const char *text, size_t length, struct number *number)
{
	const char *at = text, *end = text + length;

	number->negative = *at == '-';
	at += number->negative;
	number->digits = 0;
	number->exponent = 0;
	number->whole = at;
	at = digits_take(at, end, &number->digits);
	number->whole_length = (size_t)(at - number->whole);
	number->integer = at == end;
	number->fraction = at;
	number->fraction_length = 0;
	if (number->integer)
		return true;
	if (*at == '.') {
		number->fraction = ++at;
		at = digits_take(at, end, &number->digits);
		number->fraction_length = (size_t)(at - number->fraction);
	}
	return at == end || exponent_take(at + 1, end, &number->exponent);
}

static bool has_few_digits(const struct number *number)
{
	return number->whole_length + number->fraction_length <= WORD_DIGITS;
}

/* Zeros at the end of a fraction say how precise it is; ".0" only that there
 * is one, and zeros of an integer hold places. */
static bool has_precise_zeros(const struct number *number)
{
	return number->fraction_length > 1 && number->fraction[number->fraction_length - 1] == '0';
}

/*
 * The digits without zeros on either side, if at most SHORTEST_DIGITS_MAX are
 * left; *exponent counts from the end of the fraction.
 */
static bool digits_trim(const struct number *number, uint64_t *digits, int64_t *exponent)
{
	size_t total = number->whole_length + number->fraction_length, count = 0, zeros = 0;

	*digits = 0;
	for (size_t i = 0; i < total; i++) {
		char digit = i < number->whole_length ? number->whole[i]
		                                      : number->fraction[i - number->whole_length];

		if (digit == '0') {
			zeros += count > 0;
			continue;
		}
		count += zeros + 1;
		if (count > SHORTEST_DIGITS_MAX)
			return false;
		for (; zeros > 0; zeros--)
			*digits *= 10;
		*digits = *digits * 10 + (uint64_t)(digit - '0');
	}
	*exponent = (int64_t)zeros;
	return true;
}

/* Is the number, without its sign, the shortest form of a double?  @exponent
 * of its last digit. */
static bool double_of(const struct number *number, int64_t exponent, double *value)
{
	uint64_t digits = number->digits;
	struct shortest shortest;
	int64_t zeros;

	*value = 0;
	if (!has_few_digits(number) &&
	    (!digits_trim(number, &digits, &zeros) ||
	     __builtin_add_overflow(exponent, zeros, &exponent)))
		return false;
	if (digits == 0)
		return true;
	*value = shortest_read(digits, exponent);
	if (*value < DBL_MIN || *value > DBL_MAX) {
		if (*value == 0 || isinf(*value))
			return false;
	} else if (digits < SURE_DIGITS) {
		return true;
	}
	for (; digits % 10 == 0; digits /= 10)
		exponent++;
	shortest = shortest_of(*value);
	return shortest.digits == digits && shortest.exponent == exponent;
}

static uint8_t *put_integer(uint8_t *out, bool negative, uint64_t magnitude)
{
	if (negative && magnitude > 0)
		return cbor_put_head(out, CBOR_BYTE_NEGATIVE, magnitude - 1);
	return cbor_put_head(out, CBOR_BYTE_UNSIGNED, magnitude);
}

/* All digits as one integer, of any size; not -0. */
static __attribute__((noinline)) uint8_t *put_big_integer(uint8_t *out, const struct number *number)
{
	char text[DECIMAL_MAX_DIGITS + 1];
	size_t length;
	mpz_t value;

	memcpy(text, number->whole, number->whole_length);
	memcpy(text + number->whole_length, number->fraction, number->fraction_length);
	text[number->whole_length + number->fraction_length] = '\0';
	mpz_init_set_str(value, text, 10);
	if (number->negative)
		mpz_sub_ui(value, value, 1);
	if (mpz_sizeinbase(value, 2) <= 64) {
		out = cbor_put_head(out, number->negative ? CBOR_BYTE_NEGATIVE : CBOR_BYTE_UNSIGNED,
		                    mpz_get_ui(value));
	} else {
		length = (mpz_sizeinbase(value, 2) + 7) / 8;
		out = cbor_put_head(out, CBOR_BYTE_TAG, TAG_BIGNUM + (uint64_t)number->negative);
		out = cbor_put_head(out, CBOR_BYTE_BYTES, length);
		mpz_export(out, NULL, 1, 1, 1, 0, value);
		out += length;
	}
	mpz_clear(value);
	return out;
}

static uint8_t *put_mantissa(uint8_t *out, const struct number *number)
{
	return has_few_digits(number) ? put_integer(out, number->negative, number->digits)
	                              : put_big_integer(out, number);
}

static uint8_t *put_fraction(uint8_t *out, const struct number *number, int64_t exponent)
{
	out = cbor_put_head(out, CBOR_BYTE_TAG, TAG_DECIMAL_FRACTION);
	out = cbor_put_head(out, CBOR_BYTE_ARRAY, 2);
	out = exponent < 0 ? cbor_put_head(out, CBOR_BYTE_NEGATIVE, (uint64_t)(-1 - exponent))
	                   : cbor_put_head(out, CBOR_BYTE_UNSIGNED, (uint64_t)exponent);
	return put_mantissa(out, number);
}

size_t decimal_to_cbor(const char *text, size_t length, uint8_t *out)
{
	struct number number;
	int64_t exponent;
	uint8_t *end;
	double value;

	if (!number_take(text, length, &number) ||
	    number.whole_length + number.fraction_length > DECIMAL_MAX_DIGITS ||
	    __builtin_sub_overflow(number.exponent, (int64_t)number.fraction_length, &exponent))
		return 0;
	if (number.integer && (number.whole[0] != '0' || !number.negative))
		end = put_mantissa(out, &number);
	else if (double_of(&number, exponent, &value) &&
	         (!has_precise_zeros(&number) || (number.negative && value == 0)))
		end = put_float(out, number.negative ? -value : value);
	else
		end = put_fraction(out, &number, exponent);
	return (size_t)(end - out);
}

/* ---- to text ------------------------------------------------------------ */

static char *put_zeros(char *out, size_t count)
{
	memset(out, '0', count);
	return out + count;
}

static char *put_bytes(char *out, const char *bytes, size_t length)
{
	memcpy(out, bytes, length);
	return out + length;
}

/* @end  one past the last digit.  Returns the first. */
static char *digits_of(uint64_t value, char *end)
{
	do
		*--end = (char)('0' + value % 10);
	while ((value /= 10) > 0);
	return end;
}

static char *put_exponent(char *out, int64_t exponent)
{
	char text[20], *first = digits_of(exponent < 0 ? -(uint64_t)exponent : (uint64_t)exponent,
	                                  text + sizeof(text));

	*out++ = 'e';
	if (exponent < 0)
		*out++ = '-';
	return put_bytes(out, first, (size_t)(text + sizeof(text) - first));
}

/* digits * 10^exponent, with a point or an exponent. */
static char *put_scaled(char *out, const char *digits, size_t length, int64_t exponent)
{
	bool zero = length == 1 && digits[0] == '0';
	int64_t point;         /* digits before it */

	if (__builtin_add_overflow(exponent, (int64_t)length, &point))
		return put_exponent(put_bytes(out, digits, length), exponent);
	if (exponent < 0 && point > 0) {
		out = put_bytes(out, digits, (size_t)point);
		*out++ = '.';
		return put_bytes(out, digits + point, length - (size_t)point);
	}
	if (exponent < 0 && point >= (zero ? PLAIN_ZERO_POINT_MIN : PLAIN_POINT_MIN)) {
		out = put_bytes(out, "0.", 2);
		out = put_zeros(out, (size_t)-point);
		return put_bytes(out, digits, length);
	}
	*out++ = digits[0];
	if (length > 1) {
		*out++ = '.';
		out = put_bytes(out, digits + 1, length - 1);
	}
	return put_exponent(out, point - 1);
}

size_t decimal_from_double(double value, char *out)
{
	char text[20], *digits, *end = text + sizeof(text), *at = out;
	struct shortest shortest = { 0, 0 };
	size_t length;

	if (signbit(value))
		*at++ = '-';
	if (value != 0)
		shortest = shortest_of(fabs(value));
	digits = digits_of(shortest.digits, end);
	length = (size_t)(end - digits);
	if (shortest.exponent >= 0 && shortest.exponent + (int)length <= PLAIN_POINT_MAX) {
		at = put_bytes(at, digits, length);
		at = put_zeros(at, (size_t)shortest.exponent);
		at = put_bytes(at, ".0", 2);
	} else {
		at = put_scaled(at, digits, length, shortest.exponent);
	}
	return (size_t)(at - out);
}

size_t decimal_from_bignum(const uint8_t *bytes, size_t length, bool negative, char *out)
{
	char *at = out;
	mpz_t value;

	for (; length > 0 && *bytes == 0; length--)
		bytes++;
	if (length > DECIMAL_CBOR_MAX)
		return 0;
	mpz_init(value);
	mpz_import(value, length, 1, 1, 1, 0, bytes);
	if (negative) {
		*at++ = '-';
		mpz_add_ui(value, value, 1);
	}
	/* The size in base 10 may be one too large. */
	length = mpz_sizeinbase(value, 10);
	if (length <= DECIMAL_MAX_DIGITS + 1) {
		mpz_get_str(at, 10, value);
		length = strlen(at);
	}
	mpz_clear(value);
	if (length > DECIMAL_MAX_DIGITS)
		return 0;
	return (size_t)(at - out) + length;
}

size_t decimal_from_fraction(const char *mantissa, size_t length, int64_t exponent, char *out)
{
	char *at = out;

	if (*mantissa == '-') {
		*at++ = *mantissa++;
		length--;
	}
	return (size_t)(put_scaled(at, mantissa, length, exponent) - out);
}
