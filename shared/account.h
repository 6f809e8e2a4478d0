/*
 * account.h - the account of a run that --summary FILE asks for.
 */
#ifndef SLUICE_ACCOUNT_H
#define SLUICE_ACCOUNT_H

#include <stdint.h>

#include "shared/exit.h"
#include "shared/json_out.h"

/*
 * Write it: what every program tells, and then what `more` adds.
 *
 * @path        NULL: nobody asked
 * @code        how the program is about to end
 * @started_ns  CLOCK_MONOTONIC
 *
 * Returns the code; EXIT_SYSTEM in place of EXIT_COMPLETE if it cannot be
 * written, which is said.
 */
enum exit_code account_write(const char *path, const char *program, const char *ring,
                             enum exit_code code, uint64_t started_ns,
                             void (*more)(struct json_out *out));

#endif
