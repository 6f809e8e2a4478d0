/*
 * csv_record.h - what the CSV parser said about an input, as text, however the
 * input was cut into reads.
 */
#ifndef SLUICE_TESTS_CSV_RECORD_H
#define SLUICE_TESTS_CSV_RECORD_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "producer/csv_parser.h"

#define RECORD_FAULTS_MAX 64

/* Fields end with NUL, which none has; before one that was in quotes stands
 * FE, and behind a row FF, which UTF-8 has not.  What was given of a row at fault
 * is taken back. */
#define RECORD_QUOTED "\xfe"
#define RECORD_ROW "\xff"

struct csv_record {
	char *text;
	size_t length, room;
	size_t row;                    /* where the present row began */
	size_t rows, pieces;           /* pieces: of fields that came in several */
	struct csv_fault faults[RECORD_FAULTS_MAX];
	size_t fault_count;
	uint64_t width;
};

/* How an input is given to the parser. */
struct csv_feed {
	size_t buffer_size;            /* 0: all of the input fits */
	size_t first;                  /* bytes of the first read; 0: like the others */
	size_t most;                   /* the others have 1 .. most bytes; 0: all */
	char delimiter, quote;         /* delimiter NUL: a comma and '"' */
};

static void record_put(struct csv_record *record, const char *bytes, size_t length)
{
	if (record->length + length + 1 > record->room) {
		record->room = 2 * (record->length + length) + 64;
		record->text = realloc(record->text, record->room);
		if (record->text == NULL)
			abort();
	}
	memcpy(record->text + record->length, bytes, length);
	record->length += length;
	record->text[record->length] = '\0';
}

static void record_event(struct csv_record *record, const struct csv_event *event)
{
	if (event->first && event->quoted)
		record_put(record, RECORD_QUOTED, 1);
	record_put(record, event->bytes, event->length);
	record->pieces += !event->first || !event->last;
	if (event->last)
		record_put(record, "", 1);
	if (event->row_end) {
		record_put(record, RECORD_ROW, 1);
		record->row = record->length;
		record->rows++;
	}
}

/* Take all events that are there; at most `batch` at once. */
static void record_events(struct csv_record *record, struct csv_parser *parser, size_t batch)
{
	struct csv_event events[64];

	for (;;) {
		int count = csv_parser_next(parser, events, batch);

		if (count == 0)
			return;
		for (int i = 0; i < count; i++)
			record_event(record, &events[i]);
		if (count < 0) {
			if (record->fault_count < RECORD_FAULTS_MAX)
				record->faults[record->fault_count++] = parser->fault;
			record->length = record->row;
			csv_parser_resume(parser);
		}
	}
}

/* The caller frees record->text. */
static void csv_record(struct csv_record *record, const void *input, size_t length,
                       const struct csv_feed *feed)
{
	size_t size = feed->buffer_size > 0 ? feed->buffer_size : 2 * length + CSV_BUFFER_MIN;
	char *buffer = malloc(size + CSV_PADDING);
	struct csv_parser parser;
	uint32_t random = (uint32_t)feed->most;
	size_t some = feed->first;

	if (buffer == NULL)
		abort();
	memset(record, 0, sizeof(*record));
	record_put(record, "", 0);
	memset(buffer, ',', size + CSV_PADDING);
	csv_parser_init(&parser, buffer, size, feed->delimiter ? feed->delimiter : ',',
	                feed->delimiter ? feed->quote : '"');
	while (!parser.finished) {
		size_t room;
		char *to = csv_parser_room(&parser, &room);

		random = random * 1103515245u + 12345u;
		if (some == 0)
			some = feed->most > 0 ? 1 + (random >> 8) % feed->most : room;
		if (some > room)
			some = room;
		if (some > length)
			some = length;
		if (some > 0) {
			memcpy(to, input, some);
			csv_parser_fill(&parser, some);
			input = (const char *)input + some;
		} else {
			csv_parser_finish(&parser);
		}
		length -= some;
		some = 0;
		record_events(record, &parser, 1 + random % 60);
	}
	record->width = parser.width;
	free(buffer);
}

/* The first thing that differs, or NULL. */
static const char *csv_records_differ(const struct csv_record *one, const struct csv_record *other)
{
	if (one->length != other->length || memcmp(one->text, other->text, one->length) != 0)
		return "rows";
	if (one->fault_count != other->fault_count || one->width != other->width)
		return "number of faults, or the width";
	for (size_t i = 0; i < one->fault_count; i++) {
		const struct csv_fault *a = &one->faults[i], *b = &other->faults[i];

		if (strcmp(a->reason, b->reason) != 0 || a->encoding != b->encoding)
			return "a fault's reason";
		if (a->line != b->line || a->column != b->column)
			return "a fault's place";
	}
	return NULL;
}

#endif
