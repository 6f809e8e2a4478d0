/*
 * csv_parser.c - CSV as fields, in fixed memory.
 *
 * The bytes at hand are followed by CSV_PADDING NULs, and a NUL is good nowhere
 * in CSV: so every scan ends by itself, and only what stops at a NUL looks
 * whether that is the end of the bytes at hand.  Then the field is cut: what was
 * taken of it stays, decoded, before `next + decoded`, and it is taken up again
 * there when there are more.
 *
 * Functions that take something get the place where it begins and return the
 * place behind it, or NULL: cut, or at fault.
 */
#include "producer/csv_parser.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "shared/utf8.h"

enum state {
	ROW_START,
	FIELD_START,
	IN_PLAIN,              /* in a field without quotes */
	IN_QUOTED,
	BEHIND_QUOTE,          /* of a quoted field: the closing one, or the first of two */
	FAULTY,
};

static uint64_t offset_of(const struct csv_parser *parser, const char *at)
{
	return parser->end_offset - (uint64_t)(parser->end - at);
}

static uint64_t column_of(const struct csv_parser *parser, const char *at)
{
	return offset_of(parser, at) - parser->line_offset + 1;
}

/* @state  how to go on at `at` if the rest of the row is discarded */
static char *fault(struct csv_parser *parser, char *at, enum state state, const char *reason)
{
	if (reason != parser->fault.reason)
		snprintf(parser->fault.reason, sizeof(parser->fault.reason), "%s", reason);
	parser->fault.line = parser->line;
	parser->fault.column = column_of(parser, at);
	parser->fault.encoding = false;
	parser->resume_state = (uint8_t)state;
	parser->state = FAULTY;
	parser->next = at;
	parser->decoded = 0;
	return NULL;
}

/* More bytes are needed, from `at` on. */
static char *starve(struct csv_parser *parser, char *at)
{
	parser->next = at;
	return NULL;
}

static inline void emit(struct csv_parser *parser, struct csv_event **event, const char *bytes,
                        size_t length, bool last, bool row_end)
{
	**event = (struct csv_event){ bytes, (uint32_t)length, parser->first, last, parser->quoted, row_end };
	(*event)++;
}

/* ---- lines ---------------------------------------------------------------- */

/* A CR or LF stands at `at`; CRLF is one line end.  Returns the place behind. */
static inline char *line_end(struct csv_parser *parser, char *at)
{
	uint64_t behind = offset_of(parser, at) + 1;

	if (*at == '\r') {
		parser->behind_return = behind;
		if (at[1] == '\n') {
			at++;
			behind++;
		}
		parser->line++;
	} else if (parser->behind_return != behind - 1) {
		parser->line++;
	}
	parser->line_offset = behind;
	return at + 1;
}

/* ---- fields --------------------------------------------------------------- */

/* Up to the first byte that may end a field that has no quotes.  Clears *ascii
 * if there is another byte than ASCII on the way. */
static inline char *plain_skip(const struct csv_parser *parser, char *at, bool *ascii)
{
#ifdef __SSE2__
	const __m128i delimiter = _mm_set1_epi8(parser->delimiter), quote = _mm_set1_epi8(parser->quote);
	const __m128i feed = _mm_set1_epi8('\n'), ret = _mm_set1_epi8('\r'), nul = _mm_setzero_si128();

	for (;; at += 16) {
		__m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
		__m128i special = _mm_or_si128(
			_mm_or_si128(_mm_cmpeq_epi8(bytes, delimiter), _mm_cmpeq_epi8(bytes, quote)),
			_mm_or_si128(_mm_cmpeq_epi8(bytes, feed),
			             _mm_or_si128(_mm_cmpeq_epi8(bytes, ret), _mm_cmpeq_epi8(bytes, nul))));
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
	for (; *at != parser->delimiter && *at != parser->quote && *at != '\n' && *at != '\r' &&
	       *at != '\0'; at++)
		if ((unsigned char)*at >= 0x80)
			*ascii = false;
	return at;
#endif
}

/* Up to the first quote, line end or NUL. */
static inline char *quoted_skip(const struct csv_parser *parser, char *at, bool *ascii)
{
#ifdef __SSE2__
	const __m128i quote = _mm_set1_epi8(parser->quote), nul = _mm_setzero_si128();
	const __m128i feed = _mm_set1_epi8('\n'), ret = _mm_set1_epi8('\r');

	for (;; at += 16) {
		__m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
		__m128i special = _mm_or_si128(
			_mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, nul)),
			_mm_or_si128(_mm_cmpeq_epi8(bytes, feed), _mm_cmpeq_epi8(bytes, ret)));
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
	for (; *at != parser->quote && *at != '\n' && *at != '\r' && *at != '\0'; at++)
		if ((unsigned char)*at >= 0x80)
			*ascii = false;
	return at;
#endif
}

static inline bool is_plain_text(const char *bytes, size_t length, bool ascii)
{
	return ascii || utf8_valid((const uint8_t *)bytes, length) == length;
}

/* The row ends at `at`, too early. */
static char *row_too_short(struct csv_parser *parser, char *at)
{
	uint64_t fields = parser->fields + 1;

	snprintf(parser->fault.reason, sizeof(parser->fault.reason),
	         "row of %" PRIu64 " field%s, not %" PRIu64, fields, fields == 1 ? "" : "s", parser->width);
	return fault(parser, at, IN_PLAIN, parser->fault.reason);
}

/* The present field, bytes .. bytes + length, ends its row at `at`: a line end,
 * or the end of the input. */
static inline char *row_end(struct csv_parser *parser, char *at, const char *bytes, size_t length,
                            struct csv_event **event)
{
	if (parser->fields + 1 != parser->width) {
		if (parser->width != UINT64_MAX)
			return row_too_short(parser, at);
		parser->width = parser->fields + 1;
	}
	emit(parser, event, bytes, length, true, true);
	parser->state = ROW_START;
	return at == parser->end ? at : line_end(parser, at);
}

static inline char *field_end(struct csv_parser *parser, char *behind, const char *bytes, size_t length,
                              struct csv_event **event)
{
	emit(parser, event, bytes, length, true, false);
	parser->fields++;
	parser->state = FIELD_START;
	return behind;
}

/* The bytes at hand end within a field: start .. out is decoded, from `at` on
 * it is as it was written. */
static char *field_cut(struct csv_parser *parser, char *start, char *out, char *at,
                       struct csv_event **event)
{
	size_t decoded = (size_t)(out - start);

	if (decoded + (size_t)(parser->end - at) > parser->half) {
		emit(parser, event, start, decoded, false, false);
		parser->first = false;
		decoded = 0;
	} else if (out != at) {
		memmove(at - decoded, start, decoded);
	}
	parser->decoded = decoded;
	return starve(parser, at - decoded);
}

static char *not_text(struct csv_parser *parser, char *at)
{
	fault(parser, at, (enum state)parser->state, "bytes that are not UTF-8");
	parser->fault.encoding = true;
	return NULL;
}

/* Move what was skipped to where the decoded bytes end, as far as it is text;
 * false: there are bytes that are none, or may become some. */
static inline bool skipped_take(char **out, char **at, char *stop, bool ascii)
{
	size_t length = (size_t)(stop - *at);

	if (!ascii)
		length = utf8_valid((const uint8_t *)*at, length);
	if (*out != *at)
		memmove(*out, *at, length);
	*out += length;
	*at += length;
	return *at == stop;
}

/* Could what is at hand from `at` on, no whole character, become one? */
static bool is_cut_character(const struct csv_parser *parser, const char *at, const char *stop)
{
	return stop == parser->end && !parser->finished &&
	       utf8_could_continue((const uint8_t *)at, (size_t)(stop - at));
}

/* What is left of a field without quotes, from `start` on. */
static char *plain_continue(struct csv_parser *parser, char *start, struct csv_event **event)
{
	char *at = start + parser->decoded, *out = at;
	bool ascii = true;
	char *stop = plain_skip(parser, at, &ascii);

	if (!skipped_take(&out, &at, stop, ascii) && !is_cut_character(parser, at, stop))
		return not_text(parser, at);
	if (stop == parser->end && !parser->finished)
		return field_cut(parser, start, out, at, event);
	parser->decoded = 0;
	if (*at == parser->delimiter)
		return field_end(parser, at + 1, start, (size_t)(out - start), event);
	if (*at == '\n' || *at == '\r' || at == parser->end)
		return row_end(parser, at, start, (size_t)(out - start), event);
	return fault(parser, at, IN_PLAIN, *at == '\0' ? "NUL byte"
	                                               : "quote within a field that does not begin with one");
}

/* Behind the quote of a quoted field: start .. start + decoded is the field. */
static char *quoted_end(struct csv_parser *parser, char *start, struct csv_event **event)
{
	char *at = start + parser->decoded + 1;
	size_t length = parser->decoded;

	if (at == parser->end && !parser->finished)
		return field_cut(parser, start, at - 1, at - 1, event);
	if (*at == parser->quote && at != parser->end) {
		/* Two are one: the second is over the first. */
		memmove(start + 1, start, length);
		start[length + 1] = parser->quote;
		parser->decoded = length + 1;
		parser->state = IN_QUOTED;
		return start + 1;
	}
	parser->decoded = 0;
	if (*at == parser->delimiter)
		return field_end(parser, at + 1, start, length, event);
	if (*at == '\n' || *at == '\r' || at == parser->end)
		return row_end(parser, at, start, length, event);
	return fault(parser, at, IN_PLAIN, "text behind a closing quote");
}

static char *never_closed(struct csv_parser *parser)
{
	fault(parser, parser->end, ROW_START, "quote that is never closed");
	parser->fault.line = parser->quote_line;
	parser->fault.column = parser->quote_column;
	return NULL;
}

/* What is left of a quoted field, from `start` on, up to its end. */
static char *quoted_continue(struct csv_parser *parser, char *start, struct csv_event **event)
{
	char *at = start + parser->decoded, *out = at;

	for (;;) {
		bool ascii = true;
		char *stop = quoted_skip(parser, at, &ascii);

		if (!skipped_take(&out, &at, stop, ascii) && !is_cut_character(parser, at, stop))
			return not_text(parser, at);
		if (stop == parser->end)
			return parser->finished ? never_closed(parser)
			                        : field_cut(parser, start, out, at, event);
		if (*at == parser->quote) {
			if (at[1] == parser->quote && at + 1 != parser->end) {
				*out++ = *at;
				at += 2;
				continue;
			}
			parser->decoded = (size_t)(out - start);
			if (out != at)
				memmove(at - parser->decoded, start, parser->decoded);
			parser->state = BEHIND_QUOTE;
			return at - parser->decoded;
		}
		if (*at == '\0')
			return fault(parser, at, IN_QUOTED, "NUL byte");
		stop = line_end(parser, at);
		memmove(out, at, (size_t)(stop - at));
		out += stop - at;
		at = stop;
	}
}

static char *quoted_begin(struct csv_parser *parser, char *at, struct csv_event **event)
{
	char *start = at + 1, *stop;
	bool ascii = true;

	parser->quoted = true;
	parser->quote_line = parser->line;
	parser->quote_column = column_of(parser, at);
	parser->state = IN_QUOTED;
	/* Most are short, and end at the first quote. */
	stop = quoted_skip(parser, start, &ascii);
	if (*stop == parser->quote && is_plain_text(start, (size_t)(stop - start), ascii)) {
		if (stop[1] == parser->delimiter)
			return field_end(parser, stop + 2, start, (size_t)(stop - start), event);
		if (stop[1] == '\n' || stop[1] == '\r')
			return row_end(parser, stop + 1, start, (size_t)(stop - start), event);
	}
	return quoted_continue(parser, start, event);
}

static inline char *field_take(struct csv_parser *parser, char *at, struct csv_event **event)
{
	bool ascii = true;
	size_t length;
	char *stop;

	if (parser->fields == parser->width) {
		snprintf(parser->fault.reason, sizeof(parser->fault.reason), "row of more than %" PRIu64 " field%s",
		         parser->width, parser->width == 1 ? "" : "s");
		return fault(parser, at, FIELD_START, parser->fault.reason);
	}
	parser->first = true;
	if ((unsigned char)*at == parser->opening)
		return quoted_begin(parser, at, event);
	parser->quoted = false;
	stop = plain_skip(parser, at, &ascii);
	length = (size_t)(stop - at);
	if (is_plain_text(at, length, ascii)) {
		if (*stop == parser->delimiter)
			return field_end(parser, stop + 1, at, length, event);
		if (*stop == '\n' || *stop == '\r')
			return row_end(parser, stop, at, length, event);
	}
	parser->state = IN_PLAIN;
	return plain_continue(parser, at, event);
}

/* ---- rows ----------------------------------------------------------------- */

/* Returns where the row's first field begins. */
static char *row_begin(struct csv_parser *parser, char *at)
{
	static const char byte_order_mark[] = "\xef\xbb\xbf";

	if (at == parser->end)
		return starve(parser, at);
	if (*at == '\n' && offset_of(parser, at) == parser->behind_return) {
		parser->line_offset++;
		return at + 1;
	}
	if (*at == byte_order_mark[0] && offset_of(parser, at) == 0) {
		if (parser->end - at < 3 && !parser->finished)
			return starve(parser, at);
		if (memcmp(at, byte_order_mark, 3) == 0) {
			parser->line_offset = 3;
			return at + 3;
		}
	}
	parser->fields = 0;
	parser->decoded = 0;
	parser->state = FIELD_START;
	return at;
}

/* To the end of a row at fault. */
static char *row_discard(struct csv_parser *parser, char *at)
{
	while (at < parser->end) {
		bool ends_line = *at == '\n' || *at == '\r';

		if (ends_line && parser->state != IN_QUOTED) {
			parser->discarding = false;
			parser->state = ROW_START;
			return line_end(parser, at);
		}
		if (ends_line) {
			at = line_end(parser, at);
			continue;
		}
		if (parser->state == IN_QUOTED)
			parser->state = (unsigned char)*at == parser->opening ? BEHIND_QUOTE : IN_QUOTED;
		else if (*at == parser->delimiter)
			parser->state = FIELD_START;
		else if ((unsigned char)*at == parser->opening && parser->state != IN_PLAIN)
			parser->state = IN_QUOTED;
		else
			parser->state = IN_PLAIN;
		at++;
	}
	return starve(parser, at);
}

int csv_parser_next(struct csv_parser *parser, struct csv_event *events, size_t size)
{
	struct csv_event *event = events, *full = events + size;
	char *at = parser->next;

	while (event < full && at != NULL) {
		parser->next = at;
		if (parser->discarding) {
			at = row_discard(parser, at);
			continue;
		}
		switch ((enum state)parser->state) {
		case ROW_START:
			at = row_begin(parser, at);
			break;
		case FIELD_START:
			if (at == parser->end && !parser->finished)
				at = starve(parser, at);
			else
				at = field_take(parser, at, &event);
			break;
		case IN_PLAIN:
			at = plain_continue(parser, at, &event);
			break;
		case IN_QUOTED:
			at = quoted_continue(parser, at, &event);
			break;
		case BEHIND_QUOTE:
			at = quoted_end(parser, at, &event);
			break;
		case FAULTY:
			at = NULL;
			break;
		}
	}
	if (at != NULL)
		parser->next = at;
	if (event == events && parser->state == FAULTY)
		return -1;
	return (int)(event - events);
}

void csv_parser_resume(struct csv_parser *parser)
{
	parser->state = parser->resume_state;
	parser->discarding = parser->state != ROW_START;
}

/* ---- the buffer ------------------------------------------------------------- */

void csv_parser_init(struct csv_parser *parser, char *buffer, size_t size, char delimiter, char quote)
{
	memset(parser, 0, sizeof(*parser));
	parser->half = size / 2;
	parser->area = buffer + parser->half;
	parser->next = parser->end = parser->area;
	memset(parser->end, 0, CSV_PADDING);
	parser->width = UINT64_MAX;
	parser->line = 1;
	parser->behind_return = UINT64_MAX;
	parser->delimiter = delimiter;
	parser->quote = quote != '\0' ? quote : '\n';
	parser->opening = quote != '\0' ? (unsigned char)quote : -1;
	parser->state = ROW_START;
}

char *csv_parser_room(struct csv_parser *parser, size_t *length)
{
	size_t rest = (size_t)(parser->end - parser->next);

	/* Before the area, so that reads go to the same, aligned place. */
	memmove(parser->area - rest, parser->next, rest);
	parser->next = parser->area - rest;
	parser->end = parser->area;
	*length = parser->half;
	return parser->area;
}

void csv_parser_fill(struct csv_parser *parser, size_t length)
{
	parser->end += length;
	parser->end_offset += length;
	memset(parser->end, 0, CSV_PADDING);
}

void csv_parser_finish(struct csv_parser *parser)
{
	memset(parser->end, 0, CSV_PADDING);
	parser->finished = true;
}
