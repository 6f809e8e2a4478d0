/*
 * sink_raw.c - the bytes of messages that are one string each, byte or text.
 */
#include <errno.h>
#include <stdlib.h>

#include "consumer/sink.h"
#include "consumer/sink_fault.h"
#include "shared/cbor_walk.h"
#include "shared/log.h"

struct raw_state {
	bool ended;                    /* the string is complete */
	struct cbor_walker walker;
};

static int raw_open(struct sink_job *job)
{
	job->state = malloc(sizeof(struct raw_state));
	return job->state ? 0 : -ENOMEM;
}

static void raw_close(struct sink_job *job)
{
	free(job->state);
}

static enum exit_code raw_begin(struct sink_job *job, const struct message_header *header)
{
	struct raw_state *state = job->state;

	(void)header;
	state->ended = false;
	cbor_walker_init(&state->walker);
	return EXIT_COMPLETE;
}

static enum exit_code not_a_string(const struct sink_job *job)
{
	if (sink_is_torn(job))
		return EXIT_INCOMPLETE;
	log_fatal("ring \"%s\": message %llu is not a byte string; use --format json, cbor or diag",
	          job->ring, (unsigned long long)job->message);
	return EXIT_BAD_DATA;
}

static enum exit_code raw_body(struct sink_job *job, const uint8_t *bytes, size_t length)
{
	struct raw_state *state = job->state;
	struct cbor_token token;

	for (size_t at = 0; at < length; at += token.size) {
		int outcome = cbor_walk(&state->walker, bytes + at, length - at, &token);

		if (outcome != 1)
			return sink_ill_formed(job, at, outcome);
		if (state->ended)
			return not_a_string(job);
		switch (token.kind) {
		case CBOR_BYTES:
		case CBOR_TEXT:
			output_write(job->output, token.data, token.length);
			break;
		case CBOR_BYTES_START:
		case CBOR_TEXT_START:
		case CBOR_BREAK:
			break;
		default:
			return not_a_string(job);
		}
		state->ended = cbor_walker_idle(&state->walker);
	}
	return EXIT_COMPLETE;
}

static enum exit_code raw_finish(struct sink_job *job, bool complete)
{
	const struct raw_state *state = job->state;

	if (!complete || state->ended)
		return EXIT_COMPLETE;
	return cbor_walker_idle(&state->walker) ? not_a_string(job) : sink_ended_early(job);
}

const struct sink sink_raw = {
	.name = "raw",
	.open = raw_open,
	.close = raw_close,
	.begin = raw_begin,
	.body = raw_body,
	.finish = raw_finish,
};
