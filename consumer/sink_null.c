/*
 * sink_null.c - nothing: messages are verified and discarded.
 */
#include "consumer/sink.h"

static int null_open(struct sink_job *job)
{
	(void)job;
	return 0;
}

static void null_close(struct sink_job *job)
{
	(void)job;
}

static enum exit_code null_begin(struct sink_job *job, const struct message_header *header)
{
	(void)job;
	(void)header;
	return EXIT_COMPLETE;
}

static enum exit_code null_body(struct sink_job *job, const uint8_t *bytes, size_t length)
{
	(void)job;
	(void)bytes;
	(void)length;
	return EXIT_COMPLETE;
}

static enum exit_code null_finish(struct sink_job *job, bool complete)
{
	(void)job;
	(void)complete;
	return EXIT_COMPLETE;
}

const struct sink sink_null = {
	.name = "null",
	.open = null_open,
	.close = null_close,
	.begin = null_begin,
	.body = null_body,
	.finish = null_finish,
};
