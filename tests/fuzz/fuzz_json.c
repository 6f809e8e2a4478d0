/*
 * fuzz_json.c - the JSON parser against jansson, and against itself.
 *
 * The first two bytes choose how the rest, the input, is cut up.
 *
 * 1. As one text, it is accepted exactly if jansson accepts it, and the events
 *    say what jansson's tree says.
 * 2. As a sequence of texts, with resuming after faults, events and faults are
 *    the same whatever the buffer's size and however reads cut the input.
 */
// needs: producer/json_parser.c
// libs: -ljansson
#include <stdint.h>

#include <jansson.h>

#include "tests/unit/json_record.h"

#define CHECK(condition) \
	do { \
		if (!(condition)) { \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
			abort(); \
		} \
	} while (0)

/* jansson refuses what it cannot keep: a NUL in a key, a number past a double. */
static bool is_limit_of_jansson(const json_error_t *error)
{
	enum json_error_code code = json_error_code(error);

	return code == json_error_numeric_overflow || code == json_error_null_byte_in_key ||
	       code == json_error_stack_overflow;
}

static void compare_trees(const json_t *tree, const struct json_record *record, size_t flags)
{
	json_error_t error;
	json_t *again;

	if (record->fault_count > 0) {
		CHECK(record->number_too_long || strcmp(record->faults[0].reason, "nested too deep") == 0);
		return;
	}
	again = json_loadb(record->text, record->length, flags, &error);
	CHECK(again != NULL);
	CHECK(json_equal(tree, again));
	json_decref(again);
}

static void compare_with_jansson(const uint8_t *bytes, size_t length)
{
	const size_t flags = JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL;
	size_t mark = length >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
	struct json_record record;
	json_error_t error;
	json_t *tree;

	json_record(&record, bytes, length, &(struct json_feed){ .sequence = false });
	tree = json_loadb((const char *)bytes + mark, length - mark, flags, &error);
	if (memchr(bytes, '\0', length) != NULL)
		CHECK(record.fault_count > 0);  /* jansson loses a NUL behind a number */
	else if (tree != NULL)
		compare_trees(tree, &record, flags);
	else if (record.fault_count == 0)
		CHECK(is_limit_of_jansson(&error));
	json_decref(tree);
	free(record.text);
}

static void compare_cuts(const uint8_t *bytes, size_t length, const struct json_feed *feed)
{
	struct json_record whole, cut;
	const char *differ;

	json_record(&whole, bytes, length, &(struct json_feed){ .sequence = true });
	json_record(&cut, bytes, length, feed);
	differ = json_records_differ(&whole, &cut);
	if (differ != NULL && !whole.number_too_long && !cut.number_too_long) {
		fprintf(stderr, "cuts change: %s\n%s----\n%s", differ, whole.text, cut.text);
		abort();
	}
	free(whole.text);
	free(cut.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct json_feed feed = { .sequence = true };

	if (size < 2)
		return 0;
	feed.buffer_size = JSON_BUFFER_MIN + 2u * data[0];
	feed.most = 1u + data[1];
	data += 2;
	size -= 2;
	compare_with_jansson(data, size);
	compare_cuts(data, size, &feed);
	feed = (struct json_feed){ .buffer_size = JSON_BUFFER_MIN, .most = 1, .sequence = true };
	compare_cuts(data, size, &feed);
	return 0;
}
