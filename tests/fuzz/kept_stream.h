/*
 * kept_stream.h - for fuzzing a source: a stream that keeps what is written, and
 * an input in memory.  Include it before the source's own file, and once.
 */
#ifndef SLUICE_KEPT_STREAM_H
#define SLUICE_KEPT_STREAM_H

#define log_fatal kept_log
#define log_warning kept_log
#define stream_begin kept_begin
#define stream_fail kept_fail
#define stream_fill kept_fill
#define stream_finish kept_finish
#define stream_flush kept_flush
#define stream_put kept_put
#define stream_room kept_room
#define stream_string_begin kept_string_begin
#define stream_string_end kept_string_end
#define stream_string_fill kept_string_fill
#define stream_string_put kept_string_put
#define stream_string_room kept_string_room

#include "producer/source.h"
#include "shared/cbor_put.h"
#include "shared/header.h"
#include "shared/log.h"
#include "tests/fuzz/cbor_check.h"

#include <stdio.h>
#include <string.h>

#define KEPT_HALF_SLOT (32u << 10)
#define KEPT_ROOM 8192u                /* of a string */
#define KEPT_MESSAGES 4096u

/* Messages that are finished, and the open one. */
struct stream_writer {
	uint8_t *bodies;
	size_t length, capacity;
	size_t ends[KEPT_MESSAGES];    /* of finished messages' bodies */
	size_t messages, finished;
	uint8_t header[STREAM_HEADER_MAX];     /* of the message begun last */
	size_t header_length;
	uint8_t *room;
	size_t room_length;
	bool open, string, text, failed;
};

void kept_log(const char *format, ...)
{
	MUST(format[0] != '\0');
}

static void kept_bytes(struct stream_writer *stream, const void *bytes, size_t length)
{
	MUST(stream->open);
	if (stream->length + length > stream->capacity) {
		stream->capacity = 2 * (stream->length + length);
		stream->bodies = realloc(stream->bodies, stream->capacity);
		MUST(stream->bodies);
	}
	if (length > 0)
		memcpy(stream->bodies + stream->length, bytes, length);
	stream->length += length;
}

int stream_begin(struct stream_writer *stream, const void *header, size_t length)
{
	static struct message_header decoded;

	MUST(!stream->open && length > 0 && length <= STREAM_HEADER_MAX);
	memcpy(stream->header, header, length);
	stream->header_length = length;
	MUST(header_decode(stream->header, length, &decoded) == 0);
	stream->open = true;
	return 0;
}

/* Exactly so much: a sanitizer sees one byte too many. */
static int kept_give(struct stream_writer *stream, size_t size, uint8_t **room, size_t *length)
{
	MUST(stream->open);
	free(stream->room);
	*room = stream->room = malloc(size);
	MUST(stream->room);
	*length = stream->room_length = size;
	return 0;
}

int stream_room(struct stream_writer *stream, size_t least, uint8_t **room, size_t *length)
{
	MUST(!stream->string && least <= KEPT_HALF_SLOT);
	return kept_give(stream, least, room, length);
}

void stream_fill(struct stream_writer *stream, size_t length)
{
	MUST(stream->room && length <= stream->room_length);
	kept_bytes(stream, stream->room, length);
	free(stream->room);
	stream->room = NULL;
}

int stream_put(struct stream_writer *stream, const void *bytes, size_t length)
{
	MUST(!stream->string && length <= KEPT_HALF_SLOT);
	kept_bytes(stream, bytes, length);
	return 0;
}

void stream_flush(struct stream_writer *stream, bool partial)
{
	(void)partial;
	MUST(!stream->string);
}

int stream_finish(struct stream_writer *stream)
{
	MUST(stream->open && !stream->string);
	stream->open = false;
	stream->finished = stream->length;
	if (stream->messages < KEPT_MESSAGES)
		stream->ends[stream->messages++] = stream->length;
	return 0;
}

/* Each piece of a string becomes a chunk. */
int stream_string_begin(struct stream_writer *stream, bool text, bool bulk)
{
	const uint8_t head = text ? 0x7f : 0x5f;

	(void)bulk;
	MUST(!stream->string);
	kept_bytes(stream, &head, 1);
	stream->string = true;
	stream->text = text;
	return 0;
}

int stream_string_room(struct stream_writer *stream, size_t least, uint8_t **room, size_t *length)
{
	MUST(stream->string && least <= KEPT_ROOM);
	return kept_give(stream, KEPT_ROOM, room, length);
}

int stream_string_put(struct stream_writer *stream, const void *bytes, size_t length)
{
	uint8_t head[CBOR_HEAD_MAX];
	uint8_t *end = cbor_put_head(head, stream->text ? CBOR_BYTE_TEXT : CBOR_BYTE_BYTES, length);

	MUST(stream->string);
	kept_bytes(stream, head, (size_t)(end - head));
	kept_bytes(stream, bytes, length);
	return 0;
}

void stream_string_fill(struct stream_writer *stream, size_t length)
{
	MUST(stream->room && length <= stream->room_length);
	stream_string_put(stream, stream->room, length);
}

int stream_string_end(struct stream_writer *stream)
{
	const uint8_t end = 0xff;

	MUST(stream->string);
	stream->string = false;
	kept_bytes(stream, &end, 1);
	return 0;
}

int stream_fail(struct stream_writer *stream, int code, const char *text)
{
	MUST(code == EXIT_BAD_DATA && text[0] != '\0');
	stream->open = stream->string = false;
	stream->length = stream->finished;
	stream->failed = true;
	return 0;
}

static void kept_release(struct stream_writer *stream)
{
	free(stream->bodies);
	free(stream->room);
}

/* ---- an input in memory --------------------------------------------------------- */

static struct {
	const uint8_t *bytes;
	size_t length, at, step;
} given;

ssize_t input_take(struct input *input, void *buffer, size_t length)
{
	size_t left = given.length - given.at;

	if (length > left)
		length = left;
	if (length > given.step)
		length = given.step;
	memcpy(buffer, given.bytes + given.at, length);
	given.at += length;
	input->taken += length;
	return (ssize_t)length;
}

void input_settle(struct input *input, bool partial)
{
	(void)input;
	(void)partial;
}

enum exit_code source_input_failed(const struct input *input, int error)
{
	(void)input;
	(void)error;
	abort();
}

enum exit_code source_stream_failed(int error)
{
	(void)error;
	abort();
}

void source_name_header(const struct input *input, struct message_header *header)
{
	(void)input;
	header->has_name = true;
	strcpy(header->name, "fuzz");
}

/* All of the bytes through a source, some at a time. */
static enum exit_code kept_run(const struct source *source, struct stream_writer *stream,
                               const uint8_t *bytes, size_t length, size_t step)
{
	const struct source_options options = { .split = true };
	struct source_job job = { .stream = stream, .options = &options };
	struct input input = { .path = "fuzz" };
	enum exit_code code;

	memset(stream, 0, sizeof(*stream));
	given.bytes = bytes;
	given.length = length;
	given.at = 0;
	given.step = step;
	code = source->run(&job, &input);
	MUST(code == EXIT_COMPLETE || code == EXIT_BAD_DATA);
	MUST(code != EXIT_COMPLETE || (!stream->open && given.at == length));
	return code;
}

#endif
