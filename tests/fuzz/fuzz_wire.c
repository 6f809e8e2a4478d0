/*
 * fuzz_wire.c - any bytes where a bridge expects another.
 *
 * The first byte of the input says what the rest is taken for: the beginning
 * of a connection, the map of a greeting, a record with its payload, or a
 * payload alone.  What is taken must be within its bounds and well-formed by
 * a second opinion, must be told from what it is not, and must come back when
 * it is written and read again.
 */
// needs: bridge/wire.c
#include <errno.h>
#include <string.h>

#include "bridge/wire.h"
#include "tests/fuzz/cbor_check.h"

enum taken_for {
	PREAMBLE,
	HELLO,
	WELCOME,
	RECORD_OF_SENDER,
	RECORD_OF_RECEIVER,
	REPORT,
	END,
	KINDS,
};

#define SLOT_SIZE (64u << 10)

static char why[WIRE_WHY_MAX];

/* Text of theirs that we show must be harmless, and end. */
static void must_be_text(const char *text, size_t most)
{
	size_t length = strnlen(text, most + 1);

	MUST(length <= most);
	for (size_t i = 0; i < length; i++)
		MUST((unsigned char)text[i] >= ' ' && text[i] != 0x7f);
}

/* The outcome, and that a reason was given if it is one. */
static int judged(int outcome)
{
	MUST(outcome == 0 || outcome == -EAGAIN || outcome == -EBADMSG || outcome == -EPROTONOSUPPORT);
	must_be_text(why, sizeof why - 1);
	MUST((outcome == 0 || outcome == -EAGAIN) == (why[0] == '\0'));
	why[0] = '\0';
	return outcome;
}

/* Only whole, well-formed maps are taken. */
static void must_be_map(const uint8_t *bytes, size_t length)
{
	size_t end, items;

	MUST(length > 0 && bytes[0] >> 5 == 5);
	MUST(check_sequence(bytes, length, &end, &items) == VERDICT_GOOD);
	MUST(end == length && items == 1);
}

/* ---- first bytes ----------------------------------------------------------------- */

static void fuzz_preamble(const uint8_t *bytes, size_t length)
{
	uint32_t map = 0, again;
	int outcome = judged(wire_preamble_check(bytes, length, &map, why, sizeof why));

	must_be_text(wire_guess_peer(bytes, length), 32);
	if (outcome == 0)
		MUST(length >= WIRE_PREAMBLE && map >= 1 && map <= WIRE_MAP_MAX);
	if (outcome == -EAGAIN)
		MUST(length < WIRE_PREAMBLE);
	/* More bytes do not redeem bad ones; fewer are not worse. */
	for (size_t part = 0; part < length && part < WIRE_PREAMBLE; part++) {
		int earlier = judged(wire_preamble_check(bytes, part, &again, why, sizeof why));

		MUST(earlier == -EAGAIN || outcome == -EBADMSG);
	}
}

/* ---- greetings ------------------------------------------------------------------- */

static void must_be_hello(const struct wire_hello *hello)
{
	uint32_t size = hello->geometry.slot_size, count = hello->geometry.slot_count;

	MUST(size >= RING_MIN_SLOT_SIZE && size <= RING_MAX_SLOT_SIZE && (size & (size - 1)) == 0);
	MUST(count >= RING_MIN_SLOTS && count <= RING_MAX_SLOTS);
	must_be_text(hello->name, WIRE_NAME_MAX);
}

static void must_be_report(const struct wire_report *report, int least)
{
	MUST(report->code >= least && report->code <= 255);
	must_be_text(report->text, WIRE_TEXT_MAX);
}

static void must_be_greeting(const struct wire_greeting *greeting, enum wire_greeting_kind expected)
{
	MUST(greeting->kind == expected || greeting->kind == WIRE_REFUSE);
	must_be_text(greeting->peer.software, WIRE_SOFTWARE_MAX);
	MUST(greeting->peer.proto_min <= greeting->peer.proto_max);
	switch (greeting->kind) {
	case WIRE_HELLO:
		must_be_hello(&greeting->hello);
		break;
	case WIRE_WELCOME:
		must_be_text(greeting->welcome.ring, RING_NAME_MAX);
		break;
	default:
		must_be_report(&greeting->refusal, 1);
		return;
	}
	MUST(greeting->proto >= WIRE_PROTO_MIN && greeting->proto <= WIRE_PROTO_MAX);
	MUST(greeting->proto >= greeting->peer.proto_min && greeting->proto <= greeting->peer.proto_max);
}

static void must_be_equal(const struct wire_greeting *one, const struct wire_greeting *other)
{
	MUST(one->kind == other->kind && one->peer.features == other->peer.features &&
	     one->peer.required == other->peer.required);
	switch (one->kind) {
	case WIRE_HELLO:
		MUST(memcmp(one->hello.stream, other->hello.stream, WIRE_STREAM_ID) == 0);
		MUST(one->hello.geometry.slot_size == other->hello.geometry.slot_size);
		MUST(one->hello.geometry.slot_count == other->hello.geometry.slot_count);
		MUST(one->hello.start == other->hello.start && one->hello.resume == other->hello.resume);
		MUST(one->hello.retry_ms == other->hello.retry_ms);
		MUST(strcmp(one->hello.name, other->hello.name) == 0);
		break;
	case WIRE_WELCOME:
		MUST(one->welcome.head == other->welcome.head && one->proto == other->proto);
		MUST(strcmp(one->welcome.ring, other->welcome.ring) == 0);
		break;
	default:
		MUST(one->refusal.code == other->refusal.code);
		MUST(strcmp(one->refusal.text, other->refusal.text) == 0);
		break;
	}
}

static void fuzz_greeting(enum wire_greeting_kind expected, const uint8_t *bytes, size_t length)
{
	struct wire_greeting greeting, again;
	uint8_t written[WIRE_GREETING_MAX];
	uint32_t map;
	int outcome;

	memset(&greeting, 0xaa, sizeof greeting);
	outcome = judged(wire_greeting_decode(expected, bytes, length, &greeting, why, sizeof why));
	if (outcome == -EBADMSG)
		return;
	must_be_map(bytes, length);
	if (outcome == -EPROTONOSUPPORT) {
		must_be_text(greeting.peer.software, WIRE_SOFTWARE_MAX);
		return;
	}
	must_be_greeting(&greeting, expected);

	length = wire_greeting_encode(&greeting, written);
	MUST(length <= sizeof written);
	MUST(judged(wire_preamble_check(written, length, &map, why, sizeof why)) == 0);
	MUST(map == length - WIRE_PREAMBLE);
	MUST(judged(wire_greeting_decode(expected, written + WIRE_PREAMBLE, map, &again, why,
	                                 sizeof why)) == 0);
	must_be_equal(&greeting, &again);
}

/* ---- payloads -------------------------------------------------------------------- */

static void fuzz_report(const uint8_t *bytes, size_t length)
{
	struct wire_report report, again;
	uint8_t written[WIRE_REPORT_MAX];

	memset(&report, 0xaa, sizeof report);
	if (judged(wire_report_decode(bytes, length, &report, why, sizeof why)) != 0)
		return;
	must_be_map(bytes, length);
	must_be_report(&report, 0);
	length = wire_report_encode(&report, written);
	MUST(length <= sizeof written);
	MUST(judged(wire_report_decode(written, length, &again, why, sizeof why)) == 0);
	MUST(again.code == report.code && strcmp(again.text, report.text) == 0);
}

static void fuzz_end(const uint8_t *bytes, size_t length)
{
	struct wire_end end, again;
	uint8_t written[WIRE_REPORT_MAX];

	memset(&end, 0xaa, sizeof end);
	if (judged(wire_end_decode(bytes, length, &end, why, sizeof why)) != 0)
		return;
	must_be_map(bytes, length);
	MUST(end.end == RING_COMPLETE || end.end == RING_ABORTED);
	must_be_report(&end.report, 0);
	length = wire_end_encode(&end, written);
	MUST(length <= sizeof written);
	MUST(judged(wire_end_decode(written, length, &again, why, sizeof why)) == 0);
	MUST(again.end == end.end && again.report.code == end.report.code);
}

/* ---- records --------------------------------------------------------------------- */

static void fuzz_payload(const struct wire_record *record, const uint8_t *payload)
{
	switch (record->type) {
	case WIRE_END:
		fuzz_end(payload, record->length);
		break;
	case WIRE_OUTCOME:
	case WIRE_ERROR:
		fuzz_report(payload, record->length);
		break;
	default:
		break;
	}
}

static void fuzz_record(enum wire_side from, const uint8_t *bytes, size_t length)
{
	uint8_t written[WIRE_RECORD_HEAD];
	struct wire_record record, again;
	const uint8_t *payload = bytes + WIRE_RECORD_HEAD;

	if (length < WIRE_RECORD_HEAD ||
	    judged(wire_record_decode(bytes, from, SLOT_SIZE, &record, why, sizeof why)) != 0)
		return;
	MUST(record.length <= SLOT_SIZE && (record.type == WIRE_DATA || record.length <= WIRE_REPORT_MAX));
	if (record.length > length - WIRE_RECORD_HEAD)
		return;
	/* Whether or not it is intact: who computes checks can say anything. */
	fuzz_payload(&record, payload);
	wire_record_encode(record.type, record.position, payload, record.length, written);
	MUST(wire_record_intact(&record, payload) == (memcmp(written, bytes, sizeof written) == 0));
	MUST(judged(wire_record_decode(written, from, SLOT_SIZE, &again, why, sizeof why)) == 0);
	MUST(again.type == record.type && again.length == record.length &&
	     again.position == record.position && wire_record_intact(&again, payload));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *exact;

	if (size < 1)
		return 0;
	/* A copy that a sanitizer guards to the byte. */
	exact = malloc(size);
	MUST(exact);
	memcpy(exact, data, size);
	switch (data[0] % KINDS) {
	case PREAMBLE:
		fuzz_preamble(exact + 1, size - 1);
		break;
	case HELLO:
		fuzz_greeting(WIRE_HELLO, exact + 1, size - 1);
		break;
	case WELCOME:
		fuzz_greeting(WIRE_WELCOME, exact + 1, size - 1);
		break;
	case RECORD_OF_SENDER:
		fuzz_record(WIRE_FROM_SENDER, exact + 1, size - 1);
		break;
	case RECORD_OF_RECEIVER:
		fuzz_record(WIRE_FROM_RECEIVER, exact + 1, size - 1);
		break;
	case REPORT:
		fuzz_report(exact + 1, size - 1);
		break;
	default:
		fuzz_end(exact + 1, size - 1);
		break;
	}
	free(exact);
	return 0;
}
