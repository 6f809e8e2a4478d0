/*
 * test_bridge_example.c - the session of two bridges that docs/protocol.md shows
 * is what bridge/wire.c writes, and reads.
 *
 * The document's session is its block "```hex-bridge" (tests/helpers/
 * bridge_session.py records it): lines of who speaks, an offset, bytes, and after
 * two blanks what they are.
 */
// needs: bridge/wire.c
#include "bridge/wire.h"

#include <check.h>
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SAID_MAX 1024
#define SLOT_SIZE 65536

/* What one side said, and how far it was looked at. */
struct said {
	uint8_t bytes[SAID_MAX];
	size_t length, at;
};

static struct said sender, receiver;
static char why[WIRE_WHY_MAX];

/* ---- the document -------------------------------------------------------------------- */

/* This program is build/VARIANT/unit/NAME. */
static FILE *document_open(void)
{
	char path[PATH_MAX + 32];
	ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);

	ck_assert_int_gt(length, 0);
	path[length] = '\0';
	for (int i = 0; i < 4; i++)
		*strrchr(path, '/') = '\0';
	strcat(path, "/docs/protocol.md");
	return fopen(path, "re");
}

static void line_take(const char *line)
{
	struct said *said = line[0] == '>' ? &sender : &receiver;
	char *at;

	ck_assert(line[0] == '>' || line[0] == '<');
	ck_assert_uint_eq(strtoul(line + 1, &at, 16), said->length);
	while (at[0] == ' ' && isxdigit((unsigned char)at[1])) {
		ck_assert_uint_lt(said->length, SAID_MAX);
		said->bytes[said->length++] = (uint8_t)strtoul(at, &at, 16);
	}
}

static void document_read(void)
{
	FILE *document = document_open();
	char line[256];
	bool within = false;

	ck_assert_ptr_nonnull(document);
	memset(&sender, 0, sizeof sender);
	memset(&receiver, 0, sizeof receiver);
	while (fgets(line, sizeof line, document) != NULL) {
		if (within && strncmp(line, "```", 3) == 0)
			break;
		if (within)
			line_take(line);
		within = within || strcmp(line, "```hex-bridge\n") == 0;
	}
	fclose(document);
	ck_assert_uint_gt(sender.length, 0);
	ck_assert_uint_gt(receiver.length, 0);
}

/* ---- what stands next ---------------------------------------------------------------------- */

/* Read a greeting; what is written for the same values must be the same bytes. */
static void take_greeting(struct said *said, enum wire_greeting_kind kind,
                          struct wire_greeting *greeting)
{
	static uint8_t written[WIRE_GREETING_MAX];
	const uint8_t *bytes = said->bytes + said->at;
	uint32_t map;

	ck_assert_int_eq(wire_preamble_check(bytes, said->length - said->at, &map, why, sizeof why), 0);
	ck_assert_uint_le(said->at + WIRE_PREAMBLE + map, said->length);
	ck_assert_int_eq(wire_greeting_decode(kind, bytes + WIRE_PREAMBLE, map, greeting, why, sizeof why), 0);
	ck_assert_int_eq(greeting->kind, kind);
	ck_assert_uint_eq(wire_greeting_encode(greeting, written), WIRE_PREAMBLE + map);
	ck_assert_mem_eq(written, bytes, WIRE_PREAMBLE + map);
	said->at += WIRE_PREAMBLE + map;
}

/* The same of a record.  Returns its payload. */
static const uint8_t *take_record(struct said *said, enum wire_side from, enum wire_type type,
                                  uint64_t position, uint32_t length)
{
	const uint8_t *head = said->bytes + said->at, *payload = head + WIRE_RECORD_HEAD;
	uint8_t written[WIRE_RECORD_HEAD];
	struct wire_record record;

	ck_assert_uint_le(said->at + WIRE_RECORD_HEAD + length, said->length);
	ck_assert_int_eq(wire_record_decode(head, from, SLOT_SIZE, &record, why, sizeof why), 0);
	ck_assert_int_eq(record.type, type);
	ck_assert_uint_eq(record.position, position);
	ck_assert_uint_eq(record.length, length);
	ck_assert(wire_record_intact(&record, payload));
	wire_record_encode(type, position, payload, length, written);
	ck_assert_mem_eq(written, head, WIRE_RECORD_HEAD);
	said->at += WIRE_RECORD_HEAD + length;
	return payload;
}

static void expect_nothing_more(const struct said *said)
{
	ck_assert_uint_eq(said->at, said->length);
}

/* ---- the session ------------------------------------------------------------------------------ */

static void expect_peer(const struct wire_greeting *greeting)
{
	ck_assert_uint_eq(greeting->proto, 1);
	ck_assert_str_eq(greeting->peer.software, WIRE_SOFTWARE);
	ck_assert_uint_eq(greeting->peer.features, WIRE_FEATURE_RESUME);
	ck_assert_uint_eq(greeting->peer.required, 0);
}

START_TEST(the_greetings_say_what_the_document_says)
{
	struct wire_greeting greeting;

	take_greeting(&sender, WIRE_HELLO, &greeting);
	expect_peer(&greeting);
	ck_assert_uint_eq(greeting.hello.geometry.slot_size, SLOT_SIZE);
	ck_assert_uint_eq(greeting.hello.geometry.slot_count, 4);
	ck_assert_uint_eq(greeting.hello.start, 0);
	ck_assert(!greeting.hello.resume);
	ck_assert_uint_eq(greeting.hello.retry_ms, 30000);
	ck_assert_str_eq(greeting.hello.name, "127.0.0.1:7000");

	take_greeting(&receiver, WIRE_WELCOME, &greeting);
	expect_peer(&greeting);
	ck_assert_uint_eq(greeting.welcome.head, 0);
	ck_assert_str_eq(greeting.welcome.ring, "mirror");
}
END_TEST

START_TEST(the_sender_says_what_the_document_says)
{
	static const uint8_t body[] = "D\0\0\0\6\x45hello";
	struct wire_greeting greeting;
	struct wire_end end;
	const uint8_t *payload;
	uint8_t written[WIRE_REPORT_MAX];

	take_greeting(&sender, WIRE_HELLO, &greeting);
	payload = take_record(&sender, WIRE_FROM_SENDER, WIRE_DATA, 0, 64);
	ck_assert_mem_eq(payload + 64 - (sizeof body - 1), body, sizeof body - 1);
	payload = take_record(&sender, WIRE_FROM_SENDER, WIRE_END, 64, 18);
	ck_assert_int_eq(wire_end_decode(payload, 18, &end, why, sizeof why), 0);
	ck_assert_int_eq(end.end, RING_COMPLETE);
	ck_assert_int_eq(end.report.code, 0);
	ck_assert_str_eq(end.report.text, "");
	ck_assert_uint_eq(wire_end_encode(&end, written), 18);
	ck_assert_mem_eq(written, payload, 18);
	take_record(&sender, WIRE_FROM_SENDER, WIRE_BYE, 64, 0);
	expect_nothing_more(&sender);
}
END_TEST

START_TEST(the_receiver_says_what_the_document_says)
{
	struct wire_greeting greeting;
	struct wire_report report;
	const uint8_t *payload;
	uint8_t written[WIRE_REPORT_MAX];

	take_greeting(&receiver, WIRE_WELCOME, &greeting);
	take_record(&receiver, WIRE_FROM_RECEIVER, WIRE_ACK, 0, 0);
	take_record(&receiver, WIRE_FROM_RECEIVER, WIRE_READY, 0, 0);
	take_record(&receiver, WIRE_FROM_RECEIVER, WIRE_ACK, 64, 0);
	payload = take_record(&receiver, WIRE_FROM_RECEIVER, WIRE_OUTCOME, 64, 13);
	ck_assert_int_eq(wire_report_decode(payload, 13, &report, why, sizeof why), 0);
	ck_assert_int_eq(report.code, 0);
	ck_assert_str_eq(report.text, "");
	ck_assert_uint_eq(wire_report_encode(&report, written), 13);
	ck_assert_mem_eq(written, payload, 13);
	expect_nothing_more(&receiver);
}
END_TEST

START_TEST(a_changed_byte_of_the_session_is_noticed)
{
	struct wire_greeting greeting;
	struct wire_record record;

	take_greeting(&sender, WIRE_HELLO, &greeting);
	for (size_t i = 0; i < WIRE_RECORD_HEAD + 64; i++) {
		uint8_t *head = sender.bytes + sender.at;

		head[i] ^= 1;
		ck_assert(wire_record_decode(head, WIRE_FROM_SENDER, SLOT_SIZE, &record, why, sizeof why) != 0 ||
		          record.length != 64 || !wire_record_intact(&record, head + WIRE_RECORD_HEAD));
		head[i] ^= 1;
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bridge example");
	TCase *bytes = tcase_create("bytes");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(bytes, document_read, NULL);
	tcase_add_test(bytes, the_greetings_say_what_the_document_says);
	tcase_add_test(bytes, the_sender_says_what_the_document_says);
	tcase_add_test(bytes, the_receiver_says_what_the_document_says);
	tcase_add_test(bytes, a_changed_byte_of_the_session_is_noticed);
	suite_add_tcase(suite, bytes);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
