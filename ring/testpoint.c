/* testpoint.c - see testpoint.h; empty in release builds. */
#include "ring/testpoint.h"

#ifdef SLUICE_TESTPOINTS
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char target[64];
static int action;
static atomic_int countdown;
static int trace_fd = -1;

static void testpoint_setup(void)
{
	const char *spec = getenv("SLUICE_TESTPOINT");
	const char *trace = getenv("SLUICE_TESTPOINT_TRACE");
	char how[8] = "";
	int count = 1;

	if (trace != NULL)
		trace_fd = open(trace, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (spec != NULL && sscanf(spec, "%63[^:]:%d:%7s", target, &count, how) == 3) {
		action = strcmp(how, "stop") == 0 ? SIGSTOP : SIGKILL;
		atomic_store(&countdown, count);
	}
}

void testpoint_pass(const char *name)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, testpoint_setup);
	if (trace_fd >= 0) {
		char line[80];
		int length = snprintf(line, sizeof line, "%s\n", name);

		if (write(trace_fd, line, (size_t)length) < 0)
			abort();
	}
	if (action != 0 && strcmp(name, target) == 0 && atomic_fetch_sub(&countdown, 1) == 1)
		kill(getpid(), action);
}
#else
typedef int testpoint_unused;      /* ISO C wants a declaration */
#endif
