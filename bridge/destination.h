/*
 * destination.h - one destination of a sending bridge: a reader of the ring, a
 * connection, and a thread that carries bytes from the one to the other.
 */
#ifndef SLUICE_BRIDGE_DESTINATION_H
#define SLUICE_BRIDGE_DESTINATION_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "bridge/address.h"
#include "bridge/cuts.h"
#include "bridge/lookout.h"
#include "bridge/options.h"
#include "bridge/tls.h"
#include "bridge/wire.h"
#include "ring/ring.h"

enum destination_state {
	DESTINATION_CONNECTING,
	DESTINATION_WAITING,           /* for the other side's start barrier */
	DESTINATION_STREAMING,
	DESTINATION_FINISHING,         /* all is sent; for the outcome */
	DESTINATION_OVER,
};

/* What all destinations share; kept as long as there are any. */
struct fan_out {
	const struct bridge_options *options;
	struct ring_facts facts;
	struct cuts cuts;
	struct lookout lookout;
	struct tls_context *tls;       /* NULL: plain */
	int bell;                      /* epoll(7): sockets whose destination sleeps on the ring */
	_Atomic int left;              /* destinations that are neither attached nor over */
	_Atomic int speaker;           /* the entry that says what all see; -1: none yet */
	void (*attached)(void);        /* called once there are none */
	void (*over)(void);            /* called when a destination is over */
};

struct destination {
	struct fan_out *fan;
	const char *text;              /* "HOST:PORT", as it was written */
	struct address address;
	pthread_t thread;
	bool running;                  /* the thread was started */

	/* NULL until attached.  Others may interrupt it, and nudge it. */
	_Atomic(struct ring_reader *) reader;
	struct dozer dozer;

	/* For displays; any thread. */
	_Atomic int state;             /* enum destination_state */
	_Atomic uint64_t acked;        /* position that the other side has */
	_Atomic uint64_t sent_bytes;   /* of the stream, repeated ones too */
	_Atomic unsigned reconnects;

	/* How it came out; valid in DESTINATION_OVER. */
	int code;                      /* exit code; 0 good */
	char reason[WIRE_TEXT_MAX + 1];
	uint64_t over_ns;
	bool told;                     /* the producer was told that it failed, */
	bool excused;                  /* or that enough others completed */

	/* The thread's own. */
	bool begun;                    /* something was sent: the other side has the stream */
	bool resumes;                  /* the other side can go on after a broken connection */
	bool counted;                  /* in fan->left no more */
	uint64_t outage_ns;            /* since when there is no connection; 0: there is */
	bool outage_said;
	unsigned attempts;             /* in this outage */
	uint64_t greeted_ns;           /* when the last connection was; 0: it never came so far */
	uint64_t start;                /* where the stream begins for it */
};

/* The thread: connect, carry, until it came out one way or the other. */
void *destination_run(void *destination);

/* It is attached, or over: it is not to be waited for any more.  Once counts. */
void destination_counted(struct destination *destination);

/* Does the reader read the stream that the destination is for?  Another may have
 * its ring's name by now. */
bool destination_is_ours(const struct destination *destination, const struct ring_reader *reader);

/* Options for attaching it. */
void destination_reader_options(struct destination *destination, struct ring_reader_options *options);

#endif
