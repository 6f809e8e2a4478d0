/*
 * command.h - what every program's command line has in common.
 */
#ifndef SLUICE_COMMAND_H
#define SLUICE_COMMAND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct option;

/*
 * To be called first: the name that begins each line on stderr, and a file
 * behind each standard descriptor that is closed, so that nothing that is
 * opened later is taken for it.  Using such a one fails with EBADF.
 */
void command_begin(const char *program);

/* Each takes the option's name for its error line, and ends the program with
 * EXIT_USAGE if the value is not of the kind. */
uint64_t command_number(const char *option, const char *value, uint64_t least, uint64_t most);
uint64_t command_size(const char *option, const char *value);
int command_descriptor(const char *option, const char *value);   /* one that is open */
int64_t command_time_ms(const char *option, const char *value);
bool command_yes_no(const char *option, const char *value);
mode_t command_mode(const char *option, const char *value);      /* of a segment */

/* A program's options. */
struct command_line {
	const char *program;
	const char *help;              /* all that --help prints */
	const char *letters;           /* as getopt(3) has them; -h and -V are added */
	const struct option *options;  /* as getopt_long(3) has them; without those two */

	/* Take an option.  @given: the word of the command line, for messages. */
	void (*take)(void *context, int option, const char *value, const char *given);
};

/*
 * Walk over the options.  --help and --version print and exit 0; what is wrong
 * ends the program with EXIT_USAGE.  Returns the index in argv of the first
 * operand, which is the RING; there is at least that.
 */
int command_walk(const struct command_line *line, int argc, char **argv, void *context);

/* As command_walk, where RING is the only operand.  Returns it. */
const char *command_walk_to_ring(const struct command_line *line, int argc, char **argv, void *context);

/* Say what is wrong, point to --help, exit EXIT_USAGE. */
_Noreturn void command_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
