/*
 * json_parser.c - JSON texts as events, in fixed memory.
 *
 * The bytes at hand are followed by JSON_PADDING NULs, and a NUL is good
 * nowhere in JSON: so every scan ends by itself, and only what stops at a byte
 * that it does not like looks whether that is the end of the bytes at hand.
 * Then the token is cut: it stays, and is taken up again when there are more.
 *
 * Functions that take a token get the place where it begins and return the
 * place behind it, or NULL: cut, or at fault.
 */
#include "producer/json_parser.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "shared/utf8.h"

#define RECORD_SEPARATOR 0x1e

enum state {
	EXPECT_TEXT,           /* between texts */
	EXPECT_VALUE,
	EXPECT_FIRST_ITEM,     /* or ']' */
	EXPECT_FIRST_KEY,      /* or '}' */
	EXPECT_KEY,
	EXPECT_COLON,
	EXPECT_COMMA,          /* or what closes */
	EXPECT_NOTHING,        /* behind the only text */
	IN_STRING,             /* cut within a string */
	SKIPPING,              /* on the way to the next line or RS */
	FAULTY,
};

static uint64_t offset_of(const struct json_parser *parser, const char *at)
{
	return parser->end_offset - (uint64_t)(parser->end - at);
}

static char *fault(struct json_parser *parser, char *at, const char *reason)
{
	uint64_t offset = offset_of(parser, at);

	parser->fault = (struct json_fault){
		.reason = reason,
		.line = parser->line,
		.column = offset - parser->line_offset + 1,
		.offset = offset,
	};
	parser->state = FAULTY;
	parser->next = at;
	return NULL;
}

/* More bytes are needed, from `at` on. */
static char *starve(struct json_parser *parser, char *at)
{
	parser->next = at;
	return NULL;
}

/* The byte at `at` is not what the token that begins at `token` needs. */
static char *unexpected(struct json_parser *parser, char *token, char *at, const char *reason)
{
	if (at != parser->end)
		return fault(parser, at, reason);
	if (parser->finished)
		return fault(parser, at, "unexpected end of input");
	return starve(parser, token);
}

static inline void emit(struct json_event **event, enum json_event_kind kind)
{
	(*event)->kind = (uint8_t)kind;
	(*event)++;
}

static inline void emit_bytes(struct json_event **event, enum json_event_kind kind, const char *bytes,
                              size_t length, bool first, bool last)
{
	**event = (struct json_event){ bytes, (uint32_t)length, (uint8_t)kind, first, last };
	(*event)++;
}

/* What comes next is as a rule at hand: that spares a step. */
static inline char *comma_expect(struct json_parser *parser, char *at)
{
	if (*at != ',') {
		parser->state = EXPECT_COMMA;
		return at;
	}
	parser->state = parser->objects[parser->depth - 1] ? EXPECT_KEY : EXPECT_VALUE;
	return at + 1;
}

static inline char *colon_expect(struct json_parser *parser, char *at)
{
	if (*at != ':') {
		parser->state = EXPECT_COLON;
		return at;
	}
	parser->state = EXPECT_VALUE;
	return at + 1;
}

/* A value ends before `behind`; so does the text, if nothing is open. */
static inline char *value_end(struct json_parser *parser, char *behind, struct json_event **event)
{
	if (parser->depth > 0)
		return comma_expect(parser, behind);
	emit(event, JSON_EVENT_TEXT_END);
	parser->separated = false;
	parser->state = parser->sequence ? EXPECT_TEXT : EXPECT_NOTHING;
	return behind;
}

/* ---- white space ------------------------------------------------------ */

static void line_begin(struct json_parser *parser, const char *at)
{
	parser->line++;
	parser->line_offset = offset_of(parser, at);
	parser->line_token_offset = parser->line_offset;
}

static char *space_run_skip(struct json_parser *parser, char *at)
{
	bool leading = offset_of(parser, at) == parser->line_token_offset;

	for (;; at++) {
		uint64_t word;

		if (*at == '\n') {
			line_begin(parser, at + 1);
			leading = true;
		} else if (*at == ' ') {
			for (; memcpy(&word, at + 1, sizeof(word)),
			       word == UINT64_C(0x2020202020202020); at += sizeof(word))
				;
		} else if (*at != '\r' && *at != '\t') {
			break;
		}
	}
	if (leading)
		parser->line_token_offset = offset_of(parser, at);
	return at;
}

static inline char *space_skip(struct json_parser *parser, char *at)
{
	if ((unsigned char)*at > ' ')
		return at;
	if (*at == ' ' && (unsigned char)at[1] > ' ')
		return at + 1;
	return space_run_skip(parser, at);
}

/* ---- strings ---------------------------------------------------------- */

/* Up to the first quote, backslash or control character.  Clears *ascii if
 * there is another byte than ASCII on the way. */
static inline char *plain_skip(char *at, bool *ascii)
{
#ifdef __SSE2__
	const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\');
	const __m128i control = _mm_set1_epi8(0x1f);

	for (;; at += 16) {
		__m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
		__m128i special = _mm_or_si128(
			_mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash)),
			_mm_cmpeq_epi8(_mm_max_epu8(bytes, control), control));
		unsigned stop = (unsigned)_mm_movemask_epi8(special);
		unsigned high = (unsigned)_mm_movemask_epi8(bytes);

		if (stop != 0) {
			if (high & (stop - 1) & ~stop)
				*ascii = false;
			return at + __builtin_ctz(stop);
		}
		if (high != 0)
			*ascii = false;
	}
#else
	const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones * 0x80;

	for (;; at += 8) {
		uint64_t bytes, quote, backslash;

		memcpy(&bytes, at, sizeof(bytes));
		quote = bytes ^ ones * '"';
		backslash = bytes ^ ones * '\\';
		if (((bytes - ones * 0x20) | (quote - ones) | (backslash - ones)) & ~bytes & tops)
			break;
		if (bytes & tops)
			*ascii = false;
	}
	for (; (unsigned char)*at > 0x1f && *at != '"' && *at != '\\'; at++)
		if ((unsigned char)*at >= 0x80)
			*ascii = false;
	return at;
#endif
}

/* Reads up to four hexadecimal digits; returns the place behind the last. */
static char *hex_take(char *at, uint32_t *value)
{
	char *end = at + 4;

	for (*value = 0; at < end; at++) {
		unsigned digit = (unsigned char)*at;

		if (digit - '0' < 10)
			digit -= '0';
		else if ((digit | 0x20) - 'a' < 6)
			digit = (digit | 0x20) - 'a' + 10;
		else
			break;
		*value = *value << 4 | digit;
	}
	return at;
}

/* Decode the \u escape, or the surrogate pair of two, at `at`. */
static char *unicode_take(struct json_parser *parser, char *at, char **out)
{
	static const char alone[] = "first half of a surrogate pair without the second";
	uint32_t code_point, low;
	char *hex = hex_take(at + 2, &code_point);

	if (hex < at + 6)
		return unexpected(parser, at, hex, "expected four hexadecimal digits after \\u");
	if (code_point >= 0xdc00 && code_point <= 0xdfff)
		return fault(parser, at, "second half of a surrogate pair without the first");
	if (code_point >= 0xd800 && code_point <= 0xdbff) {
		if ((*hex != '\\' || *++hex != 'u') && hex != parser->end)
			return fault(parser, at, alone);
		if (hex == parser->end)
			return unexpected(parser, at, hex, NULL);
		hex = hex_take(at + 8, &low);
		if (hex < at + 12)
			return unexpected(parser, at, hex, "expected four hexadecimal digits after \\u");
		if (low < 0xdc00 || low > 0xdfff)
			return fault(parser, at, alone);
		code_point = 0x10000 + ((code_point - 0xd800) << 10) + (low - 0xdc00);
	}
	*out += utf8_put((uint8_t *)*out, code_point);
	return hex;
}

/* Decode the escape at `at`; what it means is never longer than itself. */
static char *escape_take(struct json_parser *parser, char *at, char **out)
{
	char meaning;

	switch (at[1]) {
	case '"': case '\\': case '/': meaning = at[1]; break;
	case 'b': meaning = '\b'; break;
	case 'f': meaning = '\f'; break;
	case 'n': meaning = '\n'; break;
	case 'r': meaning = '\r'; break;
	case 't': meaning = '\t'; break;
	case 'u': return unicode_take(parser, at, out);
	default:
		return unexpected(parser, at, at + 1, "no such escape in a string");
	}
	*(*out)++ = meaning;
	return at + 2;
}

/* The bytes at hand end within a string: start .. out is decoded, from `at` on
 * it is as it was written. */
static char *string_cut(struct json_parser *parser, char *start, char *out, char *at,
                        struct json_event **event)
{
	size_t decoded = (size_t)(out - start);

	if (parser->finished)
		return unexpected(parser, at, parser->end, NULL);
	if (decoded + (size_t)(parser->end - at) > parser->half) {
		emit_bytes(event, parser->string_kind, start, decoded, parser->string_first, false);
		parser->string_first = false;
		decoded = 0;
	} else {
		memmove(at - decoded, start, decoded);
	}
	parser->string_decoded = decoded;
	parser->next = at - decoded;
	parser->state = IN_STRING;
	return NULL;
}

static inline char *string_end(struct json_parser *parser, enum json_event_kind kind, char *behind,
                               struct json_event **event)
{
	return kind == JSON_EVENT_KEY ? colon_expect(parser, behind) : value_end(parser, behind, event);
}

/* Decode in place what is left of a string, from `start` on. */
static char *string_continue(struct json_parser *parser, char *start, struct json_event **event)
{
	char *at = start + parser->string_decoded, *out = at;

	for (;;) {
		bool ascii = true;
		char *stop = plain_skip(at, &ascii), *behind;
		size_t length = (size_t)(stop - at);

		if (!ascii)
			length = utf8_valid((const uint8_t *)at, length);
		if (out != at)
			memmove(out, at, length);
		out += length;
		at += length;
		if (at < stop && (stop != parser->end ||
		    !utf8_could_continue((const uint8_t *)at, (size_t)(stop - at))))
			return fault(parser, at, "invalid UTF-8 in a string");
		if (stop == parser->end)
			return string_cut(parser, start, out, at, event);
		if (*at == '"') {
			emit_bytes(event, parser->string_kind, start, (size_t)(out - start),
			           parser->string_first, true);
			return string_end(parser, parser->string_kind, at + 1, event);
		}
		if (*at != '\\')
			return fault(parser, at, "control character in a string");
		behind = escape_take(parser, at, &out);
		if (behind == NULL)
			return parser->state == FAULTY ? NULL : string_cut(parser, start, out, at, event);
		at = behind;
	}
}

/* @at  behind the quote that opens it */
static inline char *string_take(struct json_parser *parser, char *at, enum json_event_kind kind,
                                struct json_event **event)
{
	bool ascii = true;
	char *stop = plain_skip(at, &ascii);

	if (*stop == '"' && ascii) {
		emit_bytes(event, kind, at, (size_t)(stop - at), true, true);
		return string_end(parser, kind, stop + 1, event);
	}
	parser->string_kind = (uint8_t)kind;
	parser->string_first = true;
	parser->string_decoded = 0;
	return string_continue(parser, at, event);
}

/* ---- numbers and literals --------------------------------------------- */

static inline bool is_digit(char byte)
{
	return (unsigned)(byte - '0') < 10;
}

static inline char *digits_skip(char *at)
{
#ifdef __SSE2__
	const __m128i zero = _mm_set1_epi8('0'), nine = _mm_set1_epi8(9);

	for (;; at += 16) {
		__m128i value = _mm_sub_epi8(_mm_loadu_si128((const __m128i *)(const void *)at), zero);
		__m128i digit = _mm_cmpeq_epi8(_mm_max_epu8(value, nine), nine);
		unsigned stop = (unsigned)_mm_movemask_epi8(digit) ^ 0xffff;

		if (stop != 0)
			return at + __builtin_ctz(stop);
	}
#else
	while (is_digit(*at))
		at++;
	return at;
#endif
}

/* A number or literal ends before `behind`, if the byte there says so. */
static inline char *scalar_end(struct json_parser *parser, char *token, char *behind)
{
	if (behind == parser->end && !parser->finished)
		return starve(parser, token);
	if (parser->depth == 0) {
		bool space = *behind == ' ' || *behind == '\n' || *behind == '\r' || *behind == '\t';

		if (parser->separated && !space)
			return fault(parser, behind, "expected white space: the text may have been cut short");
		if (!space && behind != parser->end && *behind != RECORD_SEPARATOR)
			return fault(parser, behind, "expected white space or the end of the input");
	}
	return behind;
}

static inline char *number_take(struct json_parser *parser, char *token, struct json_event **event)
{
	static const char too_long[] = "number with too many digits or too large an exponent";
	size_t most = parser->half < JSON_MAX_NUMBER ? parser->half : JSON_MAX_NUMBER;
	char *at = token + (*token == '-'), *exponent;

	if (*at == '0') {
		if (is_digit(*++at))
			return fault(parser, at, "number with a leading zero");
	} else {
		if (!is_digit(*at))
			goto no_digit;
		at = digits_skip(at);
	}
	if (*at == '.') {
		if (!is_digit(*++at))
			goto no_digit;
		at = digits_skip(at);
	}
	if ((*at | 0x20) == 'e') {
		at++;
		at += *at == '+' || *at == '-';
		if (!is_digit(*at))
			goto no_digit;
		for (exponent = at; is_digit(*at); at++)
			exponent += *exponent == '0';
		if (at - exponent > (ptrdiff_t)JSON_MAX_EXPONENT)
			return fault(parser, token, too_long);
	}
	if ((size_t)(at - token) > most)
		return fault(parser, token, too_long);
	if (scalar_end(parser, token, at) == NULL)
		return NULL;
	emit_bytes(event, JSON_EVENT_NUMBER, token, (size_t)(at - token), true, true);
	return value_end(parser, at, event);

no_digit:
	if ((size_t)(at - token) > most)
		return fault(parser, token, too_long);
	return unexpected(parser, token, at, "expected a digit");
}

static inline char *literal_take(struct json_parser *parser, char *token, const char *text,
                                 enum json_event_kind kind, struct json_event **event)
{
	char *at = token;

	while (*text != '\0' && *at == *text)
		at++, text++;
	if (*text != '\0')
		return unexpected(parser, token, at, "expected null, true or false");
	if (scalar_end(parser, token, at) == NULL)
		return NULL;
	emit(event, kind);
	return value_end(parser, at, event);
}

/* ---- structure -------------------------------------------------------- */

static inline char *container_open(struct json_parser *parser, char *at, bool object,
                                   struct json_event **event)
{
	if (parser->depth == JSON_MAX_DEPTH)
		return fault(parser, at, "nested too deep");
	parser->objects[parser->depth++] = object;
	parser->state = object ? EXPECT_FIRST_KEY : EXPECT_FIRST_ITEM;
	emit(event, object ? JSON_EVENT_OBJECT_BEGIN : JSON_EVENT_ARRAY_BEGIN);
	return at + 1;
}

static inline char *container_close(struct json_parser *parser, char *at, enum json_event_kind kind,
                                    struct json_event **event)
{
	parser->depth--;
	emit(event, kind);
	return value_end(parser, at + 1, event);
}

static inline char *value_take(struct json_parser *parser, char *at, const char *expected,
                               struct json_event **event)
{
	switch (*at) {
	case '"':
		return string_take(parser, at + 1, JSON_EVENT_STRING, event);
	case '{':
		return container_open(parser, at, true, event);
	case '[':
		return container_open(parser, at, false, event);
	case '-': case '0': case '1': case '2': case '3': case '4':
	case '5': case '6': case '7': case '8': case '9':
		return number_take(parser, at, event);
	case 'n':
		return literal_take(parser, at, "null", JSON_EVENT_NULL, event);
	case 't':
		return literal_take(parser, at, "true", JSON_EVENT_TRUE, event);
	case 'f':
		return literal_take(parser, at, "false", JSON_EVENT_FALSE, event);
	default:
		return unexpected(parser, at, at, expected);
	}
}

static inline char *comma_take(struct json_parser *parser, char *at, struct json_event **event)
{
	bool object = parser->objects[parser->depth - 1];

	if (*at == ',')
		return comma_expect(parser, at);
	if (*at == '}' && object)
		return container_close(parser, at, JSON_EVENT_OBJECT_END, event);
	if (*at == ']' && !object)
		return container_close(parser, at, JSON_EVENT_ARRAY_END, event);
	return unexpected(parser, at, at, object ? "expected ',' or '}'" : "expected ',' or ']'");
}

static inline char *key_take(struct json_parser *parser, char *at, const char *expected,
                             struct json_event **event)
{
	if (*at != '"')
		return unexpected(parser, at, at, expected);
	return string_take(parser, at + 1, JSON_EVENT_KEY, event);
}

static char *text_begin(struct json_parser *parser, char *at, struct json_event **event)
{
	static const char byte_order_mark[] = "\xef\xbb\xbf";

	if (at == parser->end)
		return parser->sequence ? starve(parser, at) : unexpected(parser, at, at, NULL);
	if (*at == byte_order_mark[0] && offset_of(parser, at) == 0) {
		if (parser->end - at < 3 && !parser->finished)
			return starve(parser, at);
		if (memcmp(at, byte_order_mark, 3) == 0) {
			parser->line_offset = 3;
			return at + 3;
		}
	}
	if (*at == RECORD_SEPARATOR && parser->sequence) {
		parser->separated = true;
		return at + 1;
	}
	parser->text_line = parser->line;
	parser->state = EXPECT_VALUE;
	emit(event, JSON_EVENT_TEXT_BEGIN);
	return at;
}

/* Skip the rest of a text at fault. */
static char *fault_skip(struct json_parser *parser, char *at)
{
	for (; at < parser->end; at++) {
		if (*at == RECORD_SEPARATOR && parser->sequence) {
			parser->state = EXPECT_TEXT;
			return at;
		}
		if (*at == '\n') {
			line_begin(parser, at + 1);
			if (!parser->separated) {
				parser->state = EXPECT_TEXT;
				return at + 1;
			}
		}
	}
	return starve(parser, at);
}

int json_parser_next(struct json_parser *parser, struct json_event *events, size_t size)
{
	struct json_event *event = events, *full = events + size - (JSON_EVENTS_MIN - 1);
	char *at = parser->next, *behind = at;

	while (event < full && behind != NULL) {
		at = behind;
		if (parser->state < IN_STRING)
			at = space_skip(parser, at);
		switch ((enum state)parser->state) {
		case EXPECT_TEXT:
			behind = text_begin(parser, at, &event);
			break;
		case EXPECT_FIRST_ITEM:
			if (*at == ']')
				behind = container_close(parser, at, JSON_EVENT_ARRAY_END, &event);
			else
				behind = value_take(parser, at, "expected a value or ']'", &event);
			break;
		case EXPECT_FIRST_KEY:
			if (*at == '}')
				behind = container_close(parser, at, JSON_EVENT_OBJECT_END, &event);
			else
				behind = key_take(parser, at, "expected a key or '}'", &event);
			break;
		case EXPECT_KEY:
			behind = key_take(parser, at, "expected a key", &event);
			if (behind == NULL || parser->state != EXPECT_VALUE || event >= full)
				break;
			/* Its value is as a rule at hand. */
			at = space_skip(parser, behind);
			/* fall through */
		case EXPECT_VALUE:
			behind = value_take(parser, at, "expected a value", &event);
			break;
		case EXPECT_COLON:
			behind = *at == ':' ? colon_expect(parser, at) :
			         unexpected(parser, at, at, "expected ':'");
			break;
		case EXPECT_COMMA:
			behind = comma_take(parser, at, &event);
			break;
		case EXPECT_NOTHING:
			behind = at == parser->end ? starve(parser, at) :
			         fault(parser, at, "expected nothing more behind the text");
			break;
		case IN_STRING:
			behind = string_continue(parser, at, &event);
			break;
		case SKIPPING:
			behind = fault_skip(parser, at);
			break;
		case FAULTY:
			behind = NULL;
			break;
		}
	}
	if (behind != NULL)
		parser->next = behind;
	if (event == events && parser->state == FAULTY)
		return -1;
	return (int)(event - events);
}

void json_parser_resume(struct json_parser *parser)
{
	bool other_line = parser->fault.line != parser->text_line;
	bool leads = parser->fault.offset == parser->line_token_offset;

	parser->state = other_line && leads && !parser->separated ? EXPECT_TEXT : SKIPPING;
	parser->depth = 0;
}

/* ---- the buffer ------------------------------------------------------- */

void json_parser_init(struct json_parser *parser, char *buffer, size_t size, bool sequence)
{
	memset(parser, 0, sizeof(*parser));
	parser->half = size / 2;
	parser->area = buffer + parser->half;
	parser->next = parser->end = parser->area;
	memset(parser->end, 0, JSON_PADDING);
	parser->line = 1;
	parser->sequence = sequence;
	parser->state = EXPECT_TEXT;
}

char *json_parser_room(struct json_parser *parser, size_t *length)
{
	size_t rest = (size_t)(parser->end - parser->next);

	/* Before the area, so that reads go to the same, aligned place. */
	memmove(parser->area - rest, parser->next, rest);
	parser->next = parser->area - rest;
	parser->end = parser->area;
	*length = parser->half;
	return parser->area;
}

void json_parser_fill(struct json_parser *parser, size_t length)
{
	parser->end += length;
	parser->end_offset += length;
	memset(parser->end, 0, JSON_PADDING);
	/* A line's leading space may have been cut. */
	if (parser->state < IN_STRING)
		parser->next = space_run_skip(parser, parser->next);
}

void json_parser_finish(struct json_parser *parser)
{
	memset(parser->end, 0, JSON_PADDING);
	parser->finished = true;
}
