/*
 * sender.h - a bridge that sends: destinations, and their common verdict.
 */
#ifndef SLUICE_BRIDGE_SENDER_H
#define SLUICE_BRIDGE_SENDER_H

#include "bridge/options.h"
#include "shared/exit.h"
#include "shared/json_out.h"

/* Send the ring's stream to all destinations.  Says why where it is not
 * EXIT_COMPLETE. */
enum exit_code sender_run(const struct bridge_options *options);

/* What came of each, for the account of a run. */
void sender_account(struct json_out *out);

/* Leave the ring. */
void sender_close(void);

/* To be called by a signal handler: nobody is to wait any longer. */
void sender_interrupt(void);

#endif
