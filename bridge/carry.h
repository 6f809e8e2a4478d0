/*
 * carry.h - a session's main part: records to and fro, its clocks, and sleep.
 */
#ifndef SLUICE_BRIDGE_CARRY_H
#define SLUICE_BRIDGE_CARRY_H

#include "bridge/session.h"

/* Carry the stream from the welcome until the connection or the destination is
 * over.  Blocks all the while; never returns STEP_ON. */
enum step carry(struct session *s);

#endif
