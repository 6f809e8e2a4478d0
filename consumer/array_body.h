/*
 * array_body.h - a body that is one array, recognized token by token.
 *
 *     40([[2, 3], 86(h'...')])     tag 40 or 1040 (RFC 8746) on a typed array
 *     86(h'...')                   a typed array: of one dimension
 *     {"dtype": "<c8", "shape": [2, 3], "order": "C", "data": h'...'}
 */
#ifndef SLUICE_ARRAY_BODY_H
#define SLUICE_ARRAY_BODY_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/cbor_walk.h"
#include "shared/npy_header.h"

enum array_event {
	ARRAY_MORE,            /* nothing to do yet */
	ARRAY_BEGIN,           /* `header` is filled; the token, if a string, is data */
	ARRAY_DATA,            /* the token is data, or ends them */
	ARRAY_NOT,             /* no array after all: `fault` */
};

struct array_body {
	struct npy_header header;      /* descr points to `dtype` */
	const char *fault;
	uint64_t bytes;                /* of data, so far */
	uint8_t state;
	bool dimensioned;              /* tag 40 or 1040: its array is open */
	bool indefinite;               /* that array has no length */
	size_t dtype_length;
	char dtype[2 * NPY_HEADER_MAX];
};

void array_body_init(struct array_body *body);

/* The next token.  @walker  after the token. */
enum array_event array_body_take(struct array_body *body, const struct cbor_token *token,
                                 const struct cbor_walker *walker);

/* The message is complete; is the array?  NULL, or why not. */
const char *array_body_finish(const struct array_body *body);

#endif
