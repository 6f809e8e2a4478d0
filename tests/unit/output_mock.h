/*
 * output_mock.h - an output in memory, for tests of sinks.  Each room has
 * exactly the bytes that were asked for, so that a sanitizer sees one byte too
 * many.  To be included once in a program.
 */
#ifndef SLUICE_OUTPUT_MOCK_H
#define SLUICE_OUTPUT_MOCK_H

#include <stdlib.h>
#include <string.h>

#include "consumer/sink.h"

struct output {
	char *bytes;
	size_t length, capacity;
	char *room;
	size_t room_length;
};

void output_write(struct output *output, const void *bytes, size_t length)
{
	if (output->length + length > output->capacity) {
		output->capacity = 2 * (output->length + length);
		output->bytes = realloc(output->bytes, output->capacity);
		if (!output->bytes)
			abort();
	}
	if (length > 0)
		memcpy(output->bytes + output->length, bytes, length);
	output->length += length;
}

char *output_room(struct output *output, size_t least)
{
	if (least > OUTPUT_ROOM_MAX)
		abort();
	free(output->room);
	output->room = malloc(least);
	output->room_length = least;
	if (!output->room)
		abort();
	return output->room;
}

void output_fill(struct output *output, size_t length)
{
	if (length > output->room_length)
		abort();
	output_write(output, output->room, length);
	free(output->room);
	output->room = NULL;
	output->room_length = 0;
}

static inline void output_mock_clear(struct output *output)
{
	free(output->bytes);
	free(output->room);
	memset(output, 0, sizeof(*output));
}

#endif
