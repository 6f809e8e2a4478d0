/*
 * csv_infer.h - what a field's text may stand for, decided by itself.
 */
#ifndef SLUICE_CSV_INFER_H
#define SLUICE_CSV_INFER_H

#include <stddef.h>
#include <stdint.h>

#define CSV_INFER_MAX 256u             /* a longer field is text */
#define CSV_INFER_ROOM (CSV_INFER_MAX / 2 + 64u)   /* bytes that its CBOR needs at most */

/*
 * Encode a field as the scalar that its text denotes: nothing is null, "true" and
 * "false" are themselves, a number as JSON writes it is that number, exactly.
 * Any other is text: so are 007, +1, .5, TRUE, NaN, and what has a blank.
 *
 * @out   room for CSV_INFER_ROOM bytes
 * Returns bytes written; 0 if it is text.
 */
size_t csv_infer(const char *text, size_t length, uint8_t *out);

#endif
