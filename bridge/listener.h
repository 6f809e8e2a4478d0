/*
 * listener.h - the port of a receiving bridge: listening, and saying where.
 */
#ifndef SLUICE_BRIDGE_LISTENER_H
#define SLUICE_BRIDGE_LISTENER_H

#include <stdbool.h>

#include "bridge/options.h"
#include "shared/exit.h"

/*
 * Listen as the options say, and report the address on standard output and
 * --ready-fd.
 *
 * @encrypted  there is TLS: other hosts may be let in
 * @fd         out: the listening socket, the caller's to close; untouched if
 *             there is none
 *
 * Returns EXIT_COMPLETE; or an exit code, and why was said.
 */
enum exit_code listener_open(const struct bridge_options *options, bool encrypted, int *fd);

#endif
