/*
 * json_number.c - see json_number.h.
 */
#include "consumer/json_number.h"

#include <string.h>

#include "consumer/text_out.h"

#define TAG_BIGNUM 2                   /* 3: -1 - the bignum */
#define TAG_NEGATIVE_BIGNUM 3
#define TAG_DECIMAL_FRACTION 4

static void take_bignum_tag(struct json_number *number, const struct cbor_token *token)
{
	number->negative = token->number == TAG_NEGATIVE_BIGNUM;
	number->step = JSON_NUMBER_BIGNUM;
}

void json_number_begin(struct json_number *number, const struct cbor_token *token, unsigned base)
{
	number->base = base;
	number->length = 0;
	number->fraction = token->number == TAG_DECIMAL_FRACTION;
	if (number->fraction)
		number->step = JSON_NUMBER_PAIR;
	else
		take_bignum_tag(number, token);
}

/* The mantissa's text is there. */
static enum json_number_outcome end_fraction(struct json_number *number, size_t length)
{
	int64_t exponent = (int64_t)number->exponent;

	if (number->exponent_negative)
		exponent = -1 - exponent;
	number->text_length = decimal_from_fraction(number->mantissa, length, exponent,
	                                            number->text);
	return JSON_NUMBER_DONE;
}

static enum json_number_outcome end_bignum(struct json_number *number,
                                           const uint8_t *bytes, size_t length)
{
	char *text = number->fraction ? number->mantissa : number->text;

	number->text_length = decimal_from_bignum(bytes, length, number->negative, text);
	if (number->text_length == 0)
		return JSON_NUMBER_NOT;
	return number->fraction ? end_fraction(number, number->text_length) : JSON_NUMBER_DONE;
}

static enum json_number_outcome take_exponent(struct json_number *number,
                                              const struct cbor_token *token)
{
	if ((token->kind != CBOR_UNSIGNED && token->kind != CBOR_NEGATIVE) ||
	    token->number > INT64_MAX)
		return JSON_NUMBER_NOT;
	number->exponent = token->number;
	number->exponent_negative = token->kind == CBOR_NEGATIVE;
	number->step = JSON_NUMBER_MANTISSA;
	return JSON_NUMBER_MORE;
}

static enum json_number_outcome take_mantissa(struct json_number *number,
                                              const struct cbor_token *token)
{
	char *end;

	switch (token->kind) {
	case CBOR_UNSIGNED:
		end = text_put_number(number->mantissa, token->number);
		return end_fraction(number, (size_t)(end - number->mantissa));
	case CBOR_NEGATIVE:
		end = text_put_negative(number->mantissa, token->number);
		return end_fraction(number, (size_t)(end - number->mantissa));
	case CBOR_TAG:
		if (token->number != TAG_BIGNUM && token->number != TAG_NEGATIVE_BIGNUM)
			return JSON_NUMBER_NOT;
		take_bignum_tag(number, token);
		return JSON_NUMBER_MORE;
	default:
		return JSON_NUMBER_NOT;
	}
}

static enum json_number_outcome take_bignum(struct json_number *number,
                                            const struct cbor_token *token)
{
	if (token->kind == CBOR_BYTES)
		return end_bignum(number, token->data, token->length);
	if (token->kind != CBOR_BYTES_START)
		return JSON_NUMBER_NOT;
	number->step = JSON_NUMBER_CHUNK;
	return JSON_NUMBER_MORE;
}

static enum json_number_outcome take_chunk(struct json_number *number,
                                           const struct cbor_token *token)
{
	if (token->kind == CBOR_BREAK)
		return end_bignum(number, number->bytes, number->length);
	if (token->length > sizeof(number->bytes) - number->length)
		return JSON_NUMBER_NOT;
	memcpy(number->bytes + number->length, token->data, token->length);
	number->length += token->length;
	return JSON_NUMBER_MORE;
}

enum json_number_outcome json_number_take(struct json_number *number,
                                          const struct cbor_token *token)
{
	switch (number->step) {
	case JSON_NUMBER_PAIR:
		if (token->kind != CBOR_ARRAY || token->indefinite || token->number != 2)
			return JSON_NUMBER_NOT;
		number->step = JSON_NUMBER_EXPONENT;
		return JSON_NUMBER_MORE;
	case JSON_NUMBER_EXPONENT:
		return take_exponent(number, token);
	case JSON_NUMBER_MANTISSA:
		return take_mantissa(number, token);
	case JSON_NUMBER_BIGNUM:
		return take_bignum(number, token);
	case JSON_NUMBER_CHUNK:
		return take_chunk(number, token);
	default:
		return JSON_NUMBER_NOT;
	}
}
