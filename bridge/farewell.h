/*
 * farewell.h - a session's last words, and whether they were heard.
 *
 * The other side may be gone: each has a time of its own, and what comes of it
 * is no failure.
 */
#ifndef SLUICE_BRIDGE_FAREWELL_H
#define SLUICE_BRIDGE_FAREWELL_H

#include "bridge/session.h"

#define FAREWELL_MS 500                /* for the last record to be heard, at most */

/* Send what is queued, and stay until the other side closes.  False: it did not
 * hear us out in time. */
bool farewell_send(struct session *s, unsigned within_ms);

/*
 * Tell the other side that we will not come back, and why: the destination's code
 * and reason, which stay as they are.  Nothing if it knows.  In the middle of
 * a record nothing else can be said, and behind others that it has no room for it
 * would not be heard: then the transport is replaced by a new one.
 */
void farewell_tell(struct session *s);

#endif
