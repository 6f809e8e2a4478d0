/*
 * mtx_banner.c - see mtx_banner.h.
 */
#include "shared/mtx_banner.h"

#include <stddef.h>

const char *const mtx_field_names[MTX_FIELDS] = { "real", "integer", "complex", "pattern" };
const char *const mtx_symmetry_names[MTX_SYMMETRIES] = {
	"general", "symmetric", "skew-symmetric", "hermitian",
};

const char *mtx_banner_fault(const struct mtx_banner *banner)
{
	if (banner->field == MTX_PATTERN && !banner->coordinate)
		return "an array cannot be a pattern";
	if (banner->vector && banner->symmetry != MTX_GENERAL)
		return "a vector can only be general";
	if (banner->field == MTX_PATTERN && banner->symmetry > MTX_SYMMETRIC)
		return "a pattern can only be general or symmetric";
	return NULL;
}

const char *mtx_shape_fault(const struct mtx_banner *banner, uint64_t rows, uint64_t columns,
                            uint64_t *entries)
{
	uint64_t other = columns;

	if (banner->symmetry != MTX_GENERAL && rows != columns)
		return "a matrix with a symmetry that is not square";
	if (banner->coordinate)
		return NULL;
	/* n (n + 1) / 2 with the diagonal, n (n - 1) / 2 without. */
	if (banner->symmetry != MTX_GENERAL) {
		if (banner->symmetry == MTX_SKEW)
			other = rows - (rows > 0);
		else if (__builtin_add_overflow(rows, 1, &other))
			return "more than 2^64 entries";
		if (rows % 2 == 0)
			rows /= 2;
		else
			other /= 2;
	}
	return __builtin_mul_overflow(rows, other, entries) ? "more than 2^64 entries" : NULL;
}
