/*
 * csv_parser.h - CSV (RFC 4180, as found in the wild) as fields, in fixed memory.
 *
 * The parser pulls nothing and keeps no rows: the caller fills the parser's
 * buffer and takes fields until more bytes are wanted.
 *
 *     csv_parser_init(&parser, buffer, size, ',', '"');
 *     while (!parser.finished) {
 *             char *room = csv_parser_room(&parser, &length);
 *             length = READ(room, length);
 *             if (length > 0)
 *                     csv_parser_fill(&parser, length);
 *             else
 *                     csv_parser_finish(&parser);
 *             while ((count = csv_parser_next(&parser, events, EVENTS)) > 0)
 *                     USE(events, count);
 *             if (count < 0)
 *                     SAY(parser.fault) and stop, or csv_parser_resume(&parser);
 *     }
 *
 * Rows end with LF, CR or CRLF, the last one perhaps with the input.  A field
 * that begins with a quote ends with one; between them everything is the
 * field's, line ends as they are, and two quotes are one.  Spaces are the
 * field's, too.  A line with nothing in it is a row of one empty field.  All
 * rows have as many fields as the first.
 *
 * Fields are decoded in place, in the buffer.  One of up to half the buffer
 * comes whole; a longer one may come in pieces.
 */
#ifndef SLUICE_CSV_PARSER_H
#define SLUICE_CSV_PARSER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CSV_BUFFER_MIN 64u
#define CSV_PADDING 16u                /* bytes that the parser needs behind its buffer */

/* A field, or a piece of one. */
struct csv_event {
	const char *bytes;     /* decoded, valid UTF-8 without NUL; up to CSV_PADDING bytes behind them
	                          can be read, too, and mean nothing */
	uint32_t length;
	bool first, last;      /* false, false is a piece in between; no piece splits a character */
	bool quoted;           /* quotes stood around it */
	bool row_end;          /* with `last`: it is its row's last */
};

struct csv_fault {
	char reason[80];       /* in words: "text behind a closing quote" */
	uint64_t line;         /* from 1 */
	uint64_t column;       /* in bytes, from 1 */
	bool encoding;         /* it is about a byte that is not UTF-8 */
};

/* The caller provides it and reads `finished`, `fault` and `width`; the rest is
 * private. */
struct csv_parser {
	bool finished;               /* the input's end was seen: no more can come */
	struct csv_fault fault;      /* after csv_parser_next returned -1 */
	uint64_t width;              /* fields of each row; UINT64_MAX: no row was seen yet */

	char *area;                  /* where reads go: the buffer's second half */
	size_t half;                 /* bytes of each half */
	char *next, *end;            /* bytes not consumed yet; may begin in the first half */
	uint64_t end_offset;         /* in the input, of `end` */
	uint64_t line, line_offset;  /* where we are, and where that line began */
	uint64_t behind_return;      /* where a CR ended a line: an LF there belongs to it */
	uint64_t quote_line, quote_column;   /* of the last opening quote */
	uint64_t fields;             /* of the present row, so far */
	size_t decoded;              /* bytes at `next` that are decoded already */
	char delimiter;
	char quote;                  /* a line feed if there is none: that is looked at before */
	int opening;                 /* the byte that opens a quoted field; -1 if none does */
	uint8_t state, resume_state;
	bool first;                  /* no piece of the present field was given yet */
	bool quoted;                 /* the present field is in quotes */
	bool discarding;             /* on the way to the end of a row at fault */
};

/*
 * @buffer     size + CSV_PADDING bytes, which must outlive the parser
 * @size       at least CSV_BUFFER_MIN; a multiple of 8192, in a buffer aligned
 *             to pages, makes reads aligned
 * @delimiter  ASCII; neither NUL, CR, LF nor the quote
 * @quote      likewise; NUL: there are no quotes
 *
 * A byte order mark at the very start is skipped.
 */
void csv_parser_init(struct csv_parser *parser, char *buffer, size_t size, char delimiter, char quote);

/* Where to read to, and how many bytes at most.  Call when csv_parser_next
 * returned 0; bytes of earlier events are gone then. */
char *csv_parser_room(struct csv_parser *parser, size_t *length);

/* `length` bytes were read, or the input is at its end. */
void csv_parser_fill(struct csv_parser *parser, size_t length);
void csv_parser_finish(struct csv_parser *parser);

/*
 * Take the next events, at most `size`.
 *
 * Returns how many; 0 none without more bytes (or, once finished, none are
 * left); -1 the present row is at fault: see `fault`.  Fields of it may have
 * been given.  A fault stays until resumed.
 */
int csv_parser_next(struct csv_parser *parser, struct csv_event *events, size_t size);

/* Skip the rest of the row at fault.  A quote that was never closed has taken
 * all the rest of the input. */
void csv_parser_resume(struct csv_parser *parser);

#endif
