/* log.c - lines on stderr. */
#include "shared/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINE_MAX_BYTES 2048

static const char *program_name = "sluice";
static atomic_bool fatal_said;
static atomic_bool status_line;
static char fatal_text[LINE_MAX_BYTES];

void log_open(const char *program)
{
	program_name = program;
}

static void write_all(const char *bytes, size_t length)
{
	while (length > 0) {
		ssize_t got = write(STDERR_FILENO, bytes, length);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return;        /* nobody listens: nothing to be done */
		bytes += got;
		length -= (size_t)got;
	}
}

static void line_write(const char *level, const char *format, va_list arguments)
{
	char line[LINE_MAX_BYTES];
	/* A status line at the cursor is erased first. */
	int length = snprintf(line, sizeof line, "%s%s: %s: ",
	                      atomic_exchange(&status_line, false) ? "\r\033[K" : "",
	                      program_name, level);
	int rest = vsnprintf(line + length, sizeof line - (size_t)length, format, arguments);

	rest = rest < (int)sizeof line - length - 1 ? rest : (int)sizeof line - length - 2;
	/* Names come from anywhere: one event stays one line, and no terminal
	 * is told what to do. */
	for (char *c = line + length; c < line + length + rest; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	length += rest;
	line[length++] = '\n';
	write_all(line, (size_t)length);
}

void log_warning(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	line_write("warning", format, arguments);
	va_end(arguments);
}

void log_note(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	line_write("note", format, arguments);
	va_end(arguments);
}

static void line_fatal(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	line_write("fatal", format, arguments);
	va_end(arguments);
}

void log_fatal(const char *format, ...)
{
	va_list arguments;

	if (atomic_exchange(&fatal_said, true))
		return;
	va_start(arguments, format);
	vsnprintf(fatal_text, sizeof fatal_text, format, arguments);
	va_end(arguments);
	line_fatal("%s", fatal_text);
}

const char *log_fatal_text(void)
{
	return fatal_text;
}

void log_status(const char *text)
{
	char line[LINE_MAX_BYTES];
	int length = snprintf(line, sizeof line, "\r%s\033[K", text);

	atomic_store(&status_line, true);
	write_all(line, length < (int)sizeof line ? (size_t)length : sizeof line - 1);
}
