/* command.c - command lines. */
#include "shared/command.h"

#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/exit.h"
#include "shared/log.h"
#include "shared/units.h"
#include "shared/version.h"

void command_begin(const char *program)
{
	/* Of no use in the direction that it is used in. */
	static const int modes[] = {
		[STDIN_FILENO] = O_WRONLY,
		[STDOUT_FILENO] = O_RDONLY,
		[STDERR_FILENO] = O_RDONLY,
	};

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		int filled = fcntl(fd, F_GETFD) < 0 ? open("/dev/null", modes[fd]) : fd;

		if (filled != fd)      /* the lowest that is free is this one */
			exit(EXIT_SYSTEM);
	}
	log_open(program);
}

void command_usage(const char *format, ...)
{
	char text[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	log_fatal("%s (see --help)", text);
	exit(EXIT_USAGE);
}

mode_t command_mode(const char *option, const char *value)
{
	char *end;
	unsigned long mode = strtoul(value, &end, 8);

	/* Who attaches reads and writes; one without the other is of no use. */
	if (*value < '0' || *value > '7' || *end != '\0' || (mode & ~0066ul) != 0600 ||
	    (mode & 0060) % 0060 != 0 || (mode & 0006) % 0006 != 0)
		command_usage("--%s takes 0600, 0660 or 0666, not \"%s\"", option, value);
	return (mode_t)mode;
}

/* ---- walking over the options --------------------------------------------------- */

#define OPTIONS_MAX 64
#define LETTERS_MAX 64

static const struct option common_options[] = {
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};

static void print_and_exit(const char *text)
{
	fputs(text, stdout);
	exit(fflush(stdout) == 0 ? EXIT_COMPLETE : EXIT_SYSTEM);
}

/* The program's options, and those that each has. */
static void options_join(const struct option *own, struct option all[OPTIONS_MAX])
{
	size_t count = 0;

	while (own[count].name != NULL && count + 3 < OPTIONS_MAX) {
		all[count] = own[count];
		count++;
	}
	memcpy(all + count, common_options, sizeof common_options);
}

int command_walk(const struct command_line *line, int argc, char **argv, void *context)
{
	struct option all[OPTIONS_MAX];
	char letters[LETTERS_MAX];
	int option;

	options_join(line->options, all);
	snprintf(letters, sizeof letters, ":%shV", line->letters);
	opterr = 0;
	while ((option = getopt_long(argc, argv, letters, all, NULL)) != -1) {
		const char *given = argv[optind - 1];

		if (option == ':')
			command_usage("%s needs a value", given);
		if (option == '?')
			command_usage("unknown option %s", given);
		if (option == 'h')
			print_and_exit(line->help);
		if (option == 'V') {
			printf("%s (Sluice) %s", line->program, SLUICE_VERSION);
			print_and_exit("\n");
		}
		line->take(context, option, optarg, given == optarg ? argv[optind - 2] : given);
	}
	if (optind == argc)
		command_usage("which RING?");
	return optind;
}

const char *command_walk_to_ring(const struct command_line *line, int argc, char **argv, void *context)
{
	int first = command_walk(line, argc, argv, context);

	if (first + 1 < argc)
		command_usage("one RING, not \"%s\" as well", argv[first + 1]);
	return argv[first];
}

uint64_t command_number(const char *option, const char *value, uint64_t least, uint64_t most)
{
	uint64_t number;

	if (units_parse_number(value, least, most, &number) != 0)
		command_usage("--%s takes a number from %" PRIu64 " to %" PRIu64 ", not \"%s\"",
		              option, least, most, value);
	return number;
}

uint64_t command_size(const char *option, const char *value)
{
	uint64_t bytes;

	if (units_parse_size(value, &bytes) != 0)
		command_usage("--%s takes a size such as 64K, 1M or 1048576, not \"%s\"", option, value);
	return bytes;
}

int command_descriptor(const char *option, const char *value)
{
	int fd = (int)command_number(option, value, 0, 65535);

	if (fcntl(fd, F_GETFD) < 0)
		command_usage("--%s: file descriptor %d is not open", option, fd);
	return fd;
}

int64_t command_time_ms(const char *option, const char *value)
{
	int64_t ms;

	if (units_parse_time(value, &ms) != 0)
		command_usage("--%s takes a time such as 500ms, 30s or 2m, not \"%s\"", option, value);
	return ms;
}

bool command_yes_no(const char *option, const char *value)
{
	if (strcmp(value, "yes") == 0)
		return true;
	if (strcmp(value, "no") != 0)
		command_usage("--%s takes yes or no, not \"%s\"", option, value);
	return false;
}
