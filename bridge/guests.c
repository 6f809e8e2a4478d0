/* guests.c - connections that have not greeted yet. */
#include "bridge/guests.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ring/testpoint.h"
#include "ring/wait.h"
#include "shared/exit.h"
#include "shared/log.h"

#define GREETING_NS UINT64_C(10000000000)   /* from the connection to its greeting */
#define CROWDED_NS UINT64_C(1000000000)     /* likewise, where others wait for a place */

static void guest_close(struct guests *guests, struct guest *guest)
{
	if (guest->transport != NULL)
		transport_close(guest->transport);
	guest->transport = NULL;
	guests->count--;
}

/* One line, and gone. */
static void guest_dismiss(struct guests *guests, struct guest *guest, const char *why)
{
	log_warning("connection from %s: %s", guest->peer, why);
	guest_close(guests, guest);
}

void guest_refuse(struct guest *guest, int code, const char *text)
{
	log_warning("connection from %s refused: %s", guest->peer, text);
	greeting_refuse(&guest->out, code, text);
	guest->leaving = true;
}

/* One that is free; NULL: none. */
static struct guest *guest_place(struct guests *guests)
{
	for (size_t i = 0; i < GUESTS_MOST; i++)
		if (guests->places[i].transport == NULL)
			return &guests->places[i];
	return NULL;
}

/* All places are taken: who has had one for long enough?  NULL: nobody. */
static const struct guest *guest_slowest(const struct guests *guests, uint64_t now)
{
	const struct guest *slowest = &guests->places[0];

	for (size_t i = 1; i < GUESTS_MOST; i++)
		if (guests->places[i].deadline_ns < slowest->deadline_ns)
			slowest = &guests->places[i];
	return slowest->deadline_ns <= now + GREETING_NS - CROWDED_NS ? slowest : NULL;
}

static bool has_place(const struct guests *guests)
{
	return guests->count < GUESTS_MOST || guest_slowest(guests, wait_now_ns()) != NULL;
}

/*
 * Of two bridges one of which speaks TLS and the other does not, each hears only
 * nonsense.  So say it as no TLS would, and at once: nothing else is on its way.
 */
static void guest_refuse_plainly(struct guest *guest, const char *text)
{
	greeting_refuse(&guest->out, EXIT_BAD_DATA, text);
	(void)!send(transport_fd(guest->transport), guest->out.bytes, guest->out.length,
	            MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Take one connection in.  False: there is none, or no place. */
static bool guest_accept(struct guests *guests)
{
	struct address_socket peer;
	struct guest *guest;
	int fd, error;

	if (!has_place(guests))
		return false;
	fd = address_accept(guests->listener, &peer);
	if (fd < 0)
		return false;
	guest = guest_place(guests);
	if (guest == NULL) {
		guest = &guests->places[guest_slowest(guests, wait_now_ns()) - guests->places];
		guest_dismiss(guests, guest, "no greeting within 1 s, while others wait");
	}
	memset(guest, 0, sizeof *guest);
	address_format(&peer, guest->peer);
	transport_tune(fd, guests->dead_after_ms);
	error = transport_open(&guest->transport, fd, guests->tls, true, NULL);
	if (error != 0) {
		guest->transport = NULL;
		log_warning("connection from %s: %s", guest->peer, strerror(-error));
		return true;
	}
	guest->deadline_ns = wait_now_ns() + GREETING_NS;
	guests->count++;
	TESTPOINT("guest_accepted");
	return true;
}

/* A whole greeting: is it one that the program can do with? */
static void guest_greeted(struct guests *guests, struct guest *guest)
{
	struct wire_greeting greeting;
	char why[WIRE_WHY_MAX];
	int error = wire_greeting_decode(WIRE_HELLO, guest->in.bytes + WIRE_PREAMBLE, guest->in.map,
	                                 &greeting, why, sizeof why);

	if (error == -EPROTONOSUPPORT || error == -EBADMSG) {
		guest_refuse(guest, EXIT_BAD_DATA, why);
		return;
	}
	if (greeting.kind == WIRE_REFUSE) {
		guest_dismiss(guests, guest, greeting.refusal.text);
		return;
	}
	guests->greeted(guests->context, guest, &greeting);
	if (guest->transport == NULL)      /* taken */
		guests->count--;
}

/* As far as it goes now. */
static void guest_attend(struct guests *guests, struct guest *guest, uint64_t now)
{
	char why[WIRE_WHY_MAX];
	int error = 0;

	if (!guest->trusted) {
		error = transport_handshake(guest->transport);
		guest->trusted = error == 0;
		if (error == -EPROTO)
			guest_refuse_plainly(guest, "this bridge speaks TLS with its peers");
	}
	if (error == 0 && !guest->leaving) {
		error = greeting_read(&guest->in, guest->transport, why, sizeof why);
		if (error == 0) {
			guest_greeted(guests, guest);
		} else if (error == -EBADMSG) {
			if (guests->tls == NULL)
				guest_refuse_plainly(guest, why);
			guest_dismiss(guests, guest, why);
		} else if (error == -EPIPE) {
			guest_dismiss(guests, guest, "closed before its greeting");
		}
	}
	if (guest->transport == NULL)
		return;
	if (guest->leaving) {
		error = greeting_send(&guest->out, guest->transport);
		if (error != -EAGAIN || now >= guest->deadline_ns)
			guest_close(guests, guest);
	} else if (error != 0 && error != -EAGAIN) {
		guest_dismiss(guests, guest, transport_error(guest->transport));
	} else if (now >= guest->deadline_ns) {
		guest_dismiss(guests, guest, "no greeting within 10 s");
	}
}

size_t guests_polls(const struct guests *guests, struct pollfd polls[GUESTS_POLLS])
{
	size_t count = 0;

	/* Without a place the others wait in the listener's queue. */
	polls[count].fd = has_place(guests) ? guests->listener : -1;
	polls[count++].events = POLLIN;
	for (size_t i = 0; i < GUESTS_MOST; i++) {
		const struct guest *guest = &guests->places[i];

		if (guest->transport == NULL)
			continue;
		polls[count].fd = transport_fd(guest->transport);
		polls[count++].events = transport_events(guest->transport, !guest->leaving, guest->leaving);
	}
	return count;
}

void guests_attend(struct guests *guests)
{
	uint64_t now;

	while (guest_accept(guests))
		continue;
	if (guests->count == 0)
		return;
	now = wait_now_ns();
	for (size_t i = 0; i < GUESTS_MOST; i++)
		if (guests->places[i].transport != NULL)
			guest_attend(guests, &guests->places[i], now);
}

void guests_close(struct guests *guests)
{
	for (size_t i = 0; i < GUESTS_MOST; i++)
		if (guests->places[i].transport != NULL)
			guest_close(guests, &guests->places[i]);
	close(guests->listener);
}
