/*
 * sink_mtx.c - Matrix Market files, of messages that are one matrix each:
 *
 *     {"object": "matrix", "format": "coordinate", "field": "real",
 *      "symmetry": "general", "comments": ["..."], "shape": [3, 3],
 *      "data": [[1, 1, 0.5], [3, 2, -0.001]]}
 *
 * The members have this order.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/json_number.h"
#include "consumer/sink.h"
#include "consumer/sink_fault.h"
#include "consumer/text_out.h"
#include "shared/cbor_walk.h"
#include "shared/log.h"
#include "shared/mtx_banner.h"

#define TOKEN_ROOM 128u                /* enough for every token but comments and gathered numbers */

/* What comes next. */
enum step {
	EXPECT_MAP,
	EXPECT_KEY,            /* of `member` */
	EXPECT_WORD,           /* its value, if it is a word */
	EXPECT_COMMENTS,
	IN_COMMENTS,
	IN_COMMENT,            /* a string without length */
	EXPECT_SHAPE,
	IN_SHAPE,
	EXPECT_DATA,
	EXPECT_ENTRY,
	IN_ENTRY,
	COMPLETE,
};

static const char *const members[] = {
	"object", "format", "field", "symmetry", "comments", "shape", "data",
};

#define WORDS 4u                       /* the first members are words */

struct mtx_state {
	struct text_out text;
	struct cbor_walker walker;
	enum step step;
	unsigned member;
	const char *fault;
	struct mtx_banner banner;
	uint64_t shape[2];
	unsigned dimensions;
	uint64_t entries;              /* still to come */
	unsigned indices, items;       /* of an entry; the first are indices */
	unsigned item;                 /* of the present entry: what comes next */
	struct json_number number;
};

static int mtx_open(struct sink_job *job)
{
	job->state = malloc(sizeof(struct mtx_state));
	return job->state ? 0 : -ENOMEM;
}

static void mtx_close(struct sink_job *job)
{
	free(job->state);
}

static enum exit_code mtx_begin(struct sink_job *job, const struct message_header *header)
{
	struct mtx_state *state = job->state;

	(void)header;
	cbor_walker_init(&state->walker);
	state->step = EXPECT_MAP;
	state->member = state->dimensions = 0;
	state->fault = NULL;
	state->number.step = JSON_NUMBER_NONE;
	return EXIT_COMPLETE;
}

static enum exit_code refuse(const struct sink_job *job, const char *why)
{
	if (sink_is_torn(job))
		return EXIT_INCOMPLETE;
	log_fatal("ring \"%s\": message %llu is no Matrix Market matrix: %s; use --format json, cbor or diag",
	          job->ring, (unsigned long long)job->message, why);
	return EXIT_BAD_DATA;
}

/* ---- the parts before the data ----------------------------------------------------- */

static bool is_text(const struct cbor_token *token, const char *text)
{
	return token->kind == CBOR_TEXT && !token->chunk && token->length == strlen(text) &&
	       memcmp(token->data, text, token->length) == 0;
}

static const char *take_key(struct mtx_state *state, const struct cbor_token *token)
{
	static const enum step steps[] = { EXPECT_COMMENTS, EXPECT_SHAPE, EXPECT_DATA };

	if (!is_text(token, members[state->member]))
		return "its members are others";
	state->step = state->member < WORDS ? EXPECT_WORD : steps[state->member - WORDS];
	return NULL;
}

static int word_of(const struct cbor_token *token, const char *const *words, int count)
{
	for (int i = 0; i < count; i++)
		if (is_text(token, words[i]))
			return i;
	return -1;
}

static const char *take_word(struct mtx_state *state, const struct cbor_token *token)
{
	static const char *const objects[] = { "matrix", "vector" }, *const formats[] = { "array", "coordinate" };
	static const struct {
		const char *const *words;
		int count;
	} choices[] = { { objects, 2 }, { formats, 2 }, { mtx_field_names, MTX_FIELDS },
	                { mtx_symmetry_names, MTX_SYMMETRIES } };
	int word = word_of(token, choices[state->member].words, choices[state->member].count);

	if (word < 0)
		return "a word that its banner cannot have";
	switch (state->member) {
	case 0:
		state->banner.vector = word == 1;
		break;
	case 1:
		state->banner.coordinate = word == 1;
		break;
	case 2:
		state->banner.field = (enum mtx_field)word;
		break;
	default:
		state->banner.symmetry = (enum mtx_symmetry)word;
		break;
	}
	state->member++;
	state->step = EXPECT_KEY;
	return state->member == WORDS ? mtx_banner_fault(&state->banner) : NULL;
}

static void write_banner(struct mtx_state *state)
{
	const struct mtx_banner *banner = &state->banner;
	struct text_out *text = &state->text;

	text_out_need(text, TOKEN_ROOM);
	text_out_string(text, "%%MatrixMarket ");
	text_out_string(text, banner->vector ? "vector " : "matrix ");
	text_out_string(text, banner->coordinate ? "coordinate " : "array ");
	text_out_string(text, mtx_field_names[banner->field]);
	text_out_char(text, ' ');
	text_out_string(text, mtx_symmetry_names[banner->symmetry]);
	text_out_char(text, '\n');
}

static const char *comments_end(struct mtx_state *state)
{
	state->member++;
	state->step = EXPECT_KEY;
	return NULL;
}

/* A piece of a comment, which is one line. */
static const char *write_comment(struct mtx_state *state, const struct cbor_token *token)
{
	struct text_out *text = &state->text;

	if (token->length > 0 && (memchr(token->data, '\n', token->length) != NULL ||
	                          token->data[token->length - 1] == '\r'))
		return "a comment of more than one line";
	text_out_end(text);
	output_write(text->output, token->data, token->length);
	return NULL;
}

static const char *take_comment(struct mtx_state *state, const struct cbor_token *token)
{
	const struct cbor_level *level = &state->walker.levels[state->walker.depth];
	struct text_out *text = &state->text;
	const char *fault = NULL;

	text_out_need(text, TOKEN_ROOM);
	switch (token->kind) {
	case CBOR_TEXT:
	case CBOR_BYTES:
		if (!token->chunk)
			text_out_char(text, '%');
		fault = write_comment(state, token);
		if (token->chunk)
			return fault;
		text_out_need(text, TOKEN_ROOM);
		text_out_char(text, '\n');
		break;
	case CBOR_TEXT_START:
	case CBOR_BYTES_START:
		text_out_char(text, '%');
		state->step = IN_COMMENT;
		return NULL;
	case CBOR_BREAK:
		if (state->step == IN_COMMENTS)
			return comments_end(state);
		text_out_char(text, '\n');
		state->step = IN_COMMENTS;
		break;
	default:
		return "a comment that is no string";
	}
	/* The last of a known number of them. */
	return fault == NULL && level->kind == CBOR_MAP ? comments_end(state) : fault;
}

static const char *take_comments(struct mtx_state *state, const struct cbor_token *token)
{
	if (token->kind != CBOR_ARRAY)
		return "comments that are no array";
	write_banner(state);
	state->step = IN_COMMENTS;
	return token->indefinite || token->number > 0 ? NULL : comments_end(state);
}

static const char *take_shape(struct mtx_state *state, const struct cbor_token *token)
{
	unsigned wanted = state->banner.vector ? 1 : 2;

	if (state->step == EXPECT_SHAPE) {
		state->step = IN_SHAPE;
		return token->kind == CBOR_ARRAY && !token->indefinite && token->number == wanted
		               ? NULL : "a shape of other dimensions";
	}
	if (token->kind != CBOR_UNSIGNED)
		return "a shape that is no list of integers";
	state->shape[state->dimensions++] = token->number;
	if (state->dimensions < wanted)
		return NULL;
	if (wanted == 1)
		state->shape[1] = 1;
	state->member++;
	state->step = EXPECT_KEY;
	return mtx_shape_fault(&state->banner, state->shape[0], state->shape[1], &state->entries);
}

static const char *take_data(struct mtx_state *state, const struct cbor_token *token)
{
	static const unsigned values[] = { 1, 1, 2, 0 };
	struct text_out *text = &state->text;

	if (token->kind != CBOR_ARRAY || token->indefinite)
		return "data without a number of entries";
	if (!state->banner.coordinate && token->number != state->entries)
		return "another number of entries than its shape says";
	state->entries = token->number;
	state->indices = !state->banner.coordinate ? 0 : state->banner.vector ? 1 : 2;
	state->items = state->indices + values[state->banner.field];
	state->item = 0;
	text_out_need(text, TOKEN_ROOM);
	text->next = text_put_number(text->next, state->shape[0]);
	if (!state->banner.vector) {
		text_out_char(text, ' ');
		text->next = text_put_number(text->next, state->shape[1]);
	}
	if (state->banner.coordinate) {
		text_out_char(text, ' ');
		text->next = text_put_number(text->next, state->entries);
	}
	text_out_char(text, '\n');
	state->step = state->entries > 0 ? EXPECT_ENTRY : COMPLETE;
	return NULL;
}

/* ---- entries ------------------------------------------------------------------------ */

/* An item of an entry was written. */
static inline void item_end(struct mtx_state *state)
{
	struct text_out *text = &state->text;

	if (++state->item < state->items) {
		text_out_char(text, ' ');
		state->step = IN_ENTRY;
		return;
	}
	text_out_char(text, '\n');
	state->item = 0;
	state->step = --state->entries > 0 ? EXPECT_ENTRY : COMPLETE;
}

static inline const char *take_index(struct mtx_state *state, const struct cbor_token *token)
{
	if (token->kind != CBOR_UNSIGNED || token->number == 0 ||
	    token->number > state->shape[state->item])
		return "an index outside of the matrix";
	state->text.next = text_put_number(state->text.next, token->number);
	item_end(state);
	return NULL;
}

static const char *write_float(struct mtx_state *state, double real)
{
	struct text_out *text = &state->text;

	if (state->banner.field == MTX_INTEGER)
		return "a value that is no integer";
	if (isfinite(real))
		text->next += decimal_from_double(real, text->next);
	else
		text_out_string(text, isnan(real) ? "nan" : real < 0 ? "-inf" : "inf");
	item_end(state);
	return NULL;
}

static const char *take_gathered(struct mtx_state *state, const struct cbor_token *token)
{
	struct json_number *number = &state->number;

	switch (json_number_take(number, token)) {
	case JSON_NUMBER_MORE:
		return NULL;
	case JSON_NUMBER_DONE:
		break;
	default:
		return "a value that is no number";
	}
	number->step = JSON_NUMBER_NONE;
	if (number->fraction && state->banner.field == MTX_INTEGER)
		return "a value that is no integer";
	text_out_need(&state->text, number->text_length + TOKEN_ROOM);
	memcpy(state->text.next, number->text, number->text_length);
	state->text.next += number->text_length;
	item_end(state);
	return NULL;
}

static inline const char *take_value(struct mtx_state *state, const struct cbor_token *token)
{
	struct text_out *text = &state->text;

	switch (token->kind) {
	case CBOR_UNSIGNED:
		text->next = text_put_number(text->next, token->number);
		break;
	case CBOR_NEGATIVE:
		text->next = text_put_negative(text->next, token->number);
		break;
	case CBOR_FLOAT:
		return write_float(state, token->real);
	case CBOR_TAG:
		if (!json_number_begins(token))
			return "a value that is no number";
		json_number_begin(&state->number, token, 0);
		return NULL;
	default:
		return "a value that is no number";
	}
	item_end(state);
	return NULL;
}

static inline const char *take_entry(struct mtx_state *state, const struct cbor_token *token)
{
	text_out_need(&state->text, TOKEN_ROOM);
	if (state->number.step != JSON_NUMBER_NONE)
		return take_gathered(state, token);
	if (state->step == EXPECT_ENTRY && (state->banner.coordinate || state->items > 1)) {
		state->step = IN_ENTRY;
		return token->kind == CBOR_ARRAY && !token->indefinite && token->number == state->items
		               ? NULL : "an entry of another kind";
	}
	return state->item < state->indices ? take_index(state, token) : take_value(state, token);
}

/* ---- messages -------------------------------------------------------------------------- */

/* Returns NULL, or why it is no matrix. */
static const char *take_token(struct mtx_state *state, const struct cbor_token *token)
{
	switch (state->step) {
	case EXPECT_MAP:
		state->step = EXPECT_KEY;
		return token->kind == CBOR_MAP && !token->indefinite &&
		       token->number == sizeof(members) / sizeof(members[0]) ? NULL : "its members are others";
	case EXPECT_KEY:
		return take_key(state, token);
	case EXPECT_WORD:
		return take_word(state, token);
	case EXPECT_COMMENTS:
		return take_comments(state, token);
	case IN_COMMENTS:
	case IN_COMMENT:
		return take_comment(state, token);
	case EXPECT_SHAPE:
	case IN_SHAPE:
		return take_shape(state, token);
	case EXPECT_DATA:
		return take_data(state, token);
	case EXPECT_ENTRY:
	case IN_ENTRY:
		return take_entry(state, token);
	case COMPLETE:
		break;
	}
	return "something after it";
}

static enum exit_code mtx_body(struct sink_job *job, const uint8_t *bytes, size_t length)
{
	struct mtx_state *state = job->state;
	enum exit_code code = EXIT_COMPLETE;
	struct cbor_token token;

	text_out_begin(&state->text, job->output, bytes + length);
	for (size_t at = 0; at < length && code == EXIT_COMPLETE; at += token.size) {
		int outcome = cbor_walk(&state->walker, bytes + at, length - at, &token);
		const char *fault;

		if (outcome != 1) {
			code = sink_ill_formed(job, at, outcome);
			break;
		}
		fault = take_token(state, &token);
		if (fault != NULL)
			code = refuse(job, fault);
	}
	text_out_end(&state->text);
	return code;
}

static enum exit_code mtx_finish(struct sink_job *job, bool complete)
{
	const struct mtx_state *state = job->state;

	if (!complete)
		return EXIT_COMPLETE;
	if (!cbor_walker_idle(&state->walker))
		return sink_ended_early(job);
	return state->step == COMPLETE ? EXIT_COMPLETE : refuse(job, "it is empty");
}

const struct sink sink_mtx = {
	.name = "mtx",
	.open = mtx_open,
	.close = mtx_close,
	.begin = mtx_begin,
	.body = mtx_body,
	.finish = mtx_finish,
};
