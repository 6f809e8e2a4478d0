/*
 * sink_steps.h - a sink under test, step by step, and what was said of it.  To be
 * included once in a program, which names the sink's sources.
 */
#ifndef SLUICE_SINK_STEPS_H
#define SLUICE_SINK_STEPS_H

#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/log.h"
#include "tests/unit/output_mock.h"

static char fatal[512];                /* what was said last */

void log_fatal(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(fatal, sizeof(fatal), format, arguments);
	va_end(arguments);
}

struct run {
	const struct sink *sink;
	struct sink_job job;
	struct output output;
};

static inline void run_open(struct run *run, const struct sink *sink)
{
	memset(run, 0, sizeof(*run));
	run->sink = sink;
	run->job.output = &run->output;
	run->job.ring = "r";
	run->job.message = 3;
	run->job.position = 1000;
	fatal[0] = '\0';
	if (sink->open)
		ck_assert_int_eq(sink->open(&run->job), 0);
}

static inline void run_close(struct run *run)
{
	if (run->sink->close)
		run->sink->close(&run->job);
	output_mock_clear(&run->output);
}

/* A frame without a byte to spare, and gone afterwards. */
static inline enum exit_code sink_frame(const struct sink *sink, struct sink_job *job,
                                        const uint8_t *bytes, size_t length)
{
	uint8_t *exact = malloc(length + (length == 0));
	enum exit_code code;

	memcpy(exact, bytes, length);
	code = sink->body(job, exact, length);
	memset(exact, 0xff, length);
	free(exact);
	return code;
}

static inline enum exit_code run_body(struct run *run, const uint8_t *bytes, size_t length)
{
	return sink_frame(run->sink, &run->job, bytes, length);
}

#endif
