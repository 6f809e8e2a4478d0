/* watcher.c - the watcher thread. */
#include "ring/watcher.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ring/layout.h"
#include "ring/wait.h"

static void *watch(void *argument)
{
	struct watcher *watcher = argument;

	for (;;) {
		uint64_t next = wait_now_ns() + RING_WATCH_MS * 1000000u;
		struct timespec time = {
			.tv_sec = (time_t)(next / 1000000000u),
			.tv_nsec = (long)(next % 1000000000u),
		};

		if (sem_clockwait(&watcher->stop, CLOCK_MONOTONIC, &time) == 0)
			return NULL;
		watcher->look(watcher->context);
	}
}

int watcher_start(struct watcher *watcher, void (*look)(void *context), void *context)
{
	sigset_t all, before;
	pthread_attr_t attributes;
	int error;

	watcher->look = look;
	watcher->context = context;
	if (sem_init(&watcher->stop, 0, 0) != 0)
		return -errno;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 256u << 10);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&watcher->thread, &attributes, watch, watcher);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	if (error != 0)
		sem_destroy(&watcher->stop);
	return -error;
}

void watcher_stop(struct watcher *watcher)
{
	sem_post(&watcher->stop);
	pthread_join(watcher->thread, NULL);
	sem_destroy(&watcher->stop);
}

/* Field 22 of /proc/self/stat: clock ticks after boot. */
static uint64_t start_time(void)
{
	char line[1024];
	FILE *stream = fopen("/proc/self/stat", "re");
	const char *field;
	unsigned long long ticks = 0;

	if (stream == NULL)
		return 0;
	field = fgets(line, sizeof line, stream) != NULL ? strrchr(line, ')') : NULL;
	fclose(stream);
	for (int i = 2; field != NULL && i < 22; i++) {
		field = strchr(field + 1, ' ');
		if (i == 21 && field != NULL)
			sscanf(field, "%llu", &ticks);
	}
	return ticks;
}

void watcher_describe(struct ring_display *display, const char *label)
{
	memset(display, 0, sizeof *display);
	display->pid = getpid();
	display->start_time = start_time();
	if (label != NULL)
		snprintf(display->label, sizeof display->label, "%s", label);
}

void watcher_read_display(const struct ring_display *display, struct ring_process *process)
{
	process->pid = display->pid;
	process->start_time = display->start_time;
	memcpy(process->label, display->label, sizeof process->label);
	process->label[sizeof process->label - 1] = '\0';
	for (char *c = process->label; *c != '\0'; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
}
