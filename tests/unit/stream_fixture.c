/* stream_fixture.c - see stream_fixture.h. */
#include "tests/unit/stream_fixture.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

struct ring_writer *ring_out;
struct ring_reader *ring_in;
struct stream_writer *out;
struct stream_reader *in;

void streams_open(uint32_t slot_size, uint32_t slots, bool digest)
{
	struct ring_writer_options options = { .geometry = { slot_size, slots } };

	ck_assert_int_eq(ring_create(&ring_out, fixture_name(0), &options, NULL, NULL), 0);
	ring_in = join_ring();
	ck_assert_int_eq(stream_writer_open(&out, ring_out, digest), 0);
	ck_assert_int_eq(stream_reader_open(&in, ring_in, false), 0);
}

void streams_close(void)
{
	stream_reader_close(in);
	stream_writer_close(out);
	ring_detach(ring_in);
	ring_destroy(ring_out);
}

/* ---- expected bytes ---------------------------------------------------------------- */

void text_clear(struct text *text)
{
	text->length = 0;
}

void text_bytes(struct text *text, const void *bytes, size_t length)
{
	ck_assert_uint_le(length, sizeof text->bytes - text->length);
	memcpy(text->bytes + text->length, bytes, length);
	text->length += length;
}

void text_byte(struct text *text, uint8_t byte)
{
	text_bytes(text, &byte, 1);
}

void text_frame(struct text *text, uint8_t type, const void *payload, size_t length)
{
	uint8_t head[4];

	text_byte(text, type);
	put_u32(head, (uint32_t)length);
	text_bytes(text, head, sizeof head);
	text_bytes(text, payload, length);
}

void text_end(struct text *text, const void *body, size_t length, bool digest)
{
	uint8_t payload[16];

	put_u64(payload, length);
	put_u64(payload + 8, XXH3_64bits(body, length));
	text_frame(text, STREAM_END, payload, digest ? 16 : 8);
}

void expect_published(const struct text *text)
{
	const uint8_t *bytes;
	size_t length;

	stream_flush(out, false);
	if (text->length == 0) {
		ck_assert_int_eq(peek_at(ring_in), RING_EMPTY);
		return;
	}
	ck_assert_int_eq(ring_reader_peek(ring_in, &bytes, &length), RING_DATA);
	for (size_t i = 0; i < length && i < text->length; i++)
		if (bytes[i] != text->bytes[i])
			ck_abort_msg("byte %zu of %zu is %02x, not %02x", i, text->length, bytes[i],
			             text->bytes[i]);
	ck_assert_uint_eq(length, text->length);
	ck_assert_int_eq(ring_reader_release(ring_in, length), 0);
}

/* ---- forged bytes -------------------------------------------------------------------- */

void forge(const void *bytes, size_t length)
{
	uint8_t *room;
	size_t left;

	ck_assert_int_eq(ring_writer_claim(ring_out, length, &room, &left), 0);
	memcpy(room, bytes, length);
	ring_writer_commit(ring_out, length);
	ring_writer_publish(ring_out);
}

void forge_text(const struct text *text)
{
	forge(text->bytes, text->length);
}

struct stream_item expect_part(enum stream_part part)
{
	struct stream_item item;
	int error;

	memset(&item, 0, sizeof item);
	error = stream_next(in, &item);
	ck_assert_msg(error == 0, "error %d: %s", error, stream_reader_fault(in));
	ck_assert_int_eq(item.part, part);
	return item;
}

void expect_body(enum stream_part part, const void *bytes, size_t length)
{
	struct stream_item item = expect_part(part);

	ck_assert_uint_eq(item.length, length);
	if (length > 0)
		ck_assert_mem_eq(item.bytes, bytes, length);
}

void expect_fault(const char *words, uint64_t position, uint64_t message)
{
	struct stream_item item;
	char fault[256];

	snprintf(fault, sizeof fault, "%s at byte %" PRIu64 " of the stream (message %" PRIu64 ")", words,
	         position, message);
	for (int turn = 0; turn < 2; turn++) {
		ck_assert_int_eq(stream_next(in, &item), -EBADMSG);
		ck_assert_str_eq(stream_reader_fault(in), fault);
	}
}
