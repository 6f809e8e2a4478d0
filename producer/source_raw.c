/* source_raw.c - the input is one message: a byte string, read straight into the slot. */
#include <stdio.h>
#include <string.h>

#include "producer/source.h"

#define READ_UNIT 4096u            /* file offsets stay multiples of a page */
#define BULK_LEAST (64u << 10)     /* smaller files are not worth aligning */

static size_t make_header(const struct input *input, uint8_t *out)
{
	struct message_header header = { .has_type = true };

	strcpy(header.type, "raw");
	source_name_header(input, &header);
	header.has_size = input->regular;
	header.size = input->size;
	return header_encode(&header, out);
}

static enum exit_code read_all(struct stream_writer *stream, struct input *input)
{
	for (;;) {
		uint8_t *room;
		size_t length;
		ssize_t got;
		int error;

		input_settle(input, true);      /* before there is room to lose */
		error = stream_string_room(stream, READ_UNIT, &room, &length);
		if (error != 0)
			return source_stream_failed(error);
		input_settle(input, false);     /* it may have left a slot, and owe a wake */
		got = input_take(input, room, length - length % READ_UNIT);
		if (got < 0)
			return source_input_failed(input, (int)got);
		if (got == 0)
			return EXIT_COMPLETE;
		stream_string_fill(stream, (size_t)got);
	}
}

static enum exit_code raw_run(struct source_job *job, struct input *input)
{
	uint8_t header[2 * HEADER_TEXT_MAX + 64];
	bool bulk = !input->regular || input->size >= BULK_LEAST;
	enum exit_code code;
	int error;

	error = stream_begin(job->stream, header, make_header(input, header));
	if (error == 0)
		error = stream_string_begin(job->stream, false, bulk);
	if (error != 0)
		return source_stream_failed(error);
	code = read_all(job->stream, input);
	if (code != EXIT_COMPLETE)
		return code;
	error = stream_string_end(job->stream);
	if (error == 0)
		error = stream_finish(job->stream);
	return error == 0 ? EXIT_COMPLETE : source_stream_failed(error);
}

const struct source source_raw = { .name = "raw", .run = raw_run };
