/*
 * leave.h - how a program learns that it must leave, also while it is blocked
 * in a system call.
 *
 * SIGTERM, SIGINT and SIGHUP ask for it, and so may the watcher thread.  A
 * signal that comes just before a system call would be lost, so the watcher
 * repeats a harmless one until the main thread has left.
 */
#ifndef SLUICE_LEAVE_H
#define SLUICE_LEAVE_H

#include <stdbool.h>

/* Catch the signals, ignore SIGPIPE and SIGXFSZ.  on_request is called in the signal
 * handler: it may only do what is async-signal-safe.  Call from the main
 * thread. */
void leave_setup(void (*on_request)(void));

/* Ask the main thread to leave.  From any thread; async-signal-safe. */
void leave_request(void);

/* Must the program leave? */
bool leave_is_requested(void);

/* The signal that asked, or 0. */
int leave_signal(void);

/* To be called by the watcher thread now and then: interrupts what the main
 * thread is blocked in, if it must leave. */
void leave_nudge(void);

#endif
