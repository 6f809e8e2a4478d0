/*
 * exit.h - exit codes, the same in every program.  128 + signal after a signal.
 */
#ifndef SLUICE_EXIT_H
#define SLUICE_EXIT_H

enum exit_code {
	EXIT_COMPLETE = 0,     /* complete, verified, durable */
	EXIT_INCOMPLETE = 1,   /* ended, but incomplete: truncated, aborted, dropped, evicted, a consumer failed */
	EXIT_USAGE = 2,
	EXIT_ABSENT = 3,       /* ring or peer not there in time; a retry can help */
	EXIT_BAD_DATA = 4,     /* bad data or an incompatible peer; a retry cannot help */
	EXIT_SYSTEM = 5,       /* a system call failed */
	EXIT_TIMEOUT = 6,      /* timed out waiting for others to finish */
	EXIT_INTERNAL = 7,     /* internal inconsistency */
};

#endif
