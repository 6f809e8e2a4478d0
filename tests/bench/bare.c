/*
 * bare.c - what processes and a piece of shared memory can do at all.
 *
 *   bare stream FILE SLOTS SIZE DIGEST     read(2) of FILE into slots; the consumer
 *                                          discards.  DIGEST 1: both hash all bytes
 *   bare messages SIZE COUNT SLOTS SLOT    copied into slots; the consumer sums up
 *                                          every 8 bytes -> million a second
 *   bare carry FILE SLOTS SIZE DIGEST      as stream, but from the slots through TCP
 *                                          on loopback into slots of another ring: four
 *                                          processes.  DIGEST 1: each hashes all bytes
 *
 * Two semaphores a ring, nothing checked, nobody can die: a limit to set Sluice
 * against, not a program.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "shared/digest.h"
#include "tests/bench/bare_ring.h"

static struct bare_ring *ring;

/* ---- a file ---------------------------------------------------------------------- */

static uint64_t stream_read(struct bare_ring *from, struct digest *digest)
{
	for (size_t number = 0;; number++) {
		size_t used = bare_filled(from, number);

		if (used == 0)
			return digest != NULL ? digest_value(digest) : 0;
		if (digest != NULL)
			digest_add(digest, bare_slot(from, number), used);
		sem_post(&from->spare);
	}
}

static void stream_write(int fd, struct digest *digest)
{
	for (size_t number = 0;; number++) {
		ssize_t got;

		bare_take(&ring->spare);
		got = read(fd, bare_slot(ring, number), ring->slot_size);
		if (got < 0)
			bench_die(errno, "read");
		if (got > 0 && digest != NULL)
			digest_add(digest, bare_slot(ring, number), (size_t)got);
		bare_publish(ring, number, (size_t)got);
		if (got == 0)
			return;
	}
}

static void digest_ready(struct digest *digest)
{
	if (digest_open(digest) != 0)
		bench_die(12, "digest");
	digest_begin(digest);
}

/* The consumer of a ring as a process of its own, which exits with bits of its
 * digest. */
static pid_t consumer_start(struct bare_ring *from, bool digests)
{
	struct digest digest;
	pid_t child = fork();

	if (child != 0)
		return child;
	digest_ready(&digest);
	_exit((int)(stream_read(from, digests ? &digest : NULL) & 0x7f));
}

/* The producer, and whether the consumer came to the same. */
static int producer_run(const char *path, bool digests, pid_t consumer)
{
	struct digest digest;
	int fd = open(path, O_RDONLY), status;

	if (fd < 0)
		bench_die(errno, path);
	digest_ready(&digest);
	stream_write(fd, digests ? &digest : NULL);
	waitpid(consumer, &status, 0);
	return WEXITSTATUS(status) == (digests ? (int)(digest_value(&digest) & 0x7f) : 0) ? 0 : 1;
}

static int stream(const char *path, bool digests)
{
	return producer_run(path, digests, consumer_start(ring, digests));
}

/* ---- a file, over TCP --------------------------------------------------------------- */

static void send_slots(int fd, bool digests)
{
	struct digest digest;

	digest_ready(&digest);
	for (size_t number = 0;; number++) {
		size_t used = bare_filled(ring, number), at = 0;

		if (used == 0)
			_exit(shutdown(fd, SHUT_WR) == 0 ? 0 : 1);
		if (digests)
			digest_add(&digest, bare_slot(ring, number), used);
		while (at < used) {
			ssize_t sent = send(fd, bare_slot(ring, number) + at, used - at, MSG_NOSIGNAL);

			if (sent < 0)
				bench_die(errno, "send");
			at += (size_t)sent;
		}
		sem_post(&ring->spare);
	}
}

/* Full slots, but for the last: as they were sent. */
static void receive_slots(int fd, struct bare_ring *into, bool digests)
{
	struct digest digest;

	digest_ready(&digest);
	for (size_t number = 0;; number++) {
		size_t used = 0;
		ssize_t got = 1;

		bare_take(&into->spare);
		while (used < into->slot_size && got > 0) {
			got = recv(fd, bare_slot(into, number) + used, into->slot_size - used, 0);
			if (got < 0)
				bench_die(errno, "recv");
			if (digests)
				digest_add(&digest, bare_slot(into, number) + used, (size_t)got);
			used += (size_t)got;
		}
		bare_publish(into, number, used);
		if (used == 0)
			_exit(0);
	}
}

static void connect_pair(int fds[2])
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof address;
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	fds[0] = socket(AF_INET, SOCK_STREAM, 0);
	if (listener < 0 || fds[0] < 0 || bind(listener, (struct sockaddr *)&address, length) != 0 ||
	    listen(listener, 1) != 0 || getsockname(listener, (struct sockaddr *)&address, &length) != 0 ||
	    connect(fds[0], (struct sockaddr *)&address, length) != 0)
		bench_die(errno, "connect");
	fds[1] = accept(listener, NULL, NULL);
	close(listener);
}

static int carry(const char *path, bool digests)
{
	struct bare_ring *other = bare_open(ring->slots, ring->slot_size);
	pid_t consumer;
	int fds[2];

	connect_pair(fds);
	consumer = consumer_start(other, digests);
	if (fork() == 0)
		receive_slots(fds[1], other, digests);
	if (fork() == 0)
		send_slots(fds[0], digests);
	return producer_run(path, digests, consumer);
}

/* ---- messages -------------------------------------------------------------------- */

static int messages_read(size_t size, uint64_t expected)
{
	uint64_t sum = 0;

	for (size_t number = 0;; number++) {
		const uint8_t *slot = bare_slot(ring, number);
		size_t used = bare_filled(ring, number);

		if (used == 0)
			return sum == expected ? 0 : 1;
		for (size_t at = 0; at < used; at += size)
			sum += bench_sum_words(slot + at, size);
		sem_post(&ring->spare);
	}
}

static int messages(size_t size, uint64_t count)
{
	uint8_t body[65536] = { 0 };
	uint64_t started, took, sum = 0;
	size_t number = 0, used = 0;
	int status;
	pid_t child;

	if (size < 8 || size > sizeof body || size > ring->slot_size)
		return 2;
	for (uint64_t i = 0; i < count; i++)
		sum += i;
	child = fork();
	if (child == 0)
		_exit(messages_read(size, sum));
	started = bench_now_ns();
	bare_take(&ring->spare);
	for (uint64_t i = 0; i < count; i++) {
		if (used + size > ring->slot_size) {
			bare_publish(ring, number++, used);
			bare_take(&ring->spare);
			used = 0;
		}
		memcpy(body, &i, sizeof i);
		memcpy(bare_slot(ring, number) + used, body, size);
		used += size;
	}
	bare_publish(ring, number++, used);
	bare_take(&ring->spare);
	bare_publish(ring, number, 0);
	waitpid(child, &status, 0);
	took = bench_now_ns() - started;
	printf("%.3f\n", (double)count / (double)took * 1000);
	return WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	if (argc != 6)
		return 2;
	if (strcmp(argv[1], "messages") == 0) {
		ring = bare_open(strtoul(argv[4], NULL, 10), strtoul(argv[5], NULL, 10));
		return messages(strtoul(argv[2], NULL, 10), strtoull(argv[3], NULL, 10));
	}
	ring = bare_open(strtoul(argv[3], NULL, 10), strtoul(argv[4], NULL, 10));
	if (strcmp(argv[1], "carry") == 0)
		return carry(argv[2], argv[5][0] == '1');
	return stream(argv[2], argv[5][0] == '1');
}
