/*
 * json_record.h - what the JSON parser said about an input, as text, however
 * the input was cut into reads.
 */
#ifndef SLUICE_TESTS_JSON_RECORD_H
#define SLUICE_TESTS_JSON_RECORD_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "producer/json_parser.h"

#define RECORD_FAULTS_MAX 64

/* Events are written as JSON again, a line for each text, so that the pieces of
 * a string join; a text at fault ends in "!". */
struct json_record {
	char *text;                    /* ends in NUL, which is not counted */
	size_t length, room;
	bool comma;                    /* the next item needs one before it */
	bool open;                     /* within a string, that began at: */
	size_t string;
	size_t pieces;                 /* of strings that came in several */
	struct json_fault faults[RECORD_FAULTS_MAX];
	size_t fault_count;
	bool number_too_long;          /* which depends on the buffer's size */
};

/* How an input is given to the parser. */
struct json_feed {
	size_t buffer_size;            /* 0: all of the input fits */
	size_t first;                  /* bytes of the first read; 0: like the others */
	size_t most;                   /* the others have 1 .. most bytes; 0: all */
	bool sequence;                 /* and resume after each fault */
};

static void record_put(struct json_record *record, const char *bytes, size_t length)
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

static void record_string(struct json_record *record, const struct json_event *event)
{
	if (event->first)
		record_put(record, "\"", 1);
	for (size_t i = 0; i < event->length; i++) {
		unsigned char byte = (unsigned char)event->bytes[i];
		char escape[8];

		if (byte < 0x20 || byte == '"' || byte == '\\')
			record_put(record, escape, (size_t)snprintf(escape, sizeof(escape), "\\u%04x", byte));
		else
			record_put(record, &event->bytes[i], 1);
	}
	if (event->last)
		record_put(record, "\"", 1);
	record->pieces += !event->first || !event->last;
}

static void record_event(struct json_record *record, const struct json_event *event)
{
	static const char *const words[] = {
		[JSON_EVENT_TEXT_BEGIN] = "", [JSON_EVENT_TEXT_END] = "\n", [JSON_EVENT_NULL] = "null",
		[JSON_EVENT_FALSE] = "false", [JSON_EVENT_TRUE] = "true",
		[JSON_EVENT_ARRAY_BEGIN] = "[", [JSON_EVENT_ARRAY_END] = "]",
		[JSON_EVENT_OBJECT_BEGIN] = "{", [JSON_EVENT_OBJECT_END] = "}",
	};
	bool string = event->kind == JSON_EVENT_STRING || event->kind == JSON_EVENT_KEY;
	bool begins = event->kind == JSON_EVENT_TEXT_BEGIN || event->kind == JSON_EVENT_ARRAY_BEGIN ||
	              event->kind == JSON_EVENT_OBJECT_BEGIN;
	bool ends = event->kind == JSON_EVENT_TEXT_END || event->kind == JSON_EVENT_ARRAY_END ||
	            event->kind == JSON_EVENT_OBJECT_END;

	if (string && event->first)
		record->string = record->length;
	if (record->comma && !ends && (!string || event->first))
		record_put(record, ",", 1);
	if (string)
		record_string(record, event);
	else if (event->kind == JSON_EVENT_NUMBER)
		record_put(record, event->bytes, event->length);
	else
		record_put(record, words[event->kind], strlen(words[event->kind]));
	if (event->kind == JSON_EVENT_KEY && event->last)
		record_put(record, ":", 1);
	record->open = string && !event->last;
	record->comma = !begins && event->kind != JSON_EVENT_KEY && event->kind != JSON_EVENT_TEXT_END;
}

static void record_fault(struct json_record *record, const struct json_fault *fault)
{
	if (strncmp(fault->reason, "number with too many", 20) == 0)
		record->number_too_long = true;
	if (record->fault_count < RECORD_FAULTS_MAX)
		record->faults[record->fault_count++] = *fault;
	if (record->open)                      /* how much of it was seen depends on the cuts */
		record->length = record->string;
	record->open = record->comma = false;
	record_put(record, "!\n", 2);
}

/* Take all events that are there; at most `batch` at once. */
static void record_events(struct json_record *record, struct json_parser *parser, size_t batch)
{
	struct json_event events[64];
	int count;

	while ((count = json_parser_next(parser, events, batch)) > 0)
		for (int i = 0; i < count; i++)
			record_event(record, &events[i]);
	if (count == 0)
		return;
	record_fault(record, &parser->fault);
	if (parser->sequence) {
		json_parser_resume(parser);
		record_events(record, parser, batch);
	}
}

/* The caller frees record->text. */
static void json_record(struct json_record *record, const void *input, size_t length,
                        const struct json_feed *feed)
{
	size_t size = feed->buffer_size > 0 ? feed->buffer_size : 2 * length + JSON_BUFFER_MIN;
	char *buffer = malloc(size + JSON_PADDING);
	struct json_parser *parser = malloc(sizeof(*parser));
	uint32_t random = (uint32_t)feed->most;
	size_t some = feed->first;

	if (buffer == NULL || parser == NULL)
		abort();
	memset(record, 0, sizeof(*record));
	record_put(record, "", 0);
	memset(buffer, '7', size + JSON_PADDING);
	json_parser_init(parser, buffer, size, feed->sequence);
	while (!parser->finished && (feed->sequence || record->fault_count == 0)) {
		size_t room;
		char *to = json_parser_room(parser, &room);

		random = random * 1103515245u + 12345u;
		if (some == 0)
			some = feed->most > 0 ? 1 + (random >> 8) % feed->most : room;
		if (some > room)
			some = room;
		if (some > length)
			some = length;
		memcpy(to, input, some);
		if (some > 0)
			json_parser_fill(parser, some);
		else
			json_parser_finish(parser);
		input = (const char *)input + some;
		length -= some;
		some = 0;
		record_events(record, parser, JSON_EVENTS_MIN + random % 50);
	}
	free(buffer);
	free(parser);
}

/* The first thing that differs, or NULL. */
static const char *json_records_differ(const struct json_record *one, const struct json_record *other)
{
	if (one->length != other->length || memcmp(one->text, other->text, one->length) != 0)
		return "events";
	if (one->fault_count != other->fault_count)
		return "number of faults";
	for (size_t i = 0; i < one->fault_count; i++) {
		const struct json_fault *a = &one->faults[i], *b = &other->faults[i];

		if (strcmp(a->reason, b->reason) != 0)
			return "a fault's reason";
		if (a->line != b->line || a->column != b->column || a->offset != b->offset)
			return "a fault's place";
	}
	return NULL;
}

#endif
