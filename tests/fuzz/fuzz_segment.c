/*
 * fuzz_segment.c - any bytes in the shared words of a ring.
 *
 * The input is a script: words of the control page and of the shared region
 * are overwritten, and both ends of the ring go on.  No bytes there may crash
 * an end, make it hang, or lead it outside of the payload.  (The insides of a
 * semaphore are the C library's, and left alone.)
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ring/reader.h"
#include "ring/writer.h"

#define CHECK(condition) \
	do { \
		if (!(condition)) { \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
			abort(); \
		} \
	} while (0)

#define SLOTS 4u
#define READERS 3u
#define STEPS_MAX 64

static struct {
	char name[64];
	struct ring_writer *writer;
	uint8_t *control, *shared;         /* as they were at first */
	struct ring_reader *readers[READERS];
} ring;

/* ---- the script ---------------------------------------------------------------------- */

struct script {
	const uint8_t *bytes;
	size_t left;
};

static uint64_t take(struct script *script, unsigned size)
{
	uint64_t value = 0;

	while (size-- > 0 && script->left > 0) {
		value = value << 8 | *script->bytes++;
		script->left--;
	}
	return value;
}

/* ---- forging ------------------------------------------------------------------------- */

static void forge_control(struct script *script)
{
	size_t length = ring.writer->segment.shared_offset;
	size_t at = take(script, 2) % (length - 8);
	uint64_t value = take(script, 8);

	memcpy((uint8_t *)ring.writer->segment.control + at, &value, sizeof value);
}

/* The words that steer: few, and often near to what is right. */
static void forge_word(struct script *script)
{
	struct ring_control *control = ring.writer->segment.control;
	struct ring_shared *shared = ring.writer->segment.shared;
	unsigned which = (unsigned)take(script, 1), near = which >> 6;
	struct ring_entry *entry = &shared->entries[take(script, 1) % (READERS + 1)];
	uint64_t value = near == 0 ? take(script, 8) : take(script, 3);
	_Atomic uint64_t *words[] = {
		&control->head, &control->end, &control->required, &shared->sleeping, &shared->wish,
		&entry->word, &entry->tail, &entry->result, &entry->dropped,
	};
	_Atomic uint64_t *word = words[(which & 63) % (sizeof words / sizeof words[0])];

	if (near == 1)
		value = ring.writer->published + value - (1u << 23);
	else if (near == 2)
		value = atomic_load(word) + value - (1u << 23);
	atomic_store(word, value);
}

static void forge_used(struct script *script)
{
	atomic_store(&ring.writer->segment.control->used[take(script, 1) % SLOTS],
	             (uint32_t)take(script, 4));
}

static void forge_owner(struct script *script)
{
	struct ring_display *owner = &ring.writer->segment.shared->entries[take(script, 1) % READERS].owner;

	memset(owner, (int)take(script, 1), sizeof *owner);
}

/* ---- both ends ----------------------------------------------------------------------- */

static void write_some(struct script *script)
{
	size_t least = take(script, 3) % (2 * RING_MIN_SLOT_SIZE) + 1, length;
	uint8_t *room;

	if (ring_writer_claim(ring.writer, least, &room, &length) != 0) {
		ring_writer_wait_space(ring.writer, 0);
		return;
	}
	CHECK(length >= least && length <= RING_MIN_SLOT_SIZE);
	CHECK(room >= ring.writer->segment.payload &&
	      room + length <= ring.writer->segment.payload + SLOTS * RING_MIN_SLOT_SIZE);
	memset(room, 'w', least);
	ring_writer_commit(ring.writer, least);
	if (take(script, 1) % 2 == 0)
		ring_writer_publish(ring.writer);
}

static void read_some(struct script *script)
{
	struct ring_reader *reader = ring.readers[take(script, 1) % READERS];
	const uint8_t *bytes;
	size_t length, part = take(script, 3);
	unsigned sum = 0;
	int code;

	if (reader == NULL)
		return;
	if (ring_reader_peek(reader, &bytes, &length) == RING_DATA) {
		CHECK(length > 0 && length <= reader->slot_bytes);
		CHECK(bytes >= reader->segment.payload && bytes + length <=
		      reader->segment.payload + SLOTS * RING_MIN_SLOT_SIZE);
		for (size_t i = 0; i < length; i += 64)
			sum += bytes[i];
		ring_reader_release(reader, sum == UINT32_MAX || part < length ? part % length : length);
	}
	ring_reader_wait(reader, 0);
	ring_reader_holds_back(reader);
	ring_reader_required(reader);
	CHECK(ring_reader_end(reader, &code) <= RING_ABORTED);
	CHECK(code >= 0 && code <= 255);
	CHECK(memchr(ring_reader_writer(reader).label, '\0', RING_LABEL_MAX) != NULL);
}

static void attach(unsigned i)
{
	struct ring_reader_options options = { .label = "fuzz" };

	if (ring.readers[i] == NULL)
		ring_attach(&ring.readers[i], ring.name, &options);
}

static void detach(unsigned i)
{
	if (ring.readers[i] != NULL)
		ring_detach(ring.readers[i]);
	ring.readers[i] = NULL;
}

static void look(void)
{
	struct ring_reader_report reports[WRITER_KEPT_REPORTS + RING_MAX_READERS];
	struct ring_process process;
	uint64_t lag;
	size_t count = ring_writer_reports(ring.writer, reports, WRITER_KEPT_REPORTS + RING_MAX_READERS);

	CHECK(count <= WRITER_KEPT_REPORTS + RING_MAX_READERS);
	for (size_t i = 0; i < count; i++)
		CHECK(memchr(reports[i].process.label, '\0', RING_LABEL_MAX) != NULL);
	CHECK(ring_writer_slowest(ring.writer, &lag, &process) < RING_MAX_READERS);
}

static void step(struct script *script)
{
	unsigned what = (unsigned)take(script, 1);

	switch (what % 16) {
	case 0:
		forge_control(script);
		break;
	case 1:
	case 2:
	case 3:
		forge_word(script);
		break;
	case 4:
		forge_used(script);
		break;
	case 5:
		forge_owner(script);
		break;
	case 6:
	case 7:
		attach((what >> 4) % READERS);
		break;
	case 8:
	case 9:
		write_some(script);
		break;
	case 10:
	case 11:
		read_some(script);
		break;
	case 12:
		readers_watch(ring.writer);
		break;
	case 13:
		if (ring.readers[(what >> 4) % READERS] != NULL)
			ring_reader_set_result(ring.readers[(what >> 4) % READERS], (int)take(script, 1));
		break;
	case 14:
		ring_writer_wait_readers(ring.writer, 1 + (what >> 4), 0, NULL);
		look();
		break;
	default:
		detach((what >> 4) % READERS);
	}
}

/* ---- one ring for all inputs ------------------------------------------------------------ */

static void ring_end(void)
{
	watcher_start(&ring.writer->watcher, readers_watch, ring.writer);
	ring_destroy(ring.writer);
	free(ring.control);
	free(ring.shared);
}

static uint8_t *copy_of(const void *bytes, size_t length)
{
	uint8_t *copy = malloc(length);

	CHECK(copy != NULL);
	memcpy(copy, bytes, length);
	return copy;
}

static size_t shared_length(void)
{
	return ring.writer->segment.payload_offset - ring.writer->segment.shared_offset;
}

static void ring_begin(void)
{
	struct ring_writer_options options = {
		.geometry = { RING_MIN_SLOT_SIZE, SLOTS }, .stall_timeout_ms = 1 };

	snprintf(ring.name, sizeof ring.name, "fuzz-%d-segment", (int)getpid());
	CHECK(ring_create(&ring.writer, ring.name, &options, NULL, NULL) == 0);
	/* The watcher looks when the script says so. */
	watcher_stop(&ring.writer->watcher);
	ring.control = copy_of(ring.writer->segment.control, ring.writer->segment.shared_offset);
	ring.shared = copy_of(ring.writer->segment.shared, shared_length());
	atexit(ring_end);
}

static void ring_reset(void)
{
	struct ring_writer *writer = ring.writer;

	for (unsigned i = 0; i < READERS; i++)
		detach(i);
	memcpy(writer->segment.control, ring.control, writer->segment.shared_offset);
	memcpy(writer->segment.shared, ring.shared, shared_length());
	writer->cursor = writer->published = writer->min_tail = 0;
	writer->slot_end = RING_MIN_SLOT_SIZE;
	writer->slot_base = writer->segment.payload;
	writer->slots_left = writer->messages = 0;
	atomic_store(&writer->stop, 0);
	memset(writer->notes, 0, sizeof writer->notes);
	writer->kept_count = writer->required_count = writer->required_pending = 0;
	writer->started = false;
}

/* The validator alone, on a header that is all input, or partly. */
static void check_header(const uint8_t *data, size_t size)
{
	union {
		struct ring_control control;
		uint8_t bytes[sizeof(struct ring_control)];
	} header;
	size_t at = size > 0 ? data[0] % offsetof(struct ring_control, head) : 0;
	size_t length = size < sizeof header - at ? size : sizeof header - at;
	struct segment segment;
	uint64_t file_size;

	memset(&header, 0, sizeof header);
	memcpy(header.bytes, data, size < sizeof header ? size : sizeof header);
	memcpy(&file_size, header.bytes + 128, sizeof file_size);
	CHECK(segment_check(&segment, &header.control, size, file_size) != 0 ||
	      segment_size(segment.geometry) == file_size);

	memcpy(header.bytes, ring.control, sizeof header);
	memcpy(header.bytes + at, data, length);
	file_size = ring.writer->segment.segment_bytes;
	CHECK(segment_check(&segment, &header.control, sizeof header, file_size) != 0 ||
	      segment_size(segment.geometry) == file_size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct script script = { data, size };

	if (ring.writer == NULL)
		ring_begin();
	check_header(data, size);
	for (int steps = 0; script.left > 0 && steps < STEPS_MAX; steps++)
		step(&script);
	ring_reset();
	return 0;
}
