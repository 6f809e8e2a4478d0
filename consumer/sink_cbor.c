/*
 * sink_cbor.c - a CBOR sequence (RFC 8742): the bodies' own bytes.
 */
#include "consumer/sink.h"
#include "consumer/sink_fault.h"
#include "shared/columns.h"

/* A table's columns are outside of its rows: as in CSV, they come first. */
static enum exit_code cbor_begin(struct sink_job *job, const struct message_header *header)
{
	struct columns columns;

	if (columns_find(header, &columns) != 0)
		return sink_no_table(job, "a table whose columns cannot be read");
	if (columns.names != NULL)
		output_write(job->output, columns.names, columns.length);
	return EXIT_COMPLETE;
}

static enum exit_code cbor_body(struct sink_job *job, const uint8_t *bytes, size_t length)
{
	output_write(job->output, bytes, length);
	return EXIT_COMPLETE;
}

const struct sink sink_cbor = { .name = "cbor", .begin = cbor_begin, .body = cbor_body };
