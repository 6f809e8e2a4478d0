/*
 * mtx_parser.h - Matrix Market files, line by line.
 *
 *     %%MatrixMarket matrix coordinate real general
 *     % comments
 *     3 3 2                  rows, columns, entries
 *     1 1 0.5                row, column, value
 *     3 2 -1e-3
 *
 * The parser pulls nothing and keeps no matrix: the caller gives lines.
 */
#ifndef SLUICE_MTX_PARSER_H
#define SLUICE_MTX_PARSER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/mtx_banner.h"

#define MTX_MAX_NUMBER 100000u         /* bytes of one number's text */
#define MTX_MAX_EXPONENT 18u           /* digits of its exponent, without leading zeros */

/* What a line was. */
enum mtx_line {
	MTX_LINE_NOTHING,      /* blank */
	MTX_LINE_BANNER,
	MTX_LINE_COMMENT,      /* text, length: behind the '%' */
	MTX_LINE_SIZE,         /* rows, columns, entries */
	MTX_LINE_ENTRY,        /* row, column, values */
	MTX_LINE_LATE_COMMENT, /* one behind the size: skipped */
	MTX_LINE_FAULT,        /* reason, column_at */
};

enum mtx_number_kind {
	MTX_FINITE,            /* text: by JSON's grammar */
	MTX_NAN,
	MTX_INFINITY,
	MTX_NEGATIVE_INFINITY,
};

struct mtx_number {
	enum mtx_number_kind kind;
	const char *text;
	size_t length;
};

/* The caller provides it and reads; the rest is private. */
struct mtx_parser {
	struct mtx_banner banner;
	uint64_t rows, columns;/* columns 1: a vector */
	uint64_t entries;      /* how many must come */
	uint64_t taken;        /* how many came */

	const char *text;      /* a comment's */
	size_t length;
	uint64_t row, column;  /* of an entry, from 1; coordinate only */
	unsigned value_count;  /* 0 to 2 */
	struct mtx_number values[2];

	const char *reason;    /* in words, static */
	size_t column_at;      /* in bytes, from 1 */

	uint8_t state;
	size_t scratch_used;
	char scratch[2 * MTX_MAX_NUMBER + 8];  /* numbers that JSON writes otherwise */
};

void mtx_parser_init(struct mtx_parser *parser);

/* Take a line, without its newline.  What is found points into the line, or into
 * the parser, until the next call. */
enum mtx_line mtx_parser_line(struct mtx_parser *parser, const char *line, size_t length);

/* The input is at its end: is that all?  NULL, or why not. */
const char *mtx_parser_finish(const struct mtx_parser *parser);

#endif
