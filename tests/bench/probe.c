/*
 * probe.c - one way of a cache line between two processors, in ns: are they near?
 *
 * The median of short batches, some 3 ms in all.  On a virtual machine it tells
 * which processors lie beneath at the moment: 50 to 60 ns where they share an L3
 * cache, three times that where they do not.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "ring/wait.h"
#include "tests/bench/bench.h"

#define BATCHES 15
#define TURNS 500u

static struct {
	_Alignas(128) _Atomic unsigned ping;
	_Alignas(128) _Atomic unsigned pong;
} lines;

/* Onto one of the processors that we may use: the first or the second. */
static void settle(int which)
{
	cpu_set_t may, one;

	CPU_ZERO(&one);
	if (sched_getaffinity(0, sizeof may, &may) != 0)
		return;
	for (size_t i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &may) && which-- == 0)
			CPU_SET(i, &one);
	if (CPU_COUNT(&one) == 1)
		sched_setaffinity(0, sizeof one, &one);
}

static void *answer(void *context)
{
	(void)context;
	settle(1);
	for (unsigned turn = 1; turn <= BATCHES * TURNS; turn++) {
		while (atomic_load_explicit(&lines.ping, memory_order_acquire) != turn)
			wait_pause();
		atomic_store_explicit(&lines.pong, turn, memory_order_release);
	}
	return NULL;
}

int main(void)
{
	uint64_t batches[BATCHES];
	pthread_t other;
	unsigned turn = 0;

	if (pthread_create(&other, NULL, answer, NULL) != 0)
		return 5;
	settle(0);         /* only now: a thread inherits its creator's processors */
	for (unsigned batch = 0; batch < BATCHES; batch++) {
		uint64_t started = bench_now_ns();

		for (unsigned i = 0; i < TURNS; i++) {
			atomic_store_explicit(&lines.ping, ++turn, memory_order_release);
			while (atomic_load_explicit(&lines.pong, memory_order_acquire) != turn)
				wait_pause();
		}
		batches[batch] = bench_now_ns() - started;
	}
	pthread_join(other, NULL);
	qsort(batches, BATCHES, sizeof *batches, bench_compare);
	printf("%.1f\n", (double)bench_quantile(batches, BATCHES, 0.5) / TURNS / 2);
	return 0;
}
