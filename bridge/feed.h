/*
 * feed.h - what the ring has for a session: its entry, and records of the stream
 * into the outbox.
 *
 * The destination owns the reader; a session only uses it, from its thread.
 * Nothing here blocks.
 */
#ifndef SLUICE_BRIDGE_FEED_H
#define SLUICE_BRIDGE_FEED_H

#include "bridge/session.h"

/* The other side's start barrier is met: now we count for ours. */
enum step feed_attach(struct session *s);

/* Without an entry nobody tells us that the ring goes away: look, now and then.
 * With one it is nothing. */
enum step feed_watch(struct session *s, uint64_t now);

/* Queue what the ring has, as far as there is room and --rate lets it; at its end
 * END, and s->ended.  Only with a reader.  @progress: there was something. */
enum step feed_fill(struct session *s, bool *progress);

/* Must the stream wait for --rate, until s->rate_due_ns? */
bool feed_is_paced(const struct session *s, uint64_t now);

#endif
