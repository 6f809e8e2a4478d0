/* deliver.c - messages to sinks and outputs. */
#include "consumer/deliver.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/file_name.h"
#include "shared/leave.h"
#include "shared/log.h"

/* ---- outputs ------------------------------------------------------------------- */

static enum exit_code output_failed(const struct delivery *delivery, int error)
{
	/* A signal, an eviction: whoever asked us to leave says why. */
	if (error == EINTR)
		return EXIT_INCOMPLETE;
	if (error == EPIPE) {
		log_fatal("ring \"%s\": %s was closed by its reader at message %" PRIu64,
		          delivery->options->ring, delivery->output.path,
		          delivery->present != NULL ? delivery->present->job.message : 0);
		return EXIT_INCOMPLETE;
	}
	log_fatal("cannot write %s: %s", delivery->output.path, strerror(error));
	return EXIT_SYSTEM;
}

static enum exit_code output_state(const struct delivery *delivery)
{
	return delivery->output.error == 0 ? EXIT_COMPLETE
	                                   : output_failed(delivery, delivery->output.error);
}

static enum exit_code open_file(struct delivery *delivery, const char *path)
{
	int error = output_open_file(&delivery->output, path);

	if (error == 0)
		return EXIT_COMPLETE;
	log_fatal("cannot create %s: %s", path, strerror(-error));
	return EXIT_SYSTEM;
}

static enum exit_code commit_file(struct delivery *delivery)
{
	int error;

	/* An evicted reader may have written bytes that changed under it. */
	if (ring_reader_check(delivery->ring) != 0)
		return EXIT_INCOMPLETE;
	error = output_commit(&delivery->output);
	if (error != 0)
		return output_failed(delivery, -error);
	delivery->bytes += delivery->output.written;
	delivery->output.written = 0;
	return EXIT_COMPLETE;
}

/* ---- a file per message ------------------------------------------------------------ */

static bool name_is_taken(const struct delivery *delivery, const char *name)
{
	for (size_t i = 0; i < delivery->name_count; i++)
		if (strcmp(delivery->names[i], name) == 0)
			return true;
	return false;
}

static int name_remember(struct delivery *delivery, const char *name)
{
	if (delivery->name_count == delivery->name_room) {
		size_t room = delivery->name_room == 0 ? 16 : 2 * delivery->name_room;
		char **names = realloc(delivery->names, room * sizeof *names);

		if (names == NULL)
			return -ENOMEM;
		delivery->names = names;
		delivery->name_room = room;
	}
	delivery->names[delivery->name_count] = strdup(name);
	if (delivery->names[delivery->name_count] == NULL)
		return -ENOMEM;
	delivery->name_count++;
	return 0;
}

/* A file for the message that begins.  Two messages of one name in one stream
 * do not overwrite each other: the second gets a number. */
static enum exit_code open_named(struct delivery *delivery, uint64_t message)
{
	char name[FILE_NAME_BUFFER], path[PATH_MAX];

	file_name_make(delivery->header.has_name ? delivery->header.name : "", message, 0, name);
	for (unsigned turn = 2; delivery->header.has_name && name_is_taken(delivery, name); turn++)
		file_name_make(delivery->header.name, message, turn, name);
	if (delivery->header.has_name && name_remember(delivery, name) != 0) {
		log_fatal("out of memory");
		return EXIT_SYSTEM;
	}
	if (snprintf(path, sizeof path, "%s/%s", delivery->options->output_dir, name) >= (int)sizeof path) {
		log_fatal("cannot create %s/%s: %s", delivery->options->output_dir, name,
		          strerror(ENAMETOOLONG));
		return EXIT_SYSTEM;
	}
	return open_file(delivery, path);
}

/* ---- sinks ---------------------------------------------------------------------- */

static const struct sink *sink_for(const struct delivery *delivery, uint64_t message)
{
	const char *type = delivery->header.has_type ? delivery->header.type : "cbor";

	if (delivery->options->sink != NULL)
		return delivery->options->sink;
	if (strcmp(type, "raw") == 0)
		return &sink_raw;
	if (strcmp(type, "json") == 0)
		return &sink_json;
	if (strcmp(type, "cbor") == 0)
		return &sink_cbor;
	log_fatal("ring \"%s\": message %" PRIu64 " is of type \"%.100s\", which this version does not "
	          "know; use --format cbor, diag or null", delivery->options->ring, message, type);
	return NULL;
}

static struct open_sink *sink_open(struct delivery *delivery, const struct sink *sink)
{
	struct open_sink *open;

	for (unsigned i = 0; i < delivery->sink_count; i++)
		if (delivery->sinks[i].sink == sink)
			return &delivery->sinks[i];
	open = &delivery->sinks[delivery->sink_count];
	open->sink = sink;
	open->job.output = &delivery->output;
	open->job.ring = delivery->options->ring;
	if (sink->open != NULL && sink->open(&open->job) != 0) {
		log_fatal("out of memory");
		return NULL;
	}
	delivery->sink_count++;
	return open;
}

static enum exit_code message_begin(struct delivery *delivery, const struct stream_item *item)
{
	const struct sink *sink;
	enum exit_code code;

	if (header_decode(item->header, item->header_length, &delivery->header) != 0) {
		log_fatal("ring \"%s\": message %" PRIu64 " has a HEADER that cannot be read",
		          delivery->options->ring, item->message);
		return EXIT_BAD_DATA;
	}
	sink = sink_for(delivery, item->message);
	if (sink == NULL)
		return EXIT_BAD_DATA;
	delivery->present = sink_open(delivery, sink);
	if (delivery->present == NULL)
		return EXIT_SYSTEM;
	delivery->present->job.message = item->message;
	delivery->present->job.position = item->position;
	if (delivery->options->output_dir != NULL) {
		code = open_named(delivery, item->message);
		if (code != EXIT_COMPLETE)
			return code;
	}
	return sink->begin != NULL ? sink->begin(&delivery->present->job, &delivery->header)
	                           : EXIT_COMPLETE;
}

static enum exit_code message_body(struct delivery *delivery, const struct stream_item *item)
{
	struct open_sink *present = delivery->present;
	enum exit_code code;

	present->job.position = item->position;
	code = present->sink->body(&present->job, item->bytes, item->length);
	return code != EXIT_COMPLETE ? code : output_state(delivery);
}

static enum exit_code message_finish(struct delivery *delivery, bool complete)
{
	struct open_sink *present = delivery->present;
	enum exit_code code = EXIT_COMPLETE;

	if (present->sink->finish != NULL)
		code = present->sink->finish(&present->job, complete);
	if (code == EXIT_COMPLETE && delivery->options->output_dir != NULL) {
		if (complete)
			code = commit_file(delivery);
		else
			output_discard(&delivery->output);
	}
	return code != EXIT_COMPLETE ? code : output_state(delivery);
}

enum exit_code delivery_take(struct delivery *delivery, const struct stream_item *item)
{
	enum exit_code code = EXIT_COMPLETE;

	switch (item->part) {
	case STREAM_PART_WHOLE:
		code = message_begin(delivery, item);
		if (code == EXIT_COMPLETE)
			code = message_body(delivery, item);
		return code == EXIT_COMPLETE ? message_finish(delivery, true) : code;
	case STREAM_PART_BEGIN:
		return message_begin(delivery, item);
	case STREAM_PART_BODY:
		return message_body(delivery, item);
	case STREAM_PART_FINISH:
		return message_finish(delivery, true);
	case STREAM_PART_FAIL:
		log_warning("ring \"%s\": the producer gave up message %" PRIu64 " at byte %" PRIu64 ": %s",
		            delivery->options->ring, item->message, item->position, item->text);
		delivery->failed_messages++;
		return message_finish(delivery, false);
	default:
		return code;
	}
}

/* ---- beginning and end ------------------------------------------------------------- */

enum exit_code delivery_open(struct delivery *delivery, const struct consumer_options *options,
                             struct ring_reader *ring)
{
	memset(delivery, 0, sizeof *delivery);
	delivery->options = options;
	delivery->ring = ring;
	if (output_init(&delivery->output) != 0) {
		log_fatal("out of memory");
		return EXIT_SYSTEM;
	}
	if (options->output_dir != NULL)
		return EXIT_COMPLETE;
	if (options->output != NULL)
		return open_file(delivery, options->output);
	output_open_stdout(&delivery->output);
	return EXIT_COMPLETE;
}

enum exit_code delivery_flush(struct delivery *delivery)
{
	if (delivery->output.fd >= 0)
		output_flush(&delivery->output);
	return output_state(delivery);
}

enum exit_code delivery_commit(struct delivery *delivery)
{
	return delivery->options->output_dir != NULL ? EXIT_COMPLETE : commit_file(delivery);
}

void delivery_close(struct delivery *delivery)
{
	delivery->bytes += delivery->output.written;
	output_discard(&delivery->output);
	output_release(&delivery->output);
	for (unsigned i = 0; i < delivery->sink_count; i++)
		if (delivery->sinks[i].sink->close != NULL)
			delivery->sinks[i].sink->close(&delivery->sinks[i].job);
	for (size_t i = 0; i < delivery->name_count; i++)
		free(delivery->names[i]);
	free(delivery->names);
}

uint64_t delivery_bytes(const struct delivery *delivery)
{
	return delivery->bytes + delivery->output.written;
}
