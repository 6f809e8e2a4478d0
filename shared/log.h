/*
 * log.h - one line per event on stderr: "PROGRAM: LEVEL: text".
 *
 * For programs only; library code returns errors and does not print.  Each
 * line is one write(2), so lines of several processes do not mix.
 */
#ifndef SLUICE_LOG_H
#define SLUICE_LOG_H

/* Name that begins each line; kept by reference. */
void log_open(const char *program);

/* The program goes on, perhaps with less: "warning". */
void log_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Something a user wants to know: "note". */
void log_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The reason of a non-zero exit code: "fatal".  Only the first is printed, so
 * that the first cause is the one that a user reads. */
void log_fatal(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* What log_fatal said, without program and level; "" if it was not called. */
const char *log_fatal_text(void);

/* Show `text` on the terminal's present line, in place of what is there; the
 * next line that is logged erases it. */
void log_status(const char *text);

#endif
