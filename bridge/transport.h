/*
 * transport.h - one connection that never blocks, plain or TLS.
 *
 * A transport belongs to one thread.  Functions return 0 or bytes, or -errno,
 * of which
 *
 *   -EAGAIN      poll(2) for transport_events, then try again
 *   -EACCES      no trust: one side refused the other's certificate
 *   -EPROTO      the peer speaks no TLS, or broken TLS
 *   -ECONNRESET  also: closed without the notice that TLS demands
 *
 * are the ones to tell apart, and anything else is what the system said.  After
 * a handshake that failed, only transport_error and transport_close are left.
 * What cannot be sent may still be explained by what can be received: a peer
 * that says why and closes makes sending fail first.
 */
#ifndef SLUICE_BRIDGE_TRANSPORT_H
#define SLUICE_BRIDGE_TRANSPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "bridge/tls.h"

struct transport;

/*
 * Make a transport of a connected stream socket, and make that non-blocking.
 *
 * @fd         owned by the transport from here on, also on failure
 * @tls        NULL: plain.  Must outlive the transport
 * @server     the side that accepted
 * @peer_name  the client's: the host name or address literal that the
 *             server's certificate must have; NULL on the server's side, and
 *             not looked at if plain
 *
 * Returns 0; -ENOMEM; -EINVAL a name that no certificate can have; or what the
 * system said.
 */
int transport_open(struct transport **transport, int fd, struct tls_context *tls,
                   bool server, const char *peer_name);

/* Tell TLS that it is over, if that can be had without waiting, close, free. */
void transport_close(struct transport *transport);

/*
 * Do the TLS handshake, certificates and all; nothing if plain.  To be called
 * until it returns 0, before anything is sent or received.
 *
 * In TLS 1.3 the client is done before the server has judged its certificate:
 * it learns of a refusal (-EACCES) when it sends or receives.
 */
int transport_handshake(struct transport *transport);

/*
 * Send some of the bytes, in order; plain ones without a copy.
 *
 * Returns how many were taken, >= 1; or -errno.  The bytes that were not taken
 * must come first in the next call, wherever they lie by then, and at least as
 * many of them: TLS may have encrypted them already.  Never raises SIGPIPE.
 */
ssize_t transport_send(struct transport *transport, const struct iovec *pieces, int count);

/* Receive up to as many bytes as the pieces have room for, >= 1.  Returns how
 * many; 0 the peer is done, and (if TLS) said so; or -errno. */
ssize_t transport_recv(struct transport *transport, const struct iovec *pieces, int count);

/* What to poll(2) for before the next handshake, or before receiving and
 * sending as wanted: TLS may need to write in order to read. */
short transport_events(const struct transport *transport, bool want_read, bool want_write);

/* Is there something to receive that poll(2) does not know of?  False again
 * once transport_recv returned -EAGAIN. */
bool transport_pending(const struct transport *transport);

int transport_fd(const struct transport *transport);
bool transport_is_tls(const struct transport *transport);

/* The last failure in one line, without who the peer is. */
const char *transport_error(const struct transport *transport);

/*
 * Have the kernel give an idle TCP connection up (-ETIMEDOUT) when the peer's host
 * was not heard of for about so long, to the second.  Where something is on its way
 * the kernel takes minutes: transport_peer_is_gone.  Nothing if it is not TCP.
 * Returns 0 or -errno.
 */
int transport_tune(int fd, int64_t dead_after_ms);

/*
 * Has something been on its way for so long, without a sign of the peer's host?  To
 * be asked several times a second.  A host that answers, but whose program takes
 * nothing more, is not gone.  If so transport_error says it.
 */
bool transport_peer_is_gone(struct transport *transport, int64_t dead_after_ms);

/*
 * For a connected socket that is to send much: where the peer is so near that
 * hardly anything is ever on its way, as on the same host, the socket holds no
 * more than stays in the cache.  Elsewhere the kernel fits it to the path.
 */
void transport_fit(int fd);

#endif
