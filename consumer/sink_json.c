/*
 * sink_json.c - JSON, a line for each item (NDJSON).
 *
 * What JSON has comes out as itself: integers of any size (bignums, too),
 * floats always with a '.' or an exponent, decimal fractions digit for digit,
 * text with the fewest escapes.  What JSON has not comes out as
 *
 *   byte string            "AQID"                    base64url, no padding
 *   NaN, infinities        {"$float":"NaN"}          "Infinity", "-Infinity"
 *   undefined              {"$undefined":true}
 *   other simple values    {"$simple":16}
 *   tag 0 on "x"           {"$tag":0,"value":"x"}    and so on for other tags
 *   map key that is no     "$key:1"                  the key in diagnostic
 *   text string            "$key:h'0102'"            notation (RFC 8949, 8)
 *
 * Tags 2 to 4 come out as numbers unless what they hold is something else, or
 * has more than DECIMAL_MAX_DIGITS digits; then they are written like other
 * tags.
 *
 * These forms cannot be told from maps and texts that look like them, nor byte
 * strings from text; which of several bit patterns a NaN has is lost, and so
 * is which strings, arrays and maps had no length.  The formats cbor and diag
 * keep all that.
 *
 * A row of a table whose columns have names becomes an object, with those names
 * as keys.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "consumer/diag_text.h"
#include "consumer/json_keys.h"
#include "consumer/json_number.h"
#include "consumer/json_quick.h"
#include "consumer/sink.h"
#include "consumer/sink_fault.h"
#include "consumer/text_out.h"
#include "shared/cbor_walk.h"
#include "shared/decimal.h"
#include "shared/log.h"

#define TOKEN_ROOM 128                 /* enough for every token but strings and gathered numbers */

struct json_state {
	struct text_out text;
	char separator;                /* what comes before the next token, or NUL */
	bool in_key;                   /* a key is being written in diagnostic notation */
	unsigned key_depth;            /* the walker's depth around that key */
	struct diag_text key;
	struct base64 base64;
	struct cbor_walker walker;
	struct json_number number;
	struct json_keys keys;         /* a table's columns, or none */
};

static int json_open(struct sink_job *job)
{
	struct json_state *state = malloc(sizeof(*state));

	job->state = state;
	if (state == NULL)
		return -ENOMEM;
	state->keys = (struct json_keys){ .count = 0 };
	return 0;
}

static void json_close(struct sink_job *job)
{
	struct json_state *state = job->state;

	json_keys_clear(&state->keys);
	free(state);
}

/* Rows get keys if the message is a table whose columns have names. */
static enum exit_code table_begin(struct sink_job *job, const struct message_header *header)
{
	struct json_state *state = job->state;
	struct columns columns;

	if (columns_find(header, &columns) != 0)
		return sink_no_table(job, "a table whose columns cannot be read");
	switch (json_keys_make(&state->keys, &columns)) {
	case 0:
		return EXIT_COMPLETE;
	case -EEXIST:
		return sink_no_table(job, "two columns of one name, which a JSON object cannot have; send the "
		                     "table with --csv-header no to get arrays");
	default:
		log_fatal("out of memory");
		return EXIT_SYSTEM;
	}
}

static enum exit_code json_begin(struct sink_job *job, const struct message_header *header)
{
	struct json_state *state = job->state;

	cbor_walker_init(&state->walker);
	state->separator = '\0';
	state->in_key = false;
	state->base64.count = 0;
	state->number.step = JSON_NUMBER_NONE;
	return table_begin(job, header);
}

/* ---- tokens ------------------------------------------------------------- */

static inline void write_separator(struct json_state *state)
{
	*state->text.next = state->separator;
	state->text.next += state->separator != '\0';
}

static void write_text(struct text_out *text, const struct cbor_token *token)
{
	if (!token->chunk)
		text_out_char(text, '"');
	text_out_escaped(text, token->data, token->length, false);
	text_out_need(text, TOKEN_ROOM);
	if (!token->chunk)
		text_out_char(text, '"');
}

static void write_bytes(struct json_state *state, const struct cbor_token *token)
{
	struct text_out *text = &state->text;

	if (!token->chunk)
		text_out_char(text, '"');
	text_out_base64(text, &state->base64, token->data, token->length);
	if (token->chunk)
		return;
	text_out_base64_finish(text, &state->base64);
	text_out_need(text, TOKEN_ROOM);
	text_out_char(text, '"');
}

static void write_tag(struct text_out *text, uint64_t tag)
{
	text_out_string(text, "{\"$tag\":");
	text->next = text_put_number(text->next, tag);
	text_out_string(text, ",\"value\":");
}

static void write_simple(struct text_out *text, uint64_t number)
{
	switch (number) {
	case 20:
		text_out_string(text, "false");
		break;
	case 21:
		text_out_string(text, "true");
		break;
	case 22:
		text_out_string(text, "null");
		break;
	case 23:
		text_out_string(text, "{\"$undefined\":true}");
		break;
	default:
		text_out_string(text, "{\"$simple\":");
		text->next = text_put_number(text->next, number);
		text_out_char(text, '}');
		break;
	}
}

static void write_float(struct text_out *text, double real)
{
	if (isfinite(real))
		text->next += decimal_from_double(real, text->next);
	else if (isnan(real))
		text_out_string(text, "{\"$float\":\"NaN\"}");
	else
		text_out_string(text, real < 0 ? "{\"$float\":\"-Infinity\"}"
		                               : "{\"$float\":\"Infinity\"}");
}

static void write_token(struct json_state *state, const struct cbor_token *token)
{
	struct text_out *text = &state->text;
	bool empty = token->kind != CBOR_BREAK && !token->indefinite && token->number == 0;

	switch (token->kind) {
	case CBOR_UNSIGNED:
		text->next = text_put_number(text->next, token->number);
		break;
	case CBOR_NEGATIVE:
		text->next = text_put_negative(text->next, token->number);
		break;
	case CBOR_BYTES:
		write_bytes(state, token);
		break;
	case CBOR_TEXT:
		write_text(text, token);
		break;
	case CBOR_BYTES_START:
	case CBOR_TEXT_START:
		text_out_char(text, '"');
		break;
	case CBOR_ARRAY:
		text_out_string(text, empty ? "[]" : "[");
		break;
	case CBOR_MAP:
		text_out_string(text, empty ? "{}" : "{");
		break;
	case CBOR_TAG:
		write_tag(text, token->number);
		break;
	case CBOR_SIMPLE:
		write_simple(text, token->number);
		break;
	case CBOR_FLOAT:
		write_float(text, token->real);
		break;
	case CBOR_BREAK:
		break;
	}
}

static void close_level(struct json_state *state, enum cbor_kind kind)
{
	struct text_out *text = &state->text;

	text_out_need(text, TOKEN_ROOM);
	switch (kind) {
	case CBOR_ARRAY:
		text_out_char(text, ']');
		break;
	case CBOR_BYTES_START:
		text_out_base64_finish(text, &state->base64);
		text_out_need(text, TOKEN_ROOM);
		text_out_char(text, '"');
		break;
	case CBOR_TEXT_START:
		text_out_char(text, '"');
		break;
	default:
		text_out_char(text, '}');
		break;
	}
}

/* A token was written: close the levels that it was the last part of, from
 * `before` on, and find out what must come before the next one. */
static void end_token(struct json_state *state, unsigned before)
{
	const struct cbor_walker *walker = &state->walker;
	const struct cbor_level *level = &walker->levels[walker->depth];

	state->separator = '\0';
	if (walker->depth > before)
		return;
	for (unsigned depth = before; depth > walker->depth; depth--) {
		bool row = depth == 1 && state->keys.count > 0;

		close_level(state, row ? CBOR_MAP : walker->levels[depth].kind);
	}
	switch (level->kind) {
	case CBOR_ARRAY:
		state->separator = ',';
		break;
	case CBOR_MAP:
		state->separator = level->odd ? ':' : ',';
		break;
	case CBOR_BREAK:
		text_out_need(&state->text, TOKEN_ROOM);
		text_out_char(&state->text, '\n');
		break;
	default:
		break;
	}
}

static void plain_token(struct json_state *state, const struct cbor_token *token, unsigned before)
{
	text_out_need(&state->text, TOKEN_ROOM);
	if (token->kind != CBOR_BREAK)
		write_separator(state);
	write_token(state, token);
	end_token(state, before);
}

/* ---- keys that are not text --------------------------------------------- */

static void key_token(struct json_state *state, const struct cbor_token *token, unsigned before)
{
	struct text_out *text = &state->text;

	diag_text_token(&state->key, text, &state->walker, token, before, state->key_depth);
	if (state->walker.depth > state->key_depth)
		return;
	text_out_need(text, TOKEN_ROOM);
	text_out_char(text, '"');
	state->separator = ':';
	state->in_key = false;
}

static void key_begin(struct json_state *state, const struct cbor_token *token, unsigned before)
{
	text_out_need(&state->text, TOKEN_ROOM);
	write_separator(state);
	text_out_string(&state->text, "\"$key:");
	diag_text_init(&state->key, true);
	state->in_key = true;
	state->key_depth = before;
	key_token(state, token, before);
}

/* ---- gathered numbers --------------------------------------------------- */

/* What was gathered is no number: write it as what it is. */
static void number_give_up(struct json_state *state)
{
	struct json_number *number = &state->number;
	struct text_out *text = &state->text;
	enum json_number_step step = number->step;

	number->step = JSON_NUMBER_NONE;
	text_out_need(text, 2 * TOKEN_ROOM);
	write_separator(state);
	state->separator = '\0';
	if (number->fraction) {
		write_tag(text, 4);
		if (step >= JSON_NUMBER_EXPONENT)
			text_out_char(text, '[');
		if (step >= JSON_NUMBER_MANTISSA) {
			text->next = number->exponent_negative
			                     ? text_put_negative(text->next, number->exponent)
			                     : text_put_number(text->next, number->exponent);
			state->separator = ',';
		}
	}
	if (step >= JSON_NUMBER_BIGNUM) {
		write_separator(state);
		state->separator = '\0';
		write_tag(text, number->negative ? 3 : 2);
	}
	if (step == JSON_NUMBER_CHUNK) {
		text_out_char(text, '"');
		text_out_base64(text, &state->base64, number->bytes, number->length);
	}
}

static void number_write(struct json_state *state)
{
	struct json_number *number = &state->number;
	struct text_out *text = &state->text;

	number->step = JSON_NUMBER_NONE;
	text_out_need(text, number->text_length + TOKEN_ROOM);
	write_separator(state);
	memcpy(text->next, number->text, number->text_length);
	text->next += number->text_length;
	end_token(state, number->base);
}

/* True if the token was a part of the number. */
static bool number_token(struct json_state *state, const struct cbor_token *token)
{
	switch (json_number_take(&state->number, token)) {
	case JSON_NUMBER_MORE:
		return true;
	case JSON_NUMBER_DONE:
		number_write(state);
		return true;
	default:
		number_give_up(state);
		return false;
	}
}

/* ---- rows that become objects -------------------------------------------- */

/*
 * A token of a row of a table, or of what is in it: not taken yet.
 *
 * Returns NULL, or what is wrong.  *taken: it was all that the token needs.
 */
static const char *row_token(struct json_state *state, const struct cbor_token *token, unsigned before,
                             bool *taken)
{
	struct json_keys *keys = &state->keys;
	size_t length = json_keys_length(keys);

	if (before == 0) {
		if (token->kind != CBOR_ARRAY)
			return "a row of a table that is no array";
		if (!token->indefinite && token->number != keys->count)
			return "a row that has more or fewer fields than there are columns";
		keys->next = 0;
		text_out_need(&state->text, TOKEN_ROOM);
		text_out_char(&state->text, '{');
		*taken = true;
		return NULL;
	}
	if (before > 1)
		return NULL;
	if ((token->kind == CBOR_BREAK) != (length == 0))
		return "a row that has more or fewer fields than there are columns";
	text_out_need(&state->text, length + TOKEN_ROOM);
	if (length > 0) {
		write_separator(state);
		state->separator = '\0';
		memcpy(state->text.next, json_keys_text(keys), length);
		state->text.next += length;
		keys->next++;
	}
	return NULL;
}

/* ---- messages ----------------------------------------------------------- */

/* Tokens that may need more than themselves to be written. */
static void special_token(struct json_state *state, const struct cbor_token *token,
                          unsigned before, bool key)
{
	if (state->in_key) {
		key_token(state, token, before);
		return;
	}
	if (state->number.step != JSON_NUMBER_NONE && number_token(state, token))
		return;
	if (key && token->kind != CBOR_TEXT && token->kind != CBOR_TEXT_START &&
	    token->kind != CBOR_BREAK)
		key_begin(state, token, before);
	else if (json_number_begins(token))
		json_number_begin(&state->number, token, before);
	else
		plain_token(state, token, before);
}

static enum exit_code json_body(struct sink_job *job, const uint8_t *bytes, size_t length)
{
	struct json_state *state = job->state;
	struct cbor_walker *walker = &state->walker;
	enum exit_code code = EXIT_COMPLETE;
	bool table = state->keys.count > 0;
	struct cbor_token token;

	text_out_begin(&state->text, job->output, bytes + length);
	for (size_t at = 0; at < length; at += token.size) {
		const struct cbor_level *level;
		unsigned before;
		bool key, taken = false;
		int outcome;

		if (!state->in_key && state->number.step == JSON_NUMBER_NONE)
			at += json_quick(&state->text, &walker->levels[walker->depth], &state->separator,
			                 table && walker->depth == 1 ? &state->keys : NULL, bytes + at,
			                 length - at);
		if (at == length)
			break;
		before = walker->depth;
		level = &walker->levels[before];
		key = level->kind == CBOR_MAP && !level->odd;
		outcome = cbor_walk(walker, bytes + at, length - at, &token);

		if (outcome != 1) {
			code = sink_ill_formed(job, at, outcome);
			break;
		}
		if (table) {
			const char *wrong = row_token(state, &token, before, &taken);

			if (wrong != NULL) {
				code = sink_no_table(job, wrong);
				break;
			}
			if (taken)
				continue;
		}
		if (key || token.kind == CBOR_TAG || state->in_key ||
		    state->number.step != JSON_NUMBER_NONE)
			special_token(state, &token, before, key);
		else
			plain_token(state, &token, before);
	}
	text_out_end(&state->text);
	return code;
}

static enum exit_code json_finish(struct sink_job *job, bool complete)
{
	const struct json_state *state = job->state;

	if (cbor_walker_idle(&state->walker))
		return EXIT_COMPLETE;
	/* A number that is the whole item has not begun its line yet. */
	if (state->number.step == JSON_NUMBER_NONE || state->number.base > 0)
		output_write(job->output, "\n", 1);
	return complete ? sink_ended_early(job) : EXIT_COMPLETE;
}

const struct sink sink_json = {
	.name = "json",
	.open = json_open,
	.close = json_close,
	.begin = json_begin,
	.body = json_body,
	.finish = json_finish,
};
