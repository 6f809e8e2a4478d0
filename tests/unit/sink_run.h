/*
 * sink_run.h - bodies through a sink: whole, and with a frame for each token.
 * To be included once in a program, which names the sink's sources.
 */
#ifndef SLUICE_SINK_RUN_H
#define SLUICE_SINK_RUN_H

#include <check.h>

#include "shared/cbor_walk.h"
#include "tests/unit/sink_steps.h"

/* Digits, and what is in quotes as it stands; blanks do not count. */
static size_t sink_run_bytes(const char *hex, uint8_t *out)
{
	size_t length = 0;

	while (*hex != '\0') {
		if (*hex == ' ') {
			hex++;
		} else if (*hex == '"') {
			for (hex++; *hex != '"'; hex++)
				out[length++] = (uint8_t)*hex;
			hex++;
		} else {
			char digits[3] = { hex[0], hex[1], '\0' };

			out[length++] = (uint8_t)strtoul(digits, NULL, 16);
			hex += 2;
		}
	}
	return length;
}

struct sink_run {
	struct output output;
	enum exit_code code;
};

static void sink_run(struct sink_run *run, const struct sink *sink, const struct message_header *header,
                     const uint8_t *bytes, size_t length, bool split)
{
	static const struct message_header none;
	struct sink_job job = { .output = &run->output, .message = 3, .position = 1000, .ring = "r" };
	struct cbor_walker walker;
	struct cbor_token token = { .size = length };

	memset(run, 0, sizeof(*run));
	fatal[0] = '\0';
	cbor_walker_init(&walker);
	ck_assert_int_eq(sink->open(&job), 0);
	run->code = sink->begin(&job, header != NULL ? header : &none);
	for (size_t at = 0; at < length && run->code == EXIT_COMPLETE; at += token.size) {
		/* What is ill-formed comes in one piece. */
		if (!split || cbor_walk(&walker, bytes + at, length - at, &token) != 1)
			token.size = length - at;
		run->code = sink_frame(sink, &job, bytes + at, token.size);
	}
	if (run->code == EXIT_COMPLETE)
		run->code = sink->finish(&job, true);
	sink->close(&job);
}

/* Both ways the same. */
static void sink_must_give(const struct sink *sink, const struct message_header *header,
                           const char *hex, const void *expected, size_t size)
{
	static uint8_t bytes[256u << 10];
	size_t length = sink_run_bytes(hex, bytes);

	for (int split = 0; split < 2; split++) {
		struct sink_run run;

		sink_run(&run, sink, header, bytes, length, split);
		ck_assert_msg(run.code == EXIT_COMPLETE, "%s: %s", hex, fatal);
		ck_assert_msg(run.output.length == size && (size == 0 || memcmp(run.output.bytes, expected, size) == 0),
		              "%s: \"%.*s\" is not \"%.*s\"", hex, (int)run.output.length,
		              run.output.bytes ? run.output.bytes : "", (int)size, (const char *)expected);
		output_mock_clear(&run.output);
	}
}

static void sink_must_refuse(const struct sink *sink, const struct message_header *header,
                             const char *hex, const char *why)
{
	static uint8_t bytes[256u << 10];
	size_t length = sink_run_bytes(hex, bytes);

	for (int split = 0; split < 2; split++) {
		struct sink_run run;

		sink_run(&run, sink, header, bytes, length, split);
		ck_assert_msg(run.code == EXIT_BAD_DATA, "%s: %d, %s", hex, run.code, fatal);
		ck_assert_msg(strstr(fatal, why) != NULL, "%s: \"%s\" does not say \"%s\"", hex, fatal, why);
		output_mock_clear(&run.output);
	}
}

#endif
