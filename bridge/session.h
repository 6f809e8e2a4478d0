/*
 * session.h - one connection of a destination, from the greeting to its end.
 */
#ifndef SLUICE_BRIDGE_SESSION_H
#define SLUICE_BRIDGE_SESSION_H

#include "bridge/destination.h"

enum session_end {
	SESSION_LOST,                  /* try again: `why` says what happened */
	SESSION_OVER,                  /* the destination came out: code and reason are set */
};

struct session_report {
	enum session_end end;
	char why[WIRE_WHY_MAX];
};

/* Connect, greet, and carry the stream until the connection or the destination
 * is at its end. */
void session_run(struct destination *destination, struct session_report *report);

#endif
