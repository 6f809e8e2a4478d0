/*
 * cbor_walk.h - well-formed CBOR, one token at a time, in place.
 *
 * libcbor's streaming decoder does the heads; this layer adds what it leaves
 * out: nesting (at most CBOR_MAX_DEPTH), the kinds of string chunks, UTF-8,
 * unassigned simple values, stray breaks, complete maps.  A walker keeps only
 * its stack between tokens, so bytes may come frame by frame, cut between
 * tokens.
 */
#ifndef SLUICE_CBOR_WALK_H
#define SLUICE_CBOR_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CBOR_MAX_DEPTH 1024

enum cbor_kind {
	CBOR_UNSIGNED,         /* number */
	CBOR_NEGATIVE,         /* -1 - number */
	CBOR_BYTES,            /* data, length: a whole string, or one chunk */
	CBOR_TEXT,             /* likewise, UTF-8 */
	CBOR_BYTES_START,      /* an indefinite-length string: chunks, then CBOR_BREAK */
	CBOR_TEXT_START,
	CBOR_ARRAY,            /* number of items, or indefinite */
	CBOR_MAP,              /* number of pairs, or indefinite */
	CBOR_TAG,              /* number; one item follows */
	CBOR_SIMPLE,           /* number: 20 false, 21 true, 22 null, 23 undefined, ... */
	CBOR_FLOAT,            /* real; width 2, 4 or 8 bytes */
	CBOR_BREAK,            /* ends what is open: `closes` says what */
};

struct cbor_token {
	enum cbor_kind kind;
	enum cbor_kind closes;     /* CBOR_BREAK: CBOR_ARRAY, CBOR_MAP, CBOR_BYTES_START, CBOR_TEXT_START */
	bool indefinite;           /* CBOR_ARRAY, CBOR_MAP */
	bool chunk;                /* CBOR_BYTES, CBOR_TEXT: within an indefinite-length string */
	uint8_t width;             /* CBOR_FLOAT */
	uint64_t number;
	double real;
	const uint8_t *data;       /* into the bytes that were given */
	size_t length;
	size_t size;               /* bytes of the whole token, head and data */
};

/* What is open around the next token. */
struct cbor_level {
	uint64_t left;             /* items still to come (a map counts keys and values); UINT64_MAX: indefinite */
	uint8_t kind;              /* enum cbor_kind: CBOR_ARRAY, CBOR_MAP, CBOR_TAG, CBOR_BYTES_START, CBOR_TEXT_START */
	bool odd;                  /* CBOR_MAP: a key was read, its value is next */
};

/*
 * The innermost level is levels[depth]; levels[0] stands for the outside and
 * has the kind CBOR_BREAK.  Levels that a token closed keep their kind until
 * the next token.
 */
struct cbor_walker {
	unsigned depth;
	struct cbor_level levels[CBOR_MAX_DEPTH + 1];
};

void cbor_walker_init(struct cbor_walker *walker);

/* Is the level an array or map (or the outside) that one item more does not
 * complete? */
static inline bool cbor_level_goes_on(const struct cbor_level *level)
{
	return level->left > 1 && level->kind != CBOR_BYTES_START && level->kind != CBOR_TEXT_START;
}

/* Count an item of such a level that was taken by other means than cbor_walk:
 * well-formed, and opening nothing. */
static inline void cbor_level_count(struct cbor_level *level)
{
	level->odd = !level->odd;
	level->left -= level->left != UINT64_MAX;
}

/* True between top-level items: nothing is open. */
static inline bool cbor_walker_idle(const struct cbor_walker *walker)
{
	return walker->depth == 0;
}

/*
 * Read the token at `bytes`.
 *
 * Returns 1 and fills `token`; 0 the token does not end within `length`
 * (token->size is then how many bytes it needs, or SIZE_MAX if that cannot be
 * had; walker unchanged); -EBADMSG ill-formed; -E2BIG nested too deep.  On
 * failure the walker is unchanged.  A token after which the walker is idle
 * ends an item.
 */
int cbor_walk(struct cbor_walker *walker, const uint8_t *bytes, size_t length,
              struct cbor_token *token);

/*
 * Walk over tokens without looking at each: to the end of an item, or as far
 * as whole tokens are within `length`.
 *
 * @taken  out, always: bytes of the tokens that were walked; the walker stands
 *         after them
 *
 * Returns 1 an item ended; 0 the next token does not end within `length`;
 * -EBADMSG or -E2BIG the token after those is as cbor_walk would say.
 */
int cbor_walk_run(struct cbor_walker *walker, const uint8_t *bytes, size_t length, size_t *taken);

/*
 * Read only the head of a definite-length string that is too long to be there
 * whole.  Returns the head's size in bytes and fills kind and number (its
 * length); 0 if the bytes do not begin with a whole head of a definite-length
 * string that is allowed here.  The walker is unchanged; call
 * cbor_walker_skip_string when the string was taken by other means.
 */
size_t cbor_string_head(const struct cbor_walker *walker, const uint8_t *bytes,
                        size_t length, enum cbor_kind *kind, uint64_t *number);
void cbor_walker_skip_string(struct cbor_walker *walker);

/* Why the last cbor_walk failed, in words for a user ("stray break"). */
const char *cbor_walk_fault(void);

#endif
