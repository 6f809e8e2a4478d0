/*
 * sink_npy.c - NumPy array files, of messages that are one array each.
 *
 * The header that the array came with is written as it was, if it came from
 * such a file and the body is what it says; else one as numpy writes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/array_body.h"
#include "consumer/sink.h"
#include "consumer/sink_fault.h"
#include "shared/cbor_walk.h"
#include "shared/log.h"
#include "shared/utf8.h"

struct npy_state {
	struct cbor_walker walker;
	struct array_body body;
	const uint8_t *preamble;       /* into `kept`; NULL: there was none */
	size_t preamble_length;
	uint8_t kept[HEADER_NPY_MAX];
	uint8_t written[NPY_WRITE_MAX + 2 * NPY_HEADER_MAX];
};

static int npy_open(struct sink_job *job)
{
	job->state = malloc(sizeof(struct npy_state));
	return job->state ? 0 : -ENOMEM;
}

static void npy_close(struct sink_job *job)
{
	free(job->state);
}

static enum exit_code npy_begin(struct sink_job *job, const struct message_header *header)
{
	struct npy_state *state = job->state;
	const uint8_t *preamble = header_find(header, "npy", false, &state->preamble_length);

	state->preamble = NULL;
	if (preamble != NULL && state->preamble_length <= sizeof(state->kept)) {
		memcpy(state->kept, preamble, state->preamble_length);
		state->preamble = state->kept;
	}
	cbor_walker_init(&state->walker);
	array_body_init(&state->body);
	return EXIT_COMPLETE;
}

static enum exit_code refuse(const struct sink_job *job, const char *why)
{
	if (sink_is_torn(job))
		return EXIT_INCOMPLETE;
	log_fatal("ring \"%s\": message %llu %s: no NumPy array; use --format json, cbor or diag",
	          job->ring, (unsigned long long)job->message, why);
	return EXIT_BAD_DATA;
}

/* Do both say the same of the same bytes? */
static bool descr_agrees(const struct npy_header *a, unsigned major, const struct npy_header *b)
{
	size_t at = 0;

	if (b->kind != NPY_OTHER)
		return a->kind == b->kind && a->big_endian == b->big_endian;
	/* Formats 1.0 and 2.0 have Latin-1, the body has UTF-8. */
	for (size_t i = 0; i < a->descr_length; i++) {
		uint8_t bytes[4] = { (uint8_t)a->descr[i] };
		size_t length = major == 3 ? 1 : utf8_put(bytes, bytes[0]);

		if (length > b->descr_length - at || memcmp(b->descr + at, bytes, length) != 0)
			return false;
		at += length;
	}
	return at == b->descr_length;
}

static bool preamble_agrees(const struct npy_state *state)
{
	const struct npy_header *body = &state->body.header;
	const char *fault;
	struct npy_header header;
	unsigned major;
	uint32_t length;
	size_t prefix, at;

	prefix = npy_prefix_parse(state->preamble, state->preamble_length, &major, &length, &fault);
	return prefix > 0 && prefix + length == state->preamble_length &&
	       npy_header_parse((const char *)state->preamble + prefix, length, &header, &at) == NULL &&
	       header.item_size == body->item_size && header.dimensions == body->dimensions &&
	       memcmp(header.shape, body->shape, sizeof(*body->shape) * body->dimensions) == 0 &&
	       header.fortran == body->fortran && descr_agrees(&header, major, body);
}

static enum exit_code array_begin(struct sink_job *job)
{
	struct npy_state *state = job->state;

	if (state->preamble == NULL) {
		output_write(job->output, state->written,
		             npy_header_write(&state->body.header, state->written));
		return EXIT_COMPLETE;
	}
	if (!preamble_agrees(state))
		return refuse(job, "has a HEADER that says something else than its body");
	output_write(job->output, state->preamble, state->preamble_length);
	return EXIT_COMPLETE;
}

static enum exit_code npy_body(struct sink_job *job, const uint8_t *bytes, size_t length)
{
	struct npy_state *state = job->state;
	struct cbor_token token;

	for (size_t at = 0; at < length; at += token.size) {
		int outcome = cbor_walk(&state->walker, bytes + at, length - at, &token);
		enum exit_code code = EXIT_COMPLETE;

		if (outcome != 1)
			return sink_ill_formed(job, at, outcome);
		switch (array_body_take(&state->body, &token, &state->walker)) {
		case ARRAY_MORE:
			continue;
		case ARRAY_NOT:
			return refuse(job, state->body.fault);
		case ARRAY_BEGIN:
			code = array_begin(job);
			break;
		case ARRAY_DATA:
			break;
		}
		if (code != EXIT_COMPLETE)
			return code;
		if (token.kind == CBOR_BYTES)
			output_write(job->output, token.data, token.length);
	}
	return EXIT_COMPLETE;
}

static enum exit_code npy_finish(struct sink_job *job, bool complete)
{
	const struct npy_state *state = job->state;
	const char *why;

	if (!complete)
		return EXIT_COMPLETE;
	if (!cbor_walker_idle(&state->walker))
		return sink_ended_early(job);
	why = array_body_finish(&state->body);
	return why == NULL ? EXIT_COMPLETE : refuse(job, why);
}

const struct sink sink_npy = {
	.name = "npy",
	.open = npy_open,
	.close = npy_close,
	.begin = npy_begin,
	.body = npy_body,
	.finish = npy_finish,
};
