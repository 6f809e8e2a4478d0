/*
 * command.h - what every program's command line has in common.
 */
#ifndef SLUICE_COMMAND_H
#define SLUICE_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

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

/* Print "PROGRAM (Sluice) VERSION" and exit 0. */
_Noreturn void command_version(const char *program);

/* Say what is wrong, point to --help, exit EXIT_USAGE. */
_Noreturn void command_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
