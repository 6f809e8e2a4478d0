/*
 * address.c - see address.h.
 */
#include "bridge/address.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "shared/units.h"

#define PORT_MAX 65535u

__attribute__((format(printf, 4, 5)))
static int fails(int error, char *why, size_t why_size, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(why, why_size, format, arguments);
	va_end(arguments);
	return error;
}

/* ---- what the user wrote --------------------------------------------------- */

struct parts {
	const char *host;
	size_t length;                 /* of host */
	const char *port;
	bool brackets;
};

/* Cut it where it must be cut.  Returns what is wrong, or NULL. */
static const char *split(const char *text, struct parts *parts)
{
	const char *end;

	parts->brackets = text[0] == '[';
	if (parts->brackets) {
		end = strchr(text, ']');
		if (end == NULL)
			return "no ] after [";
		if (end[1] != ':')
			return "no :PORT after ]";
		parts->host = text + 1;
		parts->port = end + 2;
	} else {
		end = strrchr(text, ':');
		if (end == NULL)
			return "no :PORT";
		if (strchr(text, ':') != end)
			return "an IPv6 address must be in brackets, [ADDRESS]:PORT";
		parts->host = text;
		parts->port = end + 1;
	}
	parts->length = (size_t)(end - parts->host);
	return NULL;
}

static const char *take_host(const struct parts *parts, bool listening, struct address *address)
{
	const char *host = parts->host;
	size_t length = parts->length;

	if (length > ADDRESS_HOST_MAX)
		return "the host is too long";
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)host[i] <= ' ' || host[i] == 0x7f || host[i] == '/')
			return "that is no host";
	if (parts->brackets && memchr(host, ':', length) == NULL)
		return "no IPv6 address in the brackets";
	if (length == 1 && host[0] == '*')
		length = 0;
	if (length == 0 && !listening)
		return "no host";
	memcpy(address->host, host, length);
	address->host[length] = '\0';
	return NULL;
}

static const char *take_port(const char *text, bool listening, struct address *address)
{
	uint64_t port;

	if (units_parse_number(text, 0, PORT_MAX, &port) != 0)
		return "the port is no number up to 65535";
	if (port == 0 && !listening)
		return "port 0 is only for listening";
	address->port = (uint16_t)port;
	return NULL;
}

int address_parse(const char *text, bool listening, struct address *address,
                  char *why, size_t why_size)
{
	struct parts parts;
	const char *fault = split(text, &parts);

	if (fault == NULL)
		fault = take_host(&parts, listening, address);
	if (fault == NULL)
		fault = take_port(parts.port, listening, address);
	if (fault == NULL)
		return 0;
	return fails(-EINVAL, why, why_size, "bad address \"%.256s\": %s", text, fault);
}

/* ---- names ------------------------------------------------------------------- */

/* "[::]", which takes IPv4 as well, and "0.0.0.0" where there is no IPv6. */
static void list_any(uint16_t port, struct address_list *list)
{
	struct sockaddr_in6 any6 = {
		.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = IN6ADDR_ANY_INIT,
	};
	struct sockaddr_in any = {
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_ANY),
	};

	list->count = 2;
	list->entries[0].length = sizeof any6;
	memcpy(&list->entries[0].storage, &any6, sizeof any6);
	list->entries[1].length = sizeof any;
	memcpy(&list->entries[1].storage, &any, sizeof any);
}

static void list_found(const struct addrinfo *found, struct address_list *list)
{
	list->count = 0;
	for (; found != NULL && list->count < ADDRESS_LIST_MAX; found = found->ai_next) {
		struct address_socket *entry = &list->entries[list->count];

		if (found->ai_addrlen > sizeof entry->storage)
			continue;
		entry->length = found->ai_addrlen;
		memcpy(&entry->storage, found->ai_addr, found->ai_addrlen);
		list->count++;
	}
}

static int error_of(int fault)
{
	switch (fault) {
	case EAI_AGAIN:
		return -EAGAIN;
	case EAI_MEMORY:
		return -ENOMEM;
	case EAI_SYSTEM:
		return -errno;
	default:
		return -ENOENT;
	}
}

int address_resolve(const struct address *address, bool listening, struct address_list *list,
                    char *why, size_t why_size)
{
	const struct addrinfo hints = {
		.ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_NUMERICSERV | (listening ? AI_PASSIVE : 0),
	};
	struct addrinfo *found = NULL;
	char port[8];
	int fault;

	memset(list, 0, sizeof *list);
	if (address->host[0] == '\0') {
		list_any(address->port, list);
		return 0;
	}
	snprintf(port, sizeof port, "%u", (unsigned)address->port);
	fault = getaddrinfo(address->host, port, &hints, &found);
	if (fault != 0) {
		int error = error_of(fault);

		return fails(error, why, why_size, "cannot look up \"%s\": %s", address->host,
		             fault == EAI_SYSTEM ? strerror(-error) : gai_strerror(fault));
	}
	list_found(found, list);
	freeaddrinfo(found);
	if (list->count == 0)
		return fails(-ENOENT, why, why_size, "\"%s\" has no address", address->host);
	return 0;
}

/* ---- one address --------------------------------------------------------------- */

/* An IPv4 address that came in by an IPv6 socket is an IPv4 address. */
static struct address_socket unmapped(const struct address_socket *address)
{
	struct address_socket plain = *address;
	struct sockaddr_in6 in6;
	struct sockaddr_in in = { .sin_family = AF_INET };

	if (address->storage.ss_family != AF_INET6)
		return plain;
	memcpy(&in6, &address->storage, sizeof in6);
	if (!IN6_IS_ADDR_V4MAPPED(&in6.sin6_addr))
		return plain;
	in.sin_port = in6.sin6_port;
	memcpy(&in.sin_addr, &in6.sin6_addr.s6_addr[12], sizeof in.sin_addr);
	plain.length = sizeof in;
	memcpy(&plain.storage, &in, sizeof in);
	return plain;
}

bool address_is_loopback(const struct address_socket *address)
{
	struct address_socket plain = unmapped(address);
	struct sockaddr_in6 in6;
	struct sockaddr_in in;

	switch (plain.storage.ss_family) {
	case AF_INET:
		memcpy(&in, &plain.storage, sizeof in);
		return ntohl(in.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	case AF_INET6:
		memcpy(&in6, &plain.storage, sizeof in6);
		return IN6_IS_ADDR_LOOPBACK(&in6.sin6_addr);
	default:
		return false;
	}
}

char *address_format(const struct address_socket *address, char out[ADDRESS_TEXT_MAX])
{
	struct address_socket plain = unmapped(address);
	char host[ADDRESS_TEXT_MAX - 10], port[8];

	if (getnameinfo((const struct sockaddr *)&plain.storage, plain.length, host, sizeof host,
	                port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		snprintf(out, ADDRESS_TEXT_MAX, "?");
	else if (plain.storage.ss_family == AF_INET6)
		snprintf(out, ADDRESS_TEXT_MAX, "[%s]:%s", host, port);
	else
		snprintf(out, ADDRESS_TEXT_MAX, "%s:%s", host, port);
	return out;
}

/* ---- sockets --------------------------------------------------------------------- */

static int socket_of(const struct address_socket *address)
{
	int fd = socket(address->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	return fd;
}

static int name_of(int fd, struct address_socket *address)
{
	memset(address, 0, sizeof *address);
	address->length = sizeof address->storage;
	return getsockname(fd, (struct sockaddr *)&address->storage, &address->length) == 0 ? 0 : -errno;
}

static int bind_and_listen(int fd, const struct address_socket *address, bool v6_only, int backlog)
{
	int on = 1, only = v6_only;

	/* A restarted receiver takes its port back from its own old connections. */
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0)
		return -errno;
	if (address->storage.ss_family == AF_INET6 &&
	    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof only) != 0)
		return -errno;
	if (bind(fd, (const struct sockaddr *)&address->storage, address->length) != 0 ||
	    listen(fd, backlog) != 0)
		return -errno;
	return 0;
}

int address_listen(const struct address_socket *address, bool v6_only, int backlog,
                   struct address_socket *bound)
{
	int fd = socket_of(address), error;

	if (fd < 0)
		return fd;
	error = bind_and_listen(fd, address, v6_only, backlog);
	if (error == 0 && bound != NULL)
		error = name_of(fd, bound);
	if (error == 0)
		return fd;
	close(fd);
	return error;
}

int address_accept(int listener, struct address_socket *peer)
{
	int fd;

	memset(peer, 0, sizeof *peer);
	peer->length = sizeof peer->storage;
	fd = accept4(listener, (struct sockaddr *)&peer->storage, &peer->length,
	             SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd >= 0)
		return fd;
	switch (errno) {
	case EMFILE:
	case ENFILE:
	case ENOBUFS:
	case ENOMEM:
	case EBADF:
	case EINVAL:
	case ENOTSOCK:
		return -errno;
	default:
		return -EAGAIN;        /* what had already befallen the connection */
	}
}

int address_connect(const struct address_socket *address)
{
	int fd = socket_of(address), error;

	if (fd < 0)
		return fd;
	if (connect(fd, (const struct sockaddr *)&address->storage, address->length) == 0 ||
	    errno == EINPROGRESS)
		return fd;
	error = -errno;
	close(fd);
	return error;
}

/*
 * A port of this host where nobody listens may be given to the very socket that
 * knocks there: TCP then connects it with itself.
 */
static bool met_itself(int fd)
{
	struct address_socket here, there = { .length = sizeof there.storage };

	return name_of(fd, &here) == 0 &&
	       getpeername(fd, (struct sockaddr *)&there.storage, &there.length) == 0 &&
	       here.length == there.length && memcmp(&here.storage, &there.storage, here.length) == 0;
}

int address_connected(int fd)
{
	struct pollfd ready = { .fd = fd, .events = POLLOUT };
	socklen_t length = sizeof(int);
	int error = 0;

	if (poll(&ready, 1, 0) == 0)
		return -EINPROGRESS;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0)
		return -errno;
	if (error == 0 && met_itself(fd))
		return -ECONNREFUSED;
	return -error;
}
