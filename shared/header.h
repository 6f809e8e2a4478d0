/*
 * header.h - the HEADER of a message: a small CBOR map with text keys.
 *
 *   "name"  text       what a file was called
 *   "type"  text       the format it came in: "raw", "json", "cbor", ...
 *   "size"  unsigned   bytes of the input, if known beforehand
 *
 * A reader ignores keys that it does not know.
 */
#ifndef SLUICE_HEADER_H
#define SLUICE_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HEADER_TEXT_MAX 4096           /* bytes of a name or type, with NUL */

struct message_header {
	bool has_name, has_type, has_size;
	uint64_t size;
	char name[HEADER_TEXT_MAX];
	char type[HEADER_TEXT_MAX];
};

/* Encode; absent fields are left out, a longer name or type was cut by the
 * caller.  @out: 2 * HEADER_TEXT_MAX + 64 bytes.  Returns the length. */
size_t header_encode(const struct message_header *header, uint8_t *out);

/* Decode an untrusted HEADER.  bytes NULL: an empty one.  Returns 0 or -EBADMSG
 * (not one well-formed map, a known key with a value of another kind, a text
 * with NUL or too long). */
int header_decode(const uint8_t *bytes, size_t length, struct message_header *header);

#endif
