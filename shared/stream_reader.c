/*
 * stream_reader.c - messages out of the ring, in place.
 *
 * What the ring shows at once (a batch) ends on a frame's or marker's end.
 * Every byte is untrusted: whoever wrote it may be broken, and a reader that
 * was evicted sees bytes that change.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ring/testpoint.h"
#include "shared/bigendian.h"
#include "shared/cbor_walk.h"
#include "shared/digest.h"
#include "shared/stream.h"

#define RELEASE_EVERY (64u << 10)      /* bytes taken before room is given back */
#define FAULT_MAX 160

enum reader_state {
	BETWEEN,           /* a marker is next */
	SEARCHING,         /* began within the stream: a marker may be next, or a frame */
	MARKED,            /* after a marker: HEADER may be next */
	IN_WHOLE,          /* DATA is next */
	IN_CHUNKED,        /* DATA, END or ERROR is next */
};

struct stream_reader {
	struct ring_reader *ring;
	enum reader_state state;
	bool drop;                     /* skip messages while the writer waits for us */
	bool dropping;                 /* the present one is skipped */
	uint8_t marker;

	const uint8_t *batch;          /* next byte */
	size_t left;                   /* bytes of the batch after it */
	size_t used;                   /* bytes taken since the last release */

	const uint8_t *header;         /* of the present message, in the present batch */
	size_t header_length;
	uint8_t *header_copy;          /* holds it when its batch is released before DATA */

	uint64_t body_length;          /* of the present message */
	struct digest digest;
	uint64_t messages, body_bytes;
	uint64_t delivered, counted;   /* messages not dropped; and those the ring knows of */
	char text[STREAM_TEXT_MAX + 1];
	char fault[FAULT_MAX];
};

int stream_reader_open(struct stream_reader **out, struct ring_reader *ring, bool drop)
{
	struct stream_reader *stream = calloc(1, sizeof *stream);

	if (stream == NULL)
		return -ENOMEM;
	stream->header_copy = malloc(STREAM_HEADER_MAX);
	if (stream->header_copy == NULL)
		goto free_stream;
	if (digest_open(&stream->digest) != 0)
		goto free_header;
	stream->ring = ring;
	stream->drop = drop;
	stream->state = ring_reader_start(ring) == 0 ? BETWEEN : SEARCHING;
	*out = stream;
	return 0;

free_header:
	free(stream->header_copy);
free_stream:
	free(stream);
	return -ENOMEM;
}

void stream_reader_close(struct stream_reader *stream)
{
	digest_close(&stream->digest);
	free(stream->header_copy);
	free(stream);
}

/* ---- batches -------------------------------------------------------------------- */

static uint64_t position(const struct stream_reader *stream)
{
	return ring_reader_position(stream->ring) + stream->used;
}

int stream_release(struct stream_reader *stream)
{
	int error;

	if (stream->used == 0)
		return 0;
	ring_reader_count_messages(stream->ring, stream->delivered - stream->counted);
	stream->counted = stream->delivered;
	/* The batch goes, and a header in it. */
	if (stream->header != NULL && stream->header != stream->header_copy) {
		memcpy(stream->header_copy, stream->header, stream->header_length);
		stream->header = stream->header_copy;
	}
	error = ring_reader_release(stream->ring, stream->used);
	stream->used = 0;
	return error;
}

static void take(struct stream_reader *stream, size_t length)
{
	stream->batch += length;
	stream->left -= length;
	stream->used += length;
}

/* Bytes that make no sense: unless the entry was taken from us, and they were
 * overwritten. */
static int fail_at(struct stream_reader *stream, uint64_t where, const char *what)
{
	if (ring_reader_check(stream->ring) != 0)
		return -ESTALE;
	snprintf(stream->fault, sizeof stream->fault, "%s at byte %" PRIu64 " of the stream (message %" PRIu64 ")",
	         what, where, stream->messages);
	return -EBADMSG;
}

/* ---- one frame -------------------------------------------------------------------- */

struct frame {
	uint8_t type;
	const uint8_t *payload;
	uint32_t length;
};

/* The frame at the batch's start, checked against what is there. */
static int frame_read(struct stream_reader *stream, struct frame *frame)
{
	if (stream->left < STREAM_FRAME_HEAD)
		return fail_at(stream, position(stream), "frame head cut off");
	frame->type = stream->batch[0];
	frame->length = get_u32(stream->batch + 1);
	frame->payload = stream->batch + STREAM_FRAME_HEAD;
	if (frame->length > stream->left - STREAM_FRAME_HEAD)
		return fail_at(stream, position(stream), "frame longer than what is there");
	return 0;
}

/* {code, text} of an ERROR frame, as far as it says so. */
static void error_decode(struct stream_reader *stream, const struct frame *frame, struct stream_item *item)
{
	struct cbor_walker walker;
	struct cbor_token token;
	char key[8] = "";
	size_t at = 0;

	item->code = 1;
	stream->text[0] = '\0';
	cbor_walker_init(&walker);
	while (at < frame->length &&
	       cbor_walk(&walker, frame->payload + at, frame->length - at, &token) == 1) {
		at += token.size;
		if (token.kind == CBOR_UNSIGNED && strcmp(key, "code") == 0 && token.number < 256)
			item->code = (int)token.number;
		if (token.kind != CBOR_TEXT)
			continue;
		if (strcmp(key, "text") == 0 && token.length <= STREAM_TEXT_MAX) {
			memcpy(stream->text, token.data, token.length);
			stream->text[token.length] = '\0';
		}
		snprintf(key, sizeof key, "%.*s", token.length < 7 ? (int)token.length : 7,
		         (const char *)token.data);
	}
	for (char *c = stream->text; *c != '\0'; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	item->text = stream->text;
}

static void message_end(struct stream_reader *stream)
{
	stream->state = BETWEEN;
	stream->header = NULL;
	stream->messages++;
	stream->body_bytes += stream->body_length;
	if (stream->dropping)
		ring_reader_count_drop(stream->ring);
	else
		stream->delivered++;
}

static int end_check(struct stream_reader *stream, const struct frame *frame)
{
	if (frame->length != (stream->marker == STREAM_CHUNKED ? 16 : 8))
		return fail_at(stream, position(stream), "END of a wrong size");
	if (stream->dropping)
		return 0;
	if (get_u64(frame->payload) != stream->body_length)
		return fail_at(stream, position(stream), "END does not match the length of the body");
	if (stream->marker == STREAM_CHUNKED && get_u64(frame->payload + 8) != digest_value(&stream->digest))
		return fail_at(stream, position(stream), "digest mismatch");
	return 0;
}

/* Take a frame of the present message.  1: `item` is filled; 0: go on. */
static int frame_take(struct stream_reader *stream, struct stream_item *item)
{
	struct frame frame;
	int error = frame_read(stream, &frame);

	if (error != 0)
		return error;
	item->message = stream->messages;
	item->position = position(stream);
	switch (frame.type) {
	case STREAM_PAD:
		break;
	case STREAM_HEADER:
		if (stream->state != MARKED || stream->header != NULL || frame.length > STREAM_HEADER_MAX)
			return fail_at(stream, item->position, "unexpected HEADER");
		stream->header = frame.payload;
		stream->header_length = frame.length;
		break;
	case STREAM_DATA:
		stream->body_length += frame.length;
		item->bytes = frame.payload;
		item->length = frame.length;
		if (stream->state == IN_WHOLE) {
			item->part = STREAM_PART_WHOLE;
			item->header = stream->header;
			item->header_length = stream->header_length;
			message_end(stream);
		} else {
			item->part = STREAM_PART_BODY;
			if (stream->marker == STREAM_CHUNKED && !stream->dropping)
				digest_add(&stream->digest, frame.payload, frame.length);
		}
		take(stream, STREAM_FRAME_HEAD + frame.length);
		return 1;
	case STREAM_END:
		if (stream->state != IN_CHUNKED)
			return fail_at(stream, item->position, "unexpected END");
		error = end_check(stream, &frame);
		if (error != 0)
			return error;
		item->part = STREAM_PART_FINISH;
		message_end(stream);
		take(stream, STREAM_FRAME_HEAD + frame.length);
		return 1;
	case STREAM_ERROR:
		if (stream->state != IN_CHUNKED)
			return fail_at(stream, item->position, "unexpected ERROR");
		error_decode(stream, &frame, item);
		item->part = STREAM_PART_FAIL;
		message_end(stream);
		take(stream, STREAM_FRAME_HEAD + frame.length);
		return 1;
	default:
		return fail_at(stream, item->position, "unknown frame type");
	}
	take(stream, STREAM_FRAME_HEAD + frame.length);
	return 0;
}

/* ---- states ------------------------------------------------------------------------ */

static bool is_marker(uint8_t byte)
{
	return byte == STREAM_WHOLE || byte == STREAM_CHUNKED || byte == STREAM_UNDIGESTED;
}

static int between(struct stream_reader *stream)
{
	struct frame frame;
	uint8_t byte = stream->batch[0];
	int error;

	if (is_marker(byte)) {
		stream->marker = byte;
		stream->state = MARKED;
		stream->header = NULL;
		stream->header_length = 0;
		stream->body_length = 0;
		stream->dropping = stream->drop && ring_reader_holds_back(stream->ring);
		take(stream, 1);
		return 0;
	}
	if (byte != STREAM_PAD)
		return fail_at(stream, position(stream), "no marker where a message begins");
	error = frame_read(stream, &frame);
	if (error != 0)
		return error;
	take(stream, STREAM_FRAME_HEAD + frame.length);
	return 0;
}

/* Frames of a message whose beginning we missed. */
static int searching(struct stream_reader *stream)
{
	struct frame frame;
	int error;

	if (is_marker(stream->batch[0])) {
		stream->state = BETWEEN;
		return 0;
	}
	error = frame_read(stream, &frame);
	if (error != 0)
		return error;
	if (frame.type == STREAM_END || frame.type == STREAM_ERROR)
		stream->state = BETWEEN;
	else if (frame.type != STREAM_DATA && frame.type != STREAM_HEADER && frame.type != STREAM_PAD)
		return fail_at(stream, position(stream), "unknown frame type");
	take(stream, STREAM_FRAME_HEAD + frame.length);
	return 0;
}

/* After the marker: HEADER and PADs, until something else is there. */
static int marked(struct stream_reader *stream, struct stream_item *item)
{
	uint8_t byte = stream->batch[0];

	if (byte == STREAM_HEADER || byte == STREAM_PAD)
		return frame_take(stream, item);
	if (stream->marker == STREAM_WHOLE) {
		if (byte != STREAM_DATA)
			return fail_at(stream, position(stream), "no DATA in a whole message");
		stream->state = IN_WHOLE;
		return frame_take(stream, item);
	}
	stream->state = IN_CHUNKED;
	digest_begin(&stream->digest);
	item->part = STREAM_PART_BEGIN;
	item->header = stream->header;
	item->header_length = stream->header_length;
	item->position = position(stream);
	item->message = stream->messages;
	return 1;
}

static int step(struct stream_reader *stream, struct stream_item *item)
{
	switch (stream->state) {
	case BETWEEN:
		return between(stream);
	case SEARCHING:
		return searching(stream);
	case MARKED:
		return marked(stream, item);
	case IN_WHOLE:
	case IN_CHUNKED:
		return frame_take(stream, item);
	}
	return -EBADMSG;
}

/* Get a batch.  0: there are bytes; 1: `item` says that there are none. */
static int refill(struct stream_reader *stream, struct stream_item *item)
{
	int found = stream_release(stream);

	if (found != 0)
		return found;
	found = ring_reader_peek(stream->ring, &stream->batch, &stream->left);
	if (found == RING_DATA)
		return 0;
	if (found < 0)
		return found;
	item->part = found == RING_EMPTY ? STREAM_PART_EMPTY : STREAM_PART_ENDED;
	item->message = stream->messages;
	item->position = position(stream);
	return 1;
}

/* Of a message that is dropped only its end is told. */
static bool is_told(const struct stream_reader *stream, struct stream_item *item)
{
	if (!stream->dropping || item->part == STREAM_PART_EMPTY || item->part == STREAM_PART_ENDED)
		return true;
	if (item->part == STREAM_PART_BEGIN || item->part == STREAM_PART_BODY)
		return false;
	item->part = STREAM_PART_DROPPED;
	return true;
}

/*
 * A whole message, in the order that our writer writes: marker, HEADER or none,
 * DATA.  The usual case of a small one; anything else goes step by step.
 */
static bool whole_take(struct stream_reader *stream, struct stream_item *item)
{
	const uint8_t *bytes = stream->batch;
	size_t left = stream->left, header = 0;
	uint32_t length;

	if (left < 1 + STREAM_FRAME_HEAD || bytes[0] != STREAM_WHOLE)
		return false;
	bytes++;
	left--;
	item->header = NULL;
	item->header_length = 0;
	if (bytes[0] == STREAM_HEADER) {
		length = get_u32(bytes + 1);
		if (length > STREAM_HEADER_MAX || left < STREAM_FRAME_HEAD + length + STREAM_FRAME_HEAD)
			return false;
		item->header = bytes + STREAM_FRAME_HEAD;
		item->header_length = length;
		header = STREAM_FRAME_HEAD + length;
		bytes += header;
		left -= header;
	}
	length = get_u32(bytes + 1);
	if (bytes[0] != STREAM_DATA || length > left - STREAM_FRAME_HEAD)
		return false;
	item->part = STREAM_PART_WHOLE;
	item->bytes = bytes + STREAM_FRAME_HEAD;
	item->length = length;
	item->message = stream->messages++;
	item->position = position(stream) + 1 + header;
	stream->delivered++;
	stream->body_bytes += length;
	take(stream, 1 + header + STREAM_FRAME_HEAD + length);
	return true;
}

int stream_next(struct stream_reader *stream, struct stream_item *item)
{
	for (;;) {
		int found;

		if (stream->used >= RELEASE_EVERY || (stream->dropping && stream->state == BETWEEN)) {
			found = stream_release(stream);
			if (found != 0)
				return found;
		}
		if (stream->state == BETWEEN && !stream->drop && whole_take(stream, item))
			return 0;
		found = stream->left > 0 ? step(stream, item) : refill(stream, item);
		if (found < 0)
			return found;
		if (found > 0 && is_told(stream, item))
			return 0;
	}
}

bool stream_reader_is_open(const struct stream_reader *stream)
{
	return stream->state == MARKED || stream->state == IN_WHOLE || stream->state == IN_CHUNKED;
}

uint64_t stream_reader_messages(const struct stream_reader *stream)
{
	return stream->messages;
}

uint64_t stream_reader_body_bytes(const struct stream_reader *stream)
{
	return stream->body_bytes + (stream_reader_is_open(stream) ? stream->body_length : 0);
}

const char *stream_reader_fault(const struct stream_reader *stream)
{
	return stream->fault;
}
