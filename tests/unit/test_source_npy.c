/* test_source_npy.c - which messages NumPy files become, in a ring. */
// needs: producer/source_npy.c tests/unit/ring_fixture.c tests/unit/stream_fixture.c
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "producer/source.h"
#include "shared/cbor_walk.h"
#include "shared/header.h"
#include "shared/log.h"
#include "tests/unit/stream_fixture.h"

#define SLOTS 16u
#define INPUT_MAX (768u << 10)

/* ---- an input in memory, a log ----------------------------------------------------- */

static struct {
	uint8_t bytes[INPUT_MAX];
	size_t length, at;
	size_t step;                   /* bytes of a read at most */
} source;

static char fatal[512];

void log_fatal(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(fatal, sizeof(fatal), format, arguments);
	va_end(arguments);
}

ssize_t input_take(struct input *input, void *buffer, size_t length)
{
	size_t left = source.length - source.at;

	if (length > left)
		length = left;
	if (length > source.step)
		length = source.step;
	memcpy(buffer, source.bytes + source.at, length);
	source.at += length;
	input->taken += length;
	return (ssize_t)length;
}

void input_settle(struct input *input, bool partial)
{
	(void)input;
	(void)partial;
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
	strcpy(header->name, input->name);
}

static void add(const void *bytes, size_t length)
{
	ck_assert_uint_le(source.length + length, sizeof(source.bytes));
	memcpy(source.bytes + source.length, bytes, length);
	source.length += length;
}

/* A file's beginning. */
static void add_header(unsigned major, const char *text)
{
	uint8_t prefix[12] = { 0x93, 'N', 'U', 'M', 'P', 'Y', (uint8_t)major, 0, (uint8_t)strlen(text),
	                       (uint8_t)(strlen(text) >> 8) };

	add(prefix, major == 1 ? 10 : 12);
	add(text, strlen(text));
}

static void add_data(size_t length)
{
	for (size_t i = 0; i < length; i++)
		source.bytes[source.length + i] = (uint8_t)(i * 7 + (i >> 8));
	source.length += length;
}

static void clear(void)
{
	source.length = 0;
}

/* ---- what comes out ------------------------------------------------------------------ */

/* Messages of one run. */
static struct {
	struct message_header header;
	uint8_t encoded[STREAM_HEADER_MAX];
	uint8_t body[INPUT_MAX], data[INPUT_MAX];
	size_t body_length, data_length;
	unsigned messages, strings;
	bool aligned, whole_items;     /* all data; all but the last of each message */
} got;

static void take_body(const uint8_t *bytes, size_t length)
{
	static struct cbor_walker walker;
	struct cbor_token token;

	if (got.body_length == 0)
		cbor_walker_init(&walker);
	memcpy(got.body + got.body_length, bytes, length);
	got.body_length += length;
	for (size_t at = 0; at < length; at += token.size) {
		ck_assert_int_eq(cbor_walk(&walker, bytes + at, length - at, &token), 1);
		if (token.kind != CBOR_BYTES)
			continue;
		got.aligned = got.aligned && (uintptr_t)token.data % 64 == 0;
		got.whole_items = got.whole_items && got.data_length % 16 == 0;
		memcpy(got.data + got.data_length, token.data, token.length);
		got.data_length += token.length;
		got.strings++;
	}
}

static void take_messages(void)
{
	struct stream_item item;

	for (;;) {
		ck_assert_int_eq(stream_next(in, &item), 0);
		switch (item.part) {
		case STREAM_PART_WHOLE:
		case STREAM_PART_BEGIN:
			memcpy(got.encoded, item.header, item.header_length);
			ck_assert_int_eq(header_decode(got.encoded, item.header_length, &got.header), 0);
			got.body_length = got.data_length = 0;
			if (item.part == STREAM_PART_WHOLE)
				take_body(item.bytes, item.length);
			got.messages += item.part == STREAM_PART_WHOLE;
			break;
		case STREAM_PART_BODY:
			take_body(item.bytes, item.length);
			break;
		case STREAM_PART_FINISH:
			got.messages++;
			break;
		case STREAM_PART_FAIL:
			break;
		default:
			return;
		}
	}
}

static enum exit_code run(size_t step, bool regular)
{
	struct source_options options = { .split = true };
	struct source_job job = { .options = &options };
	struct input input = { .path = "f", .name = "f", .fd = -1, .regular = regular, .size = source.length };
	enum exit_code code;

	streams_open(RING_MIN_SLOT_SIZE, SLOTS, true);
	job.stream = input.stream = out;
	source.at = 0;
	source.step = step;
	fatal[0] = '\0';
	memset(&got, 0, sizeof(got));
	got.aligned = got.whole_items = true;
	code = source_npy.run(&job, &input);
	stream_flush(out, false);
	take_messages();
	streams_close();
	return code;
}

static const size_t steps[] = { SIZE_MAX, 1, 7, 4095 };

static void must_refuse(const char *why)
{
	char text[256];

	snprintf(text, sizeof(text), "cannot parse f: %s", why);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		ck_assert_int_eq(run(steps[i], false), EXIT_BAD_DATA);
		ck_assert_str_eq(fatal, text);
	}
}

/* ---- tests ------------------------------------------------------------------------------ */

START_TEST(numbers_become_typed_arrays)
{
	static const struct {
		const char *descr, *heads;
		size_t heads_length, size;
	} types[] = {
		{ "|u1", "\xd8\x28\x82\x82\x02\x03\xd8\x40", 8, 1 },
		{ "|i1", "\xd8\x28\x82\x82\x02\x03\xd8\x48", 8, 1 },
		{ ">u2", "\xd8\x28\x82\x82\x02\x03\xd8\x41", 8, 2 },
		{ "<u8", "\xd8\x28\x82\x82\x02\x03\xd8\x47", 8, 8 },
		{ ">i4", "\xd8\x28\x82\x82\x02\x03\xd8\x4a", 8, 4 },
		{ "<i2", "\xd8\x28\x82\x82\x02\x03\xd8\x4d", 8, 2 },
		{ "<f2", "\xd8\x28\x82\x82\x02\x03\xd8\x54", 8, 2 },
		{ ">f4", "\xd8\x28\x82\x82\x02\x03\xd8\x51", 8, 4 },
		{ "<f8", "\xd8\x28\x82\x82\x02\x03\xd8\x56", 8, 8 },
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		char text[128];

		clear();
		snprintf(text, sizeof(text), "{'descr': '%s', 'fortran_order': False, 'shape': (2, 3), }\n", types[i].descr);
		add_header(1, text);
		add_data(6 * types[i].size);
		for (size_t j = 0; j < sizeof(steps) / sizeof(steps[0]); j++) {
			ck_assert_msg(run(steps[j], false) == EXIT_COMPLETE, "%s", fatal);
			ck_assert_uint_eq(got.messages, 1);
			ck_assert_mem_eq(got.body, types[i].heads, types[i].heads_length);
			ck_assert_uint_eq(got.data_length, 6 * types[i].size);
			ck_assert(memcmp(got.data, source.bytes + source.length - got.data_length, got.data_length) == 0);
		}
	}
}
END_TEST

START_TEST(columns_first_has_a_tag_of_its_own)
{
	clear();
	add_header(2, "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 300), }\n");
	add_data(600);
	ck_assert_int_eq(run(SIZE_MAX, true), EXIT_COMPLETE);
	ck_assert_mem_eq(got.body, "\xd9\x04\x10\x82\x82\x02\x19\x01\x2c\xd8\x40\x59\x02\x58", 14);
}
END_TEST

START_TEST(other_arrays_become_maps)
{
	clear();
	add_header(1, "{'descr': [('\xe9', '<i4')], 'fortran_order': False, 'shape': (), }\n");
	add_data(4);
	ck_assert_int_eq(run(SIZE_MAX, true), EXIT_COMPLETE);
	/* Formats 1.0 and 2.0 are Latin-1, CBOR's texts are UTF-8. */
	ck_assert_mem_eq(got.body, "\xa4\x65" "dtype\x6f[('\xc3\xa9', '<i4')]\x65"
	                 "shape\x80\x65order\x61" "C\x64" "data\x44", 45);
	clear();
	add_header(3, "{'descr': [('\xc3\xa9', '<i4')], 'fortran_order': False, 'shape': (0, 7), }\n");
	ck_assert_int_eq(run(SIZE_MAX, true), EXIT_COMPLETE);
	ck_assert_mem_eq(got.body, "\xa4\x65" "dtype\x6f[('\xc3\xa9', '<i4')]\x65"
	                 "shape\x82\x00\x07\x65order\x61" "C\x64" "data\x40", 47);
	/* What RFC 8746 has no word for. */
	clear();
	add_header(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (0,), }\n");
	ck_assert_int_eq(run(SIZE_MAX, true), EXIT_COMPLETE);
	ck_assert_mem_eq(got.body, "\xa4\x65" "dtype\x63<f8\x65" "shape\x81\x00", 18);
}
END_TEST

START_TEST(the_header_says_what_stood_before_the_data)
{
	const uint8_t *bytes;
	size_t length;

	clear();
	add_header(1, "{'descr': \"<c8\", 'shape': (1,), 'fortran_order': False}");
	add_data(8);
	ck_assert_int_eq(run(SIZE_MAX, true), EXIT_COMPLETE);
	ck_assert_str_eq(got.header.type, "npy");
	ck_assert_str_eq(got.header.name, "f");
	bytes = header_find(&got.header, "dtype", true, &length);
	ck_assert_uint_eq(length, 3);
	ck_assert_mem_eq(bytes, "<c8", 3);
	bytes = header_find(&got.header, "npy", false, &length);
	ck_assert_uint_eq(length, source.length - 8);
	ck_assert_mem_eq(bytes, source.bytes, length);
}
END_TEST

START_TEST(a_long_header_is_not_kept)
{
	static char text[65536];
	size_t length;

	snprintf(text, sizeof(text), "{'descr': '|u1', 'fortran_order': False, 'shape': (1,), }%*s", 20000, "");
	clear();
	add_header(1, text);
	add_data(1);
	ck_assert_int_eq(run(SIZE_MAX, true), EXIT_COMPLETE);
	ck_assert_ptr_null(header_find(&got.header, "npy", false, &length));
	/* A long type is only in the body. */
	length = (size_t)sprintf(text, "{'descr': [");
	for (unsigned i = 0; i < 500; i++)
		length += (size_t)sprintf(text + length, "('f%05u', '|i1'), ", i);
	sprintf(text + length, "], 'fortran_order': False, 'shape': (1,), }");
	clear();
	add_header(1, text);
	add_data(500);
	ck_assert_int_eq(run(SIZE_MAX, true), EXIT_COMPLETE);
	ck_assert_ptr_null(header_find(&got.header, "dtype", true, &length));
	ck_assert_ptr_nonnull(header_find(&got.header, "npy", false, &length));
	ck_assert_uint_eq(got.data_length, 500);
}
END_TEST

START_TEST(long_data_are_aligned_and_no_number_is_cut)
{
	clear();
	add_header(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (60001,), }\n");
	add_data(60001 * 8);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		ck_assert_int_eq(run(steps[i], i % 2), EXIT_COMPLETE);
		ck_assert_uint_eq(got.messages, 1);
		ck_assert(got.aligned && got.whole_items);
		ck_assert_uint_ge(got.strings, 8);
		ck_assert_uint_eq(got.data_length, 60001 * 8);
		ck_assert(memcmp(got.data, source.bytes + source.length - got.data_length, got.data_length) == 0);
	}
}
END_TEST

START_TEST(arrays_may_follow_each_other)
{
	clear();
	for (unsigned i = 0; i < 3; i++) {
		add_header(1 + i, "{'descr': '<i4', 'fortran_order': False, 'shape': (5,), }\n");
		add_data(20);
	}
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		ck_assert_int_eq(run(steps[i], i % 2), EXIT_COMPLETE);
		ck_assert_uint_eq(got.messages, 3);
	}
	add("x", 1);
	must_refuse("byte 268: bytes after the array that are no other array");
}
END_TEST

START_TEST(what_is_no_array_is_refused_with_its_place)
{
	clear();
	must_refuse("byte 0: ends within the magic string");
	add("\x93NUMPZ\1\0abcd", 12);
	must_refuse("byte 0: not a NumPy array file (no magic string)");
	clear();
	add_header(1, "{'descr': '|O', 'fortran_order': False, 'shape': (5,), }\n");
	must_refuse("byte 21: an array of Python objects (a pickle)");
	clear();
	add_header(3, "{'descr': [('\xe9', '|i1')], 'fortran_order': False, 'shape': (5,), }\n");
	must_refuse("byte 25: the header is not valid UTF-8");
	clear();
	add_header(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (100,), }\n");
	add_data(99);
	must_refuse("byte 169: ends within the data");
	/* Of a file whose size is known it is told before anything is sent. */
	ck_assert_int_eq(run(SIZE_MAX, true), EXIT_BAD_DATA);
	ck_assert_str_eq(fatal, "cannot parse f: byte 70: the header says that 100 bytes of data follow; there are 99");
	ck_assert_uint_eq(got.body_length, 0);
}
END_TEST

START_TEST(a_file_cut_anywhere_is_refused)
{
	clear();
	add_header(2, "{'descr': '<i2', 'fortran_order': False, 'shape': (5,), }\n");
	add_data(10);
	ck_assert_int_eq(run(SIZE_MAX, false), EXIT_COMPLETE);
	while (source.length > 0) {
		source.length--;
		for (int regular = 0; regular < 2; regular++) {
			ck_assert_msg(run(SIZE_MAX, regular) == EXIT_BAD_DATA, "%zu", source.length);
			ck_assert_uint_eq(got.messages, 0);
		}
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("source_npy");
	TCase *arrays = fixture_case(suite, "arrays");

	tcase_add_test(arrays, numbers_become_typed_arrays);
	tcase_add_test(arrays, columns_first_has_a_tag_of_its_own);
	tcase_add_test(arrays, other_arrays_become_maps);
	tcase_add_test(arrays, the_header_says_what_stood_before_the_data);
	tcase_add_test(arrays, a_long_header_is_not_kept);
	tcase_add_test(arrays, long_data_are_aligned_and_no_number_is_cut);
	tcase_add_test(arrays, arrays_may_follow_each_other);
	tcase_add_test(arrays, what_is_no_array_is_refused_with_its_place);
	tcase_add_test(arrays, a_file_cut_anywhere_is_refused);
	return fixture_run(suite);
}
