/*
 * json_keys.h - a table's columns as keys: each row becomes a JSON object.
 */
#ifndef SLUICE_JSON_KEYS_H
#define SLUICE_JSON_KEYS_H

#include <stdint.h>

#include "shared/columns.h"

struct json_keys {
	uint64_t count;                /* 0: there are none */
	uint64_t next;                 /* the next item's */
	uint32_t *ends;                /* of each in `text` */
	char *text;                    /* all of them: "name":"other":... */
};

/* Returns 0; -ENOMEM; -EEXIST two columns have one name. */
int json_keys_make(struct json_keys *keys, const struct columns *columns);

/* Free them; there are none then. */
void json_keys_clear(struct json_keys *keys);

/* The next key, with its colon.  Length 0: there is none. */
static inline const char *json_keys_text(const struct json_keys *keys)
{
	return keys->text + (keys->next > 0 ? keys->ends[keys->next - 1] : 0);
}

static inline size_t json_keys_length(const struct json_keys *keys)
{
	if (keys->next >= keys->count)
		return 0;
	return keys->ends[keys->next] - (keys->next > 0 ? keys->ends[keys->next - 1] : 0);
}

#endif
