/*
 * dial.h - a session's beginning: connect, TLS, and the greetings.
 *
 * Each function blocks until its step is done, the deadline has come or we must
 * leave, and returns how it came out.  Whatever that was, session_run closes
 * the transport that dial_open left.
 */
#ifndef SLUICE_BRIDGE_DIAL_H
#define SLUICE_BRIDGE_DIAL_H

#include "bridge/session.h"

/* Connect to the destination, at one of its addresses, and shake hands.  A host
 * that would need TLS and has none is refused here. */
enum step dial_open(struct session *s, uint64_t deadline_ns);

/* Greet, and be welcomed: the other side's position becomes ours. */
enum step dial_greet(struct session *s, uint64_t deadline_ns);

/* Say who we are, and do not wait for the answer. */
enum step dial_hello(struct session *s, uint64_t deadline_ns);

#endif
