/*
 * sink_diag.c - CBOR diagnostic notation (RFC 8949, section 8), a line for each
 * item.  See diag_text.h.
 */
#include <errno.h>
#include <stdlib.h>

#include "consumer/diag_text.h"
#include "consumer/sink.h"
#include "consumer/sink_fault.h"
#include "shared/columns.h"

struct diag_state {
	struct diag_text diag;
	struct cbor_walker walker;
};

static int diag_open(struct sink_job *job)
{
	job->state = malloc(sizeof(struct diag_state));
	return job->state ? 0 : -ENOMEM;
}

static void diag_close(struct sink_job *job)
{
	free(job->state);
}

static enum exit_code diag_body(struct sink_job *job, const uint8_t *bytes, size_t length)
{
	struct diag_state *state = job->state;
	struct cbor_walker *walker = &state->walker;
	enum exit_code code = EXIT_COMPLETE;
	struct cbor_token token;
	struct text_out text;

	text_out_begin(&text, job->output, bytes + length);
	for (size_t at = 0; at < length; at += token.size) {
		unsigned before = walker->depth;
		int outcome = cbor_walk(walker, bytes + at, length - at, &token);

		if (outcome != 1) {
			code = sink_ill_formed(job, at, outcome);
			break;
		}
		diag_text_token(&state->diag, &text, walker, &token, before, 0);
		if (cbor_walker_idle(walker)) {
			text_out_need(&text, 1);
			text_out_char(&text, '\n');
		}
	}
	text_out_end(&text);
	return code;
}

/* A table's columns are outside of its rows: they get the first line. */
static enum exit_code diag_begin(struct sink_job *job, const struct message_header *header)
{
	struct diag_state *state = job->state;
	struct columns columns;

	cbor_walker_init(&state->walker);
	diag_text_init(&state->diag, false);
	if (columns_find(header, &columns) != 0)
		return sink_no_table(job, "a table whose columns cannot be read");
	return columns.names != NULL ? diag_body(job, columns.names, columns.length) : EXIT_COMPLETE;
}

static enum exit_code diag_finish(struct sink_job *job, bool complete)
{
	const struct diag_state *state = job->state;

	if (cbor_walker_idle(&state->walker))
		return EXIT_COMPLETE;
	output_write(job->output, "\n", 1);
	return complete ? sink_ended_early(job) : EXIT_COMPLETE;
}

const struct sink sink_diag = {
	.name = "diag",
	.open = diag_open,
	.close = diag_close,
	.begin = diag_begin,
	.body = diag_body,
	.finish = diag_finish,
};
