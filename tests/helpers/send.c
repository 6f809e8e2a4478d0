/*
 * send.c - send one small message of a given type: send RING TYPE.
 *
 * For types that sluice-producer never sends.  The body is the CBOR item
 * {"answer": 42}.  Exit status 0 if its consumer completed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/header.h"
#include "shared/stream.h"

static void check(int error, const char *what)
{
	if (error == 0)
		return;
	fprintf(stderr, "send: %s: %s\n", what, strerror(-error));
	exit(1);
}

int main(int argc, char **argv)
{
	static const uint8_t body[] = "\xa1\x66" "answer\x18\x2a";
	static struct message_header header = { .has_type = true };
	static uint8_t encoded[2 * HEADER_TEXT_MAX + 64];
	struct ring_writer_options options = { .label = "send" };
	struct ring_writer *ring;
	struct stream_writer *stream;
	int error;

	if (argc != 3)
		return 2;
	snprintf(header.type, sizeof header.type, "%s", argv[2]);
	check(ring_create(&ring, argv[1], &options, NULL, NULL), "create");
	check(stream_writer_open(&stream, ring, true), "open");
	check(ring_writer_wait_readers(ring, 1, 20000, NULL), "wait");
	check(stream_send(stream, encoded, header_encode(&header, encoded), body, sizeof body - 1), "send");
	stream_flush(stream, false);
	ring_writer_end(ring, RING_COMPLETE, 0);
	error = ring_writer_drain(ring, 20000);
	stream_writer_close(stream);
	ring_destroy(ring);
	return error == 0 ? 0 : 1;
}
