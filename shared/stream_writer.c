/*
 * stream_writer.c - messages into the ring, in place.
 *
 * Within the slot at hand:
 *
 *   base        done           marker      frame           fill       limit
 *    | committed |  whole       | 'W' or    | 'D' length    |          |
 *    | elsewhere |  messages,   | 'C', and  | and payload   |   room   |
 *    |           |  committed   | HEADER    | so far        |          |
 *
 * From `done` on nothing is committed, so an open message may still become W or
 * C, move to the next slot, or vanish.  `marker` is NULL once it cannot.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <cbor.h>

#include "ring/testpoint.h"
#include "shared/bigendian.h"
#include "shared/digest.h"
#include "shared/stream.h"
#include "shared/utf8.h"

#define CHUNK_HEAD 5u              /* of a string's chunk: type with a 4-byte length */
#define END_FRAME_MAX (STREAM_FRAME_HEAD + 16u)
#define BODY_LEAST 64u             /* a message does not begin where its slot has less left */
#define INDEFINITE 0x1f            /* additional information of an indefinite length */
#define BREAK 0xff

struct stream_writer {
	struct ring_writer *ring;
	uint32_t slot_size;
	bool digests;
	struct digest digest;

	bool open;                 /* a message has begun */
	uint8_t *done;             /* end of what is finished in this slot, not yet committed */
	uint8_t *committed;        /* done as of the last commit */
	uint8_t *marker;           /* of the open message, if nothing of it is committed */
	uint8_t *frame;            /* the open DATA frame's head, or NULL */
	uint8_t *fill;             /* where the next byte goes */
	uint8_t *limit;            /* end of the slot */

	bool string_text, string_bulk;
	uint8_t *string;           /* the open string's first byte, if not committed */
	uint8_t *chunk;            /* the open chunk's head, or NULL */

	uint64_t body_length;      /* of the open message, in closed frames */
	uint64_t messages, body_bytes;
	uint64_t counted;          /* messages that the ring knows of */
};

int stream_writer_open(struct stream_writer **out, struct ring_writer *ring, bool digest)
{
	struct stream_writer *stream = calloc(1, sizeof *stream);
	size_t left;

	if (stream == NULL)
		return -ENOMEM;
	if (digest_open(&stream->digest) != 0) {
		free(stream);
		return -ENOMEM;
	}
	stream->ring = ring;
	stream->digests = digest;
	stream->slot_size = ring_writer_geometry(ring).slot_size;
	stream->fill = ring_writer_room(ring, &left);
	stream->done = stream->committed = stream->fill;
	stream->limit = stream->fill + left;
	*out = stream;
	return 0;
}

void stream_writer_close(struct stream_writer *stream)
{
	digest_close(&stream->digest);
	free(stream);
}

static size_t room_left(const struct stream_writer *stream)
{
	return (size_t)(stream->limit - stream->fill);
}

/* ---- slots --------------------------------------------------------------------- */

static void commit_done(struct stream_writer *stream)
{
	if (stream->done != stream->committed)
		ring_writer_commit(stream->ring, (size_t)(stream->done - stream->committed));
	stream->committed = stream->done;
	if (stream->messages != stream->counted)
		ring_writer_count_messages(stream->ring, stream->messages - stream->counted);
	stream->counted = stream->messages;
}

/*
 * Go to a slot with room for `least` bytes, which the present one has not.
 * What is not done stays where it is, readable until the next call.
 */
static int slot_next(struct stream_writer *stream, size_t least)
{
	uint8_t *room;
	size_t left;
	int error;

	commit_done(stream);
	while ((error = ring_writer_claim(stream->ring, least, &room, &left)) == -EAGAIN) {
		error = ring_writer_wait_space(stream->ring, RING_FOREVER);
		if (error != 0)
			break;
	}
	if (error != 0)
		return error;
	stream->done = stream->committed = stream->fill = room;
	stream->limit = room + left;
	return 0;
}

/* The open message begins anew at `done` of the next slot.  It is at most
 * STREAM_MOVE_MAX long and nothing of it is committed. */
static int message_move(struct stream_writer *stream, size_t least)
{
	uint8_t *from = stream->marker;
	size_t length = (size_t)(stream->fill - from);
	int error = slot_next(stream, length + least);

	if (error != 0)
		return error;
	memcpy(stream->fill, from, length);
	stream->marker = stream->done;
	if (stream->frame != NULL)
		stream->frame = stream->marker + (stream->frame - from);
	if (stream->string != NULL)
		stream->string = stream->marker + (stream->string - from);
	if (stream->chunk != NULL)
		stream->chunk = stream->marker + (stream->chunk - from);
	stream->fill += length;
	return 0;
}

/* ---- frames -------------------------------------------------------------------- */

static void frame_open(struct stream_writer *stream)
{
	stream->frame = stream->fill;
	stream->frame[0] = STREAM_DATA;
	stream->fill += STREAM_FRAME_HEAD;
}

static void chunk_close(struct stream_writer *stream)
{
	size_t length = (size_t)(stream->fill - stream->chunk) - CHUNK_HEAD;

	if (length == 0)
		stream->fill = stream->chunk;      /* nothing in it: it never was */
	else
		put_u32(stream->chunk + 1, (uint32_t)length);
	stream->chunk = NULL;
}

/* End the open DATA frame; one without payload vanishes unless it is kept. */
static void frame_close(struct stream_writer *stream, bool keep_empty)
{
	size_t length;

	if (stream->chunk != NULL)
		chunk_close(stream);
	if (stream->frame == NULL)
		return;
	length = (size_t)(stream->fill - stream->frame) - STREAM_FRAME_HEAD;
	if (length == 0 && !keep_empty)
		stream->fill = stream->frame;
	else
		put_u32(stream->frame + 1, (uint32_t)length);
	stream->body_length += length;
	if (stream->marker == NULL && length > 0 && stream->digests)
		digest_add(&stream->digest, stream->frame + STREAM_FRAME_HEAD, length);
	stream->frame = NULL;
}

/* From here on the message is chunked, and what there is of it counts. */
static void message_commit(struct stream_writer *stream)
{
	if (stream->marker != NULL) {
		*stream->marker = stream->digests ? STREAM_CHUNKED : STREAM_UNDIGESTED;
		stream->marker = NULL;
		if (stream->digests)
			digest_begin(&stream->digest);
	}
	frame_close(stream, false);
	stream->string = NULL;
	stream->done = stream->fill;
	commit_done(stream);
}

/* Room for `least` bytes of the open message in another slot: the message
 * moves there, or becomes chunked. */
static int message_continue(struct stream_writer *stream, size_t least)
{
	if (stream->marker != NULL) {
		size_t length = (size_t)(stream->fill - stream->marker);

		if (length <= STREAM_MOVE_MAX && length + least <= stream->slot_size)
			return message_move(stream, least);
	}
	message_commit(stream);
	return slot_next(stream, least);
}

/* ---- messages ------------------------------------------------------------------ */

int stream_begin(struct stream_writer *stream, const void *header, size_t length)
{
	size_t head = 1 + (length > 0 ? STREAM_FRAME_HEAD + length : 0);

	if (length > STREAM_HEADER_MAX)
		return -EMSGSIZE;
	if (room_left(stream) < head + STREAM_FRAME_HEAD + BODY_LEAST) {
		int error = slot_next(stream, head + STREAM_FRAME_HEAD + BODY_LEAST);

		if (error != 0)
			return error;
	}
	stream->open = true;
	stream->marker = stream->fill;
	stream->body_length = 0;
	if (length > 0) {
		stream->marker[1] = STREAM_HEADER;
		put_u32(stream->marker + 2, (uint32_t)length);
		memcpy(stream->marker + 1 + STREAM_FRAME_HEAD, header, length);
	}
	stream->fill += head;
	return 0;
}

int stream_room(struct stream_writer *stream, size_t least, uint8_t **room, size_t *length)
{
	size_t head = stream->frame == NULL ? STREAM_FRAME_HEAD : 0;

	if (least > stream->slot_size / 2)
		return -EMSGSIZE;
	if (room_left(stream) < head + least) {
		int error = message_continue(stream, STREAM_FRAME_HEAD + least);

		if (error != 0)
			return error;
	}
	if (stream->frame == NULL)
		frame_open(stream);
	*room = stream->fill;
	*length = room_left(stream);
	return 0;
}

void stream_fill(struct stream_writer *stream, size_t length)
{
	stream->fill += length;
}

int stream_put(struct stream_writer *stream, const void *bytes, size_t length)
{
	uint8_t *room;
	size_t left;
	int error = stream_room(stream, length, &room, &left);

	if (error != 0)
		return error;
	memcpy(room, bytes, length);
	stream->fill += length;
	return 0;
}

static void message_count(struct stream_writer *stream)
{
	stream->open = false;
	stream->messages++;
	stream->body_bytes += stream->body_length;
}

int stream_finish(struct stream_writer *stream)
{
	uint8_t *end;
	uint32_t length = stream->digests ? 16 : 8;

	if (stream->marker != NULL) {
		if (stream->frame == NULL)
			frame_open(stream);
		frame_close(stream, true);
		*stream->marker = STREAM_WHOLE;
		stream->marker = NULL;
		stream->string = NULL;
		stream->done = stream->fill;
		message_count(stream);
		return 0;
	}
	frame_close(stream, false);
	stream->done = stream->fill;
	if (room_left(stream) < END_FRAME_MAX) {
		int error = slot_next(stream, END_FRAME_MAX);

		if (error != 0)
			return error;
	}
	end = stream->fill;
	end[0] = STREAM_END;
	put_u32(end + 1, length);
	put_u64(end + STREAM_FRAME_HEAD, stream->body_length);
	if (stream->digests)
		put_u64(end + STREAM_FRAME_HEAD + 8, digest_value(&stream->digest));
	stream->fill += STREAM_FRAME_HEAD + length;
	stream->done = stream->fill;
	message_count(stream);
	return 0;
}

/* The whole message fits the slot's rest: the usual case of a small one. */
static void send_here(struct stream_writer *stream, const void *header, size_t header_length,
                      const void *body, size_t length)
{
	uint8_t *out = stream->fill;

	*out++ = STREAM_WHOLE;
	if (header_length > 0) {
		out[0] = STREAM_HEADER;
		put_u32(out + 1, (uint32_t)header_length);
		memcpy(out + STREAM_FRAME_HEAD, header, header_length);
		out += STREAM_FRAME_HEAD + header_length;
	}
	out[0] = STREAM_DATA;
	put_u32(out + 1, (uint32_t)length);
	memcpy(out + STREAM_FRAME_HEAD, body, length);
	stream->fill = stream->done = out + STREAM_FRAME_HEAD + length;
	stream->messages++;
	stream->body_bytes += length;
}

int stream_send(struct stream_writer *stream, const void *header, size_t header_length,
                const void *body, size_t length)
{
	size_t heads = 1 + STREAM_FRAME_HEAD + STREAM_FRAME_HEAD;
	int error;

	/* Each alone first: their sum cannot overflow then. */
	if (header_length <= STREAM_HEADER_MAX && length <= stream->slot_size / 2 &&
	    heads + header_length + length <= room_left(stream)) {
		send_here(stream, header, header_length, body, length);
		return 0;
	}
	error = stream_begin(stream, header, header_length);
	if (error == 0)
		error = stream_put(stream, body, length);
	if (error == 0)
		error = stream_finish(stream);
	return error;
}

/* ---- long strings --------------------------------------------------------------- */

static uint8_t major_of(const struct stream_writer *stream)
{
	return stream->string_text ? 0x60 : 0x40;
}

/* PAD so that a string's data, `heads` bytes on, is aligned.  Only where a
 * frame may stand; returns how many bytes it would take. */
static size_t pad_length(const struct stream_writer *stream, size_t heads)
{
	size_t misaligned = ((uintptr_t)stream->fill + heads) % STREAM_ALIGN;
	size_t pad = misaligned == 0 ? 0 : STREAM_ALIGN - misaligned;

	if (!stream->string_bulk || stream->frame != NULL)
		return 0;
	return pad != 0 && pad < STREAM_FRAME_HEAD ? pad + STREAM_ALIGN : pad;
}

static void pad_write(struct stream_writer *stream, size_t pad)
{
	if (pad == 0)
		return;
	stream->fill[0] = STREAM_PAD;
	put_u32(stream->fill + 1, (uint32_t)(pad - STREAM_FRAME_HEAD));
	memset(stream->fill + STREAM_FRAME_HEAD, 0, pad - STREAM_FRAME_HEAD);
	stream->fill += pad;
}

static size_t bulk_least(const struct stream_writer *stream)
{
	return stream->slot_size / 2 < STREAM_MOVE_MAX ? stream->slot_size / 2 : STREAM_MOVE_MAX;
}

int stream_string_begin(struct stream_writer *stream, bool text, bool bulk)
{
	uint8_t *room;
	size_t left;
	int error;

	stream->string_text = text;
	stream->string_bulk = bulk;
	/* Bulk data that began in a small rest would soon move, and lose its
	 * alignment. */
	if (bulk && room_left(stream) < bulk_least(stream)) {
		error = message_continue(stream, bulk_least(stream));
		if (error != 0)
			return error;
	}
	if (room_left(stream) >= 2 * STREAM_ALIGN + STREAM_FRAME_HEAD + 1 + CHUNK_HEAD)
		pad_write(stream, pad_length(stream, STREAM_FRAME_HEAD + 1 + CHUNK_HEAD));
	error = stream_room(stream, 1 + CHUNK_HEAD + 1, &room, &left);
	if (error != 0)
		return error;
	room[0] = (uint8_t)(major_of(stream) | INDEFINITE);
	room[1] = (uint8_t)(major_of(stream) | 26);
	stream->string = room;
	stream->chunk = room + 1;
	stream->fill += 1 + CHUNK_HEAD;
	return 0;
}

int stream_string_room(struct stream_writer *stream, size_t least, uint8_t **room, size_t *length)
{
	size_t heads = 2 * STREAM_ALIGN + STREAM_FRAME_HEAD + CHUNK_HEAD;

	if (least > stream->slot_size / 2)
		return -EMSGSIZE;
	if (room_left(stream) < (stream->chunk != NULL ? least : heads + least)) {
		int error = message_continue(stream, heads + least);

		if (error != 0)
			return error;
	}
	if (stream->chunk == NULL) {
		pad_write(stream, pad_length(stream, STREAM_FRAME_HEAD + CHUNK_HEAD));
		if (stream->frame == NULL)
			frame_open(stream);
		stream->chunk = stream->fill;
		stream->chunk[0] = (uint8_t)(major_of(stream) | 26);
		stream->fill += CHUNK_HEAD;
	}
	*room = stream->fill;
	*length = room_left(stream);
	return 0;
}

void stream_string_fill(struct stream_writer *stream, size_t length)
{
	stream->fill += length;
}

int stream_string_put(struct stream_writer *stream, const void *bytes, size_t length)
{
	const uint8_t *from = bytes;

	while (length > 0) {
		uint8_t *room;
		size_t left;
		int error = stream_string_room(stream, length < 4 ? length : 4, &room, &left);

		if (error != 0)
			return error;
		if (left >= length)
			left = length;
		else if (stream->string_text)
			left = utf8_cut(from, left);
		memcpy(room, from, left);
		stream->fill += left;
		from += left;
		length -= left;
	}
	return 0;
}

/* A string that is all in one piece takes a definite length, in the smallest
 * head. */
static void string_make_definite(struct stream_writer *stream)
{
	uint8_t *data = stream->string + 1 + CHUNK_HEAD, head[9];
	size_t length = (size_t)(stream->fill - data);
	size_t size = stream->string_text ? cbor_encode_string_start(length, head, sizeof head)
	                                  : cbor_encode_bytestring_start(length, head, sizeof head);

	memmove(stream->string + size, data, length);
	memcpy(stream->string, head, size);
	stream->fill = stream->string + size + length;
	stream->string = NULL;
	stream->chunk = NULL;
}

int stream_string_end(struct stream_writer *stream)
{
	uint8_t *room;
	size_t left;
	int error;

	if (stream->string != NULL && stream->chunk == stream->string + 1) {
		string_make_definite(stream);
		return 0;
	}
	if (stream->chunk != NULL)
		chunk_close(stream);
	stream->string = NULL;
	error = stream_room(stream, 1, &room, &left);
	if (error != 0)
		return error;
	*room = BREAK;
	stream->fill++;
	return 0;
}

/* ---- giving up, and publishing ---------------------------------------------------- */

static size_t error_encode(uint8_t *out, size_t size, int code, const char *text)
{
	size_t length = strlen(text), at = 0;

	if (length > STREAM_TEXT_MAX)
		length = utf8_cut((const uint8_t *)text, STREAM_TEXT_MAX);
	length = utf8_valid((const uint8_t *)text, length);
	at += cbor_encode_map_start(2, out + at, size - at);
	at += cbor_encode_string_start(4, out + at, size - at);
	memcpy(out + at, "code", 4);
	at += 4;
	at += cbor_encode_uint((uint64_t)(unsigned)code, out + at, size - at);
	at += cbor_encode_string_start(4, out + at, size - at);
	memcpy(out + at, "text", 4);
	at += 4;
	at += cbor_encode_string_start(length, out + at, size - at);
	memcpy(out + at, text, length);
	return at + length;
}

static void message_forget(struct stream_writer *stream)
{
	stream->open = false;
	stream->marker = stream->frame = stream->string = stream->chunk = NULL;
	stream->fill = stream->done;
}

int stream_fail(struct stream_writer *stream, int code, const char *text)
{
	uint8_t payload[STREAM_TEXT_MAX + 64];
	bool trace = stream_is_partly_published(stream);
	size_t length;

	if (!stream->open)
		return 0;
	message_forget(stream);
	if (!trace)
		return 0;
	length = error_encode(payload, sizeof payload, code, text);
	if (room_left(stream) < STREAM_FRAME_HEAD + length &&
	    slot_next(stream, STREAM_FRAME_HEAD + length) != 0)
		return 1;      /* the stream's own end must tell */
	stream->fill[0] = STREAM_ERROR;
	put_u32(stream->fill + 1, (uint32_t)length);
	memcpy(stream->fill + STREAM_FRAME_HEAD, payload, length);
	stream->fill += STREAM_FRAME_HEAD + length;
	stream->done = stream->fill;
	return 1;
}

void stream_abandon(struct stream_writer *stream)
{
	message_forget(stream);
	commit_done(stream);
}

bool stream_is_open(const struct stream_writer *stream)
{
	return stream->open;
}

bool stream_is_partly_published(const struct stream_writer *stream)
{
	return stream->open && stream->marker == NULL;
}

void stream_flush(struct stream_writer *stream, bool partial)
{
	if (partial && stream->open)
		message_commit(stream);
	commit_done(stream);
	ring_writer_publish(stream->ring);
}

uint64_t stream_messages(const struct stream_writer *stream)
{
	return stream->messages;
}

uint64_t stream_body_bytes(const struct stream_writer *stream)
{
	return stream->body_bytes + (stream->open ? stream->body_length : 0);
}
