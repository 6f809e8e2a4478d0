/*
 * greeting.h - a greeting on its way in or out of a transport.
 */
#ifndef SLUICE_BRIDGE_GREETING_H
#define SLUICE_BRIDGE_GREETING_H

#include <stddef.h>
#include <stdint.h>

#include "bridge/transport.h"
#include "bridge/wire.h"

struct greeting_out {
	uint8_t bytes[WIRE_GREETING_MAX];
	size_t length, sent;
};

struct greeting_in {
	uint8_t bytes[WIRE_GREETING_MAX];
	size_t got;
	uint32_t map;                  /* length of the map; 0: not known yet */
};

/* Send on.  0 all is sent; -EAGAIN; or what the transport said. */
int greeting_send(struct greeting_out *out, struct transport *transport);

/* Read on, and no further than the greeting goes.  0 it is complete; -EAGAIN; -EPIPE
 * the peer is done; -EBADMSG no greeting, `why` says what; or what the
 * transport said. */
int greeting_read(struct greeting_in *in, struct transport *transport, char *why, size_t why_size);

/* Fill `out` with a refusal. */
void greeting_refuse(struct greeting_out *out, int code, const char *text);

#endif
