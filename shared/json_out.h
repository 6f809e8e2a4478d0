/*
 * json_out.h - a small JSON object in a file: accounts of a run.
 */
#ifndef SLUICE_JSON_OUT_H
#define SLUICE_JSON_OUT_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json_out {
	FILE *file;
	bool first;            /* no member yet at this level */
	char temporary[PATH_MAX];
};

/* Members of the object that is open; key NULL: an element of an array. */
void json_out_text(struct json_out *out, const char *key, const char *text);
void json_out_number(struct json_out *out, const char *key, uint64_t number);
void json_out_seconds(struct json_out *out, const char *key, uint64_t ns);
void json_out_bool(struct json_out *out, const char *key, bool value);

/* How much memory this process had resident at most, in KiB, since its program
 * began: getrusage(2) would count what the process was before. */
void json_out_peak_memory(struct json_out *out, const char *key);

/* open is '{' or '[', close its partner. */
void json_out_open(struct json_out *out, const char *key, char open);
void json_out_close(struct json_out *out, char close);

/* Begin an object in `path`, under a temporary name; a device or pipe is written
 * as it is.  0 or -errno. */
int json_out_begin(struct json_out *out, const char *path);

/* End it, and give it its name.  0 or -errno. */
int json_out_end(struct json_out *out, const char *path);

#endif
