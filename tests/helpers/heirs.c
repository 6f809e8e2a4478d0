/*
 * heirs.c - writers and readers of a small stream, and who takes over from them.
 *
 *   heirs write RING   a ring whose writer may be replaced; half of the stream, then hang
 *   heirs heir RING    take over from a dead writer, send the rest, end, drain
 *   heirs read RING    read it all, under a key
 *   heirs again RING   take over from a dead reader, read the rest
 *
 * A reader prints a line when it has half of the stream, one that took over when
 * it did.  Exit status 0 if all went well, 3 if there is nothing to take over, 1
 * otherwise.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ring/ring.h"

#define HALF 100000u
#define PIECE 1000u
#define PATIENCE_MS 20000

static void check(int error, const char *what)
{
	if (error == 0)
		return;
	fprintf(stderr, "heirs: %s: %s\n", what, strerror(-error));
	exit(error == -ENOENT || error == -ESRCH || error == -EBUSY || error == -EEXIST ? 3 : 1);
}

static uint8_t byte_at(uint64_t position)
{
	return (uint8_t)(position * 7 + position / 251);
}

/* ---- writers ------------------------------------------------------------------ */

static void send_up_to(struct ring_writer *writer, uint64_t end)
{
	while (ring_writer_position(writer) < end) {
		uint8_t *room;
		size_t length;
		int error = ring_writer_claim(writer, PIECE, &room, &length);

		if (error == -EAGAIN) {
			check(ring_writer_wait_space(writer, PATIENCE_MS), "wait for space");
			continue;
		}
		check(error, "claim");
		for (uint64_t i = 0; i < PIECE; i++)
			room[i] = byte_at(ring_writer_position(writer) + i);
		ring_writer_commit(writer, PIECE);
		ring_writer_publish(writer);
	}
}

static void write_half(const char *name)
{
	struct ring_writer_options options = {
		.geometry = { RING_MIN_SLOT_SIZE, 2 }, .label = "writer", .takeover_ms = PATIENCE_MS };
	struct ring_writer *writer;

	check(ring_create(&writer, name, &options, NULL, NULL), "create");
	check(ring_writer_wait_readers(writer, 1, PATIENCE_MS, NULL), "wait for readers");
	send_up_to(writer, HALF);
	for (;;)
		pause();
}

static void write_rest(const char *name)
{
	struct ring_writer_options options = { .label = "heir" };
	struct ring_writer *writer;

	check(ring_takeover(&writer, name, &options), "take over");
	if (!ring_writer_started(writer))
		check(ring_writer_wait_readers(writer, 1, PATIENCE_MS, NULL), "wait for readers");
	send_up_to(writer, 2 * HALF);
	ring_writer_end(writer, RING_COMPLETE, 0);
	check(ring_writer_drain(writer, PATIENCE_MS), "drain");
	ring_destroy(writer);
}

/* ---- readers ------------------------------------------------------------------- */

static void say(const char *what)
{
	puts(what);
	fflush(stdout);
}

static void read_all(struct ring_reader *reader)
{
	const uint8_t *bytes;
	size_t length;
	int found, told = 0;

	while ((found = ring_reader_peek(reader, &bytes, &length)) != RING_ENDED) {
		if (found == RING_EMPTY) {
			check(ring_reader_wait(reader, PATIENCE_MS), "wait for data");
			continue;
		}
		check(found, "peek");
		for (size_t i = 0; i < length; i++)
			if (bytes[i] != byte_at(ring_reader_position(reader) + i))
				check(-EILSEQ, "read");
		check(ring_reader_release(reader, length), "release");
		if (ring_reader_position(reader) >= HALF && !told) {
			told = 1;
			say("half");
		}
	}
	check(ring_reader_position(reader) >= 2 * HALF ? 0 : -ENODATA, "read");
	check(ring_reader_set_result(reader, 0), "result");
	ring_detach(reader);
}

int main(int argc, char **argv)
{
	struct ring_reader_options options = { .label = "reader", .key = 77, .linger_ms = PATIENCE_MS };
	struct ring_reader *reader;

	if (argc != 3)
		return 2;
	if (strcmp(argv[1], "write") == 0) {
		write_half(argv[2]);
	} else if (strcmp(argv[1], "heir") == 0) {
		write_rest(argv[2]);
	} else if (strcmp(argv[1], "read") == 0) {
		check(ring_attach_wait(&reader, argv[2], &options, PATIENCE_MS, NULL), "attach");
		read_all(reader);
	} else {
		check(ring_attach_again(&reader, argv[2], &options), "attach again");
		say("again");
		read_all(reader);
	}
	return 0;
}
