/*
 * wait.h - time, sleeping on a semaphore, and spinning a little before it.
 */
#ifndef SLUICE_RING_WAIT_H
#define SLUICE_RING_WAIT_H

#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define WAIT_SLICE_MS 100          /* no sleep is longer: what was missed is seen then */

/* CLOCK_MONOTONIC. */
static inline uint64_t wait_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* A deadline timeout_ms from now; UINT64_MAX for RING_FOREVER. */
uint64_t wait_deadline_ns(int64_t timeout_ms);

/* Take the tokens that there are; a few at most, unless somebody plays tricks. */
void wait_drain(sem_t *semaphore);

/* Sleep until a token or the end of a slice or of the deadline. */
void wait_sleep(sem_t *semaphore, uint64_t deadline_ns);

/* The spinning hint of the processor. */
static inline void wait_pause(void)
{
#if defined __x86_64__ || defined __i386__
	__builtin_ia32_pause();
#elif defined __aarch64__
	__asm__ __volatile__("isb" ::: "memory");
#endif
}

/*
 * How long to spin before sleeping: it doubles when spinning was enough, and
 * halves when it was not, so it costs little where the other side is slow.
 * None on one processor.  `always` (--spin) keeps at it as long as the
 * processor is not wanted by somebody else.
 */
struct spinner {
	unsigned turns;
	unsigned misses;
	bool able;
	bool always;
};

void spinner_init(struct spinner *spinner, bool always);

/* Spin until ready(context).  Returns whether it is. */
bool spinner_spin(struct spinner *spinner, bool (*ready)(void *context), void *context);

#endif
