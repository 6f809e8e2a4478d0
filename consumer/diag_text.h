/*
 * diag_text.h - CBOR diagnostic notation (RFC 8949, section 8), token by token.
 *
 * Encoding indicators are not written: the text tells values, and which
 * lengths are indefinite.
 */
#ifndef SLUICE_DIAG_TEXT_H
#define SLUICE_DIAG_TEXT_H

#include <stdbool.h>

#include "consumer/text_out.h"
#include "shared/cbor_walk.h"

struct diag_text {
	bool quoted;            /* within a JSON string: quotes and backslashes are escaped */
	bool unopened;          /* an indefinite-length string has no chunk yet */
	const char *separator;  /* what comes before the next token */
};

void diag_text_init(struct diag_text *diag, bool quoted);

/*
 * Write a token, and what it closes down to the level `base`.
 *
 * @walker  after the token was walked
 * @before  the walker's depth before
 * @base    depth of the level in which the item lies that is being written
 */
void diag_text_token(struct diag_text *diag, struct text_out *text,
                     const struct cbor_walker *walker, const struct cbor_token *token,
                     unsigned before, unsigned base);

#endif
