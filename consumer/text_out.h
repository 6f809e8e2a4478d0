/*
 * text_out.h - text made in place in an output's buffer.
 *
 * A writer keeps a piece of the buffer (output_room) and a place in it, so
 * that a token costs a few stores and no call.  Whoever writes asks for the
 * bytes first, with text_out_need.
 */
#ifndef SLUICE_TEXT_OUT_H
#define SLUICE_TEXT_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "consumer/sink.h"

#define TEXT_OUT_ROOM (16u << 10)      /* bytes taken of the buffer at a time */
#define TEXT_OUT_NUMBER_MAX 20         /* digits of a 64-bit number */
#define TEXT_OUT_BLOCK 16              /* bytes of a string that are looked at together */

struct text_out {
	struct output *output;
	const uint8_t *readable;       /* end of the bytes at hand: reading up to here is allowed */
	char *start;                   /* of the piece of the buffer */
	char *next;
	char *end;
};

/* Begin to write about bytes that end at `readable`; nothing is written yet. */
void text_out_begin(struct text_out *text, struct output *output, const uint8_t *readable);

/* Hand what was written to the output. */
void text_out_end(struct text_out *text);

void text_out_renew(struct text_out *text, size_t need);

/* Make room for `need` bytes, at most OUTPUT_ROOM_MAX. */
static inline void text_out_need(struct text_out *text, size_t need)
{
	if ((size_t)(text->end - text->next) < need)
		text_out_renew(text, need);
}

/* One character, or a few; there is room. */
static inline void text_out_char(struct text_out *text, char character)
{
	*text->next++ = character;
}

static inline void text_out_string(struct text_out *text, const char *string)
{
	size_t length = strlen(string);

	memcpy(text->next, string, length);
	text->next += length;
}

/* Decimal digits, at most TEXT_OUT_NUMBER_MAX.  Returns their end. */
char *text_put_number(char *out, uint64_t number);

/* -1 - number: at most one byte more than that.  Returns its end. */
char *text_put_negative(char *out, uint64_t number);

static inline bool text_needs_escape(uint8_t byte)
{
	return byte < 0x20 || byte == '"' || byte == '\\';
}

/*
 * Copy a block of a string.  Returns how many of its first bytes are taken as
 * they are: need no escape and, if `ascii`, are ASCII.  What is written after
 * those does not matter.
 */
static inline size_t text_copy_block(char *out, const uint8_t *bytes, bool ascii)
{
#ifdef __SSE2__
	__m128i block = _mm_loadu_si128((const __m128i *)(const void *)bytes);
	__m128i control = _mm_cmpeq_epi8(_mm_min_epu8(block, _mm_set1_epi8(0x1f)), block);
	__m128i quote = _mm_cmpeq_epi8(block, _mm_set1_epi8('"'));
	__m128i backslash = _mm_cmpeq_epi8(block, _mm_set1_epi8('\\'));
	__m128i found = _mm_or_si128(control, _mm_or_si128(quote, backslash));
	unsigned mask = (unsigned)_mm_movemask_epi8(ascii ? _mm_or_si128(found, block) : found);

	_mm_storeu_si128((__m128i *)(void *)out, block);
	return (size_t)__builtin_ctz(mask | 1u << TEXT_OUT_BLOCK);
#else
	const uint64_t ones = 0x0101010101010101, high_bits = 0x8080808080808080;
	uint64_t words[TEXT_OUT_BLOCK / 8];

	memcpy(words, bytes, TEXT_OUT_BLOCK);
	memcpy(out, words, TEXT_OUT_BLOCK);
	for (size_t i = 0; i < TEXT_OUT_BLOCK / 8; i++) {
		uint64_t word = words[i];
		uint64_t quote = word ^ ones * '"', backslash = word ^ ones * '\\';
		uint64_t found = (word - ones * 0x20) | (quote - ones) | (backslash - ones);

		/* Bytes after one that is found may be named without reason. */
		found = ((found & ~word) | (ascii ? word : 0)) & high_bits;
		for (size_t j = i * 8; found != 0 && j < (i + 1) * 8; j++)
			if (text_needs_escape((uint8_t)out[j]) || (ascii && (out[j] & 0x80)))
				return j;
	}
	return TEXT_OUT_BLOCK;
#endif
}

/*
 * The inside of a JSON string.  Escapes '"', '\\' and control characters only.
 * @quoted: the string itself stands within a JSON string, so that its escapes
 * are escaped once more.  Makes room for itself.
 */
void text_out_escaped(struct text_out *text, const uint8_t *bytes, size_t length, bool quoted);

/* The same into `out`, which has room for 6 bytes for each.  Returns its end. */
char *text_put_escaped(char *out, const uint8_t *bytes, size_t length);

/* Two lower-case digits for each byte.  Makes room for itself. */
void text_out_hex(struct text_out *text, const uint8_t *bytes, size_t length);

/*
 * base64url without padding, of bytes that come in several pieces: up to two
 * of them wait in `base64` until more follow or base64_finish is called.
 */
struct base64 {
	uint8_t waiting[2];
	uint8_t count;
};

void text_out_base64(struct text_out *text, struct base64 *base64,
                     const uint8_t *bytes, size_t length);
void text_out_base64_finish(struct text_out *text, struct base64 *base64);

#endif
