/*
 * fuzz_cbor.c - the CBOR walker against the pseudocode of RFC 8949, appendix C,
 * and the text formats over the same bytes.
 *
 * A verdict is how many bytes of whole items there are, and why they end.  The
 * walker must give the pseudocode's, token by token, in runs, and when each
 * token is first shown cut short.  JSON must be JSON, and both texts must not
 * depend on where frames are cut.
 */
// needs: consumer/diag_text.c consumer/json_keys.c consumer/json_number.c consumer/json_quick.c
// needs: consumer/text_out.c consumer/sink_csv.c
// needs: consumer/sink_diag.c consumer/sink_fault.c consumer/sink_json.c consumer/sink_raw.c
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "shared/cbor_walk.h"
#include "shared/columns.h"
#include "shared/header.h"
#include "tests/fuzz/cbor_check.h"
#include "tests/unit/output_mock.h"

/* ---- the walker ------------------------------------------------------------ */

static enum verdict verdict_of(int outcome)
{
	return outcome == 1 ? VERDICT_GOOD : outcome == 0 ? VERDICT_SHORT :
	       outcome == -E2BIG ? VERDICT_DEEP : VERDICT_BAD;
}

/* A copy that a sanitizer guards to the byte. */
static uint8_t *copy_of(const uint8_t *bytes, size_t length)
{
	uint8_t *copy = malloc(length > 0 ? length : 1);

	MUST(copy);
	memcpy(copy, bytes, length);
	return copy;
}

/* Show the token at `bytes` cut short before it is shown whole. */
static int walk_cut(struct cbor_walker *walker, const uint8_t *bytes, size_t length,
                    struct cbor_token *token)
{
	unsigned depth = walker->depth;

	for (size_t shown = 0;;) {
		uint8_t *copy = copy_of(bytes, shown);
		int outcome = cbor_walk(walker, copy, shown, token);

		free(copy);
		if (outcome != 0) {
			/* Its data pointed into the copy. */
			if (outcome == 1 && (token->kind == CBOR_BYTES || token->kind == CBOR_TEXT))
				token->data = bytes + token->size - token->length;
			return outcome;
		}
		MUST(token->size > shown && walker->depth == depth);
		if (shown == length)
			return 0;
		shown = token->size < length ? token->size : length;
	}
}

static void check_string_head(const struct cbor_walker *walker, const uint8_t *bytes,
                              size_t length, const struct cbor_token *token)
{
	enum cbor_kind kind;
	uint64_t number;
	size_t head = cbor_string_head(walker, bytes, length, &kind, &number);

	if (token->kind == CBOR_BYTES || token->kind == CBOR_TEXT)
		MUST(head + token->length == token->size && number == token->length &&
		     kind == token->kind);
	else
		MUST(head == 0);
}

/* Walk everything; note where each token ends. */
static enum verdict walk_all(const uint8_t *bytes, size_t length, size_t *items_end, bool *ends)
{
	static struct cbor_walker walker, before;
	struct cbor_token token;
	size_t at = 0;

	cbor_walker_init(&walker);
	*items_end = 0;
	while (at < length) {
		int outcome;

		before.depth = walker.depth;
		memcpy(before.levels, walker.levels, (walker.depth + 1) * sizeof(walker.levels[0]));
		outcome = walk_cut(&walker, bytes + at, length - at, &token);
		if (outcome != 1)
			return verdict_of(outcome);
		check_string_head(&before, bytes + at, length - at, &token);
		at += token.size;
		ends[at] = true;
		if (cbor_walker_idle(&walker))
			*items_end = at;
	}
	return cbor_walker_idle(&walker) ? VERDICT_GOOD : VERDICT_SHORT;
}

/* Runs that see `step` bytes more each time. */
static enum verdict walk_runs(const uint8_t *bytes, size_t length, size_t step, size_t *items_end)
{
	static struct cbor_walker walker;
	size_t at = 0, shown = 0;

	cbor_walker_init(&walker);
	*items_end = 0;
	while (at < length) {
		size_t taken;
		uint8_t *copy = copy_of(bytes + at, shown - at);
		int outcome = cbor_walk_run(&walker, copy, shown - at, &taken);

		free(copy);
		at += taken;
		if (outcome == 1)
			*items_end = at;
		else if (outcome < 0)
			return verdict_of(outcome);
		else if (shown == length)
			return VERDICT_SHORT;
		else
			shown = length - shown > step ? shown + step : length;
	}
	return cbor_walker_idle(&walker) ? VERDICT_GOOD : VERDICT_SHORT;
}

/* ---- JSON ------------------------------------------------------------------- */

static bool json_value(const char **at, const char *end);

static void json_digits(const char **at, const char *end)
{
	while (*at < end && **at >= '0' && **at <= '9')
		++*at;
}

static bool json_number(const char **at, const char *end)
{
	const char *start;

	if (*at < end && **at == '-')
		++*at;
	start = *at;
	json_digits(at, end);
	if (*at == start || (*start == '0' && *at - start > 1))
		return false;
	if (*at < end && **at == '.') {
		start = ++*at;
		json_digits(at, end);
		if (*at == start)
			return false;
	}
	if (*at < end && (**at == 'e' || **at == 'E')) {
		++*at;
		if (*at < end && (**at == '+' || **at == '-'))
			++*at;
		start = *at;
		json_digits(at, end);
		if (*at == start)
			return false;
	}
	return true;
}

static bool json_string(const char **at, const char *end)
{
	const char *start = *at;

	if (*at == end || *(*at)++ != '"')
		return false;
	while (*at < end && **at != '"') {
		if ((unsigned char)**at < 0x20)
			return false;
		if (*(*at)++ == '\\') {
			if (*at == end || !strchr("\"\\bfnrtu", **at))
				return false;
			if (*(*at)++ == 'u' && (end - *at < 4 || memcmp(*at, "00", 2) != 0))
				return false;
		}
	}
	return *at < end && *(*at)++ == '"' &&
	       text_is_good((const uint8_t *)start, (size_t)(*at - start));
}

static bool json_members(const char **at, const char *end, char close, bool keys)
{
	++*at;
	if (*at < end && **at == close) {
		++*at;
		return true;
	}
	for (;;) {
		if (keys && (!json_string(at, end) || *at == end || *(*at)++ != ':'))
			return false;
		if (!json_value(at, end) || *at == end)
			return false;
		if (**at == close) {
			++*at;
			return true;
		}
		if (*(*at)++ != ',')
			return false;
	}
}

static bool json_value(const char **at, const char *end)
{
	static const char *const words[] = { "true", "false", "null" };

	if (*at == end)
		return false;
	if (**at == '{' || **at == '[')
		return json_members(at, end, **at == '{' ? '}' : ']', **at == '{');
	if (**at == '"')
		return json_string(at, end);
	for (size_t i = 0; i < 3; i++) {
		size_t length = strlen(words[i]);

		if ((size_t)(end - *at) >= length && memcmp(*at, words[i], length) == 0) {
			*at += length;
			return true;
		}
	}
	return json_number(at, end);
}

static void check_json(const struct output *output)
{
	const char *at = output->bytes, *end = output->bytes + output->length;

	while (at < end)
		MUST(json_value(&at, end) && at < end && *at++ == '\n');
}

/* ---- sinks ------------------------------------------------------------------- */

/* One message of frames that end where `cuts` says, or of one frame. */
static enum exit_code sink_message(const struct sink *sink, const uint8_t *bytes, size_t length,
                                   const bool *cuts, unsigned every, struct output *output)
{
	struct message_header header = { .size = 0 };
	struct sink_job job = { .output = output, .ring = "fuzz" };
	enum exit_code code;
	size_t start = 0;
	unsigned tokens = 0;

	MUST(sink->open(&job) == 0);
	code = sink->begin(&job, &header);
	for (size_t at = 1; at <= length && code == EXIT_COMPLETE; at++) {
		if (at < length && !(cuts && cuts[at] && ++tokens % every == 0))
			continue;
		uint8_t *copy = copy_of(bytes + start, at - start);
		code = sink->body(&job, copy, at - start);
		free(copy);
		start = at;
	}
	if (code == EXIT_COMPLETE)
		code = sink->finish(&job, true);
	sink->close(&job);
	return code;
}

static void check_sink(const struct sink *sink, const uint8_t *bytes, size_t length,
                       const bool *cuts, unsigned every, enum verdict verdict)
{
	struct output whole = { .length = 0 }, cut = { .length = 0 };
	enum exit_code code = sink_message(sink, bytes, length, NULL, 1, &whole);

	MUST(sink_message(sink, bytes, length, cuts, every, &cut) == code);
	if (sink != &sink_raw && sink != &sink_csv)
		MUST((code == EXIT_COMPLETE) == (verdict == VERDICT_GOOD));
	if (code == EXIT_COMPLETE) {
		MUST(whole.length == cut.length &&
		     (whole.length == 0 || memcmp(whole.bytes, cut.bytes, whole.length) == 0));
		if (sink == &sink_json && whole.length > 0)
			check_json(&whole);
	}
	MUST(whole.length <= 40 * length + 64);
	output_mock_clear(&whole);
	output_mock_clear(&cut);
}

/* If it were a table's: there are as many names as it says. */
static void check_columns(struct message_header *header)
{
	struct columns columns;
	size_t at = 0, text_length;
	uint64_t count = 0;

	header->has_type = true;
	strcpy(header->type, "csv");
	if (columns_find(header, &columns) != 0)
		return;
	for (const uint8_t *name; (name = columns_next(&columns, &at, &text_length)) != NULL; count++)
		MUST(text_is_good(name, text_length));
	MUST(count == columns.count && (count > 0) == (columns.names != NULL));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct message_header header;
	size_t expected_end, end;
	enum verdict expected;
	unsigned step = 1;
	bool *cuts;

	if (length > 0) {
		step = 1u + bytes[0] % 13u;
		bytes++;
		length--;
	}
	if (length > 1 << 16)
		return 0;
	cuts = calloc(length + 1, sizeof(*cuts));
	MUST(cuts);
	expected = check_sequence(bytes, length, &expected_end, NULL);
	MUST(walk_all(bytes, length, &end, cuts) == expected && end == expected_end);
	if (length < 4096)
		MUST(walk_runs(bytes, length, step, &end) == expected && end == expected_end);
	MUST(walk_runs(bytes, length, length, &end) == expected && end == expected_end);

	check_sink(&sink_json, bytes, length, cuts, step, expected);
	check_sink(&sink_diag, bytes, length, cuts, step, expected);
	check_sink(&sink_raw, bytes, length, cuts, step, expected);
	check_sink(&sink_csv, bytes, length, cuts, step, expected);

	if (header_decode(bytes, length, &header) == 0) {
		MUST(expected == VERDICT_GOOD && memchr(header.name, 0, sizeof(header.name)) &&
		     memchr(header.type, 0, sizeof(header.type)));
		check_columns(&header);
	}
	free(cuts);
	return 0;
}
