/* deliver.c - messages to sinks and outputs. */
#include "consumer/deliver.h"

#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
	/* In a directory of ours a name leads nowhere else. */
	int error = output_open_file(&delivery->output, path, delivery->options->output_dir == NULL);

	if (error == 0)
		return EXIT_COMPLETE;
	if (error == -EINTR)
		return EXIT_INCOMPLETE;
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

/* A name that was given, and how often. */
struct taken_name {
	unsigned turns;
	char name[];
};

static int names_compare(const void *a, const void *b)
{
	return strcmp(((const struct taken_name *)a)->name, ((const struct taken_name *)b)->name);
}

/* Count one more use of `name`.  How many there are now; 0: no memory. */
static unsigned name_take(struct delivery *delivery, const char *name)
{
	struct taken_name *fresh = malloc(sizeof *fresh + strlen(name) + 1), **found;

	if (fresh == NULL)
		return 0;
	fresh->turns = 0;
	strcpy(fresh->name, name);
	found = tsearch(fresh, &delivery->names, names_compare);
	if (found == NULL || *found != fresh)
		free(fresh);
	return found != NULL ? ++(*found)->turns : 0;
}

/* A file for the message that begins.  Two messages of one name in one stream
 * do not overwrite each other: the second gets a number. */
static enum exit_code open_named(struct delivery *delivery, uint64_t message)
{
	char name[FILE_NAME_BUFFER], path[PATH_MAX];
	const char *given = delivery->header.has_name ? delivery->header.name : "";
	unsigned turn = 1, once = 0;

	/* A name with a number may itself have been given: look again. */
	file_name_make(given, message, 0, name);
	while (delivery->header.has_name && once != 1) {
		once = name_take(delivery, name);
		if (once == 0) {
			log_fatal("out of memory");
			return EXIT_SYSTEM;
		}
		turn = once > 1 && turn == 1 ? once : turn + 1;
		if (once > 1)
			file_name_make(given, message, turn, name);
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

	if (delivery->options->sink == &sink_json && strcmp(type, "npy") == 0)
		return &sink_json_npy;
	if (delivery->options->sink != NULL)
		return delivery->options->sink;
	if (strcmp(type, "raw") == 0)
		return &sink_raw;
	if (strcmp(type, "json") == 0)
		return &sink_json;
	if (strcmp(type, "cbor") == 0)
		return &sink_cbor;
	if (strcmp(type, "csv") == 0)
		return &sink_csv;
	if (strcmp(type, "npy") == 0)
		return &sink_npy;
	if (strcmp(type, "mtx") == 0)
		return &sink_mtx;
	if (ring_reader_check(delivery->ring) != 0)
		return NULL;
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
	open->job.reader = delivery->ring;
	open->job.apart = delivery->options->output_dir != NULL;
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
		if (ring_reader_check(delivery->ring) != 0)
			return EXIT_INCOMPLETE;
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

/* Better said now than at the first message. */
static enum exit_code check_directory(const char *path)
{
	struct stat status;
	int error = 0;

	if (stat(path, &status) != 0 || access(path, W_OK | X_OK) != 0)
		error = errno;
	else if (!S_ISDIR(status.st_mode))
		error = ENOTDIR;
	if (error == 0)
		return EXIT_COMPLETE;
	log_fatal("cannot write to directory %s: %s", path, strerror(error));
	return EXIT_SYSTEM;
}

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
	delivery->output.ring = ring;
	if (options->output_dir != NULL)
		return check_directory(options->output_dir);
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
	tdestroy(delivery->names, free);
}

uint64_t delivery_bytes(const struct delivery *delivery)
{
	return delivery->bytes + delivery->output.written;
}
