/*
 * watcher.h - the thread that looks every RING_WATCH_MS while its owner may be
 * blocked elsewhere.
 */
#ifndef SLUICE_RING_WATCHER_H
#define SLUICE_RING_WATCHER_H

#include <pthread.h>
#include <semaphore.h>

struct watcher {
	pthread_t thread;
	sem_t stop;
	void (*look)(void *context);
	void *context;
};

/* Start calling look(context); signals stay with the other threads.  0 or -errno. */
int watcher_start(struct watcher *watcher, void (*look)(void *context), void *context);

/* Stop and join; look is not running afterwards. */
void watcher_stop(struct watcher *watcher);

/* pid, start time and label of this process, for display in a segment. */
struct ring_display;
void watcher_describe(struct ring_display *display, const char *label);

/* A checked copy of what another process wrote there. */
struct ring_process;
void watcher_read_display(const struct ring_display *display, struct ring_process *process);

#endif
