/*
 * mtx_banner.h - what a Matrix Market file says of itself in its first line.
 */
#ifndef SLUICE_MTX_BANNER_H
#define SLUICE_MTX_BANNER_H

#include <stdbool.h>
#include <stdint.h>

enum mtx_field {
	MTX_REAL,
	MTX_INTEGER,
	MTX_COMPLEX,
	MTX_PATTERN,           /* no values: which entries there are */
};

enum mtx_symmetry {
	MTX_GENERAL,
	MTX_SYMMETRIC,
	MTX_SKEW,
	MTX_HERMITIAN,
};

struct mtx_banner {
	bool vector;           /* object "vector": one dimension; else "matrix" */
	bool coordinate;       /* entries with indices; else "array": all, column by column */
	enum mtx_field field;
	enum mtx_symmetry symmetry;
};

#define MTX_FIELDS 4
#define MTX_SYMMETRIES 4
extern const char *const mtx_field_names[MTX_FIELDS];
extern const char *const mtx_symmetry_names[MTX_SYMMETRIES];

/* NULL, or why these words do not go together. */
const char *mtx_banner_fault(const struct mtx_banner *banner);

/* NULL, or why it cannot have that shape (a vector's columns are 1).  @entries
 * out, of an array: how many are stored: of one with a symmetry, those on and
 * below the diagonal. */
const char *mtx_shape_fault(const struct mtx_banner *banner, uint64_t rows, uint64_t columns,
                            uint64_t *entries);

#endif
