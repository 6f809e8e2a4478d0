/*
 * messages.c - small messages through the library: SIZE COUNT [SLOTS SLOT]
 * -> million messages per second.
 *
 * The writer copies each message into the ring; the reader, another process
 * that sleeps when there is nothing, adds up every 8 bytes of each.
 */
#include <sys/wait.h>

#include "shared/stream.h"
#include "tests/bench/bench.h"

static int read_all(const char *name, uint64_t expected)
{
	struct ring_reader_options options = { .label = "bench" };
	struct ring_reader *ring;
	struct stream_reader *stream;
	struct stream_item item;
	uint64_t sum = 0;

	bench_check(ring_attach_wait(&ring, name, &options, 10000, NULL), "attach");
	bench_check(stream_reader_open(&stream, ring, false), "open");
	for (;;) {
		bench_check(stream_next(stream, &item), "next");
		if (item.part == STREAM_PART_WHOLE)
			sum += bench_sum_words(item.bytes, item.length);
		else if (item.part == STREAM_PART_EMPTY)
			ring_reader_wait(ring, RING_FOREVER);
		else if (item.part == STREAM_PART_ENDED)
			break;
	}
	ring_reader_set_result(ring, sum == expected ? 0 : 1);
	stream_reader_close(stream);
	ring_detach(ring);
	return sum == expected ? 0 : 1;
}

int main(int argc, char **argv)
{
	size_t size = argc > 1 ? strtoul(argv[1], NULL, 10) : 64;
	uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 10000000, started, took, sum = 0;
	struct ring_writer_options options = { .label = "bench" };
	struct ring_writer *ring;
	struct stream_writer *stream;
	uint8_t body[65536];
	char name[64];
	pid_t child;

	if (size < 8 || size > sizeof body)
		return 2;
	if (argc > 4) {
		options.geometry.slot_count = (uint32_t)strtoul(argv[3], NULL, 10);
		options.geometry.slot_size = (uint32_t)strtoul(argv[4], NULL, 10);
	}
	snprintf(name, sizeof name, "bench-%d", (int)getpid());
	memset(body, 0, sizeof body);
	for (uint64_t i = 0; i < count; i++)
		sum += i;
	child = fork();
	if (child == 0)
		_exit(read_all(name, sum));
	bench_check(ring_create(&ring, name, &options, NULL, NULL), "create");
	bench_check(stream_writer_open(&stream, ring, true), "open");
	bench_check(ring_writer_wait_readers(ring, 1, 10000, NULL), "readers");
	started = bench_now_ns();
	for (uint64_t i = 0; i < count; i++) {
		memcpy(body, &i, sizeof i);
		bench_check(stream_send(stream, NULL, 0, body, size), "send");
	}
	stream_flush(stream, false);
	ring_writer_end(ring, RING_COMPLETE, 0);
	bench_check(ring_writer_drain(ring, 60000), "drain");
	took = bench_now_ns() - started;
	stream_writer_close(stream);
	ring_destroy(ring);
	waitpid(child, NULL, 0);
	printf("%.3f\n", (double)count / (double)took * 1000);
	return 0;
}
