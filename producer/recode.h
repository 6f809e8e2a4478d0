/*
 * recode.h - an input that is not UTF-8, as UTF-8.
 */
#ifndef SLUICE_RECODE_H
#define SLUICE_RECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "producer/input.h"

/* A byte that stands where the input's bytes are none of its encoding: no UTF-8
 * has it. */
#define RECODE_BAD '\xff'

struct recode;

/* Is it an encoding that iconv knows? */
bool recode_knows(const char *encoding);

/* Returns 0, -EINVAL (no such encoding) or -ENOMEM. */
int recode_open(struct recode **recode, const char *encoding);
void recode_close(struct recode *recode);

/*
 * As input_take, but UTF-8, with RECODE_BAD where there is none to be had.
 * @length  at least 16
 */
ssize_t recode_take(struct recode *recode, struct input *input, char *to, size_t length);

#endif
