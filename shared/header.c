/*
 * header.c - see header.h.
 */
#include "shared/header.h"

#include <errno.h>
#include <string.h>

#include <cbor.h>

#include "shared/cbor_put.h"
#include "shared/cbor_walk.h"

#define HEAD_MAX 9                     /* bytes of a CBOR head */

static size_t put_text(uint8_t *out, const char *text)
{
	size_t length = strlen(text);
	size_t head = cbor_encode_string_start(length, out, HEAD_MAX);

	memcpy(out + head, text, length);
	return head + length;
}

size_t header_encode(const struct message_header *header, uint8_t *out)
{
	size_t pairs = (size_t)header->has_name + header->has_type + header->has_size;
	size_t used = cbor_encode_map_start(pairs, out, HEAD_MAX);

	if (header->has_name) {
		used += put_text(out + used, "name");
		used += put_text(out + used, header->name);
	}
	if (header->has_type) {
		used += put_text(out + used, "type");
		used += put_text(out + used, header->type);
	}
	if (header->has_size) {
		used += put_text(out + used, "size");
		used += cbor_encode_uint(header->size, out + used, HEAD_MAX);
	}
	return used;
}

size_t header_add(uint8_t *out, size_t length, const char *key, bool text, const void *bytes,
                  size_t bytes_length)
{
	uint8_t *end = out + length;

	out[0]++;                      /* a map of so many pairs */
	end += put_text(end, key);
	end = cbor_put_head(end, text ? CBOR_BYTE_TEXT : CBOR_BYTE_BYTES, bytes_length);
	memcpy(end, bytes, bytes_length);
	return (size_t)(end - out) + bytes_length;
}

/* ---- decoding ----------------------------------------------------------- */

enum field {
	FIELD_UNKNOWN,
	FIELD_NAME,
	FIELD_TYPE,
	FIELD_SIZE,
};

static enum field field_of(const struct cbor_token *key)
{
	static const struct {
		char name[8];
		enum field field;
	} fields[] = {
		{ "name", FIELD_NAME },
		{ "type", FIELD_TYPE },
		{ "size", FIELD_SIZE },
	};

	if (key->kind != CBOR_TEXT)
		return FIELD_UNKNOWN;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (key->length == strlen(fields[i].name) &&
		    memcmp(key->data, fields[i].name, key->length) == 0)
			return fields[i].field;
	return FIELD_UNKNOWN;
}

static int take_text(const struct cbor_token *value, bool *has, char *text)
{
	if (value->kind != CBOR_TEXT || *has || value->length >= HEADER_TEXT_MAX ||
	    memchr(value->data, 0, value->length))
		return -EBADMSG;
	memcpy(text, value->data, value->length);
	text[value->length] = '\0';
	*has = true;
	return 0;
}

static int take_field(struct message_header *header, enum field field,
                      const struct cbor_token *value)
{
	switch (field) {
	case FIELD_NAME:
		return take_text(value, &header->has_name, header->name);
	case FIELD_TYPE:
		return take_text(value, &header->has_type, header->type);
	case FIELD_SIZE:
		if (value->kind != CBOR_UNSIGNED || header->has_size)
			return -EBADMSG;
		header->size = value->number;
		header->has_size = true;
		return 0;
	default:
		return 0;
	}
}

int header_decode(const uint8_t *bytes, size_t length, struct message_header *header)
{
	struct cbor_walker walker;
	struct cbor_token token;
	enum field field = FIELD_UNKNOWN;
	size_t at = 0;

	header->has_name = header->has_type = header->has_size = false;
	header->name[0] = header->type[0] = '\0';
	header->size = 0;
	header->encoded = bytes;
	header->encoded_length = length;
	if (!bytes)
		return 0;

	cbor_walker_init(&walker);
	do {
		/* A key or a value begins, not a part of one. */
		bool begins = walker.depth == 1;
		bool value = begins && walker.levels[1].odd;

		if (cbor_walk(&walker, bytes + at, length - at, &token) != 1)
			return -EBADMSG;
		if (at == 0 && token.kind != CBOR_MAP)
			return -EBADMSG;
		if (begins && token.kind != CBOR_BREAK) {
			if (!value)
				field = field_of(&token);
			else if (take_field(header, field, &token) < 0)
				return -EBADMSG;
		}
		at += token.size;
	} while (!cbor_walker_idle(&walker));
	return at == length ? 0 : -EBADMSG;
}

const uint8_t *header_find(const struct message_header *header, const char *key, bool text,
                           size_t *length)
{
	struct cbor_walker walker;
	struct cbor_token token;
	bool found = false;

	cbor_walker_init(&walker);
	for (size_t at = 0; at < header->encoded_length; at += token.size) {
		bool begins = walker.depth == 1;
		bool value = begins && walker.levels[1].odd;

		if (cbor_walk(&walker, header->encoded + at, header->encoded_length - at, &token) != 1)
			return NULL;
		if (value && found) {
			*length = token.length;
			return token.kind == (text ? CBOR_TEXT : CBOR_BYTES) ? token.data : NULL;
		}
		if (begins && !value)
			found = token.kind == CBOR_TEXT && token.length == strlen(key) &&
			        memcmp(token.data, key, token.length) == 0;
	}
	return NULL;
}
