/*
 * options.h - the producer's command line.
 */
#ifndef SLUICE_PRODUCER_OPTIONS_H
#define SLUICE_PRODUCER_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "producer/source.h"
#include "ring/ring.h"

struct producer_options {
	const char *ring;
	char **paths;                  /* "-" is standard input */
	int path_count;
	uint64_t total_bytes;          /* of all paths; 0: not known */
	const struct source *source;
	struct source_options source_options;
	const char *csv_option;        /* one that was given and is csv's; or NULL */
	struct ring_geometry geometry;
	mode_t mode;
	unsigned consumers;
	bool digest, spin;
	int64_t start_timeout_ms, drain_timeout_ms, stall_timeout_ms;
	int progress;                  /* 1 yes, 0 no, -1 if stderr is a terminal */
	const char *summary;
	int ready_fd;
};

/* Fill `options` from the command line, or end the program: --help, --version,
 * EXIT_USAGE, or EXIT_SYSTEM for a FILE that cannot be read. */
void producer_options_parse(struct producer_options *options, int argc, char **argv);

#endif
