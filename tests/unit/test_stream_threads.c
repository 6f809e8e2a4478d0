/*
 * test_stream_threads.c - random messages through small rings, written and
 * read at the same time: moved, chunked, cut, published early, dropped.
 */
// needs: tests/unit/ring_fixture.c tests/unit/stream_fixture.c
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "shared/utf8.h"
#include "tests/unit/stream_fixture.h"

#define MESSAGES 400u
#define BODY_MAX (400u << 10)
#define HEADER_MAX 300u

/* ---- a message, made from its number ----------------------------------------------- */

enum kind {
	TOKENS,                        /* many small tokens: the body is known byte for byte */
	BYTES,                         /* one long string: its content is known */
	TEXT,
};

struct message {
	enum kind kind;
	size_t header_length, length;
	uint8_t header[HEADER_MAX];
	uint8_t content[BODY_MAX];
};

static size_t random_length(unsigned *seed)
{
	switch (rand_r(seed) % 8) {
	case 0:
		return 0;
	case 1:
		return (size_t)rand_r(seed) % BODY_MAX;
	case 2:
		return (size_t)rand_r(seed) % (80u << 10);
	default:
		return (size_t)rand_r(seed) % 2000;
	}
}

static void message_make(struct message *message, unsigned number)
{
	unsigned seed = number * 7919 + 1;

	message->kind = (enum kind)(rand_r(&seed) % 3);
	message->header_length = rand_r(&seed) % 3 == 0 ? 0 : (size_t)rand_r(&seed) % HEADER_MAX;
	memset(message->header, (int)number, message->header_length);
	message->length = random_length(&seed);
	for (size_t i = 0; i < message->length; i++)
		message->content[i] = (uint8_t)(message->kind == BYTES ? (size_t)rand_r(&seed) : i % 24);
	if (message->kind != TEXT)
		return;
	/* Characters of three bytes, so that most cuts would split one. */
	message->length -= message->length % 3;
	for (size_t i = 0; i < message->length; i += 3)
		memcpy(message->content + i, "\xe2\x82\xac", 3);
}

/* ---- writing --------------------------------------------------------------------------- */

static void write_tokens(const struct message *message, unsigned *seed)
{
	for (size_t at = 0, piece; at < message->length; at += piece) {
		piece = 1 + (size_t)rand_r(seed) % (rand_r(seed) % 8 == 0 ? 30000 : 500);
		piece = piece < message->length - at ? piece : message->length - at;
		ck_assert_int_eq(stream_put(out, message->content + at, piece), 0);
		if (rand_r(seed) % 64 == 0)
			stream_flush(out, rand_r(seed) % 2 == 0);
	}
}

static void write_string(const struct message *message, unsigned *seed)
{
	ck_assert_int_eq(stream_string_begin(out, message->kind == TEXT, rand_r(seed) % 2 == 0), 0);
	for (size_t at = 0, piece; at < message->length; at += piece) {
		/* Text is given in whole characters. */
		piece = 3 * (1 + (size_t)rand_r(seed) % 20000);
		piece = piece < message->length - at ? piece : message->length - at;
		ck_assert_int_eq(stream_string_put(out, message->content + at, piece), 0);
		if (rand_r(seed) % 16 == 0)
			stream_flush(out, rand_r(seed) % 2 == 0);
	}
	ck_assert_int_eq(stream_string_end(out), 0);
}

static void *write_messages(void *context)
{
	static struct message message;
	unsigned seed = *(unsigned *)context;

	for (unsigned number = 0; number < MESSAGES; number++) {
		message_make(&message, number);
		if (message.kind == TOKENS && message.length <= RING_MIN_SLOT_SIZE / 2 && seed % 2 == 0) {
			ck_assert_int_eq(stream_send(out, message.header, message.header_length,
			                             message.content, message.length), 0);
		} else {
			ck_assert_int_eq(stream_begin(out, message.header, message.header_length), 0);
			if (message.kind == TOKENS)
				write_tokens(&message, &seed);
			else
				write_string(&message, &seed);
			ck_assert_int_eq(stream_finish(out), 0);
		}
		if (rand_r(&seed) % 4 == 0)
			stream_flush(out, false);
	}
	stream_flush(out, false);
	ring_writer_end(ring_out, RING_COMPLETE, 0);
	return NULL;
}

/* ---- reading ----------------------------------------------------------------------------- */

struct body {
	uint8_t bytes[BODY_MAX + BODY_MAX / 8];
	size_t length;
};

static void body_add(struct body *body, const struct stream_item *item)
{
	ck_assert_uint_le(item->length, sizeof body->bytes - body->length);
	memcpy(body->bytes + body->length, item->bytes, item->length);
	body->length += item->length;
}

/* The length of the definite-length string at `at`; its data begins at *data. */
static size_t string_at(const uint8_t *at, uint8_t major, const uint8_t **data)
{
	unsigned info = at[0] & 0x1f;

	ck_assert_uint_eq(at[0] & 0xe0, major);
	*data = at + (info < 24 ? 1 : info == 24 ? 2 : info == 25 ? 3 : 5);
	switch (info) {
	case 24:
		return at[1];
	case 25:
		return (size_t)at[1] << 8 | at[2];
	case 26:
		return get_u32(at + 1);
	default:
		ck_assert_uint_lt(info, 24);
		return info;
	}
}

/* The body is one string; leave only its content. */
static void body_unwrap(struct body *body, bool text)
{
	uint8_t major = text ? 0x60 : 0x40;
	const uint8_t *at = body->bytes, *end = body->bytes + body->length, *data;
	bool indefinite = *at == (major | 0x1f);
	size_t length = 0;

	at += indefinite;
	while (at < end && !(indefinite && *at == 0xff)) {
		size_t chunk = string_at(at, major, &data);

		ck_assert_uint_le(chunk, (size_t)(end - data));
		if (text)
			ck_assert_uint_eq(utf8_valid(data, chunk), chunk);
		memmove(body->bytes + length, data, chunk);
		length += chunk;
		at = data + chunk;
	}
	ck_assert_ptr_eq(at + indefinite, end);
	body->length = length;
}

static void check_message(struct body *body, const struct message *message)
{
	if (message->kind != TOKENS)
		body_unwrap(body, message->kind == TEXT);
	ck_assert_uint_eq(body->length, message->length);
	if (message->length > 0)
		ck_assert_mem_eq(body->bytes, message->content, message->length);
}

static void check_header(const struct stream_item *item, const struct message *message)
{
	if (message->header_length == 0) {
		ck_assert_ptr_null(item->header);
		return;
	}
	ck_assert_uint_eq(item->header_length, message->header_length);
	ck_assert_mem_eq(item->header, message->header, message->header_length);
}

static struct message wanted;
static struct body body;

/* Take one part of the stream.  Returns whether there may be more. */
static bool read_part(void)
{
	struct stream_item item;
	int error = stream_next(in, &item);

	ck_assert_msg(error == 0, "error %d: %s", error, stream_reader_fault(in));
	switch (item.part) {
	case STREAM_PART_EMPTY:
		ck_assert_int_eq(ring_reader_wait(ring_in, DEADLINE_MS), 0);
		return true;
	case STREAM_PART_ENDED:
		ck_assert(!stream_reader_is_open(in));
		return false;
	case STREAM_PART_WHOLE:
	case STREAM_PART_BEGIN:
		body.length = 0;
		message_make(&wanted, (unsigned)item.message);
		check_header(&item, &wanted);
		if (item.part == STREAM_PART_BEGIN)
			return true;
		body_add(&body, &item);
		check_message(&body, &wanted);
		return true;
	case STREAM_PART_BODY:
		body_add(&body, &item);
		return true;
	case STREAM_PART_FINISH:
		check_message(&body, &wanted);
		return true;
	default:
		/* A message of which a part was dropped would be caught as another. */
		ck_assert_int_eq(item.part, STREAM_PART_DROPPED);
		return true;
	}
}

/* ---- tests --------------------------------------------------------------------------------- */

static void pass_messages(uint32_t slots, unsigned seed)
{
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, write_messages, &seed), 0);
	while (read_part())
		continue;
	pthread_join(thread, NULL);
	ck_assert_uint_eq(stream_reader_messages(in), MESSAGES);
	ck_assert_uint_eq(stream_messages(out), MESSAGES);
	ck_assert_uint_gt(ring_writer_position(ring_out), 2 * slots * SLOT);
}

START_TEST(every_message_arrives_as_it_was)
{
	uint32_t slots = (uint32_t)(2 + _i);

	streams_open(RING_MIN_SLOT_SIZE, slots, _i % 2 == 0);
	pass_messages(slots, (unsigned)_i);
	ck_assert_uint_eq(stream_reader_body_bytes(in), stream_body_bytes(out));
	streams_close();
}
END_TEST

START_TEST(a_reader_that_may_drop_gets_whole_messages_or_none_of_them)
{
	uint64_t dropped, delivered;

	streams_open(RING_MIN_SLOT_SIZE, 2, true);
	stream_reader_close(in);
	ck_assert_int_eq(stream_reader_open(&in, ring_in, true), 0);
	pass_messages(2, 5);
	dropped = atomic_load(&ring_in->entry->dropped);
	delivered = atomic_load(&ring_in->entry->messages);
	ck_assert_uint_eq(dropped + delivered, MESSAGES);
	streams_close();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stream threads");
	TCase *threads = fixture_case(suite, "threads");

	tcase_add_loop_test(threads, every_message_arrives_as_it_was, 0, 6);
	tcase_add_test(threads, a_reader_that_may_drop_gets_whole_messages_or_none_of_them);
	return fixture_run(suite);
}
