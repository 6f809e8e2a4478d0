/*
 * source_csv.c - a table: one message, whose HEADER has the columns' names, and
 * whose body is a sequence of rows, each an array of texts.
 *
 * Rows are written into the stream's room.  One that is at fault is taken back,
 * which is possible as long as the stream was not told of it: so when the room
 * ends within a row, or somebody else may use it, what there is of the row moves
 * to a buffer of ours, and from there to the stream when it has ended well.  A
 * row that is too long even for that is sent as it comes; if it turns out to be
 * bad, the message is given up.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "producer/csv_infer.h"
#include "producer/csv_parser.h"
#include "producer/recode.h"
#include "producer/source.h"
#include "ring/ring.h"
#include "shared/cbor_put.h"
#include "shared/cbor_walk.h"
#include "shared/columns.h"
#include "shared/log.h"
#include "shared/utf8.h"

#define PAGE 4096u
#define PIECE_MAX (RING_MIN_SLOT_SIZE / 2)    /* what fits half a slot of any ring */
#define BUFFER_SIZE (16 * PIECE_MAX)   /* half of it is read at a time */
#define EVENTS 256
#define HELD_SIZE (8 * PIECE_MAX)      /* a longer row is not held back */
#define STRING_MAX (PIECE_MAX / 2)     /* a longer string is cut into chunks */
#define TOKEN_ROOM 256u                /* room that a token needs besides its bytes */

enum row_state {
	ROW_NONE,
	ROW_OPEN,              /* nothing of it was handed on */
	ROW_SENT,              /* some of it was */
};

struct conversion {
	struct source_job *job;
	struct input *input;
	struct recode *recode; /* NULL: the input is UTF-8 */
	uint8_t *room;         /* the stream's, or `held`; NULL: there is none */
	uint8_t *out, *limit;
	bool holding;          /* the room is `held`, with one row in it */
	enum row_state row_state;
	uint8_t *row;          /* ROW_OPEN: where it begins */
	bool row_has_end;      /* the first row without names: its array has no length, but a break */
	bool named;            /* the names are complete, or there are none */
	bool over;             /* the message was given up */
	uint64_t names_count;
	size_t names_length;   /* of the names, without their array's head */
	struct csv_parser parser;
	struct csv_event events[EVENTS];
	struct cbor_walker walker;
	uint8_t names[CBOR_HEAD_MAX + COLUMNS_MAX];
	uint8_t header[STREAM_HEADER_MAX];
	uint8_t held[HELD_SIZE];
};

_Static_assert(2 * HEADER_TEXT_MAX < STREAM_HEADER_MAX, "a name and a type fit");
_Static_assert(COLUMNS_MAX + COLUMNS_REST + HEADER_TEXT_MAX <= STREAM_HEADER_MAX, "and names do");
_Static_assert(CSV_INFER_ROOM <= TOKEN_ROOM && STRING_MAX + TOKEN_ROOM <= PIECE_MAX, "tokens fit");

/* ---- room --------------------------------------------------------------- */

static void room_none(struct conversion *conversion)
{
	conversion->room = conversion->out = conversion->limit = NULL;
	conversion->holding = false;
}

/* What is written is the stream's, but for a row that is not complete: that is held. */
static void room_leave(struct conversion *conversion)
{
	size_t open = 0;

	if (conversion->room == NULL || conversion->holding)
		return;
	if (conversion->row_state == ROW_OPEN) {
		open = (size_t)(conversion->out - conversion->row);
		memcpy(conversion->held, conversion->row, open);
	}
	stream_fill(conversion->job->stream, (size_t)(conversion->out - conversion->room) - open);
	room_none(conversion);
	if (conversion->row_state == ROW_OPEN) {
		conversion->holding = true;
		conversion->room = conversion->row = conversion->held;
		conversion->out = conversion->held + open;
		conversion->limit = conversion->held + HELD_SIZE;
	}
}

/* Hand on what is held. */
static int held_send(struct conversion *conversion)
{
	const uint8_t *at = conversion->held;
	size_t left = (size_t)(conversion->out - at);
	int error = 0;

	room_none(conversion);
	cbor_walker_init(&conversion->walker);
	while (left > 0 && error == 0) {
		size_t piece = left < PIECE_MAX ? left : PIECE_MAX;

		/* Whole tokens: there are no long ones. */
		if (cbor_walk_run(&conversion->walker, at, piece, &piece) < 0)
			return -EINVAL;
		error = stream_put(conversion->job->stream, at, piece);
		at += piece;
		left -= piece;
	}
	return error;
}

static int room_take(struct conversion *conversion, size_t least)
{
	size_t length;
	int error;

	room_leave(conversion);
	if (conversion->holding) {
		if ((size_t)(conversion->limit - conversion->out) >= least)
			return 0;
		/* Too long to be held: from here on there is no way back. */
		conversion->row_state = ROW_SENT;
		error = held_send(conversion);
		if (error != 0)
			return error;
	}
	error = stream_room(conversion->job->stream, least, &conversion->room, &length);
	if (error != 0) {
		room_none(conversion);
		return error;
	}
	conversion->out = conversion->room;
	conversion->limit = conversion->room + (length < HELD_SIZE ? length : HELD_SIZE);
	return 0;
}

static inline int room_ensure(struct conversion *conversion, size_t least)
{
	if (__builtin_expect((size_t)(conversion->limit - conversion->out) >= least, 1))
		return 0;
	return room_take(conversion, least);
}

static inline int byte_put(struct conversion *conversion, enum cbor_byte byte)
{
	int error = room_ensure(conversion, 1);

	if (error == 0)
		*conversion->out++ = (uint8_t)byte;
	return error;
}

/* ---- the message ---------------------------------------------------------- */

static int message_begin(struct conversion *conversion)
{
	const struct source_options *options = conversion->job->options;
	struct message_header header = { .has_type = true, .type = "csv" };
	struct columns columns = { .delimiter = options->delimiter, .quote = options->quote };
	size_t length;

	if (conversion->names_count > 0) {
		uint8_t head[CBOR_HEAD_MAX];
		size_t head_length = (size_t)(cbor_put_head(head, CBOR_BYTE_ARRAY, conversion->names_count) - head);
		uint8_t *names = conversion->names + CBOR_HEAD_MAX - head_length;

		memcpy(names, head, head_length);
		columns.names = names;
		columns.length = head_length + conversion->names_length;
	}
	source_name_header(conversion->input, &header);
	length = columns_add(&columns, conversion->header, header_encode(&header, conversion->header));
	conversion->named = true;
	conversion->row_has_end = !options->csv_header;
	return stream_begin(conversion->job->stream, conversion->header, length);
}

static bool names_add(struct conversion *conversion, const struct csv_event *event)
{
	uint8_t *start = conversion->names + CBOR_HEAD_MAX + conversion->names_length, *end;

	if (!event->first || !event->last ||
	    event->length + 2 * CBOR_HEAD_MAX > COLUMNS_MAX - conversion->names_length)
		return false;
	end = cbor_put_head(start, CBOR_BYTE_TEXT, event->length);
	memcpy(end, event->bytes, event->length);
	conversion->names_length += (size_t)(end - start) + event->length;
	conversion->names_count++;
	return true;
}

/* ---- rows ------------------------------------------------------------------ */

static int row_begin(struct conversion *conversion)
{
	/* Until the first row has ended, nobody knows how many fields rows have. */
	int error = room_ensure(conversion, TOKEN_ROOM);

	if (error != 0)
		return error;
	conversion->row = conversion->out;
	conversion->row_state = ROW_OPEN;
	if (!conversion->row_has_end)
		conversion->out = cbor_put_head(conversion->out, CBOR_BYTE_ARRAY, conversion->parser.width);
	else
		*conversion->out++ = CBOR_BYTE_ARRAY_OPEN;
	return 0;
}

static int row_end(struct conversion *conversion)
{
	int error = 0;

	if (conversion->row_has_end) {
		error = byte_put(conversion, CBOR_BYTE_BREAK);
		if (error != 0)
			return error;
		conversion->row_has_end = false;
	}
	conversion->row_state = ROW_NONE;
	return conversion->holding ? held_send(conversion) : 0;
}

/* Nothing was handed on of it. */
static void row_drop(struct conversion *conversion)
{
	if (conversion->row_state == ROW_OPEN) {
		if (conversion->holding)
			room_none(conversion);
		else
			conversion->out = conversion->row;
	}
	conversion->row_state = ROW_NONE;
}

/* A text that is too long for a token, or only a piece of one. */
static int text_put_long(struct conversion *conversion, const struct csv_event *event)
{
	const char *bytes = event->bytes;
	size_t left = event->length;
	int error = event->first ? byte_put(conversion, CBOR_BYTE_TEXT_OPEN) : 0;

	while (error == 0 && left > 0) {
		size_t piece = left <= STRING_MAX ? left : utf8_cut((const uint8_t *)bytes, STRING_MAX);

		error = room_ensure(conversion, piece + TOKEN_ROOM);
		if (error != 0)
			return error;
		conversion->out = cbor_put_head(conversion->out, CBOR_BYTE_TEXT, piece);
		memcpy(conversion->out, bytes, piece);
		conversion->out += piece;
		bytes += piece;
		left -= piece;
	}
	return error == 0 && event->last ? byte_put(conversion, CBOR_BYTE_BREAK) : error;
}

static inline int text_put(struct conversion *conversion, const struct csv_event *event)
{
	size_t length = event->length;
	int error;

	if (!event->first || !event->last || length > STRING_MAX)
		return text_put_long(conversion, event);
	error = room_ensure(conversion, length + TOKEN_ROOM);
	if (error != 0)
		return error;
	if (conversion->job->options->infer && !event->quoted) {
		size_t used = csv_infer(event->bytes, length, conversion->out);

		conversion->out += used;
		if (used > 0)
			return 0;
	}
	conversion->out = cbor_put_head(conversion->out, CBOR_BYTE_TEXT, length);
	/* Copies of a fixed size are cheap; both sides have room for more. */
	if (length <= CSV_PADDING)
		memcpy(conversion->out, event->bytes, CSV_PADDING);
	else
		memcpy(conversion->out, event->bytes, length);
	conversion->out += length;
	return 0;
}

static inline int event_put(struct conversion *conversion, const struct csv_event *event)
{
	int error = 0;

	if (conversion->row_state == ROW_NONE)
		error = row_begin(conversion);
	if (error == 0)
		error = text_put(conversion, event);
	if (error == 0 && event->row_end)
		error = row_end(conversion);
	return error;
}

/* ---- what is wrong ----------------------------------------------------------- */

/* The row at hand is none.  Returns EXIT_COMPLETE if it, or all that follows in
 * the input, is skipped. */
static enum exit_code bad_row(struct conversion *conversion, uint64_t line, uint64_t column,
                              const char *reason)
{
	const struct source_options *options = conversion->job->options;
	bool nameless = options->csv_header && !conversion->named;
	bool all = nameless || conversion->row_state == ROW_SENT, skip = options->skip_bad;
	char text[STREAM_TEXT_MAX];

	snprintf(text, sizeof(text), "line %" PRIu64 ", column %" PRIu64 ": %s", line, column, reason);
	row_drop(conversion);
	if (all || !skip) {
		/* Nothing is left of it but what was published. */
		room_none(conversion);
		if (stream_is_open(conversion->job->stream))
			stream_fail(conversion->job->stream, EXIT_BAD_DATA, text);
		conversion->over = true;
	}
	if (!skip) {
		log_fatal("cannot parse %s: %s", conversion->input->path, text);
		return EXIT_BAD_DATA;
	}
	log_warning("cannot parse %s: %s; %s", conversion->input->path, text,
	            all ? "all that follows in it is skipped" : "skipped");
	conversion->job->bad_records++;
	return EXIT_COMPLETE;
}

static enum exit_code fault_report(struct conversion *conversion)
{
	const struct csv_fault *fault = &conversion->parser.fault;
	char reason[128];
	enum exit_code code;

	if (fault->encoding && conversion->recode != NULL)
		snprintf(reason, sizeof(reason), "bytes that are not %.64s", conversion->job->options->encoding);
	else
		snprintf(reason, sizeof(reason), "%s", fault->reason);
	code = bad_row(conversion, fault->line, fault->column, reason);
	if (code == EXIT_COMPLETE && !conversion->over)
		csv_parser_resume(&conversion->parser);
	return code;
}

/* ---- the input ---------------------------------------------------------------- */

static enum exit_code events_put(struct conversion *conversion, int count)
{
	for (int i = 0; i < count; i++) {
		const struct csv_event *event = &conversion->events[i];
		int error = 0;

		if (!conversion->named && conversion->job->options->csv_header) {
			if (!names_add(conversion, event))
				return bad_row(conversion, 1, 1, "column names of more than 27 KiB; with "
				               "--csv-header no they pass as a row");
			if (event->row_end)
				error = message_begin(conversion);
		} else {
			if (!conversion->named)
				error = message_begin(conversion);
			if (error == 0)
				error = event_put(conversion, event);
		}
		if (error != 0)
			return source_stream_failed(error);
	}
	return EXIT_COMPLETE;
}

/* All that the parser finds in the bytes at hand. */
static enum exit_code events_take(struct conversion *conversion)
{
	enum exit_code code = EXIT_COMPLETE;

	while (code == EXIT_COMPLETE && !conversion->over) {
		int count = csv_parser_next(&conversion->parser, conversion->events, EVENTS);

		if (count == 0)
			break;
		code = count < 0 ? fault_report(conversion) : events_put(conversion, count);
	}
	return code;
}

static enum exit_code input_end(struct conversion *conversion)
{
	int error = 0;

	if (conversion->job->options->csv_header && !conversion->named)
		return bad_row(conversion, 1, 1, "no column names: there is nothing in it");
	if (!conversion->named)
		error = message_begin(conversion);
	room_leave(conversion);
	if (error == 0)
		error = stream_finish(conversion->job->stream);
	return error == 0 ? EXIT_COMPLETE : source_stream_failed(error);
}

static ssize_t bytes_take(struct conversion *conversion, char *to, size_t length)
{
	/* What there is of a long message is published as it comes. */
	room_leave(conversion);
	if (conversion->recode != NULL)
		return recode_take(conversion->recode, conversion->input, to, length);
	input_settle(conversion->input, true);
	return input_take(conversion->input, to, length);
}

static enum exit_code input_convert(struct conversion *conversion)
{
	struct csv_parser *parser = &conversion->parser;
	enum exit_code code = EXIT_COMPLETE;

	while (code == EXIT_COMPLETE && !parser->finished && !conversion->over) {
		size_t length;
		char *to = csv_parser_room(parser, &length);
		ssize_t got = bytes_take(conversion, to, length);

		if (got < 0)
			return source_input_failed(conversion->input, (int)got);
		if (got > 0)
			csv_parser_fill(parser, (size_t)got);
		else
			csv_parser_finish(parser);
		code = events_take(conversion);
	}
	return code == EXIT_COMPLETE && !conversion->over ? input_end(conversion) : code;
}

static enum exit_code csv_run(struct source_job *job, struct input *input)
{
	struct conversion *conversion = calloc(1, sizeof(*conversion));
	char *buffer = aligned_alloc(PAGE, BUFFER_SIZE + PAGE);
	enum exit_code code = EXIT_SYSTEM;
	int error = 0;

	_Static_assert(CSV_PADDING <= PAGE, "the parser's padding is behind its buffer");
	if (conversion != NULL && job->options->encoding != NULL)
		error = recode_open(&conversion->recode, job->options->encoding);
	if (conversion == NULL || buffer == NULL || error != 0) {
		log_fatal("out of memory");
	} else {
		conversion->job = job;
		conversion->input = input;
		csv_parser_init(&conversion->parser, buffer, BUFFER_SIZE, job->options->delimiter,
		                job->options->quote);
		code = input_convert(conversion);
	}
	if (conversion != NULL)
		recode_close(conversion->recode);
	free(buffer);
	free(conversion);
	return code;
}

const struct source source_csv = { .name = "csv", .run = csv_run };
