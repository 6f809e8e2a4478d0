/*
 * guests.h - connections that have not greeted yet: of anybody who can reach
 * the port.  Few, and each for a short time; what they cost is bounded.
 */
#ifndef SLUICE_BRIDGE_GUESTS_H
#define SLUICE_BRIDGE_GUESTS_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>

#include "bridge/address.h"
#include "bridge/greeting.h"
#include "bridge/tls.h"

#define GUESTS_MOST 16                 /* more wait in the listener's queue */
#define GUESTS_POLLS (GUESTS_MOST + 1) /* pollfds that they need, with the listener's */

struct guest {
	struct transport *transport;   /* NULL: no guest */
	char peer[ADDRESS_TEXT_MAX];
	uint64_t deadline_ns;
	bool trusted;                  /* TLS is done, or there is none */
	bool leaving;                  /* refused: `out` is to be sent, no more */
	struct greeting_in in;
	struct greeting_out out;
};

struct guests {
	int listener;
	struct tls_context *tls;       /* NULL: plain */
	int64_t dead_after_ms;
	unsigned count;
	struct guest places[GUESTS_MOST];
	/*
	 * A greeting is complete: take the guest's transport, setting it to
	 * NULL, or refuse it with guest_refuse.
	 */
	void (*greeted)(void *context, struct guest *guest, const struct wire_greeting *greeting);
	void *context;
};

/* What to poll(2) for.  Returns how many of `polls` were filled, the first of
 * which is the listener's. */
size_t guests_polls(const struct guests *guests, struct pollfd polls[GUESTS_POLLS]);

/* Accept who is there, and hear all that have something to say or are late. */
void guests_attend(struct guests *guests);

/* Send a refusal, and let the guest go once it is out. */
void guest_refuse(struct guest *guest, int code, const char *text);

void guests_close(struct guests *guests);

#endif
