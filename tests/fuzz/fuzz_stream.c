/*
 * fuzz_stream.c - any bytes in the slots of a ring, read as a stream.
 *
 * The first byte of the input says how it is read, the rest is pieces, each
 * with its length in two bytes before it; each is published by itself.  What
 * the reader makes of them is held against the bytes: a part is what its frame
 * says, parts come in a possible order, and no message is complete whose
 * length or digest is wrong.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "ring/reader.h"
#include "ring/writer.h"
#include "shared/bigendian.h"
#include "shared/stream.h"

#define CHECK(condition) \
	do { \
		if (!(condition)) { \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
			abort(); \
		} \
	} while (0)

#define PIECES_MAX 64

enum how {
	DROP = 1,                      /* the writer waits for this reader, and it may drop */
	LATE = 2,                      /* the reader began within the stream */
	END = 4,                       /* the stream ends after the last piece */
};

static struct {
	char name[64];
	struct ring_writer *writer;
	struct ring_reader *reader;
} ring;

/* What is known of the present message and piece. */
struct account {
	bool drop, end;
	bool open;                     /* chunked, between BEGIN and FINISH or FAIL */
	uint64_t message, body_length, position;
	XXH3_state_t *digest;
	const uint8_t *piece;
	uint64_t piece_position;
	size_t piece_length;
};

/* ---- what a part must be ------------------------------------------------------------ */

static const uint8_t *byte_at(const struct account *account, uint64_t position)
{
	CHECK(position >= account->piece_position &&
	      position - account->piece_position < account->piece_length);
	return account->piece + (position - account->piece_position);
}

static void check_header(const struct stream_item *item)
{
	static uint8_t copy[STREAM_HEADER_MAX];

	if (item->header == NULL)
		return;
	CHECK(item->header_length <= sizeof copy);
	memcpy(copy, item->header, item->header_length);
}

static void check_data(const struct account *account, const struct stream_item *item)
{
	const uint8_t *frame = byte_at(account, item->position);

	CHECK(frame[0] == STREAM_DATA && get_u32(frame + 1) == item->length);
	CHECK(item->bytes == frame + STREAM_FRAME_HEAD);
	CHECK(item->bytes + item->length <= account->piece + account->piece_length);
}

static void check_finish(const struct account *account, const struct stream_item *item)
{
	const uint8_t *frame = byte_at(account, item->position);

	CHECK(frame[0] == STREAM_END);
	CHECK(get_u64(frame + STREAM_FRAME_HEAD) == account->body_length);
	CHECK(get_u32(frame + 1) == 8 || (get_u32(frame + 1) == 16 &&
	      get_u64(frame + STREAM_FRAME_HEAD + 8) == XXH3_64bits_digest(account->digest)));
}

static void check_fail(const struct account *account, const struct stream_item *item)
{
	CHECK(*byte_at(account, item->position) == STREAM_ERROR);
	CHECK(item->code >= 0 && item->code <= 255);
	CHECK(strlen(item->text) <= STREAM_TEXT_MAX);
	for (const char *c = item->text; *c != '\0'; c++)
		CHECK((unsigned char)*c >= ' ' && *c != 0x7f);
}

static void account_part(struct account *account, const struct stream_item *item)
{
	CHECK(item->position >= account->position);
	account->position = item->position;
	CHECK(item->message == account->message);
	switch (item->part) {
	case STREAM_PART_WHOLE:
		CHECK(!account->open);
		check_header(item);
		check_data(account, item);
		account->message++;
		break;
	case STREAM_PART_BEGIN:
		CHECK(!account->open);
		check_header(item);
		account->open = true;
		account->body_length = 0;
		XXH3_64bits_reset(account->digest);
		break;
	case STREAM_PART_BODY:
		CHECK(account->open);
		check_data(account, item);
		account->body_length += item->length;
		XXH3_64bits_update(account->digest, item->bytes, item->length);
		break;
	case STREAM_PART_FINISH:
		CHECK(account->open);
		check_finish(account, item);
		account->open = false;
		account->message++;
		break;
	case STREAM_PART_FAIL:
		CHECK(account->open);
		check_fail(account, item);
		account->open = false;
		account->message++;
		break;
	case STREAM_PART_DROPPED:
		CHECK(account->drop && !account->open);
		account->message++;
		break;
	default:
		break;
	}
}

/* ---- reading ------------------------------------------------------------------------- */

/* Read what is there.  Returns what stream_next said at last. */
static int read_all(struct stream_reader *stream, struct account *account, enum stream_part *last)
{
	/* A part takes at least a byte, but for BEGIN. */
	size_t most = 2 * account->piece_length + 2;

	for (;;) {
		struct stream_item item;
		int error = stream_next(stream, &item);

		CHECK(most-- > 0);
		if (error != 0) {
			CHECK(stream_reader_fault(stream)[0] != '\0');
			return error;
		}
		account_part(account, &item);
		*last = item.part;
		if (item.part == STREAM_PART_EMPTY || item.part == STREAM_PART_ENDED)
			return 0;
	}
}

static void publish(struct account *account, const uint8_t *bytes, size_t length)
{
	uint8_t *room;
	size_t left;

	CHECK(ring_writer_claim(ring.writer, length, &room, &left) == 0);
	account->piece = ring.reader->segment.payload + (room - ring.writer->segment.payload);
	account->piece_position = ring_writer_position(ring.writer);
	account->piece_length = length;
	memcpy(room, bytes, length);
	/* What comes after the piece is never looked at. */
	memset(room + length, 'D', left - length < 64 ? left - length : 64);
	ring_writer_commit(ring.writer, length);
	ring_writer_publish(ring.writer);
}

static void read_pieces(struct stream_reader *stream, struct account *account,
                        const uint8_t *data, size_t size)
{
	struct ring_shared *shared = ring.writer->segment.shared;
	enum stream_part last;

	for (int i = 0; i < PIECES_MAX && size > 2; i++) {
		size_t length = (size_t)data[0] << 8 | data[1];

		data += 2;
		size -= 2;
		if (length == 0 || length > size)
			length = size;
		publish(account, data, length);
		data += length;
		size -= length;
		if (account->drop)
			atomic_store(&shared->wish, wish_make(UINT32_MAX, ring.reader->index));
		if (read_all(stream, account, &last) != 0)
			return;
		CHECK(last == STREAM_PART_EMPTY);
		CHECK(stream_reader_messages(stream) == account->message);
	}
	if (!account->end)
		return;
	ring_writer_end(ring.writer, RING_COMPLETE, 0);
	if (read_all(stream, account, &last) == 0)
		CHECK(last == STREAM_PART_ENDED);
}

/* ---- one ring for all inputs ----------------------------------------------------------- */

static void ring_close(void)
{
	ring_detach(ring.reader);
	ring_destroy(ring.writer);
}

static void ring_open(void)
{
	struct ring_writer_options options = { .geometry = { RING_MIN_SLOT_SIZE, 2 } };
	struct ring_reader_options reading = { .label = "fuzz" };

	snprintf(ring.name, sizeof ring.name, "fuzz-%d-stream", (int)getpid());
	CHECK(ring_create(&ring.writer, ring.name, &options, NULL, NULL) == 0);
	CHECK(ring_attach(&ring.reader, ring.name, &reading) == 0);
	atexit(ring_close);
}

/* Go past what was not read, and be open again. */
static void ring_clear(void)
{
	const uint8_t *bytes;
	size_t length;

	atomic_store(&ring.writer->segment.control->end, RING_OPEN);
	atomic_store(&ring.writer->segment.shared->wish, 0);
	while (ring_reader_peek(ring.reader, &bytes, &length) == RING_DATA)
		ring_reader_release(ring.reader, length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct account account = { .digest = XXH3_createState() };
	struct stream_reader *stream;
	uint8_t how = size > 0 ? data[0] : 0;

	CHECK(account.digest != NULL);
	if (ring.writer == NULL)
		ring_open();
	account.drop = (how & DROP) != 0;
	account.end = (how & END) != 0;
	ring.reader->start = (how & LATE) != 0;
	CHECK(stream_reader_open(&stream, ring.reader, account.drop) == 0);
	if (size > 1)
		read_pieces(stream, &account, data + 1, size - 1);
	stream_reader_close(stream);
	XXH3_freeState(account.digest);
	ring_clear();
	return 0;
}
