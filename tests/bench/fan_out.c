/*
 * fan_out.c - an event of a few KB with 50 header entries, published to several
 * destinations: serialized for each of them, or once.
 *
 *   fan_out each COUNT PORT...   encode and send(2) to every port, for each event
 *   fan_out once COUNT N         encode into a ring of this process's own name,
 *                                which is printed, for N readers
 *   fan_out sink N               listen, print the port, take all that N send
 *
 * Prints the CPU time of this process per event, in ns: all of it, and without
 * what its send calls took.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <cbor.h>

#include "shared/stream.h"
#include "tests/bench/bench.h"

#define ENTRIES 50
#define BODY_BYTES 2048
#define EVENT_MAX 8192
#define PORTS_MAX 64

static uint64_t cpu_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- the event ------------------------------------------------------------------- */

static char keys[ENTRIES][24], values[ENTRIES][40];
static uint8_t payload[BODY_BYTES];

static void event_prepare(void)
{
	for (int i = 0; i < ENTRIES; i++) {
		snprintf(keys[i], sizeof keys[i], "header-entry-%02d", i);
		snprintf(values[i], sizeof values[i], "value %d of this entry, in words", i * 7919);
	}
	for (size_t i = 0; i < sizeof payload; i++)
		payload[i] = (uint8_t)(i * 31);
}

static size_t put_text(uint8_t *out, size_t size, const char *text)
{
	size_t length = strlen(text), head = cbor_encode_string_start(length, out, size);

	memcpy(out + head, text, length);
	return head + length;
}

/* [number, {50 entries, every fifth a number}, bytes] */
static size_t event_encode(uint64_t number, uint8_t *out, size_t size)
{
	size_t at = cbor_encode_array_start(3, out, size);

	at += cbor_encode_uint(number, out + at, size - at);
	at += cbor_encode_map_start(ENTRIES, out + at, size - at);
	for (int i = 0; i < ENTRIES; i++) {
		at += put_text(out + at, size - at, keys[i]);
		if (i % 5 == 0)
			at += cbor_encode_uint(number + (uint64_t)i, out + at, size - at);
		else
			at += put_text(out + at, size - at, values[i]);
	}
	at += cbor_encode_bytestring_start(sizeof payload, out + at, size - at);
	memcpy(out + at, payload, sizeof payload);
	return at + sizeof payload;
}

/* ---- for each ---------------------------------------------------------------------- */

static int connect_to(const char *port)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)strtoul(port, NULL, 10)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
		bench_die(errno, "connect");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	return fd;
}

static void send_all(int fd, const uint8_t *bytes, size_t length)
{
	while (length > 0) {
		ssize_t sent = send(fd, bytes, length, MSG_NOSIGNAL);

		if (sent < 0)
			bench_die(errno, "send");
		bytes += sent;
		length -= (size_t)sent;
	}
}

static int run_each(uint64_t count, int ports, char **port)
{
	uint64_t started, encoding = 0, clock_cost;
	uint8_t event[EVENT_MAX];
	int fds[PORTS_MAX];

	if (ports > PORTS_MAX)
		return 2;
	for (int i = 0; i < ports; i++)
		fds[i] = connect_to(port[i]);
	/* What the two readings of the clock around each encoding cost. */
	started = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
	for (int i = 0; i < 10000; i++)
		cpu_ns(CLOCK_THREAD_CPUTIME_ID);
	clock_cost = (cpu_ns(CLOCK_THREAD_CPUTIME_ID) - started) / 10000;
	started = cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
	for (uint64_t n = 0; n < count; n++) {
		for (int i = 0; i < ports; i++) {
			uint64_t before = cpu_ns(CLOCK_THREAD_CPUTIME_ID), took;
			size_t length = event_encode(n, event, sizeof event);

			took = cpu_ns(CLOCK_THREAD_CPUTIME_ID) - before;
			encoding += took > clock_cost ? took - clock_cost : 0;
			send_all(fds[i], event, length);
		}
	}
	printf("%llu %llu\n",
	       (unsigned long long)((cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - started) / count -
	                            2 * clock_cost * (uint64_t)ports),
	       (unsigned long long)(encoding / count));
	return 0;
}

/* ---- once ---------------------------------------------------------------------------- */

static void publish(struct stream_writer *stream, uint64_t number)
{
	uint8_t *room;
	size_t length;

	bench_check(stream_begin(stream, NULL, 0), "begin");
	bench_check(stream_room(stream, EVENT_MAX, &room, &length), "room");
	stream_fill(stream, event_encode(number, room, length));
	bench_check(stream_finish(stream), "finish");
	stream_flush(stream, false);
}

static int run_once(uint64_t count, unsigned readers)
{
	struct ring_writer_options options = { .label = "bench" };
	struct ring_writer *ring;
	struct stream_writer *stream;
	uint64_t started, took;
	char name[64];

	snprintf(name, sizeof name, "bench-%d", (int)getpid());
	bench_check(ring_create(&ring, name, &options, NULL, NULL), "create");
	bench_check(stream_writer_open(&stream, ring, true), "open");
	printf("%s\n", name);
	fflush(stdout);
	bench_check(ring_writer_wait_readers(ring, readers, 30000, NULL), "readers");
	started = cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
	for (uint64_t n = 0; n < count; n++)
		publish(stream, n);
	took = cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - started;
	ring_writer_end(ring, RING_COMPLETE, 0);
	bench_check(ring_writer_drain(ring, 60000), "drain");
	stream_writer_close(stream);
	ring_destroy(ring);
	printf("%llu %llu\n", (unsigned long long)(took / count), (unsigned long long)(took / count));
	return 0;
}

/* ---- the other end of `each` ------------------------------------------------------------ */

static int run_sink(int senders)
{
	static char buffer[1 << 18];
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof address;
	struct pollfd polls[PORTS_MAX];
	int listener = socket(AF_INET, SOCK_STREAM, 0), left = senders;

	if (senders > PORTS_MAX || listener < 0 ||
	    bind(listener, (struct sockaddr *)&address, sizeof address) != 0 ||
	    listen(listener, PORTS_MAX) != 0 ||
	    getsockname(listener, (struct sockaddr *)&address, &length) != 0)
		bench_die(errno, "listen");
	printf("%u\n", ntohs(address.sin_port));
	fflush(stdout);
	for (int i = 0; i < senders; i++) {
		polls[i].fd = accept(listener, NULL, NULL);
		polls[i].events = POLLIN;
	}
	while (left > 0) {
		poll(polls, (nfds_t)senders, -1);
		for (int i = 0; i < senders; i++) {
			if (polls[i].fd < 0 || polls[i].revents == 0)
				continue;
			if (read(polls[i].fd, buffer, sizeof buffer) > 0)
				continue;
			polls[i].fd = -1;
			left--;
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	event_prepare();
	if (argc > 3 && strcmp(argv[1], "each") == 0)
		return run_each(strtoull(argv[2], NULL, 10), argc - 3, argv + 3);
	if (argc == 4 && strcmp(argv[1], "once") == 0)
		return run_once(strtoull(argv[2], NULL, 10), (unsigned)strtoul(argv[3], NULL, 10));
	if (argc == 3 && strcmp(argv[1], "sink") == 0)
		return run_sink(atoi(argv[2]));
	fprintf(stderr, "usage: fan_out each COUNT PORT... | once COUNT N | sink N\n");
	return 2;
}
