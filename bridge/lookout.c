/* lookout.c - who sleeps on the ring for all. */
#include "bridge/lookout.h"

#include <errno.h>
#include <time.h>

#include "ring/wait.h"

int lookout_init(struct lookout *lookout)
{
	lookout->kept = false;
	lookout->dozers = NULL;
	return -pthread_mutex_init(&lookout->lock, NULL);
}

int dozer_init(struct dozer *dozer)
{
	dozer->dozing = false;
	dozer->next = NULL;
	return sem_init(&dozer->wake, 0, 0) == 0 ? 0 : -errno;
}

void dozer_clear(struct dozer *dozer)
{
	wait_drain(&dozer->wake);
}

static bool has_news(struct ring_reader *reader)
{
	const uint8_t *bytes;
	size_t length;

	return ring_reader_peek(reader, &bytes, &length) != RING_EMPTY;
}

/* Under the lock: wake the first of those that doze, or all of them. */
static void dozers_wake(struct lookout *lookout, bool all)
{
	while (lookout->dozers != NULL) {
		struct dozer *dozer = lookout->dozers;

		lookout->dozers = dozer->next;
		dozer->dozing = false;
		sem_post(&dozer->wake);
		if (!all)
			break;
	}
}

static void dozer_remove(struct lookout *lookout, struct dozer *dozer)
{
	struct dozer **link = &lookout->dozers;

	while (*link != dozer)
		link = &(*link)->next;
	*link = dozer->next;
	dozer->dozing = false;
}

static void doze(struct lookout *lookout, struct dozer *dozer, int64_t timeout_ms)
{
	wait_sleep(&dozer->wake, wait_deadline_ns(timeout_ms));
	pthread_mutex_lock(&lookout->lock);
	if (dozer->dozing)
		dozer_remove(lookout, dozer);
	pthread_mutex_unlock(&lookout->lock);
}

void lookout_rest(struct lookout *lookout, struct dozer *dozer, struct ring_reader *reader,
                  int64_t timeout_ms)
{
	pthread_mutex_lock(&lookout->lock);
	if (lookout->kept) {
		/* What was published before is there to be seen; of what comes
		 * later we are told, once we are in the list. */
		if (has_news(reader)) {
			pthread_mutex_unlock(&lookout->lock);
			return;
		}
		dozer->dozing = true;
		dozer->next = lookout->dozers;
		lookout->dozers = dozer;
		pthread_mutex_unlock(&lookout->lock);
		doze(lookout, dozer, timeout_ms);
		return;
	}
	lookout->kept = true;
	pthread_mutex_unlock(&lookout->lock);

	ring_reader_wait(reader, timeout_ms);

	pthread_mutex_lock(&lookout->lock);
	lookout->kept = false;
	/* Without news we were called for something of our own: another keeps
	 * the lookout now. */
	dozers_wake(lookout, has_news(reader));
	pthread_mutex_unlock(&lookout->lock);
}

void dozer_call(struct dozer *dozer, struct ring_reader *reader)
{
	sem_post(&dozer->wake);
	ring_reader_nudge(reader);
}
