/*
 * readings-read.c - a program that reads the records of readings-write.
 *
 *     readings-read RING
 *
 * prints a line for each.  It exits with 0 only if the stream was complete, and
 * tells the writer so, whose own exit code waits for that.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cbor.h>
#include <ring/ring.h>
#include <shared/stream.h>

#define RECORD_MAX 65536               /* bytes of one that we are ready to hold */

/* A record that came in pieces; most come in one. */
struct pieces {
	uint8_t bytes[RECORD_MAX];
	size_t length;
};

static const cbor_item_t *member(const cbor_item_t *map, const char *key)
{
	for (size_t i = 0; i < cbor_map_size(map); i++) {
		const struct cbor_pair *pair = &cbor_map_handle(map)[i];

		if (cbor_isa_string(pair->key) && cbor_string_length(pair->key) == strlen(key) &&
		    memcmp(cbor_string_handle(pair->key), key, strlen(key)) == 0)
			return pair->value;
	}
	return NULL;
}

/* Bytes from a ring are another program's: nothing about them is sure. */
static int reading_print(const cbor_item_t *item)
{
	const cbor_item_t *sensor, *at, *values;

	if (!cbor_isa_map(item))
		return -EBADMSG;
	sensor = member(item, "sensor");
	at = member(item, "at");
	values = member(item, "values");
	if (sensor == NULL || !cbor_isa_string(sensor) || !cbor_string_is_definite(sensor) ||
	    at == NULL || !cbor_isa_uint(at) || values == NULL || !cbor_isa_array(values))
		return -EBADMSG;
	printf("%.*s %" PRIu64, (int)cbor_string_length(sensor), (const char *)cbor_string_handle(sensor),
	       cbor_get_int(at));
	for (size_t i = 0; i < cbor_array_size(values); i++) {
		const cbor_item_t *value = cbor_array_handle(values)[i];

		if (!cbor_isa_float_ctrl(value) || cbor_float_ctrl_is_ctrl(value))
			return -EBADMSG;
		printf(" %.17g", cbor_float_get_float(value));
	}
	return putchar('\n') == EOF ? -EIO : 0;
}

static int record_take(const uint8_t *bytes, size_t length)
{
	struct cbor_load_result result;
	cbor_item_t *item = cbor_load(bytes, length, &result);
	int error = -EBADMSG;

	if (item == NULL)
		return error;
	if (result.read == length)
		error = reading_print(item);
	cbor_decref(&item);
	return error;
}

/* One part of the stream: 0; 1 it ended; or -errno. */
static int part_take(struct ring_reader *ring, const struct stream_item *item, struct pieces *pieces)
{
	int code;

	switch (item->part) {
	case STREAM_PART_WHOLE:
		return record_take(item->bytes, item->length);
	case STREAM_PART_BEGIN:
		pieces->length = 0;
		return 0;
	case STREAM_PART_BODY:
		if (item->length > RECORD_MAX - pieces->length)
			return -EMSGSIZE;
		memcpy(pieces->bytes + pieces->length, item->bytes, item->length);
		pieces->length += item->length;
		return 0;
	case STREAM_PART_FINISH:
		return record_take(pieces->bytes, pieces->length);
	case STREAM_PART_EMPTY:
		return ring_reader_wait(ring, RING_FOREVER);
	case STREAM_PART_ENDED:
		return ring_reader_end(ring, &code) == RING_COMPLETE ? 1 : -ECONNABORTED;
	default:
		return -EBADMSG;
	}
}

static int readings_take(struct ring_reader *ring, struct stream_reader *stream)
{
	static struct pieces pieces;
	struct stream_item item;
	int outcome;

	do {
		outcome = stream_next(stream, &item);
		if (outcome == 0)
			outcome = part_take(ring, &item, &pieces);
	} while (outcome == 0);
	if (outcome < 0)
		return outcome;
	/* Only what is safe counts. */
	return fflush(stdout) == 0 ? 0 : -errno;
}

int main(int argc, char **argv)
{
	static const struct ring_reader_options options = { .label = "readings-read" };
	struct ring_reader *ring;
	struct stream_reader *stream;
	int error, told;

	if (argc != 2) {
		fprintf(stderr, "usage: readings-read RING\n");
		return 2;
	}
	error = ring_attach_wait(&ring, argv[1], &options, 30000, NULL);
	if (error == 0) {
		error = stream_reader_open(&stream, ring, false);
		if (error == 0) {
			error = readings_take(ring, stream);
			stream_reader_close(stream);
		}
		told = ring_reader_set_result(ring, error == 0 ? 0 : 1);
		if (error == 0)
			error = told;
		ring_detach(ring);
	}
	if (error != 0)
		fprintf(stderr, "readings-read: %s\n", strerror(-error));
	return error == 0 ? 0 : 1;
}
