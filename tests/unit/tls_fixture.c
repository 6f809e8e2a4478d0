/* tls_fixture.c - see tls_fixture.h. */
#include "tests/unit/tls_fixture.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

char certificates[256];

/* ---- certificates ----------------------------------------------------------- */

const char *certificate_path(const char *name, const char *suffix)
{
	static char paths[8][512];
	static unsigned turn;
	char *path = paths[turn++ % 8];

	snprintf(path, sizeof paths[0], "%s/%s%s", certificates, name, suffix);
	return path;
}

struct wish {
	const char *file, *signer;     /* signer: a file before it, or its own */
	const char *subject, *names, *usage;
	long from_days, until_days;    /* from today */
	bool authority;
};

struct identity {
	X509 *certificate;
	EVP_PKEY *key;
};

#define NAMES "DNS:localhost,DNS:bridge.example,IP:127.0.0.1,IP:::1"

static const struct wish wishes[] = {
	{ "ca", "ca", "authority", NULL, NULL, -2, 10, true },
	{ "other-ca", "other-ca", "other authority", NULL, NULL, -2, 10, true },
	{ "namesake-ca", "namesake-ca", "authority", NULL, NULL, -2, 10, true },
	{ "old-ca", "old-ca", "old authority", NULL, NULL, -9, -1, true },
	{ "middle", "ca", "middle", NULL, NULL, -2, 10, true },
	{ "server", "ca", "server", NAMES, NULL, -1, 9, false },
	{ "client", "ca", "client", NULL, NULL, -1, 9, false },
	{ "expired", "ca", "server", NAMES, NULL, -9, -1, false },
	{ "future", "ca", "server", NAMES, NULL, 1, 9, false },
	{ "for-servers", "ca", "server", NAMES, "serverAuth", -1, 9, false },
	{ "for-clients", "ca", "client", NAMES, "clientAuth", -1, 9, false },
	{ "by-middle", "middle", "server", NAMES, NULL, -1, 9, false },
	{ "stranger", "other-ca", "server", NAMES, NULL, -1, 9, false },
	{ "false", "namesake-ca", "server", NAMES, NULL, -1, 9, false },
	{ "of-old", "old-ca", "server", NAMES, NULL, -1, 9, false },
	{ "alone", "alone", "server", NAMES, NULL, -1, 9, false },
};

static struct identity identities[COUNT(wishes)];

static const struct identity *identity_of(const char *file)
{
	size_t i = 0;

	while (strcmp(wishes[i].file, file) != 0)
		i++;
	return &identities[i];
}

static void extend(X509 *certificate, int kind, const char *value)
{
	X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, kind, value);

	ck_assert_ptr_nonnull(extension);
	ck_assert_int_eq(X509_add_ext(certificate, extension, -1), 1);
	X509_EXTENSION_free(extension);
}

static void write_key(const char *path, EVP_PKEY *key, const char *password)
{
	FILE *file = fopen(path, "we");

	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(PEM_write_PrivateKey(file, key, password != NULL ? EVP_aes_128_cbc() : NULL,
	                                      NULL, 0, NULL, (void *)(uintptr_t)password), 1);
	fclose(file);
}

static void write_certificate(const char *path, X509 *certificate, const char *mode)
{
	FILE *file = fopen(path, mode);

	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(PEM_write_X509(file, certificate), 1);
	fclose(file);
}

/* Make a certificate and its key. */
static void identity_make(struct identity *made, const struct wish *wish, long serial)
{
	const struct identity *signer = identity_of(wish->signer);
	X509_NAME *subject;

	made->certificate = X509_new();
	made->key = EVP_EC_gen("P-256");
	ck_assert(made->certificate != NULL && made->key != NULL);
	subject = X509_get_subject_name(made->certificate);
	X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, (const unsigned char *)wish->subject, -1,
	                           -1, 0);
	X509_set_version(made->certificate, X509_VERSION_3);
	ASN1_INTEGER_set(X509_get_serialNumber(made->certificate), serial);
	X509_set_issuer_name(made->certificate, X509_get_subject_name(signer->certificate));
	X509_gmtime_adj(X509_getm_notBefore(made->certificate), wish->from_days * 86400);
	X509_gmtime_adj(X509_getm_notAfter(made->certificate), wish->until_days * 86400);
	X509_set_pubkey(made->certificate, made->key);
	extend(made->certificate, NID_basic_constraints, wish->authority ? "critical,CA:TRUE" : "CA:FALSE");
	if (wish->names != NULL)
		extend(made->certificate, NID_subject_alt_name, wish->names);
	if (wish->usage != NULL)
		extend(made->certificate, NID_ext_key_usage, wish->usage);
	ck_assert_int_gt(X509_sign(made->certificate, signer->key, EVP_sha256()), 0);
	write_certificate(certificate_path(wish->file, ".pem"), made->certificate, "we");
	write_key(certificate_path(wish->file, ".key"), made->key, NULL);
}

static void write_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	fclose(file);
}

void certificates_make(void)
{
	const char *temporary = getenv("TMPDIR");

	snprintf(certificates, sizeof certificates, "%s/sluice-tls.XXXXXX",
	         temporary != NULL ? temporary : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(certificates));
	for (size_t i = 0; i < COUNT(wishes); i++)
		identity_make(&identities[i], &wishes[i], (long)i + 1);
	write_certificate(certificate_path("by-middle", ".pem"), identity_of("middle")->certificate, "ae");
	write_key(certificate_path("encrypted", ".key"), identity_of("server")->key, "secret");
	write_text(certificate_path("text", ".pem"), "This is no certificate.\n");
	for (size_t i = 0; i < COUNT(wishes); i++) {
		X509_free(identities[i].certificate);
		EVP_PKEY_free(identities[i].key);
	}
}

void certificates_remove(void)
{
	char command[512];

	snprintf(command, sizeof command, "rm -rf '%s'", certificates);
	if (certificates[0] != '\0' && system(command) != 0)
		fprintf(stderr, "cannot remove %s\n", certificates);
}

/* ---- two ends ------------------------------------------------------------------- */

struct tls_context *client_context, *server_context;
struct transport *client, *server;
char why[TLS_WHY_MAX];

struct tls_context *context_of(bool is_server, struct side side)
{
	struct tls_context *context = NULL;
	int error = tls_context_open(&context, is_server, certificate_path(side.own, ".pem"),
	                             certificate_path(side.own, ".key"), certificate_path(side.ca, ".pem"), why, sizeof why);

	ck_assert_msg(error == 0, "%s", why);
	return context;
}

void connect_tcp(int fds[2])
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof address;
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
	ck_assert_int_eq(listen(listener, 1), 0);
	ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&address, &length), 0);
	fds[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(connect(fds[0], (struct sockaddr *)&address, sizeof address), 0);
	fds[1] = accept(listener, NULL, NULL);
	ck_assert_int_ge(fds[1], 0);
	close(listener);
}

void connect_pair(int fds[2])
{
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
}

void open_ends(const int fds[2], struct side client_side, struct side server_side, const char *name)
{
	client_context = context_of(false, client_side);
	server_context = context_of(true, server_side);
	ck_assert_int_eq(transport_open(&client, fds[0], client_context, false, name), 0);
	ck_assert_int_eq(transport_open(&server, fds[1], server_context, true, NULL), 0);
}

void close_end(struct transport **transport)
{
	if (*transport != NULL)
		transport_close(*transport);
	*transport = NULL;
}

void close_ends(void)
{
	close_end(&client);
	close_end(&server);
	tls_context_close(client_context);
	tls_context_close(server_context);
	client_context = server_context = NULL;
}

void wait_for_either(struct transport *one, short one_events, struct transport *other,
                            short other_events)
{
	struct pollfd ready[2] = {
		{ .fd = transport_fd(one), .events = one_events },
		{ .fd = transport_fd(other), .events = other_events },
	};

	ck_assert_int_gt(poll(ready, 2, PATIENCE_MS), 0);
}

void wait_for(struct transport *transport, short events)
{
	struct pollfd ready = { .fd = transport_fd(transport), .events = events };

	ck_assert_int_eq(poll(&ready, 1, PATIENCE_MS), 1);
}

void shake(int *client_outcome, int *server_outcome)
{
	*client_outcome = *server_outcome = -EAGAIN;
	for (;;) {
		if (*client_outcome == -EAGAIN)
			*client_outcome = transport_handshake(client);
		if (*server_outcome == -EAGAIN)
			*server_outcome = transport_handshake(server);
		if (*client_outcome != -EAGAIN && *server_outcome != -EAGAIN)
			return;
		/* Who has failed says no more. */
		if (*client_outcome != -EAGAIN && *client_outcome != 0)
			wait_for(server, transport_events(server, true, false));
		else if (*server_outcome != -EAGAIN && *server_outcome != 0)
			wait_for(client, transport_events(client, true, false));
		else
			wait_for_either(client, transport_events(client, true, false),
			                server, transport_events(server, true, false));
	}
}

const struct side good_client = { "client", "ca" }, good_server = { "server", "ca" };

void open_good(bool tcp)
{
	int fds[2], client_outcome, server_outcome;

	tcp ? connect_tcp(fds) : connect_pair(fds);
	open_ends(fds, good_client, good_server, "127.0.0.1");
	shake(&client_outcome, &server_outcome);
	ck_assert_int_eq(client_outcome, 0);
	ck_assert_int_eq(server_outcome, 0);
}

ssize_t send_text(struct transport *transport, const char *text)
{
	const struct iovec piece = { (void *)(uintptr_t)text, strlen(text) };

	return transport_send(transport, &piece, 1);
}

char received[256];

ssize_t recv_text(struct transport *transport)
{
	const struct iovec piece = { received, sizeof received - 1 };
	ssize_t got = transport_recv(transport, &piece, 1);

	received[got > 0 ? got : 0] = '\0';
	return got;
}

ssize_t await_text(struct transport *transport)
{
	ssize_t got;

	while ((got = recv_text(transport)) == -EAGAIN)
		wait_for(transport, transport_events(transport, true, false));
	return got;
}
