/*
 * columns.h - what the HEADER of a table says of it:
 *
 *   "columns"    array of texts   the columns' names, if they have names
 *   "delimiter"  text             the byte between fields, if it is no comma
 *   "quote"      text             the byte around fields, if it is no '"'; "" for none
 */
#ifndef SLUICE_COLUMNS_H
#define SLUICE_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

#include "shared/header.h"

#define COLUMNS_MAX (27u << 10)        /* bytes of the names, encoded: they leave room for the rest of a HEADER */
#define COLUMNS_REST 64u               /* bytes of all else that is put into a HEADER */

struct columns {
	const uint8_t *names;          /* an encoded array of definite-length texts; NULL: they have none */
	size_t length;                 /* its bytes, at most COLUMNS_MAX */
	uint64_t count;
	char delimiter, quote;         /* quote NUL: fields are never quoted */
};

/* Append to an encoded HEADER of `length` bytes, with room for those and
 * COLUMNS_REST more.  Returns the new length. */
size_t columns_add(const struct columns *columns, uint8_t *header, size_t length);

/* Find them in a HEADER that header_decode took, if it is a table's; names are
 * borrowed from it.  Returns 0 or -EBADMSG: they are there, and are something
 * else. */
int columns_find(const struct message_header *header, struct columns *columns);

/* The next name.  @at  within the names, 0 at first; moves on.  NULL: there is
 * no more. */
const uint8_t *columns_next(const struct columns *columns, size_t *at, size_t *length);

#endif
