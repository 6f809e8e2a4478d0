/*
 * npy_header.h - the header of a NumPy array file (.npy, formats 1.0, 2.0, 3.0).
 *
 * It is a Python dictionary as text.  It is parsed, never evaluated: what is
 * no plain description of an array is refused.  Nothing here reads or
 * allocates; the caller provides the bytes.
 *
 *     magic, version, length     6 + 2 + (2 or 4) bytes: npy_prefix_parse
 *     {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }     npy_header_parse
 */
#ifndef SLUICE_NPY_HEADER_H
#define SLUICE_NPY_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NPY_MAGIC_SIZE 8u              /* magic and version */
#define NPY_PREFIX_MAX 12u             /* and the header's length */
#define NPY_HEADER_MAX (256u << 10)    /* bytes of a header's text that are accepted */
#define NPY_DIMENSIONS_MAX 64u

enum npy_kind {
	NPY_OTHER,             /* strings, records, datetime, longdouble, ... */
	NPY_BOOL,
	NPY_SIGNED,
	NPY_UNSIGNED,
	NPY_FLOAT,             /* 2, 4, 8 bytes */
	NPY_COMPLEX,           /* 8, 16 bytes */
};

struct npy_header {
	enum npy_kind kind;
	bool big_endian;       /* NPY_SIGNED .. NPY_COMPLEX of more than a byte */
	bool fortran;          /* the first dimension varies fastest */
	uint32_t dimensions;   /* 0: one element, without dimensions */
	uint64_t shape[NPY_DIMENSIONS_MAX];
	uint64_t item_size;    /* bytes */
	uint64_t elements, data_size;
	const char *descr;     /* the type: "<f8", or a list or tuple as it stands in the text */
	size_t descr_length;
};

/*
 * Look at a file's first NPY_PREFIX_MAX bytes, or fewer.
 *
 * @major   out: 1, 2 or 3
 * @length  out: bytes of the header's text
 * Returns bytes before the text (10 or 12); 0 with *fault: why not, in words.
 */
size_t npy_prefix_parse(const uint8_t *bytes, size_t there, unsigned *major, uint32_t *length,
                        const char **fault);

/* How many bytes npy_prefix_parse wants, after the first NPY_MAGIC_SIZE. */
static inline size_t npy_prefix_size(const uint8_t *bytes)
{
	return bytes[6] == 1 ? 10 : NPY_PREFIX_MAX;
}

/*
 * Parse a header's text, of untrusted bytes.
 *
 * Returns NULL and fills `header`, whose descr points into `text`; or says
 * what is wrong, in words, and *at is the offset of the byte.
 */
const char *npy_header_parse(const char *text, size_t length, struct npy_header *header, size_t *at);

/* Parse only a type ("<f8", "[('x', '<i2')]"): fills kind, big_endian,
 * item_size, descr.  Returns NULL, or what is wrong. */
const char *npy_descr_parse(const char *text, size_t length, struct npy_header *header);

/* Fill elements and data_size from shape and item_size.  Returns false if these,
 * or a dimension, do not fit 63 bits. */
bool npy_header_measure(struct npy_header *header);

/* The type of a plain number: "<f8".  Returns its length. */
#define NPY_PLAIN_DESCR_MAX 8u
size_t npy_plain_descr(const struct npy_header *header, char *out /* NPY_PLAIN_DESCR_MAX */);

/*
 * Write all that stands before the data, as numpy does.
 *
 * @out  NPY_WRITE_MAX + descr_length bytes
 * Returns bytes written.
 */
#define NPY_WRITE_MAX (256u + 24u * NPY_DIMENSIONS_MAX)
size_t npy_header_write(const struct npy_header *header, uint8_t *out);

#endif
