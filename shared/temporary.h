/*
 * temporary.h - a file that gets its name only when it is complete.
 */
#ifndef SLUICE_TEMPORARY_H
#define SLUICE_TEMPORARY_H

#include <limits.h>
#include <stdbool.h>

/*
 * Open for writing what will be `path`: a temporary file beside it, whose name
 * is left in `temporary`; or, with `special`, `path` itself where it is a
 * device, a pipe or a socket: then `temporary` is "".
 *
 * Returns the descriptor, or -errno; -EINTR opening a pipe was interrupted.
 * Who dies before the renaming leaves the temporary file.
 */
int temporary_open(const char *path, bool special, char temporary[PATH_MAX]);

#endif
