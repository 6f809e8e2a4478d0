/* options.c - the bridge's command line. */
#include "bridge/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/command.h"
#include "shared/exit.h"
#include "shared/log.h"

static const char help_text[] =
"Usage: sluice-bridge [OPTION]... RING --to HOST:PORT [--to HOST:PORT]...\n"
"  or:  sluice-bridge [OPTION]... RING --listen ADDRESS:PORT\n"
"Carry the stream of the ring RING to other hosts, or receive one into a ring of\n"
"that name.  Exit status 0 means that all of it arrived, was verified, and is safe\n"
"with every consumer there.\n"
"\n"
"Sending:\n"
"  -t, --to HOST:PORT       a destination; may be given often\n"
"      --to-file FILE       destinations, one a line; # begins a comment\n"
"      --require all|any|N  how many must complete (default: all)\n"
"      --rate SIZE          at most so many bytes a second to each\n"
"  -w, --wait T             wait for the ring at most T (default: 30s)\n"
"  -N, --name NAME          name to appear under in reports (default: the destination)\n"
"      --late               send what is left of a stream that has begun\n"
"      --any-user           accept a ring of another user\n"
"\n"
"Receiving:\n"
"  -l, --listen ADDR:PORT   where to listen; port 0: one that is free, which is\n"
"                           printed\n"
"      --once               receive one stream (default)\n"
"      --serve              one after the other; in RING, %n is the stream's number,\n"
"                           %i its id, %% a percent sign\n"
"  -w, --wait T             wait for a sender at most T (default: 30s; --serve: no limit)\n"
"  -n, --consumers N        begin when N consumers are attached (default: 1)\n"
"      --start-timeout T    wait for them at most T (default: 30s)\n"
"      --drain-timeout T    wait for their results at most T (default: no limit)\n"
"      --slots N            2 to 4096 (default: as the source)\n"
"      --mode MODE          permissions of the segment: 0600 (default), 0660, 0666\n"
"\n"
"Both:\n"
"      --retry T            go on after a broken connection, or after the death of\n"
"                           either bridge, that comes back within T (default: 30s)\n"
"      --dead-after T       give a connection up whose other end is not heard of\n"
"                           for T (default: 10s)\n"
"      --stall-timeout T    give a destination (or a consumer) up that makes no\n"
"                           progress for T while the ring is full (default: never)\n"
"      --tls-cert FILE      TLS: this side's certificate,\n"
"      --tls-key FILE       its key,\n"
"      --tls-ca FILE        and who may sign the other side's\n"
"      --insecure           allow other hosts without TLS\n"
"      --progress[=yes|no]  show progress (default: if stderr is a terminal)\n"
"      --summary FILE       leave an account of the run in FILE, as JSON\n"
"      --ready-fd N         write a line to file descriptor N when every destination\n"
"                           is attached, or the address when listening\n"
"  -h, --help               show this help\n"
"  -V, --version            show the version\n"
"\n"
"SIZE takes K, M, G (powers of 1024); T takes ms, s, m, h (default: seconds).\n"
"Exit status: 0 complete, 1 incomplete, 2 usage, 3 ring or peer not there in time,\n"
"4 incompatible or untrusted peer, 5 system error, 6 drain timeout, 7 internal,\n"
"128+N signal N.\n";

enum {
	OPTION_TO_FILE = 256,
	OPTION_REQUIRE,
	OPTION_RATE,
	OPTION_LATE,
	OPTION_ANY_USER,
	OPTION_ONCE,
	OPTION_SERVE,
	OPTION_START_TIMEOUT,
	OPTION_DRAIN_TIMEOUT,
	OPTION_SLOTS,
	OPTION_MODE,
	OPTION_RETRY,
	OPTION_DEAD_AFTER,
	OPTION_STALL_TIMEOUT,
	OPTION_TLS_CERT,
	OPTION_TLS_KEY,
	OPTION_TLS_CA,
	OPTION_INSECURE,
	OPTION_PROGRESS,
	OPTION_SUMMARY,
	OPTION_READY_FD,
};

static const struct option long_options[] = {
	{ "to", required_argument, NULL, 't' },
	{ "to-file", required_argument, NULL, OPTION_TO_FILE },
	{ "require", required_argument, NULL, OPTION_REQUIRE },
	{ "rate", required_argument, NULL, OPTION_RATE },
	{ "wait", required_argument, NULL, 'w' },
	{ "name", required_argument, NULL, 'N' },
	{ "late", no_argument, NULL, OPTION_LATE },
	{ "any-user", no_argument, NULL, OPTION_ANY_USER },
	{ "listen", required_argument, NULL, 'l' },
	{ "once", no_argument, NULL, OPTION_ONCE },
	{ "serve", no_argument, NULL, OPTION_SERVE },
	{ "consumers", required_argument, NULL, 'n' },
	{ "start-timeout", required_argument, NULL, OPTION_START_TIMEOUT },
	{ "drain-timeout", required_argument, NULL, OPTION_DRAIN_TIMEOUT },
	{ "slots", required_argument, NULL, OPTION_SLOTS },
	{ "mode", required_argument, NULL, OPTION_MODE },
	{ "retry", required_argument, NULL, OPTION_RETRY },
	{ "dead-after", required_argument, NULL, OPTION_DEAD_AFTER },
	{ "stall-timeout", required_argument, NULL, OPTION_STALL_TIMEOUT },
	{ "tls-cert", required_argument, NULL, OPTION_TLS_CERT },
	{ "tls-key", required_argument, NULL, OPTION_TLS_KEY },
	{ "tls-ca", required_argument, NULL, OPTION_TLS_CA },
	{ "insecure", no_argument, NULL, OPTION_INSECURE },
	{ "progress", optional_argument, NULL, OPTION_PROGRESS },
	{ "summary", required_argument, NULL, OPTION_SUMMARY },
	{ "ready-fd", required_argument, NULL, OPTION_READY_FD },
	{ NULL, 0, NULL, 0 },
};

struct parse {
	struct bridge_options *options;
	const char *sending, *receiving;   /* an option that was given for that end only */
};

static void *grown(void *array, size_t count, size_t size)
{
	void *larger = reallocarray(array, count, size);

	if (larger == NULL)
		command_usage("out of memory");
	return larger;
}

static void add_destination(struct bridge_options *options, const char *text)
{
	size_t i = options->to_count;
	char why[ADDRESS_WHY_MAX];

	options->to = grown(options->to, i + 1, sizeof options->to[0]);
	options->addresses = grown(options->addresses, i + 1, sizeof options->addresses[0]);
	if (address_parse(text, false, &options->addresses[i], why, sizeof why) != 0)
		command_usage("%s", why);
	for (size_t other = 0; other < i; other++)
		if (strcmp(options->to[other], text) == 0)
			command_usage("destination %s is there twice", text);
	if (i == RING_MAX_READERS)
		command_usage("at most %d destinations", RING_MAX_READERS);
	options->to[i] = strdup(text);
	if (options->to[i] == NULL)
		command_usage("out of memory");
	options->to_count++;
}

/* A line without its comment and blanks around it. */
static char *line_trim(char *line)
{
	static const char blanks[] = " \t\r\n";
	size_t length;

	line[strcspn(line, "#")] = '\0';
	line += strspn(line, blanks);
	length = strlen(line);
	while (length > 0 && strchr(blanks, line[length - 1]) != NULL)
		line[--length] = '\0';
	return line;
}

static void add_destinations_of(struct bridge_options *options, const char *path)
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t size = 0;

	if (file == NULL) {
		command_usage("--to-file %s: %s", path, strerror(errno));
		return;
	}
	while (getline(&line, &size, file) >= 0) {
		char *text = line_trim(line);

		if (text[0] != '\0')
			add_destination(options, text);
	}
	if (ferror(file))
		command_usage("--to-file %s: %s", path, strerror(errno));
	free(line);
	fclose(file);
	if (options->to_count == 0)
		command_usage("--to-file %s: no destination in it", path);
}

static unsigned parse_require(const char *value)
{
	if (strcmp(value, "all") == 0)
		return 0;
	if (strcmp(value, "any") == 0)
		return 1;
	return (unsigned)command_number("require", value, 1, RING_MAX_READERS);
}

/* 0 has no sense of its own here; the most is what the ring can note. */
static int64_t positive_time(const char *option, const char *value)
{
	int64_t ms = command_time_ms(option, value);

	if (ms == 0 || ms > INT32_MAX)
		command_usage("--%s takes a time longer than 0 and shorter than 25 days", option);
	return ms;
}

static bool sending_option(struct bridge_options *options, int option, const char *value)
{
	switch (option) {
	case 't':
		add_destination(options, value);
		return true;
	case OPTION_TO_FILE:
		add_destinations_of(options, value);
		return true;
	case OPTION_REQUIRE:
		options->require = parse_require(value);
		return true;
	case OPTION_RATE:
		options->rate = command_size("rate", value);
		return true;
	case 'N':
		if (strlen(value) >= RING_LABEL_MAX)
			command_usage("--name takes at most %d bytes", RING_LABEL_MAX - 1);
		options->name = value;
		return true;
	case OPTION_LATE:
		options->late = true;
		return true;
	case OPTION_ANY_USER:
		options->any_user = true;
		return true;
	default:
		return false;
	}
}

static bool receiving_option(struct bridge_options *options, int option, const char *value)
{
	char why[ADDRESS_WHY_MAX];

	switch (option) {
	case 'l':
		options->listen = value;
		if (address_parse(value, true, &options->listen_address, why, sizeof why) != 0)
			command_usage("%s", why);
		return true;
	case OPTION_ONCE:
		options->serve = false;
		return true;
	case OPTION_SERVE:
		options->serve = true;
		return true;
	case 'n':
		options->consumers = (unsigned)command_number("consumers", value, 1, RING_MAX_READERS);
		return true;
	case OPTION_START_TIMEOUT:
		options->start_timeout_ms = command_time_ms("start-timeout", value);
		return true;
	case OPTION_DRAIN_TIMEOUT:
		options->drain_timeout_ms = command_time_ms("drain-timeout", value);
		return true;
	case OPTION_SLOTS:
		options->slots = (uint32_t)command_number("slots", value, RING_MIN_SLOTS, RING_MAX_SLOTS);
		return true;
	case OPTION_MODE:
		options->mode = command_mode("mode", value);
		return true;
	default:
		return false;
	}
}

static void common_option(struct bridge_options *options, int option, const char *value)
{
	switch (option) {
	case 'w':
		options->wait_ms = command_time_ms("wait", value);
		break;
	case OPTION_RETRY:
		options->retry_ms = positive_time("retry", value);
		break;
	case OPTION_DEAD_AFTER:
		options->dead_after_ms = positive_time("dead-after", value);
		break;
	case OPTION_STALL_TIMEOUT:
		options->stall_timeout_ms = command_time_ms("stall-timeout", value);
		break;
	case OPTION_TLS_CERT:
		options->tls_cert = value;
		break;
	case OPTION_TLS_KEY:
		options->tls_key = value;
		break;
	case OPTION_TLS_CA:
		options->tls_ca = value;
		break;
	case OPTION_INSECURE:
		options->insecure = true;
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

/* With --serve: what may follow a percent sign. */
static void check_pattern(const char *ring)
{
	for (const char *at = strchr(ring, '%'); at != NULL; at = strchr(at + 2, '%'))
		if (at[1] == '\0' || strchr("ni%", at[1]) == NULL)
			command_usage("in \"%s\" a percent sign is not followed by n, i or %%", ring);
}

static void check_ends(const struct bridge_options *options, const struct parse *seen)
{
	int tls = (options->tls_cert != NULL) + (options->tls_key != NULL) + (options->tls_ca != NULL);

	if (options->to_count == 0 && options->listen == NULL)
		command_usage("--to or --listen?");
	if (options->to_count > 0 && options->listen != NULL)
		command_usage("--to or --listen, not both");
	if (options->to_count > 0 && seen->receiving != NULL)
		command_usage("%s is for a bridge that listens", seen->receiving);
	if (options->listen != NULL && seen->sending != NULL)
		command_usage("%s is for a bridge that sends", seen->sending);
	if (options->require > options->to_count && options->listen == NULL)
		command_usage("--require %u of %zu destinations", options->require, options->to_count);
	if (options->serve)
		check_pattern(options->ring);
	if (tls != 0 && tls != 3)
		command_usage("--tls-cert, --tls-key and --tls-ca come together");
}

static void option_take(void *context, int option, const char *value, const char *given)
{
	struct parse *parse = context;

	if (sending_option(parse->options, option, value))
		parse->sending = given;
	else if (receiving_option(parse->options, option, value))
		parse->receiving = given;
	else
		common_option(parse->options, option, value);
}

static const struct command_line command_line = {
	.program = "sluice-bridge",
	.help = help_text,
	.letters = "t:w:N:l:n:",
	.options = long_options,
	.take = option_take,
};

enum exit_code bridge_tls_open(const struct bridge_options *options, bool server,
                               struct tls_context **tls)
{
	char why[TLS_WHY_MAX];
	int error;

	*tls = NULL;
	if (options->tls_cert == NULL)
		return EXIT_COMPLETE;
	error = tls_context_open(tls, server, options->tls_cert, options->tls_key, options->tls_ca,
	                         why, sizeof why);
	if (error == 0)
		return EXIT_COMPLETE;
	log_fatal("%s", why);
	return error == -EBADMSG || error == -EKEYREJECTED ? EXIT_BAD_DATA : EXIT_SYSTEM;
}

void bridge_options_parse(struct bridge_options *options, int argc, char **argv)
{
	struct parse parse = { .options = options };

	*options = (struct bridge_options){
		.retry_ms = 30000,
		.dead_after_ms = 10000,
		.wait_ms = -1,
		.progress = -1,
		.ready_fd = -1,
		.consumers = 1,
		.start_timeout_ms = 30000,
		.drain_timeout_ms = RING_FOREVER,
		.mode = 0600,
	};
	options->ring = command_walk_to_ring(&command_line, argc, argv, &parse);
	check_ends(options, &parse);
	if (options->wait_ms < 0)
		options->wait_ms = options->serve ? RING_FOREVER : 30000;
}
