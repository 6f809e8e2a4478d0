/*
 * header.h - the HEADER of a message: a small CBOR map with text keys.
 *
 *   "name"  text       what a file was called
 *   "type"  text       the format it came in: "raw", "json", "cbor", ...
 *   "size"  unsigned   bytes of the input, if known beforehand
 *
 * and what a format adds for itself.
 *
 * A reader ignores keys that it does not know.
 */
#ifndef SLUICE_HEADER_H
#define SLUICE_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HEADER_TEXT_MAX 4096           /* bytes of a name or type, with NUL */
#define HEADER_NPY_MAX (16u << 10)     /* bytes of a member "npy": what stood before an array's data */

struct message_header {
	bool has_name, has_type, has_size;
	uint64_t size;
	char name[HEADER_TEXT_MAX];
	char type[HEADER_TEXT_MAX];
	const uint8_t *encoded;        /* decoded: all of it, as long as its bytes; NULL: there was none */
	size_t encoded_length;
};

/* Encode; absent fields are left out, a longer name or type was cut by the
 * caller.  @out: 2 * HEADER_TEXT_MAX + 64 bytes.  Returns the length. */
size_t header_encode(const struct message_header *header, uint8_t *out);

/* Decode an untrusted HEADER.  bytes NULL: an empty one.  Returns 0 or -EBADMSG
 * (not one well-formed map, a known key with a value of another kind, a text
 * with NUL or too long). */
int header_decode(const uint8_t *bytes, size_t length, struct message_header *header);

/*
 * Append a member to an encoded HEADER of fewer than 23: a text or byte string
 * of at most 65535 bytes.  @out has room for it, and for strlen(key) + 4 bytes
 * more.  Returns the new length.
 */
size_t header_add(uint8_t *out, size_t length, const char *key, bool text, const void *bytes,
                  size_t bytes_length);

/* Look for a member of a HEADER that header_decode took, whose value is a
 * definite-length string of that kind.  Returns its bytes, or NULL. */
const uint8_t *header_find(const struct message_header *header, const char *key, bool text,
                           size_t *length);

#endif
