/*
 * test_bridge_tls.c - TLS between two transports: what it carries, and how it
 * ends.
 *
 * The transport's insides are included, so that a counter can start beside its
 * limit.
 */
// needs: bridge/tls.c tests/unit/tls_fixture.c
// libs: -lssl -lcrypto
#include "bridge/transport.c"

#include <check.h>
#include <sys/ioctl.h>

#include "tests/unit/tls_fixture.h"

/* ---- what is carried --------------------------------------------------------------- */

START_TEST(bytes_go_both_ways)
{
	for (int tcp = 0; tcp < 2; tcp++) {
		open_good(tcp);
		ck_assert(transport_is_tls(client));
		ck_assert_str_eq(SSL_get_version(client->tls.ssl), "TLSv1.3");
		ck_assert_str_eq(SSL_get_cipher(client->tls.ssl), "TLS_AES_128_GCM_SHA256");
		ck_assert_int_eq(recv_text(server), -EAGAIN);
		ck_assert_int_eq(send_text(client, "there"), 5);
		ck_assert_int_eq(await_text(server), 5);
		ck_assert_str_eq(received, "there");
		ck_assert_int_eq(send_text(server, "back"), 4);
		ck_assert_int_eq(await_text(client), 4);
		ck_assert_str_eq(received, "back");
		ck_assert_int_eq(recv_text(client), -EAGAIN);
		ck_assert(!transport_pending(client));
		close_ends();
	}
}
END_TEST

START_TEST(names_and_addresses_of_the_server_are_checked)
{
	static const char *const names[] = { "localhost", "bridge.example", "127.0.0.1", "::1", "::1%lo" };

	for (size_t i = 0; i < COUNT(names); i++) {
		int fds[2], client_outcome, server_outcome;

		connect_pair(fds);
		open_ends(fds, good_client, good_server, names[i]);
		shake(&client_outcome, &server_outcome);
		ck_assert_msg(client_outcome == 0, "%s: %s", names[i], transport_error(client));
		close_ends();
	}
}
END_TEST

START_TEST(certificates_between_are_sent_along)
{
	int fds[2], client_outcome, server_outcome;

	connect_pair(fds);
	open_ends(fds, (struct side){ "by-middle", "ca" }, (struct side){ "by-middle", "ca" },
	          "localhost");
	shake(&client_outcome, &server_outcome);
	ck_assert_int_eq(client_outcome, 0);
	ck_assert_int_eq(server_outcome, 0);
	close_ends();
}
END_TEST

#define BULK (600u << 10)

static uint8_t bulk[BULK], arrived[BULK];

static void fill_bulk(void)
{
	for (size_t i = 0; i < BULK; i++)
		bulk[i] = (uint8_t)(i * 2654435761u >> 13);
}

/*
 * Send the bulk, of which some is sent already, as pieces of `first`, `second`,
 * `first` ... bytes, each time from another place in memory, and receive it into
 * small and large pieces.  Returns how often sending had to wait.
 */
static int exchange_rest(struct transport *from, struct transport *to, size_t first, size_t second,
                         size_t sent)
{
	size_t got = 0;
	int waits = 0;

	memset(arrived, 0, sizeof arrived);
	while (got < BULK) {
		uint8_t *moved = malloc(BULK - sent + 1);
		struct iovec pieces[8], rooms[2];
		ssize_t taken = -EAGAIN, came;
		size_t at = 0;
		int count = 0;

		memcpy(moved, bulk + sent, BULK - sent);
		for (; count < 8 && sent + at < BULK; count++) {
			size_t length = count % 2 == 0 ? first : second;

			pieces[count].iov_base = moved + at;
			pieces[count].iov_len = length < BULK - sent - at ? length : BULK - sent - at;
			at += pieces[count].iov_len;
		}
		if (count > 0)
			taken = transport_send(from, pieces, count);
		free(moved);
		if (taken > 0) {
			sent += (size_t)taken;
			continue;
		}
		ck_assert_int_eq(taken, -EAGAIN);
		waits++;
		rooms[0] = (struct iovec){ arrived + got, BULK - got < 100 ? BULK - got : 100 };
		rooms[1] = (struct iovec){ arrived + got + rooms[0].iov_len, BULK - got - rooms[0].iov_len };
		came = transport_recv(to, rooms, 2);
		if (came == -EAGAIN)
			wait_for_either(from, sent < BULK ? POLLOUT : 0, to, POLLIN);
		else
			ck_assert_int_gt(came, 0);
		got += came > 0 ? (size_t)came : 0;
	}
	ck_assert_mem_eq(bulk, arrived, BULK);
	return waits;
}

static int exchange(struct transport *from, struct transport *to, size_t first, size_t second)
{
	return exchange_rest(from, to, first, second, 0);
}

START_TEST(bytes_arrive_in_order_through_small_buffers)
{
	static const size_t sizes[][2] = { { 24, 200000 }, { 1, 16383 }, { 16384, 16384 }, { 7000, 9500 },
	                                   { 0, 65536 } };
	int small = 4096, waits = 0;

	fill_bulk();
	for (size_t i = 0; i < COUNT(sizes); i++) {
		open_good(i % 2 == 0);
		setsockopt(transport_fd(client), SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
		waits += exchange(client, server, sizes[i][0], sizes[i][1]);
		exchange(server, client, sizes[i][1], sizes[i][0]);
		close_ends();
	}
	ck_assert_int_gt(waits, 50);
}
END_TEST

/* A small head and what follows it become one record, not two. */
START_TEST(small_pieces_share_a_record)
{
	struct iovec pieces[2] = { { bulk, 24 }, { bulk + 24, 1000 } };
	int there = 0;

	open_good(false);
	ck_assert_int_eq(transport_send(client, pieces, 2), 1024);
	wait_for(server, POLLIN);
	ck_assert_int_eq(ioctl(transport_fd(server), FIONREAD, &there), 0);
	ck_assert_int_eq(there, 1024 + 22);    /* head, tag and type of one record */
	close_ends();
}
END_TEST

START_TEST(what_openssl_holds_is_pending)
{
	struct iovec room = { received, 3 };

	open_good(false);
	ck_assert_int_eq(send_text(client, "first"), 5);
	ck_assert_int_eq(send_text(client, "second"), 6);
	wait_for(server, POLLIN);
	ck_assert_int_eq(transport_recv(server, &room, 1), 3);
	ck_assert(transport_pending(server));
	ck_assert_int_eq(transport_recv(server, &room, 1), 3);
	ck_assert(transport_pending(server));
	ck_assert_int_eq(recv_text(server), 5);
	ck_assert_str_eq(received, "econd");
	ck_assert(!transport_pending(server));
	close_ends();
}
END_TEST

/* ---- a wire that can be cut and bent ---------------------------------------------- */

static int relay[2];                   /* our ends of the client's and the server's wire */

static void open_relayed(void)
{
	int near[2], far[2];

	connect_pair(near);
	connect_pair(far);
	relay[0] = near[1];
	relay[1] = far[1];
	open_ends((int[]){ near[0], far[0] }, good_client, good_server, "localhost");
}

/* Pass at most so many bytes on. */
static size_t pass_on(int from, int to, size_t most)
{
	uint8_t bytes[65536];
	ssize_t got = recv(from, bytes, most < sizeof bytes ? most : sizeof bytes, MSG_DONTWAIT);

	if (got <= 0)
		return 0;
	ck_assert_int_eq(send(to, bytes, (size_t)got, MSG_NOSIGNAL), got);
	return (size_t)got;
}

/* The handshake, a few bytes at a time. */
static void shake_relayed(size_t step)
{
	int client_outcome = -EAGAIN, server_outcome = -EAGAIN;

	while (client_outcome == -EAGAIN || server_outcome == -EAGAIN) {
		if (client_outcome == -EAGAIN)
			client_outcome = transport_handshake(client);
		pass_on(relay[0], relay[1], step);
		if (server_outcome == -EAGAIN)
			server_outcome = transport_handshake(server);
		pass_on(relay[1], relay[0], step);
	}
	ck_assert_int_eq(client_outcome, 0);
	ck_assert_int_eq(server_outcome, 0);
	while (pass_on(relay[0], relay[1], 65536) > 0)
		;
}

static void close_relayed(void)
{
	close_ends();
	close(relay[0]);
	close(relay[1]);
}

START_TEST(a_handshake_byte_by_byte_succeeds)
{
	open_relayed();
	shake_relayed(1);
	close_relayed();
}
END_TEST

START_TEST(a_part_of_a_record_is_not_pending)
{
	open_relayed();
	shake_relayed(65536);
	ck_assert_int_eq(send_text(client, "record"), 6);
	ck_assert_uint_eq(pass_on(relay[0], relay[1], 10), 10);
	ck_assert_int_eq(recv_text(server), -EAGAIN);
	ck_assert(!transport_pending(server));
	ck_assert_int_eq(transport_events(server, true, false), POLLIN);
	pass_on(relay[0], relay[1], 65536);
	ck_assert_int_eq(recv_text(server), 6);
	ck_assert_str_eq(received, "record");
	close_relayed();
}
END_TEST

START_TEST(a_changed_byte_is_noticed_at_both_ends)
{
	uint8_t bytes[256];
	ssize_t got;

	open_relayed();
	shake_relayed(65536);
	ck_assert_int_eq(send_text(client, "record"), 6);
	got = recv(relay[0], bytes, sizeof bytes, 0);
	ck_assert_int_eq(got, 6 + 22);
	bytes[10] ^= 1;
	ck_assert_int_eq(send(relay[1], bytes, (size_t)got, 0), got);
	ck_assert_int_eq(recv_text(server), -EPROTO);
	ck_assert_str_eq(transport_error(server), "broken TLS: decryption failed or bad record mac");
	ck_assert_int_eq(recv_text(server), -EPROTO);
	pass_on(relay[1], relay[0], 65536);
	ck_assert_int_eq(recv_text(client), -EPROTO);
	ck_assert_str_eq(transport_error(client), "the peer gave TLS up: bad record mac");
	close_relayed();
}
END_TEST

/* ---- the end ----------------------------------------------------------------------- */

START_TEST(the_end_is_told)
{
	open_good(true);
	ck_assert_int_eq(send_text(client, "last"), 4);
	close_end(&client);
	ck_assert_int_eq(await_text(server), 4);
	ck_assert_str_eq(received, "last");
	ck_assert_int_eq(await_text(server), 0);
	ck_assert(!transport_pending(server));
	ck_assert_int_eq(recv_text(server), 0);
	close_ends();
}
END_TEST

/* An end that came with the last bytes must not be slept over. */
START_TEST(an_end_that_is_known_is_pending)
{
	struct iovec room = { received, 4 };

	open_good(false);
	ck_assert_int_eq(send_text(client, "last"), 4);
	close_end(&client);
	wait_for(server, POLLIN);
	ck_assert_int_eq(transport_recv(server, &room, 1), 4);
	ck_assert(transport_pending(server));
	ck_assert_int_eq(recv_text(server), 0);
	ck_assert(!transport_pending(server));
	close_ends();
}
END_TEST

START_TEST(an_end_without_notice_is_a_failure)
{
	open_good(true);
	ck_assert_int_eq(send_text(client, "last"), 4);
	ck_assert_int_eq(shutdown(transport_fd(client), SHUT_WR), 0);
	ck_assert_int_eq(await_text(server), 4);
	ck_assert_int_eq(await_text(server), -ECONNRESET);
	ck_assert_str_eq(transport_error(server), "the peer closed the connection without ending TLS");
	ck_assert_int_eq(recv_text(server), -ECONNRESET);
	close_ends();
}
END_TEST

START_TEST(an_end_within_a_record_is_a_failure)
{
	open_relayed();
	shake_relayed(65536);
	ck_assert_int_eq(send_text(client, "record"), 6);
	pass_on(relay[0], relay[1], 10);
	ck_assert_int_eq(shutdown(relay[1], SHUT_WR), 0);
	ck_assert_int_eq(recv_text(server), -ECONNRESET);
	close_relayed();
}
END_TEST

START_TEST(an_end_during_the_handshake_is_a_failure)
{
	open_relayed();
	ck_assert_int_eq(transport_handshake(client), -EAGAIN);
	ck_assert_uint_eq(pass_on(relay[0], relay[1], 10), 10);
	ck_assert_int_eq(transport_handshake(server), -EAGAIN);
	ck_assert_int_eq(transport_events(server, false, true), POLLIN);
	ck_assert_int_eq(shutdown(relay[1], SHUT_WR), 0);
	ck_assert_int_eq(transport_handshake(server), -ECONNRESET);
	ck_assert_str_eq(transport_error(server), "the peer closed the connection during the TLS handshake");
	close_relayed();
}
END_TEST

/* SIGPIPE would end the test. */
START_TEST(sending_to_nobody_is_an_error_and_no_signal)
{
	ssize_t outcome;

	open_good(true);
	close_end(&server);
	wait_for(client, POLLIN);
	while ((outcome = send_text(client, "anybody?")) > 0)
		wait_for(client, POLLOUT);
	ck_assert(outcome == -EPIPE || outcome == -ECONNRESET);
	ck_assert_str_eq(transport_error(client), strerror((int)-outcome));
	ck_assert_int_eq(send_text(client, "anybody?"), outcome);
	close_ends();
}
END_TEST

START_TEST(closing_with_a_record_half_sent_blocks_nobody)
{
	struct iovec piece = { bulk, BULK };
	int small = 4096;

	fill_bulk();
	open_good(false);
	setsockopt(transport_fd(client), SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
	while (transport_send(client, &piece, 1) > 0)
		;
	close_end(&client);
	piece.iov_base = arrived;
	while (transport_recv(server, &piece, 1) > 0)
		;
	/* What was cut off is not taken for the end. */
	ck_assert_int_eq(recv_text(server), -ECONNRESET);
	close_ends();
}
END_TEST

/* ---- keys ---------------------------------------------------------------------------- */

START_TEST(keys_are_renewed_in_time)
{
	int small = 4096;

	fill_bulk();
	open_good(false);
	setsockopt(transport_fd(client), SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
	client->key_bytes = KEY_BYTES - BULK / 2;
	exchange(client, server, 24, 100000);
	ck_assert_uint_le(client->key_bytes, BULK / 2);
	ck_assert_uint_gt(client->key_bytes, 0);
	exchange(client, server, 24, 100000);
	exchange(server, client, 24, 100000);
	close_ends();
}
END_TEST

START_TEST(a_key_is_not_renewed_within_a_record)
{
	struct iovec piece = { bulk, BULK };
	int small = 4096;
	ssize_t sent;

	fill_bulk();
	open_good(false);
	setsockopt(transport_fd(client), SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
	sent = transport_send(client, &piece, 1);
	sent = sent > 0 ? sent : 0;
	piece = (struct iovec){ bulk + sent, BULK - (size_t)sent };
	client->key_bytes = KEY_BYTES;
	ck_assert_int_eq(transport_send(client, &piece, 1), -EAGAIN);
	ck_assert_uint_eq(client->key_bytes, KEY_BYTES);
	exchange_rest(client, server, BULK, BULK, (size_t)sent);
	ck_assert_uint_lt(client->key_bytes, BULK);
	close_ends();
}
END_TEST

START_TEST(a_peer_may_ask_for_new_keys)
{
	open_good(false);
	ck_assert_int_eq(SSL_key_update(client->tls.ssl, SSL_KEY_UPDATE_REQUESTED), 1);
	ck_assert_int_eq(send_text(client, "new"), 3);
	ck_assert_int_eq(await_text(server), 3);
	ck_assert_int_eq(send_text(server, "newer"), 5);
	ck_assert_int_eq(await_text(client), 5);
	ck_assert_str_eq(received, "newer");
	close_ends();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bridge: TLS");
	TCase *carrying = tcase_create("carrying");
	SRunner *runner;
	int failed;

	tcase_add_unchecked_fixture(carrying, certificates_make, NULL);
	tcase_add_test(carrying, bytes_go_both_ways);
	tcase_add_test(carrying, names_and_addresses_of_the_server_are_checked);
	tcase_add_test(carrying, certificates_between_are_sent_along);
	tcase_add_test(carrying, bytes_arrive_in_order_through_small_buffers);
	tcase_add_test(carrying, small_pieces_share_a_record);
	tcase_add_test(carrying, what_openssl_holds_is_pending);
	tcase_add_test(carrying, a_handshake_byte_by_byte_succeeds);
	tcase_add_test(carrying, a_part_of_a_record_is_not_pending);
	tcase_add_test(carrying, a_changed_byte_is_noticed_at_both_ends);
	tcase_add_test(carrying, the_end_is_told);
	tcase_add_test(carrying, an_end_that_is_known_is_pending);
	tcase_add_test(carrying, an_end_without_notice_is_a_failure);
	tcase_add_test(carrying, an_end_within_a_record_is_a_failure);
	tcase_add_test(carrying, an_end_during_the_handshake_is_a_failure);
	tcase_add_test(carrying, sending_to_nobody_is_an_error_and_no_signal);
	tcase_add_test(carrying, closing_with_a_record_half_sent_blocks_nobody);
	tcase_add_test(carrying, keys_are_renewed_in_time);
	tcase_add_test(carrying, a_key_is_not_renewed_within_a_record);
	tcase_add_test(carrying, a_peer_may_ask_for_new_keys);
	suite_add_tcase(suite, carrying);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	certificates_remove();
	return failed == 0 ? 0 : 1;
}
