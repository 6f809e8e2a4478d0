/* file_name.c - safe file names. */
#include "consumer/file_name.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "shared/utf8.h"

#define KEPT_MAX 200

void file_name_make(const char *name, uint64_t message, unsigned turn, char out[FILE_NAME_BUFFER])
{
	const char *slash = strrchr(name, '/');
	const char *last = slash != NULL ? slash + 1 : name;
	size_t length = strlen(last);

	if (length > KEPT_MAX)
		length = utf8_cut((const uint8_t *)last, KEPT_MAX);
	if (length == 0)
		length = (size_t)snprintf(out, FILE_NAME_BUFFER, "message-%" PRIu64, message);
	else
		length = (size_t)snprintf(out, FILE_NAME_BUFFER, "%s%.*s",
		                          strncmp(last, "message-", 8) == 0 ? "_" : "",
		                          (int)length, last);
	for (char *c = out; *c != '\0'; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '_';
	if (out[0] == '.')
		out[0] = '_';
	if (turn > 0)
		snprintf(out + length, FILE_NAME_BUFFER - length, ".%u", turn);
}
