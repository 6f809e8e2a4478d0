/*
 * bare_ring.h - slots in shared memory between two processes, and two semaphores:
 * nothing checked, nobody can die.  For bare.c.
 */
#ifndef SLUICE_BENCH_BARE_RING_H
#define SLUICE_BENCH_BARE_RING_H

#include <semaphore.h>
#include <sys/mman.h>

#include "ring/wait.h"
#include "tests/bench/bench.h"

#define BARE_SPIN_TURNS 128            /* about 4 us, as Sluice's at most */
#define BARE_SLOTS_MOST 4096u

struct bare_ring {
	_Alignas(128) sem_t filled;
	_Alignas(128) sem_t spare;
	_Alignas(128) size_t slots, slot_size;
	uint8_t *payload;
	size_t used[BARE_SLOTS_MOST];  /* 0: the end */
};

/* For processes that are forked from here on. */
static inline struct bare_ring *bare_open(size_t slots, size_t slot_size)
{
	size_t head = (sizeof(struct bare_ring) + 4095) / 4096 * 4096;
	struct bare_ring *ring;
	void *all;

	if (slots < 2 || slots > BARE_SLOTS_MOST || slot_size == 0)
		exit(2);
	all = mmap(NULL, head + slots * slot_size, PROT_READ | PROT_WRITE,
	           MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (all == MAP_FAILED)
		bench_die(12, "mmap");
	ring = all;
	ring->slots = slots;
	ring->slot_size = slot_size;
	ring->payload = (uint8_t *)all + head;
	sem_init(&ring->filled, 1, 0);
	sem_init(&ring->spare, 1, (unsigned)slots);
	return ring;
}

static inline void bare_take(sem_t *semaphore)
{
	for (int i = 0; i < BARE_SPIN_TURNS; i++) {
		if (sem_trywait(semaphore) == 0)
			return;
		wait_pause();
	}
	while (sem_wait(semaphore) != 0)
		continue;
}

static inline uint8_t *bare_slot(const struct bare_ring *ring, size_t number)
{
	return ring->payload + number % ring->slots * ring->slot_size;
}

static inline void bare_publish(struct bare_ring *ring, size_t number, size_t used)
{
	ring->used[number % ring->slots] = used;
	sem_post(&ring->filled);
}

/* Wait for slot `number`; how much of it is used. */
static inline size_t bare_filled(struct bare_ring *ring, size_t number)
{
	bare_take(&ring->filled);
	return ring->used[number % ring->slots];
}

#endif
