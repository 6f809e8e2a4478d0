/*
 * json_quick.h - the tokens that records mostly consist of, straight to JSON.
 *
 * The way by cbor_walk and a token costs more than such tokens do.
 */
#ifndef SLUICE_JSON_QUICK_H
#define SLUICE_JSON_QUICK_H

#include "consumer/json_keys.h"
#include "consumer/text_out.h"
#include "shared/cbor_walk.h"

/*
 * Write numbers, false, true, null, and texts of up to 255 bytes that need no
 * escape: as many as come next in the array or map `level`, but not the last
 * item of it, nor a key that is no text.
 *
 * @separator  in and out: what comes before the next token, or NUL
 * @keys       NULL, or the keys that the array's items get
 *
 * Returns how many of the bytes were taken, perhaps none.
 */
size_t json_quick(struct text_out *text, struct cbor_level *level, char *separator,
                  struct json_keys *keys, const uint8_t *bytes, size_t length);

#endif
