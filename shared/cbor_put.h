/*
 * cbor_put.h - CBOR heads, inline: for the hot paths, where a call of libcbor's
 * encoder per token costs more than the token.
 */
#ifndef SLUICE_CBOR_PUT_H
#define SLUICE_CBOR_PUT_H

#include <stdint.h>

#include "shared/bigendian.h"

#define CBOR_HEAD_MAX 9u               /* bytes */

/* Initial bytes: major types, and heads that are one byte. */
enum cbor_byte {
	CBOR_BYTE_UNSIGNED = 0x00,
	CBOR_BYTE_NEGATIVE = 0x20,     /* -1 - value */
	CBOR_BYTE_BYTES = 0x40,
	CBOR_BYTE_TEXT = 0x60,
	CBOR_BYTE_TEXT_OPEN = 0x7f,    /* of indefinite length: chunks, then a break */
	CBOR_BYTE_ARRAY = 0x80,
	CBOR_BYTE_ARRAY_OPEN = 0x9f,   /* of indefinite length */
	CBOR_BYTE_MAP = 0xa0,
	CBOR_BYTE_MAP_OPEN = 0xbf,
	CBOR_BYTE_TAG = 0xc0,
	CBOR_BYTE_FALSE = 0xf4,
	CBOR_BYTE_TRUE = 0xf5,
	CBOR_BYTE_NULL = 0xf6,
	CBOR_BYTE_FLOAT16 = 0xf9,
	CBOR_BYTE_FLOAT32 = 0xfa,
	CBOR_BYTE_FLOAT64 = 0xfb,
	CBOR_BYTE_BREAK = 0xff,
};

/* Write the smallest head with this major type (CBOR_BYTE_UNSIGNED ..
 * CBOR_BYTE_TAG) and value.  Returns the place behind it. */
static inline uint8_t *cbor_put_head(uint8_t *out, enum cbor_byte major, uint64_t value)
{
	if (value < 24) {
		*out++ = (uint8_t)(major | value);
	} else if (value <= UINT8_MAX) {
		*out++ = (uint8_t)(major | 24);
		*out++ = (uint8_t)value;
	} else if (value <= UINT16_MAX) {
		*out++ = (uint8_t)(major | 25);
		*out++ = (uint8_t)(value >> 8);
		*out++ = (uint8_t)value;
	} else if (value <= UINT32_MAX) {
		*out++ = (uint8_t)(major | 26);
		put_u32(out, (uint32_t)value);
		out += 4;
	} else {
		*out++ = (uint8_t)(major | 27);
		put_u64(out, value);
		out += 8;
	}
	return out;
}

#endif
