/*
 * kept_sink.h - for fuzzing sinks: a body as one frame, and with a frame for
 * each token or few; both must come out the same.
 */
#ifndef SLUICE_KEPT_SINK_H
#define SLUICE_KEPT_SINK_H

#include "consumer/sink.h"
#include "shared/cbor_walk.h"
#include "tests/fuzz/cbor_check.h"
#include "tests/unit/output_mock.h"

/* A frame that a sanitizer guards to the byte. */
static enum exit_code kept_frame(const struct sink *sink, struct sink_job *job, const uint8_t *bytes,
                                 size_t length)
{
	uint8_t *exact = malloc(length + (length == 0));
	enum exit_code code;

	MUST(exact);
	memcpy(exact, bytes, length);
	code = sink->body(job, exact, length);
	free(exact);
	return code;
}

/* @tokens  of a frame; 0: all of them */
static enum exit_code kept_sink(const struct sink *sink, const struct message_header *header,
                                const uint8_t *bytes, size_t length, unsigned tokens,
                                struct output *output)
{
	static struct cbor_walker walker;
	struct sink_job job = { .output = output, .ring = "fuzz" };
	enum exit_code code;
	size_t start = 0;

	cbor_walker_init(&walker);
	MUST(sink->open(&job) == 0);
	code = sink->begin(&job, header);
	while (start < length && code == EXIT_COMPLETE) {
		size_t end = tokens == 0 ? length : start;

		for (unsigned i = 0; i < tokens && end < length; i++) {
			struct cbor_token token;

			/* What is ill-formed is in the last frame. */
			if (cbor_walk(&walker, bytes + end, length - end, &token) != 1)
				token.size = length - end;
			end += token.size;
		}
		code = kept_frame(sink, &job, bytes + start, end - start);
		start = end;
	}
	if (code == EXIT_COMPLETE)
		code = sink->finish(&job, true);
	sink->close(&job);
	MUST(code == EXIT_COMPLETE || code == EXIT_BAD_DATA);
	return code;
}

/* Both ways.  The output of the first is left for the caller. */
static enum exit_code kept_sink_both(const struct sink *sink, const struct message_header *header,
                                     const uint8_t *bytes, size_t length, unsigned tokens,
                                     struct output *output)
{
	struct output other = { .length = 0 };
	enum exit_code code = kept_sink(sink, header, bytes, length, 0, output);

	MUST(kept_sink(sink, header, bytes, length, tokens, &other) == code);
	MUST(code != EXIT_COMPLETE ||
	     (other.length == output->length &&
	      (other.length == 0 || memcmp(other.bytes, output->bytes, other.length) == 0)));
	output_mock_clear(&other);
	return code;
}

#endif
