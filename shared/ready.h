/*
 * ready.h - telling a parent process that we are ready.
 */
#ifndef SLUICE_READY_H
#define SLUICE_READY_H

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "shared/log.h"

/* Write a newline to `fd` and close it; -1: nobody asked.  0 or -1, said. */
static inline int ready_tell(int fd)
{
	if (fd < 0)
		return 0;
	if (write(fd, "\n", 1) != 1) {
		log_fatal("cannot write to --ready-fd %d: %s", fd, strerror(errno));
		return -1;
	}
	if (fd > STDERR_FILENO)
		close(fd);
	return 0;
}

#endif
