/* input.c - reading a file or standard input. */
#include "producer/input.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/leave.h"

#define PIPE_BYTES (1 << 20)       /* a larger pipe buffer: fewer, larger reads */

int input_open(struct input *input, const char *path, struct stream_writer *stream)
{
	struct stat status;
	int error = 0;
	off_t at;

	memset(input, 0, sizeof *input);
	input->stream = stream;
	if (strcmp(path, "-") == 0) {
		input->path = "(standard input)";
		input->fd = STDIN_FILENO;
	} else {
		input->path = input->name = path;
		do {
			input->fd = open(path, O_RDONLY | O_CLOEXEC);
		} while (input->fd < 0 && errno == EINTR && !leave_is_requested());
	}
	if (input->fd < 0)
		return -errno;
	if (fstat(input->fd, &status) != 0)
		error = -errno;
	else if (S_ISDIR(status.st_mode))
		error = -EISDIR;
	if (error != 0) {
		input_close(input);
		return error;
	}
	at = S_ISREG(status.st_mode) ? lseek(input->fd, 0, SEEK_CUR) : -1;
	/* Files of /proc say that they are empty, and are not. */
	if (at >= 0 && status.st_size > at) {
		input->regular = true;
		input->size = (uint64_t)(status.st_size - at);
		posix_fadvise(input->fd, at, 0, POSIX_FADV_SEQUENTIAL);
	} else if (S_ISFIFO(status.st_mode)) {
		fcntl(input->fd, F_SETPIPE_SZ, PIPE_BYTES);    /* as good as it gets */
	}
	return 0;
}

void input_close(struct input *input)
{
	if (input->fd > STDIN_FILENO)
		close(input->fd);
}

void input_settle(struct input *input, bool partial)
{
	struct pollfd poll_fd = { .fd = input->fd, .events = POLLIN };

	if (!input->regular && poll(&poll_fd, 1, 0) == 0)
		stream_flush(input->stream, partial);
}

static ssize_t read_once(struct input *input, void *buffer, size_t length)
{
	for (;;) {
		ssize_t got;

		if (leave_is_requested())
			return -EINTR;
		got = read(input->fd, buffer, length);
		if (got >= 0)
			return got;
		if (errno == EAGAIN) {
			/* Somebody made it non-blocking; wait as if it were not. */
			struct pollfd poll_fd = { .fd = input->fd, .events = POLLIN };

			poll(&poll_fd, 1, -1);
		} else if (errno != EINTR) {
			return -errno;
		}
	}
}

static ssize_t read_regular(struct input *input, uint8_t *buffer, size_t length)
{
	size_t filled = 0;

	/* What is appended meanwhile is not part of it. */
	if (length > input->size - input->taken)
		length = (size_t)(input->size - input->taken);
	while (filled < length) {
		ssize_t got = read_once(input, buffer + filled, length - filled);

		if (got < 0)
			return got;
		if (got == 0)
			return -ENODATA;
		filled += (size_t)got;
	}
	return (ssize_t)filled;
}

ssize_t input_take(struct input *input, void *buffer, size_t length)
{
	ssize_t got = input->regular ? read_regular(input, buffer, length)
	                             : read_once(input, buffer, length);

	if (got > 0) {
		input->taken += (uint64_t)got;
		if (input->progress != NULL)
			atomic_fetch_add_explicit(&input->progress->bytes, (uint64_t)got,
			                          memory_order_relaxed);
	}
	return got;
}
