/* output.c - bytes to standard output or a file. */
#include "consumer/output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "consumer/sink.h"
#include "ring/testpoint.h"
#include "shared/leave.h"

#define PIPE_BYTES (1 << 20)
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

/* "DIR/.NAME.PID.tmp" for "DIR/NAME". */
static int temporary_name(struct output *output)
{
	const char *slash = strrchr(output->path, '/');
	const char *name = slash != NULL ? slash + 1 : output->path;
	int directory = (int)(name - output->path);
	int length = snprintf(output->temporary, sizeof output->temporary, "%.*s.%.200s.%d.tmp",
	                      directory, output->path, name, (int)getpid());

	return length > 0 && (size_t)length < sizeof output->temporary ? 0 : -ENAMETOOLONG;
}

int output_open_file(struct output *output, const char *path)
{
	struct stat status;
	bool special;
	int error, fd;

	if (strlen(path) >= sizeof output->path)
		return -ENAMETOOLONG;
	strcpy(output->path, path);
	special = stat(path, &status) == 0 && !S_ISREG(status.st_mode);
	if (special) {
		fd = open(path, O_WRONLY | O_CLOEXEC);
	} else {
		error = temporary_name(output);
		if (error != 0)
			return error;
		fd = open(output->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	}
	if (fd < 0)
		return -errno;
	output->rename = !special;
	output_begin(output, fd);
	TESTPOINT("output_opened");
	return 0;
}

bool output_good(const struct output *output)
{
	return output->error == 0;
}

/* Write all of it, or remember why not. */
static void write_all(struct output *output, struct iovec *pieces, int count)
{
	while (count > 0 && output->error == 0) {
		ssize_t got;

		if (leave_is_requested()) {
			output->error = EINTR;
			return;
		}
		got = writev(output->fd, pieces, count);
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

/* The directory knows the new name. */
static int sync_directory(const char *path)
{
	char directory[PATH_MAX];
	char *slash;
	int fd, error = 0;

	snprintf(directory, sizeof directory, "%s", path);
	slash = strrchr(directory, '/');
	if (slash == NULL)
		strcpy(directory, ".");
	else
		slash[slash == directory ? 1 : 0] = '\0';
	fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	/* Some file systems have no such thing for directories. */
	if (fsync(fd) != 0 && errno != EINVAL)
		error = -errno;
	close(fd);
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
	if (error == 0 && output->rename) {
		if (rename(output->temporary, output->path) != 0)
			return -errno;
		output->rename = false;
		TESTPOINT("output_renamed");
		error = sync_directory(output->path);
	}
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
