/*
 * deliver.h - parts of messages to sinks, and sinks' bytes to their outputs.
 */
#ifndef SLUICE_DELIVER_H
#define SLUICE_DELIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "consumer/options.h"
#include "consumer/output.h"
#include "shared/stream.h"

#define DELIVER_SINKS 8                /* that one run may need */

struct open_sink {
	const struct sink *sink;
	struct sink_job job;
};

struct delivery {
	const struct consumer_options *options;
	struct ring_reader *ring;      /* asked before a file gets its name */
	struct output output;
	struct open_sink sinks[DELIVER_SINKS];  /* opened when first needed */
	unsigned sink_count;
	struct open_sink *present;     /* of the message that is open */
	struct message_header header;
	void *names;                   /* tree of names given to files of --output-dir */
	uint64_t failed_messages;      /* given up by the producer */
	uint64_t bytes;                /* written to outputs that are closed */
};

/* Open the output.  Says what is wrong and returns an exit code. */
enum exit_code delivery_open(struct delivery *delivery, const struct consumer_options *options,
                             struct ring_reader *ring);

/* WHOLE, BEGIN, BODY, FINISH or FAIL. */
enum exit_code delivery_take(struct delivery *delivery, const struct stream_item *item);

/* Nothing more for the moment: write what is buffered. */
enum exit_code delivery_flush(struct delivery *delivery);

/* Everything was delivered: make it durable and give it its name. */
enum exit_code delivery_commit(struct delivery *delivery);

/* Free; what was not committed goes. */
void delivery_close(struct delivery *delivery);

/* Bytes written so far. */
uint64_t delivery_bytes(const struct delivery *delivery);

#endif
