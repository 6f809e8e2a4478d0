/*
 * writer_talk.h - what every program that writes a ring says of it and of its
 * readers: on stderr, and in the account of a run.
 */
#ifndef SLUICE_WRITER_TALK_H
#define SLUICE_WRITER_TALK_H

#include <stdint.h>

#include "ring/ring.h"
#include "shared/exit.h"
#include "shared/json_out.h"

#define WRITER_TALK_WHO_MAX (RING_LABEL_MAX + 32)

/* `consumer "NAME" (pid N)`.  Returns out. */
const char *writer_talk_who(const struct ring_process *process, char out[WRITER_TALK_WHO_MAX]);

/* Log an event of the writer's observer that is about a reader; others are
 * passed over.  @stall_timeout_ms: the one after which readers are evicted. */
void writer_talk_event(const char *ring, const struct ring_event *event, int64_t stall_timeout_ms);

/* Say why a ring could not be created (-errno of ring_create), and return the
 * exit code for it.  @remedy: the options that make it smaller, in words. */
enum exit_code writer_talk_create_failed(const char *ring, int error,
                                         const struct ring_shortage *shortage, const char *remedy);

/* For a progress line: how full the ring is and who is slowest; "" if nobody
 * is behind. */
void writer_talk_progress(struct ring_writer *ring, char *text, size_t size);

/* "slot_size", "slots", ..., and an array "consumers" with all that were seen. */
void writer_talk_account(struct json_out *out, struct ring_writer *ring);

#endif
