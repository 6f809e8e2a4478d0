/*
 * wire.c - see wire.h.
 *
 * A map is first walked once, whole: after that it is known to be well-formed
 * CBOR without anything behind it, and is small enough that each key is simply
 * looked for from the start.
 */
#include "bridge/wire.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "shared/bigendian.h"
#include "shared/cbor_put.h"
#include "shared/cbor_walk.h"
#include "shared/digest.h"
#include "shared/utf8.h"

#define MAGIC "SLUICE\r\n"
#define MAGIC_LENGTH 8u

#define CODE_MAX 255u
#define SEEDING 16u                    /* bytes of a record's head that seed its check */

static const struct feature {
	const char *name;
	enum wire_feature feature;
} known_features[] = {
	{ "resume", WIRE_FEATURE_RESUME },
};

#define KNOWN_FEATURES (sizeof known_features / sizeof known_features[0])

__attribute__((format(printf, 3, 4)))
static int bad(char *why, size_t why_size, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(why, why_size, format, arguments);
	va_end(arguments);
	return -EBADMSG;
}

/* ---- first bytes ---------------------------------------------------------- */

static bool begins_with(const uint8_t *bytes, size_t length, const char *text)
{
	size_t size = strlen(text);

	return length >= size && memcmp(bytes, text, size) == 0;
}

#define TLS_ALERT 0x15                 /* types of TLS records */
#define TLS_HANDSHAKE 0x16
#define TLS_MAJOR 3
#define TLS_HELLO_AT 5                 /* where a handshake record says which message */
#define TLS_CLIENT_HELLO 1

static const char *guess_tls(const uint8_t *bytes, size_t length)
{
	if (length > 1 && bytes[1] != TLS_MAJOR)
		return NULL;
	if (bytes[0] == TLS_ALERT)
		return "a TLS server";
	if (bytes[0] != TLS_HANDSHAKE)
		return NULL;
	return length <= TLS_HELLO_AT || bytes[TLS_HELLO_AT] == TLS_CLIENT_HELLO ? "a TLS client"
	                                                                         : "a TLS server";
}

const char *wire_guess_peer(const uint8_t *bytes, size_t length)
{
	static const char *const methods[] = {
		"GET ", "HEAD ", "POST ", "PUT ", "DELETE ", "OPTIONS ", "CONNECT ", "PATCH ",
		"TRACE ", "PRI * HTTP",
	};
	const char *tls = length > 0 ? guess_tls(bytes, length) : NULL;

	if (tls != NULL)
		return tls;
	if (begins_with(bytes, length, "HTTP/"))
		return "an HTTP server";
	for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++)
		if (begins_with(bytes, length, methods[i]))
			return "an HTTP client";
	return "something else";
}

int wire_preamble_check(const uint8_t *bytes, size_t length, uint32_t *map,
                        char *why, size_t why_size)
{
	size_t magic = length < MAGIC_LENGTH ? length : MAGIC_LENGTH;

	if (memcmp(bytes, MAGIC, magic) != 0)
		return bad(why, why_size, "peer is not a bridge but %s", wire_guess_peer(bytes, length));
	if (length < WIRE_PREAMBLE)
		return -EAGAIN;
	*map = get_u32(bytes + MAGIC_LENGTH);
	if (*map < 1 || *map > WIRE_MAP_MAX)
		return bad(why, why_size, "greeting of %" PRIu32 " bytes (1 to %u)", *map, WIRE_MAP_MAX);
	return 0;
}

/* ---- writing maps --------------------------------------------------------- */

/* How much of a text is sent, or kept: no more than `most` bytes. */
static size_t text_length(const uint8_t *text, size_t length, size_t most)
{
	return length > most ? utf8_cut(text, most) : length;
}

static uint8_t *put_text(uint8_t *out, const char *text, size_t most)
{
	size_t length = text_length((const uint8_t *)text, strlen(text), most);

	out = cbor_put_head(out, CBOR_BYTE_TEXT, length);
	memcpy(out, text, length);
	return out + length;
}

static uint8_t *put_key(uint8_t *out, const char *key)
{
	return put_text(out, key, SIZE_MAX);
}

static uint8_t *put_number(uint8_t *out, const char *key, uint64_t number)
{
	return cbor_put_head(put_key(out, key), CBOR_BYTE_UNSIGNED, number);
}

static uint8_t *put_features(uint8_t *out, const char *key, uint32_t features)
{
	uint64_t count = 0;

	for (size_t i = 0; i < KNOWN_FEATURES; i++)
		count += (features & known_features[i].feature) != 0;
	out = cbor_put_head(put_key(out, key), CBOR_BYTE_ARRAY, count);
	for (size_t i = 0; i < KNOWN_FEATURES; i++)
		if ((features & known_features[i].feature) != 0)
			out = put_key(out, known_features[i].name);
	return out;
}

static uint8_t *put_proto_range(uint8_t *out)
{
	out = cbor_put_head(put_key(out, "proto"), CBOR_BYTE_ARRAY, 2);
	out = cbor_put_head(out, CBOR_BYTE_UNSIGNED, WIRE_PROTO_MIN);
	return cbor_put_head(out, CBOR_BYTE_UNSIGNED, WIRE_PROTO_MAX);
}

static uint8_t *put_software(uint8_t *out)
{
	return put_text(put_key(out, "software"), WIRE_SOFTWARE, WIRE_SOFTWARE_MAX);
}

#define REPORT_PAIRS 2u

static uint8_t *put_report(uint8_t *out, const struct wire_report *report)
{
	out = put_number(out, "code", (uint64_t)report->code);
	return put_text(put_key(out, "text"), report->text, WIRE_TEXT_MAX);
}

/* ---- greetings, written --------------------------------------------------- */

static uint8_t *put_hello(uint8_t *out, const struct wire_greeting *greeting)
{
	const struct wire_hello *hello = &greeting->hello;
	bool named = hello->name[0] != '\0';

	out = cbor_put_head(out, CBOR_BYTE_MAP, named ? 11 : 10);
	out = put_proto_range(out);
	out = put_software(out);
	out = put_features(out, "features", greeting->peer.features);
	out = put_features(out, "required", greeting->peer.required);
	out = cbor_put_head(put_key(out, "stream"), CBOR_BYTE_BYTES, WIRE_STREAM_ID);
	memcpy(out, hello->stream, WIRE_STREAM_ID);
	out += WIRE_STREAM_ID;
	out = put_number(out, "slot_size", hello->geometry.slot_size);
	out = put_number(out, "slots", hello->geometry.slot_count);
	out = put_number(out, "start", hello->start);
	out = put_key(out, "resume");
	*out++ = hello->resume ? CBOR_BYTE_TRUE : CBOR_BYTE_FALSE;
	out = put_number(out, "retry_ms", hello->retry_ms);
	if (named)
		out = put_text(put_key(out, "name"), hello->name, WIRE_NAME_MAX);
	return out;
}

static uint8_t *put_welcome(uint8_t *out, const struct wire_greeting *greeting)
{
	out = cbor_put_head(out, CBOR_BYTE_MAP, 6);
	out = put_number(out, "proto", greeting->proto);
	out = put_software(out);
	out = put_features(out, "features", greeting->peer.features);
	out = put_features(out, "required", greeting->peer.required);
	out = put_number(out, "head", greeting->welcome.head);
	return put_text(put_key(out, "ring"), greeting->welcome.ring, RING_NAME_MAX);
}

static uint8_t *put_refuse(uint8_t *out, const struct wire_greeting *greeting)
{
	out = cbor_put_head(out, CBOR_BYTE_MAP, 3);
	out = put_proto_range(out);
	out = put_software(out);
	out = cbor_put_head(put_key(out, "refuse"), CBOR_BYTE_MAP, REPORT_PAIRS);
	return put_report(out, &greeting->refusal);
}

size_t wire_greeting_encode(const struct wire_greeting *greeting, uint8_t out[WIRE_GREETING_MAX])
{
	uint8_t *map = out + WIRE_PREAMBLE, *end;

	switch (greeting->kind) {
	case WIRE_HELLO:
		end = put_hello(map, greeting);
		break;
	case WIRE_WELCOME:
		end = put_welcome(map, greeting);
		break;
	default:
		end = put_refuse(map, greeting);
		break;
	}
	memcpy(out, MAGIC, MAGIC_LENGTH);
	put_u32(out + MAGIC_LENGTH, (uint32_t)(end - map));
	return (size_t)(end - out);
}

/* ---- items of well-formed CBOR -------------------------------------------- */

struct item {
	const uint8_t *bytes;
	size_t length;
};

/* What is still to come of an array or a map. */
struct items {
	struct item rest;
	uint64_t left;                 /* UINT64_MAX: as far as the break */
};

static struct cbor_token first_token(struct item item)
{
	struct cbor_walker walker;
	struct cbor_token token;

	cbor_walker_init(&walker);
	cbor_walk(&walker, item.bytes, item.length, &token);
	return token;
}

static bool items_open(struct items *items, struct item container, enum cbor_kind kind)
{
	struct cbor_token token = first_token(container);

	if (token.kind != kind)
		return false;
	items->rest.bytes = container.bytes + token.size;
	items->rest.length = container.length - token.size;
	items->left = token.indefinite ? UINT64_MAX : kind == CBOR_MAP ? 2 * token.number : token.number;
	return true;
}

/* The next item, if there is one: of a map, a key or a value. */
static bool items_next(struct items *items, struct item *item)
{
	struct cbor_walker walker;

	if (items->left == 0)
		return false;
	if (items->left == UINT64_MAX && items->rest.bytes[0] == CBOR_BYTE_BREAK)
		return false;
	cbor_walker_init(&walker);
	cbor_walk_run(&walker, items->rest.bytes, items->rest.length, &item->length);
	item->bytes = items->rest.bytes;
	items->rest.bytes += item->length;
	items->rest.length -= item->length;
	items->left -= items->left != UINT64_MAX;
	return true;
}

static bool token_is_text(const struct cbor_token *token, const char *text)
{
	return token->kind == CBOR_TEXT && token->length == strlen(text) &&
	       memcmp(token->data, text, token->length) == 0;
}

/* ---- reading maps --------------------------------------------------------- */

/* A map that is read, up to the first fault. */
struct reading {
	struct item map;
	const char *what;              /* whose map it is */
	int error;                     /* 0 or -EBADMSG */
	char *why;
	size_t why_size;
};

__attribute__((format(printf, 2, 3)))
static void reading_fails(struct reading *reading, const char *format, ...)
{
	char fault[WIRE_WHY_MAX];
	va_list arguments;

	if (reading->error != 0)
		return;
	va_start(arguments, format);
	vsnprintf(fault, sizeof fault, format, arguments);
	va_end(arguments);
	reading->error = bad(reading->why, reading->why_size, "bad %s: %s", reading->what, fault);
}

static struct reading reading_of(struct item map, const char *what, char *why, size_t why_size)
{
	struct reading reading = { .map = map, .what = what, .why = why, .why_size = why_size };
	struct cbor_walker walker;
	size_t taken;
	int outcome;

	cbor_walker_init(&walker);
	outcome = cbor_walk_run(&walker, map.bytes, map.length, &taken);
	if (outcome == 0)
		reading_fails(&reading, "cut off");
	else if (outcome < 0)
		reading_fails(&reading, "%s", cbor_walk_fault());
	else if (taken != map.length)
		reading_fails(&reading, "bytes after its end");
	else if (first_token(map).kind != CBOR_MAP)
		reading_fails(&reading, "not a map");
	return reading;
}

/* The value of a key, if there is one: found at most once. */
static bool find(struct reading *reading, const char *key, struct item *value)
{
	struct items items;
	struct item item, other;
	bool found = false;

	if (reading->error != 0 || !items_open(&items, reading->map, CBOR_MAP))
		return false;
	while (items_next(&items, &item) && items_next(&items, &other)) {
		struct cbor_token token = first_token(item);

		if (!token_is_text(&token, key))
			continue;
		if (found) {
			reading_fails(reading, "\"%s\" is there twice", key);
			return false;
		}
		*value = other;
		found = true;
	}
	return found;
}

/* The value of a key that must be there. */
static bool get(struct reading *reading, const char *key, struct item *value)
{
	if (find(reading, key, value))
		return true;
	reading_fails(reading, "no \"%s\"", key);
	return false;
}

static uint64_t get_number(struct reading *reading, const char *key, uint64_t least, uint64_t most)
{
	struct cbor_token token;
	struct item value;

	if (!get(reading, key, &value))
		return 0;
	token = first_token(value);
	if (token.kind == CBOR_UNSIGNED && token.number >= least && token.number <= most)
		return token.number;
	reading_fails(reading, "\"%s\" is no number from %" PRIu64 " to %" PRIu64, key, least, most);
	return 0;
}

static bool get_bool(struct reading *reading, const char *key)
{
	struct item value;

	if (!get(reading, key, &value))
		return false;
	if (value.length != 1 || (value.bytes[0] != CBOR_BYTE_TRUE && value.bytes[0] != CBOR_BYTE_FALSE))
		reading_fails(reading, "\"%s\" is neither true nor false", key);
	return value.bytes[0] == CBOR_BYTE_TRUE;
}

static void get_stream_id(struct reading *reading, const char *key, uint8_t id[WIRE_STREAM_ID])
{
	struct cbor_token token;
	struct item value;

	if (!get(reading, key, &value))
		return;
	token = first_token(value);
	if (token.kind == CBOR_BYTES && token.length == WIRE_STREAM_ID)
		memcpy(id, token.data, WIRE_STREAM_ID);
	else
		reading_fails(reading, "\"%s\" is no string of %u bytes", key, WIRE_STREAM_ID);
}

/* Keep a text to be shown: as much as there is room for, and harmless. */
static void keep_text(const struct cbor_token *token, char *text, size_t most)
{
	size_t length = text_length(token->data, token->length, most);

	memcpy(text, token->data, length);
	text[length] = '\0';
	for (char *c = text; c < text + length; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
}

static void take_text(struct reading *reading, const char *key, struct item value, char *text,
                      size_t most)
{
	struct cbor_token token = first_token(value);

	if (token.kind == CBOR_TEXT)
		keep_text(&token, text, most);
	else
		reading_fails(reading, "\"%s\" is no text", key);
}

static void get_text(struct reading *reading, const char *key, char *text, size_t most)
{
	struct item value;

	if (get(reading, key, &value))
		take_text(reading, key, value, text, most);
}

static void find_text(struct reading *reading, const char *key, char *text, size_t most)
{
	struct item value;

	text[0] = '\0';
	if (find(reading, key, &value))
		take_text(reading, key, value, text, most);
}

static void get_report(struct reading *reading, unsigned least_code, struct wire_report *report)
{
	report->code = (int)get_number(reading, "code", least_code, CODE_MAX);
	find_text(reading, "text", report->text, WIRE_TEXT_MAX);
}

/* ---- who the peer is ------------------------------------------------------ */

static void get_proto_range(struct reading *reading, struct wire_peer *peer)
{
	struct cbor_token low, high;
	struct items items;
	struct item value, first, second, third;

	if (!get(reading, "proto", &value))
		return;
	if (!items_open(&items, value, CBOR_ARRAY) || !items_next(&items, &first) ||
	    !items_next(&items, &second) || items_next(&items, &third)) {
		reading_fails(reading, "\"proto\" is no pair");
		return;
	}
	low = first_token(first);
	high = first_token(second);
	if (low.kind != CBOR_UNSIGNED || high.kind != CBOR_UNSIGNED || low.number > high.number ||
	    high.number > UINT32_MAX) {
		reading_fails(reading, "\"proto\" is no range");
		return;
	}
	peer->proto_min = (uint32_t)low.number;
	peer->proto_max = (uint32_t)high.number;
}

static void get_peer(struct reading *reading, enum wire_greeting_kind kind, struct wire_peer *peer)
{
	if (kind == WIRE_WELCOME)
		peer->proto_min = peer->proto_max = (uint32_t)get_number(reading, "proto", 0, UINT32_MAX);
	else
		get_proto_range(reading, peer);
	get_text(reading, "software", peer->software, WIRE_SOFTWARE_MAX);
}

/* The features of a list, or-ed.  The first that is not known goes to `unknown`. */
static uint32_t get_features(struct reading *reading, const char *key,
                             char unknown[WIRE_SOFTWARE_MAX + 1])
{
	struct items items;
	struct item value, item;
	uint32_t features = 0;

	unknown[0] = '\0';
	if (!get(reading, key, &value))
		return 0;
	if (!items_open(&items, value, CBOR_ARRAY)) {
		reading_fails(reading, "\"%s\" is no list", key);
		return 0;
	}
	while (items_next(&items, &item)) {
		struct cbor_token token = first_token(item);
		uint32_t feature = 0;

		if (token.kind != CBOR_TEXT || token.length == 0) {
			reading_fails(reading, "\"%s\" is no list of names", key);
			return 0;
		}
		for (size_t i = 0; i < KNOWN_FEATURES; i++)
			if (token_is_text(&token, known_features[i].name))
				feature = known_features[i].feature;
		if (feature == 0 && unknown[0] == '\0')
			keep_text(&token, unknown, WIRE_SOFTWARE_MAX);
		features |= feature;
	}
	return features;
}

/* ---- what both can do ----------------------------------------------------- */

/* Find the highest protocol that both sides speak. */
static int negotiate_proto(const struct wire_peer *peer, uint32_t *proto, char *why, size_t why_size)
{
	*proto = peer->proto_max < WIRE_PROTO_MAX ? peer->proto_max : WIRE_PROTO_MAX;
	if (*proto >= peer->proto_min && *proto >= WIRE_PROTO_MIN)
		return 0;
	snprintf(why, why_size, "peer \"%s\" speaks protocol %" PRIu32 " to %" PRIu32
	         ", this %s speaks %u to %u", peer->software, peer->proto_min, peer->proto_max,
	         WIRE_SOFTWARE, WIRE_PROTO_MIN, WIRE_PROTO_MAX);
	return -EPROTONOSUPPORT;
}

static int negotiate_features(struct reading *reading, struct wire_peer *peer)
{
	char unknown[WIRE_SOFTWARE_MAX + 1];

	peer->required = get_features(reading, "required", unknown);
	if (reading->error == 0 && unknown[0] != '\0') {
		snprintf(reading->why, reading->why_size,
		         "peer \"%s\" requires feature \"%s\", which this %s does not know",
		         peer->software, unknown, WIRE_SOFTWARE);
		return -EPROTONOSUPPORT;
	}
	peer->features = get_features(reading, "features", unknown);
	return reading->error;
}

/* ---- greetings, read ------------------------------------------------------ */

static void get_geometry(struct reading *reading, struct ring_geometry *geometry)
{
	geometry->slot_size = (uint32_t)get_number(reading, "slot_size", RING_MIN_SLOT_SIZE,
	                                           RING_MAX_SLOT_SIZE);
	geometry->slot_count = (uint32_t)get_number(reading, "slots", RING_MIN_SLOTS, RING_MAX_SLOTS);
	if ((geometry->slot_size & (geometry->slot_size - 1)) != 0)
		reading_fails(reading, "\"slot_size\" is no power of two");
}

static void get_hello(struct reading *reading, struct wire_hello *hello)
{
	get_stream_id(reading, "stream", hello->stream);
	get_geometry(reading, &hello->geometry);
	hello->start = get_number(reading, "start", 0, UINT64_MAX);
	hello->resume = get_bool(reading, "resume");
	hello->retry_ms = get_number(reading, "retry_ms", 0, UINT64_MAX);
	find_text(reading, "name", hello->name, WIRE_NAME_MAX);
}

static void get_welcome(struct reading *reading, struct wire_welcome *welcome)
{
	welcome->head = get_number(reading, "head", 0, UINT64_MAX);
	get_text(reading, "ring", welcome->ring, RING_NAME_MAX);
}

static void get_refusal(struct reading *reading, struct item value, struct wire_report *refusal)
{
	struct reading inner = reading_of(value, reading->what, reading->why, reading->why_size);

	get_report(&inner, 1, refusal);
	reading->error = inner.error;
}

static const char *const kind_names[] = {
	[WIRE_HELLO] = "HELLO",
	[WIRE_WELCOME] = "WELCOME",
	[WIRE_REFUSE] = "REFUSE",
};

int wire_greeting_decode(enum wire_greeting_kind expected, const uint8_t *bytes, size_t length,
                         struct wire_greeting *greeting, char *why, size_t why_size)
{
	struct reading reading = reading_of((struct item){ bytes, length }, kind_names[expected],
	                                    why, why_size);
	struct item refuse;
	int error;

	memset(greeting, 0, sizeof *greeting);
	greeting->kind = find(&reading, "refuse", &refuse) ? WIRE_REFUSE : expected;
	reading.what = kind_names[greeting->kind];
	get_peer(&reading, greeting->kind, &greeting->peer);
	if (reading.error != 0)
		return reading.error;
	if (greeting->kind == WIRE_REFUSE) {
		get_refusal(&reading, refuse, &greeting->refusal);
		return reading.error;
	}
	error = negotiate_proto(&greeting->peer, &greeting->proto, why, why_size);
	if (error == 0)
		error = negotiate_features(&reading, &greeting->peer);
	if (error != 0)
		return error;
	if (greeting->kind == WIRE_HELLO)
		get_hello(&reading, &greeting->hello);
	else
		get_welcome(&reading, &greeting->welcome);
	return reading.error;
}

/* ---- records -------------------------------------------------------------- */

/* Which lengths a type may have, and who sends it. */
static const struct rule {
	uint8_t type;
	bool sender, receiver;
	uint32_t least, most;          /* bytes of the payload */
} rules[] = {
	{ WIRE_DATA, true, false, 1, RING_MAX_SLOT_SIZE },
	{ WIRE_END, true, false, 1, WIRE_REPORT_MAX },
	{ WIRE_PING, true, false, 0, 0 },
	{ WIRE_BYE, true, false, 0, 0 },
	{ WIRE_ACK, false, true, 0, 0 },
	{ WIRE_READY, false, true, 0, 0 },
	{ WIRE_OUTCOME, false, true, 1, WIRE_REPORT_MAX },
	{ WIRE_ERROR, true, true, 1, WIRE_REPORT_MAX },
};

static const struct rule *rule_of(uint8_t type, enum wire_side from)
{
	for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
		if (rules[i].type == type && (from == WIRE_FROM_SENDER ? rules[i].sender : rules[i].receiver))
			return &rules[i];
	return NULL;
}

/* Type, zeros, length and position. */
static void put_seeding(uint8_t out[SEEDING], enum wire_type type, uint32_t length, uint64_t position)
{
	out[0] = (uint8_t)type;
	memset(out + 1, 0, 3);
	put_u32(out + 4, length);
	put_u64(out + 8, position);
}

/* Seeded, so that no record's payload is taken for another's. */
static uint64_t check_of(const uint8_t seeding[SEEDING], const void *payload, uint32_t length)
{
	return XXH3_64bits_withSeed(payload, length, XXH3_64bits(seeding, SEEDING));
}

void wire_record_encode(enum wire_type type, uint64_t position, const void *payload,
                        uint32_t length, uint8_t out[WIRE_RECORD_HEAD])
{
	put_seeding(out, type, length, position);
	put_u64(out + SEEDING, check_of(out, payload, length));
}

int wire_record_decode(const uint8_t bytes[WIRE_RECORD_HEAD], enum wire_side from,
                       uint32_t slot_size, struct wire_record *record,
                       char *why, size_t why_size)
{
	const struct rule *rule = rule_of(bytes[0], from);
	uint32_t most;

	if (rule == NULL)
		return bad(why, why_size, "record of unknown type %02x", bytes[0]);
	if (bytes[1] != 0 || bytes[2] != 0 || bytes[3] != 0)
		return bad(why, why_size, "record of type %c with a broken head", bytes[0]);
	record->type = (enum wire_type)bytes[0];
	record->length = get_u32(bytes + 4);
	record->position = get_u64(bytes + 8);
	record->check = get_u64(bytes + SEEDING);
	most = rule->most < slot_size ? rule->most : slot_size;
	if (record->length < rule->least || record->length > most)
		return bad(why, why_size, "record of type %c with %" PRIu32 " bytes (%" PRIu32 " to %"
		           PRIu32 ")", bytes[0], record->length, rule->least, most);
	return 0;
}

uint64_t wire_record_seed(const struct wire_record *record)
{
	uint8_t seeding[SEEDING];

	put_seeding(seeding, record->type, record->length, record->position);
	return XXH3_64bits(seeding, SEEDING);
}

bool wire_record_intact(const struct wire_record *record, const void *payload)
{
	uint8_t seeding[SEEDING];

	put_seeding(seeding, record->type, record->length, record->position);
	return check_of(seeding, payload, record->length) == record->check;
}

/* ---- payloads ------------------------------------------------------------- */

size_t wire_report_encode(const struct wire_report *report, uint8_t out[WIRE_REPORT_MAX])
{
	uint8_t *end = cbor_put_head(out, CBOR_BYTE_MAP, REPORT_PAIRS);

	return (size_t)(put_report(end, report) - out);
}

size_t wire_end_encode(const struct wire_end *end, uint8_t out[WIRE_REPORT_MAX])
{
	uint8_t *at = cbor_put_head(out, CBOR_BYTE_MAP, REPORT_PAIRS + 1);

	at = put_number(at, "end", end->end);
	return (size_t)(put_report(at, &end->report) - out);
}

int wire_report_decode(const uint8_t *bytes, size_t length, struct wire_report *report,
                       char *why, size_t why_size)
{
	struct reading reading = reading_of((struct item){ bytes, length }, "report", why, why_size);

	get_report(&reading, 0, report);
	return reading.error;
}

int wire_end_decode(const uint8_t *bytes, size_t length, struct wire_end *end,
                    char *why, size_t why_size)
{
	struct reading reading = reading_of((struct item){ bytes, length }, "END", why, why_size);

	end->end = (enum ring_end)get_number(&reading, "end", RING_COMPLETE, RING_ABORTED);
	get_report(&reading, 0, &end->report);
	return reading.error;
}
