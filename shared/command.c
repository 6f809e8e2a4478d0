/* command.c - command lines. */
#include "shared/command.h"

#include <fcntl.h>
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

void command_version(const char *program)
{
	printf("%s (Sluice) %s\n", program, SLUICE_VERSION);
	exit(fflush(stdout) == 0 ? EXIT_COMPLETE : EXIT_SYSTEM);
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
