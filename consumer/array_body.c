/*
 * array_body.c - see array_body.h.
 */
#include "consumer/array_body.h"

#include <string.h>

#include "shared/array_tag.h"

/* What comes next. */
enum state {
	EXPECT_ITEM,
	EXPECT_PAIR,           /* tag 40: the array of two */
	EXPECT_SHAPE,          /* its first item */
	IN_SHAPE,
	EXPECT_TYPED,          /* its second: a typed array's tag */
	EXPECT_DATA,           /* a byte string */
	IN_DATA,               /* its chunks */
	EXPECT_PAIR_END,       /* the array had no length */
	EXPECT_KEY_DTYPE,
	EXPECT_DTYPE,
	IN_DTYPE,
	EXPECT_KEY_SHAPE,
	EXPECT_MAP_SHAPE,
	IN_MAP_SHAPE,
	EXPECT_KEY_ORDER,
	EXPECT_ORDER,
	EXPECT_KEY_DATA,
	COMPLETE,
};

static const char not_an_array[] = "is not a typed array";

void array_body_init(struct array_body *body)
{
	memset(&body->header, 0, sizeof(body->header));
	body->fault = NULL;
	body->bytes = 0;
	body->state = EXPECT_ITEM;
	body->dimensioned = body->indefinite = false;
	body->dtype_length = 0;
}

static enum array_event refuse(struct array_body *body, const char *fault)
{
	body->fault = fault;
	return ARRAY_NOT;
}

static enum array_event next(struct array_body *body, enum state state)
{
	body->state = state;
	return ARRAY_MORE;
}

static bool is_text(const struct cbor_token *token, const char *text)
{
	return token->kind == CBOR_TEXT && !token->chunk && token->length == strlen(text) &&
	       memcmp(token->data, text, token->length) == 0;
}

/* ---- parts ------------------------------------------------------------------ */

static enum array_event take_item(struct array_body *body, const struct cbor_token *token)
{
	if (token->kind == CBOR_MAP && !token->indefinite && token->number == 4)
		return next(body, EXPECT_KEY_DTYPE);
	if (token->kind != CBOR_TAG)
		return refuse(body, not_an_array);
	if (token->number == ARRAY_TAG_ROW_MAJOR || token->number == ARRAY_TAG_COLUMN_MAJOR) {
		body->header.fortran = token->number == ARRAY_TAG_COLUMN_MAJOR;
		body->dimensioned = true;
		return next(body, EXPECT_PAIR);
	}
	if (!array_tag_parse(token->number, &body->header))
		return refuse(body, not_an_array);
	return next(body, EXPECT_DATA);
}

static enum array_event take_pair(struct array_body *body, const struct cbor_token *token)
{
	if (token->kind != CBOR_ARRAY || (!token->indefinite && token->number != 2))
		return refuse(body, not_an_array);
	body->indefinite = token->indefinite;
	return next(body, EXPECT_SHAPE);
}

/* The shape's array begins; it may be empty. */
static enum array_event take_shape(struct array_body *body, const struct cbor_token *token,
                                   enum state in, enum state after)
{
	if (token->kind != CBOR_ARRAY)
		return refuse(body, not_an_array);
	return next(body, !token->indefinite && token->number == 0 ? after : in);
}

static enum array_event take_dimension(struct array_body *body, const struct cbor_token *token,
                                       const struct cbor_walker *walker, enum state after)
{
	unsigned around = body->dimensioned ? 2 : 1;   /* the walker's depth behind the shape */

	if (token->kind == CBOR_BREAK)
		return next(body, after);
	if (token->kind != CBOR_UNSIGNED)
		return refuse(body, "has a shape that is no list of integers");
	if (body->header.dimensions == NPY_DIMENSIONS_MAX)
		return refuse(body, "has more than 64 dimensions");
	body->header.shape[body->header.dimensions++] = token->number;
	return walker->depth <= around ? next(body, after) : ARRAY_MORE;
}

static enum array_event take_typed(struct array_body *body, const struct cbor_token *token)
{
	if (token->kind != CBOR_TAG || !array_tag_parse(token->number, &body->header))
		return refuse(body, "holds elements of a kind that NumPy has not");
	return next(body, EXPECT_DATA);
}

static enum array_event dtype_complete(struct array_body *body)
{
	if (npy_descr_parse(body->dtype, body->dtype_length, &body->header) != NULL)
		return refuse(body, "has a dtype that cannot be read");
	return next(body, EXPECT_KEY_SHAPE);
}

static enum array_event take_dtype(struct array_body *body, const struct cbor_token *token)
{
	if (token->kind == CBOR_TEXT_START)
		return next(body, IN_DTYPE);
	if (token->kind == CBOR_BREAK)
		return dtype_complete(body);
	if (token->kind != CBOR_TEXT)
		return refuse(body, not_an_array);
	if (token->length > sizeof(body->dtype) - body->dtype_length)
		return refuse(body, "has a dtype that is too long");
	memcpy(body->dtype + body->dtype_length, token->data, token->length);
	body->dtype_length += token->length;
	return token->chunk ? ARRAY_MORE : dtype_complete(body);
}

static enum array_event take_order(struct array_body *body, const struct cbor_token *token)
{
	body->header.fortran = is_text(token, "F");
	if (!body->header.fortran && !is_text(token, "C"))
		return refuse(body, "has an order that is neither C nor F");
	return next(body, EXPECT_KEY_DATA);
}

static enum array_event take_key(struct array_body *body, const struct cbor_token *token,
                                 const char *key, enum state after)
{
	return is_text(token, key) ? next(body, after) : refuse(body, not_an_array);
}

/* ---- data -------------------------------------------------------------------- */

static void data_end(struct array_body *body)
{
	body->state = body->dimensioned && body->indefinite ? EXPECT_PAIR_END : COMPLETE;
}

/* A typed array without dimensions around it has one: its length. */
static bool bare_measure(struct array_body *body, const struct cbor_token *token)
{
	body->header.dimensions = 1;
	body->header.shape[0] = token->length / body->header.item_size;
	return token->length % body->header.item_size == 0;
}

static enum array_event data_begin(struct array_body *body, const struct cbor_token *token)
{
	bool bare = !body->dimensioned && body->dtype_length == 0;

	if (token->kind != CBOR_BYTES && token->kind != CBOR_BYTES_START)
		return refuse(body, not_an_array);
	if (bare && token->kind == CBOR_BYTES_START)
		return refuse(body, "is a typed array whose length is not known beforehand: tag 40 would tell it");
	if (bare && !bare_measure(body, token))
		return refuse(body, "has data that are no whole number of elements");
	if (!npy_header_measure(&body->header))
		return refuse(body, "has a shape that is too large");
	if (body->dtype_length == 0) {
		body->header.descr_length = npy_plain_descr(&body->header, body->dtype);
		body->header.descr = body->dtype;
	}
	body->state = IN_DATA;
	if (token->kind == CBOR_BYTES) {
		body->bytes = token->length;
		data_end(body);
	}
	if (body->bytes > body->header.data_size)
		return refuse(body, "has more data than its shape says");
	return ARRAY_BEGIN;
}

static enum array_event take_data(struct array_body *body, const struct cbor_token *token)
{
	if (token->kind == CBOR_BREAK) {
		data_end(body);
		return ARRAY_DATA;
	}
	body->bytes += token->length;
	if (body->bytes > body->header.data_size)
		return refuse(body, "has more data than its shape says");
	return ARRAY_DATA;
}

enum array_event array_body_take(struct array_body *body, const struct cbor_token *token,
                                 const struct cbor_walker *walker)
{
	switch ((enum state)body->state) {
	case EXPECT_ITEM:
		return take_item(body, token);
	case EXPECT_PAIR:
		return take_pair(body, token);
	case EXPECT_SHAPE:
		return take_shape(body, token, IN_SHAPE, EXPECT_TYPED);
	case IN_SHAPE:
		return take_dimension(body, token, walker, EXPECT_TYPED);
	case EXPECT_TYPED:
		return take_typed(body, token);
	case EXPECT_KEY_DTYPE:
		return take_key(body, token, "dtype", EXPECT_DTYPE);
	case EXPECT_DTYPE:
	case IN_DTYPE:
		return take_dtype(body, token);
	case EXPECT_KEY_SHAPE:
		return take_key(body, token, "shape", EXPECT_MAP_SHAPE);
	case EXPECT_MAP_SHAPE:
		return take_shape(body, token, IN_MAP_SHAPE, EXPECT_KEY_ORDER);
	case IN_MAP_SHAPE:
		return take_dimension(body, token, walker, EXPECT_KEY_ORDER);
	case EXPECT_KEY_ORDER:
		return take_key(body, token, "order", EXPECT_ORDER);
	case EXPECT_ORDER:
		return take_order(body, token);
	case EXPECT_KEY_DATA:
		return take_key(body, token, "data", EXPECT_DATA);
	case EXPECT_DATA:
		return data_begin(body, token);
	case IN_DATA:
		return take_data(body, token);
	case EXPECT_PAIR_END:
		if (token->kind != CBOR_BREAK)
			return refuse(body, not_an_array);
		body->state = COMPLETE;
		return ARRAY_MORE;
	case COMPLETE:
		break;
	}
	return refuse(body, "is more than one array");
}

const char *array_body_finish(const struct array_body *body)
{
	if (body->state != COMPLETE)
		return not_an_array;
	return body->bytes < body->header.data_size ? "has less data than its shape says" : NULL;
}
