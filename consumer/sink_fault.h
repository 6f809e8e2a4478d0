/*
 * sink_fault.h - what a sink says about a body that it cannot take.
 */
#ifndef SLUICE_SINK_FAULT_H
#define SLUICE_SINK_FAULT_H

#include <stddef.h>

#include "consumer/sink.h"

/*
 * Say why cbor_walk refused the token at `offset` of the frame at hand.
 * @outcome: what cbor_walk returned; 0: the frame ends within the token.
 */
enum exit_code sink_ill_formed(const struct sink_job *job, size_t offset, int outcome);

/* Say that a complete message ended with items still open. */
enum exit_code sink_ended_early(const struct sink_job *job);

/* Say that a message's HEADER or body is no table that can be written: why. */
enum exit_code sink_no_table(const struct sink_job *job, const char *why);

/* Was the entry taken from us?  Then the bytes changed while they were read, and
 * say nothing of who wrote them; the program says that it was evicted. */
bool sink_is_torn(const struct sink_job *job);

#endif
