/*
 * text_out.c - see text_out.h.
 */
#include "consumer/text_out.h"

#define PIECE 2048                     /* bytes of a string done with room for the worst */
#define ESCAPE_MAX 7                   /* "\\u001f", within another string */

void text_out_begin(struct text_out *text, struct output *output, const uint8_t *readable)
{
	text->output = output;
	text->readable = readable;
	text->start = text->next = text->end = NULL;
}

void text_out_end(struct text_out *text)
{
	if (text->next != text->start)
		output_fill(text->output, (size_t)(text->next - text->start));
	text->start = text->next = text->end = NULL;
}

void text_out_renew(struct text_out *text, size_t need)
{
	size_t room = need > TEXT_OUT_ROOM ? need : TEXT_OUT_ROOM;

	text_out_end(text);
	text->start = text->next = output_room(text->output, room);
	text->end = text->start + room;
}

/* ---- numbers ------------------------------------------------------------ */

static const char digit_pairs[] =
	"00010203040506070809101112131415161718192021222324"
	"25262728293031323334353637383940414243444546474849"
	"50515253545556575859606162636465666768697071727374"
	"75767778798081828384858687888990919293949596979899";

static unsigned count_digits(uint64_t number)
{
	static const uint64_t powers[] = {
		0, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000, 10000000000,
		100000000000, 1000000000000, 10000000000000, 100000000000000, 1000000000000000,
		10000000000000000, 100000000000000000, 1000000000000000000, 10000000000000000000u,
	};
	/* 1233 / 4096 is a little less than log10(2). */
	unsigned digits = (64u - (unsigned)__builtin_clzll(number | 1)) * 1233 >> 12;

	return digits + (number >= powers[digits]);
}

char *text_put_number(char *out, uint64_t number)
{
	char *end = out + count_digits(number), *at = end;

	while (number >= 100) {
		at -= 2;
		memcpy(at, digit_pairs + number % 100 * 2, 2);
		number /= 100;
	}
	if (number >= 10)
		memcpy(out, digit_pairs + number * 2, 2);
	else
		*out = (char)('0' + number);
	return end;
}

char *text_put_negative(char *out, uint64_t number)
{
	static const char least[] = "18446744073709551616";

	*out++ = '-';
	if (number < UINT64_MAX)
		return text_put_number(out, number + 1);
	memcpy(out, least, sizeof(least) - 1);
	return out + sizeof(least) - 1;
}

/* ---- strings ------------------------------------------------------------ */

static char *put_escape(char *out, uint8_t byte, bool quoted)
{
	static const char digits[] = "0123456789abcdef";
	static const char letters[0x20] = {
		['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r',
	};
	char letter = byte < 0x20 ? letters[byte] : (char)byte;

	*out++ = '\\';
	if (quoted) {
		*out++ = '\\';
		if (byte == '"' || byte == '\\')
			*out++ = '\\';
	}
	if (letter) {
		*out++ = letter;
	} else {
		memcpy(out, "u00", 3);
		out[3] = digits[byte >> 4];
		out[4] = digits[byte & 15];
		out += 5;
	}
	return out;
}

/* Fewer than TEXT_OUT_BLOCK bytes with nothing readable after them. */
static char *escape_last(char *out, const uint8_t *bytes, size_t length, bool quoted)
{
	for (size_t i = 0; i < length; i++) {
		if (text_needs_escape(bytes[i]))
			out = put_escape(out, bytes[i], quoted);
		else
			*out++ = (char)bytes[i];
	}
	return out;
}

char *text_put_escaped(char *out, const uint8_t *bytes, size_t length)
{
	return escape_last(out, bytes, length, false);
}

/* There is room for the worst, and for a block more. */
static char *escape_piece(char *out, const uint8_t *bytes, size_t length,
                          const uint8_t *readable, bool quoted)
{
	const uint8_t *end = bytes + length;

	while (bytes < end) {
		size_t left = (size_t)(end - bytes), clean;

		if ((size_t)(readable - bytes) < TEXT_OUT_BLOCK)
			return escape_last(out, bytes, left, quoted);
		clean = text_copy_block(out, bytes, false);
		if (clean >= left)
			return out + left;
		out += clean;
		bytes += clean;
		if (clean < TEXT_OUT_BLOCK)
			out = put_escape(out, *bytes++, quoted);
	}
	return out;
}

void text_out_escaped(struct text_out *text, const uint8_t *bytes, size_t length, bool quoted)
{
	while (length > 0) {
		size_t piece = length < PIECE ? length : PIECE;

		text_out_need(text, piece * ESCAPE_MAX + TEXT_OUT_BLOCK);
		text->next = escape_piece(text->next, bytes, piece, text->readable, quoted);
		bytes += piece;
		length -= piece;
	}
}

void text_out_hex(struct text_out *text, const uint8_t *bytes, size_t length)
{
	static const char digits[] = "0123456789abcdef";

	while (length > 0) {
		size_t piece = length < PIECE ? length : PIECE;
		char *out;

		text_out_need(text, piece * 2);
		out = text->next;
		for (size_t i = 0; i < piece; i++) {
			out[2 * i] = digits[bytes[i] >> 4];
			out[2 * i + 1] = digits[bytes[i] & 15];
		}
		text->next += piece * 2;
		bytes += piece;
		length -= piece;
	}
}

/* ---- base64url ---------------------------------------------------------- */

static const char base64_digits[64] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static inline void put_base64(char *out, uint8_t first, uint8_t second, uint8_t third)
{
	out[0] = base64_digits[first >> 2];
	out[1] = base64_digits[(first << 4 | second >> 4) & 63];
	out[2] = base64_digits[(second << 2 | third >> 6) & 63];
	out[3] = base64_digits[third & 63];
}

/* Of a piece's bytes, those that are whole groups of three. */
static char *put_base64_groups(char *out, const uint8_t *bytes, size_t groups)
{
	for (; groups > 0; groups--) {
		put_base64(out, bytes[0], bytes[1], bytes[2]);
		out += 4;
		bytes += 3;
	}
	return out;
}

void text_out_base64(struct text_out *text, struct base64 *base64,
                     const uint8_t *bytes, size_t length)
{
	if (base64->count > 0 && base64->count + length >= 3) {
		uint8_t group[3];
		size_t taken = 3u - base64->count;

		memcpy(group, base64->waiting, base64->count);
		memcpy(group + base64->count, bytes, taken);
		text_out_need(text, 4);
		text->next = put_base64_groups(text->next, group, 1);
		bytes += taken;
		length -= taken;
		base64->count = 0;
	}
	while (base64->count == 0 && length >= 3) {
		size_t groups = (length < PIECE ? length : PIECE) / 3;

		text_out_need(text, groups * 4);
		text->next = put_base64_groups(text->next, bytes, groups);
		bytes += groups * 3;
		length -= groups * 3;
	}
	while (length > 0) {
		base64->waiting[base64->count++] = *bytes++;
		length--;
	}
}

void text_out_base64_finish(struct text_out *text, struct base64 *base64)
{
	uint8_t second = base64->count > 1 ? base64->waiting[1] : 0;

	if (base64->count > 0) {
		text_out_need(text, 4);
		put_base64(text->next, base64->waiting[0], second, 0);
		text->next += base64->count + 1;
	}
	base64->count = 0;
}
