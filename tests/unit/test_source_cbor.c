/* test_source_cbor.c - which messages a CBOR sequence becomes. */
// needs: producer/source_cbor.c
#include <check.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "producer/source.h"
#include "ring/ring.h"
#include "shared/cbor_put.h"
#include "shared/cbor_walk.h"
#include "shared/header.h"
#include "shared/log.h"
#include "shared/utf8.h"

#define PIECE_MAX (RING_MIN_SLOT_SIZE / 2)
#define INPUT_MAX (4u << 20)

/* ---- a stream that keeps what is written, an input in memory, a log ------------- */

struct stream_writer {
	uint8_t bodies[INPUT_MAX + 4096], room[1u << 20];
	size_t length;                 /* of all bodies */
	size_t ends[4096], messages;   /* where each finished message's body ends */
	bool open, string_open, string_text;
	size_t string_start, strings;
	size_t given;                  /* room that was given and not filled */
	int error;                     /* what stream_room returns, if not 0 */
	char failed[256];              /* text of stream_fail */
};

static struct stream_writer stream;

struct input_bytes {
	const uint8_t *bytes;
	size_t length, at;
	size_t step;                   /* bytes of a read at most */
	int error;                     /* what a read at the end returns */
};

static struct input_bytes source;
static char fatal[512], warning[512];

void log_fatal(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(fatal, sizeof(fatal), format, arguments);
	va_end(arguments);
}

void log_warning(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(warning, sizeof(warning), format, arguments);
	va_end(arguments);
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
	/* Room is lost. */
	if (partial)
		stream.given = 0;
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

bool stream_is_open(const struct stream_writer *writer)
{
	return writer->open;
}

int stream_begin(struct stream_writer *writer, const void *bytes, size_t length)
{
	struct message_header header;

	ck_assert(!writer->open);
	ck_assert_int_eq(header_decode(bytes, length, &header), 0);
	ck_assert(!header.has_name && !header.has_size && header.has_type);
	ck_assert_str_eq(header.type, "cbor");
	writer->open = true;
	return 0;
}

int stream_room(struct stream_writer *writer, size_t least, uint8_t **room, size_t *length)
{
	ck_assert(writer->open);
	ck_assert_uint_le(least, PIECE_MAX);
	if (writer->error != 0)
		return writer->error;
	*room = writer->room;
	*length = writer->given = sizeof(writer->room);
	return 0;
}

void stream_fill(struct stream_writer *writer, size_t length)
{
	ck_assert_uint_le(length, writer->given);
	ck_assert_uint_le(writer->length + length, sizeof(writer->bodies));
	memcpy(writer->bodies + writer->length, writer->room, length);
	writer->length += length;
	writer->given = 0;
}

int stream_put(struct stream_writer *writer, const void *bytes, size_t length)
{
	uint8_t *room;
	size_t left;
	int error = stream_room(writer, length, &room, &left);

	ck_assert(!writer->string_open);
	if (error == 0) {
		memcpy(room, bytes, length);
		stream_fill(writer, length);
	}
	return error;
}

int stream_finish(struct stream_writer *writer)
{
	ck_assert(writer->open && !writer->string_open);
	writer->open = false;
	writer->ends[writer->messages++] = writer->length;
	return 0;
}

int stream_send(struct stream_writer *writer, const void *header, size_t header_length,
                const void *body, size_t length)
{
	int error = stream_begin(writer, header, header_length);

	if (error == 0)
		error = stream_put(writer, body, length);
	return error == 0 ? stream_finish(writer) : error;
}

int stream_string_begin(struct stream_writer *writer, bool text, bool bulk)
{
	(void)bulk;
	ck_assert(writer->open && !writer->string_open);
	writer->string_open = true;
	writer->string_text = text;
	writer->string_start = writer->length;
	writer->strings++;
	return 0;
}

int stream_string_room(struct stream_writer *writer, size_t least, uint8_t **room, size_t *length)
{
	ck_assert(writer->string_open);
	return stream_room(writer, least, room, length);
}

void stream_string_fill(struct stream_writer *writer, size_t length)
{
	stream_fill(writer, length);
}

int stream_string_put(struct stream_writer *writer, const void *bytes, size_t length)
{
	ck_assert(writer->string_open);
	if (writer->string_text)
		ck_assert_uint_eq(utf8_valid(bytes, length), length);
	ck_assert_uint_le(writer->length + length, sizeof(writer->bodies));
	memcpy(writer->bodies + writer->length, bytes, length);
	writer->length += length;
	return writer->error;
}

/* As one string, however it came. */
int stream_string_end(struct stream_writer *writer)
{
	uint8_t *start = writer->bodies + writer->string_start, head[CBOR_HEAD_MAX];
	size_t length = writer->length - writer->string_start;
	size_t size = (size_t)(cbor_put_head(head, writer->string_text ? CBOR_BYTE_TEXT : CBOR_BYTE_BYTES,
	                                     length) - head);

	memmove(start + size, start, length);
	memcpy(start, head, size);
	writer->length += size;
	writer->string_open = false;
	return 0;
}

int stream_fail(struct stream_writer *writer, int code, const char *text)
{
	ck_assert_int_eq(code, EXIT_BAD_DATA);
	snprintf(writer->failed, sizeof(writer->failed), "%s", text);
	writer->open = writer->string_open = false;
	writer->length = writer->messages > 0 ? writer->ends[writer->messages - 1] : 0;
	return 0;
}

/* ---- running ---------------------------------------------------------------------- */

static const struct source_options strict, skipping = { .skip_bad = true };
static struct source_job job;

static enum exit_code run(const uint8_t *bytes, size_t length, size_t step)
{
	struct input input = { .path = "f" };

	stream.length = stream.messages = stream.strings = stream.given = 0;
	stream.open = stream.string_open = false;
	stream.failed[0] = fatal[0] = warning[0] = '\0';
	source.bytes = bytes;
	source.length = length;
	source.at = 0;
	source.step = step;
	job.stream = &stream;
	job.bad_records = 0;
	return source_cbor.run(&job, &input);
}

static void setup(void)
{
	job.options = &strict;
	stream.error = source.error = 0;
}

/* Sequences. */
static uint8_t bytes[INPUT_MAX];
static size_t size;

static void add(const void *from, size_t length)
{
	ck_assert_uint_le(size + length, sizeof(bytes));
	memcpy(bytes + size, from, length);
	size += length;
}

#define ADD(literal) add(literal, sizeof(literal) - 1)

static void add_head(enum cbor_byte major, uint64_t value)
{
	uint8_t head[CBOR_HEAD_MAX];

	add(head, (size_t)(cbor_put_head(head, major, value) - head));
}

/* A string with a pattern; a text has characters of two and four bytes. */
static void add_string(enum cbor_byte major, size_t length)
{
	static const char pattern[] = "a\xc3\xbc\xf0\x90\x85\x91";
	size_t start;

	add_head(major, length);
	start = size;
	ck_assert_uint_le(size + length, sizeof(bytes));
	for (size_t i = 0; i < length; i++)
		bytes[size++] = major == CBOR_BYTE_TEXT ? (uint8_t)pattern[i % 7] : (uint8_t)(i * 7);
	/* No character may be cut by the end. */
	for (size_t i = length / 7 * 7; major == CBOR_BYTE_TEXT && i < length; i++)
		bytes[start + i] = 'x';
}

static const size_t steps[] = { 4095, 65537, SIZE_MAX, 1, 2, 7 };

/* How many of them: the small ones are for small inputs. */
static size_t steps_count(void)
{
	return size < 1000 ? sizeof(steps) / sizeof(steps[0]) : 3;
}

/* The messages' bodies together are the input. */
static void must_pass(size_t messages)
{
	for (size_t i = 0; i < steps_count(); i++) {
		ck_assert_msg(run(bytes, size, steps[i]) == EXIT_COMPLETE, "%s", fatal);
		ck_assert_uint_eq(stream.messages, messages);
		ck_assert_uint_eq(stream.length, size);
		ck_assert(memcmp(stream.bodies, bytes, size) == 0);
		ck_assert(!stream.open);
	}
}

static void must_refuse(size_t messages, const char *why)
{
	char text[256];

	for (size_t i = 0; i < steps_count(); i++) {
		job.options = &strict;
		ck_assert_int_eq(run(bytes, size, steps[i]), EXIT_BAD_DATA);
		ck_assert_uint_eq(stream.messages, messages);
		snprintf(text, sizeof(text), "cannot parse f: %s", why);
		ck_assert_str_eq(fatal, text);
		ck_assert_str_eq(stream.failed, why);

		job.options = &skipping;
		ck_assert_int_eq(run(bytes, size, steps[i]), EXIT_COMPLETE);
		ck_assert_uint_eq(stream.messages, messages);
		ck_assert_uint_eq(job.bad_records, 1);
		ck_assert(memcmp(warning, text, strlen(text)) == 0 && fatal[0] == '\0');
	}
}

/* ---- tests -------------------------------------------------------------------------- */

START_TEST(an_empty_input_has_no_messages)
{
	size = 0;
	must_pass(0);
}
END_TEST

START_TEST(each_item_is_a_message)
{
	static const size_t ends[] = { 1, 4, 6, 9, 14, 15 };

	size = 0;
	ADD("\x00" "\x19\x01\x00" "\x61" "a" "\x82\x01\x02" "\xbf\x61" "b\x80\xff" "\xf6");
	must_pass(6);
	ck_assert_mem_eq(stream.ends, ends, sizeof(ends));
	ck_assert_uint_eq(stream.strings, 0);
}
END_TEST

START_TEST(items_of_every_size_around_a_piece_pass)
{
	for (size_t length = PIECE_MAX - 12; length < PIECE_MAX + 4; length++) {
		size = 0;
		add_string(CBOR_BYTE_BYTES, length);
		ADD("\x82\x61z");
		add_string(CBOR_BYTE_TEXT, length);
		must_pass(2);
	}
}
END_TEST

START_TEST(long_items_of_small_tokens_pass)
{
	size = 0;
	ADD("\x01\x9f");
	for (unsigned i = 0; i < 100000; i++)
		add_head(CBOR_BYTE_UNSIGNED, i);
	ADD("\xff\x02");
	must_pass(3);
	ck_assert_uint_eq(stream.strings, 0);
}
END_TEST

START_TEST(long_strings_pass_wherever_they_stand)
{
	size = 0;
	add_string(CBOR_BYTE_BYTES, 300000);
	ADD("\x85\x01");
	add_string(CBOR_BYTE_TEXT, 300001);
	add_string(CBOR_BYTE_BYTES, 70000);
	ADD("\x61" "a\xc1");
	add_string(CBOR_BYTE_TEXT, 33000);
	ADD("\xa1");
	add_string(CBOR_BYTE_TEXT, 100);
	add_string(CBOR_BYTE_BYTES, 1000000);
	ADD("\x03");
	must_pass(4);
	ck_assert_uint_eq(stream.strings, 5);
}
END_TEST

START_TEST(chunks_keep_their_bounds_unless_they_are_long)
{
	size = 0;
	ADD("\x5f\x40\x42" "ab\x41" "c\xff");
	ADD("\x7f");
	add_string(CBOR_BYTE_TEXT, 20000);
	add_string(CBOR_BYTE_TEXT, 20001);
	ADD("\xff");
	must_pass(2);
}
END_TEST

START_TEST(long_chunks_are_cut_between_characters)
{
	for (int text = 0; text < 2; text++) {
		static struct cbor_walker walker;
		struct cbor_token token;

		size = 0;
		ADD("\x82");
		add(text ? "\x7f" : "\x5f", 1);
		add_string(text ? CBOR_BYTE_TEXT : CBOR_BYTE_BYTES, 300000);
		ADD("\xff\x05");
		for (size_t i = 0; i < steps_count(); i++) {
			size_t at = 0, data = 0;

			ck_assert_int_eq(run(bytes, size, steps[i]), EXIT_COMPLETE);
			ck_assert_uint_eq(stream.messages, 1);
			/* Well-formed: a cut character would be bad UTF-8. */
			cbor_walker_init(&walker);
			while (at < stream.length) {
				ck_assert_int_eq(cbor_walk(&walker, stream.bodies + at, stream.length - at,
				                           &token), 1);
				at += token.size;
				if (token.kind != CBOR_BYTES && token.kind != CBOR_TEXT)
					continue;
				ck_assert_uint_lt(token.size, PIECE_MAX);
				ck_assert(memcmp(token.data, bytes + 7 + data, token.length) == 0);
				data += token.length;
			}
			ck_assert(cbor_walker_idle(&walker));
			ck_assert_uint_eq(data, 300000);
		}
	}
}
END_TEST

START_TEST(ill_formed_items_are_named_by_byte)
{
	size = 0;
	ADD("\x00\x82\x01\xff\x00");
	must_refuse(1, "byte 3: stray break");
	size = 0;
	ADD("\x1c");
	must_refuse(0, "byte 0: unknown initial byte");
	size = 0;
	ADD("\x01\x02\x5f\x41" "a\x61" "b\xff");
	must_refuse(2, "byte 5: not a chunk of the string's kind");
	/* Past a buffer's worth, and after a long string. */
	size = 0;
	ADD("\x01\x84");
	add_string(CBOR_BYTE_BYTES, 400000);
	add_string(CBOR_BYTE_TEXT, 40000);
	ADD("\x00\xf8\x05");
	must_refuse(1, "byte 440011: simple value below 32 in two bytes");
}
END_TEST

START_TEST(bad_utf8_is_named_by_byte)
{
	size = 0;
	ADD("\x01\x62" "a\xff");
	must_refuse(1, "byte 1: text is not valid UTF-8");
	size = 0;
	add_string(CBOR_BYTE_TEXT, 300000);
	bytes[5 + 7 * 38570] = 0xff;
	must_refuse(0, "byte 269995: text is not valid UTF-8");
	/* The last character is cut by the end of the string. */
	size = 0;
	add_string(CBOR_BYTE_TEXT, 300000);
	bytes[size - 1] = 0xe6;
	ADD("\xb0\xb4");
	must_refuse(0, "byte 300004: text is not valid UTF-8");
	/* And so is one of a long chunk. */
	size = 0;
	ADD("\x7f");
	add_string(CBOR_BYTE_TEXT, 300000);
	bytes[size - 1] = 0xe6;
	ADD("\xff");
	must_refuse(0, "byte 300005: text is not valid UTF-8");
}
END_TEST

START_TEST(a_cut_off_item_is_refused)
{
	size = 0;
	ADD("\x01\x82\x01");
	must_refuse(1, "byte 3: ends within an item");
	size = 0;
	ADD("\x01\x02\x19\x01");
	must_refuse(2, "byte 4: ends within an item");
	size = 0;
	ADD("\xc1");
	must_refuse(0, "byte 1: ends within an item");
	size = 0;
	add_string(CBOR_BYTE_BYTES, 400000);
	size -= 1000;
	must_refuse(0, "byte 399005: ends within an item");
	size = 0;
	add_string(CBOR_BYTE_TEXT, 400000);
	size = 5 + 7 * 10000 + 2;
	must_refuse(0, "byte 70007: ends within an item");
	size = 0;
	ADD("\x5b\xff\xff\xff\xff\xff\xff\xff\xff");
	must_refuse(0, "byte 9: ends within an item");
	add(bytes + 9, 40000);
	must_refuse(0, "byte 40009: ends within an item");
}
END_TEST

START_TEST(failures_of_input_and_stream_are_passed_on)
{
	size = 0;
	ADD("\x01\x82");
	add_string(CBOR_BYTE_BYTES, 400000);
	size -= 10;
	source.error = -EIO;
	ck_assert_int_eq(run(bytes, size, SIZE_MAX), EXIT_SYSTEM);
	ck_assert_uint_eq(stream.messages, 1);
	ck_assert_int_eq(run(bytes, 300000, SIZE_MAX), EXIT_SYSTEM);
	ck_assert_int_eq(run(bytes, 1, SIZE_MAX), EXIT_SYSTEM);
	stream.error = -EPIPE;
	ck_assert_int_eq(run(bytes, size, SIZE_MAX), EXIT_INCOMPLETE);
	ck_assert_uint_eq(stream.messages, 0);
	ck_assert_int_eq(run(bytes + 1, size - 1, SIZE_MAX), EXIT_INCOMPLETE);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("source_cbor");
	TCase *sequences = tcase_create("sequences");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(sequences, setup, NULL);
	tcase_set_timeout(sequences, 60);
	tcase_add_test(sequences, an_empty_input_has_no_messages);
	tcase_add_test(sequences, each_item_is_a_message);
	tcase_add_test(sequences, items_of_every_size_around_a_piece_pass);
	tcase_add_test(sequences, long_items_of_small_tokens_pass);
	tcase_add_test(sequences, long_strings_pass_wherever_they_stand);
	tcase_add_test(sequences, chunks_keep_their_bounds_unless_they_are_long);
	tcase_add_test(sequences, long_chunks_are_cut_between_characters);
	tcase_add_test(sequences, ill_formed_items_are_named_by_byte);
	tcase_add_test(sequences, bad_utf8_is_named_by_byte);
	tcase_add_test(sequences, a_cut_off_item_is_refused);
	tcase_add_test(sequences, failures_of_input_and_stream_are_passed_on);
	suite_add_tcase(suite, sequences);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
