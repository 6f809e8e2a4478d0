/*
 * input.h - one input of the producer: a file, or standard input.
 */
#ifndef SLUICE_INPUT_H
#define SLUICE_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "shared/progress.h"
#include "shared/stream.h"

struct input {
	const char *path;       /* for messages: the name given, or "(standard input)" */
	const char *name;       /* for HEADER: NULL for standard input */
	int fd;
	bool regular;           /* a regular file: size is known, reads do not wait */
	uint64_t size;          /* bytes, if regular */
	uint64_t taken;         /* bytes read so far */
	struct stream_writer *stream;  /* flushed before a read that may wait */
	struct progress *progress;     /* counts what is read; may be NULL */
};

/* Open `path`, "-" for standard input.  0 or -errno; -EINTR if the program must
 * leave. */
int input_open(struct input *input, const char *path, struct stream_writer *stream);
void input_close(struct input *input);

/*
 * Publish what is finished, and with `partial` what there is of an open
 * message, if the next read would wait.  With `partial`, room that the stream
 * gave is no longer valid.
 */
void input_settle(struct input *input, bool partial);

/*
 * Read up to `length` bytes.  Returns how many, 0 at the end, or -errno: -EINTR
 * if the program must leave; -ENODATA a regular file ended before its size.
 * Reads of regular files fill the buffer unless the file ends.
 */
ssize_t input_take(struct input *input, void *buffer, size_t length);

#endif
