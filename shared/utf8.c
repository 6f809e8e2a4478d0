/*
 * utf8.c - UTF-8 as RFC 3629 has it.
 */
#include "shared/utf8.h"

#include <stdbool.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Behind the ASCII bytes that `bytes` begins with. */
static inline const uint8_t *ascii_skip(const uint8_t *bytes, const uint8_t *end)
{
#ifdef __SSE2__
	for (; end - bytes >= 16; bytes += 16) {
		__m128i block = _mm_loadu_si128((const __m128i *)(const void *)bytes);
		unsigned high = (unsigned)_mm_movemask_epi8(block);

		if (high != 0)
			return bytes + __builtin_ctz(high);
	}
#else
	for (uint64_t word; end - bytes >= 8; bytes += 8) {
		memcpy(&word, bytes, sizeof(word));
		if (word & UINT64_C(0x8080808080808080))
			break;
	}
#endif
	while (bytes < end && *bytes < 0x80)
		bytes++;
	return bytes;
}

/* Bytes of the character that `lead` begins, 0 if none does; the bounds of the
 * byte after it.  Bytes after that are 80..BF. */
static size_t character_size(uint8_t lead, uint8_t *low, uint8_t *high)
{
	*low = 0x80;
	*high = 0xbf;
	if (lead < 0x80)
		return 1;
	if (lead < 0xc2)
		return 0;                  /* a continuation, or overlong */
	if (lead < 0xe0)
		return 2;
	if (lead < 0xf0) {
		if (lead == 0xe0)
			*low = 0xa0;       /* shorter forms exist */
		if (lead == 0xed)
			*high = 0x9f;      /* surrogates */
		return 3;
	}
	if (lead > 0xf4)
		return 0;
	if (lead == 0xf0)
		*low = 0x90;               /* shorter forms exist */
	if (lead == 0xf4)
		*high = 0x8f;              /* past U+10FFFF */
	return 4;
}

static inline bool is_continuation(uint8_t byte)
{
	return (byte & 0xc0) == 0x80;
}

/* Behind a run of characters of two bytes each, and then one of three. */
static inline const uint8_t *pairs_skip(const uint8_t *at, const uint8_t *end)
{
	while (end - at >= 2 && at[0] >= 0xc2 && at[0] < 0xe0 && is_continuation(at[1]))
		at += 2;
	return at;
}

static inline const uint8_t *triples_skip(const uint8_t *at, const uint8_t *end)
{
	while (end - at >= 3 && (at[0] & 0xf0) == 0xe0 && is_continuation(at[1]) && is_continuation(at[2])) {
		unsigned lead = (unsigned)at[0] << 8 | at[1];

		if (lead < 0xe0a0 || (lead >= 0xeda0 && lead < 0xee00))
			break;                 /* overlong, or a surrogate */
		at += 3;
	}
	return at;
}

size_t utf8_valid(const uint8_t *bytes, size_t length)
{
	const uint8_t *at = bytes, *end = bytes + length, *start;
	uint8_t low, high;

	do {
		start = at;
		at = ascii_skip(at, end);
		at = pairs_skip(at, end);
		at = triples_skip(at, end);
		if (end - at >= 4 && character_size(at[0], &low, &high) == 4 && at[1] >= low && at[1] <= high &&
		    is_continuation(at[2]) && is_continuation(at[3]))
			at += 4;
	} while (at > start);
	return (size_t)(at - bytes);
}

int utf8_could_continue(const uint8_t *bytes, size_t length)
{
	uint8_t low, high;
	size_t size;

	if (length == 0)
		return 0;
	size = character_size(bytes[0], &low, &high);
	if (size <= length)
		return 0;
	if (length > 1 && (bytes[1] < low || bytes[1] > high))
		return 0;
	return length < 3 || is_continuation(bytes[2]);
}

size_t utf8_put(uint8_t *out, uint32_t code_point)
{
	if (code_point < 0x80) {
		out[0] = (uint8_t)code_point;
		return 1;
	}
	if (code_point < 0x800) {
		out[0] = (uint8_t)(0xc0 | code_point >> 6);
		out[1] = (uint8_t)(0x80 | (code_point & 0x3f));
		return 2;
	}
	if (code_point < 0x10000) {
		out[0] = (uint8_t)(0xe0 | code_point >> 12);
		out[1] = (uint8_t)(0x80 | (code_point >> 6 & 0x3f));
		out[2] = (uint8_t)(0x80 | (code_point & 0x3f));
		return 3;
	}
	out[0] = (uint8_t)(0xf0 | code_point >> 18);
	out[1] = (uint8_t)(0x80 | (code_point >> 12 & 0x3f));
	out[2] = (uint8_t)(0x80 | (code_point >> 6 & 0x3f));
	out[3] = (uint8_t)(0x80 | (code_point & 0x3f));
	return 4;
}

size_t utf8_cut(const uint8_t *bytes, size_t length)
{
	size_t start = length, back;
	uint8_t low, high;

	/* The last character that begins before the cut is whole, or goes. */
	for (back = 1; back <= 4 && back <= length; back++) {
		start = length - back;
		if (!is_continuation(bytes[start]))
			break;
	}
	if (length == 0 || character_size(bytes[start], &low, &high) <= length - start)
		return length;
	return start;
}
