/*
 * tls_fixture.h - for tests of TLS: certificates good and bad, in a folder of
 * their own, and two transports that talk with each other.
 */
#ifndef SLUICE_TLS_FIXTURE_H
#define SLUICE_TLS_FIXTURE_H

#include <check.h>
#include <stdbool.h>
#include <sys/types.h>

#include "bridge/tls.h"
#include "bridge/transport.h"

#define PATIENCE_MS 20000              /* reached only when a test fails */
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* ---- certificates --------------------------------------------------------- */

extern char certificates[256];         /* the folder */

/*
 * Make them, before all tests: NAME.pem and NAME.key of
 *
 *   ca, other-ca, old-ca    authorities; old-ca has expired
 *   namesake-ca             has the name of ca, but another key
 *   server, client          good ones, by ca; server is for 127.0.0.1, ::1,
 *                           localhost and bridge.example, as are all below
 *   expired, future         by ca, not valid now
 *   for-servers             by ca, no client's; and for-clients
 *   by-middle               by an authority between, which is in its file, by ca
 *   stranger, false, of-old by other-ca, namesake-ca, old-ca
 *   alone                   signed by itself
 *
 * and text.pem, which is none, and encrypted.key.
 */
void certificates_make(void);
void certificates_remove(void);

/* The path of a file of theirs; borrowed for the next eight calls. */
const char *certificate_path(const char *name, const char *suffix);

/* ---- two ends --------------------------------------------------------------- */

extern struct tls_context *client_context, *server_context;
extern struct transport *client, *server;
extern char why[TLS_WHY_MAX];

/* What a side is given: names of certificates. */
struct side {
	const char *own, *ca;
};

extern const struct side good_client, good_server;

/* Descriptors of a connection, the client's first. */
void connect_tcp(int fds[2]);
void connect_pair(int fds[2]);

struct tls_context *context_of(bool is_server, struct side side);
void open_ends(const int fds[2], struct side client_side, struct side server_side, const char *name);
void close_end(struct transport **transport);
void close_ends(void);                 /* what is open of all those above */

/* Do both handshakes, as far as they go. */
void shake(int *client_outcome, int *server_outcome);

/* Good ones of both, connected. */
void open_good(bool tcp);

void wait_for(struct transport *transport, short events);
void wait_for_either(struct transport *one, short one_events, struct transport *other,
                     short other_events);

extern char received[256];

ssize_t send_text(struct transport *transport, const char *text);
ssize_t recv_text(struct transport *transport);

/* Receive, when something is there: bytes, the end, or a failure. */
ssize_t await_text(struct transport *transport);

#endif
