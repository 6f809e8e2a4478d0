/*
 * source.h - an input format: turns one input into messages.
 *
 * A source reads an input to its end and writes messages to the stream.  It
 * says what went wrong with log_fatal and returns an exit code.
 */
#ifndef SLUICE_SOURCE_H
#define SLUICE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "producer/input.h"
#include "shared/exit.h"
#include "shared/header.h"
#include "shared/stream.h"

struct source_options {
	bool split;             /* json: each text is a message; else the input is one */
	bool skip_bad;          /* skip a bad record, count it, go on */
	bool csv_header;        /* csv: the first row has the columns' names */
	bool infer;             /* csv: numbers, true, false and nothing are themselves, not texts */
	char delimiter, quote;  /* csv: as in csv_parser.h */
	const char *encoding;   /* csv: iconv's name; NULL: UTF-8 */
};

struct source_job {
	struct stream_writer *stream;
	const struct source_options *options;
	uint64_t bad_records;   /* skipped, and reported */
};

struct source {
	const char *name;
	/*
	 * All of `input`.  Returns EXIT_COMPLETE (bad records may have been
	 * skipped and counted), or the exit code of what was said with
	 * log_fatal.  A message that is open then is given up by the caller.
	 */
	enum exit_code (*run)(struct source_job *job, struct input *input);
};

extern const struct source source_raw;
extern const struct source source_json;
extern const struct source source_cbor;
extern const struct source source_csv;
extern const struct source source_npy;
extern const struct source source_mtx;

/* Put the input's name into a HEADER, if it has one that can be. */
void source_name_header(const struct input *input, struct message_header *header);

/* Say that reading `input` or writing the stream failed with -errno, and
 * return the exit code for it.  Silent where the program already said why it
 * must leave. */
enum exit_code source_input_failed(const struct input *input, int error);
enum exit_code source_stream_failed(int error);

#endif
