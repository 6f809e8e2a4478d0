/*
 * array_tag.h - RFC 8746's tags: typed arrays, and arrays of several dimensions.
 *
 * A typed array's tag is 010fsell in binary: f float, s signed, e little-endian,
 * ll the size of an element, 2^ll bytes, and twice that for floats.
 */
#ifndef SLUICE_ARRAY_TAG_H
#define SLUICE_ARRAY_TAG_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/npy_header.h"

#define ARRAY_TAG_ROW_MAJOR 40u        /* on [dimensions, elements] */
#define ARRAY_TAG_COLUMN_MAJOR 1040u

/* The tag of an array's data; 0: RFC 8746 cannot say it. */
static inline unsigned array_tag_of(const struct npy_header *header)
{
	unsigned size = (unsigned)__builtin_ctzll(header->item_size | 256);
	bool is_float = header->kind == NPY_FLOAT;
	bool little = header->item_size > 1 && !header->big_endian;

	if (header->kind != NPY_SIGNED && header->kind != NPY_UNSIGNED && !is_float)
		return 0;
	if (header->dimensions == 0 || header->elements == 0)
		return 0;
	return 64u | (unsigned)is_float << 4 | (unsigned)(header->kind == NPY_SIGNED) << 3 |
	       (unsigned)little << 2 | (size - is_float);
}

/* Fill kind, big_endian and item_size; false: not such a tag, or of a type that
 * NumPy has not (binary128). */
static inline bool array_tag_parse(uint64_t tag, struct npy_header *header)
{
	unsigned bits = (unsigned)tag & 0x1f, size = bits & 3;
	bool is_float = bits & 0x10, is_signed = bits & 8, little = bits & 4;

	/* 76 is reserved, 68 counts with clamping. */
	if (tag < 64 || tag > 87 || tag == 76 || tag == 68 || (is_float && size == 3))
		return false;
	header->kind = is_float ? NPY_FLOAT : is_signed ? NPY_SIGNED : NPY_UNSIGNED;
	header->item_size = UINT64_C(1) << (size + is_float);
	header->big_endian = !little && header->item_size > 1;
	return true;
}

#endif
