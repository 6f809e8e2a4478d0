/*
 * decimal.h - numbers between JSON's decimal text and CBOR, exactly.
 *
 * An integer keeps its value whatever its size.  A decimal that is the
 * shortest form of a double becomes that double; any other keeps its digits.
 */
#ifndef SLUICE_DECIMAL_H
#define SLUICE_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DECIMAL_MAX_DIGITS 100000      /* of one number's text */
/* Bytes enough for a number of that many digits as CBOR (tag 4 and a bignum),
 * and as text. */
#define DECIMAL_CBOR_MAX (42u << 10)
#define DECIMAL_TEXT_MAX (DECIMAL_MAX_DIGITS + 64u)
#define DECIMAL_DOUBLE_TEXT_MAX 40

/*
 * Encode a JSON number (its text was checked against the grammar).
 *
 * @out   room for DECIMAL_CBOR_MAX bytes; 32 are enough for texts of up to 17 bytes
 * Returns bytes written; 0 if it has more than DECIMAL_MAX_DIGITS digits or an
 * exponent beyond 64 bits.  -0 becomes the float -0.0.
 */
size_t decimal_to_cbor(const char *text, size_t length, uint8_t *out);

/* Shortest text that reads back as `value` (finite), always with a '.' or an
 * exponent, so that it is not taken for an integer.  Returns its length. */
size_t decimal_from_double(double value, char *out /* DECIMAL_DOUBLE_TEXT_MAX */);

/* Decimal text of an unsigned big-endian integer of `length` bytes, plus one
 * if `negative` (a CBOR tag 3), with sign.  Returns its length, 0 if it has
 * more than DECIMAL_MAX_DIGITS digits. */
size_t decimal_from_bignum(const uint8_t *bytes, size_t length, bool negative,
                           char *out /* DECIMAL_TEXT_MAX */);

/* Text of mantissa (decimal integer text, maybe with '-') times 10^exponent,
 * every digit kept: "1.10" for "110", -2.  Plain notation where it stays
 * short, else an exponent.  Returns its length. */
size_t decimal_from_fraction(const char *mantissa, size_t length, int64_t exponent,
                             char *out /* DECIMAL_TEXT_MAX */);

/* The smallest CBOR float that keeps `value`.  Returns 3, 5 or 9. */
size_t decimal_put_float(double value, uint8_t *out);

#endif
