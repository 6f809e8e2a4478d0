/* options.c - the producer's command line. */
#include "producer/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "producer/recode.h"
#include "shared/command.h"
#include "shared/log.h"

static const struct source *const sources[] = {
	&source_raw, &source_json, &source_cbor, &source_csv, &source_npy, &source_mtx,
};

static const char help_text[] =
"Usage: sluice-producer [OPTION]... RING [FILE]...\n"
"Serialize FILEs (standard input without FILE, or with -) into the ring RING.\n"
"Exit status 0 means that every required consumer has all of it, safe and verified.\n"
"\n"
"Input:\n"
"  -f, --format FORMAT      raw (default: each FILE is one message), json, cbor,\n"
"                           csv, npy (NumPy arrays), mtx (Matrix Market)\n"
"      --split yes|no       json: each JSON text is a message (default), or the\n"
"                           FILE is one text and one message\n"
"      --skip-bad           skip bad records, report them, and exit 1 in the end\n"
"      --digest yes|no      digests of messages past one slot (default: yes)\n"
"\n"
"Input, csv:\n"
"      --csv-header yes|no  the first line has the columns' names (default: yes)\n"
"      --delimiter C        what is between fields: a character, or tab (default: ,)\n"
"      --quote C            what may be around fields: a character, or none\n"
"                           (default: \")\n"
"      --infer              numbers, true and false are such, empty fields are null\n"
"      --encoding NAME      what the bytes are, as iconv names it (default: UTF-8)\n"
"\n"
"Consumers:\n"
"  -n, --consumers N        begin when N consumers are attached (default: 1)\n"
"      --start-timeout T    wait for them at most T (default: 30s)\n"
"      --drain-timeout T    wait for their results at most T (default: no limit)\n"
"      --stall-timeout T    evict one that makes no progress for T while the ring\n"
"                           is full (default: never)\n"
"\n"
"Ring:\n"
"      --slot-size SIZE     a power of two, 64K to 64M (default: 512K)\n"
"      --slots N            2 to 4096 (default: 8)\n"
"                           defaults shrink to what /dev/shm leaves\n"
"      --mode MODE          permissions of the segment: 0600 (default), 0660, 0666\n"
"      --spin               spin instead of sleeping: lowest latency, a whole core\n"
"\n"
"Reports:\n"
"      --progress[=yes|no]  show progress (default: if stderr is a terminal)\n"
"      --summary FILE       leave an account of the run in FILE, as JSON\n"
"      --ready-fd N         write a newline to file descriptor N when the ring exists\n"
"  -h, --help               show this help\n"
"  -V, --version            show the version\n"
"\n"
"SIZE takes K, M, G (powers of 1024); T takes ms, s, m, h (default: seconds).\n"
"Exit status: 0 complete, 1 incomplete, 2 usage, 3 consumers not there in time,\n"
"4 bad data, 5 system error, 6 drain timeout, 7 internal, 128+N signal N.\n";

enum {
	OPTION_SPLIT = 256,
	OPTION_SKIP_BAD,
	OPTION_CSV_HEADER,
	OPTION_DELIMITER,
	OPTION_QUOTE,
	OPTION_INFER,
	OPTION_ENCODING,
	OPTION_DIGEST,
	OPTION_START_TIMEOUT,
	OPTION_DRAIN_TIMEOUT,
	OPTION_STALL_TIMEOUT,
	OPTION_SLOT_SIZE,
	OPTION_SLOTS,
	OPTION_MODE,
	OPTION_SPIN,
	OPTION_PROGRESS,
	OPTION_SUMMARY,
	OPTION_READY_FD,
};

static const struct option long_options[] = {
	{ "format", required_argument, NULL, 'f' },
	{ "split", required_argument, NULL, OPTION_SPLIT },
	{ "skip-bad", no_argument, NULL, OPTION_SKIP_BAD },
	{ "csv-header", required_argument, NULL, OPTION_CSV_HEADER },
	{ "delimiter", required_argument, NULL, OPTION_DELIMITER },
	{ "quote", required_argument, NULL, OPTION_QUOTE },
	{ "infer", no_argument, NULL, OPTION_INFER },
	{ "encoding", required_argument, NULL, OPTION_ENCODING },
	{ "digest", required_argument, NULL, OPTION_DIGEST },
	{ "consumers", required_argument, NULL, 'n' },
	{ "start-timeout", required_argument, NULL, OPTION_START_TIMEOUT },
	{ "drain-timeout", required_argument, NULL, OPTION_DRAIN_TIMEOUT },
	{ "stall-timeout", required_argument, NULL, OPTION_STALL_TIMEOUT },
	{ "slot-size", required_argument, NULL, OPTION_SLOT_SIZE },
	{ "slots", required_argument, NULL, OPTION_SLOTS },
	{ "mode", required_argument, NULL, OPTION_MODE },
	{ "spin", no_argument, NULL, OPTION_SPIN },
	{ "progress", optional_argument, NULL, OPTION_PROGRESS },
	{ "summary", required_argument, NULL, OPTION_SUMMARY },
	{ "ready-fd", required_argument, NULL, OPTION_READY_FD },
	{ NULL, 0, NULL, 0 },
};

static const struct source *source_named(const char *name)
{
	for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++)
		if (strcmp(sources[i]->name, name) == 0)
			return sources[i];
	command_usage("unknown format \"%s\": raw, json, cbor, csv, npy or mtx", name);
}

static uint32_t parse_slot_size(const char *value)
{
	uint64_t size = command_size("slot-size", value);

	if (size < RING_MIN_SLOT_SIZE || size > RING_MAX_SLOT_SIZE || (size & (size - 1)) != 0)
		command_usage("--slot-size takes a power of two from 64K to 64M, not \"%s\"", value);
	return (uint32_t)size;
}

/* A byte that can stand between or around fields. */
static char parse_byte(const char *option, const char *value, const char *word, char meaning)
{
	if (strcmp(value, word) == 0)
		return meaning;
	if (strlen(value) != 1 || *value == '\n' || *value == '\r' || (unsigned char)*value >= 0x80)
		command_usage("--%s takes one ASCII character or %s, not \"%s\"", option, word, value);
	return *value;
}

static void option_take(void *context, int option, const char *value, const char *given)
{
	struct producer_options *options = context;

	(void)given;
	switch (option) {
	case 'f':
		options->source = source_named(value);
		break;
	case 'n':
		options->consumers = (unsigned)command_number("consumers", value, 1, RING_MAX_READERS);
		break;
	case OPTION_SPLIT:
		options->source_options.split = command_yes_no("split", value);
		break;
	case OPTION_SKIP_BAD:
		options->source_options.skip_bad = true;
		break;
	case OPTION_CSV_HEADER:
		options->source_options.csv_header = command_yes_no("csv-header", value);
		options->csv_option = "csv-header";
		break;
	case OPTION_DELIMITER:
		options->source_options.delimiter = parse_byte("delimiter", value, "tab", '\t');
		options->csv_option = "delimiter";
		break;
	case OPTION_QUOTE:
		options->source_options.quote = parse_byte("quote", value, "none", '\0');
		options->csv_option = "quote";
		break;
	case OPTION_INFER:
		options->source_options.infer = true;
		options->csv_option = "infer";
		break;
	case OPTION_ENCODING:
		options->source_options.encoding = value;
		options->csv_option = "encoding";
		break;
	case OPTION_DIGEST:
		options->digest = command_yes_no("digest", value);
		break;
	case OPTION_START_TIMEOUT:
		options->start_timeout_ms = command_time_ms("start-timeout", value);
		break;
	case OPTION_DRAIN_TIMEOUT:
		options->drain_timeout_ms = command_time_ms("drain-timeout", value);
		break;
	case OPTION_STALL_TIMEOUT:
		options->stall_timeout_ms = command_time_ms("stall-timeout", value);
		break;
	case OPTION_SLOT_SIZE:
		options->geometry.slot_size = parse_slot_size(value);
		break;
	case OPTION_SLOTS:
		options->geometry.slot_count = (uint32_t)command_number("slots", value,
		                                                        RING_MIN_SLOTS, RING_MAX_SLOTS);
		break;
	case OPTION_MODE:
		options->mode = command_mode("mode", value);
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

static void check_csv(const struct producer_options *options)
{
	const struct source_options *source = &options->source_options;

	if (options->csv_option != NULL && options->source != &source_csv)
		command_usage("--%s is for --format csv", options->csv_option);
	if (source->delimiter == source->quote)
		command_usage("--delimiter and --quote are the same");
	if (source->encoding != NULL && !recode_knows(source->encoding))
		command_usage("unknown encoding \"%s\": iconv -l lists them", source->encoding);
}

/* Better said now than after the first gigabytes; adds up the sizes. */
static void check_paths(struct producer_options *options)
{
	bool known = true;

	for (int i = 0; i < options->path_count; i++) {
		const char *path = options->paths[i];
		bool is_stdin = strcmp(path, "-") == 0;
		struct stat status;

		if (is_stdin ? fstat(STDIN_FILENO, &status) != 0
		             : stat(path, &status) != 0 || access(path, R_OK) != 0) {
			log_fatal("cannot open %s: %s", is_stdin ? "(standard input)" : path, strerror(errno));
			exit(EXIT_SYSTEM);
		}
		if (S_ISDIR(status.st_mode)) {
			log_fatal("cannot open %s: %s", path, strerror(EISDIR));
			exit(EXIT_SYSTEM);
		}
		known = known && S_ISREG(status.st_mode);
		options->total_bytes += (uint64_t)status.st_size;
	}
	if (!known)
		options->total_bytes = 0;
}

static const struct command_line command_line = {
	.program = "sluice-producer",
	.help = help_text,
	.letters = "f:n:",
	.options = long_options,
	.take = option_take,
};

void producer_options_parse(struct producer_options *options, int argc, char **argv)
{
	static char dash[] = "-", *only_stdin[] = { dash, NULL };
	int first;

	*options = (struct producer_options){
		.source = &source_raw,
		.source_options = { .split = true, .csv_header = true, .delimiter = ',', .quote = '"' },
		.mode = 0600,
		.consumers = 1,
		.digest = true,
		.start_timeout_ms = 30000,
		.drain_timeout_ms = RING_FOREVER,
		.progress = -1,
		.ready_fd = -1,
	};
	first = command_walk(&command_line, argc, argv, options);
	if (!options->source_options.split && options->source != &source_json)
		command_usage("--split is for --format json");
	if (options->source_options.skip_bad &&
	    (options->source == &source_raw || options->source == &source_npy ||
	     options->source == &source_mtx))
		command_usage("--skip-bad is for formats that have records: json, cbor, csv");
	check_csv(options);
	options->ring = argv[first];
	options->paths = first + 1 < argc ? argv + first + 1 : only_stdin;
	options->path_count = first + 1 < argc ? argc - first - 1 : 1;
	check_paths(options);
}
