/* listener.c - listening, and saying where. */
#include "bridge/listener.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bridge/guests.h"
#include "shared/log.h"

static bool is_allowed(const struct bridge_options *options, bool encrypted,
                       const struct address_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		if (!address_is_loopback(&list->entries[i]))
			return encrypted || options->insecure;
	return true;
}

enum exit_code listener_open(const struct bridge_options *options, bool encrypted, int *fd)
{
	struct address_socket bound;
	struct address_list list;
	char why[ADDRESS_WHY_MAX], text[ADDRESS_TEXT_MAX + 1];
	int listener = -EADDRNOTAVAIL;

	if (address_resolve(&options->listen_address, true, &list, why, sizeof why) != 0) {
		log_fatal("%s", why);
		return EXIT_ABSENT;
	}
	if (!is_allowed(options, encrypted, &list)) {
		log_fatal("--listen %s lets other hosts in: use TLS (--tls-cert and the like), or --insecure",
		          options->listen);
		return EXIT_USAGE;
	}
	for (size_t i = 0; i < list.count && listener < 0; i++)
		listener = address_listen(&list.entries[i], false, GUESTS_MOST, &bound);
	if (listener < 0) {
		log_fatal("cannot listen on %s: %s", options->listen, strerror(-listener));
		return listener == -EADDRINUSE ? EXIT_ABSENT : EXIT_SYSTEM;
	}
	*fd = listener;
	address_format(&bound, text);
	printf("%s\n", text);
	if (fflush(stdout) != 0)
		log_warning("cannot write to standard output: %s", strerror(errno));
	if (options->ready_fd < 0)
		return EXIT_COMPLETE;
	strcat(text, "\n");
	if (write(options->ready_fd, text, strlen(text)) == (ssize_t)strlen(text))
		return EXIT_COMPLETE;
	log_fatal("cannot write to --ready-fd %d: %s", options->ready_fd, strerror(errno));
	return EXIT_SYSTEM;
}
