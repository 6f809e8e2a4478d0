/* wait.c - sleeping and spinning. */
#include "ring/wait.h"

#include <errno.h>
#include <sched.h>
#include <sys/resource.h>

#define DRAIN_MOST 256             /* more tokens than processes that may post */
#define SPIN_LEAST_TURNS 16u       /* about 0.5 us */
#define SPIN_MOST_TURNS 128u       /* about 4 us */
#define SPIN_RETRY 64u             /* after so many sleeps, try spinning again */
#define SPIN_ALWAYS_NS 1000000000u /* --spin gives up after a second of nothing */

uint64_t wait_deadline_ns(int64_t timeout_ms)
{
	if (timeout_ms < 0)
		return UINT64_MAX;
	return wait_now_ns() + (uint64_t)timeout_ms * 1000000u;
}

void wait_drain(sem_t *semaphore)
{
	for (int i = 0; i < DRAIN_MOST && sem_trywait(semaphore) == 0; i++)
		continue;
}

void wait_sleep(sem_t *semaphore, uint64_t deadline_ns)
{
	uint64_t until = wait_now_ns() + WAIT_SLICE_MS * 1000000u;
	struct timespec time;

	if (until > deadline_ns)
		until = deadline_ns;
	time.tv_sec = (time_t)(until / 1000000000u);
	time.tv_nsec = (long)(until % 1000000000u);
	/* A token, a timeout or a signal: the caller looks again in any case. */
	sem_clockwait(semaphore, CLOCK_MONOTONIC, &time);
}

void spinner_init(struct spinner *spinner, bool always)
{
	cpu_set_t set;

	spinner->able = sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 1;
	spinner->always = always;
	spinner->turns = SPIN_LEAST_TURNS;
	spinner->misses = 0;
}

/* How often this thread was pushed off its processor. */
static long preemptions(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : 0;
}

static bool spin_on(bool (*ready)(void *context), void *context)
{
	uint64_t end = wait_now_ns() + SPIN_ALWAYS_NS;
	long before = preemptions();

	do {
		for (unsigned i = 0; i < 2048; i++) {
			if (ready(context))
				return true;
			wait_pause();
		}
	} while (wait_now_ns() < end && preemptions() == before);
	return false;
}

bool spinner_spin(struct spinner *spinner, bool (*ready)(void *context), void *context)
{
	if (!spinner->able)
		return false;
	if (spinner->always)
		return spin_on(ready, context);
	if (spinner->turns < SPIN_LEAST_TURNS && ++spinner->misses < SPIN_RETRY)
		return false;
	spinner->misses = 0;
	for (unsigned i = 0; i < spinner->turns || i < SPIN_LEAST_TURNS; i++) {
		if (ready(context)) {
			if (spinner->turns < SPIN_MOST_TURNS)
				spinner->turns *= 2;
			if (spinner->turns < SPIN_LEAST_TURNS)
				spinner->turns = SPIN_LEAST_TURNS;
			return true;
		}
		wait_pause();
	}
	if (spinner->turns > 1)
		spinner->turns /= 2;
	return false;
}
