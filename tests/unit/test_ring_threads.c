/*
 * test_ring_threads.c - the ends of a ring as threads of one process, for
 * ThreadSanitizer.
 *
 * It tells accesses apart by their address, so all ends use the writer's
 * mapping here; on mappings of their own nothing would be seen.
 */
// needs: tests/unit/ring_fixture.c
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "tests/unit/ring_fixture.h"

#define READERS 3
#define STREAM_BYTES (150 * SLOT)

static struct ring_writer *writer;

/* ---- one mapping for all ends ------------------------------------------------------- */

struct mapping {
	struct ring_control *control;
	struct ring_shared *shared;
	uint8_t *payload;
};

/* A reader, and the mapping that it has to have again when it leaves. */
struct end {
	struct ring_reader *reader;
	struct mapping own;
	unsigned seed;
	pthread_t thread;
};

static struct mapping mapping_of(const struct segment *segment)
{
	return (struct mapping){ segment->control, segment->shared, segment->payload };
}

static void mapping_set(struct ring_reader *reader, struct mapping mapping)
{
	watcher_stop(&reader->watcher);
	reader->segment.control = mapping.control;
	reader->segment.shared = mapping.shared;
	reader->segment.payload = mapping.payload;
	reader->entry = &mapping.shared->entries[reader->index];
	ck_assert_int_eq(watcher_start(&reader->watcher, reader->watcher.look, reader->watcher.context), 0);
}

/* Returns what ring_attach says. */
static int end_open(struct end *end, struct ring_reader_options options)
{
	int error = ring_attach(&end->reader, fixture_name(0), &options);

	if (error == 0) {
		end->own = mapping_of(&end->reader->segment);
		mapping_set(end->reader, mapping_of(&writer->segment));
	}
	return error;
}

static void end_close(struct end *end)
{
	mapping_set(end->reader, end->own);
	ring_detach(end->reader);
}

/* ---- ends ---------------------------------------------------------------------------- */

static void write_stream(unsigned seed, bool always_publish)
{
	while (ring_writer_position(writer) < STREAM_BYTES) {
		size_t least = 1 + (size_t)rand_r(&seed) % (SLOT / (rand_r(&seed) % 8 == 0 ? 1 : 64)), left;
		uint8_t *room;
		int error;

		while ((error = ring_writer_claim(writer, least, &room, &left)) == -EAGAIN)
			ck_assert_int_eq(ring_writer_wait_space(writer, DEADLINE_MS), 0);
		ck_assert_int_eq(error, 0);
		fill_bytes(room, ring_writer_position(writer), least);
		ring_writer_commit(writer, least);
		if (always_publish || rand_r(&seed) % 4 == 0)
			ring_writer_publish(writer);
	}
	ring_writer_end(writer, RING_COMPLETE, 0);
}

/* Take what is there, in random parts.  Returns what peek found. */
static int read_some(struct ring_reader *reader, unsigned *seed)
{
	const uint8_t *bytes;
	size_t length;
	int found = ring_reader_peek(reader, &bytes, &length);

	if (found == RING_DATA) {
		if (rand_r(seed) % 3 == 0)
			length = 1 + (size_t)rand_r(seed) % length;
		expect_bytes(bytes, ring_reader_position(reader), length);
		ck_assert_int_eq(ring_reader_release(reader, length), 0);
	} else if (found == RING_EMPTY) {
		ck_assert_int_eq(ring_reader_wait(reader, DEADLINE_MS), 0);
	}
	return found;
}

static void *read_stream(void *context)
{
	struct end *end = context;
	int found;

	do
		found = read_some(end->reader, &end->seed);
	while (found == RING_DATA || found == RING_EMPTY);
	ck_assert_int_eq(found, RING_ENDED);
	ck_assert_int_eq(ring_reader_set_result(end->reader, 0), 0);
	return NULL;
}

/* Comes and goes until the stream is over. */
static void *read_late(void *context)
{
	struct end *end = context;

	while (end_open(end, (struct ring_reader_options){ .label = "late" }) == 0) {
		int turns = 1 + rand_r(&end->seed) % 20;

		ck_assert_uint_eq(ring_reader_start(end->reader) % SLOT, 0);
		while (turns-- > 0 && read_some(end->reader, &end->seed) != RING_ENDED)
			continue;
		end_close(end);
	}
	return NULL;
}

static void end_start(struct end *end, void *(*run)(void *))
{
	ck_assert_int_eq(pthread_create(&end->thread, NULL, run, end), 0);
}

/* ---- tests ------------------------------------------------------------------------------ */

static void stream_to_readers(unsigned seed, uint32_t slots, bool spin, bool always_publish)
{
	struct end ends[READERS];

	writer = make_ring_with(slots, (struct ring_writer_options){ .spin = spin });
	for (unsigned i = 0; i < READERS; i++) {
		ends[i].seed = seed + i;
		ck_assert_int_eq(end_open(&ends[i], (struct ring_reader_options){ .spin = spin }), 0);
	}
	ck_assert_int_eq(ring_writer_wait_readers(writer, READERS, DEADLINE_MS, NULL), 0);
	for (unsigned i = 0; i < READERS; i++)
		end_start(&ends[i], read_stream);
	write_stream(seed, always_publish);
	ck_assert_int_eq(ring_writer_drain(writer, DEADLINE_MS), 0);
	for (unsigned i = 0; i < READERS; i++) {
		pthread_join(ends[i].thread, NULL);
		ck_assert_uint_eq(ring_reader_position(ends[i].reader), ring_writer_position(writer));
		end_close(&ends[i]);
	}
	ring_destroy(writer);
}

START_TEST(every_reader_gets_every_byte)
{
	stream_to_readers((unsigned)_i * 100 + 1, (uint32_t)(2 + _i), false, false);
}
END_TEST

START_TEST(every_reader_gets_every_byte_when_each_piece_is_published)
{
	stream_to_readers(7, 3, false, true);
}
END_TEST

START_TEST(every_reader_gets_every_byte_when_all_spin)
{
	stream_to_readers(11, 4, true, true);
}
END_TEST

START_TEST(readers_come_and_go_while_the_stream_runs)
{
	struct end steady = { .seed = 20 }, late[READERS];

	writer = make_ring(3);
	ck_assert_int_eq(end_open(&steady, (struct ring_reader_options){ 0 }), 0);
	ck_assert_int_eq(ring_writer_wait_readers(writer, 1, DEADLINE_MS, NULL), 0);
	end_start(&steady, read_stream);
	for (unsigned i = 0; i < READERS; i++) {
		late[i].seed = 21 + i;
		end_start(&late[i], read_late);
	}
	write_stream(19, false);
	ck_assert_int_eq(ring_writer_drain(writer, DEADLINE_MS), 0);
	for (unsigned i = 0; i < READERS; i++)
		pthread_join(late[i].thread, NULL);
	pthread_join(steady.thread, NULL);
	end_close(&steady);
	ring_destroy(writer);
}
END_TEST

static void *read_until_interrupted(void *context)
{
	struct ring_reader *reader = ((struct end *)context)->reader;

	while (ring_reader_wait(reader, DEADLINE_MS) != -EINTR)
		if (peek_at(reader) == RING_DATA)
			take_bytes(reader);
	return NULL;
}

static void *interrupt_both(void *context)
{
	for (int i = 0; i < 20; i++)
		fixture_nap();
	ring_reader_interrupt(((struct end *)context)->reader);
	ring_writer_interrupt(writer);
	return NULL;
}

START_TEST(both_ends_are_interrupted_while_they_run)
{
	struct end end = { .seed = 0 };
	pthread_t interrupter;
	int error;

	writer = make_ring(2);
	ck_assert_int_eq(end_open(&end, (struct ring_reader_options){ 0 }), 0);
	end_start(&end, read_until_interrupted);
	ck_assert_int_eq(pthread_create(&interrupter, NULL, interrupt_both, &end), 0);
	do {
		error = put_bytes(writer, 1000);
		if (error == -EAGAIN)
			error = ring_writer_wait_space(writer, DEADLINE_MS);
	} while (error == 0);
	ck_assert_int_eq(error, -EINTR);
	pthread_join(interrupter, NULL);
	pthread_join(end.thread, NULL);
	end_close(&end);
	ring_destroy(writer);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ring threads");
	TCase *threads = fixture_case(suite, "threads");

	tcase_add_loop_test(threads, every_reader_gets_every_byte, 0, 4);
	tcase_add_test(threads, every_reader_gets_every_byte_when_each_piece_is_published);
	tcase_add_test(threads, every_reader_gets_every_byte_when_all_spin);
	tcase_add_test(threads, readers_come_and_go_while_the_stream_runs);
	tcase_add_test(threads, both_ends_are_interrupted_while_they_run);
	return fixture_run(suite);
}
