/*
 * utf8.h - UTF-8 as RFC 3629 has it: no surrogates, no overlong forms, no
 * more than U+10FFFF.
 */
#ifndef SLUICE_UTF8_H
#define SLUICE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* How many of the first bytes are whole, valid characters: `length` if all
 * are.  Fast for ASCII. */
size_t utf8_valid(const uint8_t *bytes, size_t length);

/* Could these `length` bytes (1 .. 3) be the start of a valid character whose
 * end is not here yet? */
int utf8_could_continue(const uint8_t *bytes, size_t length);

/* Write a code point (not a surrogate).  Returns 1 .. 4 bytes. */
size_t utf8_put(uint8_t *out, uint32_t code_point);

/* The largest cut <= length that does not split a character of valid text. */
size_t utf8_cut(const uint8_t *bytes, size_t length);

#endif
