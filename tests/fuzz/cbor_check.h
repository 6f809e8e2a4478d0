/*
 * cbor_check.h - what is well-formed, as the pseudocode of RFC 8949, appendix C,
 * has it, with our bound of nesting, and UTF-8: a second opinion for fuzzing.
 */
#ifndef SLUICE_CBOR_CHECK_H
#define SLUICE_CBOR_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "shared/cbor_walk.h"

#define MUST(condition) \
	do { \
		if (!(condition)) \
			abort(); \
	} while (0)

enum verdict {
	VERDICT_GOOD,
	VERDICT_SHORT,
	VERDICT_BAD,
	VERDICT_DEEP,
};

struct checker {
	const uint8_t *bytes;
	size_t length, at;
};

/* UTF-8 by decoding each character and asking for its shortest form. */
static bool text_is_good(const uint8_t *bytes, size_t length)
{
	for (size_t i = 0; i < length;) {
		static const uint32_t least[] = { 0, 0x80, 0x800, 0x10000 };
		unsigned more = bytes[i] < 0x80 ? 0 : bytes[i] >> 5 == 6 ? 1 :
		                bytes[i] >> 4 == 14 ? 2 : bytes[i] >> 3 == 30 ? 3 : 4;
		uint32_t code;

		if (more == 4 || length - i <= more)
			return false;
		code = more == 0 ? bytes[i] : bytes[i] & (0x3fu >> more);
		for (unsigned j = 1; j <= more; j++) {
			if (bytes[i + j] >> 6 != 2)
				return false;
			code = code << 6 | (bytes[i + j] & 0x3f);
		}
		if (code < least[more] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
			return false;
		i += more + 1;
	}
	return true;
}

/*
 * One item.  @within: major type of the indefinite-length string around it, or
 * -1; @breakable: a break may stand here, *broke tells that it did.  @depth:
 * levels that are open.
 */
static enum verdict check_item(struct checker *checker, int within, bool breakable, bool *broke,
                               unsigned depth)
{
	const uint8_t *bytes = checker->bytes + checker->at;
	size_t left = checker->length - checker->at;
	unsigned major, info;
	uint64_t value;
	enum verdict verdict;

	if (left == 0)
		return VERDICT_SHORT;
	major = bytes[0] >> 5;
	info = bytes[0] & 0x1f;
	if (within >= 0 && bytes[0] != 0xff && (major != (unsigned)within || info == 31))
		return VERDICT_BAD;
	if (bytes[0] == 0xff) {
		if (!breakable)
			return VERDICT_BAD;
		checker->at++;
		*broke = true;
		return VERDICT_GOOD;
	}
	value = info;
	left--;
	checker->at++;
	if (info >= 24 && info <= 27) {
		size_t size = (size_t)1 << (info - 24);

		if (left < size)
			return VERDICT_SHORT;
		value = 0;
		for (size_t i = 0; i < size; i++)
			value = value << 8 | bytes[1 + i];
		left -= size;
		checker->at += size;
	} else if (info > 27 && (info < 31 || major < 2 || major > 5)) {
		return VERDICT_BAD;
	}
	if (major >= 2 && major <= 6 && (info == 31 || (major >= 4 && (value > 0 || major == 6))) &&
	    depth == CBOR_MAX_DEPTH)
		return VERDICT_DEEP;

	switch (major) {
	case 2:
	case 3:
		if (info == 31) {
			for (bool ended = false; !ended;) {
				verdict = check_item(checker, (int)major, true, &ended, depth + 1);
				if (verdict != VERDICT_GOOD)
					return verdict;
			}
			return VERDICT_GOOD;
		}
		if (value > left)
			return VERDICT_SHORT;
		if (major == 3 && !text_is_good(checker->bytes + checker->at, value))
			return VERDICT_BAD;
		checker->at += value;
		return VERDICT_GOOD;
	case 4:
	case 5:
		for (uint64_t i = 0; info == 31 || i < value; i++) {
			bool ended = false;

			verdict = check_item(checker, -1, info == 31, &ended, depth + 1);
			if (verdict == VERDICT_GOOD && major == 5 && !ended)
				verdict = check_item(checker, -1, false, &ended, depth + 1);
			if (verdict != VERDICT_GOOD)
				return verdict;
			if (ended)
				break;
		}
		return VERDICT_GOOD;
	case 6:
		return check_item(checker, -1, false, NULL, depth + 1);
	case 7:
		return info == 24 && value < 32 ? VERDICT_BAD : VERDICT_GOOD;
	default:
		return VERDICT_GOOD;
	}
}

/* Items until the first that is not good, or the end.  @items_end: where they
 * end; @items: how many, may be NULL. */
static enum verdict check_sequence(const uint8_t *bytes, size_t length, size_t *items_end,
                                   size_t *items)
{
	struct checker checker = { .bytes = bytes, .length = length };
	enum verdict verdict = VERDICT_GOOD;
	size_t count = 0;

	*items_end = 0;
	while (*items_end < length && verdict == VERDICT_GOOD) {
		verdict = check_item(&checker, -1, false, NULL, 0);
		if (verdict == VERDICT_GOOD) {
			*items_end = checker.at;
			count++;
		}
	}
	if (items)
		*items = count;
	return verdict;
}

#endif
