/*
 * source_npy.c - NumPy arrays (.npy), each a message; a file may hold several,
 * one after another.
 *
 * What stands before the data is read by itself, so that the data can be read
 * straight into the slots.  What RFC 8746 has a typed array for becomes one,
 * in a multi-dimensional array; any other array becomes a map that says in
 * NumPy's words what its data are.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "producer/source.h"
#include "shared/array_tag.h"
#include "shared/cbor_put.h"
#include "shared/log.h"
#include "shared/npy_header.h"
#include "shared/utf8.h"

#define READ_UNIT 4096u
#define BULK_LEAST (64u << 10)         /* smaller arrays are not worth aligning */
#define ITEM_UNIT 16u                  /* pieces are multiples of it: no number is cut */
#define PREAMBLE_KEPT HEADER_NPY_MAX
#define DTYPE_KEPT 4095u

struct conversion {
	struct source_job *job;
	struct input *input;
	uint64_t start;                /* in the input, of the array at hand */
	struct npy_header header;
	size_t prefix, text;           /* bytes of the preamble: before the text, and the text */
	size_t dtype_length;
	uint8_t preamble[NPY_PREFIX_MAX + NPY_HEADER_MAX];
	char dtype[2 * NPY_HEADER_MAX];/* descr as UTF-8 */
	uint8_t message_header[2 * HEADER_TEXT_MAX + PREAMBLE_KEPT + 128];
};

/* ---- faults and small reads ---------------------------------------------------- */

static enum exit_code refuse(struct conversion *conversion, uint64_t byte, const char *why)
{
	char text[STREAM_TEXT_MAX];

	snprintf(text, sizeof(text), "byte %" PRIu64 ": %s", byte, why);
	stream_fail(conversion->job->stream, EXIT_BAD_DATA, text);
	log_fatal("cannot parse %s: %s", conversion->input->path, text);
	return EXIT_BAD_DATA;
}

/* Up to `length` bytes: fewer only at the input's end, or -errno. */
static ssize_t read_fully(struct conversion *conversion, void *bytes, size_t length)
{
	size_t filled = 0;

	while (filled < length) {
		ssize_t got;

		input_settle(conversion->input, false);
		got = input_take(conversion->input, (uint8_t *)bytes + filled, length - filled);
		if (got < 0)
			return got;
		if (got == 0)
			break;
		filled += (size_t)got;
	}
	return (ssize_t)filled;
}

/* ---- what stands before the data ------------------------------------------------- */

/* Magic, version, length.  *over: the input ended before them. */
static enum exit_code prefix_take(struct conversion *conversion, unsigned *major, bool *over)
{
	uint32_t length = 0;
	const char *fault;
	ssize_t got, more = 0;

	got = read_fully(conversion, conversion->preamble, NPY_MAGIC_SIZE);
	*over = got == 0 && conversion->start > 0;
	if (*over)
		return EXIT_COMPLETE;
	if (got == NPY_MAGIC_SIZE)
		more = read_fully(conversion, conversion->preamble + got,
		                  npy_prefix_size(conversion->preamble) - NPY_MAGIC_SIZE);
	if (got < 0 || more < 0)
		return source_input_failed(conversion->input, (int)(got < 0 ? got : more));
	conversion->prefix = npy_prefix_parse(conversion->preamble, (size_t)(got + more), major,
	                                      &length, &fault);
	conversion->text = length;
	if (conversion->prefix > 0)
		return EXIT_COMPLETE;
	if (conversion->start > 0)
		fault = "bytes after the array that are no other array";
	return refuse(conversion, conversion->start, fault);
}

/* The type's description as text, of which formats 1.0 and 2.0 are Latin-1. */
static void dtype_make(struct conversion *conversion, unsigned major)
{
	const struct npy_header *header = &conversion->header;
	char *out = conversion->dtype;

	for (size_t i = 0; i < header->descr_length; i++) {
		uint8_t byte = (uint8_t)header->descr[i];

		if (byte < 0x80 || major == 3)
			*out++ = (char)byte;
		else
			out += utf8_put((uint8_t *)out, byte);
	}
	conversion->dtype_length = (size_t)(out - conversion->dtype);
}

static enum exit_code preamble_take(struct conversion *conversion, bool *over)
{
	enum exit_code code;
	const char *fault;
	unsigned major = 0;
	char *text;
	size_t at;
	ssize_t got;

	code = prefix_take(conversion, &major, over);
	if (code != EXIT_COMPLETE || *over)
		return code;
	text = (char *)conversion->preamble + conversion->prefix;
	got = read_fully(conversion, text, conversion->text);
	if (got < 0)
		return source_input_failed(conversion->input, (int)got);
	if ((size_t)got < conversion->text)
		return refuse(conversion, conversion->input->taken, "ends within the header");
	if (major == 3 && (at = utf8_valid((const uint8_t *)text, conversion->text)) < conversion->text)
		return refuse(conversion, conversion->start + conversion->prefix + at,
		              "the header is not valid UTF-8");
	fault = npy_header_parse(text, conversion->text, &conversion->header, &at);
	if (fault != NULL)
		return refuse(conversion, conversion->start + conversion->prefix + at, fault);
	dtype_make(conversion, major);
	return EXIT_COMPLETE;
}

/* Is there as much of a regular file as its header says? */
static enum exit_code size_check(struct conversion *conversion)
{
	const struct input *input = conversion->input;
	char why[160];

	if (!input->regular || conversion->header.data_size <= input->size - input->taken)
		return EXIT_COMPLETE;
	snprintf(why, sizeof(why), "the header says that %" PRIu64 " bytes of data follow; there are %"
	         PRIu64, conversion->header.data_size, input->size - input->taken);
	return refuse(conversion, input->taken, why);
}

/* ---- the message ------------------------------------------------------------------ */

static size_t make_header(struct conversion *conversion)
{
	struct message_header header = { .has_type = true };
	uint8_t *out = conversion->message_header;
	size_t preamble = conversion->prefix + conversion->text, length;

	strcpy(header.type, "npy");
	source_name_header(conversion->input, &header);
	length = header_encode(&header, out);
	if (conversion->dtype_length <= DTYPE_KEPT)
		length = header_add(out, length, "dtype", true, conversion->dtype,
		                    conversion->dtype_length);
	if (preamble <= PREAMBLE_KEPT)
		length = header_add(out, length, "npy", false, conversion->preamble, preamble);
	return length;
}

static uint8_t *put_key(uint8_t *out, const char *key)
{
	out = cbor_put_head(out, CBOR_BYTE_TEXT, strlen(key));
	memcpy(out, key, strlen(key));
	return out + strlen(key);
}

static uint8_t *put_shape(uint8_t *out, const struct npy_header *header)
{
	out = cbor_put_head(out, CBOR_BYTE_ARRAY, header->dimensions);
	for (uint32_t i = 0; i < header->dimensions; i++)
		out = cbor_put_head(out, CBOR_BYTE_UNSIGNED, header->shape[i]);
	return out;
}

/* All of the body that comes before the data. */
static int body_begin(struct conversion *conversion)
{
	const struct npy_header *header = &conversion->header;
	struct stream_writer *stream = conversion->job->stream;
	uint8_t heads[64 + CBOR_HEAD_MAX * (NPY_DIMENSIONS_MAX + 4)], *end = heads;
	unsigned tag = array_tag_of(header);
	int error;

	if (tag != 0) {
		end = cbor_put_head(end, CBOR_BYTE_TAG,
		                    header->fortran ? ARRAY_TAG_COLUMN_MAJOR : ARRAY_TAG_ROW_MAJOR);
		end = cbor_put_head(end, CBOR_BYTE_ARRAY, 2);
		end = put_shape(end, header);
		end = cbor_put_head(end, CBOR_BYTE_TAG, tag);
		return stream_put(stream, heads, (size_t)(end - heads));
	}
	end = put_key(cbor_put_head(end, CBOR_BYTE_MAP, 4), "dtype");
	error = stream_put(stream, heads, (size_t)(end - heads));
	if (error == 0)
		error = stream_string_begin(stream, true, false);
	if (error == 0)
		error = stream_string_put(stream, conversion->dtype, conversion->dtype_length);
	if (error == 0)
		error = stream_string_end(stream);
	if (error != 0)
		return error;
	end = put_shape(put_key(heads, "shape"), header);
	end = put_key(put_key(end, "order"), header->fortran ? "F" : "C");
	end = put_key(end, "data");
	return stream_put(stream, heads, (size_t)(end - heads));
}

/* One read into the room, and what completes its last number. */
static ssize_t piece_take(struct conversion *conversion, uint8_t *room, size_t length)
{
	ssize_t got, more;

	input_settle(conversion->input, false);
	got = input_take(conversion->input, room, length);
	if (got <= 0 || (size_t)got == length || got % ITEM_UNIT == 0)
		return got;
	length = ITEM_UNIT - (size_t)got % ITEM_UNIT < length - (size_t)got
	                 ? ITEM_UNIT - (size_t)got % ITEM_UNIT : length - (size_t)got;
	more = read_fully(conversion, room + got, length);
	return more < 0 ? more : got + more;
}

static enum exit_code data_take(struct conversion *conversion)
{
	uint64_t left = conversion->header.data_size;

	while (left > 0) {
		struct input *input = conversion->input;
		uint8_t *room;
		size_t length;
		ssize_t got;
		int error;

		input_settle(input, true);      /* before there is room to lose */
		error = stream_string_room(conversion->job->stream, READ_UNIT, &room, &length);
		if (error != 0)
			return source_stream_failed(error);
		length -= length % READ_UNIT;
		got = piece_take(conversion, room, length < left ? length : (size_t)left);
		if (got < 0)
			return source_input_failed(input, (int)got);
		if (got == 0)
			return refuse(conversion, input->taken, "ends within the data");
		stream_string_fill(conversion->job->stream, (size_t)got);
		left -= (uint64_t)got;
	}
	return EXIT_COMPLETE;
}

static enum exit_code message_send(struct conversion *conversion)
{
	struct stream_writer *stream = conversion->job->stream;
	bool bulk = conversion->header.data_size >= BULK_LEAST;
	enum exit_code code;
	int error;

	error = stream_begin(stream, conversion->message_header, make_header(conversion));
	if (error == 0)
		error = body_begin(conversion);
	/* Bulk data are aligned where a frame begins. */
	if (error == 0 && bulk)
		stream_flush(stream, true);
	if (error == 0)
		error = stream_string_begin(stream, false, bulk);
	if (error != 0)
		return source_stream_failed(error);
	code = data_take(conversion);
	if (code != EXIT_COMPLETE)
		return code;
	error = stream_string_end(stream);
	if (error == 0)
		error = stream_finish(stream);
	return error == 0 ? EXIT_COMPLETE : source_stream_failed(error);
}

static enum exit_code npy_run(struct source_job *job, struct input *input)
{
	struct conversion *conversion = malloc(sizeof(*conversion));
	enum exit_code code = EXIT_COMPLETE;
	bool over = false;

	if (conversion == NULL) {
		log_fatal("out of memory");
		return EXIT_SYSTEM;
	}
	conversion->job = job;
	conversion->input = input;
	while (code == EXIT_COMPLETE && !over) {
		conversion->start = input->taken;
		code = preamble_take(conversion, &over);
		if (code == EXIT_COMPLETE && !over)
			code = size_check(conversion);
		if (code == EXIT_COMPLETE && !over)
			code = message_send(conversion);
	}
	free(conversion);
	return code;
}

const struct source source_npy = { .name = "npy", .run = npy_run };
