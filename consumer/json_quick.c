/*
 * json_quick.c - see json_quick.h.
 *
 * Whatever is not plain is left alone, for cbor_walk to judge.
 */
#include "consumer/json_quick.h"

#include <math.h>

#include "shared/bigendian.h"
#include "shared/cbor_put.h"
#include "shared/decimal.h"
#include "shared/utf8.h"

#define TEXT_MAX 255u
#define OUT_MAX (TEXT_MAX + 1 + TEXT_OUT_BLOCK)      /* bytes written for a token, and more */

/* Where the next token is read, and where it goes. */
struct cursor {
	const uint8_t *bytes, *end;
	char *out;
};

/* The argument of a head.  Returns the bytes of the head, 0 for one without. */
static inline size_t take_argument(const uint8_t *bytes, uint64_t *argument)
{
	unsigned info = bytes[0] & 31u;

	switch (info) {
	case 24:
		*argument = bytes[1];
		return 2;
	case 25:
		*argument = (uint64_t)bytes[1] << 8 | bytes[2];
		return 3;
	case 26:
		*argument = get_u32(bytes + 1);
		return 5;
	case 27:
		*argument = get_u64(bytes + 1);
		return 9;
	default:
		*argument = info;
		return info < 24 ? 1 : 0;
	}
}

static inline bool quick_text(struct cursor *cursor)
{
	uint64_t length;
	size_t head = take_argument(cursor->bytes, &length);
	const uint8_t *data = cursor->bytes + head;
	char *out = cursor->out;

	/* Whole blocks are read. */
	if (head == 0 || length > TEXT_MAX ||
	    (size_t)(cursor->end - data) < (length / TEXT_OUT_BLOCK + 1) * TEXT_OUT_BLOCK)
		return false;
	*out++ = '"';
	if (length > TEXT_OUT_BLOCK || text_copy_block(out, data, true) < length) {
		if (utf8_valid(data, length) != length)
			return false;
		for (size_t at = 0; at < length; at += TEXT_OUT_BLOCK) {
			size_t clean = text_copy_block(out + at, data + at, false);

			if (clean < TEXT_OUT_BLOCK && at + clean < length)
				return false;
		}
	}
	out[length] = '"';
	cursor->out = out + length + 1;
	cursor->bytes = data + length;
	return true;
}

static inline bool quick_integer(struct cursor *cursor, bool negative)
{
	uint64_t number;
	size_t head = take_argument(cursor->bytes, &number);

	if (head == 0)
		return false;
	cursor->out = negative ? text_put_negative(cursor->out, number)
	                       : text_put_number(cursor->out, number);
	cursor->bytes += head;
	return true;
}

static inline double double_of(uint64_t bits)
{
	double real;

	memcpy(&real, &bits, sizeof(real));
	return real;
}

/* A half-precision number; NaN for those that are not finite. */
static double half_of(unsigned bits)
{
	unsigned exponent = bits >> 10 & 31, mantissa = bits & 1023;
	double magnitude;

	if (exponent == 31)
		return (double)NAN;
	if (exponent == 0)
		magnitude = (double)mantissa / (1 << 24);
	else
		magnitude = double_of((uint64_t)(exponent + 1023 - 15) << 52 | (uint64_t)mantissa << 42);
	return bits >> 15 ? -magnitude : magnitude;
}

static inline bool quick_float(struct cursor *cursor)
{
	const uint8_t *bytes = cursor->bytes;
	uint32_t single;
	float real_single;
	double real;
	size_t size;

	switch (bytes[0]) {
	case CBOR_BYTE_FLOAT16:
		real = half_of((unsigned)bytes[1] << 8 | bytes[2]);
		size = 3;
		break;
	case CBOR_BYTE_FLOAT32:
		single = get_u32(bytes + 1);
		memcpy(&real_single, &single, sizeof(real_single));
		real = (double)real_single;
		size = 5;
		break;
	default:
		real = double_of(get_u64(bytes + 1));
		size = 9;
		break;
	}
	if (!isfinite(real))
		return false;
	cursor->out += decimal_from_double(real, cursor->out);
	cursor->bytes += size;
	return true;
}

static inline bool quick_word(struct cursor *cursor, const char *word, size_t length)
{
	memcpy(cursor->out, word, length);
	cursor->out += length;
	cursor->bytes++;
	return true;
}

/* One value; a key must be text. */
static inline bool quick_token(struct cursor *cursor, bool key)
{
	switch (cursor->bytes[0] >> 5) {
	case 3:
		return quick_text(cursor);
	case 0:
		return !key && quick_integer(cursor, false);
	case 1:
		return !key && quick_integer(cursor, true);
	case 7:
		if (key)
			return false;
		switch (cursor->bytes[0]) {
		case CBOR_BYTE_FALSE:
			return quick_word(cursor, "false", 5);
		case CBOR_BYTE_TRUE:
			return quick_word(cursor, "true", 4);
		case CBOR_BYTE_NULL:
			return quick_word(cursor, "null", 4);
		case CBOR_BYTE_FLOAT16:
		case CBOR_BYTE_FLOAT32:
		case CBOR_BYTE_FLOAT64:
			return quick_float(cursor);
		default:
			return false;
		}
	default:
		return false;
	}
}

size_t json_quick(struct text_out *text, struct cbor_level *level, char *separator,
                  struct json_keys *keys, const uint8_t *bytes, size_t length)
{
	struct cursor cursor = { bytes, bytes + length, text->next };
	bool map = level->kind == CBOR_MAP;

	if (!map && level->kind != CBOR_ARRAY)
		return 0;
	while (cbor_level_goes_on(level) && (size_t)(cursor.end - cursor.bytes) >= CBOR_HEAD_MAX &&
	       (size_t)(text->end - cursor.out) > OUT_MAX) {
		struct cursor next = cursor;

		*next.out = *separator;
		next.out += *separator != '\0';
		if (keys != NULL) {
			size_t key = json_keys_length(keys);

			if (key == 0 || (size_t)(text->end - next.out) <= key + OUT_MAX)
				break;
			memcpy(next.out, json_keys_text(keys), key);
			next.out += key;
		}
		if (!quick_token(&next, map && !level->odd))
			break;
		cursor = next;
		if (keys != NULL)
			keys->next++;
		cbor_level_count(level);
		*separator = map && level->odd ? ':' : ',';
	}
	text->next = cursor.out;
	return (size_t)(cursor.bytes - bytes);
}
