/*
 * transport.c - see transport.h.
 */
#include "bridge/transport.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "ring/wait.h"

#define RECORD_MAX 16384u              /* bytes of a TLS record */

/* One key is good for 2^24.5 records of AES-GCM (RFC 8446, 5.5), and OpenSSL
 * does not count. */
#define KEY_BYTES (64ull << 30)

struct transport {
	int fd;
	struct tls_session tls;        /* .ssl is NULL: plain */
	bool shaken;                   /* the handshake is done, or there is none */
	bool drained;                  /* OpenSSL has given all that it had */
	short recv_needs, send_needs;  /* poll(2) events */

	/* A failure that came after some bytes is told by the next call. */
	bool recv_over;                /* nothing more comes: recv_outcome says why */
	bool recv_told;
	int recv_outcome;              /* 0: it ended well; else -errno */
	int send_outcome;

	uint64_t suspected_ns;         /* since when the peer seems to be gone; 0: it does not */
	uint64_t key_bytes;            /* that were sent with the present key */
	char error[TLS_WHY_MAX];
	uint8_t gathered[];            /* if TLS: small pieces, to become one record */
};

static int fails(struct transport *transport, int error)
{
	snprintf(transport->error, sizeof transport->error, "%s", strerror(-error));
	return error;
}

/* ---- opening and closing -------------------------------------------------- */

static int socket_prepare(int fd)
{
	int flags = fcntl(fd, F_GETFL), on = 1;

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return -errno;
	/* What is written is meant to leave.  Other sockets than TCP's always do. */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	return 0;
}

int transport_open(struct transport **transport, int fd, struct tls_context *tls,
                   bool server, const char *peer_name)
{
	struct transport *made = calloc(1, sizeof *made + (tls != NULL ? RECORD_MAX : 0));
	int error = made != NULL ? socket_prepare(fd) : -ENOMEM;

	if (error == 0 && tls != NULL)
		error = tls_session_open(&made->tls, tls, fd, server ? NULL : peer_name);
	if (error != 0) {
		free(made);
		close(fd);
		return error;
	}
	made->fd = fd;
	made->shaken = tls == NULL;
	made->recv_needs = POLLIN;
	made->send_needs = POLLOUT;
	*transport = made;
	return 0;
}

/*
 * Read away what the peer sent meanwhile: bytes that nobody read turn close(2)
 * into a reset, which takes with it what we said last, and why.
 */
static void drain(int fd)
{
	char bytes[4096];

	shutdown(fd, SHUT_WR);
	for (int i = 0; i < 64 && recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0; i++)
		;
}

void transport_close(struct transport *transport)
{
	if (transport->tls.ssl != NULL) {
		if (transport->shaken && transport->send_outcome == 0) {
			SSL_shutdown(transport->tls.ssl);
			ERR_clear_error();
		}
		tls_session_close(&transport->tls);
	}
	drain(transport->fd);
	close(transport->fd);
	free(transport);
}

/* ---- the handshake ---------------------------------------------------------- */

static short event_wanted(const struct transport *transport)
{
	return SSL_want_write(transport->tls.ssl) ? POLLOUT : POLLIN;
}

int transport_handshake(struct transport *transport)
{
	int result, error;

	if (transport->shaken)
		return 0;
	ERR_clear_error();
	result = SSL_do_handshake(transport->tls.ssl);
	if (result == 1) {
		transport->shaken = true;
		transport->recv_needs = POLLIN;
		return 0;
	}
	error = tls_session_outcome(&transport->tls, result, transport->error, sizeof transport->error);
	if (error == -EAGAIN)
		transport->recv_needs = event_wanted(transport);
	else if (error == 0)           /* it said goodbye before hello */
		error = fails(transport, -ECONNRESET);
	return error;
}

short transport_events(const struct transport *transport, bool want_read, bool want_write)
{
	short events = 0;

	if (!transport->shaken)
		return transport->recv_needs;
	if (want_read)
		events |= transport->recv_needs;
	if (want_write)
		events |= transport->send_needs;
	return events;
}

/* ---- receiving ---------------------------------------------------------------- */

/* How many pieces one system call takes. */
static int pieces_max(int count)
{
	return count > IOV_MAX ? IOV_MAX : count;
}

static ssize_t plain_recv(struct transport *transport, const struct iovec *pieces, int count)
{
	ssize_t got;

	do
		got = readv(transport->fd, pieces, pieces_max(count));
	while (got < 0 && errno == EINTR);
	if (got >= 0 || errno == EAGAIN)
		return got >= 0 ? got : -EAGAIN;
	return fails(transport, -errno);
}

/* Fill one piece.  Returns 0 full; -EAGAIN; or that nothing more comes. */
static int tls_fill(struct transport *transport, const struct iovec *piece, size_t *got)
{
	size_t at = 0, length;

	while (at < piece->iov_len) {
		int result = SSL_read_ex(transport->tls.ssl, (char *)piece->iov_base + at,
		                         piece->iov_len - at, &length);

		if (result <= 0) {
			int outcome = tls_session_outcome(&transport->tls, result, transport->error,
			                                  sizeof transport->error);

			if (outcome == -EAGAIN)
				return -EAGAIN;
			transport->recv_over = true;
			transport->recv_outcome = outcome;
			return -EPIPE;
		}
		at += length;
		*got += length;
	}
	return 0;
}

static ssize_t tls_recv(struct transport *transport, const struct iovec *pieces, int count)
{
	size_t got = 0;
	int error = 0;

	ERR_clear_error();
	for (int i = 0; i < count && error == 0 && !transport->recv_over; i++)
		error = tls_fill(transport, &pieces[i], &got);
	transport->recv_needs = error == -EAGAIN ? event_wanted(transport) : POLLIN;
	transport->drained = error == -EAGAIN;
	if (got > 0)
		return (ssize_t)got;
	if (!transport->recv_over)
		return -EAGAIN;
	transport->recv_told = true;
	return transport->recv_outcome;
}

ssize_t transport_recv(struct transport *transport, const struct iovec *pieces, int count)
{
	return transport->tls.ssl == NULL ? plain_recv(transport, pieces, count)
	                                  : tls_recv(transport, pieces, count);
}

bool transport_pending(const struct transport *transport)
{
	if (transport->tls.ssl == NULL || !transport->shaken)
		return false;
	if (transport->recv_over)
		return !transport->recv_told;
	/* It also has pending what is but a part of a record. */
	return !transport->drained && SSL_has_pending(transport->tls.ssl);
}

/* ---- sending ------------------------------------------------------------------ */

static ssize_t plain_send(struct transport *transport, const struct iovec *pieces, int count)
{
	struct msghdr message = { .msg_iovlen = (size_t)pieces_max(count) };
	ssize_t sent;

	message.msg_iov = (struct iovec *)(uintptr_t)pieces;    /* only read */
	do
		sent = sendmsg(transport->fd, &message, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	if (sent >= 0 || errno == EAGAIN)
		return sent >= 0 ? sent : -EAGAIN;
	return fails(transport, -errno);
}

/* A place in a list of pieces. */
struct place {
	const struct iovec *pieces;
	int count;
	size_t at;                     /* within the first */
};

static void place_skip(struct place *place, size_t length)
{
	while (place->count > 0 && place->pieces->iov_len - place->at <= length) {
		length -= place->pieces->iov_len - place->at;
		place->pieces++;
		place->count--;
		place->at = 0;
	}
	place->at += length;
}

/*
 * The bytes of the next record: as many as are there, up to a full one, which
 * is what a repeated call must offer at least.  A piece that fills the record,
 * or is the last, is taken from where it lies.
 */
static const uint8_t *next_record(struct transport *transport, struct place place, size_t *length)
{
	const uint8_t *first = (const uint8_t *)place.pieces->iov_base + place.at;
	size_t room = RECORD_MAX;

	*length = place.pieces->iov_len - place.at;
	if (*length >= RECORD_MAX || place.count == 1) {
		*length = *length < RECORD_MAX ? *length : RECORD_MAX;
		return first;
	}
	while (room > 0 && place.count > 0) {
		size_t part = place.pieces->iov_len - place.at;

		part = part < room ? part : room;
		memcpy(transport->gathered + RECORD_MAX - room,
		       (const uint8_t *)place.pieces->iov_base + place.at, part);
		room -= part;
		place_skip(&place, part);
	}
	*length = RECORD_MAX - room;
	return transport->gathered;
}

/* A new key in time.  A record that is half sent must be finished first, and
 * OpenSSL refuses until then: the next call tries again. */
static void renew_key(struct transport *transport)
{
	if (transport->key_bytes >= KEY_BYTES &&
	    SSL_key_update(transport->tls.ssl, SSL_KEY_UPDATE_NOT_REQUESTED) == 1)
		transport->key_bytes = 0;
	ERR_clear_error();
}

/*
 * Sending failed since the peer has closed.  If it did so for want of trust, as
 * a server may after the handshake, its last words say so.
 */
static int last_words(struct transport *transport, int error)
{
	char text[sizeof transport->error];
	uint8_t byte;
	int result, outcome;

	if ((error != -EPIPE && error != -ECONNRESET) || transport->recv_over)
		return error;
	result = SSL_peek(transport->tls.ssl, &byte, 1);
	if (result > 0)
		return error;
	outcome = tls_session_outcome(&transport->tls, result, text, sizeof text);
	if (outcome != -EACCES)
		return error;
	memcpy(transport->error, text, sizeof text);
	transport->recv_over = true;
	transport->recv_outcome = outcome;
	return outcome;
}

static ssize_t tls_send(struct transport *transport, const struct iovec *pieces, int count)
{
	struct place place = { pieces, count, 0 };
	size_t sent = 0;

	place_skip(&place, 0);
	while (place.count > 0 && transport->send_outcome == 0) {
		size_t length, taken;
		const uint8_t *bytes = next_record(transport, place, &length);
		int result, outcome;

		renew_key(transport);
		result = SSL_write_ex(transport->tls.ssl, bytes, length, &taken);
		if (result > 0) {
			sent += taken;
			transport->key_bytes += taken;
			place_skip(&place, taken);
			continue;
		}
		outcome = tls_session_outcome(&transport->tls, result, transport->error,
		                              sizeof transport->error);
		transport->send_needs = outcome == -EAGAIN ? event_wanted(transport) : POLLOUT;
		if (outcome == -EAGAIN)
			break;
		transport->send_outcome = last_words(transport, outcome == 0 ? -EPIPE : outcome);
	}
	if (sent > 0)
		return (ssize_t)sent;
	return transport->send_outcome != 0 ? transport->send_outcome : -EAGAIN;
}

ssize_t transport_send(struct transport *transport, const struct iovec *pieces, int count)
{
	return transport->tls.ssl == NULL ? plain_send(transport, pieces, count)
	                                  : tls_send(transport, pieces, count);
}

/* ---- questions ------------------------------------------------------------------ */

int transport_fd(const struct transport *transport)
{
	return transport->fd;
}

bool transport_is_tls(const struct transport *transport)
{
	return transport->tls.ssl != NULL;
}

const char *transport_error(const struct transport *transport)
{
	return transport->error;
}

/* ---- dead peers ------------------------------------------------------------------- */

#define PROBES 3                       /* that must be lost before a peer is dead */
#define SUSPECTED_NS UINT64_C(1000000000)   /* unanswered for so long, beside all that */
#define DEAD_AFTER_MAX_MS 65534000     /* the kernel keeps no more than 32767 s of silence */

int transport_tune(int fd, int64_t dead_after_ms)
{
	unsigned timeout_ms = (unsigned)(dead_after_ms < DEAD_AFTER_MAX_MS ? dead_after_ms
	                                                                  : DEAD_AFTER_MAX_MS);
	/* Half of the time in silence, the other half for probes. */
	int idle_s = (int)(timeout_ms / 2000), interval_s = idle_s / PROBES;
	int on = 1, probes = PROBES;

	idle_s = idle_s > 0 ? idle_s : 1;
	interval_s = interval_s > 0 ? interval_s : 1;
	if (setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s) != 0)
		return errno == EOPNOTSUPP || errno == ENOPROTOOPT ? 0 : -errno;
	if (setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s) != 0 ||
	    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes) != 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on) != 0)
		return -errno;
	return 0;
}

/*
 * TCP_USER_TIMEOUT would do the same, but it also counts the time for which a
 * peer that lives takes nothing more.
 */
bool transport_peer_is_gone(struct transport *transport, int64_t dead_after_ms)
{
	struct tcp_info info;
	socklen_t length = sizeof info;
	uint64_t now = wait_now_ns();

	memset(&info, 0, sizeof info);
	if (getsockopt(transport->fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0 ||
	    (info.tcpi_unacked == 0 && info.tcpi_probes == 0) ||
	    (int64_t)info.tcpi_last_ack_recv < dead_after_ms) {
		transport->suspected_ns = 0;
		return false;
	}
	/* After a long silence of both, what was just sent is not answered yet. */
	if (transport->suspected_ns == 0)
		transport->suspected_ns = now;
	if (now - transport->suspected_ns < SUSPECTED_NS)
		return false;
	snprintf(transport->error, sizeof transport->error, "%s", strerror(ETIMEDOUT));
	return true;
}

#define NEAR_RTT_US 50                 /* a switch alone takes about so long */
#define NEAR_BUFFER (208 << 10)        /* what the kernel allows everybody; it takes twice that */

void transport_fit(int fd)
{
	struct tcp_info info;
	socklen_t length = sizeof info;
	int buffer = NEAR_BUFFER;

	memset(&info, 0, sizeof info);
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 && info.tcpi_rtt != 0 &&
	    info.tcpi_rtt < NEAR_RTT_US)
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
}
