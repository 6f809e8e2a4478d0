/*
 * readings-write.c - a program that writes records of its own into a ring.
 *
 *     readings-write RING COUNT
 *
 * A record is a CBOR map: {"sensor": text, "at": nanoseconds, "values": [floats]}.
 * Nothing here is Sluice's but the calls; the record's bytes are made with libcbor.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cbor.h>
#include <ring/ring.h>
#include <shared/stream.h>

#define VALUES_MAX 8
#define RECORD_MAX 256                 /* bytes of one, encoded */

struct reading {
	char sensor[16];
	uint64_t at_ns;
	unsigned count;
	double values[VALUES_MAX];
};

/* Who reads it may tell it by its type: HEADER is the map {"type": "reading"}. */
static const uint8_t header[] = "\xa1\x64type\x67reading";

static size_t put_text(uint8_t *out, const char *text)
{
	size_t length = strlen(text), head = cbor_encode_string_start(length, out, RECORD_MAX);

	memcpy(out + head, text, length);
	return head + length;
}

/* Returns the length of what it wrote, at most RECORD_MAX. */
static size_t reading_encode(const struct reading *reading, uint8_t *out)
{
	size_t used = cbor_encode_map_start(3, out, RECORD_MAX);

	used += put_text(out + used, "sensor");
	used += put_text(out + used, reading->sensor);
	used += put_text(out + used, "at");
	used += cbor_encode_uint(reading->at_ns, out + used, RECORD_MAX - used);
	used += put_text(out + used, "values");
	used += cbor_encode_array_start(reading->count, out + used, RECORD_MAX - used);
	for (unsigned i = 0; i < reading->count; i++)
		used += cbor_encode_double(reading->values[i], out + used, RECORD_MAX - used);
	return used;
}

/* Records that can be checked: another program makes the same. */
static void reading_make(struct reading *reading, uint64_t number)
{
	snprintf(reading->sensor, sizeof(reading->sensor), "sensor-%u", (unsigned)(number % 7));
	reading->at_ns = UINT64_C(1700000000000000000) + number * 1000;
	reading->count = (unsigned)(number % VALUES_MAX) + 1;
	for (unsigned i = 0; i < reading->count; i++)
		reading->values[i] = (double)number + i / 8.0;
}

/* Straight into the ring: 0 or -errno. */
static int reading_send(struct stream_writer *stream, const struct reading *reading)
{
	uint8_t *room;
	size_t length;
	int error = stream_begin(stream, header, sizeof(header) - 1);

	if (error == 0)
		error = stream_room(stream, RECORD_MAX, &room, &length);
	if (error != 0)
		return error;
	stream_fill(stream, reading_encode(reading, room));
	return stream_finish(stream);
}

/* Wait for one consumer, send, and wait until it has it all. */
static int readings_send(struct ring_writer *ring, struct stream_writer *stream, uint64_t count)
{
	int error = ring_writer_wait_readers(ring, 1, 30000, NULL);

	for (uint64_t i = 0; error == 0 && i < count; i++) {
		struct reading reading = { .count = 0 };

		reading_make(&reading, i);
		error = reading_send(stream, &reading);
	}
	if (error != 0) {
		stream_abandon(stream);
		ring_writer_end(ring, RING_ABORTED, 1);
		return error;
	}
	stream_flush(stream, false);
	ring_writer_end(ring, RING_COMPLETE, 0);
	return ring_writer_drain(ring, RING_FOREVER);
}

int main(int argc, char **argv)
{
	static const struct ring_writer_options options = { .label = "readings-write" };
	struct ring_writer *ring;
	struct stream_writer *stream;
	int error;

	if (argc != 3) {
		fprintf(stderr, "usage: readings-write RING COUNT\n");
		return 2;
	}
	error = ring_create(&ring, argv[1], &options, NULL, NULL);
	if (error == 0) {
		error = stream_writer_open(&stream, ring, true);
		if (error == 0) {
			error = readings_send(ring, stream, strtoull(argv[2], NULL, 10));
			stream_writer_close(stream);
		}
		ring_destroy(ring);
	}
	if (error != 0)
		fprintf(stderr, "readings-write: %s\n", strerror(-error));
	return error == 0 ? 0 : 1;
}
