/* test_bridge_transport.c - connections without TLS. */
// needs: bridge/transport.c bridge/tls.c bridge/address.c
// libs: -lssl -lcrypto
#include "bridge/transport.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bridge/address.h"

#define PATIENCE_MS 20000

static struct transport *one, *other;

static void wait_for(int fd, short events)
{
	struct pollfd ready = { .fd = fd, .events = events };

	ck_assert_int_eq(poll(&ready, 1, PATIENCE_MS), 1);
}

static void open_both(int fds[2])
{
	ck_assert_int_eq(transport_open(&one, fds[0], NULL, false, NULL), 0);
	ck_assert_int_eq(transport_open(&other, fds[1], NULL, true, NULL), 0);
	ck_assert_int_eq(transport_handshake(one), 0);
	ck_assert_int_eq(transport_handshake(other), 0);
}

static void open_pair(void)
{
	int fds[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	open_both(fds);
}

static void open_tcp(void)
{
	const struct sockaddr_in any = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct address_socket address = { .length = sizeof any }, bound, peer;
	int listener, fds[2];

	memcpy(&address.storage, &any, sizeof any);
	listener = address_listen(&address, true, 1, &bound);
	ck_assert_int_ge(listener, 0);
	fds[0] = address_connect(&bound);
	wait_for(fds[0], POLLOUT);
	wait_for(listener, POLLIN);
	fds[1] = address_accept(listener, &peer);
	close(listener);
	open_both(fds);
}

static void close_both(void)
{
	transport_close(one);
	transport_close(other);
}

static ssize_t send_text(struct transport *transport, const char *text)
{
	const struct iovec piece = { (void *)(uintptr_t)text, strlen(text) };

	return transport_send(transport, &piece, 1);
}

static char received[256];

static ssize_t recv_text(struct transport *transport)
{
	const struct iovec piece = { received, sizeof received - 1 };
	ssize_t got = transport_recv(transport, &piece, 1);

	received[got > 0 ? got : 0] = '\0';
	return got;
}

START_TEST(bytes_go_both_ways)
{
	for (int tcp = 0; tcp < 2; tcp++) {
		tcp ? open_tcp() : open_pair();
		ck_assert(!transport_is_tls(one));
		ck_assert_int_eq(recv_text(other), -EAGAIN);
		ck_assert_int_eq(send_text(one, "there"), 5);
		wait_for(transport_fd(other), transport_events(other, true, false));
		ck_assert_int_eq(recv_text(other), 5);
		ck_assert_str_eq(received, "there");
		ck_assert(!transport_pending(other));
		ck_assert_int_eq(send_text(other, "back"), 4);
		wait_for(transport_fd(one), POLLIN);
		ck_assert_int_eq(recv_text(one), 4);
		ck_assert_str_eq(received, "back");
		ck_assert_int_eq(recv_text(one), -EAGAIN);
		close_both();
	}
}
END_TEST

START_TEST(events_are_what_is_wanted)
{
	open_pair();
	ck_assert_int_eq(transport_events(one, false, false), 0);
	ck_assert_int_eq(transport_events(one, true, false), POLLIN);
	ck_assert_int_eq(transport_events(one, false, true), POLLOUT);
	ck_assert_int_eq(transport_events(one, true, true), POLLIN | POLLOUT);
	close_both();
}
END_TEST

#define BULK (300u << 10)
#define PIECES_MAX (2 * IOV_MAX)       /* more than one system call takes */

static uint8_t bulk[BULK], arrived[BULK];

/* Pieces of 0 to 6 bytes, from a place on. */
static int pieces_of(uint8_t *bytes, size_t at, struct iovec *pieces, int most)
{
	int count = 0;

	for (; count < most && at < BULK; count++) {
		size_t length = (size_t)count % 7;

		pieces[count].iov_base = bytes + at;
		pieces[count].iov_len = length < BULK - at ? length : BULK - at;
		at += pieces[count].iov_len;
	}
	return count;
}

START_TEST(bytes_arrive_in_order_through_small_buffers)
{
	static struct iovec pieces[PIECES_MAX];
	size_t sent = 0, got = 0;
	int small = 4096, waits = 0;

	for (size_t i = 0; i < BULK; i++)
		bulk[i] = (uint8_t)(i * 2654435761u >> 13);
	open_pair();
	setsockopt(transport_fd(one), SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
	while (got < BULK) {
		ssize_t taken = -EAGAIN, came;

		if (sent < BULK)
			taken = transport_send(one, pieces, pieces_of(bulk, sent, pieces, PIECES_MAX));
		if (taken > 0) {
			sent += (size_t)taken;
			continue;
		}
		ck_assert_int_eq(taken, -EAGAIN);
		waits++;
		came = transport_recv(other, pieces, pieces_of(arrived, got, pieces, 100));
		ck_assert_int_gt(came, 0);
		got += (size_t)came;
	}
	ck_assert_int_gt(waits, 10);
	ck_assert_mem_eq(bulk, arrived, BULK);
	close_both();
}
END_TEST

START_TEST(the_end_is_told)
{
	open_pair();
	ck_assert_int_eq(send_text(one, "last"), 4);
	transport_close(one);
	ck_assert_int_eq(recv_text(other), 4);
	ck_assert_int_eq(recv_text(other), 0);
	ck_assert_int_eq(recv_text(other), 0);
	transport_close(other);
}
END_TEST

/* SIGPIPE would end the test. */
START_TEST(sending_to_nobody_is_an_error_and_no_signal)
{
	for (int tcp = 0; tcp < 2; tcp++) {
		ssize_t outcome;

		tcp ? open_tcp() : open_pair();
		transport_close(other);
		wait_for(transport_fd(one), POLLIN);
		while ((outcome = send_text(one, "anybody?")) > 0)
			wait_for(transport_fd(one), POLLOUT);
		ck_assert(outcome == -EPIPE || outcome == -ECONNRESET);
		ck_assert_str_eq(transport_error(one), strerror((int)-outcome));
		transport_close(one);
	}
}
END_TEST

START_TEST(a_reset_is_an_error)
{
	const struct linger abortive = { .l_onoff = 1 };

	open_tcp();
	setsockopt(transport_fd(other), SOL_SOCKET, SO_LINGER, &abortive, sizeof abortive);
	close(transport_fd(other));
	wait_for(transport_fd(one), POLLIN);
	ck_assert_int_eq(recv_text(one), -ECONNRESET);
	ck_assert_str_eq(transport_error(one), strerror(ECONNRESET));
	transport_close(one);
}
END_TEST

/* Who refuses says so and closes, though the peer has said more by then. */
START_TEST(closing_loses_no_last_words)
{
	open_tcp();
	ck_assert_int_eq(send_text(one, "a long story"), 12);
	wait_for(transport_fd(other), POLLIN);
	ck_assert_int_eq(send_text(other, "no"), 2);
	transport_close(other);
	wait_for(transport_fd(one), POLLIN);
	ck_assert_int_eq(recv_text(one), 2);
	ck_assert_str_eq(received, "no");
	wait_for(transport_fd(one), POLLIN);
	ck_assert_int_eq(recv_text(one), 0);
	transport_close(one);
}
END_TEST

START_TEST(a_descriptor_that_cannot_be_used_is_refused_and_closed)
{
	int fds[2];

	ck_assert_int_eq(transport_open(&one, -1, NULL, false, NULL), -EBADF);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	close(fds[0]);
	ck_assert_int_eq(transport_open(&one, fds[0], NULL, false, NULL), -EBADF);
	close(fds[1]);
}
END_TEST

static int option_of(int fd, int level, int name)
{
	socklen_t length = sizeof(int);
	int value = -1;

	ck_assert_int_eq(getsockopt(fd, level, name, &value, &length), 0);
	return value;
}

START_TEST(dead_peers_are_noticed_in_time)
{
	static const struct {
		int64_t dead_after_ms;
		int idle_s, interval_s;
	} cases[] = {
		{ 10000, 5, 1 },
		{ 60000, 30, 10 },
		{ 500, 1, 1 },
		{ INT64_MAX, 32767, 10922 },
	};

	open_tcp();
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		int fd = transport_fd(one);

		ck_assert_int_eq(transport_tune(fd, cases[i].dead_after_ms), 0);
		ck_assert_int_eq(option_of(fd, IPPROTO_TCP, TCP_KEEPIDLE), cases[i].idle_s);
		ck_assert_int_eq(option_of(fd, IPPROTO_TCP, TCP_KEEPINTVL), cases[i].interval_s);
		ck_assert_int_eq(option_of(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
	}
	ck_assert_int_eq(option_of(transport_fd(one), IPPROTO_TCP, TCP_NODELAY), 1);
	ck_assert(!transport_peer_is_gone(one, 0));
	close_both();
	open_pair();
	ck_assert(!transport_peer_is_gone(one, 0));
	ck_assert_int_eq(transport_tune(transport_fd(one), 10000), 0);
	close_both();
}
END_TEST

START_TEST(nothing_blocks)
{
	open_pair();
	ck_assert((fcntl(transport_fd(one), F_GETFL) & O_NONBLOCK) != 0);
	ck_assert((fcntl(transport_fd(other), F_GETFL) & O_NONBLOCK) != 0);
	close_both();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bridge: transport");
	TCase *plain = tcase_create("plain");
	SRunner *runner;
	int failed;

	tcase_add_test(plain, bytes_go_both_ways);
	tcase_add_test(plain, events_are_what_is_wanted);
	tcase_add_test(plain, bytes_arrive_in_order_through_small_buffers);
	tcase_add_test(plain, the_end_is_told);
	tcase_add_test(plain, sending_to_nobody_is_an_error_and_no_signal);
	tcase_add_test(plain, a_reset_is_an_error);
	tcase_add_test(plain, closing_loses_no_last_words);
	tcase_add_test(plain, a_descriptor_that_cannot_be_used_is_refused_and_closed);
	tcase_add_test(plain, dead_peers_are_noticed_in_time);
	tcase_add_test(plain, nothing_blocks);
	suite_add_tcase(suite, plain);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
