/*
 * sink_json_npy.c - JSON of NumPy arrays, a line for each.
 *
 *   numbers, row after row         [[1,2,3],[4,5,6]]
 *   without dimensions             1.5
 *   bool                           [true,false]
 *   complex                        [[re,im],[re,im]]
 *   NaN, infinities                {"$float":"NaN"}, as elsewhere
 *   numbers, column after column   {"shape":[2,3],"order":"F","data":[1,4,2,5,3,6]}
 *   any other type                 {"dtype":"|S3","shape":[2],"order":"C","data":"..."}
 *
 * Rows of an array that comes column after column are not to be had in fixed
 * memory; so its numbers come as they lie, with the shape beside them.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/array_body.h"
#include "consumer/sink.h"
#include "consumer/sink_fault.h"
#include "consumer/text_out.h"
#include "shared/decimal.h"
#include "shared/log.h"

#define ITEM_MAX 16u                   /* bytes of a number */
#define ITEM_TEXT_MAX 128u             /* of its text */
#define EMPTY_ROWS_MAX 65536u          /* more of them are not written out */

enum form {
	FORM_NESTED,
	FORM_FLAT,             /* a map with the numbers as they lie */
	FORM_BYTES,            /* a map with base64 */
};

struct json_state {
	struct text_out text;
	struct cbor_walker walker;
	struct array_body body;
	enum form form;
	bool begun;                            /* the line has something in it */
	uint64_t place[NPY_DIMENSIONS_MAX];    /* of the next number */
	uint32_t levels;                       /* of brackets: 1 if flat */
	uint64_t lengths[NPY_DIMENSIONS_MAX];
	uint64_t left;                         /* numbers still to come */
	uint8_t cut[ITEM_MAX];                 /* the first bytes of a number that was cut */
	size_t cut_length;
	struct base64 base64;
};

static int json_open(struct sink_job *job)
{
	job->state = malloc(sizeof(struct json_state));
	return job->state ? 0 : -ENOMEM;
}

static void json_close(struct sink_job *job)
{
	free(job->state);
}

static enum exit_code json_begin(struct sink_job *job, const struct message_header *header)
{
	struct json_state *state = job->state;

	(void)header;
	cbor_walker_init(&state->walker);
	array_body_init(&state->body);
	state->begun = false;
	state->cut_length = 0;
	state->base64.count = 0;
	return EXIT_COMPLETE;
}

static enum exit_code refuse(const struct sink_job *job, const char *why)
{
	if (sink_is_torn(job))
		return EXIT_INCOMPLETE;
	log_fatal("ring \"%s\": message %llu %s; use --format cbor or diag", job->ring,
	          (unsigned long long)job->message, why);
	return EXIT_BAD_DATA;
}

/* ---- numbers -------------------------------------------------------------------- */

static uint64_t load(const uint8_t *bytes, size_t size, bool big_endian)
{
	bool swap = big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	uint64_t word;
	uint32_t half;
	uint16_t quarter;

	switch (size) {
	case 1:
		return *bytes;
	case 2:
		memcpy(&quarter, bytes, sizeof(quarter));
		return swap ? __builtin_bswap16(quarter) : quarter;
	case 4:
		memcpy(&half, bytes, sizeof(half));
		return swap ? __builtin_bswap32(half) : half;
	default:
		memcpy(&word, bytes, sizeof(word));
		return swap ? __builtin_bswap64(word) : word;
	}
}

static double half_to_double(uint64_t bits)
{
	unsigned exponent = bits >> 10 & 0x1f;
	double fraction = (double)(bits & 0x3ff), value;

	if (exponent == 0)
		value = ldexp(fraction, -24);
	else if (exponent == 31)
		value = fraction == 0 ? INFINITY : NAN;
	else
		value = ldexp(fraction + 1024, (int)exponent - 25);
	return bits & 0x8000 ? -value : value;
}

static double to_double(uint64_t bits, size_t size)
{
	uint32_t narrow = (uint32_t)bits;
	double value;
	float single;

	if (size == 2)
		return half_to_double(bits);
	if (size == 4) {
		memcpy(&single, &narrow, sizeof(single));
		return single;
	}
	memcpy(&value, &bits, sizeof(value));
	return value;
}

static char *put_text(char *out, const char *text)
{
	size_t length = strlen(text);

	memcpy(out, text, length);
	return out + length;
}

static char *put_float(char *out, uint64_t bits, size_t size)
{
	double value = to_double(bits, size);

	if (isfinite(value))
		return out + decimal_from_double(value, out);
	if (isnan(value))
		return put_text(out, "{\"$float\":\"NaN\"}");
	return put_text(out, value < 0 ? "{\"$float\":\"-Infinity\"}" : "{\"$float\":\"Infinity\"}");
}

static char *put_signed(char *out, uint64_t bits, size_t size)
{
	int64_t value = (int64_t)(bits << (64 - 8 * size)) >> (64 - 8 * size);

	return value < 0 ? text_put_negative(out, ~(uint64_t)value)
	                 : text_put_number(out, (uint64_t)value);
}

static char *put_complex(char *out, const uint8_t *bytes, const struct npy_header *header)
{
	size_t half = header->item_size / 2;

	*out++ = '[';
	out = put_float(out, load(bytes, half, header->big_endian), half);
	*out++ = ',';
	out = put_float(out, load(bytes + half, half, header->big_endian), half);
	*out++ = ']';
	return out;
}

/* Returns the text's end. */
static inline char *put_number(char *out, const uint8_t *bytes, const struct npy_header *header)
{
	size_t size = header->item_size;

	switch (header->kind) {
	case NPY_SIGNED:
		return put_signed(out, load(bytes, size, header->big_endian), size);
	case NPY_UNSIGNED:
		return text_put_number(out, load(bytes, size, header->big_endian));
	case NPY_FLOAT:
		return put_float(out, load(bytes, size, header->big_endian), size);
	case NPY_COMPLEX:
		return put_complex(out, bytes, header);
	default:
		return put_text(out, *bytes ? "true" : "false");
	}
}

/* ---- brackets --------------------------------------------------------------------- */

static void put_repeated(struct text_out *text, char character, uint32_t count)
{
	memset(text->next, character, count);
	text->next += count;
}

/* A row is complete: close it and those that end with it, and open the next. */
static void row_end(struct json_state *state)
{
	struct text_out *text = &state->text;
	uint32_t level = state->levels;

	text_out_need(text, 2 * NPY_DIMENSIONS_MAX + 1);
	while (level > 0 && state->place[level - 1] == state->lengths[level - 1]) {
		state->place[level - 1] = 0;
		text_out_char(text, ']');
		level--;
		if (level > 0)
			state->place[level - 1]++;
	}
	if (level == 0)
		return;
	text_out_char(text, ',');
	put_repeated(text, '[', state->levels - level);
}

/* `count` whole numbers, all of them expected. */
static void numbers_put(struct json_state *state, const uint8_t *bytes, uint64_t count)
{
	const struct npy_header *header = &state->body.header;
	struct text_out *text = &state->text;
	uint64_t *place = &state->place[state->levels > 0 ? state->levels - 1 : 0];
	uint64_t length = state->levels > 0 ? state->lengths[state->levels - 1] : 1;

	state->left -= count;
	for (; count > 0; count--) {
		text_out_need(text, ITEM_TEXT_MAX);
		text->next = put_number(text->next, bytes, header);
		bytes += header->item_size;
		if (++*place < length)
			text_out_char(text, ',');
		else
			row_end(state);
	}
}

/* Bytes of data, cut anywhere. */
static void data_put(struct json_state *state, const uint8_t *bytes, size_t length)
{
	size_t size = state->body.header.item_size, taken;

	if (state->cut_length > 0) {
		taken = size - state->cut_length < length ? size - state->cut_length : length;
		memcpy(state->cut + state->cut_length, bytes, taken);
		state->cut_length += taken;
		bytes += taken;
		length -= taken;
		if (state->cut_length < size)
			return;
		numbers_put(state, state->cut, 1);
		state->cut_length = 0;
	}
	numbers_put(state, bytes, length / size);
	state->cut_length = length % size;
	memcpy(state->cut, bytes + length - state->cut_length, state->cut_length);
}

/* ---- beginning and end of an array --------------------------------------------------- */

/* Does it matter which dimension varies fastest? */
static bool order_matters(const struct npy_header *header)
{
	unsigned longer = 0;

	for (uint32_t i = 0; i < header->dimensions; i++)
		longer += header->shape[i] != 1;
	return longer > 1 && header->elements > 0;
}

/* How many pairs of brackets an array without elements has, about; it is at
 * least `limit` if that is too many. */
static uint64_t empty_rows(const struct npy_header *header, uint64_t limit)
{
	uint64_t rows = 1;

	for (uint32_t i = 0; i < header->dimensions && header->shape[i] != 0; i++) {
		if (header->shape[i] >= limit || rows >= limit)
			return limit;
		rows *= header->shape[i];
	}
	return rows;
}

static enum form form_of(const struct npy_header *header)
{
	if (header->kind == NPY_OTHER)
		return FORM_BYTES;
	if (header->elements == 0)
		return empty_rows(header, EMPTY_ROWS_MAX) < EMPTY_ROWS_MAX ? FORM_NESTED : FORM_FLAT;
	return header->fortran && order_matters(header) ? FORM_FLAT : FORM_NESTED;
}

static void put_shape_and_order(struct text_out *text, const struct npy_header *header)
{
	text_out_need(text, 64 + NPY_DIMENSIONS_MAX * (TEXT_OUT_NUMBER_MAX + 1));
	text_out_string(text, "\"shape\":[");
	for (uint32_t i = 0; i < header->dimensions; i++) {
		if (i > 0)
			text_out_char(text, ',');
		text->next = text_put_number(text->next, header->shape[i]);
	}
	text_out_string(text, header->fortran ? "],\"order\":\"F\",\"data\":"
	                                      : "],\"order\":\"C\",\"data\":");
}

/* Rows of nothing: as a nested array, but its innermost rows are empty. */
static void empty_put(struct json_state *state)
{
	const struct npy_header *header = &state->body.header;
	struct text_out *text = &state->text;
	uint64_t rows = empty_rows(header, EMPTY_ROWS_MAX);

	state->levels = 0;
	while (header->shape[state->levels] != 0) {
		state->lengths[state->levels] = header->shape[state->levels];
		state->levels++;
	}
	put_repeated(text, '[', state->levels);
	for (; rows > 0; rows--) {
		text_out_need(text, ITEM_TEXT_MAX);
		text_out_string(text, "[]");
		if (state->levels == 0)
			break;
		if (++state->place[state->levels - 1] < state->lengths[state->levels - 1])
			text_out_char(text, ',');
		else
			row_end(state);
	}
}

static void array_begin(struct json_state *state)
{
	const struct npy_header *header = &state->body.header;
	struct text_out *text = &state->text;

	state->begun = true;
	state->form = form_of(header);
	state->left = header->elements;
	memset(state->place, 0, sizeof(state->place));
	text_out_need(text, ITEM_TEXT_MAX);
	if (state->form == FORM_BYTES) {
		text_out_string(text, "{\"dtype\":\"");
		text->readable = (const uint8_t *)header->descr + header->descr_length;
		text_out_escaped(text, (const uint8_t *)header->descr, header->descr_length, false);
		text_out_need(text, ITEM_TEXT_MAX);
		text_out_string(text, "\",");
		put_shape_and_order(text, header);
		text_out_char(text, '"');
	} else if (state->form == FORM_FLAT) {
		text_out_char(text, '{');
		put_shape_and_order(text, header);
		text_out_char(text, '[');
		state->levels = 1;
		state->lengths[0] = UINT64_MAX;
		if (header->elements > 0)
			state->lengths[0] = header->elements;
		else
			text_out_char(text, ']');
	} else if (header->elements == 0) {
		empty_put(state);
	} else {
		state->levels = header->dimensions;
		memcpy(state->lengths, header->shape, sizeof(header->shape));
		put_repeated(text, '[', state->levels);
	}
}

static void array_end(struct json_state *state)
{
	struct text_out *text = &state->text;

	if (state->form == FORM_BYTES)
		text_out_base64_finish(text, &state->base64);
	text_out_need(text, ITEM_TEXT_MAX);
	if (state->form == FORM_BYTES)
		text_out_string(text, "\"}");
	else if (state->form == FORM_FLAT)
		text_out_char(text, '}');
	text_out_char(text, '\n');
}

/* A bool is a byte, and may be neither; JSON would lose that. */
static bool bools_are_good(const struct json_state *state, const uint8_t *bytes, size_t length)
{
	uint8_t all = 0;

	if (state->body.header.kind != NPY_BOOL)
		return true;
	for (size_t i = 0; i < length; i++)
		all |= bytes[i];
	return all <= 1;
}

static enum exit_code token_take(struct sink_job *job, const struct cbor_token *token,
                                 const uint8_t *readable)
{
	struct json_state *state = job->state;
	enum array_event event = array_body_take(&state->body, token, &state->walker);

	if (event == ARRAY_MORE)
		return EXIT_COMPLETE;
	if (event == ARRAY_NOT)
		return refuse(job, state->body.fault);
	if (event == ARRAY_BEGIN) {
		array_begin(state);
		state->text.readable = readable;
	}
	if (token->kind != CBOR_BYTES)
		return EXIT_COMPLETE;
	if (!bools_are_good(state, token->data, token->length))
		return refuse(job, "has a bool that is neither 0 nor 1, which JSON would lose");
	if (state->form == FORM_BYTES)
		text_out_base64(&state->text, &state->base64, token->data, token->length);
	else
		data_put(state, token->data, token->length);
	return EXIT_COMPLETE;
}

static enum exit_code json_body(struct sink_job *job, const uint8_t *bytes, size_t length)
{
	struct json_state *state = job->state;
	enum exit_code code = EXIT_COMPLETE;
	struct cbor_token token;

	text_out_begin(&state->text, job->output, bytes + length);
	for (size_t at = 0; at < length && code == EXIT_COMPLETE; at += token.size) {
		int outcome = cbor_walk(&state->walker, bytes + at, length - at, &token);

		if (outcome != 1)
			code = sink_ill_formed(job, at, outcome);
		else
			code = token_take(job, &token, bytes + length);
		if (outcome != 1)
			break;
	}
	/* With the last token, unless there is less than all: npy_finish says so. */
	if (code == EXIT_COMPLETE && cbor_walker_idle(&state->walker) && state->begun &&
	    array_body_finish(&state->body) == NULL) {
		array_end(state);
		state->begun = false;
	}
	text_out_end(&state->text);
	return code;
}

static enum exit_code json_finish(struct sink_job *job, bool complete)
{
	const struct json_state *state = job->state;
	const char *why;

	if (state->begun)
		output_write(job->output, "\n", 1);
	if (!complete)
		return EXIT_COMPLETE;
	if (!cbor_walker_idle(&state->walker))
		return sink_ended_early(job);
	why = array_body_finish(&state->body);
	return why == NULL ? EXIT_COMPLETE : refuse(job, why);
}

const struct sink sink_json_npy = {
	.name = "json",
	.open = json_open,
	.close = json_close,
	.begin = json_begin,
	.body = json_body,
	.finish = json_finish,
};
