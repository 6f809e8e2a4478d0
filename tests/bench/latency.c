/*
 * latency.c - one-way latency of a 64-byte message: MODE COUNT -> p50, p99 in ns.
 *
 *   sleep   the reader sleeps; a message every 200 us
 *   spin    both sides spin; a message every 20 us
 *   semaphore, timed, line   what the machine does at best, with the same stamps: a
 *           bare semaphore whose waiter sleeps, without and with a limit of 100 ms;
 *           a bare cache line whose reader spins
 */
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "ring/wait.h"
#include "shared/stream.h"
#include "tests/bench/bench.h"

static void report(uint64_t *samples, size_t count)
{
	qsort(samples, count, sizeof *samples, bench_compare);
	printf("%llu %llu\n", (unsigned long long)bench_quantile(samples, count, 0.5),
	       (unsigned long long)bench_quantile(samples, count, 0.99));
	fflush(stdout);
}

static void pause_until(uint64_t when)
{
	while (bench_now_ns() < when)
		wait_pause();
}

/* ---- the ring ------------------------------------------------------------------ */

static int read_stamps(const char *name, size_t count, bool spin)
{
	struct ring_reader_options options = { .label = "bench", .spin = spin };
	struct ring_reader *ring;
	struct stream_reader *stream;
	struct stream_item item;
	uint64_t *samples = calloc(count, sizeof *samples), stamp;
	size_t got = 0;

	bench_check(ring_attach_wait(&ring, name, &options, 10000, NULL), "attach");
	bench_check(stream_reader_open(&stream, ring, false), "open");
	for (;;) {
		bench_check(stream_next(stream, &item), "next");
		if (item.part == STREAM_PART_EMPTY)
			ring_reader_wait(ring, RING_FOREVER);
		if (item.part == STREAM_PART_ENDED)
			break;
		if (item.part != STREAM_PART_WHOLE)
			continue;
		memcpy(&stamp, item.bytes, sizeof stamp);
		samples[got++] = bench_now_ns() - stamp;
	}
	report(samples + count / 10, got - count / 10);
	ring_reader_set_result(ring, 0);
	stream_reader_close(stream);
	ring_detach(ring);
	return 0;
}

static void through_ring(size_t count, bool spin)
{
	struct ring_writer_options options = { .label = "bench", .spin = spin };
	struct ring_writer *ring;
	struct stream_writer *stream;
	uint8_t body[64] = { 0 };
	char name[64];
	pid_t child;

	snprintf(name, sizeof name, "bench-%d", (int)getpid());
	child = fork();
	if (child == 0)
		_exit(read_stamps(name, count, spin));
	bench_check(ring_create(&ring, name, &options, NULL, NULL), "create");
	bench_check(stream_writer_open(&stream, ring, true), "open");
	bench_check(ring_writer_wait_readers(ring, 1, 10000, NULL), "readers");
	for (size_t i = 0; i < count; i++) {
		uint64_t now;

		pause_until(bench_now_ns() + (spin ? 20000 : 200000));
		now = bench_now_ns();
		memcpy(body, &now, sizeof now);
		bench_check(stream_send(stream, NULL, 0, body, sizeof body), "send");
		stream_flush(stream, false);
	}
	ring_writer_end(ring, RING_COMPLETE, 0);
	bench_check(ring_writer_drain(ring, 60000), "drain");
	stream_writer_close(stream);
	ring_destroy(ring);
	waitpid(child, NULL, 0);
}

/* ---- the machine ------------------------------------------------------------------- */

struct bare {
	_Alignas(128) sem_t there;
	_Alignas(128) uint64_t stamp;
	_Alignas(128) _Atomic uint64_t ping;
	_Alignas(128) _Atomic uint64_t seen;   /* so that no stamp is missed */
};

static struct bare *bare_map(void)
{
	struct bare *bare = mmap(NULL, sizeof *bare, PROT_READ | PROT_WRITE,
	                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (bare == MAP_FAILED)
		bench_die(12, "mmap");
	sem_init(&bare->there, 1, 0);
	return bare;
}

/* One way, as in the ring: stamped before the post, read after the wake.  `timed`:
 * the waiter sleeps as Sluice does, at most 100 ms, which sets and clears a timer. */
static void through_semaphore(size_t count, bool timed)
{
	struct bare *bare = bare_map();
	pid_t child = fork();

	if (child == 0) {
		uint64_t *samples = calloc(count, sizeof *samples);

		for (size_t i = 0; i < count; i++) {
			if (timed)
				wait_sleep(&bare->there, UINT64_MAX);
			else
				while (sem_wait(&bare->there) != 0)
					continue;
			samples[i] = bench_now_ns() - bare->stamp;
		}
		report(samples + count / 10, count - count / 10);
		_exit(0);
	}
	for (size_t i = 0; i < count; i++) {
		pause_until(bench_now_ns() + 200000);
		bare->stamp = bench_now_ns();
		sem_post(&bare->there);
	}
	waitpid(child, NULL, 0);
}

/* One way, as in the ring: a stamp in one line, read by a spinning process. */
static void through_line(size_t count)
{
	struct bare *bare = bare_map();
	pid_t child = fork();

	if (child == 0) {
		uint64_t *samples = calloc(count, sizeof *samples), last = 0, stamp;

		for (size_t i = 0; i < count; i++) {
			while ((stamp = atomic_load_explicit(&bare->ping, memory_order_acquire)) == last)
				wait_pause();
			samples[i] = bench_now_ns() - stamp;
			last = stamp;
			atomic_store_explicit(&bare->seen, stamp, memory_order_release);
		}
		report(samples + count / 10, count - count / 10);
		_exit(0);
	}
	for (size_t i = 0; i < count; i++) {
		uint64_t stamp;

		pause_until(bench_now_ns() + 20000);
		stamp = bench_now_ns();
		atomic_store_explicit(&bare->ping, stamp, memory_order_release);
		while (atomic_load_explicit(&bare->seen, memory_order_acquire) != stamp)
			wait_pause();
	}
	waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "sleep";
	size_t count = argc > 2 ? strtoul(argv[2], NULL, 10) : 10000;

	if (strcmp(mode, "sleep") == 0 || strcmp(mode, "spin") == 0)
		through_ring(count, mode[1] == 'p');
	else if (strcmp(mode, "semaphore") == 0)
		through_semaphore(count, false);
	else if (strcmp(mode, "timed") == 0)
		through_semaphore(count, true);
	else if (strcmp(mode, "line") == 0)
		through_line(count);
	else
		return 2;
	return 0;
}
