/*
 * bare.c - what two processes and a piece of shared memory can do at all.
 *
 *   bare stream FILE SLOTS SIZE DIGEST     read(2) of FILE into slots; the consumer
 *                                          discards.  DIGEST 1: both hash all bytes
 *   bare messages SIZE COUNT SLOTS SLOT    copied into slots; the consumer sums up
 *                                          every 8 bytes -> million a second
 *
 * One consumer, two semaphores, nothing checked, nobody can die: a limit to set
 * Sluice against, not a program.
 */
#include <fcntl.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "ring/wait.h"
#include "shared/digest.h"
#include "tests/bench/bench.h"

#define SPIN_TURNS 128                 /* about 4 us, as Sluice's at most */
#define SLOTS_MOST 4096u

struct control {
	_Alignas(128) sem_t filled;
	_Alignas(128) sem_t spare;
	_Alignas(128) size_t used[SLOTS_MOST];   /* 0: the end */
};

static struct control *control;
static uint8_t *payload;
static size_t slots, slot_size;

static void ring_map(void)
{
	void *all;

	if (slots < 2 || slots > SLOTS_MOST || slot_size == 0)
		exit(2);
	all = mmap(NULL, sizeof *control + slots * slot_size + 4096, PROT_READ | PROT_WRITE,
	           MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (all == MAP_FAILED)
		bench_die(12, "mmap");
	control = all;
	payload = (uint8_t *)all + (sizeof *control + 4095) / 4096 * 4096;
	sem_init(&control->filled, 1, 0);
	sem_init(&control->spare, 1, (unsigned)slots);
}

static void take(sem_t *semaphore)
{
	for (int i = 0; i < SPIN_TURNS; i++) {
		if (sem_trywait(semaphore) == 0)
			return;
		wait_pause();
	}
	while (sem_wait(semaphore) != 0)
		continue;
}

static uint8_t *slot_at(size_t number)
{
	return payload + number % slots * slot_size;
}

static void publish(size_t number, size_t used)
{
	control->used[number % slots] = used;
	sem_post(&control->filled);
}

/* ---- a file ---------------------------------------------------------------------- */

static uint64_t stream_read(struct digest *digest)
{
	for (size_t number = 0;; number++) {
		size_t used;

		take(&control->filled);
		used = control->used[number % slots];
		if (used == 0)
			return digest != NULL ? digest_value(digest) : 0;
		if (digest != NULL)
			digest_add(digest, slot_at(number), used);
		sem_post(&control->spare);
	}
}

static int stream(const char *path, bool digests)
{
	struct digest digest;
	int fd = open(path, O_RDONLY), status;
	pid_t child;

	if (fd < 0 || digest_open(&digest) != 0)
		bench_die(2, path);
	digest_begin(&digest);
	child = fork();
	if (child == 0)
		_exit((int)(stream_read(digests ? &digest : NULL) & 0x7f));
	for (size_t number = 0;; number++) {
		ssize_t got;

		take(&control->spare);
		got = read(fd, slot_at(number), slot_size);
		if (got < 0)
			bench_die(5, path);
		if (got > 0 && digests)
			digest_add(&digest, slot_at(number), (size_t)got);
		publish(number, (size_t)got);
		if (got == 0)
			break;
	}
	waitpid(child, &status, 0);
	return WEXITSTATUS(status) == (digests ? (int)(digest_value(&digest) & 0x7f) : 0) ? 0 : 1;
}

/* ---- messages -------------------------------------------------------------------- */

static int messages_read(size_t size, uint64_t expected)
{
	uint64_t sum = 0;

	for (size_t number = 0;; number++) {
		const uint8_t *slot = slot_at(number);
		size_t used;

		take(&control->filled);
		used = control->used[number % slots];
		if (used == 0)
			return sum == expected ? 0 : 1;
		for (size_t at = 0; at < used; at += size)
			sum += bench_sum_words(slot + at, size);
		sem_post(&control->spare);
	}
}

static int messages(size_t size, uint64_t count)
{
	uint8_t body[65536] = { 0 };
	uint64_t started, took, sum = 0;
	size_t number = 0, used = 0;
	int status;
	pid_t child;

	if (size < 8 || size > sizeof body || size > slot_size)
		return 2;
	for (uint64_t i = 0; i < count; i++)
		sum += i;
	child = fork();
	if (child == 0)
		_exit(messages_read(size, sum));
	started = bench_now_ns();
	take(&control->spare);
	for (uint64_t i = 0; i < count; i++) {
		if (used + size > slot_size) {
			publish(number++, used);
			take(&control->spare);
			used = 0;
		}
		memcpy(body, &i, sizeof i);
		memcpy(slot_at(number) + used, body, size);
		used += size;
	}
	publish(number++, used);
	take(&control->spare);
	publish(number, 0);
	waitpid(child, &status, 0);
	took = bench_now_ns() - started;
	printf("%.3f\n", (double)count / (double)took * 1000);
	return WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	if (argc != 6)
		return 2;
	if (strcmp(argv[1], "stream") == 0) {
		slots = strtoul(argv[3], NULL, 10);
		slot_size = strtoul(argv[4], NULL, 10);
		ring_map();
		return stream(argv[2], argv[5][0] == '1');
	}
	slots = strtoul(argv[4], NULL, 10);
	slot_size = strtoul(argv[5], NULL, 10);
	ring_map();
	return messages(strtoul(argv[2], NULL, 10), strtoull(argv[3], NULL, 10));
}
