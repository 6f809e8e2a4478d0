/* test_source_csv.c - which messages CSV becomes. */
// needs: producer/source_csv.c producer/csv_parser.c producer/csv_infer.c producer/recode.c
#include <check.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "producer/recode.h"
#include "producer/source.h"
#include "ring/ring.h"
#include "shared/cbor_walk.h"
#include "shared/columns.h"
#include "shared/log.h"

#define PIECE_MAX (RING_MIN_SLOT_SIZE / 2)
#define BODY_MAX (8u << 20)
#define ROOM_MAX (70u << 10)

/* ---- a stream that keeps what is written, an input in memory, a log ------------- */

struct stream_writer {
	uint8_t body[BODY_MAX], room[ROOM_MAX], header[STREAM_HEADER_MAX];
	size_t length, header_length;
	size_t room_left;              /* bytes of the slot */
	size_t given;                  /* room that was given and not filled */
	unsigned messages, begun;
	bool open;
	char failed[256];              /* text of stream_fail */
};

static struct stream_writer stream;

static struct {
	const uint8_t *bytes;
	size_t length, at;
	size_t step;                   /* bytes of a read at most */
	int error;                     /* what a read at the end returns */
} source;

static char fatal[512], warnings[4096];

void log_fatal(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(fatal, sizeof(fatal), format, arguments);
	va_end(arguments);
}

void log_warning(const char *format, ...)
{
	size_t used = strlen(warnings);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(warnings + used, sizeof(warnings) - used, format, arguments);
	va_end(arguments);
	strncat(warnings, "\n", sizeof(warnings) - strlen(warnings) - 1);
}

ssize_t input_take(struct input *input, void *buffer, size_t length)
{
	size_t left = source.length - source.at;

	(void)input;
	if (left == 0)
		return source.error;
	if (length > left)
		length = left;
	if (length > source.step)
		length = source.step;
	memcpy(buffer, source.bytes + source.at, length);
	source.at += length;
	return (ssize_t)length;
}

void input_settle(struct input *input, bool partial)
{
	(void)input;
	/* Room would be lost, and what is in it. */
	ck_assert(!partial || stream.given == 0);
}

enum exit_code source_input_failed(const struct input *input, int error)
{
	(void)input;
	ck_assert_int_lt(error, 0);
	return EXIT_SYSTEM;
}

enum exit_code source_stream_failed(int error)
{
	ck_assert_int_lt(error, 0);
	return EXIT_INCOMPLETE;
}

void source_name_header(const struct input *input, struct message_header *header)
{
	header->has_name = true;
	strcpy(header->name, input->path);
}

bool stream_is_open(const struct stream_writer *writer)
{
	return writer->open;
}

int stream_begin(struct stream_writer *writer, const void *bytes, size_t length)
{
	ck_assert(!writer->open);
	ck_assert_uint_le(length, STREAM_HEADER_MAX);
	memcpy(writer->header, bytes, length);
	writer->header_length = length;
	writer->open = true;
	writer->begun++;
	return 0;
}

int stream_room(struct stream_writer *writer, size_t least, uint8_t **room, size_t *length)
{
	ck_assert(writer->open);
	ck_assert_uint_le(least, PIECE_MAX);
	if (writer->room_left < least)
		writer->room_left = 60001;
	*room = writer->room;
	*length = writer->given = writer->room_left;
	return 0;
}

void stream_fill(struct stream_writer *writer, size_t length)
{
	ck_assert_uint_le(length, writer->given);
	ck_assert_uint_le(writer->length + length, sizeof(writer->body));
	memcpy(writer->body + writer->length, writer->room, length);
	writer->length += length;
	writer->room_left -= length;
	writer->given = 0;
	memset(writer->room, 0xff, length);
}

int stream_put(struct stream_writer *writer, const void *bytes, size_t length)
{
	uint8_t *room;
	size_t left;
	int error = stream_room(writer, length, &room, &left);

	if (error == 0) {
		memcpy(room, bytes, length);
		stream_fill(writer, length);
	}
	return error;
}

int stream_finish(struct stream_writer *writer)
{
	ck_assert(writer->open);
	writer->open = false;
	writer->messages++;
	return 0;
}

int stream_fail(struct stream_writer *writer, int code, const char *text)
{
	ck_assert(writer->open);
	ck_assert_int_eq(code, EXIT_BAD_DATA);
	snprintf(writer->failed, sizeof(writer->failed), "%s", text);
	writer->open = false;
	return 1;
}

/* ---- running it --------------------------------------------------------------- */

static struct source_options options;
static struct source_job job;

static void usual_options(void)
{
	options = (struct source_options){ .csv_header = true, .delimiter = ',', .quote = '"' };
}

static enum exit_code run(const void *bytes, size_t length, size_t step)
{
	struct input input = { .path = "a.csv" };

	memset(&stream, 0, sizeof(stream));
	memset(&job, 0, sizeof(job));
	source.bytes = bytes;
	source.length = length;
	source.at = 0;
	source.step = step > 0 ? step : length + 1;
	source.error = 0;
	fatal[0] = warnings[0] = '\0';
	job.stream = &stream;
	job.options = &options;
	return source_csv.run(&job, &input);
}

static enum exit_code run_text(const char *text)
{
	return run(text, strlen(text), 0);
}

static char *show_token(char *out, const struct cbor_token *token)
{
	switch (token->kind) {
	case CBOR_TEXT:
		return out + sprintf(out, "%s%.*s%s", token->chunk ? "" : "\"", (int)token->length,
		                     (const char *)token->data, token->chunk ? "" : "\"");
	case CBOR_UNSIGNED:
		return out + sprintf(out, "%llu", (unsigned long long)token->number);
	case CBOR_FLOAT:
		return out + sprintf(out, "%.17g", token->real);
	case CBOR_SIMPLE:
		return out + sprintf(out, "%s", token->number == 22 ? "null" : token->number == 21 ? "true" : "false");
	case CBOR_ARRAY:
		return out + sprintf(out, "[");
	default:
		return out;
	}
}

/* The rows, as JSON; what came in chunks has no quotes. */
static const char *body(void)
{
	static char text[BODY_MAX + 4096];
	static struct cbor_walker walker;
	struct cbor_token token;
	char *out = text;

	cbor_walker_init(&walker);
	for (size_t at = 0; at < stream.length; at += token.size) {
		unsigned before = walker.depth;

		ck_assert_int_eq(cbor_walk(&walker, stream.body + at, stream.length - at, &token), 1);
		ck_assert(before > 0 || token.kind == CBOR_ARRAY);
		if (before == 1 && token.kind != CBOR_BREAK && out[-1] != '[')
			*out++ = ',';
		out = show_token(out, &token);
		if (cbor_walker_idle(&walker))
			*out++ = ']';
	}
	ck_assert(cbor_walker_idle(&walker));
	*out = '\0';
	return text;
}

static const struct columns *columns(void)
{
	static struct message_header header;
	static struct columns found;

	ck_assert_int_eq(header_decode(stream.header, stream.header_length, &header), 0);
	ck_assert_str_eq(header.type, "csv");
	ck_assert_str_eq(header.name, "a.csv");
	ck_assert_int_eq(columns_find(&header, &found), 0);
	return &found;
}

/* Names, each followed by a slash. */
static const char *names(void)
{
	static char text[COLUMNS_MAX];
	const struct columns *found = columns();
	const uint8_t *name;
	size_t at = 0, length;

	text[0] = '\0';
	while ((name = columns_next(found, &at, &length)) != NULL)
		sprintf(text + strlen(text), "%.*s/", (int)length, (const char *)name);
	return text;
}

START_TEST(rows_are_arrays_of_texts_and_names_are_in_the_header)
{
	usual_options();
	ck_assert_int_eq(run_text("a,b\n1,x\n\"2\",\n"), EXIT_COMPLETE);
	ck_assert_str_eq(names(), "a/b/");
	ck_assert_uint_eq(columns()->count, 2);
	ck_assert_str_eq(body(), "[\"1\",\"x\"][\"2\",\"\"]");
	ck_assert_uint_eq(stream.messages, 1);
	/* A row costs one byte more than its texts. */
	ck_assert_uint_eq(stream.length, (1 + 2 + 2) + (1 + 2 + 1));
	ck_assert_int_eq(columns()->delimiter, ',');
	ck_assert_int_eq(columns()->quote, '"');
	ck_assert_int_eq(run_text("a,b"), EXIT_COMPLETE);
	ck_assert_str_eq(names(), "a/b/");
	ck_assert_str_eq(body(), "");
	ck_assert_uint_eq(stream.messages, 1);
}
END_TEST

START_TEST(without_names_all_lines_are_rows)
{
	usual_options();
	options.csv_header = false;
	ck_assert_int_eq(run_text("a,b\n1,x\n"), EXIT_COMPLETE);
	ck_assert_ptr_null(columns()->names);
	ck_assert_str_eq(body(), "[\"a\",\"b\"][\"1\",\"x\"]");
	ck_assert_int_eq(run_text(""), EXIT_COMPLETE);
	ck_assert_str_eq(body(), "");
	ck_assert_uint_eq(stream.messages, 1);
	/* The first good row decides. */
	options.skip_bad = true;
	ck_assert_int_eq(run_text("a\"\n1,x\n2\n3,y\n"), EXIT_COMPLETE);
	ck_assert_str_eq(body(), "[\"1\",\"x\"][\"3\",\"y\"]");
	ck_assert_uint_eq(job.bad_records, 2);
}
END_TEST

START_TEST(fields_are_inferred_on_request)
{
	usual_options();
	options.infer = true;
	ck_assert_int_eq(run_text("1,b\n1,x\n\"2\",\n1.5,true\n007,\"\"\n"), EXIT_COMPLETE);
	ck_assert_str_eq(names(), "1/b/");
	ck_assert_str_eq(body(), "[1,\"x\"][\"2\",null][1.5,true][\"007\",\"\"]");
}
END_TEST

START_TEST(other_delimiters_and_quotes_are_told)
{
	usual_options();
	options.delimiter = '\t';
	options.quote = '\0';
	ck_assert_int_eq(run_text("a\tb\n1\t\"x\n"), EXIT_COMPLETE);
	ck_assert_str_eq(body(), "[\"1\",\"\"x\"]");
	ck_assert_int_eq(columns()->delimiter, '\t');
	ck_assert_int_eq(columns()->quote, '\0');
	options.quote = '\'';
	ck_assert_int_eq(run_text("a\tb\n1\t'x\t'\n"), EXIT_COMPLETE);
	ck_assert_str_eq(body(), "[\"1\",\"x\t\"]");
	ck_assert_int_eq(columns()->quote, '\'');
}
END_TEST

START_TEST(a_bad_row_ends_it)
{
	usual_options();
	ck_assert_int_eq(run_text("a,b\n1,x\n2\n3,z\n"), EXIT_BAD_DATA);
	ck_assert_str_eq(fatal, "cannot parse a.csv: line 3, column 2: row of 1 field, not 2");
	ck_assert_str_eq(stream.failed, "line 3, column 2: row of 1 field, not 2");
	ck_assert_uint_eq(stream.messages, 0);
	ck_assert_int_eq(run_text("a\"b\n1\n"), EXIT_BAD_DATA);
	ck_assert_uint_eq(stream.begun, 0);
}
END_TEST

START_TEST(bad_rows_are_skipped_and_counted_on_request)
{
	usual_options();
	options.skip_bad = true;
	ck_assert_int_eq(run_text("a,b\n1,x\n2\n3,z,\n4,\"w\"!\n\xff,\n5,v\n"), EXIT_COMPLETE);
	ck_assert_str_eq(body(), "[\"1\",\"x\"][\"5\",\"v\"]");
	ck_assert_uint_eq(job.bad_records, 4);
	ck_assert_str_eq(fatal, "");
	ck_assert_ptr_nonnull(strstr(warnings, "line 5, column 6: text behind a closing quote; skipped\n"));
	ck_assert_ptr_nonnull(strstr(warnings, "line 6, column 1: bytes that are not UTF-8; skipped\n"));
}
END_TEST

START_TEST(without_good_names_there_is_no_table)
{
	usual_options();
	ck_assert_int_eq(run_text(""), EXIT_BAD_DATA);
	ck_assert_str_eq(fatal, "cannot parse a.csv: line 1, column 1: no column names: there is nothing in it");
	options.skip_bad = true;
	ck_assert_int_eq(run_text("a,b\"\n1,2\n"), EXIT_COMPLETE);
	ck_assert_uint_eq(job.bad_records, 1);
	ck_assert_uint_eq(stream.begun, 0);
	ck_assert_ptr_nonnull(strstr(warnings, "all that follows in it is skipped"));
}
END_TEST

START_TEST(names_may_be_many_but_not_too_many)
{
	char *text = malloc(200000), *at = text;

	usual_options();
	for (unsigned i = 0; i < 4000; i++)
		at += sprintf(at, "%s%u", i ? "," : "", i);
	ck_assert_int_eq(run(text, (size_t)(at - text), 0), EXIT_COMPLETE);
	ck_assert_uint_eq(columns()->count, 4000);
	for (unsigned i = 4000; i < 9000; i++)
		at += sprintf(at, ",%u", i);
	ck_assert_int_eq(run(text, (size_t)(at - text), 0), EXIT_BAD_DATA);
	ck_assert_ptr_nonnull(strstr(fatal, "--csv-header no"));
	options.csv_header = false;
	ck_assert_int_eq(run(text, (size_t)(at - text), 0), EXIT_COMPLETE);
	free(text);
}
END_TEST

/* ---- reads, rooms, rows that are long -------------------------------------------- */

/* Rows of numbers and a text that grows; every `bad`-th one is bad. */
static size_t make_rows(char *out, unsigned rows, size_t longest, unsigned bad, char *expected)
{
	char *at = out;

	at += sprintf(at, "number,text\n");
	for (unsigned i = 0; i < rows; i++) {
		size_t length = (size_t)i * 7919 % (longest + 1);
		bool is_bad = bad > 0 && i % bad == bad - 1;

		at += sprintf(at, "%u,", i);
		memset(at, 'a' + (int)(i % 26), length);
		if (!is_bad) {
			expected += sprintf(expected, "[\"%u\",%s%.*s%s]", i, length > 16384 ? "" : "\"",
			                    (int)length, at, length > 16384 ? "" : "\"");
		}
		at += length;
		at += sprintf(at, is_bad ? ",\n" : "\n");
	}
	*expected = '\0';
	return (size_t)(at - out);
}

START_TEST(neither_reads_nor_rooms_change_anything)
{
	static char input[BODY_MAX], expected[BODY_MAX];
	static const size_t steps[] = { 0, 1, 7, 4096, 100000 };

	usual_options();
	options.skip_bad = true;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		size_t length = make_rows(input, 1000, 100, 5, expected);

		ck_assert_int_eq(run(input, length, steps[i]), EXIT_COMPLETE);
		ck_assert_str_eq(body(), expected);
		ck_assert_uint_eq(job.bad_records, 200);
		if (steps[i] == 1)
			continue;
		length = make_rows(input, 40, 200000, 5, expected);
		ck_assert_int_eq(run(input, length, steps[i]), EXIT_COMPLETE);
		ck_assert_str_eq(body(), expected);
		ck_assert_uint_eq(job.bad_records, 8);
	}
}
END_TEST

START_TEST(a_row_of_any_length_passes)
{
	static char input[BODY_MAX], expected[BODY_MAX];
	size_t length = make_rows(input, 1, 0, 0, expected);

	usual_options();
	memset(input + length, 'x', 3u << 20);
	memcpy(input + length + (3u << 20), ",y\nz,w\n", 7);
	ck_assert_int_eq(run(input, length + (3u << 20) + 7, 0), EXIT_COMPLETE);
	ck_assert_uint_gt(strlen(body()), 3u << 20);
	ck_assert_str_eq(body() + strlen(body()) - 13, "x,\"y\"][\"z\",\"w\"]" + 2);
}
END_TEST

START_TEST(a_bad_row_that_was_sent_takes_the_message_along)
{
	static char input[BODY_MAX];
	size_t at = (size_t)sprintf(input, "a,b\n1,2\n\"");

	usual_options();
	options.skip_bad = true;
	memset(input + at, 'x', 1u << 20);
	at += 1u << 20;
	at += (size_t)sprintf(input + at, "\"!,\n3,4\n");
	ck_assert_int_eq(run(input, at, 0), EXIT_COMPLETE);
	ck_assert_uint_eq(job.bad_records, 1);
	ck_assert_uint_eq(stream.messages, 0);
	ck_assert_ptr_nonnull(strstr(stream.failed, "text behind a closing quote"));
	ck_assert_ptr_nonnull(strstr(warnings, "all that follows in it is skipped"));
}
END_TEST

/* ---- encodings -------------------------------------------------------------------- */

START_TEST(other_encodings_become_utf8)
{
	static const char utf16[] = "\xff\xfe" "a\0\n\0\xac\x20\"\0x\0\"\0\n\0\x3d\xd8\x00\xde";
	static const char sjis[] = "a\n\x82\xa0\n";

	usual_options();
	options.encoding = "latin1";
	ck_assert_int_eq(run_text("a,b\xe9\n\xff,\xe4\xf6\n"), EXIT_COMPLETE);
	ck_assert_str_eq(names(), "a/b\xc3\xa9/");
	ck_assert_str_eq(body(), "[\"\xc3\xbf\",\"\xc3\xa4\xc3\xb6\"]");
	options.encoding = "SHIFT-JIS";
	for (size_t step = 0; step < 3; step++) {
		ck_assert_int_eq(run(sjis, sizeof(sjis) - 1, step), EXIT_COMPLETE);
		ck_assert_str_eq(body(), "[\"\xe3\x81\x82\"]");
	}
	options.encoding = "UTF-16";
	options.skip_bad = true;
	for (size_t step = 0; step < 4; step++) {
		ck_assert_int_eq(run(utf16, sizeof(utf16) - 1, step), EXIT_COMPLETE);
		ck_assert_str_eq(names(), "a/");
		ck_assert_str_eq(body(), "[\"\xf0\x9f\x98\x80\"]");
		ck_assert_uint_eq(job.bad_records, 1);
	}
}
END_TEST

START_TEST(what_is_not_of_the_encoding_is_named)
{
	/* A lone surrogate; half a character at the end. */
	static const char lone[] = "a\0\n\0\x00\xd8\n\0b\0\n\0", half[] = "a\0\n\0b\0\n\0c";

	usual_options();
	options.encoding = "UTF-16LE";
	ck_assert_int_eq(run(lone, sizeof(lone) - 1, 0), EXIT_BAD_DATA);
	ck_assert_str_eq(fatal, "cannot parse a.csv: line 2, column 1: bytes that are not UTF-16LE");
	ck_assert_int_eq(run(half, sizeof(half) - 1, 0), EXIT_BAD_DATA);
	ck_assert_str_eq(fatal, "cannot parse a.csv: line 3, column 1: bytes that are not UTF-16LE");
	options.skip_bad = true;
	for (size_t step = 0; step < 4; step++) {
		ck_assert_int_eq(run(lone, sizeof(lone) - 1, step), EXIT_COMPLETE);
		ck_assert_str_eq(body(), "[\"b\"]");
	}
	options.encoding = "ASCII";
	ck_assert_int_eq(run_text("a\nb\n\xe9\nc\n"), EXIT_COMPLETE);
	ck_assert_str_eq(body(), "[\"b\"][\"c\"]");
}
END_TEST

START_TEST(encodings_are_known_or_not)
{
	ck_assert(recode_knows("latin1"));
	ck_assert(recode_knows("UTF-16"));
	ck_assert(!recode_knows("latin-one"));
}
END_TEST

START_TEST(an_input_that_cannot_be_read_is_told)
{
	struct input input = { .path = "a.csv" };

	usual_options();
	run_text("a,b\n");
	memset(&stream, 0, sizeof(stream));
	source.at = 0;
	source.error = -EIO;
	ck_assert_int_eq(source_csv.run(&job, &input), EXIT_SYSTEM);
	options.encoding = "latin1";
	memset(&stream, 0, sizeof(stream));
	source.at = 0;
	ck_assert_int_eq(source_csv.run(&job, &input), EXIT_SYSTEM);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("source_csv");
	TCase *all = tcase_create("source_csv");
	SRunner *runner;
	int failed;

	tcase_add_test(all, rows_are_arrays_of_texts_and_names_are_in_the_header);
	tcase_add_test(all, without_names_all_lines_are_rows);
	tcase_add_test(all, fields_are_inferred_on_request);
	tcase_add_test(all, other_delimiters_and_quotes_are_told);
	tcase_add_test(all, a_bad_row_ends_it);
	tcase_add_test(all, bad_rows_are_skipped_and_counted_on_request);
	tcase_add_test(all, without_good_names_there_is_no_table);
	tcase_add_test(all, names_may_be_many_but_not_too_many);
	tcase_add_test(all, neither_reads_nor_rooms_change_anything);
	tcase_add_test(all, a_row_of_any_length_passes);
	tcase_add_test(all, a_bad_row_that_was_sent_takes_the_message_along);
	tcase_add_test(all, other_encodings_become_utf8);
	tcase_add_test(all, what_is_not_of_the_encoding_is_named);
	tcase_add_test(all, encodings_are_known_or_not);
	tcase_add_test(all, an_input_that_cannot_be_read_is_told);
	suite_add_tcase(suite, all);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
