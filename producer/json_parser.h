/*
 * json_parser.h - JSON texts (RFC 8259, strictly) as events, in fixed memory.
 *
 * The parser pulls nothing and keeps no tree: the caller fills the parser's
 * buffer and takes events until more bytes are wanted.
 *
 *     json_parser_init(&parser, buffer, size, sequence);
 *     while (!parser.finished) {
 *             char *room = json_parser_room(&parser, &length);
 *             length = READ(room, length);
 *             if (length > 0)
 *                     json_parser_fill(&parser, length);
 *             else
 *                     json_parser_finish(&parser);
 *             while ((count = json_parser_next(&parser, events, EVENTS)) > 0)
 *                     USE(events, count);
 *             if (count < 0)
 *                     SAY(parser.fault) and stop, or json_parser_resume(&parser);
 *     }
 *
 * Strings are decoded in place, in the buffer.  A string of up to half the
 * buffer comes whole; a longer one may come in pieces.
 */
#ifndef SLUICE_JSON_PARSER_H
#define SLUICE_JSON_PARSER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_MAX_DEPTH 1020u           /* of containers */
#define JSON_MAX_NUMBER 100000u        /* bytes of one number's text; half the buffer, if that is less */
#define JSON_MAX_EXPONENT 18u          /* digits of its exponent, without leading zeros */
#define JSON_BUFFER_MIN 64u
#define JSON_PADDING 16u               /* bytes that the parser needs behind its buffer */
#define JSON_EVENTS_MIN 2u             /* events that the caller takes at least */

enum json_event_kind {
	JSON_EVENT_TEXT_BEGIN,       /* one JSON text begins */
	JSON_EVENT_TEXT_END,
	JSON_EVENT_NULL,
	JSON_EVENT_FALSE,
	JSON_EVENT_TRUE,
	JSON_EVENT_NUMBER,           /* bytes: as it was written */
	JSON_EVENT_STRING,           /* bytes: decoded, valid UTF-8, may hold NUL */
	JSON_EVENT_KEY,              /* likewise; the member's value is next */
	JSON_EVENT_ARRAY_BEGIN,
	JSON_EVENT_ARRAY_END,
	JSON_EVENT_OBJECT_BEGIN,
	JSON_EVENT_OBJECT_END,
};

struct json_event {
	const char *bytes;     /* JSON_EVENT_NUMBER, JSON_EVENT_STRING, JSON_EVENT_KEY; up to JSON_PADDING
	                          bytes behind them can be read, too, and mean nothing */
	uint32_t length;
	uint8_t kind;          /* enum json_event_kind */
	bool first, last;      /* JSON_EVENT_STRING, JSON_EVENT_KEY: false, false is a piece in
	                          between; no piece splits a character */
};

struct json_fault {
	const char *reason;    /* in words, static: "expected a value" */
	uint64_t line;         /* from 1 */
	uint64_t column;       /* in bytes, from 1 */
	uint64_t offset;       /* in bytes, from 0 */
};

/* The caller provides it and reads `finished` and `fault`; the rest is private. */
struct json_parser {
	bool finished;               /* the input's end was seen: no more can come */
	struct json_fault fault;     /* after json_parser_next returned -1 */

	char *area;                  /* where reads go: the buffer's second half */
	size_t half;                 /* bytes of each half */
	char *next, *end;            /* bytes not consumed yet; may begin in the first half */
	uint64_t end_offset;         /* in the input, of `end` */
	uint64_t line, line_offset;  /* where we are, and where that line began */
	uint64_t line_token_offset;  /* where its first token begins */
	uint64_t text_line;          /* where the present text began */
	bool sequence;
	bool separated;              /* an RS stands before the present text */
	uint8_t state;
	uint8_t string_kind;         /* JSON_EVENT_STRING or JSON_EVENT_KEY, while one is cut */
	bool string_first;           /* no piece of it was given yet */
	size_t string_decoded;       /* bytes at `next` that are decoded already */
	unsigned depth;
	bool objects[JSON_MAX_DEPTH];/* what is open: an object, else an array */
};

/*
 * @buffer    size + JSON_PADDING bytes, which must outlive the parser
 * @size      at least JSON_BUFFER_MIN; a multiple of 8192, in a buffer aligned
 *            to pages, makes reads aligned
 * @sequence  texts one after another, with white space or RS (RFC 7464)
 *            between them; else exactly one text in the input
 *
 * A byte order mark at the very start is skipped.
 */
void json_parser_init(struct json_parser *parser, char *buffer, size_t size, bool sequence);

/* Where to read to, and how many bytes at most.  Call when json_parser_next
 * returned 0; bytes of earlier events are gone then. */
char *json_parser_room(struct json_parser *parser, size_t *length);

/* `length` bytes were read, or the input is at its end. */
void json_parser_fill(struct json_parser *parser, size_t length);
void json_parser_finish(struct json_parser *parser);

/*
 * Take the next events, at most `size` (JSON_EVENTS_MIN or more).
 *
 * Returns how many; 0 none without more bytes (or, once finished, none are
 * left); -1 the input is no JSON: see `fault`.  A fault stays until resumed.
 */
int json_parser_next(struct json_parser *parser, struct json_event *events, size_t size);

/*
 * Leave the text at fault and start anew behind the next newline; at the
 * fault, if only that line's beginning is at fault, not the text's own line;
 * at the next RS, if the text began with one.
 */
void json_parser_resume(struct json_parser *parser);

#endif
