/*
 * source_mtx.c - Matrix Market files, each a message: a map of what the file
 * says of the matrix, and its entries as they come.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "producer/mtx_parser.h"
#include "producer/source.h"
#include "shared/cbor_put.h"
#include "shared/decimal.h"
#include "shared/log.h"
#include "shared/utf8.h"

#define PAGE 4096u
#define AREA (256u << 10)              /* bytes of a read */
#define LINE_MAX_BYTES (256u << 10)    /* of a line */
#define TOKEN_ROOM 32u                 /* room that a token needs besides its bytes */
#define ENTRY_ROOM (1u + 2u * CBOR_HEAD_MAX)   /* an entry's head and indices */

struct conversion {
	struct source_job *job;
	struct input *input;
	uint8_t *room;                 /* where it begins; NULL: there is none */
	uint8_t *out, *limit;
	uint64_t line;                 /* number of the line at hand, from 1 */
	uint64_t late_comments;        /* which a message has no place for */
	char newline;                  /* what ends lines; NUL: not known yet */
	char *start, *end;             /* bytes not looked at yet; before the area if a line was cut */
	char *buffer;                  /* LINE_MAX_BYTES, then AREA */
	struct mtx_parser parser;
};

/* ---- room ------------------------------------------------------------------- */

static void room_leave(struct conversion *conversion)
{
	if (conversion->room != NULL)
		stream_fill(conversion->job->stream, (size_t)(conversion->out - conversion->room));
	conversion->room = conversion->out = conversion->limit = NULL;
}

static int room_take(struct conversion *conversion, size_t least)
{
	size_t length;
	int error;

	room_leave(conversion);
	error = stream_room(conversion->job->stream, least, &conversion->room, &length);
	if (error != 0) {
		conversion->room = NULL;
		return error;
	}
	conversion->out = conversion->room;
	conversion->limit = conversion->room + length;
	return 0;
}

static inline int room_ensure(struct conversion *conversion, size_t least)
{
	if (__builtin_expect((size_t)(conversion->limit - conversion->out) >= least, 1))
		return 0;
	return room_take(conversion, least);
}

/* ---- lines to CBOR ------------------------------------------------------------ */

/* A short text; there is room. */
static void text_put(struct conversion *conversion, const char *text)
{
	size_t length = strlen(text);

	conversion->out = cbor_put_head(conversion->out, CBOR_BYTE_TEXT, length);
	memcpy(conversion->out, text, length);
	conversion->out += length;
}

static int banner_put(struct conversion *conversion)
{
	const struct mtx_parser *parser = &conversion->parser;
	int error = room_ensure(conversion, 256);

	if (error != 0)
		return error;
	conversion->out = cbor_put_head(conversion->out, CBOR_BYTE_MAP, 7);
	text_put(conversion, "object");
	text_put(conversion, parser->banner.vector ? "vector" : "matrix");
	text_put(conversion, "format");
	text_put(conversion, parser->banner.coordinate ? "coordinate" : "array");
	text_put(conversion, "field");
	text_put(conversion, mtx_field_names[parser->banner.field]);
	text_put(conversion, "symmetry");
	text_put(conversion, mtx_symmetry_names[parser->banner.symmetry]);
	text_put(conversion, "comments");
	*conversion->out++ = CBOR_BYTE_ARRAY_OPEN;
	return 0;
}

/* Text, or bytes if it is not UTF-8. */
static int comment_put(struct conversion *conversion)
{
	const struct mtx_parser *parser = &conversion->parser;
	struct stream_writer *stream = conversion->job->stream;
	const uint8_t *bytes = (const uint8_t *)parser->text;
	bool text = utf8_valid(bytes, parser->length) == parser->length;
	int error;

	room_leave(conversion);
	error = stream_string_begin(stream, text, false);
	if (error == 0)
		error = stream_string_put(stream, bytes, parser->length);
	return error == 0 ? stream_string_end(stream) : error;
}

static int size_put(struct conversion *conversion)
{
	const struct mtx_parser *parser = &conversion->parser;
	int error = room_ensure(conversion, 128);

	if (error != 0)
		return error;
	*conversion->out++ = CBOR_BYTE_BREAK;
	text_put(conversion, "shape");
	conversion->out = cbor_put_head(conversion->out, CBOR_BYTE_ARRAY, parser->banner.vector ? 1 : 2);
	conversion->out = cbor_put_head(conversion->out, CBOR_BYTE_UNSIGNED, parser->rows);
	if (!parser->banner.vector)
		conversion->out = cbor_put_head(conversion->out, CBOR_BYTE_UNSIGNED, parser->columns);
	text_put(conversion, "data");
	conversion->out = cbor_put_head(conversion->out, CBOR_BYTE_ARRAY, parser->entries);
	return 0;
}

static inline int value_put(struct conversion *conversion, const struct mtx_number *value)
{
	int error = room_ensure(conversion, value->length / 2 + TOKEN_ROOM);

	if (error != 0)
		return error;
	if (value->kind == MTX_FINITE) {
		/* The parser's limits are narrower. */
		conversion->out += decimal_to_cbor(value->text, value->length, conversion->out);
		return 0;
	}
	*conversion->out++ = CBOR_BYTE_FLOAT16;
	*conversion->out++ = value->kind == MTX_NAN ? 0x7e : value->kind == MTX_INFINITY ? 0x7c : 0xfc;
	*conversion->out++ = 0;
	return 0;
}

static inline int entry_put(struct conversion *conversion)
{
	const struct mtx_parser *parser = &conversion->parser;
	unsigned items = parser->value_count;
	int error = room_ensure(conversion, ENTRY_ROOM);

	if (parser->banner.coordinate)
		items += parser->banner.vector ? 1 : 2;
	if (error == 0 && (parser->banner.coordinate || items > 1))
		conversion->out = cbor_put_head(conversion->out, CBOR_BYTE_ARRAY, items);
	if (error == 0 && parser->banner.coordinate)
		conversion->out = cbor_put_head(conversion->out, CBOR_BYTE_UNSIGNED, parser->row);
	if (error == 0 && parser->banner.coordinate && !parser->banner.vector)
		conversion->out = cbor_put_head(conversion->out, CBOR_BYTE_UNSIGNED, parser->column);
	for (unsigned i = 0; i < parser->value_count && error == 0; i++)
		error = value_put(conversion, &parser->values[i]);
	return error;
}

/* ---- lines ------------------------------------------------------------------------ */

static enum exit_code refuse(struct conversion *conversion, size_t column, const char *why)
{
	char text[STREAM_TEXT_MAX];

	conversion->room = conversion->out = conversion->limit = NULL;
	snprintf(text, sizeof(text), "line %" PRIu64 ", column %zu: %s", conversion->line, column, why);
	stream_fail(conversion->job->stream, EXIT_BAD_DATA, text);
	log_fatal("cannot parse %s: %s", conversion->input->path, text);
	return EXIT_BAD_DATA;
}

static enum exit_code line_take(struct conversion *conversion, const char *line, size_t length)
{
	int error = 0;

	conversion->line++;
	switch (mtx_parser_line(&conversion->parser, line, length)) {
	case MTX_LINE_NOTHING:
		break;
	case MTX_LINE_BANNER:
		error = banner_put(conversion);
		break;
	case MTX_LINE_COMMENT:
		error = comment_put(conversion);
		break;
	case MTX_LINE_SIZE:
		error = size_put(conversion);
		break;
	case MTX_LINE_ENTRY:
		error = entry_put(conversion);
		break;
	case MTX_LINE_LATE_COMMENT:
		conversion->late_comments++;
		break;
	case MTX_LINE_FAULT:
		return refuse(conversion, conversion->parser.column_at, conversion->parser.reason);
	}
	return error == 0 ? EXIT_COMPLETE : source_stream_failed(error);
}

/* CR alone ends lines if it ends the first; that of a CR LF is a blank.  False:
 * not enough is there to tell. */
static bool newline_find(struct conversion *conversion)
{
	for (const char *at = conversion->start; at < conversion->end; at++) {
		if (*at != '\n' && *at != '\r')
			continue;
		if (*at == '\r' && at + 1 == conversion->end)
			return false;
		conversion->newline = *at == '\r' && at[1] != '\n' ? '\r' : '\n';
		return true;
	}
	return false;
}

/* All whole lines at hand. */
static enum exit_code lines_take(struct conversion *conversion)
{
	enum exit_code code = EXIT_COMPLETE;

	if (conversion->newline == '\0' && !newline_find(conversion) &&
	    conversion->end - conversion->start < (ptrdiff_t)LINE_MAX_BYTES)
		return EXIT_COMPLETE;
	while (code == EXIT_COMPLETE) {
		size_t left = (size_t)(conversion->end - conversion->start);
		char *line = conversion->start, *newline = memchr(line, conversion->newline, left);

		if (newline == NULL && left < LINE_MAX_BYTES)
			break;
		if (newline == NULL || newline - line >= (ptrdiff_t)LINE_MAX_BYTES) {
			conversion->line++;
			return refuse(conversion, LINE_MAX_BYTES, "a line that is too long");
		}
		conversion->start = newline + 1;
		code = line_take(conversion, line, (size_t)(newline - line));
	}
	return code;
}

/* Put what there is of a line before the area, and read behind it. */
static ssize_t more_take(struct conversion *conversion)
{
	char *area = conversion->buffer + LINE_MAX_BYTES;
	size_t rest = (size_t)(conversion->end - conversion->start);
	ssize_t got;

	room_leave(conversion);
	input_settle(conversion->input, true);
	memmove(area - rest, conversion->start, rest);
	conversion->start = area - rest;
	conversion->end = area;
	got = input_take(conversion->input, area, AREA);
	if (got > 0)
		conversion->end += got;
	return got;
}

/* The input is at its end, and so may be a line. */
static enum exit_code all_taken(struct conversion *conversion)
{
	size_t rest = (size_t)(conversion->end - conversion->start);
	enum exit_code code = EXIT_COMPLETE;
	const char *missing;
	int error;

	if (rest > 0)
		code = line_take(conversion, conversion->start, rest);
	if (code != EXIT_COMPLETE)
		return code;
	missing = mtx_parser_finish(&conversion->parser);
	if (missing != NULL) {
		conversion->line++;
		return refuse(conversion, 1, missing);
	}
	if (conversion->late_comments > 0)
		log_warning("%s: %" PRIu64 " comments between entries were left out",
		            conversion->input->path, conversion->late_comments);
	room_leave(conversion);
	error = stream_finish(conversion->job->stream);
	return error == 0 ? EXIT_COMPLETE : source_stream_failed(error);
}

static enum exit_code convert(struct conversion *conversion)
{
	struct message_header header = { .has_type = true };
	uint8_t encoded[2 * HEADER_TEXT_MAX + 64];
	enum exit_code code;
	int error;

	strcpy(header.type, "mtx");
	source_name_header(conversion->input, &header);
	error = stream_begin(conversion->job->stream, encoded, header_encode(&header, encoded));
	if (error != 0)
		return source_stream_failed(error);
	for (;;) {
		ssize_t got = more_take(conversion);

		if (got < 0)
			return source_input_failed(conversion->input, (int)got);
		if (got == 0)
			return all_taken(conversion);
		code = lines_take(conversion);
		if (code != EXIT_COMPLETE)
			return code;
	}
}

static enum exit_code mtx_run(struct source_job *job, struct input *input)
{
	struct conversion *conversion = calloc(1, sizeof(*conversion));
	char *buffer = aligned_alloc(PAGE, LINE_MAX_BYTES + AREA);
	enum exit_code code = EXIT_SYSTEM;

	if (conversion == NULL || buffer == NULL) {
		log_fatal("out of memory");
	} else {
		conversion->job = job;
		conversion->input = input;
		conversion->buffer = buffer;
		conversion->start = conversion->end = buffer + LINE_MAX_BYTES;
		mtx_parser_init(&conversion->parser);
		code = convert(conversion);
	}
	free(buffer);
	free(conversion);
	return code;
}

const struct source source_mtx = { .name = "mtx", .run = mtx_run };
