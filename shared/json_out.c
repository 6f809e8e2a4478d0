/* json_out.c - a small JSON object in a file. */
#include "shared/json_out.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "shared/temporary.h"
#include "shared/utf8.h"

static void put_string(FILE *file, const char *text)
{
	const uint8_t *bytes = (const uint8_t *)text;
	size_t length = strlen(text);

	fputc('"', file);
	while (length > 0) {
		size_t good = utf8_valid(bytes, length);

		for (size_t i = 0; i < good; i++) {
			if (bytes[i] == '"' || bytes[i] == '\\')
				fprintf(file, "\\%c", bytes[i]);
			else if (bytes[i] < ' ')
				fprintf(file, "\\u%04x", bytes[i]);
			else
				fputc(bytes[i], file);
		}
		bytes += good;
		length -= good;
		if (length > 0) {          /* a file name need not be UTF-8 */
			fputs("\\ufffd", file);
			bytes++;
			length--;
		}
	}
	fputc('"', file);
}

static void put_key(struct json_out *out, const char *key)
{
	if (!out->first)
		fputc(',', out->file);
	out->first = false;
	if (key == NULL)
		return;
	put_string(out->file, key);
	fputc(':', out->file);
}

void json_out_text(struct json_out *out, const char *key, const char *text)
{
	put_key(out, key);
	put_string(out->file, text);
}

void json_out_number(struct json_out *out, const char *key, uint64_t number)
{
	put_key(out, key);
	fprintf(out->file, "%" PRIu64, number);
}

void json_out_seconds(struct json_out *out, const char *key, uint64_t ns)
{
	put_key(out, key);
	fprintf(out->file, "%" PRIu64 ".%06" PRIu64, ns / 1000000000u, ns / 1000 % 1000000u);
}

void json_out_bool(struct json_out *out, const char *key, bool value)
{
	put_key(out, key);
	fputs(value ? "true" : "false", out->file);
}

void json_out_peak_memory(struct json_out *out, const char *key)
{
	FILE *status = fopen("/proc/self/status", "re");
	uint64_t kib = 0;
	char line[256];

	while (status != NULL && fgets(line, sizeof line, status) != NULL)
		if (sscanf(line, "VmHWM: %" SCNu64, &kib) == 1)
			break;
	if (status != NULL)
		fclose(status);
	json_out_number(out, key, kib);
}

void json_out_open(struct json_out *out, const char *key, char open)
{
	put_key(out, key);
	fputc(open, out->file);
	out->first = true;
}

void json_out_close(struct json_out *out, char close)
{
	fputc(close, out->file);
	out->first = false;
}

int json_out_begin(struct json_out *out, const char *path)
{
	int fd = temporary_open(path, true, out->temporary);

	if (fd < 0)
		return fd;
	out->file = fdopen(fd, "w");
	if (out->file == NULL) {
		close(fd);
		return -ENOMEM;
	}
	out->first = true;
	fputc('{', out->file);
	return 0;
}

int json_out_end(struct json_out *out, const char *path)
{
	bool bad;
	int error = 0;

	fputs("}\n", out->file);
	bad = fflush(out->file) != 0 || ferror(out->file) != 0;
	if (fclose(out->file) != 0 || bad)
		error = -EIO;
	if (out->temporary[0] == '\0')
		return error;
	if (error == 0 && rename(out->temporary, path) != 0)
		error = -errno;
	if (error != 0)
		unlink(out->temporary);
	return error;
}
