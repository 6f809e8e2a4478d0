/*
 * digest.h - XXH3-64 of bytes that come piece by piece: a message's body, a
 * record's payload.
 */
#ifndef SLUICE_DIGEST_H
#define SLUICE_DIGEST_H

#include <stddef.h>
#include <stdint.h>
#include <xxhash.h>

/* The library's run-time dispatch picks AVX2 or AVX-512 where there is one. */
#if defined __x86_64__ && defined __has_include
#if __has_include(<xxh_x86dispatch.h>)
#include <xxh_x86dispatch.h>
#define DIGEST_UPDATE XXH3_64bits_update_dispatch
#endif
#endif
#ifndef DIGEST_UPDATE
#define DIGEST_UPDATE XXH3_64bits_update
#endif

struct digest {
	XXH3_state_t *state;
};

/* Returns 0 or -1: no memory. */
static inline int digest_open(struct digest *digest)
{
	digest->state = XXH3_createState();
	return digest->state != NULL ? 0 : -1;
}

static inline void digest_close(struct digest *digest)
{
	XXH3_freeState(digest->state);
}

static inline void digest_begin(struct digest *digest)
{
	XXH3_64bits_reset(digest->state);
}

/* Another sequence of digests, chosen by the seed. */
static inline void digest_begin_seeded(struct digest *digest, uint64_t seed)
{
	XXH3_64bits_reset_withSeed(digest->state, seed);
}

static inline void digest_add(struct digest *digest, const void *bytes, size_t length)
{
	DIGEST_UPDATE(digest->state, bytes, length);
}

static inline uint64_t digest_value(const struct digest *digest)
{
	return XXH3_64bits_digest(digest->state);
}

#endif
