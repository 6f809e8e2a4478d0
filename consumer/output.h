/*
 * output.h - where a sink's bytes go: standard output, or a file that gets its
 * name only when it is complete and safe.
 */
#ifndef SLUICE_OUTPUT_H
#define SLUICE_OUTPUT_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OUTPUT_BUFFER (256u << 10)

struct ring_reader;

struct output {
	struct ring_reader *ring;   /* told of each write that got on; may be NULL */
	int fd;                     /* -1: closed */
	int error;                  /* errno of the first write that failed; 0: good */
	bool rename;                /* written under a temporary name */
	char path[PATH_MAX];        /* final name; "(standard output)" */
	char temporary[PATH_MAX];
	uint64_t written;           /* bytes that left the buffer */
	size_t used;
	char *buffer;
};

/* Returns 0 or -ENOMEM. */
int output_init(struct output *output);
void output_release(struct output *output);

void output_open_stdout(struct output *output);

/* A temporary file beside `path`; with `special`, devices, pipes and sockets are
 * written as they are.  0 or -errno; -EINTR if the program must leave. */
int output_open_file(struct output *output, const char *path, bool special);

/* Write what is buffered.  Failures are remembered. */
void output_flush(struct output *output);

/* Flush, make durable, give the file its name, close.  0 or -errno; then there
 * is no file of that name that was not there before, unless only the syncing of
 * its directory failed. */
int output_commit(struct output *output);

/* Close; a temporary file goes. */
void output_discard(struct output *output);

#endif
