/* output.c - bytes to standard output or a file. */
#include "consumer/output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "consumer/sink.h"
#include "ring/ring.h"
#include "ring/testpoint.h"
#include "shared/leave.h"
#include "shared/temporary.h"

#define PIPE_BYTES (1 << 20)
#define WRITE_MOST (256u << 10)        /* bytes of one write */
#define THROUGH_LEAST (32u << 10)      /* larger pieces are not copied */

_Static_assert(OUTPUT_ROOM_MAX <= OUTPUT_BUFFER, "room is part of the buffer");

int output_init(struct output *output)
{
	memset(output, 0, sizeof *output);
	output->fd = -1;
	output->buffer = malloc(OUTPUT_BUFFER);
	return output->buffer != NULL ? 0 : -ENOMEM;
}

void output_release(struct output *output)
{
	free(output->buffer);
}

static void output_begin(struct output *output, int fd)
{
	output->fd = fd;
	output->error = 0;
	output->used = 0;
	/* A larger pipe: fewer, larger writes; as good as it gets. */
	fcntl(fd, F_SETPIPE_SZ, PIPE_BYTES);
}

void output_open_stdout(struct output *output)
{
	snprintf(output->path, sizeof output->path, "(standard output)");
	output->rename = false;
	output_begin(output, STDOUT_FILENO);
}

int output_open_file(struct output *output, const char *path, bool special)
{
	int fd;

	if (strlen(path) >= sizeof output->path)
		return -ENAMETOOLONG;
	strcpy(output->path, path);
	do {
		fd = temporary_open(path, special, output->temporary);
	} while (fd == -EINTR && !leave_is_requested());
	if (fd < 0)
		return fd;
	output->rename = output->temporary[0] != '\0';
	output_begin(output, fd);
	TESTPOINT("output_opened");
	return 0;
}

/* Write all of it, or remember why not. */
static void write_all(struct output *output, struct iovec *pieces, int count)
{
	while (count > 0 && output->error == 0) {
		size_t whole;
		ssize_t got;

		if (leave_is_requested()) {
			output->error = EINTR;
			return;
		}
		/* Not too much at once: a writer may evict a reader of which it
		 * hears nothing for a while. */
		whole = pieces[0].iov_len;
		if (whole > WRITE_MOST)
			pieces[0].iov_len = WRITE_MOST;
		got = writev(output->fd, pieces, whole > WRITE_MOST ? 1 : count);
		pieces[0].iov_len = whole;
		if (got < 0 && errno == EAGAIN) {
			/* Somebody made it non-blocking; wait as if it were not. */
			struct pollfd poll_fd = { .fd = output->fd, .events = POLLOUT };

			poll(&poll_fd, 1, -1);
			continue;
		}
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			output->error = errno;
			return;
		}
		output->written += (uint64_t)got;
		if (output->ring != NULL)
			ring_reader_progress(output->ring);
		while (count > 0 && (size_t)got >= pieces->iov_len) {
			got -= (ssize_t)pieces->iov_len;
			pieces++;
			count--;
		}
		if (count > 0) {
			pieces->iov_base = (char *)pieces->iov_base + got;
			pieces->iov_len -= (size_t)got;
		}
	}
}

void output_flush(struct output *output)
{
	struct iovec piece = { .iov_base = output->buffer, .iov_len = output->used };

	if (output->used > 0)
		write_all(output, &piece, 1);
	output->used = 0;
}

void output_write(struct output *output, const void *bytes, size_t length)
{
	if (length <= OUTPUT_BUFFER - output->used && length < THROUGH_LEAST) {
		memcpy(output->buffer + output->used, bytes, length);
		output->used += length;
		return;
	}
	/* What is buffered and this, in one call and without a copy. */
	struct iovec pieces[2] = {
		{ .iov_base = output->buffer, .iov_len = output->used },
		{ .iov_base = (void *)(uintptr_t)bytes, .iov_len = length },
	};

	write_all(output, pieces[0].iov_len > 0 ? pieces : pieces + 1, pieces[0].iov_len > 0 ? 2 : 1);
	output->used = 0;
}

char *output_room(struct output *output, size_t least)
{
	if (OUTPUT_BUFFER - output->used < least)
		output_flush(output);
	return output->buffer + output->used;
}

void output_fill(struct output *output, size_t length)
{
	output->used += length;
}

/* The directory of `path`, to be synced when the name is there. */
static int open_directory(const char *path)
{
	char directory[PATH_MAX];
	char *slash;
	int fd;

	snprintf(directory, sizeof directory, "%s", path);
	slash = strrchr(directory, '/');
	if (slash == NULL)
		strcpy(directory, ".");
	else
		slash[slash == directory ? 1 : 0] = '\0';
	fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	return fd;
}

/* Give the file its name, durably. */
static int take_name(struct output *output)
{
	int directory = open_directory(output->path), error = 0;

	if (directory < 0)
		return directory;
	if (rename(output->temporary, output->path) != 0) {
		error = -errno;
	} else {
		output->rename = false;
		TESTPOINT("output_renamed");
		/* Some file systems have no such thing for directories. */
		if (fsync(directory) != 0 && errno != EINVAL)
			error = -errno;
	}
	close(directory);
	return error;
}

static int make_durable(struct output *output)
{
	/* EINVAL, EROFS: pipes, sockets and devices have nothing to sync. */
	if (fsync(output->fd) != 0 && errno != EINVAL && errno != EROFS)
		return -errno;
	return 0;
}

int output_commit(struct output *output)
{
	int error;

	output_flush(output);
	if (output->error != 0)
		return -output->error;
	error = make_durable(output);
	TESTPOINT("output_synced");
	if (error == 0 && output->fd != STDOUT_FILENO) {
		/* A delayed write error may come with close. */
		error = close(output->fd) == 0 ? 0 : -errno;
		output->fd = -1;
	}
	if (error == 0 && output->rename)
		error = take_name(output);
	return error;
}

void output_discard(struct output *output)
{
	if (output->fd >= 0 && output->fd != STDOUT_FILENO)
		close(output->fd);
	output->fd = -1;
	if (output->rename)
		unlink(output->temporary);
	output->rename = false;
}
