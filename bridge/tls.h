/*
 * tls.h - certificates, keys, and what TLS must be like: version 1.3, both
 * sides with a certificate, each signed by an authority that the other trusts.
 */
#ifndef SLUICE_BRIDGE_TLS_H
#define SLUICE_BRIDGE_TLS_H

#include <stdbool.h>
#include <stddef.h>

struct tls_context;

#define TLS_WHY_MAX 512                /* bytes, enough for most file names */

/*
 * Load what a side needs, for any number of connections.
 *
 * @server  the side that accepts connections
 * @cert    PEM file: its certificate, then those between it and the authority's
 * @key     PEM file: the key that fits the first; not encrypted
 * @ca      PEM file: who may sign the other side's
 * @why     out, on failure: one line, which names the file
 *
 * Returns 0; -EBADMSG a file that holds no such thing; -EKEYREJECTED the key
 * does not fit the certificate; -ENOMEM; or why a file cannot be read.
 */
int tls_context_open(struct tls_context **context, bool server, const char *cert,
                     const char *key, const char *ca, char *why, size_t why_size);

/* No transport may use it any more.  NULL is nothing. */
void tls_context_close(struct tls_context *context);

/* ---- one connection, for transport.c -------------------------------------- */

/* OpenSSL's end of a connection.  It stays where it is while it is open. */
struct tls_session {
	struct ssl_st *ssl;
	int fd;                        /* not its own */
	int error;                     /* errno of the last read or write; 0: it did not fail */
	int depth;                     /* of the certificate that was refused; 0: the peer's own */
	char *peer_name;               /* whom a client wants to talk to */
};

/* Returns 0; -EINVAL a name that no certificate can have; -ENOMEM. */
int tls_session_open(struct tls_session *session, struct tls_context *context, int fd,
                     const char *peer_name);
void tls_session_close(struct tls_session *session);

/*
 * What it means that a call of OpenSSL's returned `result`, <= 0.
 *
 * Returns -EAGAIN (SSL_want tells for what); 0 the peer ended TLS; -EACCES one
 * side refused the other's certificate; -EPROTO; -ECONNRESET the bytes ended
 * without notice; or what the system said.  Below 0 `text` says it in words.
 */
int tls_session_outcome(struct tls_session *session, int result, char *text, size_t size);

#endif
