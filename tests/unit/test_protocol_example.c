/*
 * test_protocol_example.c - the bytes that docs/protocol.md shows are the ones
 * that the library writes, and reads.
 *
 * The document's example is its block "```hex": lines of an offset, bytes, and
 * after two blanks what they are.
 */
// needs: tests/unit/ring_fixture.c
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/header.h"
#include "shared/stream.h"
#include "tests/unit/ring_fixture.h"

#define EXAMPLE_MAX 1024

static uint8_t example[EXAMPLE_MAX];
static size_t example_length;

/* ---- the document -------------------------------------------------------------------- */

/* This program is build/VARIANT/unit/NAME. */
static FILE *document_open(void)
{
	char path[PATH_MAX + 32];
	ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);

	ck_assert_int_gt(length, 0);
	path[length] = '\0';
	for (int i = 0; i < 4; i++)
		*strrchr(path, '/') = '\0';
	strcat(path, "/docs/protocol.md");
	return fopen(path, "re");
}

static void line_take(const char *line)
{
	char *at;

	ck_assert_uint_eq(strtoul(line, &at, 16), example_length);
	while (at[0] == ' ' && isxdigit((unsigned char)at[1])) {
		ck_assert_uint_lt(example_length, EXAMPLE_MAX);
		example[example_length++] = (uint8_t)strtoul(at, &at, 16);
	}
}

static void document_read(void)
{
	FILE *document = document_open();
	char line[256];
	bool within = false;

	ck_assert_ptr_nonnull(document);
	example_length = 0;
	while (fgets(line, sizeof line, document) != NULL) {
		if (within && strncmp(line, "```", 3) == 0)
			break;
		if (within)
			line_take(line);
		within = within || strcmp(line, "```hex\n") == 0;
	}
	fclose(document);
	ck_assert_uint_gt(example_length, 0);
}

/* ---- the library ----------------------------------------------------------------------- */

static size_t header_of(const char *name, const char *type, uint64_t size, uint8_t *out)
{
	static struct message_header header;

	header.has_type = true;
	strcpy(header.type, type);
	header.has_name = header.has_size = name != NULL;
	strcpy(header.name, name != NULL ? name : "");
	header.size = size;
	return header_encode(&header, out);
}

static void send_whole(struct stream_writer *stream, const char *name, const char *type, uint64_t size,
                       const char *body, size_t length)
{
	uint8_t header[256];

	ck_assert_int_eq(stream_send(stream, header, header_of(name, type, size, header), body, length), 0);
}

/* A byte string that is published before it ends. */
static void begin_chunked(struct stream_writer *stream)
{
	uint8_t header[256];

	ck_assert_int_eq(stream_begin(stream, header, header_of(NULL, "raw", 0, header)), 0);
	ck_assert_int_eq(stream_string_begin(stream, false, true), 0);
	ck_assert_int_eq(stream_string_put(stream, "slu", 3), 0);
	stream_flush(stream, true);
}

START_TEST(the_library_writes_the_bytes_of_the_document)
{
	struct ring_writer *writer = make_ring(2);
	struct ring_reader *reader = join_ring();
	struct stream_writer *stream;
	const uint8_t *bytes;
	size_t length;

	ck_assert_int_eq(stream_writer_open(&stream, writer, true), 0);
	send_whole(stream, "hello.txt", "raw", 6, "\x46hello\n", 7);
	send_whole(stream, NULL, "json", 0, "\xa1\x61" "a\x82\x01\xf9\x41\x00", 8);
	begin_chunked(stream);
	ck_assert_int_eq(stream_string_put(stream, "ice", 3), 0);
	ck_assert_int_eq(stream_string_end(stream), 0);
	ck_assert_int_eq(stream_finish(stream), 0);
	begin_chunked(stream);
	ck_assert_int_eq(stream_fail(stream, 4, "no more"), 1);
	stream_flush(stream, false);

	ck_assert_int_eq(ring_reader_peek(reader, &bytes, &length), RING_DATA);
	ck_assert_uint_eq(length, example_length);
	ck_assert_mem_eq(bytes, example, length);

	stream_writer_close(stream);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

static void expect_next(struct stream_reader *stream, struct stream_item *item, enum stream_part part)
{
	ck_assert_int_eq(stream_next(stream, item), 0);
	ck_assert_int_eq(item->part, part);
}

static void expect_body(const struct stream_item *item, const char *body, size_t length)
{
	ck_assert_uint_eq(item->length, length);
	ck_assert_mem_eq(item->bytes, body, length);
}

static void expect_header(const struct stream_item *item, const char *name, const char *type)
{
	static struct message_header header;

	ck_assert_int_eq(header_decode(item->header, item->header_length, &header), 0);
	ck_assert_str_eq(header.type, type);
	ck_assert_str_eq(header.name, name);
}

START_TEST(the_library_reads_the_bytes_of_the_document)
{
	struct ring_writer *writer = make_ring(2);
	struct ring_reader *reader = join_ring();
	struct stream_reader *stream;
	struct stream_item item;
	uint8_t *room;
	size_t length;

	ck_assert_int_eq(ring_writer_claim(writer, example_length, &room, &length), 0);
	memcpy(room, example, example_length);
	ring_writer_commit(writer, example_length);
	ring_writer_end(writer, RING_COMPLETE, 0);

	ck_assert_int_eq(stream_reader_open(&stream, reader, false), 0);
	expect_next(stream, &item, STREAM_PART_WHOLE);
	expect_header(&item, "hello.txt", "raw");
	expect_body(&item, "\x46hello\n", 7);
	expect_next(stream, &item, STREAM_PART_WHOLE);
	expect_header(&item, "", "json");
	expect_body(&item, "\xa1\x61" "a\x82\x01\xf9\x41\x00", 8);
	expect_next(stream, &item, STREAM_PART_BEGIN);
	expect_header(&item, "", "raw");
	expect_next(stream, &item, STREAM_PART_BODY);
	expect_body(&item, "\x5f\x5a\0\0\0\3slu", 9);
	expect_next(stream, &item, STREAM_PART_BODY);
	expect_body(&item, "\x5a\0\0\0\3ice\xff", 9);
	expect_next(stream, &item, STREAM_PART_FINISH);
	expect_next(stream, &item, STREAM_PART_BEGIN);
	expect_next(stream, &item, STREAM_PART_BODY);
	expect_next(stream, &item, STREAM_PART_FAIL);
	ck_assert_int_eq(item.code, 4);
	ck_assert_str_eq(item.text, "no more");
	expect_next(stream, &item, STREAM_PART_ENDED);

	stream_reader_close(stream);
	ring_detach(reader);
	ring_destroy(writer);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("protocol example");
	TCase *bytes = fixture_case(suite, "bytes");

	tcase_add_unchecked_fixture(bytes, document_read, NULL);
	tcase_add_test(bytes, the_library_writes_the_bytes_of_the_document);
	tcase_add_test(bytes, the_library_reads_the_bytes_of_the_document);
	return fixture_run(suite);
}
