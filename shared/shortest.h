/*
 * shortest.h - between doubles and their shortest decimals, exactly.
 */
#ifndef SLUICE_SHORTEST_H
#define SLUICE_SHORTEST_H

#include <stdint.h>

#define SHORTEST_DIGITS_MAX 17

/* digits * 10^exponent; digits do not end in 0. */
struct shortest {
	uint64_t digits;
	int exponent;
};

/* The decimal with the fewest digits that reads back as `value` (finite, above
 * 0); of several the one nearest to it. */
struct shortest shortest_of(double value);

/* The double nearest to digits * 10^exponent (ties to even; infinity and 0
 * where there is none).  @digits  at most 10^19 - 1 */
double shortest_read(uint64_t digits, int64_t exponent);

#endif
