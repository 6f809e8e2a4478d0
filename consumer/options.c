/* options.c - the consumer's command line. */
#include "consumer/options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ring/ring.h"
#include "shared/command.h"

static const struct sink *const sinks[] = {
	&sink_raw, &sink_json, &sink_cbor, &sink_csv, &sink_npy, &sink_mtx, &sink_diag, &sink_null,
};

static const char help_text[] =
"Usage: sluice-consumer [OPTION]... RING\n"
"Deserialize all that comes through the ring RING, to standard output.\n"
"Exit status 0 means that the output is complete, verified and durable.\n"
"\n"
"Output:\n"
"  -f, --format FORMAT      auto (default: what came in), raw, json (a line per\n"
"                           message, or per row of a table), cbor (a CBOR\n"
"                           sequence), csv, npy (NumPy arrays), mtx (Matrix\n"
"                           Market), diag (diagnostic notation), null (verify and\n"
"                           discard)\n"
"  -o, --output FILE        write to FILE, which appears only when it is complete\n"
"      --output-dir DIR     a file in DIR for each message, by its name\n"
"\n"
"Ring:\n"
"  -w, --wait T             wait for the ring at most T (default: 30s)\n"
"  -N, --name NAME          name to appear under in reports\n"
"      --late               take what is left of a stream that has begun\n"
"      --on-slow block|drop hold the producer back (default), or give up whole\n"
"                           messages while it waits, and exit 1\n"
"      --any-user           accept a ring of another user\n"
"      --spin               spin instead of sleeping: lowest latency, a whole core\n"
"\n"
"Reports:\n"
"      --progress[=yes|no]  show progress (default: if stderr is a terminal and\n"
"                           the output is not)\n"
"      --summary FILE       leave an account of the run in FILE, as JSON\n"
"      --ready-fd N         write a newline to file descriptor N when attached\n"
"  -h, --help               show this help\n"
"  -V, --version            show the version\n"
"\n"
"T takes ms, s, m, h (default: seconds).\n"
"Exit status: 0 complete, 1 incomplete, 2 usage, 3 no ring in time, 4 bad data\n"
"or another version, 5 system error, 7 internal, 128+N signal N.\n";

enum {
	OPTION_OUTPUT_DIR = 256,
	OPTION_LATE,
	OPTION_ON_SLOW,
	OPTION_ANY_USER,
	OPTION_SPIN,
	OPTION_PROGRESS,
	OPTION_SUMMARY,
	OPTION_READY_FD,
};

static const struct option long_options[] = {
	{ "format", required_argument, NULL, 'f' },
	{ "output", required_argument, NULL, 'o' },
	{ "output-dir", required_argument, NULL, OPTION_OUTPUT_DIR },
	{ "wait", required_argument, NULL, 'w' },
	{ "name", required_argument, NULL, 'N' },
	{ "late", no_argument, NULL, OPTION_LATE },
	{ "on-slow", required_argument, NULL, OPTION_ON_SLOW },
	{ "any-user", no_argument, NULL, OPTION_ANY_USER },
	{ "spin", no_argument, NULL, OPTION_SPIN },
	{ "progress", optional_argument, NULL, OPTION_PROGRESS },
	{ "summary", required_argument, NULL, OPTION_SUMMARY },
	{ "ready-fd", required_argument, NULL, OPTION_READY_FD },
	{ NULL, 0, NULL, 0 },
};

static const struct sink *sink_named(const char *name)
{
	if (strcmp(name, "auto") == 0)
		return NULL;
	for (size_t i = 0; i < sizeof sinks / sizeof sinks[0]; i++)
		if (strcmp(sinks[i]->name, name) == 0)
			return sinks[i];
	command_usage("unknown format \"%s\": auto, raw, json, cbor, csv, npy, mtx, diag or null", name);
}

static bool parse_on_slow(const char *value)
{
	if (strcmp(value, "drop") == 0)
		return true;
	if (strcmp(value, "block") != 0)
		command_usage("--on-slow takes block or drop, not \"%s\"", value);
	return false;
}

static void option_take(void *context, int option, const char *value, const char *given)
{
	struct consumer_options *options = context;

	(void)given;
	switch (option) {
	case 'f':
		options->sink = sink_named(value);
		break;
	case 'o':
		options->output = value;
		break;
	case 'w':
		options->wait_ms = command_time_ms("wait", value);
		break;
	case 'N':
		if (strlen(value) >= RING_LABEL_MAX)
			command_usage("--name takes at most %d bytes", RING_LABEL_MAX - 1);
		options->name = value;
		break;
	case OPTION_OUTPUT_DIR:
		options->output_dir = value;
		break;
	case OPTION_LATE:
		options->late = true;
		break;
	case OPTION_ON_SLOW:
		options->drop = parse_on_slow(value);
		break;
	case OPTION_ANY_USER:
		options->any_user = true;
		break;
	case OPTION_SPIN:
		options->spin = true;
		break;
	case OPTION_PROGRESS:
		options->progress = value == NULL || command_yes_no("progress", value);
		break;
	case OPTION_SUMMARY:
		options->summary = value;
		break;
	case OPTION_READY_FD:
		options->ready_fd = command_descriptor("ready-fd", value);
		break;
	default:
		command_usage("bad option");
	}
}

static const struct command_line command_line = {
	.program = "sluice-consumer",
	.help = help_text,
	.letters = "f:o:w:N:",
	.options = long_options,
	.take = option_take,
};

void consumer_options_parse(struct consumer_options *options, int argc, char **argv)
{
	*options = (struct consumer_options){
		.wait_ms = 30000,
		.progress = -1,
		.ready_fd = -1,
	};
	options->ring = command_walk_to_ring(&command_line, argc, argv, options);
	if (options->output != NULL && options->output_dir != NULL)
		command_usage("--output or --output-dir, not both");
}
