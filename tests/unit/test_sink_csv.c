/* test_sink_csv.c - rows as CSV, and what other formats make of tables. */
// needs: consumer/diag_text.c consumer/json_keys.c consumer/json_number.c consumer/json_quick.c
// needs: consumer/text_out.c consumer/sink_cbor.c consumer/sink_csv.c consumer/sink_diag.c
// needs: consumer/sink_fault.c consumer/sink_json.c
#include <check.h>

#include "shared/cbor_put.h"
#include "shared/cbor_walk.h"
#include "shared/columns.h"
#include "shared/stream.h"
#include "tests/unit/sink_steps.h"

/* ---- messages ------------------------------------------------------------------ */

/* CBOR from a picture: [ and ] an array, ( and ) one without a length, 'text',
 * "chunk|chunk", and numbers, t, f, n; hexadecimal after a #, up to a blank. */
static size_t encode(const char *picture, uint8_t *out)
{
	uint8_t *at = out, *heads[8];
	unsigned depth = 0;

	for (const char *next = picture; *next != '\0'; next++) {
		const char *end;

		if (*next != ']' && *next != ')' && *next != ' ' && depth > 0 && heads[depth - 1] != NULL)
			++*heads[depth - 1];
		switch (*next) {
		case '[':
			heads[depth++] = at;
			*at++ = 0x80;
			break;
		case '(':
			heads[depth++] = NULL;
			*at++ = 0x9f;
			break;
		case ']':
			depth--;
			break;
		case ')':
			depth--;
			*at++ = 0xff;
			break;
		case '\'':
			end = strchr(next + 1, '\'');
			at = cbor_put_head(at, CBOR_BYTE_TEXT, (uint64_t)(end - next - 1));
			at = (uint8_t *)mempcpy(at, next + 1, (size_t)(end - next - 1));
			next = end;
			break;
		case '"':
			*at++ = 0x7f;
			for (next++; *next != '"'; next = *end == '|' ? end + 1 : end) {
				end = next + strcspn(next, "|\"");
				at = cbor_put_head(at, CBOR_BYTE_TEXT, (uint64_t)(end - next));
				at = (uint8_t *)mempcpy(at, next, (size_t)(end - next));
			}
			*at++ = 0xff;
			break;
		case '#':
			for (next++; *next != ' '; next += 2) {
				char digits[3] = { next[0], next[1], '\0' };

				*at++ = (uint8_t)strtoul(digits, NULL, 16);
			}
			break;
		case 't':
			*at++ = 0xf5;
			break;
		case 'f':
			*at++ = 0xf4;
			break;
		case 'n':
			*at++ = 0xf6;
			break;
		case ' ':
			break;
		default:
			at = cbor_put_head(at, CBOR_BYTE_UNSIGNED, (uint64_t)(*next - '0'));
			break;
		}
	}
	return (size_t)(at - out);
}

struct table {
	const char *names;             /* a picture; NULL: none */
	char delimiter, quote;         /* delimiter NUL: the usual ones */
	const char *rows;              /* a picture */
};

static uint8_t header_bytes[STREAM_HEADER_MAX], body_bytes[64u << 10];
static struct message_header header;

static void header_make(const struct table *table)
{
	struct message_header encoded = { .has_type = true, .type = "csv" };
	uint8_t names[4096];
	struct columns columns = { .delimiter = ',', .quote = '"' };
	size_t length;

	if (table->delimiter != '\0') {
		columns.delimiter = table->delimiter;
		columns.quote = table->quote;
	}
	if (table->names != NULL) {
		columns.names = names;
		columns.length = encode(table->names, names);
	}
	length = columns_add(&columns, header_bytes, header_encode(&encoded, header_bytes));
	ck_assert_int_eq(header_decode(header_bytes, length, &header), 0);
}

/* A frame for each token, or one for all. */
static enum exit_code run_message(struct run *run, const struct table *table, bool cut)
{
	static struct cbor_walker walker;
	size_t length = encode(table->rows, body_bytes), start = 0;
	struct cbor_token token;
	enum exit_code code;

	header_make(table);
	code = run->sink->begin(&run->job, &header);
	cbor_walker_init(&walker);
	while (cut && start < length && code == EXIT_COMPLETE) {
		ck_assert_int_eq(cbor_walk(&walker, body_bytes + start, length - start, &token), 1);
		code = run_body(run, body_bytes + start, token.size);
		start += token.size;
	}
	if (start < length && code == EXIT_COMPLETE)
		code = run_body(run, body_bytes + start, length - start);
	if (code == EXIT_COMPLETE && run->sink->finish != NULL)
		code = run->sink->finish(&run->job, true);
	return code;
}

static void output_must_be(const struct run *run, const char *text)
{
	ck_assert_msg(run->output.length == strlen(text) &&
	              memcmp(run->output.bytes ? run->output.bytes : "", text, strlen(text)) == 0,
	              "\"%.*s\" is not \"%s\"", (int)run->output.length, run->output.bytes, text);
}

static void must_give(const struct sink *sink, const struct table *table, const char *text)
{
	for (int cut = 0; cut < 2; cut++) {
		struct run run;

		run_open(&run, sink);
		ck_assert_msg(run_message(&run, table, cut) == EXIT_COMPLETE, "%s: %s", table->rows, fatal);
		output_must_be(&run, text);
		run_close(&run);
	}
}

static void must_fail(const struct sink *sink, const struct table *table, const char *why)
{
	for (int cut = 0; cut < 2; cut++) {
		struct run run;

		run_open(&run, sink);
		ck_assert_int_eq(run_message(&run, table, cut), EXIT_BAD_DATA);
		ck_assert_msg(strstr(fatal, why) != NULL, "\"%s\" does not say \"%s\"", fatal, why);
		run_close(&run);
	}
}

#define TABLE(...) (&(struct table){ __VA_ARGS__ })

/* ---- csv ---------------------------------------------------------------------- */

START_TEST(rows_become_lines)
{
	must_give(&sink_csv, TABLE("['a''b']", .rows = "['1''x']['2''']"), "a,b\n1,x\n2,\n");
	must_give(&sink_csv, TABLE(NULL, .rows = "['1''x']['2''']"), "1,x\n2,\n");
	must_give(&sink_csv, TABLE(NULL, .rows = "('1''x')(2)"), "1,x\n2\n");
	must_give(&sink_csv, TABLE("['a''b']", .rows = ""), "a,b\n");
	must_give(&sink_csv, TABLE(NULL, .rows = ""), "");
}
END_TEST

START_TEST(fields_are_quoted_where_they_must_be)
{
	must_give(&sink_csv, TABLE(NULL, .rows = "['a,b'' c ''d\ne''f\rg']"), "\"a,b\", c ,\"d\ne\",\"f\rg\"\n");
	must_give(&sink_csv, TABLE("['x\"y''z']", .rows = "['\"''\"\"']"), "\"x\"\"y\",z\n\"\"\"\",\"\"\"\"\"\"\n");
	must_give(&sink_csv, TABLE(NULL, ';', '|', "['a;b''c|d''e,f''\"']"), "|a;b|;|c||d|;e,f;\"\n");
}
END_TEST

START_TEST(a_field_that_is_all_of_a_row_is_no_blank_line)
{
	must_give(&sink_csv, TABLE("['']", .rows = "['']['a'][n]"), "\"\"\n\"\"\na\n\"\"\n");
	must_give(&sink_csv, TABLE(NULL, '\t', '\0', "['']"), "\n");
}
END_TEST

START_TEST(a_byte_order_mark_in_front_is_quoted)
{
	must_give(&sink_csv, TABLE(NULL, .rows = "['\xef\xbb\xbf''\xef\xbb\xbf']"),
	          "\"\xef\xbb\xbf\",\xef\xbb\xbf\n");
}
END_TEST

START_TEST(scalars_are_written_as_what_they_are)
{
	must_give(&sink_csv, TABLE(NULL, .rows = "[1tfn]"), "1,true,false,\n");
	must_give(&sink_csv, TABLE(NULL, .rows = "[#20 #f93e00 #f97e00 #f97c00 #f9fc00 ]"),
	          "-1,1.5,NaN,Infinity,-Infinity\n");
	must_give(&sink_csv, TABLE(NULL, .rows = "[#c249010000000000000000 #c48221186e 0]"),
	          "18446744073709551616,1.10,0\n");
	/* Where digits are not what they seem. */
	must_give(&sink_csv, TABLE(NULL, '.', '"', "[#f93e00 1]"), "\"1.5\".1\n");
}
END_TEST

START_TEST(a_text_in_chunks_is_quoted)
{
	must_give(&sink_csv, TABLE(NULL, .rows = "[1\"a|b\"2]"), "1,\"ab\",2\n");
	must_give(&sink_csv, TABLE(NULL, '\t', '\0', "[1\"a|b\"2]"), "1\tab\t2\n");
}
END_TEST

START_TEST(without_quotes_not_every_field_can_be_written)
{
	must_give(&sink_csv, TABLE("['\"a''b']", '\t', '\0', "['1\"''2,']"), "\"a\tb\n1\"\t2,\n");
	must_fail(&sink_csv, TABLE(NULL, '\t', '\0', "['1\t']"), "without quotes");
	must_fail(&sink_csv, TABLE(NULL, '\t', '\0', "[1'1\n']"), "without quotes");
	must_fail(&sink_csv, TABLE(NULL, '\t', '\0', "[1\"a|\t\"2]"), "without quotes");
	must_fail(&sink_csv, TABLE("['a\n']", '\t', '\0', ""), "without quotes");
}
END_TEST

START_TEST(what_is_no_row_of_scalars_is_refused)
{
	static const char *const no_rows[] = { "1", "'a'", "[]", "()", "#a0 ", "#c180 " };
	static const char *const no_scalars[] = {
		"[[1]]", "[#a0 ]", "[#4161 ]", "[#5f4161ff ]", "[#f7 ]", "[#e0 ]", "[#c101 ]", "[#c26161 ]", "['a'(1)]",
	};

	for (size_t i = 0; i < sizeof(no_rows) / sizeof(no_rows[0]); i++)
		must_fail(&sink_csv, TABLE(NULL, .rows = no_rows[i]), "no array of fields");
	for (size_t i = 0; i < sizeof(no_scalars) / sizeof(no_scalars[0]); i++)
		must_fail(&sink_csv, TABLE(NULL, .rows = no_scalars[i]), "a field that is no text");
	must_fail(&sink_csv, TABLE("['a''b']", .rows = "['1']"), "more or fewer fields");
	must_fail(&sink_csv, TABLE("['a''b']", .rows = "('1''2''3')"), "more or fewer fields");
}
END_TEST

START_TEST(names_are_not_repeated_in_one_output)
{
	struct run run;

	run_open(&run, &sink_csv);
	ck_assert_int_eq(run_message(&run, TABLE("['a']", .rows = "[1]"), false), EXIT_COMPLETE);
	ck_assert_int_eq(run_message(&run, TABLE("['a']", .rows = "[2]"), false), EXIT_COMPLETE);
	output_must_be(&run, "a\n1\n2\n");
	ck_assert_int_eq(run_message(&run, TABLE("['b']", .rows = "[3]"), false), EXIT_BAD_DATA);
	ck_assert_ptr_nonnull(strstr(fatal, "--output-dir"));
	run_close(&run);

	run_open(&run, &sink_csv);
	run.job.apart = true;
	ck_assert_int_eq(run_message(&run, TABLE("['a']", .rows = "[1]"), false), EXIT_COMPLETE);
	ck_assert_int_eq(run_message(&run, TABLE("['a']", .rows = "[2]"), false), EXIT_COMPLETE);
	ck_assert_int_eq(run_message(&run, TABLE("['b']", .rows = "[3]"), false), EXIT_COMPLETE);
	output_must_be(&run, "a\n1\na\n2\nb\n3\n");
	run_close(&run);
}
END_TEST

/* Fields of every length, with an odd byte at every place, within a row. */
START_TEST(every_place_in_a_field_is_looked_at)
{
	static const char odd[] = { ',', '"', '\n', '\r', 'y' };

	for (size_t length = 0; length < 40; length++) {
		for (size_t place = 0; place <= length; place++) {
			char byte = odd[(length + place) % sizeof(odd)], text[64], picture[128], expected[192];
			bool quoted = place < length && byte != 'y';
			char *out = expected;

			memset(text, 'x', sizeof(text));
			if (place < length)
				text[place] = byte;
			snprintf(picture, sizeof(picture), "['a''%.*s''bcdefghijklmnopqrstuvwxyz'1]", (int)length, text);
			out = stpcpy(out, quoted ? "a,\"" : "a,");
			for (size_t i = 0; i < length; i++) {
				*out++ = text[i];
				if (text[i] == '"')
					*out++ = '"';
			}
			stpcpy(out, quoted ? "\",bcdefghijklmnopqrstuvwxyz,1\n" : ",bcdefghijklmnopqrstuvwxyz,1\n");
			must_give(&sink_csv, TABLE(NULL, .rows = picture), expected);
		}
	}
}
END_TEST

START_TEST(text_that_is_not_utf8_is_ill_formed)
{
	struct run run;

	run_open(&run, &sink_csv);
	ck_assert_int_eq(run_message(&run, TABLE(NULL, .rows = "['a''\xff''bcdefghijklmnopqrstuvwxyz']"), false),
	                 EXIT_BAD_DATA);
	ck_assert_ptr_nonnull(strstr(fatal, "UTF-8"));
	run_close(&run);
}
END_TEST

/* ---- json, cbor, diag ----------------------------------------------------------- */

START_TEST(json_has_an_object_for_each_row)
{
	must_give(&sink_json, TABLE("['a''b\"']", .rows = "['1''x'](2n)"),
	          "{\"a\":\"1\",\"b\\\"\":\"x\"}\n{\"a\":2,\"b\\\"\":null}\n");
	must_give(&sink_json, TABLE("['a''''\xc3\xa9']", .rows = "[\"a|b\"#c48221186e #4161 ]([1]#a10203 t)"),
	          "{\"a\":\"ab\",\"\":1.10,\"\xc3\xa9\":\"YQ\"}\n"
	          "{\"a\":[1],\"\":{\"$key:2\":3},\"\xc3\xa9\":true}\n");
	must_give(&sink_json, TABLE(NULL, .rows = "['1''x']"), "[\"1\",\"x\"]\n");
	must_give(&sink_json, TABLE("['a']", .rows = "['1'](2)[#c101 ][#f7 ]"),
	          "{\"a\":\"1\"}\n{\"a\":2}\n{\"a\":{\"$tag\":1,\"value\":1}}\n{\"a\":{\"$undefined\":true}}\n");
	must_give(&sink_json, TABLE("['a''b''c''d']", .rows = "['1''2''3''bcdefghijklmnopqrstuvwxyz']"),
	          "{\"a\":\"1\",\"b\":\"2\",\"c\":\"3\",\"d\":\"bcdefghijklmnopqrstuvwxyz\"}\n");
}
END_TEST

START_TEST(json_has_no_object_for_what_is_no_row)
{
	must_fail(&sink_json, TABLE("['a''a']", .rows = ""), "two columns of one name");
	must_fail(&sink_json, TABLE("['a''b']", .rows = "['1']"), "more or fewer fields");
	must_fail(&sink_json, TABLE("['a''b']", .rows = "['1''2''3']"), "more or fewer fields");
	must_fail(&sink_json, TABLE("['a''b']", .rows = "('1')"), "more or fewer fields");
	must_fail(&sink_json, TABLE("['a''b']", .rows = "('1''2''3')"), "more or fewer fields");
	must_fail(&sink_json, TABLE("['a''b']", .rows = "('1''2'\"3\")"), "more or fewer fields");
	must_fail(&sink_json, TABLE("['a']", .rows = "1"), "no array");
	must_fail(&sink_json, TABLE("['a']", .rows = "#c18101 "), "no array");
}
END_TEST

START_TEST(cbor_and_diag_begin_with_the_names)
{
	must_give(&sink_cbor, TABLE("['a''b']", .rows = "['1''x']"), "\x82\x61" "a\x61" "b\x82\x61" "1\x61" "x");
	must_give(&sink_diag, TABLE("['a''b']", .rows = "['1''x']"), "[\"a\", \"b\"]\n[\"1\", \"x\"]\n");
	must_give(&sink_diag, TABLE(NULL, .rows = "['1''x']"), "[\"1\", \"x\"]\n");
}
END_TEST

START_TEST(columns_that_cannot_be_read_are_bad_data)
{
	static const char *const names[] = { "1", "'a'", "[]", "('a')", "[1]", "['a'\"b\"]", "['a'['b']]" };
	static const struct sink *const sinks[] = { &sink_csv, &sink_json, &sink_cbor, &sink_diag };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		for (size_t j = 0; j < sizeof(sinks) / sizeof(sinks[0]); j++)
			must_fail(sinks[j], TABLE(names[i], .rows = ""), "columns cannot be read");
	must_fail(&sink_csv, TABLE(NULL, '\n', '"', ""), "columns cannot be read");
	must_fail(&sink_csv, TABLE(NULL, ',', '\r', ""), "columns cannot be read");
	must_fail(&sink_csv, TABLE(NULL, '"', '"', ""), "columns cannot be read");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sink_csv");
	TCase *all = tcase_create("sink_csv");
	SRunner *runner;
	int failed;

	tcase_add_test(all, rows_become_lines);
	tcase_add_test(all, fields_are_quoted_where_they_must_be);
	tcase_add_test(all, a_field_that_is_all_of_a_row_is_no_blank_line);
	tcase_add_test(all, a_byte_order_mark_in_front_is_quoted);
	tcase_add_test(all, scalars_are_written_as_what_they_are);
	tcase_add_test(all, a_text_in_chunks_is_quoted);
	tcase_add_test(all, without_quotes_not_every_field_can_be_written);
	tcase_add_test(all, what_is_no_row_of_scalars_is_refused);
	tcase_add_test(all, names_are_not_repeated_in_one_output);
	tcase_add_test(all, every_place_in_a_field_is_looked_at);
	tcase_add_test(all, text_that_is_not_utf8_is_ill_formed);
	tcase_add_test(all, json_has_an_object_for_each_row);
	tcase_add_test(all, json_has_no_object_for_what_is_no_row);
	tcase_add_test(all, cbor_and_diag_begin_with_the_names);
	tcase_add_test(all, columns_that_cannot_be_read_are_bad_data);
	suite_add_tcase(suite, all);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
