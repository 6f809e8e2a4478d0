/*
 * options.h - the consumer's command line.
 */
#ifndef SLUICE_CONSUMER_OPTIONS_H
#define SLUICE_CONSUMER_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "consumer/sink.h"

struct consumer_options {
	const char *ring;
	const struct sink *sink;       /* NULL: auto */
	const char *output;            /* NULL: standard output */
	const char *output_dir;
	const char *name;
	const char *summary;
	int64_t wait_ms;
	bool late, drop, any_user, spin;
	int progress;
	int ready_fd;
};

/* Fill `options`, or end the program: --help, --version, EXIT_USAGE. */
void consumer_options_parse(struct consumer_options *options, int argc, char **argv);

#endif
