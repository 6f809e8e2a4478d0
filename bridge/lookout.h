/*
 * lookout.h - many destinations of one process asleep on one ring, and one
 * wake-up by its producer for all of them.
 *
 * Of those that have nothing to do one keeps the lookout: it sleeps on the
 * ring.  The others doze, and are woken by it.  So what a producer spends on
 * publishing does not grow with the destinations.
 */
#ifndef SLUICE_BRIDGE_LOOKOUT_H
#define SLUICE_BRIDGE_LOOKOUT_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>

#include "ring/ring.h"

struct dozer {                         /* one destination */
	sem_t wake;
	bool dozing;                   /* in the list */
	struct dozer *next;
};

struct lookout {
	pthread_mutex_t lock;
	bool kept;                     /* by somebody */
	struct dozer *dozers;
};

/* Each returns 0 or -errno. */
int lookout_init(struct lookout *lookout);
int dozer_init(struct dozer *dozer);

/* Forget calls that came while it was awake.  To be called before what they
 * would tell of is looked at. */
void dozer_clear(struct dozer *dozer);

/*
 * Sleep until the reader has something to peek, dozer_call, or timeout_ms.  It
 * may return before; call from the reader's thread.
 */
void lookout_rest(struct lookout *lookout, struct dozer *dozer, struct ring_reader *reader,
                  int64_t timeout_ms);

/* Wake it, or keep it from falling asleep.  Any thread. */
void dozer_call(struct dozer *dozer, struct ring_reader *reader);

#endif
