/*
 * file_name.h - a message's name as a file name that stays in its directory.
 */
#ifndef SLUICE_FILE_NAME_H
#define SLUICE_FILE_NAME_H

#include <stdint.h>

#define FILE_NAME_BUFFER 256

/*
 * The last component of `name`, without control characters, not hidden, not
 * "." or "..", and at most 200 bytes; "message-N" if nothing is left.  A given name of
 * that form gets a '_' in front, so as not to meet one of those.  A `turn` above
 * 0 is appended: ".2".
 */
void file_name_make(const char *name, uint64_t message, unsigned turn, char out[FILE_NAME_BUFFER]);

#endif
