/*
 * fuzz_source_cbor.c - CBOR sequences through the source, into a stream that
 * keeps what is written.
 *
 * The first two bytes choose how many bytes each read gives.  The source is
 * built for slots of 128 bytes, so that short inputs have long strings.  It
 * must make a message of each whole item and refuse what is not well-formed,
 * and the messages must say what the input says.
 */
#include "ring/ring.h"

#undef RING_MIN_SLOT_SIZE
#define RING_MIN_SLOT_SIZE 128u

#define stream_begin kept_begin
#define stream_fail kept_fail
#define stream_fill kept_fill
#define stream_finish kept_finish
#define stream_is_open kept_is_open
#define stream_put kept_put
#define stream_room kept_room
#define stream_send kept_send
#define stream_string_begin kept_string_begin
#define stream_string_end kept_string_end
#define stream_string_fill kept_string_fill
#define stream_string_put kept_string_put
#define stream_string_room kept_string_room

#include "producer/source_cbor.c"
#include "tests/fuzz/cbor_check.h"

#define ROOM 8192u                     /* of the present slot */
#define INPUT_MAX (64u << 10)

/* ---- a stream that keeps what is written ------------------------------------ */

struct stream_writer {
	uint8_t *bodies;               /* of finished messages, and of the open one */
	size_t length, capacity;
	size_t finished, messages;
	uint8_t *room;
	bool open, string, text, failed;
};

static void keep(struct stream_writer *stream, const void *bytes, size_t length)
{
	MUST(stream->open);
	if (stream->length + length > stream->capacity) {
		stream->capacity = 2 * (stream->length + length);
		stream->bodies = realloc(stream->bodies, stream->capacity);
		MUST(stream->bodies);
	}
	if (length > 0)
		memcpy(stream->bodies + stream->length, bytes, length);
	stream->length += length;
}

bool stream_is_open(const struct stream_writer *stream)
{
	return stream->open;
}

int stream_begin(struct stream_writer *stream, const void *header, size_t length)
{
	MUST(!stream->open && header && length > 0);
	stream->open = true;
	return 0;
}

/* As much as was asked for, that one byte too many is seen; for a string, all
 * there may be. */
static int give_room(struct stream_writer *stream, size_t size, uint8_t **room, size_t *length)
{
	MUST(stream->open);
	free(stream->room);
	*room = stream->room = malloc(size);
	MUST(stream->room);
	*length = size;
	return 0;
}

int stream_room(struct stream_writer *stream, size_t least, uint8_t **room, size_t *length)
{
	MUST(!stream->string && least <= RING_MIN_SLOT_SIZE / 2);
	return give_room(stream, least, room, length);
}

void stream_fill(struct stream_writer *stream, size_t length)
{
	keep(stream, stream->room, length);
	free(stream->room);
	stream->room = NULL;
}

int stream_put(struct stream_writer *stream, const void *bytes, size_t length)
{
	MUST(!stream->string && length <= RING_MIN_SLOT_SIZE / 2);
	keep(stream, bytes, length);
	return 0;
}

int stream_finish(struct stream_writer *stream)
{
	MUST(stream->open && !stream->string);
	stream->open = false;
	stream->finished = stream->length;
	stream->messages++;
	return 0;
}

int stream_send(struct stream_writer *stream, const void *header, size_t header_length,
                const void *body, size_t length)
{
	stream_begin(stream, header, header_length);
	stream_put(stream, body, length);
	return stream_finish(stream);
}

/* Each piece of a string becomes a chunk. */
int stream_string_begin(struct stream_writer *stream, bool text, bool bulk)
{
	const uint8_t head = text ? 0x7f : 0x5f;

	(void)bulk;
	MUST(!stream->string);
	keep(stream, &head, 1);
	stream->string = true;
	stream->text = text;
	return 0;
}

int stream_string_room(struct stream_writer *stream, size_t least, uint8_t **room, size_t *length)
{
	MUST(stream->string && least <= ROOM);
	return give_room(stream, ROOM, room, length);
}

int stream_string_put(struct stream_writer *stream, const void *bytes, size_t length)
{
	uint8_t head[CBOR_HEAD_MAX];
	uint8_t *end = cbor_put_head(head, stream->text ? CBOR_BYTE_TEXT : CBOR_BYTE_BYTES, length);

	MUST(stream->string);
	keep(stream, head, (size_t)(end - head));
	keep(stream, bytes, length);
	return 0;
}

void stream_string_fill(struct stream_writer *stream, size_t length)
{
	stream_string_put(stream, stream->room, length);
}

int stream_string_end(struct stream_writer *stream)
{
	const uint8_t end = 0xff;

	MUST(stream->string);
	stream->string = false;
	keep(stream, &end, 1);
	return 0;
}

int stream_fail(struct stream_writer *stream, int code, const char *text)
{
	MUST(code == EXIT_BAD_DATA && text[0] != '\0');
	stream->open = stream->string = false;
	stream->length = stream->finished;
	stream->failed = true;
	return 0;
}

/* ---- an input in memory --------------------------------------------------------- */

static struct {
	const uint8_t *bytes;
	size_t length, at, step;
} given;

ssize_t input_take(struct input *input, void *buffer, size_t length)
{
	size_t left = given.length - given.at;

	(void)input;
	if (length > left)
		length = left;
	if (length > given.step)
		length = given.step;
	memcpy(buffer, given.bytes + given.at, length);
	given.at += length;
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
	(void)error;
	abort();
}

enum exit_code source_stream_failed(int error)
{
	(void)error;
	abort();
}

/* ---- what bytes say --------------------------------------------------------------- */

/*
 * Tokens, but strings without their chunks' bounds and heads.  Returns how many
 * bytes; `out` has room for ten times as many as there are.
 */
static size_t gist_of(const uint8_t *bytes, size_t length, uint8_t *out)
{
	static struct cbor_walker walker;
	struct cbor_token token;
	uint8_t *start = out;
	uint64_t string = 0;

	cbor_walker_init(&walker);
	for (size_t at = 0; at < length; at += token.size) {
		bool ends = false;

		MUST(cbor_walk(&walker, bytes + at, length - at, &token) == 1);
		switch (token.kind) {
		case CBOR_BYTES_START:
		case CBOR_TEXT_START:
			string = 0;
			break;
		case CBOR_BYTES:
		case CBOR_TEXT:
			string = token.chunk ? string + token.length : token.length;
			memcpy(out, token.data, token.length);
			out += token.length;
			ends = !token.chunk;
			break;
		case CBOR_BREAK:
			ends = token.closes == CBOR_BYTES_START || token.closes == CBOR_TEXT_START;
			if (!ends)
				*out++ = 0xff;
			break;
		default:
			memcpy(out, bytes + at, token.size);
			out += token.size;
			break;
		}
		if (!ends)
			continue;
		*out++ = token.kind == CBOR_BREAK ? token.closes == CBOR_TEXT_START
		                                  : token.kind == CBOR_TEXT;
		memcpy(out, &string, sizeof(string));
		out += sizeof(string);
	}
	return (size_t)(out - start);
}

static void must_say_the_same(const uint8_t *bytes, size_t length, const uint8_t *others,
                              size_t others_length)
{
	uint8_t *one = malloc(10 * length + 1), *other = malloc(10 * others_length + 1);
	size_t size;

	MUST(one && other);
	size = gist_of(bytes, length, one);
	MUST(gist_of(others, others_length, other) == size && memcmp(one, other, size) == 0);
	free(one);
	free(other);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	const struct source_options options = { .skip_bad = length % 2 == 0 };
	struct stream_writer stream = { .open = false };
	struct source_job job = { .stream = &stream, .options = &options };
	struct input input = { .path = "fuzz" };
	size_t items_end, items;
	enum verdict verdict;
	enum exit_code code;

	if (length < 2 || length > INPUT_MAX)
		return 0;
	given.step = 1u + (bytes[0] | (size_t)bytes[1] << 8) % 700;
	given.bytes = bytes += 2;
	given.length = length -= 2;
	given.at = 0;
	verdict = check_sequence(bytes, length, &items_end, &items);
	code = source_cbor.run(&job, &input);

	MUST((code == EXIT_COMPLETE) == (verdict == VERDICT_GOOD || options.skip_bad));
	MUST(code == EXIT_COMPLETE || code == EXIT_BAD_DATA);
	MUST(stream.failed == (verdict != VERDICT_GOOD));
	MUST(job.bad_records == (verdict != VERDICT_GOOD && options.skip_bad));
	MUST(!stream.open && stream.messages == items);
	if (items > 0)
		must_say_the_same(bytes, items_end, stream.bodies, stream.length);
	free(stream.bodies);
	free(stream.room);
	return 0;
}
