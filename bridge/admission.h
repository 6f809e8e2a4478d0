/*
 * admission.h - which of those who greet becomes the peer of a reception.
 *
 * A stream that we have, or can go on with, or have place for, is welcomed; any
 * other guest is refused, in words.
 */
#ifndef SLUICE_BRIDGE_ADMISSION_H
#define SLUICE_BRIDGE_ADMISSION_H

#include "bridge/guests.h"
#include "bridge/reception.h"

/*
 * For guests.greeted, with the reception as its context.  A guest that is
 * admitted gives its transport to the peer, in place of the one before; any
 * other was refused.  If a stream's ring cannot be made, that is also what came
 * of the reception.
 */
void admission_greeted(void *reception, struct guest *guest, const struct wire_greeting *greeting);

#endif
