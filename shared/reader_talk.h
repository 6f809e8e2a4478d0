/*
 * reader_talk.h - what every program that reads a ring says of it.
 */
#ifndef SLUICE_READER_TALK_H
#define SLUICE_READER_TALK_H

#include <stdint.h>

#include "shared/exit.h"

/* Say why a ring could not be attached to, or looked at (-errno of ring_attach_wait
 * and the like), and return the exit code for it.  @wait_ms: how long it was
 * waited for. */
enum exit_code reader_talk_attach_failed(const char *ring, int error, int64_t wait_ms);

#endif
