/*
 * source_json.c - JSON texts, each a message; or the input as one.
 *
 * Events become CBOR in the stream's room, many in a row.  A container's head
 * is written before its items are known: one that ends in the room where it
 * began, with few items, gets its length into the head afterwards; any other
 * stays of indefinite length.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "producer/json_parser.h"
#include "producer/source.h"
#include "shared/cbor_put.h"
#include "shared/cbor_walk.h"
#include "shared/decimal.h"
#include "shared/log.h"

#define PAGE 4096u
#define BUFFER_SIZE (512u << 10)       /* half of it is read at a time */
#define EVENTS 256
#define TOKEN_ROOM 32u                 /* room that a token needs besides its bytes */
#define STRING_MAX (16u << 10)         /* a longer string is written piece by piece */
#define SMALL_COUNT 24u                /* a count below it is within the head's byte */

/* An open array or map. */
struct container {
	uint8_t *head;
	uint32_t room;         /* number of the room that the head is in */
	uint32_t items;        /* a map's keys and values */
};

struct conversion {
	struct source_job *job;
	struct input *input;
	uint8_t *room;         /* where it begins; NULL: there is none */
	uint8_t *out, *limit;
	uint32_t rooms;        /* how many there were */
	bool over;             /* the input is one text, and that was bad */
	unsigned depth;
	struct container containers[JSON_MAX_DEPTH + 1];  /* [0] is outside of all */
	struct json_parser parser;
	struct json_event events[EVENTS];
	uint8_t header[2 * HEADER_TEXT_MAX + 64];
	size_t header_length;
};

static void make_header(struct conversion *conversion, const struct input *input)
{
	struct message_header header = { .has_type = true };

	strcpy(header.type, "json");
	if (!conversion->job->options->split)
		source_name_header(input, &header);
	conversion->header_length = header_encode(&header, conversion->header);
}

/* ---- room --------------------------------------------------------------- */

/* What is written so far is the stream's. */
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
	conversion->rooms++;
	return 0;
}

static inline int room_ensure(struct conversion *conversion, size_t least)
{
	if (__builtin_expect((size_t)(conversion->limit - conversion->out) >= least, 1))
		return 0;
	return room_take(conversion, least);
}

/* ---- events to CBOR ----------------------------------------------------- */

static int text_begin(struct conversion *conversion)
{
	conversion->depth = 0;
	return stream_begin(conversion->job->stream, conversion->header, conversion->header_length);
}

static int text_end(struct conversion *conversion)
{
	room_leave(conversion);
	/* An input that is one message may still turn out to be bad. */
	return conversion->job->options->split ? stream_finish(conversion->job->stream) : 0;
}

static inline int byte_put(struct conversion *conversion, uint8_t byte)
{
	int error = room_ensure(conversion, 1);

	if (error == 0)
		*conversion->out++ = byte;
	return error;
}

static inline int container_begin(struct conversion *conversion, enum cbor_byte head)
{
	struct container *container = &conversion->containers[++conversion->depth];
	int error = byte_put(conversion, (uint8_t)head);

	if (error == 0)
		*container = (struct container){ conversion->out - 1, conversion->rooms, 0 };
	return error;
}

/* @head  the container's head, if it had no items */
static inline int container_end(struct conversion *conversion, enum cbor_byte head)
{
	struct container *container = &conversion->containers[conversion->depth--];
	uint32_t count = head == CBOR_BYTE_MAP ? container->items / 2 : container->items;

	if (count >= SMALL_COUNT || container->room != conversion->rooms || conversion->room == NULL)
		return byte_put(conversion, CBOR_BYTE_BREAK);
	*container->head = (uint8_t)(head | count);
	return 0;
}

/* A string that is too long for a token, or only a piece of one. */
static int string_put_long(struct conversion *conversion, const struct json_event *event)
{
	struct stream_writer *stream = conversion->job->stream;
	int error = 0;

	room_leave(conversion);
	if (event->first)
		error = stream_string_begin(stream, true, false);
	if (error == 0)
		error = stream_string_put(stream, event->bytes, event->length);
	if (error == 0 && event->last)
		error = stream_string_end(stream);
	return error;
}

static inline int string_put(struct conversion *conversion, const struct json_event *event)
{
	size_t length = event->length;
	int error;

	if (!event->first || !event->last || length > STRING_MAX)
		return string_put_long(conversion, event);
	error = room_ensure(conversion, length + TOKEN_ROOM);
	if (error != 0)
		return error;
	conversion->out = cbor_put_head(conversion->out, CBOR_BYTE_TEXT, length);
	/* Copies of a fixed size are cheap; both sides have room for more. */
	if (length <= JSON_PADDING)
		memcpy(conversion->out, event->bytes, JSON_PADDING);
	else if (length <= 2 * JSON_PADDING)
		memcpy(conversion->out, event->bytes, 2 * JSON_PADDING);
	else
		memcpy(conversion->out, event->bytes, length);
	conversion->out += length;
	return 0;
}

static inline int number_put(struct conversion *conversion, const struct json_event *event)
{
	/* A bignum takes less than half a byte for each digit. */
	int error = room_ensure(conversion, event->length / 2 + TOKEN_ROOM);
	size_t length;

	if (error != 0)
		return error;
	length = decimal_to_cbor(event->bytes, event->length, conversion->out);
	conversion->out += length;
	return length > 0 ? 0 : -EOVERFLOW;    /* no: the parser's limits are narrower */
}

static int event_put(struct conversion *conversion, const struct json_event *event)
{
	struct container *container = &conversion->containers[conversion->depth];

	switch ((enum json_event_kind)event->kind) {
	case JSON_EVENT_TEXT_BEGIN:
		return text_begin(conversion);
	case JSON_EVENT_TEXT_END:
		return text_end(conversion);
	case JSON_EVENT_NULL:
		container->items++;
		return byte_put(conversion, CBOR_BYTE_NULL);
	case JSON_EVENT_FALSE:
		container->items++;
		return byte_put(conversion, CBOR_BYTE_FALSE);
	case JSON_EVENT_TRUE:
		container->items++;
		return byte_put(conversion, CBOR_BYTE_TRUE);
	case JSON_EVENT_NUMBER:
		container->items++;
		return number_put(conversion, event);
	case JSON_EVENT_STRING:
	case JSON_EVENT_KEY:
		container->items += event->first;
		return string_put(conversion, event);
	case JSON_EVENT_ARRAY_BEGIN:
		container->items++;
		return container_begin(conversion, CBOR_BYTE_ARRAY_OPEN);
	case JSON_EVENT_OBJECT_BEGIN:
		container->items++;
		return container_begin(conversion, CBOR_BYTE_MAP_OPEN);
	case JSON_EVENT_ARRAY_END:
		return container_end(conversion, CBOR_BYTE_ARRAY);
	case JSON_EVENT_OBJECT_END:
		return container_end(conversion, CBOR_BYTE_MAP);
	}
	return -EINVAL;
}

/* ---- the input ---------------------------------------------------------- */

/* The text at hand is no JSON: nothing of it is left that was not published. */
static enum exit_code fault_report(struct conversion *conversion)
{
	const struct json_fault *fault = &conversion->parser.fault;
	char text[STREAM_TEXT_MAX];

	conversion->room = conversion->out = conversion->limit = NULL;
	snprintf(text, sizeof(text), "line %" PRIu64 ", column %" PRIu64 ": %s", fault->line,
	         fault->column, fault->reason);
	stream_fail(conversion->job->stream, EXIT_BAD_DATA, text);
	if (!conversion->job->options->skip_bad) {
		log_fatal("cannot parse %s: %s", conversion->input->path, text);
		return EXIT_BAD_DATA;
	}
	log_warning("cannot parse %s: %s; skipped", conversion->input->path, text);
	conversion->job->bad_records++;
	if (conversion->job->options->split)
		json_parser_resume(&conversion->parser);
	else
		conversion->over = true;
	return EXIT_COMPLETE;
}

/* All that the parser finds in the bytes at hand. */
static enum exit_code events_take(struct conversion *conversion)
{
	for (;;) {
		int count = json_parser_next(&conversion->parser, conversion->events, EVENTS);

		if (count == 0)
			return EXIT_COMPLETE;
		if (count < 0) {
			enum exit_code code = fault_report(conversion);

			if (code != EXIT_COMPLETE || conversion->over)
				return code;
		}
		for (int i = 0; i < count; i++) {
			int error = event_put(conversion, &conversion->events[i]);

			if (error != 0)
				return source_stream_failed(error);
		}
	}
}

static enum exit_code input_convert(struct conversion *conversion)
{
	struct json_parser *parser = &conversion->parser;
	bool split = conversion->job->options->split;
	enum exit_code code = EXIT_COMPLETE;
	int error = 0;

	while (code == EXIT_COMPLETE && !parser->finished && !conversion->over) {
		size_t length;
		char *to = json_parser_room(parser, &length);
		ssize_t got;

		/* A long message is published as it comes; a record when it is whole. */
		if (!split)
			room_leave(conversion);
		input_settle(conversion->input, !split);
		got = input_take(conversion->input, to, length);
		if (got < 0)
			return source_input_failed(conversion->input, (int)got);
		if (got > 0)
			json_parser_fill(parser, (size_t)got);
		else
			json_parser_finish(parser);
		code = events_take(conversion);
	}
	if (code == EXIT_COMPLETE && !split && !conversion->over)
		error = stream_finish(conversion->job->stream);
	return error == 0 ? code : source_stream_failed(error);
}

static enum exit_code json_run(struct source_job *job, struct input *input)
{
	struct conversion *conversion = calloc(1, sizeof(*conversion));
	char *buffer = aligned_alloc(PAGE, BUFFER_SIZE + PAGE);
	enum exit_code code = EXIT_SYSTEM;

	/* A number may be tag, array, tag and a string's chunks. */
	_Static_assert(JSON_MAX_DEPTH + 4 <= CBOR_MAX_DEPTH, "what is sent can be read");
	_Static_assert(JSON_PADDING <= PAGE, "the parser's padding is behind its buffer");
	if (conversion == NULL || buffer == NULL) {
		log_fatal("out of memory");
	} else {
		conversion->job = job;
		conversion->input = input;
		make_header(conversion, input);
		json_parser_init(&conversion->parser, buffer, BUFFER_SIZE, job->options->split);
		code = input_convert(conversion);
	}
	free(buffer);
	free(conversion);
	return code;
}

const struct source source_json = { .name = "json", .run = json_run };
