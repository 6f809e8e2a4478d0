/*
 * progress.h - how far a run is, on stderr: a line that refreshes on a
 * terminal, else a line every 10 s.
 */
#ifndef SLUICE_PROGRESS_H
#define SLUICE_PROGRESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct progress {
	_Atomic uint64_t bytes;        /* so far; stored by the main thread */
	_Atomic uint64_t total;        /* 0: not known */
	bool on;
	bool terminal;
	uint64_t started_ns, shown_ns, shown_bytes;
};

/* @wanted: 1 asked for, 0 asked not to, -1: where stderr is a terminal. */
void progress_start(struct progress *progress, int wanted);

/* Show, if it is time to.  From one thread.  @tail: what else to say. */
void progress_show(struct progress *progress, const char *tail);

/* Is it time for progress_show?  So that `tail` need not be made for nothing. */
bool progress_is_due(const struct progress *progress);

#endif
