/*
 * mtx_parser.c - see mtx_parser.h.
 */
#include "producer/mtx_parser.h"

#include <string.h>
#include <strings.h>

enum state {
	EXPECT_BANNER,
	EXPECT_SIZE,           /* or a comment */
	EXPECT_ENTRY,
};

/* ---- words ------------------------------------------------------------------ */

struct line {
	const char *start, *at, *end;
};

static enum mtx_line fault(struct mtx_parser *parser, const struct line *line, const char *at,
                           const char *reason)
{
	parser->reason = reason;
	parser->column_at = (size_t)(at - line->start) + 1;
	return MTX_LINE_FAULT;
}

static inline bool is_blank(char character)
{
	return character == ' ' || character == '\t' || character == '\r';
}

static inline void skip_blanks(struct line *line)
{
	while (line->at < line->end && is_blank(*line->at))
		line->at++;
}

/* A word is behind its blanks, and blanks or the line's end are behind it. */
static inline bool word_ends(const struct line *line, const char *at)
{
	return at == line->end || is_blank(*at);
}

static const char *word_end(const struct line *line)
{
	const char *at = line->at;

	while (!word_ends(line, at))
		at++;
	return at;
}

static bool word_is(const char *start, const char *end, const char *word)
{
	return strlen(word) == (size_t)(end - start) && strncasecmp(start, word, strlen(word)) == 0;
}

/* Which of `count` words is next?  -1: none of them. */
static int take_word(struct line *line, const char *const *words, int count)
{
	const char *end;

	skip_blanks(line);
	end = word_end(line);
	for (int i = 0; i < count; i++)
		if (word_is(line->at, end, words[i])) {
			line->at = end;
			return i;
		}
	return -1;
}

/* ---- the banner --------------------------------------------------------------- */

static enum mtx_line take_banner(struct mtx_parser *parser, struct line *line)
{
	static const char *const banners[] = { "%%MatrixMarket" }, *const objects[] = { "matrix", "vector" },
		*const formats[] = { "array", "coordinate" };
	struct mtx_banner *banner = &parser->banner;
	const char *wrong;
	int word;

	if (line->at == line->end || *line->at != '%' || take_word(line, banners, 1) != 0)
		return fault(parser, line, line->at, "expected the banner: %%MatrixMarket");
	word = take_word(line, objects, 2);
	if (word < 0)
		return fault(parser, line, line->at, "expected matrix or vector");
	banner->vector = word == 1;
	word = take_word(line, formats, 2);
	if (word < 0)
		return fault(parser, line, line->at, "expected coordinate or array");
	banner->coordinate = word == 1;
	word = take_word(line, mtx_field_names, MTX_FIELDS);
	if (word < 0)
		return fault(parser, line, line->at, "expected real, integer, complex or pattern");
	banner->field = (enum mtx_field)word;
	word = take_word(line, mtx_symmetry_names, MTX_SYMMETRIES);
	if (word < 0)
		return fault(parser, line, line->at,
		             "expected general, symmetric, skew-symmetric or hermitian");
	banner->symmetry = (enum mtx_symmetry)word;
	wrong = mtx_banner_fault(banner);
	if (wrong != NULL)
		return fault(parser, line, line->at, wrong);
	skip_blanks(line);
	if (line->at < line->end)
		return fault(parser, line, line->at, "something after the banner");
	parser->state = EXPECT_SIZE;
	return MTX_LINE_BANNER;
}

/* ---- sizes and indices ----------------------------------------------------------- */

/* An unsigned integer and what ends it.  Returns NULL, or what is wrong. */
static inline const char *take_unsigned(struct line *line, uint64_t *number)
{
	const char *at, *first;
	uint64_t value = 0;

	skip_blanks(line);
	first = at = line->at;
	for (; at < line->end && (unsigned)(*at - '0') < 10; at++) {
		if (at - first >= 19 && (__builtin_mul_overflow(value, 10, &value) ||
		                         __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value)))
			return "an integer beyond 64 bits";
		if (at - first < 19)
			value = value * 10 + (uint64_t)(*at - '0');
	}
	if (at == first || !word_ends(line, at))
		return "expected an integer, not negative";
	line->at = at;
	*number = value;
	return NULL;
}

static enum mtx_line take_size(struct mtx_parser *parser, struct line *line)
{
	const char *wrong = take_unsigned(line, &parser->rows);

	parser->columns = 1;
	if (wrong == NULL && !parser->banner.vector)
		wrong = take_unsigned(line, &parser->columns);
	if (wrong == NULL)
		wrong = mtx_shape_fault(&parser->banner, parser->rows, parser->columns, &parser->entries);
	if (wrong == NULL && parser->banner.coordinate)
		wrong = take_unsigned(line, &parser->entries);
	if (wrong != NULL)
		return fault(parser, line, line->at, wrong);
	skip_blanks(line);
	if (line->at < line->end)
		return fault(parser, line, line->at, "something after the size");
	parser->state = EXPECT_ENTRY;
	return MTX_LINE_SIZE;
}

/* ---- numbers ----------------------------------------------------------------------- */

static const char *skip_digits(const char *at, const char *end)
{
	while (at < end && (unsigned)(*at - '0') < 10)
		at++;
	return at;
}

/* A number's text, taken apart: [start of sign] whole . fraction e exponent. */
struct parts {
	bool negative, pointed;
	const char *whole, *fraction, *exponent;       /* exponent: its sign or first digit, or NULL */
	const char *whole_end, *fraction_end, *end;
};

/* Is it "nan", "inf", "infinity", signed?  Fills value. */
static bool take_special(const char *start, const char *end, struct mtx_number *value)
{
	bool negative = *start == '-';

	start += *start == '-' || *start == '+';
	value->kind = negative ? MTX_NEGATIVE_INFINITY : MTX_INFINITY;
	if (word_is(start, end, "nan"))
		value->kind = MTX_NAN;
	else if (!word_is(start, end, "inf") && !word_is(start, end, "infinity"))
		return false;
	value->text = start;
	value->length = 0;
	return true;
}

static const char not_a_number[] = "expected a number", not_an_integer[] = "expected an integer",
	too_long[] = "a number that is too long", too_large[] = "an exponent that is too large";

/* Find the parts of the word from `at` on.  Returns NULL, or what is wrong. */
static inline const char *parts_find(const struct line *line, const char *at, struct parts *parts)
{
	const char *end = line->end;

	parts->negative = at < end && *at == '-';
	at += at < end && (*at == '-' || *at == '+');
	parts->whole = at;
	at = parts->whole_end = parts->fraction = parts->fraction_end = skip_digits(at, end);
	parts->pointed = at < end && *at == '.';
	if (parts->pointed) {
		parts->fraction = at + 1;
		at = parts->fraction_end = skip_digits(at + 1, end);
	}
	if (parts->whole == parts->whole_end && parts->fraction == parts->fraction_end)
		return not_a_number;
	parts->exponent = NULL;
	if (at < end && (*at == 'e' || *at == 'E')) {
		const char *digits = ++at;

		parts->exponent = at;
		digits += at < end && (*at == '-' || *at == '+');
		at = skip_digits(digits, end);
		if (at == digits)
			return not_a_number;
		while (digits < at - 1 && *digits == '0')
			digits++;
		if (at - digits > (ptrdiff_t)MTX_MAX_EXPONENT)
			return too_large;
	}
	parts->end = at;
	return word_ends(line, at) ? NULL : not_a_number;
}

/* Does JSON write it like that? */
static inline bool is_json(const char *start, const struct parts *parts)
{
	ptrdiff_t whole = parts->whole_end - parts->whole;

	return *start != '+' && whole > 0 && (whole == 1 || *parts->whole != '0') &&
	       (!parts->pointed || parts->fraction < parts->fraction_end);
}

static char *put(char *out, const char *start, const char *end)
{
	memcpy(out, start, (size_t)(end - start));
	return out + (end - start);
}

/* Write it as JSON does: ".5" is 0.5, "1." is 1.0, "+01" is 1. */
static void normalize(struct mtx_parser *parser, const struct parts *parts, struct mtx_number *value)
{
	char *out = parser->scratch + parser->scratch_used;
	const char *whole = parts->whole;

	value->text = out;
	while (whole < parts->whole_end - 1 && *whole == '0')
		whole++;
	if (parts->negative)
		*out++ = '-';
	if (whole == parts->whole_end)
		*out++ = '0';
	out = put(out, whole, parts->whole_end);
	if (parts->pointed) {
		*out++ = '.';
		if (parts->fraction == parts->fraction_end)
			*out++ = '0';
		out = put(out, parts->fraction, parts->fraction_end);
	}
	if (parts->exponent != NULL) {
		*out++ = 'e';
		out = put(out, parts->exponent, parts->end);
	}
	value->length = (size_t)(out - value->text);
	parser->scratch_used += value->length;
}

static inline const char *take_value(struct mtx_parser *parser, struct line *line,
                                     struct mtx_number *value)
{
	struct parts parts;
	const char *wrong, *start;
	bool integer = parser->banner.field == MTX_INTEGER;

	skip_blanks(line);
	start = line->at;
	if (start == line->end)
		return "expected a value";
	wrong = parts_find(line, start, &parts);
	if (wrong != NULL) {
		const char *end = word_end(line);

		if (integer || !take_special(start, end, value))
			return wrong;
		line->at = end;
		return NULL;
	}
	if (integer && (parts.pointed || parts.exponent != NULL))
		return not_an_integer;
	if (parts.end - start > (ptrdiff_t)MTX_MAX_NUMBER - 2)
		return too_long;
	value->kind = MTX_FINITE;
	line->at = parts.end;
	if (!is_json(start, &parts)) {
		normalize(parser, &parts, value);
	} else {
		value->text = start;
		value->length = (size_t)(parts.end - start);
	}
	/* An integer has no negative zero. */
	if (integer && value->length == 2 && memcmp(value->text, "-0", 2) == 0) {
		value->text++;
		value->length--;
	}
	return NULL;
}

/* ---- entries ------------------------------------------------------------------------- */

static const char *take_index(struct line *line, uint64_t limit, uint64_t *index)
{
	const char *start, *wrong;

	skip_blanks(line);
	start = line->at;
	wrong = take_unsigned(line, index);
	if (wrong == NULL && (*index == 0 || *index > limit)) {
		line->at = start;
		wrong = "an index outside of the matrix";
	}
	return wrong;
}

static enum mtx_line take_entry(struct mtx_parser *parser, struct line *line)
{
	static const unsigned counts[] = { 1, 1, 2, 0 };
	const char *wrong = NULL;

	if (parser->taken == parser->entries)
		return fault(parser, line, line->at, "more entries than the size says");
	if (parser->banner.coordinate)
		wrong = take_index(line, parser->rows, &parser->row);
	if (wrong == NULL && parser->banner.coordinate && !parser->banner.vector)
		wrong = take_index(line, parser->columns, &parser->column);
	parser->value_count = counts[parser->banner.field];
	parser->scratch_used = 0;
	for (unsigned i = 0; i < parser->value_count && wrong == NULL; i++)
		wrong = take_value(parser, line, &parser->values[i]);
	if (wrong != NULL)
		return fault(parser, line, line->at, wrong);
	skip_blanks(line);
	if (line->at < line->end)
		return fault(parser, line, line->at, "something after the entry");
	parser->taken++;
	return MTX_LINE_ENTRY;
}

/* ---- lines ----------------------------------------------------------------------------- */

void mtx_parser_init(struct mtx_parser *parser)
{
	parser->state = EXPECT_BANNER;
	parser->taken = parser->entries = 0;
}

enum mtx_line mtx_parser_line(struct mtx_parser *parser, const char *text, size_t length)
{
	struct line line = { text, text, text + length };

	if (parser->state == EXPECT_BANNER)
		return take_banner(parser, &line);
	skip_blanks(&line);
	if (line.at == line.end)
		return MTX_LINE_NOTHING;
	if (*line.at != '%')
		return parser->state == EXPECT_ENTRY ? take_entry(parser, &line) : take_size(parser, &line);
	if (parser->state == EXPECT_ENTRY)
		return MTX_LINE_LATE_COMMENT;
	parser->text = line.at + 1;
	if (line.end > parser->text && line.end[-1] == '\r')
		line.end--;
	parser->length = (size_t)(line.end - parser->text);
	return MTX_LINE_COMMENT;
}

const char *mtx_parser_finish(const struct mtx_parser *parser)
{
	if (parser->state == EXPECT_BANNER)
		return "expected the banner: %%MatrixMarket";
	if (parser->state == EXPECT_SIZE)
		return "ends before the size";
	return parser->taken == parser->entries ? NULL : "fewer entries than the size says";
}
