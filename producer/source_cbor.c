/*
 * source_cbor.c - a CBOR sequence (RFC 8742): each item is one message, its
 * tokens the input's own bytes.
 *
 * The buffer holds a read's worth, and before that what was left over of the
 * one before:
 *
 *    | room for the rest | area                                  |
 *            start    walked                             end
 *              | handed on  | not looked at yet            |
 *              | later      |                              |
 *
 * An item that ends within PIECE_MAX bytes is sent at once; of a longer one
 * runs of tokens are handed on, and a string longer than that is streamed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "producer/source.h"
#include "ring/ring.h"
#include "shared/cbor_put.h"
#include "shared/cbor_walk.h"
#include "shared/header.h"
#include "shared/log.h"
#include "shared/utf8.h"

#define PIECE_MAX (RING_MIN_SLOT_SIZE / 2)     /* what fits half a slot of any ring */
#define AREA (8 * PIECE_MAX)                   /* bytes of a read */
#define READ_UNIT 4096u                        /* reads go to such addresses, and are multiples of it */
#define BULK_LEAST (64u << 10)                 /* shorter strings are not worth aligning */

struct conversion {
	struct source_job *job;
	struct input *input;
	struct cbor_walker walker;
	uint8_t *buffer;
	size_t start, walked, end;
	uint64_t taken;                        /* the input's bytes up to `end` */
	size_t header_length;
	uint8_t header[64];                    /* of every message */
};

/* ---- faults ----------------------------------------------------------------- */

/* The input, from this place of the buffer on, is not what it should be. */
static enum exit_code refuse(struct conversion *conversion, size_t place, const char *why)
{
	struct source_job *job = conversion->job;
	unsigned long long byte = conversion->taken - (conversion->end - place);
	char text[128];

	snprintf(text, sizeof(text), "byte %llu: %s", byte, why);
	stream_fail(job->stream, EXIT_BAD_DATA, text);
	if (!job->options->skip_bad) {
		log_fatal("cannot parse %s: %s", conversion->input->path, text);
		return EXIT_BAD_DATA;
	}
	log_warning("cannot parse %s: %s; skipped with all that follows, for CBOR has no mark "
	            "where the next item begins", conversion->input->path, text);
	job->bad_records++;
	return EXIT_COMPLETE;
}

static enum exit_code refuse_end(struct conversion *conversion)
{
	return refuse(conversion, conversion->end, "ends within an item");
}

/* ---- the buffer ------------------------------------------------------------- */

/* Put what was not handed on, fewer than PIECE_MAX bytes, before the area. */
static void buffer_move(struct conversion *conversion)
{
	size_t rest = conversion->end - conversion->start;

	memmove(conversion->buffer + PIECE_MAX - rest, conversion->buffer + conversion->start, rest);
	conversion->walked = PIECE_MAX - rest + (conversion->walked - conversion->start);
	conversion->start = PIECE_MAX - rest;
	conversion->end = PIECE_MAX;
}

/* Take a read's worth more.  Returns how many bytes, 0 at the end, or -errno. */
static ssize_t buffer_fill(struct conversion *conversion)
{
	ssize_t got;

	/* Not at each of many small reads. */
	if (conversion->start == conversion->end || conversion->end > PIECE_MAX + AREA / 2)
		buffer_move(conversion);
	input_settle(conversion->input, true);
	got = input_take(conversion->input, conversion->buffer + conversion->end,
	                 PIECE_MAX + AREA - conversion->end);
	if (got > 0) {
		conversion->end += (size_t)got;
		conversion->taken += (uint64_t)got;
	}
	return got;
}

/* Hand on the tokens that were walked, which end no item. */
static int hand_on(struct conversion *conversion)
{
	struct stream_writer *stream = conversion->job->stream;
	size_t length = conversion->walked - conversion->start;
	int error = 0;

	if (!stream_is_open(stream))
		error = stream_begin(stream, conversion->header, conversion->header_length);
	if (error == 0 && length > 0)
		error = stream_put(stream, conversion->buffer + conversion->start, length);
	conversion->start = conversion->walked;
	return error;
}

/* The tokens that were walked end an item. */
static int item_end(struct conversion *conversion)
{
	struct stream_writer *stream = conversion->job->stream;
	const uint8_t *bytes = conversion->buffer + conversion->start;
	size_t length = conversion->walked - conversion->start;
	int error;

	if (stream_is_open(stream)) {
		error = hand_on(conversion);
		return error == 0 ? stream_finish(stream) : error;
	}
	conversion->start = conversion->walked;
	return stream_send(stream, conversion->header, conversion->header_length, bytes, length);
}

/* ---- long strings ----------------------------------------------------------- */

/* How a step of a conversion came out. */
enum step {
	STEP_GOOD,
	STEP_OVER,      /* the input is at its end, or given up: `code` */
};

/* A string that is being taken. */
struct string {
	bool text;
	bool chunk;     /* a part of one that has no length */
	uint64_t left;  /* bytes of it that were not handed on */
};

/* Hand on `length` bytes of the buffer, whole characters if they are text. */
static int string_put(struct conversion *conversion, const struct string *string, size_t length)
{
	struct stream_writer *stream = conversion->job->stream;
	const uint8_t *bytes = conversion->buffer + conversion->start;

	if (!string->chunk)
		return stream_string_put(stream, bytes, length);
	while (length > 0) {
		size_t piece = length, left;
		uint8_t *room;
		int error;

		if (piece > PIECE_MAX - CBOR_HEAD_MAX) {
			piece = PIECE_MAX - CBOR_HEAD_MAX;
			if (string->text)
				piece = utf8_cut(bytes, piece);
		}
		error = stream_room(stream, CBOR_HEAD_MAX + piece, &room, &left);
		if (error != 0)
			return error;
		uint8_t *data = cbor_put_head(room, string->text ? CBOR_BYTE_TEXT : CBOR_BYTE_BYTES, piece);
		memcpy(data, bytes, piece);
		stream_fill(stream, (size_t)(data - room) + piece);
		bytes += piece;
		length -= piece;
	}
	return 0;
}

/* Of a string's bytes in the buffer, how many can be handed on: the last
 * character of a text may be cut.  SIZE_MAX: bad UTF-8, from *bad on. */
static size_t string_usable(const struct conversion *conversion, const struct string *string,
                            size_t *bad)
{
	const uint8_t *bytes = conversion->buffer + conversion->start;
	size_t there = conversion->end - conversion->start, valid;

	if (there > string->left)
		there = (size_t)string->left;
	if (!string->text)
		return there;
	valid = utf8_valid(bytes, there);
	if (valid < there && (there == string->left ||
	                      there - valid > 3 || !utf8_could_continue(bytes + valid, there - valid))) {
		*bad = conversion->start + valid;
		return SIZE_MAX;
	}
	return valid;
}

/* The rest of a byte string, straight into the ring. */
static enum step string_read(struct conversion *conversion, struct string *string,
                             enum exit_code *code)
{
	while (string->left > 0) {
		uint8_t *room;
		size_t length;
		ssize_t got;
		int error;

		input_settle(conversion->input, true);
		error = stream_string_room(conversion->job->stream, READ_UNIT, &room, &length);
		if (error != 0) {
			*code = source_stream_failed(error);
			return STEP_OVER;
		}
		length -= length % READ_UNIT;
		if (length > string->left)
			length = (size_t)string->left;
		got = input_take(conversion->input, room, length);
		if (got <= 0) {
			*code = got < 0 ? source_input_failed(conversion->input, (int)got)
			                : refuse_end(conversion);
			return STEP_OVER;
		}
		stream_string_fill(conversion->job->stream, (size_t)got);
		conversion->taken += (uint64_t)got;
		string->left -= (uint64_t)got;
	}
	return STEP_GOOD;
}

/* All of a string, the first of which is in the buffer. */
static enum step string_take(struct conversion *conversion, struct string *string,
                             enum exit_code *code)
{
	while (string->left > 0) {
		size_t bad = 0, usable = string_usable(conversion, string, &bad);
		ssize_t got;
		int error;

		if (usable == SIZE_MAX) {
			*code = refuse(conversion, bad, "text is not valid UTF-8");
			return STEP_OVER;
		}
		error = string_put(conversion, string, usable);
		if (error != 0) {
			*code = source_stream_failed(error);
			return STEP_OVER;
		}
		conversion->start += usable;
		conversion->walked = conversion->start;
		string->left -= usable;
		if (string->left == 0)
			break;
		if (!string->text && !string->chunk)
			return string_read(conversion, string, code);
		got = buffer_fill(conversion);
		if (got <= 0) {
			*code = got < 0 ? source_input_failed(conversion->input, (int)got)
			                : refuse_end(conversion);
			return STEP_OVER;
		}
	}
	return STEP_GOOD;
}

/* A string that is longer than PIECE_MAX stands at `walked`, which is `start`. */
static enum step long_string(struct conversion *conversion, enum exit_code *code)
{
	struct stream_writer *stream = conversion->job->stream;
	struct cbor_walker *walker = &conversion->walker;
	struct string string;
	enum cbor_kind kind;
	enum step step;
	int error = 0;

	conversion->start += cbor_string_head(walker, conversion->buffer + conversion->start,
	                                      conversion->end - conversion->start, &kind,
	                                      &string.left);
	conversion->walked = conversion->start;
	string.text = kind == CBOR_TEXT;
	string.chunk = walker->levels[walker->depth].kind == CBOR_BYTES_START ||
	               walker->levels[walker->depth].kind == CBOR_TEXT_START;
	if (!string.chunk)
		error = stream_string_begin(stream, string.text,
		                            !string.text && string.left >= BULK_LEAST);
	if (error == 0) {
		step = string_take(conversion, &string, code);
		if (step != STEP_GOOD)
			return step;
		if (!string.chunk)
			error = stream_string_end(stream);
	}
	cbor_walker_skip_string(walker);
	if (error == 0 && cbor_walker_idle(walker))
		error = stream_finish(stream);
	if (error != 0) {
		*code = source_stream_failed(error);
		return STEP_OVER;
	}
	return STEP_GOOD;
}

/* ---- the sequence ----------------------------------------------------------- */

/* The tokens at hand end neither an item nor PIECE_MAX bytes. */
static enum step more(struct conversion *conversion, enum exit_code *code)
{
	ssize_t got;
	int error = 0;

	/* Somebody may wait for what there is of a long item. */
	if (stream_is_open(conversion->job->stream))
		error = hand_on(conversion);
	if (error != 0) {
		*code = source_stream_failed(error);
		return STEP_OVER;
	}
	got = buffer_fill(conversion);
	if (got > 0)
		return STEP_GOOD;
	if (got < 0)
		*code = source_input_failed(conversion->input, (int)got);
	else if (conversion->start == conversion->end && cbor_walker_idle(&conversion->walker))
		*code = EXIT_COMPLETE;
	else
		*code = refuse_end(conversion);
	return STEP_OVER;
}

/* To the end of an item, or as far as PIECE_MAX bytes go. */
static enum step walk(struct conversion *conversion, enum exit_code *code)
{
	size_t limit = conversion->end, taken;
	bool full = conversion->end - conversion->start >= PIECE_MAX;
	int outcome, error;

	if (full)
		limit = conversion->start + PIECE_MAX;
	outcome = cbor_walk_run(&conversion->walker, conversion->buffer + conversion->walked,
	                        limit - conversion->walked, &taken);
	conversion->walked += taken;
	if (outcome < 0) {
		*code = refuse(conversion, conversion->walked, cbor_walk_fault());
		return STEP_OVER;
	}
	if (outcome == 0 && !full)
		return more(conversion, code);
	if (outcome == 0 && conversion->walked == conversion->start &&
	    stream_is_open(conversion->job->stream))
		return long_string(conversion, code);
	error = outcome == 1 ? item_end(conversion) : hand_on(conversion);
	if (error != 0) {
		*code = source_stream_failed(error);
		return STEP_OVER;
	}
	return STEP_GOOD;
}

static enum exit_code cbor_run(struct source_job *job, struct input *input)
{
	struct message_header header = { .has_type = true, .type = "cbor" };
	struct conversion *conversion = malloc(sizeof(*conversion));
	enum exit_code code = EXIT_SYSTEM;
	void *buffer = NULL;

	if (conversion && posix_memalign(&buffer, READ_UNIT, PIECE_MAX + AREA) == 0) {
		conversion->job = job;
		conversion->input = input;
		conversion->buffer = buffer;
		conversion->start = conversion->walked = conversion->end = PIECE_MAX;
		conversion->taken = 0;
		conversion->header_length = header_encode(&header, conversion->header);
		cbor_walker_init(&conversion->walker);
		while (walk(conversion, &code) == STEP_GOOD)
			;
	} else {
		log_fatal("out of memory");
	}
	free(buffer);
	free(conversion);
	return code;
}

const struct source source_cbor = { .name = "cbor", .run = cbor_run };
