/*
 * sink.h - an output format: turns messages back into bytes.
 *
 * A sink gets each message's HEADER, its body frame by frame, in place, and
 * its end, and writes to an output.  Bodies are untrusted bytes.  It says what
 * went wrong with log_fatal and returns an exit code; a write that failed is
 * remembered by the output and need not be checked call by call.
 */
#ifndef SLUICE_SINK_H
#define SLUICE_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/exit.h"
#include "shared/header.h"

struct output;

/* Append bytes; small pieces are buffered, large ones written through. */
void output_write(struct output *output, const void *bytes, size_t length);

/*
 * Room of at least `least` (at most OUTPUT_ROOM_MAX) bytes in the buffer, for
 * formatting in place; then say how many were used.
 */
#define OUTPUT_ROOM_MAX (128u << 10)
char *output_room(struct output *output, size_t least);
void output_fill(struct output *output, size_t length);

struct sink_job {
	struct output *output;
	uint64_t message;       /* its number, from 0, for error lines */
	uint64_t position;      /* of the frame at hand, for error lines */
	bool apart;             /* each message has an output of its own */
	const char *ring;       /* the ring's name, for error lines */
	struct ring_reader *reader;  /* asked before bytes are called bad; may be NULL */
	void *state;            /* the sink's own */
};

/* All but body may be NULL: nothing to do. */
struct sink {
	const char *name;
	int (*open)(struct sink_job *job);   /* 0 or -ENOMEM; sets state */
	void (*close)(struct sink_job *job);
	enum exit_code (*begin)(struct sink_job *job, const struct message_header *header);
	enum exit_code (*body)(struct sink_job *job, const uint8_t *bytes, size_t length);
	/* complete: false if the message was given up; a text format then ends
	 * its line. */
	enum exit_code (*finish)(struct sink_job *job, bool complete);
};

extern const struct sink sink_raw;
extern const struct sink sink_json;
extern const struct sink sink_cbor;
extern const struct sink sink_csv;
extern const struct sink sink_diag;
extern const struct sink sink_null;
extern const struct sink sink_npy;
extern const struct sink sink_mtx;

/* Of the format json, for messages of that type. */
extern const struct sink sink_json_npy;

#endif
