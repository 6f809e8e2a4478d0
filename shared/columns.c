/*
 * columns.c - see columns.h.
 */
#include "shared/columns.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "shared/cbor_put.h"
#include "shared/cbor_walk.h"

static const char names_key[] = "columns", delimiter_key[] = "delimiter", quote_key[] = "quote";

size_t columns_add(const struct columns *columns, uint8_t *header, size_t length)
{
	uint8_t *end = header + length;

	if (columns->names != NULL) {
		header[0]++;           /* a map of so many pairs: few */
		end = cbor_put_head(end, CBOR_BYTE_TEXT, sizeof(names_key) - 1);
		memcpy(end, names_key, sizeof(names_key) - 1);
		end += sizeof(names_key) - 1;
		memcpy(end, columns->names, columns->length);
		end += columns->length;
	}
	length = (size_t)(end - header);
	if (columns->delimiter != ',')
		length = header_add(header, length, delimiter_key, true, &columns->delimiter, 1);
	if (columns->quote != '"')
		length = header_add(header, length, quote_key, true, &columns->quote, columns->quote != '\0');
	return length;
}

/* ---- finding --------------------------------------------------------------- */

/* The value of a member: *at is behind its key.  The walker says where it ends. */
static int names_take(struct columns *columns, struct cbor_walker *walker, const uint8_t *bytes,
                      size_t length, size_t *at)
{
	size_t start = *at;
	struct cbor_token token;

	if (columns->names != NULL)
		return -EBADMSG;
	if (cbor_walk(walker, bytes + *at, length - *at, &token) != 1 || token.kind != CBOR_ARRAY ||
	    token.indefinite || token.number == 0)
		return -EBADMSG;
	columns->count = token.number;
	*at += token.size;
	while (walker->depth > 1) {
		if (cbor_walk(walker, bytes + *at, length - *at, &token) != 1 || token.kind != CBOR_TEXT)
			return -EBADMSG;
		*at += token.size;
	}
	columns->names = bytes + start;
	columns->length = *at - start;
	return columns->length <= COLUMNS_MAX ? 0 : -EBADMSG;
}

/* A byte that can be one: a reader must be able to tell it from line ends. */
static int byte_take(const struct cbor_token *value, bool may_lack, char *byte)
{
	if (value->kind != CBOR_TEXT || value->length > 1 || (value->length == 0 && !may_lack))
		return -EBADMSG;
	*byte = value->length > 0 ? (char)value->data[0] : '\0';
	return *byte == '\n' || *byte == '\r' || (*byte == '\0' && value->length > 0) ? -EBADMSG : 0;
}

static bool is_key(const struct cbor_token *key, const char *name)
{
	return key->kind == CBOR_TEXT && key->length == strlen(name) &&
	       memcmp(key->data, name, key->length) == 0;
}

int columns_find(const struct message_header *header, struct columns *columns)
{
	const uint8_t *bytes = header->encoded;
	size_t length = header->encoded_length, at = 0;
	struct cbor_walker walker;
	struct cbor_token key, value;
	int error = 0;

	*columns = (struct columns){ .delimiter = ',', .quote = '"' };
	if (bytes == NULL || !header->has_type || strcmp(header->type, "csv") != 0)
		return 0;
	cbor_walker_init(&walker);
	while (at < length && error == 0) {
		bool begins = walker.depth == 1 && !walker.levels[1].odd;

		if (cbor_walk(&walker, bytes + at, length - at, &key) != 1)
			return -EBADMSG;
		at += key.size;
		if (!begins || key.kind != CBOR_TEXT)
			continue;
		if (is_key(&key, names_key)) {
			error = names_take(columns, &walker, bytes, length, &at);
		} else if (is_key(&key, delimiter_key) || is_key(&key, quote_key)) {
			bool quote = key.length == sizeof(quote_key) - 1;

			if (cbor_walk(&walker, bytes + at, length - at, &value) != 1)
				return -EBADMSG;
			at += value.size;
			error = byte_take(&value, quote, quote ? &columns->quote : &columns->delimiter);
		}
	}
	return error != 0 || columns->delimiter == columns->quote ? -EBADMSG : 0;
}

const uint8_t *columns_next(const struct columns *columns, size_t *at, size_t *length)
{
	struct cbor_walker walker;
	struct cbor_token token;

	if (columns->names == NULL)
		return NULL;
	cbor_walker_init(&walker);
	if (*at == 0) {
		if (cbor_walk(&walker, columns->names, columns->length, &token) != 1)
			return NULL;
		*at = token.size;
		cbor_walker_init(&walker);
	}
	if (*at >= columns->length ||
	    cbor_walk(&walker, columns->names + *at, columns->length - *at, &token) != 1)
		return NULL;
	*at += token.size;
	*length = token.length;
	return token.data;
}
