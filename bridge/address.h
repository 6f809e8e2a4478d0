/*
 * address.h - "HOST:PORT" as people write it, and sockets made of it.
 *
 * Descriptors are close-on-exec and non-blocking.
 */
#ifndef SLUICE_BRIDGE_ADDRESS_H
#define SLUICE_BRIDGE_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define ADDRESS_HOST_MAX 255           /* bytes, without NUL */
#define ADDRESS_LIST_MAX 16u           /* of one name; more are not tried */
#define ADDRESS_TEXT_MAX 80            /* bytes of "[v6%scope]:port", with NUL */
#define ADDRESS_WHY_MAX 384

/* What the user wrote, taken apart. */
struct address {
	char host[ADDRESS_HOST_MAX + 1];   /* without brackets; "": every address of this host */
	uint16_t port;                     /* 0: any that is free */
};

/* One address of the kernel's. */
struct address_socket {
	socklen_t length;
	struct sockaddr_storage storage;
};

struct address_list {
	size_t count;
	struct address_socket entries[ADDRESS_LIST_MAX];
};

/*
 * Read "HOST:PORT" or "[V6]:PORT"; if `listening` also ":PORT" and "*:PORT",
 * and port 0.  Returns 0; -EINVAL, `why` says in words what is wrong with it.
 */
int address_parse(const char *text, bool listening, struct address *address,
                  char *why, size_t why_size);

/*
 * Look up all addresses of a host, in the order in which to try them; at least
 * one.  Blocks while it asks name servers.
 * Returns 0; -EAGAIN no answer now, a retry can help; -ENOENT no such host;
 * -ENOMEM; or what the system said.  `why` says what.
 */
int address_resolve(const struct address *address, bool listening, struct address_list *list,
                    char *why, size_t why_size);

/* Is it an address that only this host reaches? */
bool address_is_loopback(const struct address_socket *address);

/* "127.0.0.1:80", "[::1]:80"; "?" if it is neither IPv4 nor IPv6.  Returns out. */
char *address_format(const struct address_socket *address, char out[ADDRESS_TEXT_MAX]);

/*
 * Listen on one address.
 *
 * @v6_only  an IPv6 address takes no IPv4 connections; else "[::]" takes both
 * @backlog  connections that wait to be accepted
 * @bound    out, may be NULL: the address, with the port that was given
 *
 * Returns the descriptor or -errno.
 */
int address_listen(const struct address_socket *address, bool v6_only, int backlog,
                   struct address_socket *bound);

/* Accept a connection.  @peer out.  Returns its descriptor or -errno; -EAGAIN
 * there is none, or it is gone already. */
int address_accept(int listener, struct address_socket *peer);

/*
 * Begin to connect to one address.  Returns the descriptor or -errno.  When
 * poll(2) says POLLOUT (or an error), address_connected tells what came of it:
 * 0; -EINPROGRESS not over yet; or -errno.
 */
int address_connect(const struct address_socket *address);
int address_connected(int fd);

#endif
