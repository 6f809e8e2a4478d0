/* temporary.c - a file that gets its name only when it is complete. */
#include "shared/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRIES 16

/* "DIR/.NAME.RANDOM.tmp" for "DIR/NAME". */
static int make_name(const char *path, char temporary[PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	const char *name = slash != NULL ? slash + 1 : path;
	uint32_t random;
	int length;

	if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random)
		return -EIO;
	length = snprintf(temporary, PATH_MAX, "%.*s.%.200s.%08" PRIx32 ".tmp", (int)(name - path),
	                  path, name, random);
	return length > 0 && length < PATH_MAX ? 0 : -ENAMETOOLONG;
}

int temporary_open(const char *path, bool special, char temporary[PATH_MAX])
{
	struct stat status;

	temporary[0] = '\0';
	if (special && stat(path, &status) == 0 && !S_ISREG(status.st_mode)) {
		int fd = open(path, O_WRONLY | O_CLOEXEC);

		if (fd < 0)
			return -errno;
		return fd;
	}
	for (int i = 0; i < TRIES; i++) {
		int fd, error = make_name(path, temporary);

		if (error != 0)
			return error;
		fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd >= 0)
			return fd;
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}
