/*
 * sink_null.c - nothing: messages are verified and discarded.
 */
#include "consumer/sink.h"

static enum exit_code null_body(struct sink_job *job, const uint8_t *bytes, size_t length)
{
	(void)job;
	(void)bytes;
	(void)length;
	return EXIT_COMPLETE;
}

const struct sink sink_null = { .name = "null", .body = null_body };
