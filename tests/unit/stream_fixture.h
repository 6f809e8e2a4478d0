/*
 * stream_fixture.h - for tests of the stream: a ring with a stream writer and
 * a stream reader, expected bytes, and forged ones.
 */
#ifndef SLUICE_STREAM_FIXTURE_H
#define SLUICE_STREAM_FIXTURE_H

#include "shared/bigendian.h"
#include "shared/stream.h"
#include "tests/unit/ring_fixture.h"

extern struct ring_writer *ring_out;
extern struct ring_reader *ring_in;
extern struct stream_writer *out;
extern struct stream_reader *in;

/* Open all four: slots of `slot_size` bytes, digests or not. */
void streams_open(uint32_t slot_size, uint32_t slots, bool digest);
void streams_close(void);

/* ---- expected bytes -------------------------------------------------------------- */

/* Bytes that are put together. */
struct text {
	uint8_t bytes[2u << 20];
	size_t length;
};

void text_clear(struct text *text);
void text_byte(struct text *text, uint8_t byte);
void text_bytes(struct text *text, const void *bytes, size_t length);
void text_frame(struct text *text, uint8_t type, const void *payload, size_t length);
/* An END frame for that body. */
void text_end(struct text *text, const void *body, size_t length, bool digest);

/* Publish finished messages; the ring's next bytes must be exactly these. */
void expect_published(const struct text *text);

/* ---- forged bytes, and what is read -------------------------------------------------- */

/* Publish raw bytes as one batch, at the start of a new slot if asked. */
void forge(const void *bytes, size_t length);
void forge_text(const struct text *text);

/* The next part must be of that kind. */
struct stream_item expect_part(enum stream_part part);
void expect_body(enum stream_part part, const void *bytes, size_t length);
/* The next call must fail so, with these words in its fault. */
void expect_fault(const char *words, uint64_t position, uint64_t message);

#endif
