/*
 * test_bridge_trust.c - whom TLS refuses, and how each side learns of it.
 */
// needs: bridge/transport.c bridge/tls.c bridge/wire.c tests/unit/tls_fixture.c
// libs: -lssl -lcrypto
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "bridge/wire.h"
#include "tests/unit/tls_fixture.h"

/* ---- trust ----------------------------------------------------------------------------- */

#define THEIRS "the peer's certificate "
#define OURS "the peer refuses this side's certificate"

/* The client finds the server's certificate wanting, and the server is told. */
START_TEST(a_client_refuses_a_server_that_it_cannot_trust)
{
	static const struct {
		struct side client, server;
		const char *name, *said, *told;
	} cases[] = {
		{ { "client", "ca" }, { "expired", "ca" }, "127.0.0.1",
		  THEIRS "has expired", OURS ": it has expired" },
		{ { "client", "ca" }, { "future", "ca" }, "127.0.0.1",
		  THEIRS "is not valid yet", OURS " (not valid yet, or for another name)" },
		{ { "client", "ca" }, { "stranger", "ca" }, "127.0.0.1",
		  THEIRS "is of an authority that is not trusted here",
		  OURS ": its authority is not trusted there" },
		{ { "client", "ca" }, { "alone", "ca" }, "127.0.0.1",
		  THEIRS "is of an authority that is not trusted here",
		  OURS ": its authority is not trusted there" },
		{ { "client", "ca" }, { "false", "ca" }, "127.0.0.1",
		  THEIRS "was not signed by the authority that is trusted here, but by one of the same name",
		  OURS ": a signature does not hold" },
		{ { "client", "old-ca" }, { "of-old", "ca" }, "127.0.0.1",
		  "a certificate above the peer's has expired", OURS ": it has expired" },
		{ { "client", "ca" }, { "for-clients", "ca" }, "127.0.0.1",
		  THEIRS "is not for this side of a connection",
		  OURS ": it is not for this side of a connection" },
		{ { "client", "ca" }, { "server", "ca" }, "127.0.0.2",
		  THEIRS "is for another name than \"127.0.0.2\"",
		  OURS " (not valid yet, or for another name)" },
		{ { "client", "ca" }, { "server", "ca" }, "elsewhere.example",
		  THEIRS "is for another name than \"elsewhere.example\"",
		  OURS " (not valid yet, or for another name)" },
		{ { "client", "ca" }, { "client", "ca" }, "client.example",
		  THEIRS "is for another name than \"client.example\"",
		  OURS " (not valid yet, or for another name)" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		int fds[2], client_outcome, server_outcome;

		connect_tcp(fds);
		open_ends(fds, cases[i].client, cases[i].server, cases[i].name);
		shake(&client_outcome, &server_outcome);
		ck_assert_msg(client_outcome == -EACCES, "%s: %s", cases[i].said, transport_error(client));
		ck_assert_str_eq(transport_error(client), cases[i].said);
		ck_assert_msg(server_outcome == -EACCES, "%s", cases[i].told);
		ck_assert_str_eq(transport_error(server), cases[i].told);
		close_ends();
	}
}
END_TEST

/* The server finds the client's certificate wanting.  The client, done with its
 * handshake, is told when it receives, or when it cannot send. */
START_TEST(a_server_refuses_a_client_that_it_cannot_trust)
{
	static const struct {
		struct side client, server;
		const char *said, *told;
	} cases[] = {
		{ { "expired", "ca" }, { "server", "ca" }, THEIRS "has expired", OURS ": it has expired" },
		{ { "future", "ca" }, { "server", "ca" }, THEIRS "is not valid yet",
		  OURS " (not valid yet, or for another name)" },
		{ { "stranger", "ca" }, { "server", "ca" }, THEIRS "is of an authority that is not trusted here",
		  OURS ": its authority is not trusted there" },
		{ { "for-servers", "ca" }, { "server", "ca" }, THEIRS "is not for this side of a connection",
		  OURS ": it is not for this side of a connection" },
	};

	for (size_t i = 0; i < 2 * COUNT(cases); i++) {
		bool sends = i >= COUNT(cases);
		size_t k = i % COUNT(cases);
		int fds[2], client_outcome, server_outcome;
		ssize_t outcome;

		connect_tcp(fds);
		open_ends(fds, cases[k].client, cases[k].server, "127.0.0.1");
		shake(&client_outcome, &server_outcome);
		ck_assert_int_eq(client_outcome, 0);
		ck_assert_int_eq(server_outcome, -EACCES);
		ck_assert_str_eq(transport_error(server), cases[k].said);
		if (sends) {
			send_text(client, "what nobody will read");
			close_end(&server);
			while ((outcome = send_text(client, "hello?")) > 0)
				wait_for(client, POLLOUT);
		} else {
			outcome = await_text(client);
		}
		ck_assert_msg(outcome == -EACCES, "%s: %s", cases[k].said, transport_error(client));
		ck_assert_str_eq(transport_error(client), cases[k].told);
		ck_assert_int_eq(recv_text(client), -EACCES);
		close_ends();
	}
}
END_TEST

START_TEST(an_impossible_name_is_refused)
{
	int fds[2];

	client_context = context_of(false, good_client);
	connect_pair(fds);
	ck_assert_int_eq(transport_open(&client, fds[0], client_context, false, ""), -EINVAL);
	client = NULL;
	close(fds[1]);
	close_ends();
}
END_TEST

/* ---- peers that are no transports ---------------------------------------------------- */

/* A stranger's end of a connection to one of our sides. */
static SSL *stranger;
static SSL_CTX *stranger_context;

static void open_against_stranger(bool we_serve, int version)
{
	int fds[2];

	connect_pair(fds);
	if (we_serve) {
		server_context = context_of(true, good_server);
		ck_assert_int_eq(transport_open(&server, fds[0], server_context, true, NULL), 0);
	} else {
		client_context = context_of(false, good_client);
		ck_assert_int_eq(transport_open(&client, fds[0], client_context, false, "localhost"), 0);
	}
	ck_assert_int_eq(fcntl(fds[1], F_SETFL, O_NONBLOCK), 0);
	stranger_context = SSL_CTX_new(TLS_method());
	SSL_CTX_set_max_proto_version(stranger_context, version);
	SSL_CTX_set_verify(stranger_context, SSL_VERIFY_NONE, NULL);
	if (!we_serve) {
		SSL_CTX_use_certificate_chain_file(stranger_context, certificate_path("server", ".pem"));
		SSL_CTX_use_PrivateKey_file(stranger_context, certificate_path("server", ".key"), SSL_FILETYPE_PEM);
	}
	stranger = SSL_new(stranger_context);
	SSL_set_fd(stranger, fds[1]);
	we_serve ? SSL_set_connect_state(stranger) : SSL_set_accept_state(stranger);
}

/* What comes of our handshake. */
static int shake_with_stranger(struct transport *ours)
{
	int outcome;

	for (;;) {
		SSL_do_handshake(stranger);
		outcome = transport_handshake(ours);
		if (outcome != -EAGAIN)
			return outcome;
	}
}

static void close_stranger(void)
{
	int fd = SSL_get_fd(stranger);

	SSL_free(stranger);
	SSL_CTX_free(stranger_context);
	close(fd);
	close_ends();
}

START_TEST(a_client_without_a_certificate_is_refused_and_told)
{
	char byte;

	open_against_stranger(true, TLS1_3_VERSION);
	ck_assert_int_eq(shake_with_stranger(server), -EACCES);
	ck_assert_str_eq(transport_error(server), "the peer has no certificate");
	ERR_clear_error();
	ck_assert_int_le(SSL_read(stranger, &byte, 1), 0);
	ck_assert_int_eq(ERR_GET_REASON(ERR_peek_error()), SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED);
	close_stranger();
}
END_TEST

START_TEST(a_peer_of_older_tls_is_refused)
{
	open_against_stranger(true, TLS1_2_VERSION);
	ck_assert_int_eq(shake_with_stranger(server), -EPROTO);
	ck_assert_str_eq(transport_error(server), "the peer does not speak TLS 1.3");
	close_stranger();
	open_against_stranger(false, TLS1_2_VERSION);
	ck_assert_int_eq(shake_with_stranger(client), -EPROTO);
	ck_assert_str_eq(transport_error(client), "the peer does not speak TLS 1.3");
	close_stranger();
}
END_TEST

static void open_server_alone(int *peer)
{
	int fds[2];

	connect_pair(fds);
	*peer = fds[1];
	server_context = context_of(true, good_server);
	ck_assert_int_eq(transport_open(&server, fds[0], server_context, true, NULL), 0);
}

START_TEST(a_server_refuses_who_speaks_no_tls)
{
	static const struct {
		const char *bytes, *said;
	} cases[] = {
		{ "SLUICE\r\n....and more", "the peer does not speak TLS" },
		{ "GET / HTTP/1.1\r\n\r\n", "the peer does not speak TLS, but HTTP" },
		{ "\x07\xff\x80\x81\x82\x83\x84\x85\x86\x87\x88\x89\x8a\x8b", "the peer does not speak TLS" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		char answer[16];
		ssize_t got;
		int peer;

		open_server_alone(&peer);
		ck_assert_int_gt(send(peer, cases[i].bytes, strlen(cases[i].bytes), 0), 0);
		ck_assert_int_eq(transport_handshake(server), -EPROTO);
		ck_assert_str_eq(transport_error(server), cases[i].said);
		close_end(&server);
		/* A bridge without TLS can tell from the answer whom it called. */
		got = recv(peer, answer, sizeof answer, MSG_DONTWAIT);
		if (got > 0)
			ck_assert_str_eq(wire_guess_peer((uint8_t *)answer, (size_t)got), "a TLS server");
		close(peer);
		close_ends();
	}
}
END_TEST

START_TEST(a_client_refuses_who_speaks_no_tls)
{
	static const char *const answers[] = { "SLUICE\r\n....and more", "HTTP/1.1 400 Bad Request\r\n\r\n" };

	for (size_t i = 0; i < COUNT(answers); i++) {
		uint8_t hello[1024];
		uint32_t map;
		ssize_t got;
		int fds[2];

		connect_pair(fds);
		client_context = context_of(false, good_client);
		ck_assert_int_eq(transport_open(&client, fds[0], client_context, false, "localhost"), 0);
		ck_assert_int_eq(transport_handshake(client), -EAGAIN);
		got = recv(fds[1], hello, sizeof hello, MSG_DONTWAIT);
		ck_assert_int_gt(got, WIRE_PREAMBLE);
		ck_assert_int_eq(wire_preamble_check(hello, (size_t)got, &map, why, sizeof why), -EBADMSG);
		ck_assert_str_eq(why, "peer is not a bridge but a TLS client");
		ck_assert_int_gt(send(fds[1], answers[i], strlen(answers[i]), 0), 0);
		ck_assert_int_eq(transport_handshake(client), -EPROTO);
		ck_assert_str_eq(transport_error(client), "the peer does not speak TLS");
		close(fds[1]);
		close_ends();
	}
}
END_TEST

/* ---- files ------------------------------------------------------------------------------- */

static int open_files(const char *cert, const char *key, const char *ca)
{
	struct tls_context *context = NULL;
	int error;

	why[0] = '\0';
	error = tls_context_open(&context, true, cert, key, ca, why, sizeof why);
	tls_context_close(context);
	return error;
}

static void says(const char *before, const char *path, const char *after)
{
	char expected[TLS_WHY_MAX];

	snprintf(expected, sizeof expected, "%s\"%s\"%s", before, path, after);
	ck_assert_str_eq(why, expected);
}

START_TEST(files_that_cannot_be_used_are_named)
{
	const char *cert = certificate_path("server", ".pem"), *key = certificate_path("server", ".key");
	const char *ca = certificate_path("ca", ".pem"), *text = certificate_path("text", ".pem");
	const char *nowhere = certificate_path("nowhere", ".pem");

	ck_assert_int_eq(open_files(cert, key, ca), 0);
	ck_assert_str_eq(why, "");
	ck_assert_int_eq(open_files(nowhere, key, ca), -ENOENT);
	says("cannot read ", nowhere, ": No such file or directory");
	ck_assert_int_eq(open_files(cert, nowhere, ca), -ENOENT);
	says("cannot read ", nowhere, ": No such file or directory");
	ck_assert_int_eq(open_files(cert, key, nowhere), -ENOENT);
	says("cannot read ", nowhere, ": No such file or directory");
	ck_assert_int_eq(open_files(certificates, key, ca), -EISDIR);
	says("cannot read ", certificates, ": Is a directory");

	ck_assert_int_eq(open_files(text, key, ca), -EBADMSG);
	says("", text, " holds no certificate in PEM");
	ck_assert_int_eq(open_files(cert, text, ca), -EBADMSG);
	says("", text, " holds no key in PEM");
	ck_assert_int_eq(open_files(cert, key, text), -EBADMSG);
	says("", text, " holds no certificate in PEM");
	ck_assert_int_eq(open_files("/dev/null", key, ca), -EBADMSG);
	ck_assert_int_eq(open_files(cert, "/dev/null", ca), -EBADMSG);
	ck_assert_int_eq(open_files(cert, key, "/dev/null"), -EBADMSG);
}
END_TEST

START_TEST(a_key_that_does_not_fit_is_refused)
{
	const char *cert = certificate_path("server", ".pem"), *key = certificate_path("client", ".key");
	char fault[600];

	ck_assert_int_eq(open_files(cert, key, certificate_path("ca", ".pem")), -EKEYREJECTED);
	snprintf(fault, sizeof fault, " does not fit the certificate in \"%s\"", cert);
	says("the key in ", key, fault);
}
END_TEST

START_TEST(an_encrypted_key_is_refused_without_a_question)
{
	const char *cert = certificate_path("server", ".pem"), *key = certificate_path("encrypted", ".key");

	ck_assert_int_eq(open_files(cert, key, certificate_path("ca", ".pem")), -EBADMSG);
	says("the key in ", key, " is encrypted");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bridge: trust");
	TCase *trust = tcase_create("trust");
	SRunner *runner;
	int failed;

	tcase_add_unchecked_fixture(trust, certificates_make, NULL);
	tcase_add_test(trust, a_client_refuses_a_server_that_it_cannot_trust);
	tcase_add_test(trust, a_server_refuses_a_client_that_it_cannot_trust);
	tcase_add_test(trust, an_impossible_name_is_refused);
	tcase_add_test(trust, a_client_without_a_certificate_is_refused_and_told);
	tcase_add_test(trust, a_peer_of_older_tls_is_refused);
	tcase_add_test(trust, a_server_refuses_who_speaks_no_tls);
	tcase_add_test(trust, a_client_refuses_who_speaks_no_tls);
	tcase_add_test(trust, files_that_cannot_be_used_are_named);
	tcase_add_test(trust, a_key_that_does_not_fit_is_refused);
	tcase_add_test(trust, an_encrypted_key_is_refused_without_a_question);
	suite_add_tcase(suite, trust);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	certificates_remove();
	return failed == 0 ? 0 : 1;
}
