/* test_bridge_address.c - addresses as people write them, and sockets of them. */
// needs: bridge/address.c
#include "bridge/address.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_MS 20000

static struct address address;
static struct address_list list;
static char why[ADDRESS_WHY_MAX];

static int parse(const char *text, bool listening)
{
	memset(&address, 0xaa, sizeof address);
	why[0] = '\0';
	return address_parse(text, listening, &address, why, sizeof why);
}

static void takes(const char *text, bool listening, const char *host, unsigned port)
{
	ck_assert_msg(parse(text, listening) == 0, "%s: %s", text, why);
	ck_assert_str_eq(address.host, host);
	ck_assert_uint_eq(address.port, port);
}

static void refuses(const char *text, bool listening, const char *fault)
{
	char expected[ADDRESS_WHY_MAX];

	snprintf(expected, sizeof expected, "bad address \"%s\": %s", text, fault);
	ck_assert_int_eq(parse(text, listening), -EINVAL);
	ck_assert_str_eq(why, expected);
}

/* ---- what people write --------------------------------------------------------- */

START_TEST(hosts_and_ports_are_taken_apart)
{
	takes("example.org:7000", false, "example.org", 7000);
	takes("127.0.0.1:1", false, "127.0.0.1", 1);
	takes("[::1]:65535", false, "::1", 65535);
	takes("[fe80::1%eth0]:80", false, "fe80::1%eth0", 80);
	takes("localhost:7000", true, "localhost", 7000);
}
END_TEST

START_TEST(listening_needs_no_host_and_may_leave_the_port_open)
{
	takes(":7000", true, "", 7000);
	takes("*:7000", true, "", 7000);
	takes(":0", true, "", 0);
	takes("127.0.0.1:0", true, "127.0.0.1", 0);
	refuses(":7000", false, "no host");
	refuses("*:7000", false, "no host");
	refuses("localhost:0", false, "port 0 is only for listening");
}
END_TEST

START_TEST(what_is_no_address_is_refused_with_the_reason)
{
	refuses("", false, "no :PORT");
	refuses("localhost", false, "no :PORT");
	refuses("::1", false, "an IPv6 address must be in brackets, [ADDRESS]:PORT");
	refuses("::1:80", true, "an IPv6 address must be in brackets, [ADDRESS]:PORT");
	refuses("[::1", false, "no ] after [");
	refuses("[::1]", false, "no :PORT after ]");
	refuses("[::1]80", false, "no :PORT after ]");
	refuses("[]:80", true, "no IPv6 address in the brackets");
	refuses("[localhost]:80", false, "no IPv6 address in the brackets");
	refuses("localhost:", false, "the port is no number up to 65535");
	refuses("localhost:http", false, "the port is no number up to 65535");
	refuses("localhost:65536", false, "the port is no number up to 65535");
	refuses("localhost:-1", false, "the port is no number up to 65535");
	refuses("localhost:+1", false, "the port is no number up to 65535");
	refuses("localhost: 1", false, "the port is no number up to 65535");
	refuses("local host:80", false, "that is no host");
	refuses("http://host/x:80", false, "an IPv6 address must be in brackets, [ADDRESS]:PORT");
	refuses("//host/x:80", false, "that is no host");
}
END_TEST

START_TEST(hosts_have_a_length)
{
	char text[ADDRESS_HOST_MAX + 8];

	memset(text, 'h', sizeof text);
	memcpy(text + ADDRESS_HOST_MAX, ":80", 4);
	ck_assert_int_eq(parse(text, false), 0);
	ck_assert_uint_eq(strlen(address.host), ADDRESS_HOST_MAX);
	memset(text, 'h', sizeof text);
	memcpy(text + ADDRESS_HOST_MAX + 1, ":80", 4);
	ck_assert_int_eq(parse(text, false), -EINVAL);
	ck_assert_ptr_nonnull(strstr(why, "the host is too long"));
}
END_TEST

/* ---- addresses of the kernel's --------------------------------------------------- */

/* The first address of what is written so. */
static const struct address_socket *resolved(const char *text)
{
	ck_assert_msg(parse(text, true) == 0, "%s", why);
	ck_assert_msg(address_resolve(&address, true, &list, why, sizeof why) == 0, "%s", why);
	ck_assert_uint_ge(list.count, 1);
	ck_assert_uint_le(list.count, ADDRESS_LIST_MAX);
	return &list.entries[0];
}

static const char *formatted(const char *text)
{
	static char out[ADDRESS_TEXT_MAX];

	return address_format(resolved(text), out);
}

START_TEST(addresses_are_shown_as_they_are_written)
{
	ck_assert_str_eq(formatted("127.0.0.1:80"), "127.0.0.1:80");
	ck_assert_str_eq(formatted("[::1]:80"), "[::1]:80");
	ck_assert_str_eq(formatted("[2001:db8::0:1]:65535"), "[2001:db8::1]:65535");
	ck_assert_str_eq(formatted("[::ffff:10.0.0.1]:80"), "10.0.0.1:80");
}
END_TEST

START_TEST(no_host_is_every_address)
{
	char out[ADDRESS_TEXT_MAX];

	ck_assert_str_eq(formatted(":7000"), "[::]:7000");
	ck_assert_uint_eq(list.count, 2);
	ck_assert_str_eq(address_format(&list.entries[1], out), "0.0.0.0:7000");
}
END_TEST

START_TEST(what_is_neither_ipv4_nor_ipv6_is_shown_as_unknown)
{
	struct address_socket local = { .length = sizeof(sa_family_t), .storage.ss_family = AF_UNIX };
	char out[ADDRESS_TEXT_MAX];

	local.storage.ss_family = AF_UNSPEC;
	ck_assert_str_eq(address_format(&local, out), "?");
	ck_assert(!address_is_loopback(&local));
}
END_TEST

START_TEST(loopback_is_told_from_the_world)
{
	ck_assert(address_is_loopback(resolved("127.0.0.1:1")));
	ck_assert(address_is_loopback(resolved("127.255.0.9:1")));
	ck_assert(address_is_loopback(resolved("[::1]:1")));
	ck_assert(address_is_loopback(resolved("[::ffff:127.0.0.1]:1")));
	ck_assert(address_is_loopback(resolved("localhost:1")));
	ck_assert(!address_is_loopback(resolved("128.0.0.1:1")));
	ck_assert(!address_is_loopback(resolved("[::ffff:10.0.0.1]:1")));
	ck_assert(!address_is_loopback(resolved("[::2]:1")));
	ck_assert(!address_is_loopback(resolved("0.0.0.0:1")));
	ck_assert(!address_is_loopback(resolved(":1")));
}
END_TEST

START_TEST(a_host_that_cannot_be_is_not_found)
{
	ck_assert_int_eq(parse("[::g]:80", false), 0);
	ck_assert_int_eq(address_resolve(&address, false, &list, why, sizeof why), -ENOENT);
	ck_assert_ptr_nonnull(strstr(why, "cannot look up \"::g\": "));
}
END_TEST

/* ---- sockets ----------------------------------------------------------------------- */

static int listen_on(const char *text, bool v6_only, struct address_socket *bound)
{
	return address_listen(resolved(text), v6_only, 8, bound);
}

static void wait_for(int fd, short events)
{
	struct pollfd ready = { .fd = fd, .events = events };

	ck_assert_int_eq(poll(&ready, 1, PATIENCE_MS), 1);
}

static void check_descriptor(int fd)
{
	ck_assert_int_ge(fd, 0);
	ck_assert((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
	ck_assert((fcntl(fd, F_GETFL) & O_NONBLOCK) != 0);
}

/* Connect to `bound` and back.  Returns what the accepted peer looks like. */
static void connects(int listener, const struct address_socket *bound, char out[ADDRESS_TEXT_MAX])
{
	struct address_socket peer;
	int client = address_connect(bound), accepted;

	check_descriptor(client);
	wait_for(client, POLLOUT);
	ck_assert_int_eq(address_connected(client), 0);
	wait_for(listener, POLLIN);
	accepted = address_accept(listener, &peer);
	check_descriptor(accepted);
	address_format(&peer, out);
	ck_assert_int_eq(address_accept(listener, &peer), -EAGAIN);
	close(accepted);
	close(client);
}

static bool have_ipv6(void)
{
	struct address_socket bound;
	int fd = listen_on("[::1]:0", true, &bound);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

START_TEST(a_free_port_is_found_and_told)
{
	struct address_socket bound;
	char out[ADDRESS_TEXT_MAX];
	int listener = listen_on("127.0.0.1:0", true, &bound);

	check_descriptor(listener);
	ck_assert_str_ne(address_format(&bound, out), "127.0.0.1:0");
	connects(listener, &bound, out);
	ck_assert_int_eq(strncmp(out, "127.0.0.1:", 10), 0);
	close(listener);
}
END_TEST

START_TEST(ipv6_takes_ipv4_unless_it_is_to_be_alone)
{
	struct address_socket bound, mapped;
	struct sockaddr_in6 in6;
	char out[ADDRESS_TEXT_MAX];
	int listener, client;

	if (!have_ipv6())
		return;
	listener = listen_on(":0", false, &bound);
	check_descriptor(listener);
	memcpy(&in6, &bound.storage, sizeof in6);
	mapped = *resolved("127.0.0.1:0");
	((struct sockaddr_in *)&mapped.storage)->sin_port = in6.sin6_port;
	connects(listener, &mapped, out);
	ck_assert_int_eq(strncmp(out, "127.0.0.1:", 10), 0);
	close(listener);

	listener = listen_on("[::1]:0", true, &bound);
	connects(listener, &bound, out);
	ck_assert_int_eq(strncmp(out, "[::1]:", 6), 0);
	memcpy(&in6, &bound.storage, sizeof in6);
	((struct sockaddr_in *)&mapped.storage)->sin_port = in6.sin6_port;
	client = address_connect(&mapped);
	if (client >= 0) {
		wait_for(client, POLLOUT);
		ck_assert_int_eq(address_connected(client), -ECONNREFUSED);
		close(client);
	}
	close(listener);
}
END_TEST

START_TEST(a_port_in_use_and_a_foreign_address_are_errors)
{
	struct address_socket bound, again;
	int listener = listen_on("127.0.0.1:0", true, &bound);

	ck_assert_int_eq(address_listen(&bound, true, 8, &again), -EADDRINUSE);
	ck_assert_int_eq(listen_on("192.0.2.1:0", true, &again), -EADDRNOTAVAIL);
	close(listener);
}
END_TEST

START_TEST(a_closed_port_refuses)
{
	struct address_socket bound;
	int fd = listen_on("127.0.0.1:0", true, &bound);

	close(fd);
	fd = address_connect(&bound);
	if (fd < 0) {
		ck_assert_int_eq(fd, -ECONNREFUSED);
		return;
	}
	wait_for(fd, POLLOUT);
	ck_assert_int_eq(address_connected(fd), -ECONNREFUSED);
	close(fd);
}
END_TEST

START_TEST(a_connection_is_not_over_before_it_is)
{
	struct address_socket bound, peer;
	int listener = listen_on("127.0.0.1:0", true, &bound), clients[64], count = 0, outcome = 0;
	int accepted;

	/* The queue of a listener that accepts nobody fills up in the end. */
	while (count < 64 && outcome == 0) {
		struct pollfd ready = { .events = POLLOUT };

		clients[count] = ready.fd = address_connect(&bound);
		ck_assert_int_ge(clients[count], 0);
		poll(&ready, 1, 10);
		outcome = address_connected(clients[count]);
		count++;
	}
	ck_assert_int_eq(outcome, -EINPROGRESS);
	accepted = address_accept(listener, &peer);
	ck_assert_int_ge(accepted, 0);
	close(accepted);
	while (count > 0)
		close(clients[--count]);
	close(listener);
}
END_TEST

START_TEST(a_connection_with_itself_is_none)
{
	struct address_socket here = *resolved("127.0.0.1:0");
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	ck_assert_int_eq(bind(fd, (struct sockaddr *)&here.storage, here.length), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&here.storage, &here.length), 0);
	ck_assert(connect(fd, (struct sockaddr *)&here.storage, here.length) == 0 || errno == EINPROGRESS);
	wait_for(fd, POLLOUT);
	ck_assert_int_eq(address_connected(fd), -ECONNREFUSED);
	close(fd);
}
END_TEST

START_TEST(accepting_from_what_is_no_listener_is_an_error)
{
	struct address_socket peer;

	ck_assert_int_eq(address_accept(-1, &peer), -EBADF);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bridge: addresses");
	TCase *texts = tcase_create("texts");
	TCase *sockets = tcase_create("sockets");
	SRunner *runner;
	int failed;

	tcase_add_test(texts, hosts_and_ports_are_taken_apart);
	tcase_add_test(texts, listening_needs_no_host_and_may_leave_the_port_open);
	tcase_add_test(texts, what_is_no_address_is_refused_with_the_reason);
	tcase_add_test(texts, hosts_have_a_length);
	tcase_add_test(texts, addresses_are_shown_as_they_are_written);
	tcase_add_test(texts, no_host_is_every_address);
	tcase_add_test(texts, what_is_neither_ipv4_nor_ipv6_is_shown_as_unknown);
	tcase_add_test(texts, loopback_is_told_from_the_world);
	tcase_add_test(texts, a_host_that_cannot_be_is_not_found);
	tcase_add_test(sockets, a_free_port_is_found_and_told);
	tcase_add_test(sockets, ipv6_takes_ipv4_unless_it_is_to_be_alone);
	tcase_add_test(sockets, a_port_in_use_and_a_foreign_address_are_errors);
	tcase_add_test(sockets, a_closed_port_refuses);
	tcase_add_test(sockets, a_connection_is_not_over_before_it_is);
	tcase_add_test(sockets, a_connection_with_itself_is_none);
	tcase_add_test(sockets, accepting_from_what_is_no_listener_is_an_error);
	suite_add_tcase(suite, texts);
	suite_add_tcase(suite, sockets);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
