/*
 * tls.c - see tls.h.
 */
#include "bridge/tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

struct tls_context {
	SSL_CTX *ssl;
	BIO_METHOD *method;
};

/* What the processors at both ends do fastest comes first. */
#define CIPHERS "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"

/* What one read(2) may bring: eight records of the longest kind. */
#define READ_AHEAD (128u << 10)

/* ---- files ---------------------------------------------------------------- */

/* OpenSSL does not tell well why a file cannot be read. */
static int check_readable(const char *file, char *why, size_t why_size)
{
	FILE *stream = fopen(file, "re");
	int error = 0;

	/* A folder can be opened, but not read. */
	if (stream == NULL || (fgetc(stream) == EOF && ferror(stream)))
		error = -errno;
	if (stream != NULL)
		fclose(stream);
	if (error != 0)
		snprintf(why, why_size, "cannot read \"%s\": %s", file, strerror(-error));
	return error;
}

static int load_certificate(SSL_CTX *ssl, const char *file, char *why, size_t why_size)
{
	int error = check_readable(file, why, why_size);

	if (error != 0)
		return error;
	if (SSL_CTX_use_certificate_chain_file(ssl, file) == 1)
		return 0;
	snprintf(why, why_size, "\"%s\" holds no certificate in PEM", file);
	return -EBADMSG;
}

/* Instead of a question on the terminal. */
static int no_password(char *password, int size, int writing, void *asked)
{
	(void)password;
	(void)size;
	(void)writing;
	*(bool *)asked = true;
	return -1;
}

static int load_key(SSL_CTX *ssl, const char *file, const char *cert, char *why, size_t why_size)
{
	int error = check_readable(file, why, why_size);
	bool asked = false;

	if (error != 0)
		return error;
	SSL_CTX_set_default_passwd_cb(ssl, no_password);
	SSL_CTX_set_default_passwd_cb_userdata(ssl, &asked);
	ERR_clear_error();
	if (SSL_CTX_use_PrivateKey_file(ssl, file, SSL_FILETYPE_PEM) == 1)
		return 0;
	if (ERR_GET_LIB(ERR_peek_error()) == ERR_LIB_X509) {
		snprintf(why, why_size, "the key in \"%s\" does not fit the certificate in \"%s\"", file, cert);
		return -EKEYREJECTED;
	}
	snprintf(why, why_size, asked ? "the key in \"%s\" is encrypted" : "\"%s\" holds no key in PEM", file);
	return -EBADMSG;
}

static int load_authority(SSL_CTX *ssl, const char *file, char *why, size_t why_size)
{
	int error = check_readable(file, why, why_size);

	if (error != 0)
		return error;
	if (SSL_CTX_load_verify_file(ssl, file) == 1)
		return 0;
	snprintf(why, why_size, "\"%s\" holds no certificate in PEM", file);
	return -EBADMSG;
}

/* ---- the socket, as OpenSSL sees it ---------------------------------------- */

/* OpenSSL's own would raise SIGPIPE. */

static int socket_outcome(BIO *bio, struct tls_session *session, ssize_t got, int retry)
{
	BIO_clear_retry_flags(bio);
	session->error = 0;
	if (got >= 0)
		return (int)got;
	if (errno == EAGAIN)
		BIO_set_flags(bio, retry | BIO_FLAGS_SHOULD_RETRY);
	else
		session->error = errno;
	return -1;
}

static int socket_write(BIO *bio, const char *bytes, int length)
{
	struct tls_session *session = BIO_get_data(bio);
	ssize_t sent;

	do
		sent = send(session->fd, bytes, (size_t)length, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return socket_outcome(bio, session, sent, BIO_FLAGS_WRITE);
}

static int socket_read(BIO *bio, char *bytes, int length)
{
	struct tls_session *session = BIO_get_data(bio);
	ssize_t got;

	do
		got = recv(session->fd, bytes, (size_t)length, 0);
	while (got < 0 && errno == EINTR);
	return socket_outcome(bio, session, got, BIO_FLAGS_READ);
}

static long socket_control(BIO *bio, int command, long number, void *pointer)
{
	(void)bio;
	(void)number;
	(void)pointer;
	return command == BIO_CTRL_FLUSH;      /* there is nothing to flush: done */
}

static BIO_METHOD *socket_method(void)
{
	BIO_METHOD *method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "sluice");

	if (method != NULL) {
		BIO_meth_set_write(method, socket_write);
		BIO_meth_set_read(method, socket_read);
		BIO_meth_set_ctrl(method, socket_control);
	}
	return method;
}

/* ---- what all connections share --------------------------------------------- */

/* Only notes which certificate of a chain it is that was refused. */
static int note_depth(int good, X509_STORE_CTX *store)
{
	SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
	struct tls_session *session = SSL_get_app_data(ssl);

	if (!good)
		session->depth = X509_STORE_CTX_get_error_depth(store);
	return good;
}

static int context_make(struct tls_context *context, bool server)
{
	SSL_CTX *ssl = SSL_CTX_new(server ? TLS_server_method() : TLS_client_method());

	context->ssl = ssl;
	context->method = socket_method();
	if (ssl == NULL || context->method == NULL ||
	    SSL_CTX_set_min_proto_version(ssl, TLS1_3_VERSION) != 1 ||
	    SSL_CTX_set_ciphersuites(ssl, CIPHERS) != 1 || SSL_CTX_set_num_tickets(ssl, 0) != 1)
		return -ENOMEM;
	SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, note_depth);
	SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
	/* What was not taken is offered again, from wherever it lies by then. */
	SSL_CTX_set_mode(ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	/* Else each record costs two reads, one for its head. */
	SSL_CTX_set_read_ahead(ssl, 1);
	SSL_CTX_set_default_read_buffer_len(ssl, READ_AHEAD);
	return 0;
}

int tls_context_open(struct tls_context **context, bool server, const char *cert,
                     const char *key, const char *ca, char *why, size_t why_size)
{
	struct tls_context *made = calloc(1, sizeof *made);
	int error = -ENOMEM;

	snprintf(why, why_size, "cannot set up TLS: %s", strerror(ENOMEM));
	if (made != NULL)
		error = context_make(made, server);
	if (error == 0)
		error = load_certificate(made->ssl, cert, why, why_size);
	if (error == 0)
		error = load_key(made->ssl, key, cert, why, why_size);
	if (error == 0)
		error = load_authority(made->ssl, ca, why, why_size);
	if (error == 0) {
		why[0] = '\0';
		*context = made;
	} else {
		tls_context_close(made);
	}
	ERR_clear_error();
	return error;
}

void tls_context_close(struct tls_context *context)
{
	if (context == NULL)
		return;
	SSL_CTX_free(context->ssl);
	BIO_meth_free(context->method);
	free(context);
}

/* ---- one connection ----------------------------------------------------------- */

/* Have the peer's certificate checked for the name, or the address. */
static int expect_name(SSL *ssl, const char *name)
{
	X509_VERIFY_PARAM *param = SSL_get0_param(ssl);
	size_t length = strcspn(name, "%");            /* "fe80::1%eth0" */
	char bare[INET6_ADDRSTRLEN] = "";
	unsigned char address[sizeof(struct in6_addr)];

	if (length < sizeof bare)
		memcpy(bare, name, length);
	if (inet_pton(AF_INET, bare, address) == 1)
		return X509_VERIFY_PARAM_set1_ip(param, address, sizeof(struct in_addr)) == 1 ? 0 : -ENOMEM;
	if (inet_pton(AF_INET6, bare, address) == 1)
		return X509_VERIFY_PARAM_set1_ip(param, address, sizeof(struct in6_addr)) == 1 ? 0 : -ENOMEM;
	X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
	/* An empty name would be no check at all. */
	if (name[0] == '\0' || X509_VERIFY_PARAM_set1_host(param, name, 0) != 1 ||
	    SSL_set_tlsext_host_name(ssl, name) != 1)
		return -EINVAL;
	return 0;
}

static int session_make(struct tls_session *session, struct tls_context *context)
{
	BIO *bio = BIO_new(context->method);

	session->ssl = SSL_new(context->ssl);
	if (bio == NULL || session->ssl == NULL) {
		BIO_free(bio);
		return -ENOMEM;
	}
	BIO_set_data(bio, session);
	BIO_set_init(bio, 1);
	SSL_set_bio(session->ssl, bio, bio);           /* owns it from here on */
	SSL_set_app_data(session->ssl, session);
	if (SSL_is_server(session->ssl)) {
		SSL_set_accept_state(session->ssl);
		return 0;
	}
	SSL_set_connect_state(session->ssl);
	if (session->peer_name == NULL)
		return -ENOMEM;
	return expect_name(session->ssl, session->peer_name);
}

int tls_session_open(struct tls_session *session, struct tls_context *context, int fd,
                     const char *peer_name)
{
	int error;

	memset(session, 0, sizeof *session);
	session->fd = fd;
	session->peer_name = peer_name != NULL ? strdup(peer_name) : NULL;
	error = session_make(session, context);
	ERR_clear_error();
	if (error != 0)
		tls_session_close(session);
	return error;
}

void tls_session_close(struct tls_session *session)
{
	SSL_free(session->ssl);
	free(session->peer_name);
	session->ssl = NULL;
	session->peer_name = NULL;
}

/* ---- what went wrong ---------------------------------------------------------- */

struct meaning {
	long code;
	int error;
	const char *text;
};

static const struct meaning *meaning_of(const struct meaning *meanings, size_t count, long code)
{
	for (size_t i = 0; i < count; i++)
		if (meanings[i].code == code)
			return &meanings[i];
	return NULL;
}

#define MEANING_OF(meanings, code) meaning_of(meanings, sizeof(meanings) / sizeof(meanings)[0], code)

/* Why this side refused the peer's certificate: it ... */
static int refused_by_us(const struct tls_session *session, char *text, size_t size)
{
	static const struct meaning reasons[] = {
		{ X509_V_ERR_CERT_HAS_EXPIRED, 0, "has expired" },
		{ X509_V_ERR_CERT_NOT_YET_VALID, 0, "is not valid yet" },
		{ X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, 0, "is of an authority that is not trusted here" },
		{ X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY, 0,
		  "is of an authority that is not trusted here" },
		{ X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, 0,
		  "is of an authority that is not trusted here" },
		{ X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, 0, "is of an authority that is not trusted here" },
		{ X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, 0, "is of an authority that is not trusted here" },
		{ X509_V_ERR_CERT_SIGNATURE_FAILURE, 0,
		  "was not signed by the authority that is trusted here, but by one of the same name" },
		{ X509_V_ERR_INVALID_PURPOSE, 0, "is not for this side of a connection" },
	};
	const char *whose = session->depth == 0 ? "the peer's certificate"
	                                        : "a certificate above the peer's";
	long code = SSL_get_verify_result(session->ssl);
	const struct meaning *reason = MEANING_OF(reasons, code);

	if (code == X509_V_ERR_HOSTNAME_MISMATCH || code == X509_V_ERR_IP_ADDRESS_MISMATCH)
		snprintf(text, size, "%s is for another name than \"%s\"", whose, session->peer_name);
	else if (reason != NULL)
		snprintf(text, size, "%s %s", whose, reason->text);
	else
		snprintf(text, size, "%s is refused: %s", whose, X509_verify_cert_error_string(code));
	return -EACCES;
}

/* The peer gave up, and said why. */
static int alert_outcome(int alert, char *text, size_t size)
{
	static const struct meaning alerts[] = {
		{ SSL_AD_BAD_CERTIFICATE, -EACCES,
		  "the peer refuses this side's certificate (not valid yet, or for another name)" },
		{ SSL_AD_UNSUPPORTED_CERTIFICATE, -EACCES,
		  "the peer refuses this side's certificate: it is not for this side of a connection" },
		{ SSL_AD_CERTIFICATE_REVOKED, -EACCES,
		  "the peer refuses this side's certificate: it was revoked" },
		{ SSL_AD_CERTIFICATE_EXPIRED, -EACCES,
		  "the peer refuses this side's certificate: it has expired" },
		{ SSL_AD_CERTIFICATE_UNKNOWN, -EACCES, "the peer refuses this side's certificate" },
		{ SSL_AD_UNKNOWN_CA, -EACCES,
		  "the peer refuses this side's certificate: its authority is not trusted there" },
		{ SSL_AD_ACCESS_DENIED, -EACCES, "the peer refuses this side's certificate: access denied" },
		{ SSL_AD_DECRYPT_ERROR, -EACCES,
		  "the peer refuses this side's certificate: a signature does not hold" },
		{ SSL_AD_CERTIFICATE_REQUIRED, -EACCES, "the peer wants a certificate, and got none" },
		{ SSL_AD_PROTOCOL_VERSION, -EPROTO, "the peer does not speak TLS 1.3" },
	};
	const struct meaning *meaning = MEANING_OF(alerts, alert);

	if (meaning != NULL) {
		snprintf(text, size, "%s", meaning->text);
		return meaning->error;
	}
	snprintf(text, size, "the peer gave TLS up: %s", SSL_alert_desc_string_long(alert));
	return -EPROTO;
}

static int fault_outcome(struct tls_session *session, unsigned long code, char *text, size_t size)
{
	static const struct meaning faults[] = {
		{ SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE, -EACCES, "the peer has no certificate" },
		{ SSL_R_BAD_SIGNATURE, -EACCES, "the peer does not have the key of its certificate" },
		{ SSL_R_WRONG_VERSION_NUMBER, -EPROTO, "the peer does not speak TLS" },
		{ SSL_R_HTTP_REQUEST, -EPROTO, "the peer does not speak TLS, but HTTP" },
		{ SSL_R_HTTPS_PROXY_REQUEST, -EPROTO, "the peer does not speak TLS, but HTTP" },
		{ SSL_R_UNSUPPORTED_PROTOCOL, -EPROTO, "the peer does not speak TLS 1.3" },
	};
	int reason = ERR_GET_REASON(code);
	const struct meaning *meaning = MEANING_OF(faults, reason);
	const char *words = ERR_reason_error_string(code);

	if (ERR_GET_LIB(code) == ERR_LIB_SSL) {
		if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED)
			return refused_by_us(session, text, size);
		if (reason > SSL_AD_REASON_OFFSET)
			return alert_outcome(reason - SSL_AD_REASON_OFFSET, text, size);
		if (meaning != NULL) {
			snprintf(text, size, "%s", meaning->text);
			return meaning->error;
		}
	}
	snprintf(text, size, "broken TLS: %s", words != NULL ? words : "no reason given");
	return -EPROTO;
}

/* Nothing is wrong with TLS, but the bytes cannot come or go. */
static int socket_failure(const struct tls_session *session, char *text, size_t size)
{
	if (session->error != 0) {
		snprintf(text, size, "%s", strerror(session->error));
		return -session->error;
	}
	snprintf(text, size, SSL_is_init_finished(session->ssl)
	         ? "the peer closed the connection without ending TLS"
	         : "the peer closed the connection during the TLS handshake");
	return -ECONNRESET;
}

int tls_session_outcome(struct tls_session *session, int result, char *text, size_t size)
{
	unsigned long code;
	int outcome;

	switch (SSL_get_error(session->ssl, result)) {
	case SSL_ERROR_WANT_READ:
	case SSL_ERROR_WANT_WRITE:
		return -EAGAIN;
	case SSL_ERROR_ZERO_RETURN:
		return 0;
	default:
		break;
	}
	/* The last is what TLS made of what other parts of OpenSSL said before. */
	code = ERR_peek_last_error();
	outcome = code != 0 ? fault_outcome(session, code, text, size)
	                    : socket_failure(session, text, size);
	ERR_clear_error();
	return outcome;
}
