/* test_bridge_wire.c - greetings and records, written, read, and refused. */
// needs: bridge/wire.c
#include "bridge/wire.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/bigendian.h"
#include "shared/cbor_put.h"

static struct wire_greeting greeting, decoded;
static uint8_t wire[WIRE_GREETING_MAX];
static char why[WIRE_WHY_MAX];

#define THIS "this " WIRE_SOFTWARE

/* ---- maps of any content ------------------------------------------------- */

static struct {
	uint8_t bytes[2 * WIRE_GREETING_MAX];
	size_t length;
} built;

static void put(const void *bytes, size_t length)
{
	ck_assert_uint_le(built.length + length, sizeof built.bytes);
	memcpy(built.bytes + built.length, bytes, length);
	built.length += length;
}

#define PUT(literal) put(literal, sizeof(literal) - 1)

static void put_head(enum cbor_byte major, uint64_t value)
{
	uint8_t head[CBOR_HEAD_MAX];

	put(head, (size_t)(cbor_put_head(head, major, value) - head));
}

static void put_text(const char *text)
{
	put_head(CBOR_BYTE_TEXT, strlen(text));
	put(text, strlen(text));
}

/* A key and its value, as a literal of CBOR. */
struct pair {
	const char *key, *value;
	size_t length;
};

#define PAIR(key, literal) { key, literal, sizeof(literal) - 1 }

static const struct pair hello_pairs[] = {
	PAIR("proto", "\x82\x01\x01"),
	PAIR("software", "\x68" "a sender"),
	PAIR("features", "\x80"),
	PAIR("required", "\x80"),
	PAIR("stream", "\x50" "0123456789abcdef"),
	PAIR("slot_size", "\x1a\x00\x08\x00\x00"),
	PAIR("slots", "\x08"),
	PAIR("start", "\x00"),
	PAIR("resume", "\xf4"),
	PAIR("retry_ms", "\x19\x75\x30"),
};

static const struct pair welcome_pairs[] = {
	PAIR("proto", "\x01"),
	PAIR("software", "\x6a" "a receiver"),
	PAIR("features", "\x80"),
	PAIR("required", "\x80"),
	PAIR("head", "\x00"),
	PAIR("ring", "\x66" "mirror"),
};

static const struct pair refuse_pairs[] = {
	PAIR("proto", "\x82\x01\x01"),
	PAIR("software", "\x6a" "a receiver"),
	PAIR("refuse", "\xa2\x64" "code\x04\x64" "text\x62no"),
};

/* Build a map of these pairs, in which the value of one key is another, or the
 * key is not there (length 0); or which has one key more. */
static void build(const struct pair *pairs, size_t count, const struct pair *change)
{
	bool changed = false;

	built.length = 0;
	PUT("\xbf");
	for (size_t i = 0; i < count; i++) {
		const struct pair *pair = &pairs[i];

		if (change != NULL && strcmp(change->key, pair->key) == 0) {
			pair = change;
			changed = true;
		}
		if (pair->length == 0)
			continue;
		put_text(pair->key);
		put(pair->value, pair->length);
	}
	if (change != NULL && !changed) {
		put_text(change->key);
		put(change->value, change->length);
	}
	PUT("\xff");
}

static int decode(enum wire_greeting_kind expected, const void *bytes, size_t length)
{
	uint8_t *exact = malloc(length + (length == 0));
	int outcome;

	memcpy(exact, bytes, length);
	memset(&decoded, 0xaa, sizeof decoded);
	memset(why, 0, sizeof why);
	outcome = wire_greeting_decode(expected, exact, length, &decoded, why, sizeof why);
	free(exact);
	ck_assert((outcome == 0) == (why[0] == '\0'));
	return outcome;
}

#define DECODE(expected, literal) decode(expected, literal, sizeof(literal) - 1)
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static int decode_changed(enum wire_greeting_kind kind, const struct pair *change)
{
	switch (kind) {
	case WIRE_HELLO:
		build(hello_pairs, COUNT(hello_pairs), change);
		break;
	case WIRE_WELCOME:
		build(welcome_pairs, COUNT(welcome_pairs), change);
		break;
	default:
		build(refuse_pairs, COUNT(refuse_pairs), change);
		kind = WIRE_HELLO;
		break;
	}
	return decode(kind, built.bytes, built.length);
}

/* The same, of a literal. */
#define CHANGED(kind, key, literal) \
	decode_changed(kind, &(struct pair)PAIR(key, literal))

/* ---- greetings that come back --------------------------------------------- */

/* Write `greeting`, and read it into `decoded`.  Returns the length of it all. */
static size_t there_and_back(enum wire_greeting_kind expected)
{
	size_t length = wire_greeting_encode(&greeting, wire);
	uint32_t map;

	ck_assert_uint_le(length, sizeof wire);
	ck_assert_int_eq(wire_preamble_check(wire, length, &map, why, sizeof why), 0);
	ck_assert_uint_eq(map, length - WIRE_PREAMBLE);
	ck_assert_int_eq(decode(expected, wire + WIRE_PREAMBLE, map), 0);
	ck_assert_int_eq(decoded.kind, greeting.kind);
	ck_assert_str_eq(decoded.peer.software, WIRE_SOFTWARE);
	return length;
}

static void make_hello(void)
{
	memset(&greeting, 0, sizeof greeting);
	greeting.kind = WIRE_HELLO;
	greeting.peer.features = WIRE_FEATURE_RESUME;
	memcpy(greeting.hello.stream, "0123456789abcdef", WIRE_STREAM_ID);
	greeting.hello.geometry = (struct ring_geometry){ RING_MAX_SLOT_SIZE, RING_MAX_SLOTS };
	greeting.hello.start = UINT64_MAX;
	greeting.hello.resume = true;
	greeting.hello.retry_ms = 30000;
}

START_TEST(a_hello_comes_back)
{
	make_hello();
	strcpy(greeting.hello.name, "[::1]:7000");
	there_and_back(WIRE_HELLO);
	ck_assert_uint_eq(decoded.proto, 1);
	ck_assert_uint_eq(decoded.peer.proto_min, WIRE_PROTO_MIN);
	ck_assert_uint_eq(decoded.peer.proto_max, WIRE_PROTO_MAX);
	ck_assert_uint_eq(decoded.peer.features, WIRE_FEATURE_RESUME);
	ck_assert_uint_eq(decoded.peer.required, 0);
	ck_assert_mem_eq(decoded.hello.stream, greeting.hello.stream, WIRE_STREAM_ID);
	ck_assert_uint_eq(decoded.hello.geometry.slot_size, RING_MAX_SLOT_SIZE);
	ck_assert_uint_eq(decoded.hello.geometry.slot_count, RING_MAX_SLOTS);
	ck_assert_uint_eq(decoded.hello.start, UINT64_MAX);
	ck_assert(decoded.hello.resume);
	ck_assert_uint_eq(decoded.hello.retry_ms, 30000);
	ck_assert_str_eq(decoded.hello.name, "[::1]:7000");
}
END_TEST

START_TEST(a_hello_without_a_name_comes_back)
{
	make_hello();
	greeting.hello.resume = false;
	there_and_back(WIRE_HELLO);
	ck_assert(!decoded.hello.resume);
	ck_assert_str_eq(decoded.hello.name, "");
}
END_TEST

START_TEST(a_welcome_comes_back)
{
	memset(&greeting, 0, sizeof greeting);
	greeting.kind = WIRE_WELCOME;
	greeting.proto = 1;
	greeting.peer.required = WIRE_FEATURE_RESUME;
	greeting.welcome.head = 1ull << 40;
	strcpy(greeting.welcome.ring, "mirror");
	there_and_back(WIRE_WELCOME);
	ck_assert_uint_eq(decoded.proto, 1);
	ck_assert_uint_eq(decoded.peer.features, 0);
	ck_assert_uint_eq(decoded.peer.required, WIRE_FEATURE_RESUME);
	ck_assert_uint_eq(decoded.welcome.head, 1ull << 40);
	ck_assert_str_eq(decoded.welcome.ring, "mirror");
}
END_TEST

START_TEST(a_refusal_comes_back_whatever_was_expected)
{
	memset(&greeting, 0, sizeof greeting);
	greeting.kind = WIRE_REFUSE;
	greeting.refusal.code = 255;
	strcpy(greeting.refusal.text, "ring \"x\" is in use");
	there_and_back(WIRE_WELCOME);
	ck_assert_int_eq(decoded.refusal.code, 255);
	ck_assert_str_eq(decoded.refusal.text, greeting.refusal.text);
	ck_assert_uint_eq(decoded.peer.proto_max, WIRE_PROTO_MAX);
	there_and_back(WIRE_HELLO);
	ck_assert_int_eq(decoded.refusal.code, 255);
}
END_TEST

START_TEST(the_longest_texts_fit)
{
	make_hello();
	memset(greeting.hello.name, 'n', WIRE_NAME_MAX);
	there_and_back(WIRE_HELLO);
	ck_assert_str_eq(decoded.hello.name, greeting.hello.name);

	memset(&greeting, 0, sizeof greeting);
	greeting.kind = WIRE_REFUSE;
	greeting.refusal.code = 1;
	memset(greeting.refusal.text, 't', WIRE_TEXT_MAX);
	there_and_back(WIRE_HELLO);
	ck_assert_str_eq(decoded.refusal.text, greeting.refusal.text);
}
END_TEST

/* ---- other versions --------------------------------------------------------- */

/* What version 0.1.0 says.  Never to be changed: all later ones must take it. */
static const uint8_t recorded_hello[] =
	"\x53\x4c\x55\x49\x43\x45\x0d\x0a\x00\x00\x00\xa2\xab\x65\x70\x72"
	"\x6f\x74\x6f\x82\x01\x01\x68\x73\x6f\x66\x74\x77\x61\x72\x65\x73"
	"\x73\x6c\x75\x69\x63\x65\x2d\x62\x72\x69\x64\x67\x65\x20\x30\x2e"
	"\x31\x2e\x30\x68\x66\x65\x61\x74\x75\x72\x65\x73\x81\x66\x72\x65"
	"\x73\x75\x6d\x65\x68\x72\x65\x71\x75\x69\x72\x65\x64\x80\x66\x73"
	"\x74\x72\x65\x61\x6d\x50\xa0\xa1\xa2\xa3\xa4\xa5\xa6\xa7\xa8\xa9"
	"\xaa\xab\xac\xad\xae\xaf\x69\x73\x6c\x6f\x74\x5f\x73\x69\x7a\x65"
	"\x1a\x00\x08\x00\x00\x65\x73\x6c\x6f\x74\x73\x08\x65\x73\x74\x61"
	"\x72\x74\x1a\x00\x10\x00\x00\x66\x72\x65\x73\x75\x6d\x65\xf5\x68"
	"\x72\x65\x74\x72\x79\x5f\x6d\x73\x19\x75\x30\x64\x6e\x61\x6d\x65"
	"\x6d\x31\x30\x2e\x30\x2e\x30\x2e\x32\x3a\x37\x30\x30\x30";

START_TEST(the_recorded_hello_is_taken_for_ever)
{
	const size_t length = sizeof recorded_hello - 1;
	uint32_t map;

	ck_assert_int_eq(wire_preamble_check(recorded_hello, length, &map, why, sizeof why), 0);
	ck_assert_uint_eq(map, length - WIRE_PREAMBLE);
	ck_assert_int_eq(decode(WIRE_HELLO, recorded_hello + WIRE_PREAMBLE, map), 0);
	ck_assert_int_eq(decoded.kind, WIRE_HELLO);
	ck_assert_uint_eq(decoded.proto, 1);
	ck_assert_str_eq(decoded.peer.software, "sluice-bridge 0.1.0");
	ck_assert_uint_eq(decoded.peer.features & WIRE_FEATURE_RESUME, WIRE_FEATURE_RESUME);
	for (unsigned i = 0; i < WIRE_STREAM_ID; i++)
		ck_assert_uint_eq(decoded.hello.stream[i], 0xa0 + i);
	ck_assert_uint_eq(decoded.hello.geometry.slot_size, 512 << 10);
	ck_assert_uint_eq(decoded.hello.geometry.slot_count, 8);
	ck_assert_uint_eq(decoded.hello.start, 1 << 20);
	ck_assert(decoded.hello.resume);
	ck_assert_uint_eq(decoded.hello.retry_ms, 30000);
	ck_assert_str_eq(decoded.hello.name, "10.0.0.2:7000");
}
END_TEST

START_TEST(unknown_keys_are_skipped_whatever_they_hold)
{
	ck_assert_int_eq(CHANGED(WIRE_HELLO, "colour", "\x9f\xa1\x65" "proto\x05\xc1\xfa\x00\x00\x00\x00\xff"), 0);
	ck_assert_int_eq(decoded.kind, WIRE_HELLO);
	ck_assert_uint_eq(decoded.hello.retry_ms, 30000);
	ck_assert_int_eq(CHANGED(WIRE_WELCOME, "retry_ms", "\x63" "yes"), 0);
	ck_assert_int_eq(CHANGED(WIRE_REFUSE, "", "\xf7"), 0);
	ck_assert_int_eq(decoded.kind, WIRE_REFUSE);

	/* Keys that are no text, or a text in pieces. */
	build(hello_pairs, COUNT(hello_pairs), NULL);
	built.length--;
	PUT("\x01\x02" "\x7f\x65" "proto\xff\x03" "\xa1\x65" "proto\x04\x05" "\xff");
	ck_assert_int_eq(decode(WIRE_HELLO, built.bytes, built.length), 0);
}
END_TEST

START_TEST(unknown_features_are_skipped_unless_they_are_required)
{
	ck_assert_int_eq(CHANGED(WIRE_HELLO, "features", "\x83\x64" "zstd\x66" "resume\x63" "new"), 0);
	ck_assert_uint_eq(decoded.peer.features, WIRE_FEATURE_RESUME);

	ck_assert_int_eq(CHANGED(WIRE_HELLO, "required", "\x82\x66" "resume\x64" "zstd"), -EPROTONOSUPPORT);
	ck_assert_str_eq(why, "peer \"a sender\" requires feature \"zstd\", which " THIS " does not know");
	ck_assert_str_eq(decoded.peer.software, "a sender");
	ck_assert_int_eq(CHANGED(WIRE_WELCOME, "required", "\x9f\x62" "z\n\xff"), -EPROTONOSUPPORT);
	ck_assert_str_eq(why, "peer \"a receiver\" requires feature \"z?\", which " THIS " does not know");
}
END_TEST

START_TEST(the_highest_common_protocol_is_spoken)
{
	ck_assert_int_eq(CHANGED(WIRE_HELLO, "proto", "\x82\x01\x18\x63"), 0);
	ck_assert_uint_eq(decoded.proto, WIRE_PROTO_MAX);
	ck_assert_int_eq(CHANGED(WIRE_HELLO, "proto", "\x82\x00\x1a\xff\xff\xff\xff"), 0);
	ck_assert_uint_eq(decoded.proto, WIRE_PROTO_MAX);
}
END_TEST

START_TEST(without_a_common_protocol_both_versions_are_named)
{
	ck_assert_int_eq(CHANGED(WIRE_HELLO, "proto", "\x82\x03\x04"), -EPROTONOSUPPORT);
	ck_assert_str_eq(why, "peer \"a sender\" speaks protocol 3 to 4, " THIS " speaks 1 to 1");
	ck_assert_uint_eq(decoded.peer.proto_min, 3);
	ck_assert_uint_eq(decoded.peer.proto_max, 4);
	ck_assert_str_eq(decoded.peer.software, "a sender");
	ck_assert_int_eq(CHANGED(WIRE_HELLO, "proto", "\x82\x00\x00"), -EPROTONOSUPPORT);
	ck_assert_str_eq(why, "peer \"a sender\" speaks protocol 0 to 0, " THIS " speaks 1 to 1");
	ck_assert_int_eq(CHANGED(WIRE_WELCOME, "proto", "\x02"), -EPROTONOSUPPORT);
	ck_assert_str_eq(why, "peer \"a receiver\" speaks protocol 2 to 2, " THIS " speaks 1 to 1");
}
END_TEST

START_TEST(another_protocol_is_named_even_if_it_means_other_things_by_the_same_keys)
{
	static const char future[] = "\xa3\x65" "proto\x82\x02\x02\x68" "software\x61z\x66" "stream\xf6";

	ck_assert_int_eq(DECODE(WIRE_HELLO, future), -EPROTONOSUPPORT);
	ck_assert_str_eq(why, "peer \"z\" speaks protocol 2 to 2, " THIS " speaks 1 to 1");
}
END_TEST

START_TEST(a_refusal_of_another_protocol_is_taken)
{
	ck_assert_int_eq(CHANGED(WIRE_REFUSE, "proto", "\x82\x07\x09"), 0);
	ck_assert_int_eq(decoded.kind, WIRE_REFUSE);
	ck_assert_uint_eq(decoded.peer.proto_min, 7);
	ck_assert_int_eq(decoded.refusal.code, 4);
	ck_assert_str_eq(decoded.refusal.text, "no");
}
END_TEST

/* ---- what is refused ---------------------------------------------------------- */

START_TEST(a_known_key_that_is_missing_is_named)
{
	static const struct {
		enum wire_greeting_kind kind;
		const struct pair *pairs;
		size_t count;
	} all[] = {
		{ WIRE_HELLO, hello_pairs, COUNT(hello_pairs) },
		{ WIRE_WELCOME, welcome_pairs, COUNT(welcome_pairs) },
		{ WIRE_REFUSE, refuse_pairs, COUNT(refuse_pairs) - 1 },
	};
	static const char *const names[] = { "HELLO", "WELCOME", "REFUSE" };

	for (size_t i = 0; i < COUNT(all); i++)
		for (size_t k = 0; k < all[i].count; k++) {
			struct pair none = { all[i].pairs[k].key, "", 0 };
			char expected[64];

			snprintf(expected, sizeof expected, "bad %s: no \"%s\"", names[i], none.key);
			ck_assert_int_eq(decode_changed(all[i].kind, &none), -EBADMSG);
			ck_assert_str_eq(why, expected);
		}
}
END_TEST

START_TEST(a_known_key_twice_is_refused)
{
	for (size_t i = 0; i < COUNT(hello_pairs); i++) {
		build(hello_pairs, COUNT(hello_pairs), NULL);
		built.length--;
		put_text(hello_pairs[i].key);
		put(hello_pairs[i].value, hello_pairs[i].length);
		PUT("\xff");
		ck_assert_int_eq(decode(WIRE_HELLO, built.bytes, built.length), -EBADMSG);
		ck_assert_ptr_nonnull(strstr(why, "is there twice"));
	}
	build(refuse_pairs, COUNT(refuse_pairs), NULL);
	built.length--;
	PUT("\x66" "refuse\xa0\xff");
	ck_assert_int_eq(decode(WIRE_HELLO, built.bytes, built.length), -EBADMSG);
}
END_TEST

START_TEST(values_of_a_wrong_kind_are_refused)
{
	static const struct {
		enum wire_greeting_kind kind;
		struct pair pair;
	} wrong[] = {
		{ WIRE_HELLO, PAIR("proto", "\x01") },
		{ WIRE_HELLO, PAIR("proto", "\x80") },
		{ WIRE_HELLO, PAIR("proto", "\x81\x01") },
		{ WIRE_HELLO, PAIR("proto", "\x83\x01\x01\x01") },
		{ WIRE_HELLO, PAIR("proto", "\x82\x01\x20") },
		{ WIRE_HELLO, PAIR("proto", "\x82\x02\x01") },
		{ WIRE_HELLO, PAIR("proto", "\x82\x01\x1b\x00\x00\x00\x01\x00\x00\x00\x00") },
		{ WIRE_HELLO, PAIR("proto", "\xc1\x82\x01\x01") },
		{ WIRE_HELLO, PAIR("software", "\x41x") },
		{ WIRE_HELLO, PAIR("software", "\x7f\x61x\xff") },
		{ WIRE_HELLO, PAIR("features", "\xa0") },
		{ WIRE_HELLO, PAIR("features", "\x81\x01") },
		{ WIRE_HELLO, PAIR("required", "\x61x") },
		{ WIRE_HELLO, PAIR("required", "\x81\x60") },
		{ WIRE_HELLO, PAIR("required", "\x81\x81\x61x") },
		{ WIRE_HELLO, PAIR("stream", "\x70" "0123456789abcdef") },
		{ WIRE_HELLO, PAIR("stream", "\x4f" "0123456789abcde") },
		{ WIRE_HELLO, PAIR("stream", "\x51" "0123456789abcdefg") },
		{ WIRE_HELLO, PAIR("slot_size", "\x19\x80\x00") },
		{ WIRE_HELLO, PAIR("slot_size", "\x1a\x00\x08\x00\x01") },
		{ WIRE_HELLO, PAIR("slot_size", "\x1a\x08\x00\x00\x00") },
		{ WIRE_HELLO, PAIR("slot_size", "\x1b\x00\x00\x00\x01\x00\x08\x00\x00") },
		{ WIRE_HELLO, PAIR("slots", "\x01") },
		{ WIRE_HELLO, PAIR("slots", "\x19\x10\x01") },
		{ WIRE_HELLO, PAIR("start", "\x20") },
		{ WIRE_HELLO, PAIR("start", "\xf9\x3c\x00") },
		{ WIRE_HELLO, PAIR("resume", "\x01") },
		{ WIRE_HELLO, PAIR("resume", "\xf6") },
		{ WIRE_HELLO, PAIR("resume", "\x81\xf5") },
		{ WIRE_HELLO, PAIR("retry_ms", "\xf6") },
		{ WIRE_HELLO, PAIR("name", "\x01") },
		{ WIRE_WELCOME, PAIR("proto", "\x82\x01\x01") },
		{ WIRE_WELCOME, PAIR("head", "\x61" "0") },
		{ WIRE_WELCOME, PAIR("ring", "\x46" "mirror") },
		{ WIRE_REFUSE, PAIR("proto", "\x01") },
		{ WIRE_REFUSE, PAIR("refuse", "\x62no") },
		{ WIRE_REFUSE, PAIR("refuse", "\xa0") },
		{ WIRE_REFUSE, PAIR("refuse", "\xa1\x64" "code\x00") },
		{ WIRE_REFUSE, PAIR("refuse", "\xa1\x64" "code\x19\x01\x00") },
		{ WIRE_REFUSE, PAIR("refuse", "\xa2\x64" "code\x01\x64" "text\x41x") },
	};

	for (size_t i = 0; i < COUNT(wrong); i++)
		ck_assert_msg(decode_changed(wrong[i].kind, &wrong[i].pair) == -EBADMSG,
		              "number %zu, \"%s\"", i, wrong[i].pair.key);
}
END_TEST

START_TEST(anything_but_one_map_is_refused)
{
	ck_assert_int_eq(DECODE(WIRE_HELLO, ""), -EBADMSG);
	ck_assert_str_eq(why, "bad HELLO: cut off");
	ck_assert_int_eq(DECODE(WIRE_HELLO, "\x00"), -EBADMSG);
	ck_assert_str_eq(why, "bad HELLO: not a map");
	ck_assert_int_eq(DECODE(WIRE_HELLO, "\xff"), -EBADMSG);
	ck_assert_str_eq(why, "bad HELLO: stray break");
	ck_assert_int_eq(DECODE(WIRE_WELCOME, "\xa0"), -EBADMSG);
	ck_assert_str_eq(why, "bad WELCOME: no \"proto\"");
	ck_assert_int_eq(DECODE(WIRE_HELLO, "\x80"), -EBADMSG);
	ck_assert_int_eq(DECODE(WIRE_HELLO, "\xc1\xa0"), -EBADMSG);
	ck_assert_int_eq(DECODE(WIRE_HELLO, "\xbb\xff\xff\xff\xff\xff\xff\xff\xff"), -EBADMSG);
	ck_assert_int_eq(DECODE(WIRE_HELLO, "\xa1\x61\xff\x00"), -EBADMSG);
	build(hello_pairs, COUNT(hello_pairs), NULL);
	PUT("\x00");
	ck_assert_int_eq(decode(WIRE_HELLO, built.bytes, built.length), -EBADMSG);
	ck_assert_str_eq(why, "bad HELLO: bytes after its end");
	for (size_t length = 0; length < built.length - 1; length++)
		ck_assert_int_eq(decode(WIRE_HELLO, built.bytes, length), -EBADMSG);
}
END_TEST

START_TEST(nesting_has_an_end)
{
	uint8_t deep[WIRE_MAP_MAX];

	memset(deep, 0x81, sizeof deep);
	deep[0] = 0xa1;
	deep[1] = 0x00;
	ck_assert_int_eq(decode(WIRE_HELLO, deep, sizeof deep), -EBADMSG);
	ck_assert_str_eq(why, "bad HELLO: nested too deep");
}
END_TEST

START_TEST(texts_are_cut_and_made_harmless)
{
	char text[WIRE_TEXT_MAX + 8];

	/* A character that would be cut in two goes. */
	memset(text, 's', sizeof text);
	memcpy(text + WIRE_SOFTWARE_MAX - 1, "\xc3\xbc\0", 3);
	text[0] = '\x1b';
	build(hello_pairs, 1, NULL);
	built.length--;
	put_text("software");
	put_text(text);
	for (size_t i = 2; i < COUNT(hello_pairs); i++) {
		put_text(hello_pairs[i].key);
		put(hello_pairs[i].value, hello_pairs[i].length);
	}
	PUT("\xff");
	ck_assert_int_eq(decode(WIRE_HELLO, built.bytes, built.length), 0);
	ck_assert_uint_eq(strlen(decoded.peer.software), WIRE_SOFTWARE_MAX - 1);
	ck_assert_int_eq(decoded.peer.software[0], '?');

	ck_assert_int_eq(CHANGED(WIRE_REFUSE, "refuse", "\xa2\x64" "code\x04\x64" "text\x65" "a\0b\n\x7f"), 0);
	ck_assert_str_eq(decoded.refusal.text, "a?b??");
}
END_TEST

START_TEST(a_small_buffer_for_the_reason_is_respected)
{
	char small[8] = "unspoilt";

	ck_assert_int_eq(wire_greeting_decode(WIRE_HELLO, built.bytes, 0, &decoded, small, 7), -EBADMSG);
	ck_assert_str_eq(small, "bad HE");
	ck_assert_int_eq(small[7], 't');
}
END_TEST

/* ---- preambles ------------------------------------------------------------------ */

static uint32_t map_length;

static int preamble(const void *bytes, size_t length)
{
	uint8_t *exact = malloc(length + (length == 0));
	int outcome;

	memcpy(exact, bytes, length);
	map_length = 0;
	outcome = wire_preamble_check(exact, length, &map_length, why, sizeof why);
	free(exact);
	return outcome;
}

#define PREAMBLE(literal) preamble(literal, sizeof(literal) - 1)

START_TEST(a_preamble_is_judged_as_it_comes)
{
	static const char whole[] = "SLUICE\r\n\x00\x00\x10\x00more";

	for (size_t length = 0; length < WIRE_PREAMBLE; length++)
		ck_assert_int_eq(preamble(whole, length), -EAGAIN);
	for (size_t length = WIRE_PREAMBLE; length < sizeof whole; length++) {
		ck_assert_int_eq(preamble(whole, length), 0);
		ck_assert_uint_eq(map_length, WIRE_MAP_MAX);
	}
	for (size_t bad = 0; bad < 8; bad++) {
		char other[8] = "SLUICE\r\n";

		other[bad] ^= 1;
		ck_assert_int_eq(preamble(other, bad), -EAGAIN);
		ck_assert_int_eq(preamble(other, bad + 1), -EBADMSG);
	}
}
END_TEST

START_TEST(maps_of_an_impossible_length_are_refused)
{
	ck_assert_int_eq(PREAMBLE("SLUICE\r\n\x00\x00\x00\x00"), -EBADMSG);
	ck_assert_str_eq(why, "greeting of 0 bytes (1 to 4096)");
	ck_assert_int_eq(PREAMBLE("SLUICE\r\n\x00\x00\x10\x01"), -EBADMSG);
	ck_assert_str_eq(why, "greeting of 4097 bytes (1 to 4096)");
	ck_assert_int_eq(PREAMBLE("SLUICE\r\n\xff\xff\xff\xff"), -EBADMSG);
	ck_assert_int_eq(PREAMBLE("SLUICE\r\n\x00\x00\x00\x01"), 0);
	ck_assert_uint_eq(map_length, 1);
}
END_TEST

#define GUESS(literal) wire_guess_peer((const uint8_t *)literal, sizeof(literal) - 1)

START_TEST(who_is_no_bridge_is_guessed)
{
	ck_assert_int_eq(PREAMBLE("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\x00"), -EBADMSG);
	ck_assert_str_eq(why, "peer is not a bridge but a TLS client");
	ck_assert_int_eq(PREAMBLE("GET / HTTP/1.1\r\n"), -EBADMSG);
	ck_assert_str_eq(why, "peer is not a bridge but an HTTP client");
	ck_assert_int_eq(PREAMBLE("\x00"), -EBADMSG);
	ck_assert_str_eq(why, "peer is not a bridge but something else");
	ck_assert_str_eq(GUESS("\x16"), "a TLS client");
	ck_assert_str_eq(GUESS("\x16\x03\x01"), "a TLS client");
	ck_assert_str_eq(GUESS("\x16\x03\x03\x00\x7a\x02"), "a TLS server");
	ck_assert_str_eq(GUESS("\x15\x03\x01\x00\x02\x02\x46"), "a TLS server");
	ck_assert_str_eq(GUESS("\x16\x04"), "something else");
	ck_assert_str_eq(GUESS("PRI * HTTP/2.0\r\n"), "an HTTP client");
	ck_assert_str_eq(GUESS("HTTP/1.1 400 Bad Request\r\n"), "an HTTP server");
	ck_assert_str_eq(GUESS("GET"), "something else");
	ck_assert_str_eq(GUESS(""), "something else");
}
END_TEST

/* ---- records -------------------------------------------------------------------- */

#define SLOT (512u << 10)

static struct wire_record record;

static int head(const uint8_t bytes[WIRE_RECORD_HEAD], enum wire_side from)
{
	memset(&record, 0xaa, sizeof record);
	memset(why, 0, sizeof why);
	return wire_record_decode(bytes, from, SLOT, &record, why, sizeof why);
}

START_TEST(a_record_comes_back)
{
	uint8_t bytes[WIRE_RECORD_HEAD];

	wire_record_encode(WIRE_DATA, UINT64_MAX - 6, "sluice", 6, bytes);
	ck_assert_int_eq(head(bytes, WIRE_FROM_SENDER), 0);
	ck_assert_int_eq(record.type, WIRE_DATA);
	ck_assert_uint_eq(record.length, 6);
	ck_assert_uint_eq(record.position, UINT64_MAX - 6);
	ck_assert(wire_record_intact(&record, "sluice"));
	ck_assert(!wire_record_intact(&record, "Sluice"));

	wire_record_encode(WIRE_ACK, 1, NULL, 0, bytes);
	ck_assert_int_eq(head(bytes, WIRE_FROM_RECEIVER), 0);
	ck_assert_int_eq(record.type, WIRE_ACK);
	ck_assert(wire_record_intact(&record, NULL));
}
END_TEST

/* What goes over the wire, byte by byte. */
START_TEST(records_are_as_recorded)
{
	static const uint8_t data[] = "\x44\x00\x00\x00\x00\x00\x00\x06\x01\x23\x45\x67\x89\xab\xcd\xef"
	                              "\x0a\x5d\x71\x50\xdd\x96\x0f\xca";
	static const uint8_t ping[] = "\x50\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	                              "\x90\xbb\xcd\xad\xda\xed\xf9\x77";
	uint8_t bytes[WIRE_RECORD_HEAD];

	wire_record_encode(WIRE_DATA, 0x0123456789abcdef, "sluice", 6, bytes);
	ck_assert_mem_eq(bytes, data, sizeof bytes);
	wire_record_encode(WIRE_PING, 0, NULL, 0, bytes);
	ck_assert_mem_eq(bytes, ping, sizeof bytes);
}
END_TEST

START_TEST(any_changed_bit_is_noticed)
{
	uint8_t bytes[WIRE_RECORD_HEAD];
	uint8_t payload[300];

	memset(payload, 'p', sizeof payload);
	wire_record_encode(WIRE_DATA, 65536, payload, sizeof payload, bytes);
	for (size_t bit = 0; bit < 8 * sizeof bytes; bit++) {
		uint8_t flip = (uint8_t)(1u << bit % 8);

		bytes[bit / 8] ^= flip;
		if (head(bytes, WIRE_FROM_SENDER) == 0 && record.length <= sizeof payload)
			ck_assert(!wire_record_intact(&record, payload));
		bytes[bit / 8] ^= flip;
	}
	ck_assert_int_eq(head(bytes, WIRE_FROM_SENDER), 0);
	for (size_t bit = 0; bit < 8 * sizeof payload; bit += 7) {
		payload[bit / 8] ^= (uint8_t)(1u << bit % 8);
		ck_assert(!wire_record_intact(&record, payload));
		payload[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	ck_assert(wire_record_intact(&record, payload));
}
END_TEST

START_TEST(each_side_sends_its_own_types)
{
	static const char sender[] = "DEPQX", receiver[] = "AROX";
	uint8_t bytes[WIRE_RECORD_HEAD];

	for (int type = 0; type < 256; type++) {
		bool with_payload = type != 0 && strchr("DEOX", type) != NULL;
		bool ours = type != 0 && strchr(sender, type) != NULL;
		bool theirs = type != 0 && strchr(receiver, type) != NULL;

		wire_record_encode((enum wire_type)type, 0, "x", with_payload, bytes);
		ck_assert_int_eq(head(bytes, WIRE_FROM_SENDER), ours ? 0 : -EBADMSG);
		ck_assert_int_eq(head(bytes, WIRE_FROM_RECEIVER), theirs ? 0 : -EBADMSG);
	}
	ck_assert_int_eq(head((const uint8_t *)"\x07.......................", WIRE_FROM_SENDER), -EBADMSG);
	ck_assert_str_eq(why, "record of unknown type 07");
}
END_TEST

START_TEST(bytes_that_must_be_zero_are_looked_at)
{
	uint8_t bytes[WIRE_RECORD_HEAD];

	for (size_t i = 1; i < 4; i++) {
		wire_record_encode(WIRE_PING, 0, NULL, 0, bytes);
		bytes[i] = 1;
		ck_assert_int_eq(head(bytes, WIRE_FROM_SENDER), -EBADMSG);
		ck_assert_str_eq(why, "record of type P with a broken head");
	}
}
END_TEST

START_TEST(lengths_have_bounds_for_each_type)
{
	static const struct {
		char type;
		enum wire_side from;
		uint32_t least, most;
	} bounds[] = {
		{ 'D', WIRE_FROM_SENDER, 1, SLOT },
		{ 'E', WIRE_FROM_SENDER, 1, WIRE_REPORT_MAX },
		{ 'P', WIRE_FROM_SENDER, 0, 0 },
		{ 'Q', WIRE_FROM_SENDER, 0, 0 },
		{ 'X', WIRE_FROM_SENDER, 1, WIRE_REPORT_MAX },
		{ 'A', WIRE_FROM_RECEIVER, 0, 0 },
		{ 'R', WIRE_FROM_RECEIVER, 0, 0 },
		{ 'O', WIRE_FROM_RECEIVER, 1, WIRE_REPORT_MAX },
		{ 'X', WIRE_FROM_RECEIVER, 1, WIRE_REPORT_MAX },
	};
	uint8_t bytes[WIRE_RECORD_HEAD];

	for (size_t i = 0; i < COUNT(bounds); i++) {
		const uint32_t lengths[] = {
			bounds[i].least, bounds[i].most, bounds[i].least - 1, bounds[i].most + 1, UINT32_MAX,
		};

		wire_record_encode((enum wire_type)bounds[i].type, 0, NULL, 0, bytes);
		for (size_t k = 0; k < COUNT(lengths); k++) {
			put_u32(bytes + 4, lengths[k]);
			ck_assert_int_eq(head(bytes, bounds[i].from), k < 2 ? 0 : -EBADMSG);
		}
	}
	ck_assert_str_eq(why, "record of type X with 4294967295 bytes (1 to 1024)");
}
END_TEST

/* ---- payloads -------------------------------------------------------------------- */

static int report_of(const void *bytes, size_t length, struct wire_report *report)
{
	memset(report, 0xaa, sizeof *report);
	return wire_report_decode(bytes, length, report, why, sizeof why);
}

#define REPORT(literal) report_of(literal, sizeof(literal) - 1, &report)

START_TEST(reports_come_back)
{
	struct wire_report report = { .code = 255 }, back;
	uint8_t bytes[WIRE_REPORT_MAX];

	memset(report.text, 't', WIRE_TEXT_MAX);
	ck_assert_int_eq(report_of(bytes, wire_report_encode(&report, bytes), &back), 0);
	ck_assert_int_eq(back.code, 255);
	ck_assert_str_eq(back.text, report.text);
	report = (struct wire_report){ .code = 0 };
	ck_assert_int_eq(report_of(bytes, wire_report_encode(&report, bytes), &back), 0);
	ck_assert_int_eq(back.code, 0);
	ck_assert_str_eq(back.text, "");
}
END_TEST

START_TEST(ends_come_back)
{
	struct wire_end end = { .end = RING_ABORTED, .report = { .code = 4 } }, back;
	uint8_t bytes[WIRE_REPORT_MAX];
	size_t length;

	memset(end.report.text, 't', WIRE_TEXT_MAX);
	length = wire_end_encode(&end, bytes);
	ck_assert_uint_le(length, sizeof bytes);
	ck_assert_int_eq(wire_end_decode(bytes, length, &back, why, sizeof why), 0);
	ck_assert_int_eq(back.end, RING_ABORTED);
	ck_assert_int_eq(back.report.code, 4);
	ck_assert_str_eq(back.report.text, end.report.text);
	for (size_t cut = 0; cut < length; cut++)
		ck_assert_int_eq(wire_end_decode(bytes, cut, &back, why, sizeof why), -EBADMSG);
}
END_TEST

START_TEST(bad_reports_are_refused)
{
	struct wire_report report;

	ck_assert_int_eq(REPORT("\xa1\x64" "code\x01"), 0);
	ck_assert_str_eq(report.text, "");
	ck_assert_int_eq(REPORT("\xa2\x63new\x80\x64" "code\x01"), 0);
	ck_assert_int_eq(REPORT("\xa0"), -EBADMSG);
	ck_assert_str_eq(why, "bad report: no \"code\"");
	ck_assert_int_eq(REPORT("\xa1\x64" "code\x19\x01\x00"), -EBADMSG);
	ck_assert_int_eq(REPORT("\xa2\x64" "code\x01\x64" "code\x01"), -EBADMSG);
	ck_assert_int_eq(REPORT("\xa2\x64" "code\x01\x64" "text\x01"), -EBADMSG);
	ck_assert_int_eq(REPORT("\xa1\x64" "code\x01\x00"), -EBADMSG);
}
END_TEST

START_TEST(bad_ends_are_refused)
{
	static const struct pair ends[] = {
		PAIR("", "\xa2\x63" "end\x00\x64" "code\x00"),
		PAIR("", "\xa2\x63" "end\x03\x64" "code\x00"),
		PAIR("", "\xa2\x63" "end\xf5\x64" "code\x00"),
		PAIR("", "\xa1\x64" "code\x00"),
		PAIR("", "\xa1\x63" "end\x01"),
	};
	struct wire_end end;

	for (size_t i = 0; i < COUNT(ends); i++)
		ck_assert_int_eq(wire_end_decode((const uint8_t *)ends[i].value, ends[i].length, &end, why,
		                                 sizeof why), -EBADMSG);
	ck_assert_int_eq(wire_end_decode((const uint8_t *)"\xa2\x63" "end\x01\x64" "code\x00", 12, &end, why,
	                                 sizeof why), 0);
	ck_assert_int_eq(end.end, RING_COMPLETE);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bridge: wire");
	TCase *greetings = tcase_create("greetings");
	TCase *records = tcase_create("records");
	SRunner *runner;
	int failed;

	tcase_add_test(greetings, a_hello_comes_back);
	tcase_add_test(greetings, a_hello_without_a_name_comes_back);
	tcase_add_test(greetings, a_welcome_comes_back);
	tcase_add_test(greetings, a_refusal_comes_back_whatever_was_expected);
	tcase_add_test(greetings, the_longest_texts_fit);
	tcase_add_test(greetings, the_recorded_hello_is_taken_for_ever);
	tcase_add_test(greetings, unknown_keys_are_skipped_whatever_they_hold);
	tcase_add_test(greetings, unknown_features_are_skipped_unless_they_are_required);
	tcase_add_test(greetings, the_highest_common_protocol_is_spoken);
	tcase_add_test(greetings, without_a_common_protocol_both_versions_are_named);
	tcase_add_test(greetings, another_protocol_is_named_even_if_it_means_other_things_by_the_same_keys);
	tcase_add_test(greetings, a_refusal_of_another_protocol_is_taken);
	tcase_add_test(greetings, a_known_key_that_is_missing_is_named);
	tcase_add_test(greetings, a_known_key_twice_is_refused);
	tcase_add_test(greetings, values_of_a_wrong_kind_are_refused);
	tcase_add_test(greetings, anything_but_one_map_is_refused);
	tcase_add_test(greetings, nesting_has_an_end);
	tcase_add_test(greetings, texts_are_cut_and_made_harmless);
	tcase_add_test(greetings, a_small_buffer_for_the_reason_is_respected);
	tcase_add_test(greetings, a_preamble_is_judged_as_it_comes);
	tcase_add_test(greetings, maps_of_an_impossible_length_are_refused);
	tcase_add_test(greetings, who_is_no_bridge_is_guessed);
	tcase_add_test(records, a_record_comes_back);
	tcase_add_test(records, records_are_as_recorded);
	tcase_add_test(records, any_changed_bit_is_noticed);
	tcase_add_test(records, each_side_sends_its_own_types);
	tcase_add_test(records, bytes_that_must_be_zero_are_looked_at);
	tcase_add_test(records, lengths_have_bounds_for_each_type);
	tcase_add_test(records, reports_come_back);
	tcase_add_test(records, ends_come_back);
	tcase_add_test(records, bad_reports_are_refused);
	tcase_add_test(records, bad_ends_are_refused);
	suite_add_tcase(suite, greetings);
	suite_add_tcase(suite, records);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
