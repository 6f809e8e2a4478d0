/*
 * sink_cbor.c - a CBOR sequence (RFC 8742): the bodies' own bytes.
 */
#include "consumer/sink.h"

static int cbor_sink_open(struct sink_job *job)
{
	(void)job;
	return 0;
}

static void cbor_sink_close(struct sink_job *job)
{
	(void)job;
}

static enum exit_code cbor_sink_begin(struct sink_job *job, const struct message_header *header)
{
	(void)job;
	(void)header;
	return EXIT_COMPLETE;
}

static enum exit_code cbor_sink_body(struct sink_job *job, const uint8_t *bytes, size_t length)
{
	output_write(job->output, bytes, length);
	return EXIT_COMPLETE;
}

static enum exit_code cbor_sink_finish(struct sink_job *job, bool complete)
{
	(void)job;
	(void)complete;
	return EXIT_COMPLETE;
}

const struct sink sink_cbor = {
	.name = "cbor",
	.open = cbor_sink_open,
	.close = cbor_sink_close,
	.begin = cbor_sink_begin,
	.body = cbor_sink_body,
	.finish = cbor_sink_finish,
};
