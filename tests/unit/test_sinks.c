/* test_sinks.c - what each output format makes of bodies. */
// needs: consumer/diag_text.c consumer/json_keys.c consumer/json_number.c consumer/json_quick.c
// needs: consumer/text_out.c
// needs: consumer/sink_cbor.c consumer/sink_diag.c consumer/sink_fault.c consumer/sink_json.c
// needs: consumer/sink_null.c consumer/sink_raw.c
#include <check.h>

#include "shared/cbor_walk.h"
#include "tests/unit/sink_steps.h"

#define BODY_MAX (256u << 10)

static size_t unhex(const char *hex, uint8_t *out)
{
	size_t length = strlen(hex) / 2;

	for (size_t i = 0; i < length; i++) {
		char digits[3] = { hex[2 * i], hex[2 * i + 1], '\0' };

		out[i] = (uint8_t)strtoul(digits, NULL, 16);
	}
	return length;
}

/* ---- messages through a sink -------------------------------------------------- */

static enum exit_code run_begin(struct run *run)
{
	static const struct message_header header;

	return run->sink->begin ? run->sink->begin(&run->job, &header) : EXIT_COMPLETE;
}

static enum exit_code run_message(struct run *run, const char *hex, bool complete)
{
	static uint8_t bytes[BODY_MAX];
	size_t length = unhex(hex, bytes);
	enum exit_code code = run_begin(run);

	if (code == EXIT_COMPLETE && length > 0)
		code = run_body(run, bytes, length);
	if (code == EXIT_COMPLETE && run->sink->finish)
		code = run->sink->finish(&run->job, complete);
	return code;
}

static void output_must_be(const struct run *run, const char *text)
{
	ck_assert_msg(run->output.length == strlen(text) &&
	              memcmp(run->output.bytes ? run->output.bytes : "", text, strlen(text)) == 0,
	              "\"%.*s\" is not \"%s\"", (int)run->output.length, run->output.bytes, text);
}

static void must_give(const struct sink *sink, const char *hex, const char *text)
{
	struct run run;

	run_open(&run, sink);
	ck_assert_msg(run_message(&run, hex, true) == EXIT_COMPLETE, "%s: %s", hex, fatal);
	output_must_be(&run, text);
	run_close(&run);
}

static void must_fail(const struct sink *sink, const char *hex, const char *why)
{
	struct run run;

	run_open(&run, sink);
	ck_assert_int_eq(run_message(&run, hex, true), EXIT_BAD_DATA);
	ck_assert_str_eq(fatal, why);
	run_close(&run);
}

/* ---- forms ----------------------------------------------------------------------- */

struct form {
	const char *hex, *json, *diag;
};

static const struct form forms[] = {
	{ "00", "0", "0" },
	{ "1bffffffffffffffff", "18446744073709551615", "18446744073709551615" },
	{ "3bffffffffffffffff", "-18446744073709551616", "-18446744073709551616" },
	{ "3903e7", "-1000", "-1000" },
	{ "f4", "false", "false" },
	{ "f5", "true", "true" },
	{ "f6", "null", "null" },
	{ "f7", "{\"$undefined\":true}", "undefined" },
	{ "e0", "{\"$simple\":0}", "simple(0)" },
	{ "f8ff", "{\"$simple\":255}", "simple(255)" },
	{ "f93c00", "1.0", "1.0" },
	{ "f98000", "-0.0", "-0.0" },
	{ "fb3ff199999999999a", "1.1", "1.1" },
	{ "f97e00", "{\"$float\":\"NaN\"}", "NaN" },
	{ "f97c00", "{\"$float\":\"Infinity\"}", "Infinity" },
	{ "faff800000", "{\"$float\":\"-Infinity\"}", "-Infinity" },
	{ "40", "\"\"", "h''" },
	{ "4401fe03ff", "\"Af4D_w\"", "h'01fe03ff'" },
	{ "60", "\"\"", "\"\"" },
	{ "6463c3bc22", "\"c\xc3\xbc\\\"\"", "\"c\xc3\xbc\\\"\"" },
	{ "655c0a001f7f", "\"\\\\\\n\\u0000\\u001f\x7f\"", "\"\\\\\\n\\u0000\\u001f\x7f\"" },
	{ "6408090c0d", "\"\\b\\t\\f\\r\"", "\"\\b\\t\\f\\r\"" },
	{ "80", "[]", "[]" },
	{ "9fff", "[]", "[_ ]" },
	{ "9ffb3ff199999999999aff", "[1.1]", "[_ 1.1]" },
	{ "a0", "{}", "{}" },
	{ "bfff", "{}", "{_ }" },
	{ "83018202039f0405ff", "[1,[2,3],[4,5]]", "[1, [2, 3], [_ 4, 5]]" },
	{ "bf61610161629f0203ffff", "{\"a\":1,\"b\":[2,3]}", "{_ \"a\": 1, \"b\": [_ 2, 3]}" },
	{ "a2616101616102", "{\"a\":1,\"a\":2}", "{\"a\": 1, \"a\": 2}" },
	{ "7f657374726561646d696e67ff", "\"streaming\"", "(_ \"strea\", \"ming\")" },
	{ "7fff", "\"\"", "\"\"_" },
	{ "7f60ff", "\"\"", "(_ \"\")" },
	{ "5fff", "\"\"", "''_" },
	{ "5f4101420203ff", "\"AQID\"", "(_ h'01', h'0203')" },
	{ "825f41014102ff5f4103ff", "[\"AQI\",\"Aw\"]", "[(_ h'01', h'02'), (_ h'03')]" },
	{ "c06161", "{\"$tag\":0,\"value\":\"a\"}", "0(\"a\")" },
	{ "dbffffffffffffffffc1f6",
	  "{\"$tag\":18446744073709551615,\"value\":{\"$tag\":1,\"value\":null}}",
	  "18446744073709551615(1(null))" },
	{ "82c180c1a0", "[{\"$tag\":1,\"value\":[]},{\"$tag\":1,\"value\":{}}]", "[1([]), 1({})]" },
	/* Numbers in several tokens. */
	{ "c249010000000000000000", "18446744073709551616", "2(h'010000000000000000')" },
	{ "c349010000000000000000", "-18446744073709551617", "3(h'010000000000000000')" },
	{ "82c24101c340", "[1,-1]", "[2(h'01'), 3(h'')]" },
	{ "c25f410141004100ff", "65536", "2((_ h'01', h'00', h'00'))" },
	{ "c48221196ab3", "273.15", "4([-2, 27315])" },
	{ "c4822138ff", "-2.56", "4([-2, -256])" },
	{ "c48220c24b0100000000000000000000", "120892581961462917470617.6",
	  "4([-1, 2(h'0100000000000000000000')])" },
	{ "a16161c48221c35f4101ff", "{\"a\":-0.02}", "{\"a\": 4([-2, 3((_ h'01'))])}" },
	{ "c4820102", "2e1", "4([1, 2])" },
	/* What only begins like one. */
	{ "c26161", "{\"$tag\":2,\"value\":\"a\"}", "2(\"a\")" },
	{ "c2c24101", "{\"$tag\":2,\"value\":1}", "2(2(h'01'))" },
	{ "c400", "{\"$tag\":4,\"value\":0}", "4(0)" },
	{ "c480", "{\"$tag\":4,\"value\":[]}", "4([])" },
	{ "c49f0102ff", "{\"$tag\":4,\"value\":[1,2]}", "4([_ 1, 2])" },
	{ "c48261610a", "{\"$tag\":4,\"value\":[\"a\",10]}", "4([\"a\", 10])" },
	{ "c4820a6161", "{\"$tag\":4,\"value\":[10,\"a\"]}", "4([10, \"a\"])" },
	{ "c4822ac16161",
	  "{\"$tag\":4,\"value\":[-11,{\"$tag\":1,\"value\":\"a\"}]}",
	  "4([-11, 1(\"a\")])" },
	{ "c4821bffffffffffffffff01", "{\"$tag\":4,\"value\":[18446744073709551615,1]}",
	  "4([18446744073709551615, 1])" },
	{ "c48201c280", "{\"$tag\":4,\"value\":[1,{\"$tag\":2,\"value\":[]}]}", "4([1, 2([])])" },
	{ "c482c2410102", "{\"$tag\":4,\"value\":[1,2]}", "4([2(h'01'), 2])" },
	/* Keys that are no text. */
	{ "a201020304", "{\"$key:1\":2,\"$key:3\":4}", "{1: 2, 3: 4}" },
	{ "a220f6f5f4", "{\"$key:-1\":null,\"$key:true\":false}", "{-1: null, true: false}" },
	{ "a14101a1f93e00f6", "{\"$key:h'01'\":{\"$key:1.5\":null}}", "{h'01': {1.5: null}}" },
	{ "a1826161630a5c2200", "{\"$key:[\\\"a\\\", \\\"\\\\n\\\\\\\\\\\\\\\"\\\"]\":0}",
	  "{[\"a\", \"\\n\\\\\\\"\"]: 0}" },
	{ "a1a161610102", "{\"$key:{\\\"a\\\": 1}\":2}", "{{\"a\": 1}: 2}" },
	{ "bfc061619fa0ffff", "{\"$key:0(\\\"a\\\")\":[{}]}", "{_ 0(\"a\"): [_ {}]}" },
	{ "a25fff7f6162ff7f6163ff05", "{\"$key:''_\":\"b\",\"c\":5}", "{''_: (_ \"b\"), (_ \"c\"): 5}" },
	{ "a1c1c17f61616162ffc24102", "{\"$key:1(1((_ \\\"a\\\", \\\"b\\\")))\":2}",
	  "{1(1((_ \"a\", \"b\"))): 2(h'02')}" },
	{ "a17f61616162ff01", "{\"ab\":1}", "{(_ \"a\", \"b\"): 1}" },
	{ "a1c2410102", "{\"$key:2(h'01')\":2}", "{2(h'01'): 2}" },
	/* Several items. */
	{ "0102816161", "1\n2\n[\"a\"]", "1\n2\n[\"a\"]" },
};

#define FORMS (sizeof(forms) / sizeof(forms[0]))

/* With a line's end after each item. */
static void with_line_end(const char *text, char *out)
{
	strcpy(out, text);
	strcat(out, "\n");
}

START_TEST(items_have_their_documented_forms)
{
	char line[256];

	with_line_end(forms[_i].json, line);
	must_give(&sink_json, forms[_i].hex, line);
	with_line_end(forms[_i].diag, line);
	must_give(&sink_diag, forms[_i].hex, line);
}
END_TEST

START_TEST(integers_of_every_length_keep_their_digits)
{
	uint64_t power = 1;

	for (unsigned digits = 1; digits <= 20; digits++, power *= 10) {
		for (uint64_t number = power - 1; number <= power + 1; number++) {
			char hex[32], text[32];

			snprintf(hex, sizeof(hex), "1b%016llx", (unsigned long long)number);
			snprintf(text, sizeof(text), "%llu\n", (unsigned long long)number);
			must_give(&sink_json, hex, text);
			must_give(&sink_diag, hex, text);
		}
	}
}
END_TEST

/* ---- frames ------------------------------------------------------------------------ */

/* Where the tokens of a body end. */
static size_t token_ends(const uint8_t *bytes, size_t length, size_t *ends)
{
	static struct cbor_walker walker;
	struct cbor_token token;
	size_t count = 0, at = 0;

	cbor_walker_init(&walker);
	while (at < length) {
		ck_assert_int_eq(cbor_walk(&walker, bytes + at, length - at, &token), 1);
		at += token.size;
		ends[count++] = at;
	}
	return count;
}

static void must_not_mind_cuts(const struct sink *sink, const uint8_t *bytes, size_t length,
                               const char *text)
{
	size_t ends[256];
	size_t count = token_ends(bytes, length, ends);

	/* In two frames, cut anywhere; and, last, a frame for each token. */
	for (size_t cut = 0; cut <= count; cut++) {
		size_t start = 0;
		struct run run;

		run_open(&run, sink);
		ck_assert_int_eq(run_begin(&run), EXIT_COMPLETE);
		for (size_t i = 0; i < count; i++) {
			if (cut < count && i != cut && i != count - 1)
				continue;
			ck_assert_int_eq(run_body(&run, bytes + start, ends[i] - start), EXIT_COMPLETE);
			start = ends[i];
		}
		ck_assert_int_eq(sink->finish(&run.job, true), EXIT_COMPLETE);
		output_must_be(&run, text);
		run_close(&run);
	}
}

START_TEST(cuts_between_tokens_change_nothing)
{
	uint8_t bytes[256];
	size_t length = unhex(forms[_i].hex, bytes);
	char line[256];

	with_line_end(forms[_i].json, line);
	must_not_mind_cuts(&sink_json, bytes, length, line);
	with_line_end(forms[_i].diag, line);
	must_not_mind_cuts(&sink_diag, bytes, length, line);
}
END_TEST

START_TEST(a_token_cut_by_a_frame_is_bad_data)
{
	static const char why[] =
		"ring \"r\": message 3, byte 1006: ill-formed CBOR: a frame ends within a token";

	must_fail(&sink_json, "826261", why);
	must_fail(&sink_diag, "8219ff", why);
	must_fail(&sink_raw, "5f42ff", why);
}
END_TEST

START_TEST(ill_formed_bodies_are_named_by_byte)
{
	must_fail(&sink_json, "8200ff", "ring \"r\": message 3, byte 1007: ill-formed CBOR: stray break");
	must_fail(&sink_diag, "a161ff00",
	          "ring \"r\": message 3, byte 1006: ill-formed CBOR: text is not valid UTF-8");
	must_fail(&sink_raw, "5f6161ff",
	          "ring \"r\": message 3, byte 1006: ill-formed CBOR: not a chunk of the string's kind");
	must_fail(&sink_json, "8200",
	          "ring \"r\": message 3, byte 1000: ill-formed CBOR: ends within an item");
	must_fail(&sink_diag, "c1",
	          "ring \"r\": message 3, byte 1000: ill-formed CBOR: ends within an item");
	must_fail(&sink_raw, "5f4101",
	          "ring \"r\": message 3, byte 1000: ill-formed CBOR: ends within an item");
}
END_TEST

START_TEST(a_message_that_is_given_up_ends_its_line)
{
	static const char *const hex[] = {
		"8201", "a1", "a1826161", "a15f4101", "7f6161", "5f4101", "c1", "82c4", "82c4822101",
		"a100c25f",
	};

	for (size_t i = 0; i < sizeof(hex) / sizeof(hex[0]); i++) {
		for (int diag = 0; diag < 2; diag++) {
			struct run run;
			size_t line;

			run_open(&run, diag ? &sink_diag : &sink_json);
			ck_assert_int_eq(run_message(&run, hex[i], false), EXIT_COMPLETE);
			line = run.output.length;
			ck_assert(line > 1 && run.output.bytes[line - 1] == '\n');
			ck_assert(memchr(run.output.bytes, '\n', line) == run.output.bytes + line - 1);
			/* The next one begins anew. */
			ck_assert_int_eq(run_message(&run, "a1616100", true), EXIT_COMPLETE);
			ck_assert_uint_eq(run.output.length - line, diag ? 9 : 8);
			ck_assert_mem_eq(run.output.bytes + line, diag ? "{\"a\": 0}" : "{\"a\":0}",
			                 diag ? 8 : 7);
			run_close(&run);
		}
	}
}
END_TEST

START_TEST(a_message_given_up_between_items_leaves_no_empty_line)
{
	struct run run;

	run_open(&run, &sink_json);
	ck_assert_int_eq(run_message(&run, "01", false), EXIT_COMPLETE);
	ck_assert_int_eq(run_message(&run, "", false), EXIT_COMPLETE);
	ck_assert_int_eq(run_message(&run, "c4820a", false), EXIT_COMPLETE);
	output_must_be(&run, "1\n");
	run_close(&run);
}
END_TEST

/* ---- strings of many sizes ------------------------------------------------------------ */

/* Text of `length` bytes in an array, with `odd` at one place, then `after`
 * more items. */
static size_t make_text(uint8_t *bytes, size_t length, size_t place, uint8_t odd, unsigned after)
{
	uint8_t *at = bytes;

	*at++ = (uint8_t)(0x82 + after);
	*at++ = 0x79;
	*at++ = (uint8_t)(length >> 8);
	*at++ = (uint8_t)length;
	memset(at, 'x', length);
	if (place < length)
		at[place] = odd;
	at += length;
	for (unsigned i = 0; i <= after; i++)
		*at++ = 0;
	return (size_t)(at - bytes);
}

START_TEST(every_place_in_a_text_is_looked_at)
{
	static uint8_t bytes[8192];
	static char expected[8192];

	for (size_t length = 0; length <= 70; length++) {
		for (size_t place = 0; place <= length; place++) {
			for (unsigned after = 0; after < 2; after++) {
				static const uint8_t odd[] = { '"', '\\', '\n', 1, 31 };
				static const char *const escaped[] =
					{ "\\\"", "\\\\", "\\n", "\\u0001", "\\u001f" };
				size_t which = (length + place) % 5;
				size_t size = make_text(bytes, length, place, odd[which], after * 17);
				char *at = expected;
				struct run run;

				*at++ = '[';
				*at++ = '"';
				for (size_t i = 0; i < length; i++)
					at = i == place ? stpcpy(at, escaped[which]) : stpcpy(at, "x");
				*at++ = '"';
				for (unsigned i = 0; i <= after * 17; i++)
					at = stpcpy(at, ",0");
				strcpy(at, "]\n");
				run_open(&run, &sink_json);
				run_begin(&run);
				ck_assert_int_eq(run_body(&run, bytes, size), EXIT_COMPLETE);
				output_must_be(&run, expected);
				run_close(&run);
			}
		}
	}
}
END_TEST

START_TEST(nothing_after_a_frame_is_read)
{
	uint8_t bytes[128];

	/* A sanitizer sees it. */
	for (size_t length = 0; length <= 33; length++) {
		for (unsigned after = 0; after <= 20; after++) {
			size_t size = 0;
			struct run run;

			bytes[size++] = 0x9f;
			bytes[size++] = 0x78;
			bytes[size++] = (uint8_t)length;
			memset(bytes + size, 'x', length + after);
			size += length;
			memset(bytes + size, 0, after);
			size += after;
			run_open(&run, &sink_json);
			run_begin(&run);
			ck_assert_int_eq(run_body(&run, bytes, size), EXIT_COMPLETE);
			ck_assert_uint_eq(run.output.length, 3 + length + 2 * after);
			run_close(&run);
		}
	}
}
END_TEST

/* An array of `item`, then zeros: enough that the item is far from any end. */
static void must_give_first(const char *item, const char *json)
{
	char hex[256], expected[256], *at = expected;

	snprintf(hex, sizeof(hex), "9820%s%062d", item, 0);
	at += sprintf(at, "[%s", json);
	for (int i = 0; i < 31; i++)
		at = stpcpy(at, ",0");
	strcpy(at, "]\n");
	must_give(&sink_json, hex, expected);
}

START_TEST(items_far_from_an_end_have_the_same_forms)
{
	/* Those that are done the quick way, and some that look like them. */
	must_give_first("63c3bc61", "\"\xc3\xbc" "a\"");
	must_give_first("78126162636465666768696a6b6c6d6e6fc3bc71", "\"abcdefghijklmno\xc3\xbcq\"");
	must_give_first("6161", "\"a\"");
	must_give_first("60", "\"\"");
	must_give_first("7800", "\"\"");
	must_give_first("17", "23");
	must_give_first("37", "-24");
	must_give_first("1800", "0");
	must_give_first("1903e8", "1000");
	must_give_first("1a000f4240", "1000000");
	must_give_first("1bffffffffffffffff", "18446744073709551615");
	must_give_first("3bffffffffffffffff", "-18446744073709551616");
	must_give_first("f4", "false");
	must_give_first("f5", "true");
	must_give_first("f6", "null");
	must_give_first("f7", "{\"$undefined\":true}");
	must_give_first("e5", "{\"$simple\":5}");
	must_give_first("f93e00", "1.5");
	must_give_first("f98000", "-0.0");
	must_give_first("f903ff", "0.00006097555160522461");
	must_give_first("f90001", "5.960464477539063e-8");
	must_give_first("f97bff", "65504.0");
	must_give_first("f9fc00", "{\"$float\":\"-Infinity\"}");
	must_give_first("f97e01", "{\"$float\":\"NaN\"}");
	must_give_first("fa47c35000", "100000.0");
	must_give_first("fb3ff199999999999a", "1.1");
	must_give_first("fb7ff8000000000000", "{\"$float\":\"NaN\"}");
	must_give_first("a10405", "{\"$key:4\":5}");
	must_fail(&sink_json, "981c63c3286100000102030405060708090a0b0c0d0e0f",
	          "ring \"r\": message 3, byte 1007: ill-formed CBOR: text is not valid UTF-8");
	must_fail(&sink_json, "981c1c0000000000000000000000000000",
	          "ring \"r\": message 3, byte 1007: ill-formed CBOR: unknown initial byte");
}
END_TEST

START_TEST(long_strings_come_out_whole_however_chunked)
{
	static const size_t sizes[] = { 0, 1, 2, 3, 2047, 2048, 2049, 5000, 40000 };
	static uint8_t bytes[BODY_MAX];
	static char text[BODY_MAX];

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		for (size_t j = 0; j < sizeof(sizes) / sizeof(sizes[0]); j++) {
			size_t lengths[2] = { sizes[i], sizes[j] }, total = sizes[i] + sizes[j];
			struct run run;

			/* Zero bytes: 'A' in base64. */
			run_open(&run, &sink_json);
			run_begin(&run);
			ck_assert_int_eq(run_body(&run, (const uint8_t *)"\x5f", 1), EXIT_COMPLETE);
			for (int k = 0; k < 2; k++) {
				memset(bytes, 0, lengths[k] + 3);
				bytes[0] = 0x59;
				bytes[1] = (uint8_t)(lengths[k] >> 8);
				bytes[2] = (uint8_t)lengths[k];
				ck_assert_int_eq(run_body(&run, bytes, lengths[k] + 3), EXIT_COMPLETE);
			}
			ck_assert_int_eq(run_body(&run, (const uint8_t *)"\xff", 1), EXIT_COMPLETE);
			memset(text, 'A', sizeof(text));
			text[0] = '"';
			strcpy(text + 1 + (total * 4 + 2) / 3, "\"\n");
			output_must_be(&run, text);
			run_close(&run);
		}
	}
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t size = make_text(bytes, sizes[i], 1, '"', 0), length = 0;
		struct run run;

		length += (size_t)sprintf(text, "[\"");
		for (size_t j = 0; j < sizes[i]; j++)
			length += (size_t)sprintf(text + length, "%s", j == 1 ? "\\\"" : "x");
		sprintf(text + length, "\",0]\n");
		run_open(&run, &sink_json);
		run_begin(&run);
		ck_assert_int_eq(run_body(&run, bytes, size), EXIT_COMPLETE);
		output_must_be(&run, text);
		run_close(&run);
	}
}
END_TEST

START_TEST(what_is_too_large_for_a_number_stays_a_tag)
{
	/* 2^(8 * 41000) has 98,744 digits; 50,000 bytes are too many. */
	static const size_t sizes[] = { 41000, 50000 };
	static uint8_t bytes[BODY_MAX];

	for (size_t i = 0; i < 2; i++) {
		for (int chunked = 0; chunked < 2; chunked++) {
			size_t first = sizes[i] / 2, second = sizes[i] - first;
			uint8_t *at = bytes;
			struct run run;

			memset(bytes, 1, sizeof(bytes));
			*at++ = 0xc2;
			if (chunked) {
				*at++ = 0x5f;
				at[0] = 0x59;
				at[1] = (uint8_t)(first >> 8);
				at[2] = (uint8_t)first;
				at += 3 + first;
			} else {
				second = sizes[i];
			}
			at[0] = 0x59;
			at[1] = (uint8_t)(second >> 8);
			at[2] = (uint8_t)second;
			at += 3 + second;
			if (chunked)
				*at++ = 0xff;
			run_open(&run, &sink_json);
			run_begin(&run);
			ck_assert_int_eq(run_body(&run, bytes, (size_t)(at - bytes)), EXIT_COMPLETE);
			if (i == 0) {
				ck_assert_uint_gt(run.output.length, 98000);
				ck_assert_uint_eq(strspn(run.output.bytes, "0123456789"),
				                  run.output.length - 1);
			} else {
				static const char front[] = "{\"$tag\":2,\"value\":\"AQEB";

				ck_assert_uint_eq(run.output.length,
				                  strlen(front) - 4 + (sizes[i] * 4 + 2) / 3 + 3);
				ck_assert_mem_eq(run.output.bytes, front, strlen(front));
				ck_assert_mem_eq(run.output.bytes + run.output.length - 3, "\"}\n", 3);
			}
			run_close(&run);
		}
	}
}
END_TEST

START_TEST(the_deepest_nesting_closes_at_once)
{
	static uint8_t bytes[2 * CBOR_MAX_DEPTH + 1];
	static char text[4 * CBOR_MAX_DEPTH];
	struct run run;

	memset(bytes, 0x81, CBOR_MAX_DEPTH);
	bytes[CBOR_MAX_DEPTH] = 0x80;
	memset(text, '[', CBOR_MAX_DEPTH + 1);
	memset(text + CBOR_MAX_DEPTH + 1, ']', CBOR_MAX_DEPTH + 1);
	strcpy(text + 2 * CBOR_MAX_DEPTH + 2, "\n");
	run_open(&run, &sink_json);
	run_begin(&run);
	ck_assert_int_eq(run_body(&run, bytes, CBOR_MAX_DEPTH + 1), EXIT_COMPLETE);
	output_must_be(&run, text);
	run_close(&run);
	run_open(&run, &sink_diag);
	run_begin(&run);
	ck_assert_int_eq(run_body(&run, bytes, CBOR_MAX_DEPTH + 1), EXIT_COMPLETE);
	output_must_be(&run, text);
	run_close(&run);
	/* Maps as keys of maps are written once, not escaped at each level. */
	memset(bytes, 0xa1, CBOR_MAX_DEPTH);
	memset(bytes + CBOR_MAX_DEPTH, 0, CBOR_MAX_DEPTH + 1);
	run_open(&run, &sink_json);
	run_begin(&run);
	ck_assert_int_eq(run_body(&run, bytes, 2 * CBOR_MAX_DEPTH + 1), EXIT_COMPLETE);
	ck_assert_uint_lt(run.output.length, 6 * CBOR_MAX_DEPTH);
	run_close(&run);
}
END_TEST

/* ---- the other formats ------------------------------------------------------------------ */

START_TEST(raw_is_the_one_string_of_a_message)
{
	static const char no_string[] =
		"ring \"r\": message 3 is not a byte string; use --format json, cbor or diag";

	must_give(&sink_raw, "43616263", "abc");
	must_give(&sink_raw, "40", "");
	must_give(&sink_raw, "63616263", "abc");
	must_give(&sink_raw, "5f41614042626340ff", "abc");
	must_give(&sink_raw, "5fff", "");
	must_give(&sink_raw, "7f6161ff", "a");
	must_fail(&sink_raw, "00", no_string);
	must_fail(&sink_raw, "814161", no_string);
	must_fail(&sink_raw, "c14161", no_string);
	must_fail(&sink_raw, "41614162", no_string);
	must_fail(&sink_raw, "5f4161ff00", no_string);
	must_fail(&sink_raw, "", no_string);
}
END_TEST

START_TEST(raw_delivers_what_there_is_of_a_message_given_up)
{
	struct run run;

	run_open(&run, &sink_raw);
	ck_assert_int_eq(run_message(&run, "5f4161", false), EXIT_COMPLETE);
	ck_assert_int_eq(run_message(&run, "", false), EXIT_COMPLETE);
	ck_assert_int_eq(run_message(&run, "4162", true), EXIT_COMPLETE);
	output_must_be(&run, "ab");
	run_close(&run);
}
END_TEST

START_TEST(cbor_is_the_bodies_own_bytes)
{
	struct run run;

	run_open(&run, &sink_cbor);
	ck_assert_int_eq(run_message(&run, "826162f7", true), EXIT_COMPLETE);
	ck_assert_int_eq(run_message(&run, "190000", true), EXIT_COMPLETE);
	ck_assert_uint_eq(run.output.length, 7);
	ck_assert_mem_eq(run.output.bytes, "\x82\x61\x62\xf7\x19\x00\x00", 7);
	run_close(&run);
}
END_TEST

START_TEST(null_writes_nothing)
{
	struct run run;

	run_open(&run, &sink_null);
	ck_assert_int_eq(run_message(&run, "826162f7", true), EXIT_COMPLETE);
	ck_assert_int_eq(run_message(&run, "8261", false), EXIT_COMPLETE);
	ck_assert_uint_eq(run.output.length, 0);
	run_close(&run);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sinks");
	TCase *texts = tcase_create("json and diag");
	TCase *others = tcase_create("raw, cbor and null");
	SRunner *runner;
	int failed;

	tcase_add_loop_test(texts, items_have_their_documented_forms, 0, FORMS);
	tcase_add_test(texts, integers_of_every_length_keep_their_digits);
	tcase_add_loop_test(texts, cuts_between_tokens_change_nothing, 0, FORMS);
	tcase_add_test(texts, a_token_cut_by_a_frame_is_bad_data);
	tcase_add_test(texts, ill_formed_bodies_are_named_by_byte);
	tcase_add_test(texts, a_message_that_is_given_up_ends_its_line);
	tcase_add_test(texts, a_message_given_up_between_items_leaves_no_empty_line);
	tcase_add_test(texts, every_place_in_a_text_is_looked_at);
	tcase_add_test(texts, nothing_after_a_frame_is_read);
	tcase_add_test(texts, items_far_from_an_end_have_the_same_forms);
	tcase_add_test(texts, long_strings_come_out_whole_however_chunked);
	tcase_add_test(texts, what_is_too_large_for_a_number_stays_a_tag);
	tcase_add_test(texts, the_deepest_nesting_closes_at_once);
	tcase_set_timeout(texts, 60);
	tcase_add_test(others, raw_is_the_one_string_of_a_message);
	tcase_add_test(others, raw_delivers_what_there_is_of_a_message_given_up);
	tcase_add_test(others, cbor_is_the_bodies_own_bytes);
	tcase_add_test(others, null_writes_nothing);
	suite_add_tcase(suite, texts);
	suite_add_tcase(suite, others);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
