/*
 * options.h - what the bridge was asked to do.
 */
#ifndef SLUICE_BRIDGE_OPTIONS_H
#define SLUICE_BRIDGE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bridge/address.h"
#include "bridge/tls.h"
#include "ring/ring.h"
#include "shared/exit.h"

struct bridge_options {
	const char *ring;              /* its name; with --serve a pattern */

	/* Both ends. */
	int64_t retry_ms;              /* how long a connection may be away; fits 31 bits */
	int64_t dead_after_ms;         /* a peer that is not heard of is gone */
	int64_t stall_timeout_ms;      /* 0: never */
	const char *tls_cert, *tls_key, *tls_ca;
	bool insecure;
	int progress;                  /* 1, 0 or -1: where stderr is a terminal */
	const char *summary;
	int ready_fd;                  /* -1: none */

	/* The sending end. */
	char **to;                     /* destinations, as written */
	struct address *addresses;     /* of each */
	size_t to_count;               /* 0: this is the receiving end */
	unsigned require;              /* how many must complete; 0: all */
	uint64_t rate;                 /* bytes a second to each; 0: no limit */
	int64_t wait_ms;               /* for the ring; the receiving end: for a sender */
	const char *name;
	bool late, any_user;

	/* The receiving end. */
	const char *listen;
	struct address listen_address;
	bool serve;
	unsigned consumers;
	int64_t start_timeout_ms, drain_timeout_ms;
	uint32_t slots;                /* 0: as many as at the source */
	mode_t mode;
};

/* Load the certificate, key and authority of the options; *tls is NULL without
 * them.  EXIT_COMPLETE, or an exit code, and why was said. */
enum exit_code bridge_tls_open(const struct bridge_options *options, bool server,
                               struct tls_context **tls);

/* Parse, or say what is wrong and exit EXIT_USAGE. */
void bridge_options_parse(struct bridge_options *options, int argc, char **argv);

#endif
