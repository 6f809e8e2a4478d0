/*
 * receiver.h - a bridge that listens: one connection into a mirror ring.
 */
#ifndef SLUICE_BRIDGE_RECEIVER_H
#define SLUICE_BRIDGE_RECEIVER_H

#include "bridge/options.h"
#include "shared/exit.h"
#include "shared/json_out.h"

/* Receive one stream, or with --serve one after the other until told to leave.
 * Says why where it is not EXIT_COMPLETE. */
enum exit_code receiver_run(const struct bridge_options *options);

/* What came of the last stream, for the account of a run. */
void receiver_account(struct json_out *out);

/* End what has no end yet, and remove the ring. */
void receiver_close(void);

/* To be called by a signal handler. */
void receiver_interrupt(void);

#endif
