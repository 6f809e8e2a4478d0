/*
 * sink_cbor.c - a CBOR sequence (RFC 8742): the bodies' own bytes.
 */
#include "consumer/sink.h"

static enum exit_code cbor_body(struct sink_job *job, const uint8_t *bytes, size_t length)
{
	output_write(job->output, bytes, length);
	return EXIT_COMPLETE;
}

const struct sink sink_cbor = { .name = "cbor", .body = cbor_body };
