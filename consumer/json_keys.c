/*
 * json_keys.c - see json_keys.h.
 */
#include "consumer/json_keys.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/text_out.h"

#define ESCAPE_MAX 6                   /* \u001f */
#define AROUND 3                       /* two quotes, a colon */

void json_keys_clear(struct json_keys *keys)
{
	free(keys->ends);
	free(keys->text);
	*keys = (struct json_keys){ .count = 0 };
}

static void keys_write(struct json_keys *keys, const struct columns *columns)
{
	char *out = keys->text;
	const uint8_t *name;
	size_t at = 0, length;

	while ((name = columns_next(columns, &at, &length)) != NULL) {
		*out++ = '"';
		out = text_put_escaped(out, name, length);
		*out++ = '"';
		*out++ = ':';
		keys->ends[keys->count++] = (uint32_t)(out - keys->text);
	}
}

static int texts_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Does a key occur twice?  `texts` has room for all of them, `copy` is the text
 * with a NUL in place of each colon between two keys. */
static bool has_twins(const struct json_keys *keys, char **texts, char *copy)
{
	for (uint64_t i = 0; i < keys->count; i++) {
		texts[i] = copy + (i > 0 ? keys->ends[i - 1] : 0);
		copy[keys->ends[i] - 1] = '\0';
	}
	qsort(texts, keys->count, sizeof(*texts), texts_compare);
	for (uint64_t i = 1; i < keys->count; i++)
		if (strcmp(texts[i - 1], texts[i]) == 0)
			return true;
	return false;
}

int json_keys_make(struct json_keys *keys, const struct columns *columns)
{
	size_t most = columns->length * ESCAPE_MAX + columns->count * AROUND + 1;
	char *copy = NULL, **texts = NULL;
	int error = -ENOMEM;

	json_keys_clear(keys);
	if (columns->names == NULL)
		return 0;
	keys->ends = calloc(columns->count, sizeof(*keys->ends));
	keys->text = malloc(most);
	texts = calloc(columns->count, sizeof(*texts));
	copy = malloc(most);
	if (keys->ends && keys->text && texts && copy) {
		keys_write(keys, columns);
		memcpy(copy, keys->text, keys->ends[keys->count - 1]);
		error = has_twins(keys, texts, copy) ? -EEXIST : 0;
	}
	free(copy);
	free(texts);
	if (error != 0)
		json_keys_clear(keys);
	return error;
}
