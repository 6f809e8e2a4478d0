/* leave.c - signals, and interrupting a blocked main thread. */
#include "shared/leave.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_bool requested;
static volatile sig_atomic_t signal_seen;
static pthread_t main_thread;
static void (*request_hook)(void);

static void on_signal(int number)
{
	if (signal_seen == 0)
		signal_seen = number;
	leave_request();
}

/* Only there to make a system call return EINTR. */
static void on_nudge(int number)
{
	(void)number;
}

static void catch(int number, void (*handler)(int))
{
	struct sigaction action = { .sa_handler = handler };    /* no SA_RESTART */

	sigemptyset(&action.sa_mask);
	sigaction(number, &action, NULL);
}

void leave_setup(void (*on_request)(void))
{
	struct sigaction before;

	main_thread = pthread_self();
	request_hook = on_request;
	signal(SIGPIPE, SIG_IGN);      /* EPIPE and EFBIG say it better */
	signal(SIGXFSZ, SIG_IGN);
	catch(SIGRTMIN, on_nudge);
	catch(SIGTERM, on_signal);
	catch(SIGINT, on_signal);
	/* nohup stays nohup. */
	if (sigaction(SIGHUP, NULL, &before) != 0 || before.sa_handler != SIG_IGN)
		catch(SIGHUP, on_signal);
}

void leave_request(void)
{
	atomic_store(&requested, true);
	if (request_hook != NULL)
		request_hook();
}

bool leave_is_requested(void)
{
	return atomic_load(&requested);
}

int leave_signal(void)
{
	return signal_seen;
}

void leave_nudge(void)
{
	if (leave_is_requested())
		pthread_kill(main_thread, SIGRTMIN);
}
