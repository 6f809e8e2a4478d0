/*
 * stream.h - messages in a ring: markers, frames, routing, digests.
 *
 * The bytes are specified in docs/protocol.md.  A body is CBOR, cut between
 * tokens: whoever writes asks for room that holds a whole token, whoever reads
 * gets frames that hold whole tokens.
 */
#ifndef SLUICE_STREAM_H
#define SLUICE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ring/ring.h"

#ifdef __cplusplus
extern "C" {
#endif

enum stream_byte {
	STREAM_WHOLE = 'W',
	STREAM_CHUNKED = 'C',      /* END will carry a digest */
	STREAM_UNDIGESTED = 'U',   /* chunked as well, but it will not */
	STREAM_HEADER = 'H',
	STREAM_DATA = 'D',
	STREAM_END = 'E',
	STREAM_ERROR = 'X',
	STREAM_PAD = 'P',
};

#define STREAM_FRAME_HEAD 5u               /* type, length */
#define STREAM_HEADER_MAX (32u << 10)      /* bytes of a HEADER's payload */
#define STREAM_MOVE_MAX (64u << 10)        /* a longer message is not moved to the next slot */
#define STREAM_ALIGN 64u                   /* bulk data starts at a multiple */
#define STREAM_TEXT_MAX 1024u              /* bytes of an ERROR's text */

/* ---- writing ---------------------------------------------------------- */

struct stream_writer;

/* @digest: END carries XXH3-64 of the body.  The ring must outlive the stream.
 * Returns 0 or -ENOMEM. */
int stream_writer_open(struct stream_writer **stream, struct ring_writer *ring, bool digest);
void stream_writer_close(struct stream_writer *stream);

/*
 * Begin a message.  @header: an encoded CBOR map, copied, or NULL.
 * These functions wait for space in the ring; they return 0, or -EINTR
 * (ring_writer_interrupt), -EPIPE (no required reader is left), -EMSGSIZE (a
 * header or token that can never fit).  After a failure call stream_fail or
 * stream_abandon.
 */
int stream_begin(struct stream_writer *stream, const void *header, size_t length);

/*
 * Room for the next token or tokens of the body.
 *
 * @least   bytes one token needs at most; up to half a slot always fits
 * @room    out: where to write, borrowed until stream_fill
 * @length  out: bytes there, >= least
 */
int stream_room(struct stream_writer *stream, size_t least, uint8_t **room, size_t *length);

/* `length` bytes of the room are written and end with a token.  Never waits. */
void stream_fill(struct stream_writer *stream, size_t length);

/* End the message.  */
int stream_finish(struct stream_writer *stream);

/*
 * A long string of the body, in pieces of any size (text: cut between
 * characters).  Becomes one definite-length string where it ends within its
 * first frame, else an indefinite-length string with a chunk per frame.
 *
 * @text   a text string, else bytes
 * @bulk   align the data, for large reads straight into the room
 */
int stream_string_begin(struct stream_writer *stream, bool text, bool bulk);
int stream_string_room(struct stream_writer *stream, size_t least, uint8_t **room, size_t *length);
void stream_string_fill(struct stream_writer *stream, size_t length);
int stream_string_end(struct stream_writer *stream);

/* Copy `length` bytes into the open string, waiting as needed. */
int stream_string_put(struct stream_writer *stream, const void *bytes, size_t length);

/* Copy one encoded token, or several, into the body; at most half a slot. */
int stream_put(struct stream_writer *stream, const void *bytes, size_t length);

/* A whole message at once: header (or NULL) and an encoded body of any size
 * up to half a slot.  The fast path for small messages. */
int stream_send(struct stream_writer *stream, const void *header, size_t header_length,
                const void *body, size_t length);

/*
 * Give the message up.  If nothing of it was published it leaves no trace
 * (returns 0); else it ends with ERROR {code, text} (returns 1).
 */
int stream_fail(struct stream_writer *stream, int code, const char *text);

/* Drop what is not published of an open message, without a trace.  For a stream
 * that is about to be aborted: that tells of a message cut short. */
void stream_abandon(struct stream_writer *stream);

/* Is a message open, and was any of it published? */
bool stream_is_open(const struct stream_writer *stream);
bool stream_is_partly_published(const struct stream_writer *stream);

/*
 * Publish finished messages.  @partial: also what there is of an open one,
 * which then becomes chunked.  Call when the input has nothing more at hand.
 */
void stream_flush(struct stream_writer *stream, bool partial);

/* Messages finished, and bytes of their bodies, so far. */
uint64_t stream_messages(const struct stream_writer *stream);
uint64_t stream_body_bytes(const struct stream_writer *stream);

/* ---- reading ---------------------------------------------------------- */

struct stream_reader;

enum stream_part {
	STREAM_PART_WHOLE,     /* a complete message in one piece: header and payload */
	STREAM_PART_BEGIN,     /* a chunked message begins: header */
	STREAM_PART_BODY,      /* payload of one of its DATA frames, in place */
	STREAM_PART_FINISH,    /* complete, and its digest verified if it has one */
	STREAM_PART_FAIL,      /* ERROR: the writer gave it up; code and text */
	STREAM_PART_DROPPED,   /* a whole message was skipped for the writer's sake */
	STREAM_PART_EMPTY,     /* nothing now: ring_reader_wait, then try again */
	STREAM_PART_ENDED,     /* the stream ended, between messages or within one */
};

struct stream_item {
	enum stream_part part;
	const uint8_t *header; /* WHOLE, BEGIN: or NULL */
	size_t header_length;
	const uint8_t *bytes;  /* WHOLE, BODY: payload */
	size_t length;
	uint64_t position;     /* in the stream, of this part's first byte */
	uint64_t message;      /* number of the message, from 0, since this reader began */
	int code;              /* FAIL */
	char *text;            /* FAIL: in words, sanitized */
};

/* Returns 0 or -ENOMEM.  @drop: skip whole messages while the writer waits for
 * this reader. */
int stream_reader_open(struct stream_reader **stream, struct ring_reader *ring, bool drop);
void stream_reader_close(struct stream_reader *stream);

/*
 * The next part.  Bytes are borrowed until the next call.  A reader that began
 * within the stream first skips to a message's beginning.
 *
 * Returns 0; -EBADMSG bytes that are no frame, a digest or length that does
 * not match (stream_reader_fault says what, and where); -EOWNERDEAD;
 * -ESTALE evicted.  Never blocks.
 */
int stream_next(struct stream_reader *stream, struct stream_item *item);

/* Give back the room of all parts that were taken; stream_next does it now and
 * then, and before it says STREAM_PART_EMPTY.  Returns 0 or -ESTALE. */
int stream_release(struct stream_reader *stream);

/* Is a message open (begun, neither finished nor failed)? */
bool stream_reader_is_open(const struct stream_reader *stream);
uint64_t stream_reader_messages(const struct stream_reader *stream);
uint64_t stream_reader_body_bytes(const struct stream_reader *stream);
const char *stream_reader_fault(const struct stream_reader *stream);

#ifdef __cplusplus
}
#endif
#endif
