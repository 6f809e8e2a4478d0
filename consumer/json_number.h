/*
 * json_number.h - numbers that CBOR writes in several tokens: bignums (tags 2
 * and 3) and decimal fractions (tag 4), gathered to become one JSON number.
 *
 * What begins like one may turn out to be something else; then the tokens that
 * were taken are told, and the caller writes them as what they are.
 */
#ifndef SLUICE_JSON_NUMBER_H
#define SLUICE_JSON_NUMBER_H

#include <stdbool.h>

#include "shared/cbor_walk.h"
#include "shared/decimal.h"

/* What comes next. */
enum json_number_step {
	JSON_NUMBER_NONE,       /* no number is being gathered */
	JSON_NUMBER_PAIR,       /* tag 4 was taken: its array */
	JSON_NUMBER_EXPONENT,   /* the array was taken */
	JSON_NUMBER_MANTISSA,   /* the exponent was taken: an integer, or tag 2 or 3 */
	JSON_NUMBER_BIGNUM,     /* tag 2 or 3 was taken: a byte string */
	JSON_NUMBER_CHUNK,      /* the string has no length: another chunk, or its end */
};

enum json_number_outcome {
	JSON_NUMBER_MORE,       /* the token was taken */
	JSON_NUMBER_DONE,       /* it ends the number: text and text_length */
	JSON_NUMBER_NOT,        /* no number after all; the token was not taken */
};

struct json_number {
	enum json_number_step step;
	unsigned base;          /* the walker's depth around the number */
	bool fraction;          /* it began with tag 4 */
	bool negative;          /* tag 3 was taken */
	bool exponent_negative;
	uint64_t exponent;      /* as CBOR has it */
	size_t length;          /* of `bytes`: the chunks that were taken */
	size_t text_length;
	uint8_t bytes[DECIMAL_CBOR_MAX];
	char text[DECIMAL_TEXT_MAX];
	char mantissa[DECIMAL_TEXT_MAX];
};

static inline bool json_number_begins(const struct cbor_token *token)
{
	return token->kind == CBOR_TAG && token->number >= 2 && token->number <= 4;
}

/* Take the first token, of which json_number_begins is true. */
void json_number_begin(struct json_number *number, const struct cbor_token *token, unsigned base);

/* The next token.  After DONE or NOT the caller sets `step` to NONE. */
enum json_number_outcome json_number_take(struct json_number *number,
                                          const struct cbor_token *token);

#endif
