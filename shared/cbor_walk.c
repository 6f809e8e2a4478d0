/*
 * cbor_walk.c - one token after another, checked against what is open.
 *
 * What an initial byte says alone is decided here: most tokens of real data
 * are such, and libcbor 0.8 refuses some of them (tags 6 to 20, simple values
 * but false to undefined).  Heads with an argument are libcbor's.
 */
#include "shared/cbor_walk.h"

#include <errno.h>
#include <string.h>

#include <cbor.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "shared/utf8.h"

#define UNLIMITED UINT64_MAX             /* cbor_level.left of an indefinite length */

#define INFO_DIRECT 24                   /* smaller: the argument itself */
#define INFO_EIGHT_BYTES 27              /* 24 .. 27: 1, 2, 4, 8 bytes follow */
#define INFO_INDEFINITE 31

#define SIMPLE_MIN 32                    /* the least simple value with a byte of its own */
#define BREAK_BYTE 0xff

_Static_assert(sizeof(size_t) == sizeof(uint64_t), "lengths of strings are taken as they are");

static _Thread_local const char *fault = "none";

static const uint8_t major_kinds[] = {
	CBOR_UNSIGNED, CBOR_NEGATIVE, CBOR_BYTES, CBOR_TEXT, CBOR_ARRAY, CBOR_MAP, CBOR_TAG, CBOR_SIMPLE,
};

static int ill_formed(const char *why)
{
	fault = why;
	return -EBADMSG;
}

const char *cbor_walk_fault(void)
{
	return fault;
}

void cbor_walker_init(struct cbor_walker *walker)
{
	walker->depth = 0;
	walker->levels[0] = (struct cbor_level){ .left = UNLIMITED, .kind = CBOR_BREAK };
}

/* ---- heads with an argument, by libcbor -------------------------------- */

static void take_uint8(void *token, uint8_t value)
{
	((struct cbor_token *)token)->number = value;
}

static void take_uint16(void *token, uint16_t value)
{
	((struct cbor_token *)token)->number = value;
}

static void take_uint32(void *token, uint32_t value)
{
	((struct cbor_token *)token)->number = value;
}

static void take_uint64(void *token, uint64_t value)
{
	((struct cbor_token *)token)->number = value;
}

static void take_count(void *token, size_t value)
{
	((struct cbor_token *)token)->number = value;
}

static void take_string(void *context, cbor_data data, size_t length)
{
	struct cbor_token *token = context;

	token->data = data;
	token->length = length;
}

static void take_float(void *token, float value)
{
	((struct cbor_token *)token)->real = (double)value;
}

static void take_double(void *token, double value)
{
	((struct cbor_token *)token)->real = value;
}

static const struct cbor_callbacks callbacks = {
	.uint8 = take_uint8,
	.uint16 = take_uint16,
	.uint32 = take_uint32,
	.uint64 = take_uint64,
	.negint8 = take_uint8,
	.negint16 = take_uint16,
	.negint32 = take_uint32,
	.negint64 = take_uint64,
	.byte_string = take_string,
	.string = take_string,
	.array_start = take_count,
	.map_start = take_count,
	.tag = take_uint64,
	.float2 = take_float,
	.float4 = take_float,
	.float8 = take_double,
	/* Initial bytes that never get there. */
	.byte_string_start = cbor_null_byte_string_start_callback,
	.string_start = cbor_null_string_start_callback,
	.indef_array_start = cbor_null_indef_array_start_callback,
	.indef_map_start = cbor_null_indef_map_start_callback,
	.undefined = cbor_null_undefined_callback,
	.null = cbor_null_null_callback,
	.boolean = cbor_null_boolean_callback,
	.indef_break = cbor_null_indef_break_callback,
};

/* Bytes of a head, by the low bits of its initial byte. */
static inline size_t head_size(unsigned info)
{
	return info < INFO_DIRECT ? 1 : 1 + ((size_t)1 << (info - INFO_DIRECT));
}

/* A string's length, from a head that is all there. */
static uint64_t string_length(const uint8_t *bytes, unsigned info)
{
	uint64_t length = 0;

	if (info < INFO_DIRECT)
		return info;
	if (info == INFO_DIRECT)
		return bytes[1];
	for (size_t i = 1; i < head_size(info); i++)
		length = length << 8 | bytes[i];
	return length;
}

/* How many bytes the token at `bytes` has, SIZE_MAX if too many to count; of a
 * string whose head is not all there, how many the head has. */
static size_t token_needs(const uint8_t *bytes, size_t length, const struct cbor_token *token,
                          unsigned info)
{
	size_t head = head_size(info);
	uint64_t data;

	if ((token->kind != CBOR_BYTES && token->kind != CBOR_TEXT) || length < head)
		return head;
	data = string_length(bytes, info);
	return data > SIZE_MAX - head ? SIZE_MAX : head + data;
}

/* Let libcbor read the head, which has an argument of 1 to 8 bytes. */
static int walk_argument(const uint8_t *bytes, size_t length, struct cbor_token *token,
                         unsigned info)
{
	struct cbor_decoder_result result;

	/* An initial byte that changes under an evicted reader leaves these. */
	token->data = bytes;
	token->length = 0;
	token->number = 0;
	token->real = 0;
	result = cbor_stream_decode(bytes, length, &callbacks, token);
	if (result.status == CBOR_DECODER_NEDATA) {
		token->size = token_needs(bytes, length, token, info);
		return 0;
	}
	if (result.status != CBOR_DECODER_FINISHED)
		return ill_formed("unknown initial byte");
	token->size = result.read;
	return 1;
}

/* ---- what is open ------------------------------------------------------- */

static inline bool level_is_string(const struct cbor_level *level)
{
	return level->kind == CBOR_BYTES_START || level->kind == CBOR_TEXT_START;
}

/* An item, key or value is complete: so may be what it was the last part of. */
static inline void walker_count(struct cbor_walker *walker)
{
	struct cbor_level *level = &walker->levels[walker->depth];

	level->odd = !level->odd;
	while (level->left != UNLIMITED && --level->left == 0) {
		walker->depth--;
		level--;
		level->odd = !level->odd;
	}
}

static inline int walker_open(struct cbor_walker *walker, enum cbor_kind kind, uint64_t left)
{
	struct cbor_level *level;

	if (walker->depth == CBOR_MAX_DEPTH) {
		fault = "nested too deep";
		return -E2BIG;
	}
	level = &walker->levels[++walker->depth];
	level->left = left;
	level->kind = (uint8_t)kind;
	level->odd = false;
	return 1;
}

/* An array or map of `number` items or pairs. */
static inline int walker_open_counted(struct cbor_walker *walker, enum cbor_kind kind,
                                      uint64_t number)
{
	/* No input is long enough for more items than this even number. */
	const uint64_t endless = UNLIMITED - 1;

	if (number == 0) {
		walker_count(walker);
		return 1;
	}
	if (kind == CBOR_MAP)
		number = number > endless / 2 ? endless : number * 2;
	return walker_open(walker, kind, number > endless ? endless : number);
}

/* ---- tokens ------------------------------------------------------------- */

static int walk_break(struct cbor_walker *walker, struct cbor_token *token)
{
	const struct cbor_level *level = &walker->levels[walker->depth];

	if (walker->depth == 0 || level->left != UNLIMITED)
		return ill_formed("stray break");
	if (level->kind == CBOR_MAP && level->odd)
		return ill_formed("break after a key");
	token->kind = CBOR_BREAK;
	token->closes = level->kind;
	token->size = 1;
	walker->depth--;
	walker_count(walker);
	return 1;
}

/* Initial bytes with INFO_INDEFINITE: what has no length yet, or a break. */
static int walk_indefinite(struct cbor_walker *walker, struct cbor_token *token)
{
	switch (token->kind) {
	case CBOR_BYTES:
		token->kind = CBOR_BYTES_START;
		break;
	case CBOR_TEXT:
		token->kind = CBOR_TEXT_START;
		break;
	case CBOR_ARRAY:
	case CBOR_MAP:
		break;
	case CBOR_SIMPLE:
		return walk_break(walker, token);
	default:
		return ill_formed("unknown initial byte");
	}
	token->indefinite = true;
	token->size = 1;
	return walker_open(walker, token->kind, UNLIMITED);
}

#ifdef __SSE2__
static inline uint64_t high_bits(const uint8_t *block)
{
	return (unsigned)_mm_movemask_epi8(_mm_loadu_si128((const __m128i *)(const void *)block));
}
#endif

/*
 * Short ASCII, as most keys and values are, is told without a call.
 * @readable: bytes from `data` on that may be looked at, >= length
 */
static inline bool text_is_short_ascii(const uint8_t *data, size_t length, size_t readable)
{
#ifdef __SSE2__
	if (length <= 32 && readable >= 32) {
		uint64_t bits = high_bits(data) | high_bits(data + 16) << 16;

		return (bits & (((uint64_t)1 << length) - 1)) == 0;
	}
#else
	(void)data;
	(void)length;
	(void)readable;
#endif
	return false;
}

/* A string whose kind, data, length and size are known, and is valid. */
static inline int walk_valid_string(struct cbor_walker *walker, struct cbor_token *token)
{
	token->chunk = level_is_string(&walker->levels[walker->depth]);
	if (!token->chunk)
		walker_count(walker);
	return 1;
}

static __attribute__((noinline)) int walk_text(struct cbor_walker *walker, struct cbor_token *token)
{
	if (utf8_valid(token->data, token->length) != token->length)
		return ill_formed("text is not valid UTF-8");
	return walk_valid_string(walker, token);
}

static inline int walk_string(struct cbor_walker *walker, struct cbor_token *token, size_t readable)
{
	if (token->kind == CBOR_TEXT && !text_is_short_ascii(token->data, token->length, readable))
		return walk_text(walker, token);
	return walk_valid_string(walker, token);
}

/* Major type 7 with an argument: a simple value in two bytes, or a float. */
static int walk_simple(struct cbor_walker *walker, const uint8_t *bytes, size_t length,
                       struct cbor_token *token, unsigned info)
{
	if (info == INFO_DIRECT) {
		token->size = 2;
		if (length < 2)
			return 0;
		token->number = bytes[1];
		if (token->number < SIMPLE_MIN)
			return ill_formed("simple value below 32 in two bytes");
	} else {
		int outcome = walk_argument(bytes, length, token, info);

		if (outcome <= 0)
			return outcome;
		token->kind = CBOR_FLOAT;
		token->width = (uint8_t)(token->size - 1);
	}
	walker_count(walker);
	return 1;
}

/* Tokens that the initial byte does not tell alone. */
static __attribute__((noinline)) int walk_long(struct cbor_walker *walker, const uint8_t *bytes,
                                               size_t length, struct cbor_token *token,
                                               unsigned info)
{
	int outcome;

	if (info == INFO_INDEFINITE)
		return walk_indefinite(walker, token);
	if (info > INFO_EIGHT_BYTES)
		return ill_formed("unknown initial byte");
	if (token->kind == CBOR_SIMPLE)
		return walk_simple(walker, bytes, length, token, info);
	outcome = walk_argument(bytes, length, token, info);
	if (outcome <= 0)
		return outcome;
	switch (token->kind) {
	case CBOR_BYTES:
	case CBOR_TEXT:
		return walk_string(walker, token, length - (token->size - token->length));
	case CBOR_ARRAY:
	case CBOR_MAP:
		return walker_open_counted(walker, token->kind, token->number);
	case CBOR_TAG:
		return walker_open(walker, CBOR_TAG, 1);
	default:
		walker_count(walker);
		return 1;
	}
}

/* May a token with this initial byte stand within an indefinite-length string? */
static bool chunk_fits(const struct cbor_level *level, uint8_t initial)
{
	enum cbor_kind kind = level->kind == CBOR_BYTES_START ? CBOR_BYTES : CBOR_TEXT;

	return initial == BREAK_BYTE ||
	       (major_kinds[initial >> 5] == kind && (initial & 31u) != INFO_INDEFINITE);
}

int cbor_walk(struct cbor_walker *walker, const uint8_t *bytes, size_t length,
              struct cbor_token *token)
{
	const struct cbor_level *level = &walker->levels[walker->depth];
	unsigned info;
	uint8_t initial;

	if (length == 0) {
		token->size = 1;
		return 0;
	}
	/* Copied once: the bytes may be changing under a reader that was evicted. */
	initial = bytes[0];
	if (level_is_string(level) && !chunk_fits(level, initial))
		return ill_formed("not a chunk of the string's kind");

	info = initial & 31u;
	token->kind = major_kinds[initial >> 5];
	token->indefinite = false;
	if (info >= INFO_DIRECT)
		return walk_long(walker, bytes, length, token, info);

	token->number = info;
	token->size = 1;
	switch (initial >> 5) {
	case 2:
	case 3:
		token->data = bytes + 1;
		token->length = info;
		token->size = 1 + (size_t)info;
		if (token->size > length)
			return 0;
		return walk_string(walker, token, length - 1);
	case 4:
	case 5:
		return walker_open_counted(walker, token->kind, info);
	case 6:
		return walker_open(walker, CBOR_TAG, 1);
	default:
		walker_count(walker);
		return 1;
	}
}

/* ---- runs of tokens ----------------------------------------------------- */

/*
 * Bytes of the token at `bytes` if it opens and closes nothing, stands outside
 * an indefinite-length string, is well-formed and all there; else 0.
 */
static inline size_t plain_token_size(const uint8_t *bytes, size_t length)
{
	uint8_t initial = bytes[0];
	unsigned info = initial & 31u;
	size_t head = head_size(info);
	uint64_t data;

	if (info > INFO_EIGHT_BYTES || length < head)
		return 0;
	switch (major_kinds[initial >> 5]) {
	case CBOR_UNSIGNED:
	case CBOR_NEGATIVE:
		return head;
	case CBOR_SIMPLE:
		return info == INFO_DIRECT ? 0 : head;
	case CBOR_BYTES:
		data = string_length(bytes, info);
		return data <= length - head ? head + data : 0;
	case CBOR_TEXT:
		data = string_length(bytes, info);
		if (data > length - head)
			return 0;
		if (!text_is_short_ascii(bytes + head, data, length - head) &&
		    utf8_valid(bytes + head, data) != data)
			return 0;
		return head + data;
	default:
		return 0;
	}
}

int cbor_walk_run(struct cbor_walker *walker, const uint8_t *bytes, size_t length, size_t *taken)
{
	struct cbor_token token;
	size_t at = 0;
	int outcome;

	do {
		struct cbor_level *level = &walker->levels[walker->depth];
		bool inside = walker->depth > 0;

		/* Most tokens change nothing but the count of what is open. */
		while (inside && at < length && cbor_level_goes_on(level)) {
			size_t size = plain_token_size(bytes + at, length - at);

			if (size == 0)
				break;
			cbor_level_count(level);
			at += size;
		}
		outcome = cbor_walk(walker, bytes + at, length - at, &token);
		if (outcome != 1)
			break;
		at += token.size;
	} while (walker->depth > 0);
	*taken = at;
	return outcome;
}

/* ---- long strings ------------------------------------------------------- */

size_t cbor_string_head(const struct cbor_walker *walker, const uint8_t *bytes,
                        size_t length, enum cbor_kind *kind, uint64_t *number)
{
	const struct cbor_level *level = &walker->levels[walker->depth];
	unsigned info;

	if (length == 0)
		return 0;
	*kind = major_kinds[bytes[0] >> 5];
	info = bytes[0] & 31u;
	if ((*kind != CBOR_BYTES && *kind != CBOR_TEXT) || info > INFO_EIGHT_BYTES ||
	    length < head_size(info))
		return 0;
	if (level_is_string(level) && !chunk_fits(level, bytes[0]))
		return 0;
	*number = string_length(bytes, info);
	return head_size(info);
}

void cbor_walker_skip_string(struct cbor_walker *walker)
{
	if (!level_is_string(&walker->levels[walker->depth]))
		walker_count(walker);
}
