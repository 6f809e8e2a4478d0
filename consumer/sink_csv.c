/*
 * sink_csv.c - CSV (RFC 4180, with LF): each item, an array of scalars, is a row.
 *
 * A field is in quotes if it holds a delimiter, a quote or a line end, if it is
 * all of its row and empty (that would be a blank line), if it is the row's first
 * and begins with a byte order mark, and if it came in chunks: then nobody
 * knows what is still to come.  Numbers are written as the JSON sink writes
 * them, true and false as words, null as nothing.  What is no such array is
 * refused: CSV has no word for it.
 *
 * The columns' names, if there are, come first; not again for another table of
 * the same columns in one output, and one of others is refused.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "consumer/json_number.h"
#include "consumer/sink.h"
#include "consumer/sink_fault.h"
#include "consumer/text_out.h"
#include "shared/cbor_put.h"
#include "shared/cbor_walk.h"
#include "shared/columns.h"
#include "shared/decimal.h"
#include "shared/log.h"
#include "shared/utf8.h"

#define TOKEN_ROOM 64
#define BLOCK TEXT_OUT_BLOCK
#define QUICK_MAX 255u                 /* bytes of a text that is written the quick way */
#define PIECE 2048u

struct csv_state {
	struct text_out text;
	struct cbor_walker walker;
	struct json_number number;
	char delimiter, quote;         /* quote NUL: none */
	bool empty;                    /* the row's last field is */
	uint64_t fields;               /* of the row, so far */
	uint64_t width;                /* of each row; 0: it may differ */
	bool has_names;                /* `names` were written */
	size_t names_length;
	uint8_t names[COLUMNS_MAX];    /* as they came */
};

static const char no_scalar[] = "a field that is no text, number, true, false or null: CSV has no such; "
                                "use --format json, cbor or diag";
static const char no_row[] = "an item that is no array of fields, so no row of CSV; use --format json, "
                             "cbor or diag";
static const char no_width[] = "a row that has more or fewer fields than there are columns";
static const char no_quote[] = "a field that cannot be written without quotes, and there are none";

static int csv_open(struct sink_job *job)
{
	struct csv_state *state = malloc(sizeof(*state));

	job->state = state;
	if (state == NULL)
		return -ENOMEM;
	state->has_names = false;
	return 0;
}

static void csv_close(struct sink_job *job)
{
	free(job->state);
}

/* ---- fields ---------------------------------------------------------------- */

static inline bool is_special(const struct csv_state *state, uint8_t byte)
{
	return byte == (uint8_t)state->delimiter || byte == '\n' || byte == '\r' ||
	       (byte == (uint8_t)state->quote && state->quote != '\0');
}

static bool has_special(const struct csv_state *state, const uint8_t *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (is_special(state, bytes[i]))
			return true;
	return false;
}

static bool needs_quotes(const struct csv_state *state, const uint8_t *bytes, size_t length)
{
	if (state->fields == 1 && length >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0)
		return true;
	return has_special(state, bytes, length);
}

/* Copy, with two quotes for each. */
static void write_quoted(struct csv_state *state, const uint8_t *bytes, size_t length)
{
	struct text_out *text = &state->text;

	while (length > 0) {
		size_t piece = length < PIECE ? length : PIECE;

		text_out_need(text, 2 * piece);
		for (size_t i = 0; i < piece; i++) {
			text_out_char(text, (char)bytes[i]);
			if (bytes[i] == (uint8_t)state->quote)
				text_out_char(text, state->quote);
		}
		bytes += piece;
		length -= piece;
	}
}

static void write_plain(struct csv_state *state, const uint8_t *bytes, size_t length)
{
	struct text_out *text = &state->text;

	while (length > 0) {
		size_t piece = length < PIECE ? length : PIECE;

		text_out_need(text, piece);
		memcpy(text->next, bytes, piece);
		text->next += piece;
		bytes += piece;
		length -= piece;
	}
}

static void put_quote(struct csv_state *state)
{
	text_out_need(&state->text, 1);
	text_out_char(&state->text, state->quote);
}

/* What stands before a field. */
static void field_begin(struct csv_state *state)
{
	if (state->fields++ > 0) {
		text_out_need(&state->text, 1);
		text_out_char(&state->text, state->delimiter);
	}
}

/* Returns NULL, or what is wrong. */
static const char *write_field(struct csv_state *state, const uint8_t *bytes, size_t length)
{
	state->empty = length == 0;
	if (!needs_quotes(state, bytes, length)) {
		write_plain(state, bytes, length);
		return NULL;
	}
	if (state->quote == '\0')
		return no_quote;
	put_quote(state);
	write_quoted(state, bytes, length);
	put_quote(state);
	return NULL;
}

static const char *write_chunk(struct csv_state *state, const uint8_t *bytes, size_t length)
{
	if (state->quote != '\0') {
		write_quoted(state, bytes, length);
		return NULL;
	}
	if (has_special(state, bytes, length))
		return no_quote;
	write_plain(state, bytes, length);
	return NULL;
}

/* All that is written of a number, a word, or nothing. */
static const char *write_string(struct csv_state *state, const char *string, size_t length)
{
	return write_field(state, (const uint8_t *)string, length);
}

static const char *write_float(struct csv_state *state, double real)
{
	char digits[DECIMAL_DOUBLE_TEXT_MAX];

	if (isfinite(real))
		return write_string(state, digits, decimal_from_double(real, digits));
	if (isnan(real))
		return write_string(state, "NaN", 3);
	return real < 0 ? write_string(state, "-Infinity", 9) : write_string(state, "Infinity", 8);
}

static const char *write_simple(struct csv_state *state, uint64_t number)
{
	switch (number) {
	case 20:
		return write_string(state, "false", 5);
	case 21:
		return write_string(state, "true", 4);
	case 22:
		return write_string(state, "", 0);
	default:
		return no_scalar;
	}
}

/* A token that begins a field. */
static const char *field_token(struct csv_state *state, const struct cbor_token *token, unsigned before)
{
	char digits[TEXT_OUT_NUMBER_MAX + 1];

	field_begin(state);
	switch (token->kind) {
	case CBOR_TEXT:
		return write_field(state, token->data, token->length);
	case CBOR_TEXT_START:
		state->empty = false;
		if (state->quote != '\0')
			put_quote(state);
		return NULL;
	case CBOR_UNSIGNED:
		return write_string(state, digits, (size_t)(text_put_number(digits, token->number) - digits));
	case CBOR_NEGATIVE:
		return write_string(state, digits, (size_t)(text_put_negative(digits, token->number) - digits));
	case CBOR_FLOAT:
		return write_float(state, token->real);
	case CBOR_SIMPLE:
		return write_simple(state, token->number);
	case CBOR_TAG:
		if (!json_number_begins(token))
			return no_scalar;
		json_number_begin(&state->number, token, before);
		return NULL;
	default:
		return no_scalar;
	}
}

/* ---- rows ------------------------------------------------------------------- */

static const char *row_end(struct csv_state *state)
{
	if (state->fields == 0)
		return no_row;
	if (state->width > 0 && state->fields != state->width)
		return no_width;
	if (state->fields == 1 && state->empty && state->quote != '\0') {
		put_quote(state);
		put_quote(state);
	}
	text_out_need(&state->text, 1);
	text_out_char(&state->text, '\n');
	return NULL;
}

static const char *number_token(struct csv_state *state, const struct cbor_token *token)
{
	struct json_number *number = &state->number;

	switch (json_number_take(number, token)) {
	case JSON_NUMBER_MORE:
		return NULL;
	case JSON_NUMBER_DONE:
		number->step = JSON_NUMBER_NONE;
		return write_string(state, number->text, number->text_length);
	default:
		return no_scalar;
	}
}

/* Returns NULL, or what is wrong. */
static const char *take_token(struct csv_state *state, const struct cbor_token *token, unsigned before)
{
	const char *wrong = NULL;

	if (before == 0) {
		state->fields = 0;
		if (token->kind != CBOR_ARRAY)
			return no_row;
	} else if (state->number.step != JSON_NUMBER_NONE) {
		wrong = number_token(state, token);
	} else if (token->kind == CBOR_BREAK) {
		if (token->closes == CBOR_TEXT_START && state->quote != '\0')
			put_quote(state);
	} else if (token->kind == CBOR_TEXT && token->chunk) {
		wrong = write_chunk(state, token->data, token->length);
	} else {
		wrong = field_token(state, token, before);
	}
	if (wrong == NULL && cbor_walker_idle(&state->walker))
		wrong = row_end(state);
	return wrong;
}

/* ---- the quick way ------------------------------------------------------------ */

/* Copy a block.  Returns how many of its first bytes need no quotes; sets *high if
 * one of the block is not ASCII. */
static inline size_t copy_block(const struct csv_state *state, char *out, const uint8_t *bytes, bool *high)
{
#ifdef __SSE2__
	__m128i block = _mm_loadu_si128((const __m128i *)(const void *)bytes);
	__m128i found = _mm_or_si128(
		_mm_or_si128(_mm_cmpeq_epi8(block, _mm_set1_epi8(state->delimiter)),
		             _mm_cmpeq_epi8(block, _mm_set1_epi8(state->quote))),
		_mm_or_si128(_mm_cmpeq_epi8(block, _mm_set1_epi8('\n')),
		             _mm_cmpeq_epi8(block, _mm_set1_epi8('\r'))));

	_mm_storeu_si128((__m128i *)(void *)out, block);
	*high |= _mm_movemask_epi8(block) != 0;
	return (size_t)__builtin_ctz((unsigned)_mm_movemask_epi8(found) | 1u << BLOCK);
#else
	memcpy(out, bytes, BLOCK);
	for (size_t i = 0; i < BLOCK; i++) {
		*high |= bytes[i] >= 0x80;
		if (bytes[i] == (uint8_t)state->quote || is_special(state, bytes[i]))
			return i;
	}
	return BLOCK;
#endif
}

/* Texts of a row that need no quotes, as many as come next, but not its last
 * field.  Returns how many of the bytes were taken. */
static size_t quick_fields(struct csv_state *state, const uint8_t *bytes, size_t length)
{
	struct cbor_level *level = &state->walker.levels[1];
	const uint8_t *at = bytes, *end = bytes + length;
	struct text_out *text = &state->text;

	/* The first field has rules of its own. */
	while (state->fields > 0 && cbor_level_goes_on(level) && end - at >= 2) {
		size_t size = *at - (unsigned)CBOR_BYTE_TEXT, done = 0;
		const uint8_t *data = at + 1;
		bool high = false;
		char *out;

		if (size == 24) {
			size = at[1];
			data++;
		} else if (size > 24) {
			break;                 /* no text, or a long one */
		}
		text_out_need(text, QUICK_MAX + 1 + BLOCK);
		out = text->next;
		*out++ = state->delimiter;
		while (done < size) {
			size_t clean;

			if ((size_t)(end - data) < done + BLOCK)
				return (size_t)(at - bytes);
			clean = copy_block(state, out + done, data + done, &high);
			if (clean < BLOCK && done + clean < size)
				return (size_t)(at - bytes);
			done += BLOCK;
		}
		if (high && utf8_valid(data, size) != size)
			break;
		text->next = out + size;
		at = data + size;
		state->fields++;
		cbor_level_count(level);
	}
	return (size_t)(at - bytes);
}

/* ---- messages ------------------------------------------------------------------ */

static const char *write_names(struct csv_state *state, const struct columns *columns)
{
	const uint8_t *name;
	size_t at = 0, length;
	const char *wrong = NULL;

	state->fields = 0;
	while (wrong == NULL && (name = columns_next(columns, &at, &length)) != NULL) {
		field_begin(state);
		wrong = write_field(state, name, length);
	}
	return wrong != NULL ? wrong : row_end(state);
}

static enum exit_code names_begin(struct sink_job *job, const struct columns *columns)
{
	struct csv_state *state = job->state;
	const char *wrong;

	if (state->has_names && !job->apart) {
		if (columns->length == state->names_length &&
		    memcmp(columns->names, state->names, columns->length) == 0)
			return EXIT_COMPLETE;
		return sink_no_table(job, "a table of other columns than the one before it in the same output; "
		                     "use --output-dir");
	}
	text_out_begin(&state->text, job->output, columns->names + columns->length);
	wrong = write_names(state, columns);
	text_out_end(&state->text);
	if (wrong != NULL)
		return sink_no_table(job, wrong);
	memcpy(state->names, columns->names, columns->length);
	state->names_length = columns->length;
	state->has_names = true;
	return EXIT_COMPLETE;
}

static enum exit_code csv_begin(struct sink_job *job, const struct message_header *header)
{
	struct csv_state *state = job->state;
	struct columns columns;

	cbor_walker_init(&state->walker);
	state->number.step = JSON_NUMBER_NONE;
	if (columns_find(header, &columns) != 0)
		return sink_no_table(job, "a table whose columns cannot be read");
	state->delimiter = columns.delimiter;
	state->quote = columns.quote;
	state->width = columns.count;
	return columns.names != NULL ? names_begin(job, &columns) : EXIT_COMPLETE;
}

static enum exit_code csv_body(struct sink_job *job, const uint8_t *bytes, size_t length)
{
	struct csv_state *state = job->state;
	struct cbor_walker *walker = &state->walker;
	enum exit_code code = EXIT_COMPLETE;
	struct cbor_token token;

	text_out_begin(&state->text, job->output, bytes + length);
	for (size_t at = 0; at < length; at += token.size) {
		const char *wrong;
		unsigned before;
		int outcome;

		if (walker->depth == 1)
			at += quick_fields(state, bytes + at, length - at);
		if (at == length)
			break;
		before = walker->depth;
		outcome = cbor_walk(walker, bytes + at, length - at, &token);
		if (outcome != 1) {
			code = sink_ill_formed(job, at, outcome);
			break;
		}
		wrong = take_token(state, &token, before);
		if (wrong != NULL) {
			code = sink_no_table(job, wrong);
			break;
		}
	}
	text_out_end(&state->text);
	return code;
}

static enum exit_code csv_finish(struct sink_job *job, bool complete)
{
	const struct csv_state *state = job->state;

	if (cbor_walker_idle(&state->walker))
		return EXIT_COMPLETE;
	output_write(job->output, "\n", 1);
	return complete ? sink_ended_early(job) : EXIT_COMPLETE;
}

const struct sink sink_csv = {
	.name = "csv",
	.open = csv_open,
	.close = csv_close,
	.begin = csv_begin,
	.body = csv_body,
	.finish = csv_finish,
};
