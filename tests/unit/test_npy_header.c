/* test_npy_header.c - which headers of NumPy files are taken, and what they say. */
#include "shared/npy_header.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct npy_header header;
static size_t at;

/* Of bytes with nothing behind them. */
static const char *parse(const char *text, size_t length)
{
	char *exact = malloc(length + (length == 0));
	const char *fault;

	memcpy(exact, text, length);
	fault = npy_header_parse(exact, length, &header, &at);
	if (fault == NULL)             /* descr, where it outlives the test's copy */
		header.descr = text + (header.descr - exact);
	free(exact);
	return fault;
}

static void must_take(const char *text)
{
	const char *fault = parse(text, strlen(text));

	ck_assert_msg(fault == NULL, "%s: %s at %zu", text, fault ? fault : "", at);
}

static void must_refuse(const char *text)
{
	ck_assert_msg(parse(text, strlen(text)) != NULL, "%s", text);
}

/* A header with this type. */
static const char *with_descr(const char *descr)
{
	static char text[4096];

	snprintf(text, sizeof(text), "{'descr': %s, 'fortran_order': False, 'shape': (2,), }  \n", descr);
	return text;
}

static const char *with_shape(const char *shape)
{
	static char text[4096];

	snprintf(text, sizeof(text), "{'descr': '<f8', 'fortran_order': False, 'shape': %s}\n", shape);
	return text;
}

START_TEST(a_header_is_read)
{
	must_take("{'descr': '>f4', 'fortran_order': True, 'shape': (2, 3, 4), }       \n");
	ck_assert_int_eq(header.kind, NPY_FLOAT);
	ck_assert(header.big_endian && header.fortran);
	ck_assert_uint_eq(header.dimensions, 3);
	ck_assert(header.shape[0] == 2 && header.shape[1] == 3 && header.shape[2] == 4);
	ck_assert_uint_eq(header.item_size, 4);
	ck_assert_uint_eq(header.elements, 24);
	ck_assert_uint_eq(header.data_size, 96);
	ck_assert_uint_eq(header.descr_length, 3);
	ck_assert_mem_eq(header.descr, ">f4", 3);
}
END_TEST

START_TEST(keys_come_in_any_order_and_notation)
{
	must_take("{\"shape\":(3L,4L,),\n'fortran_order':False,u'descr':u\"|u1\"}");
	ck_assert_int_eq(header.kind, NPY_UNSIGNED);
	ck_assert_uint_eq(header.data_size, 12);
	ck_assert_mem_eq(header.descr, "|u1", 3);
}
END_TEST

START_TEST(shapes_are_tuples_of_any_length)
{
	char text[512] = "(";

	must_take(with_shape("()"));
	ck_assert_uint_eq(header.dimensions, 0);
	ck_assert_uint_eq(header.elements, 1);
	must_take(with_shape("(0,)"));
	ck_assert_uint_eq(header.elements, 0);
	must_take(with_shape("(9000000000000000000, 9000000000000000000, 0)"));
	ck_assert_uint_eq(header.data_size, 0);
	must_take(with_shape("(9223372036854775807, 0)"));
	ck_assert_uint_eq(header.shape[0], INT64_MAX);
	must_refuse(with_shape("(9223372036854775808, 0)"));
	must_take(with_shape("( 7 , 1 )"));
	ck_assert_uint_eq(header.elements, 7);
	for (unsigned i = 0; i < 64; i++)
		strcat(text, "1,");
	must_take(with_shape(strcat(text, ")")));
	ck_assert_uint_eq(header.dimensions, 64);
	text[strlen(text) - 1] = '\0';
	ck_assert_ptr_nonnull(parse(with_shape(strcat(text, "1)")), strlen(with_shape(text))));
}
END_TEST

struct type {
	const char *descr;
	enum npy_kind kind;
	unsigned size;
	bool big_endian;
};

START_TEST(types_have_their_sizes)
{
	static const struct type types[] = {
		{ "'|b1'", NPY_BOOL, 1, false },
		{ "'?'", NPY_BOOL, 1, false },
		{ "'|i1'", NPY_SIGNED, 1, false },
		{ "'>i1'", NPY_SIGNED, 1, false },
		{ "'<i2'", NPY_SIGNED, 2, false },
		{ "'>u4'", NPY_UNSIGNED, 4, true },
		{ "'<f2'", NPY_FLOAT, 2, false },
		{ "'>f8'", NPY_FLOAT, 8, true },
		{ "'<f16'", NPY_OTHER, 16, false },
		{ "'<c8'", NPY_COMPLEX, 8, false },
		{ "'>c16'", NPY_COMPLEX, 16, true },
		{ "'<c32'", NPY_OTHER, 32, false },
		{ "'|S0'", NPY_OTHER, 0, false },
		{ "'|S75'", NPY_OTHER, 75, false },
		{ "'|a3'", NPY_OTHER, 3, false },
		{ "'<U3'", NPY_OTHER, 12, false },
		{ "'|V7'", NPY_OTHER, 7, false },
		{ "'<M8[ns]'", NPY_OTHER, 8, false },
		{ "'<m8[25s]'", NPY_OTHER, 8, false },
		{ "'<M8'", NPY_OTHER, 8, false },
		{ "[('a', '<i4')]", NPY_OTHER, 4, false },
		{ "[('a', '<i4'), ('b', '>f8', (2, 3)), (('title', 'c'), '|S3', 2), ('', '|V4')]", NPY_OTHER, 62, false },
		{ "[('p', [('x', '<i2'), ('y', '<i2')]), ('it\\'s', '|u1')]", NPY_OTHER, 5, false },
		{ "[]", NPY_OTHER, 0, false },
		{ "('<f4', (2, 2))", NPY_OTHER, 16, false },
		{ "[('a', '<i4', (0,))]", NPY_OTHER, 0, false },
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		must_take(with_descr(types[i].descr));
		ck_assert_msg(header.kind == types[i].kind, "%s", types[i].descr);
		ck_assert_msg(header.item_size == types[i].size, "%s", types[i].descr);
		ck_assert_uint_eq(header.data_size, 2 * types[i].size);
		if (header.kind != NPY_OTHER)
			ck_assert_msg(header.big_endian == types[i].big_endian, "%s", types[i].descr);
	}
	/* Where no order is said, it is the host's. */
	must_take(with_descr("'=i4'"));
	ck_assert(header.big_endian == (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__));
	must_take(with_descr("'i4'"));
	ck_assert(header.big_endian == (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__));
}
END_TEST

START_TEST(types_that_numpy_has_not_are_refused)
{
	static const char *const types[] = {
		"''", "'<'", "'<f3'", "'<q8'", "'<f'", "'f8x'", "'<f8 '", "'<M4'", "'<M8[]'", "'<M8[n s]'",
		"'<S9999999999'", "'|b2'", "'<i16'", "'\\x3cf8'", "f8", "8", "None", "dtype('f8')", "['<f8']",
		"[('a',)]", "[('a', '<i4', 'x')]", "[('a', '<i4' ('b', '<i4')]", "[('a', '<i4')", "('<f4',)",
		"('<f4', 2.0)", "[('a', '<i4', -1)]", "[(1, '<i4')]", "[('a', '<f3')]",
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		must_refuse(with_descr(types[i]));
	ck_assert_str_eq(parse(with_descr("'|O'"), strlen(with_descr("'|O'"))),
	                 "an array of Python objects (a pickle)");
	must_refuse(with_descr("[('a', '|O8')]"));
}
END_TEST

START_TEST(records_nest_only_so_deep)
{
	char text[2048];

	for (unsigned depth = 30; depth <= 40; depth++) {
		text[0] = '\0';
		for (unsigned i = 0; i < depth; i++)
			strcat(text, "[('a',");
		strcat(text, "'<i4'");
		for (unsigned i = 0; i < depth; i++)
			strcat(text, ")]");
		ck_assert_msg((parse(with_descr(text), strlen(with_descr(text))) == NULL) == (depth <= 32),
		              "%u", depth);
	}
}
END_TEST

START_TEST(sizes_that_overflow_are_refused)
{
	static const char *const shapes[] = {
		"(4294967296, 4294967296, 3)", "(9223372036854775807,)", "(18446744073709551616,)",
		"(99999999999999999999999,)", "(2305843009213693952, 2)",
	};

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		must_refuse(with_shape(shapes[i]));
	must_refuse(with_descr("('<f8', (4294967296, 4294967296))"));
	must_refuse(with_descr("[('a', '<f8', 1000000000000000000), ('b', '<f8', 1000000000000000000)]"));
}
END_TEST

START_TEST(shapes_that_are_none_are_refused)
{
	static const char *const shapes[] = {
		"[3, 4]", "(3)", "3", "(3.0, 4)", "(-3, 4)", "(3 4)", "(,)", "(3,,4)", "(03,)", "('3',)",
		"(True,)", "(3, 4", "((3,),)", "(0x3,)", "(3_0,)", "(+3,)",
	};

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		must_refuse(with_shape(shapes[i]));
}
END_TEST

START_TEST(faults_are_named_with_their_place)
{
	static const struct {
		const char *text, *fault;
		size_t at;
	} cases[] = {
		{ "", "the header is no dictionary", 0 },
		{ "[]", "the header is no dictionary", 0 },
		{ "{}", "descr, fortran_order or shape is missing", 2 },
		{ "{'descr': '<f8', 'shape': (3,)}", "descr, fortran_order or shape is missing", 31 },
		{ "{'descr': '<f8', 'descr': '<f8'}", "a key that occurs twice", 18 },
		{ "{'x': 1}", "a key other than descr, fortran_order and shape", 2 },
		{ "{'fortran_order': 0}", "fortran_order is neither True nor False", 18 },
		{ "{'descr': '<f8\n'}", "a control character in a string", 14 },
		{ "{'descr': '<f8", "a string without its end", 14 },
		{ "{'descr' '<f8'}", "expected a colon", 9 },
		{ "{'descr': '<f3'}", "a type that NumPy does not have", 11 },
		{ "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), } x", "something after the header's end", 58 },
		{ "{'descr': __import__('os'), }", "expected a string", 10 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *fault = parse(cases[i].text, strlen(cases[i].text));

		ck_assert_msg(fault != NULL, "%s", cases[i].text);
		ck_assert_str_eq(fault, cases[i].fault);
		ck_assert_msg(at == cases[i].at, "%s: %zu", cases[i].text, at);
	}
}
END_TEST

START_TEST(a_header_cut_anywhere_is_refused)
{
	const char *text = "{'descr': [('a', '<i4', (2, 3)), (('t', 'b'), '>f8')], "
	                   "'fortran_order': True, 'shape': (3, 4), }";

	must_take(text);
	for (size_t length = 0; length < strlen(text); length++)
		ck_assert_msg(parse(text, length) != NULL, "%zu", length);
}
END_TEST

#define PREFIX(bytes) \
	npy_prefix_parse((const uint8_t *)(bytes), sizeof(bytes) - 1, &major, &length, &fault)

START_TEST(a_prefix_tells_version_and_length)
{
	const char *fault;
	unsigned major;
	uint32_t length;

	ck_assert_uint_eq(PREFIX("\x93NUMPY\1\0\x76\1"), 10);
	ck_assert(major == 1 && length == 374);
	ck_assert_uint_eq(PREFIX("\x93NUMPY\3\0\x76\1\2\0"), 12);
	ck_assert(major == 3 && length == 131446);
	ck_assert_uint_eq(PREFIX("\x93NUMPY\2\0\xff\xff\xff\xff"), 0);
	ck_assert_str_eq(fault, "a header of more than 256 KiB");
	ck_assert_uint_eq(PREFIX("\x93NUMPY\4\0\x76\1\0\0"), 0);
	ck_assert_uint_eq(PREFIX("\x93NUMPY\1\1\x76\1"), 0);
	ck_assert_str_eq(fault, "a format version other than 1.0, 2.0 and 3.0");
	ck_assert_uint_eq(PREFIX("\x93NUMPZ\1\0"), 0);
	ck_assert_str_eq(fault, "not a NumPy array file (no magic string)");
	ck_assert_uint_eq(PREFIX("\x93NUMPY"), 0);
	ck_assert_str_eq(fault, "ends within the magic string");
	ck_assert_uint_eq(PREFIX("\x93NUMPY\1\0\x76"), 0);
	ck_assert_str_eq(fault, "ends within the header");
}
END_TEST

/* What is written is read again as the same. */
static void must_come_back(const char *text, size_t size)
{
	static uint8_t out[NPY_WRITE_MAX + 70000];
	struct npy_header before, after;
	const char *fault;
	unsigned major;
	uint32_t length;
	size_t prefix, written;

	must_take(text);
	before = header;
	written = npy_header_write(&before, out);
	ck_assert_uint_eq(written % 64, 0);
	if (size > 0)
		ck_assert_uint_eq(written, size);
	prefix = npy_prefix_parse(out, written, &major, &length, &fault);
	ck_assert_uint_eq(prefix + length, written);
	ck_assert_int_eq(out[written - 1], '\n');
	ck_assert_ptr_null(npy_header_parse((char *)out + prefix, length, &after, &at));
	ck_assert_uint_eq(after.descr_length, before.descr_length);
	ck_assert(memcmp(after.descr, before.descr, after.descr_length) == 0);
	ck_assert(after.kind == before.kind && after.big_endian == before.big_endian);
	ck_assert(after.fortran == before.fortran && after.dimensions == before.dimensions);
	ck_assert(memcmp(after.shape, before.shape, sizeof(after.shape)) == 0);
	ck_assert(after.data_size == before.data_size);
}

START_TEST(what_is_written_is_read_as_the_same)
{
	static char text[70000];
	size_t length;

	must_come_back("{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }", 128);
	must_come_back("{'descr': '<f8', 'fortran_order': True, 'shape': (3, 4), }", 128);
	must_come_back("{'descr': '|b1', 'fortran_order': False, 'shape': (), }", 64 + 64);
	must_come_back("{'descr': '|b1', 'fortran_order': False, 'shape': (0,), }", 128);
	must_come_back("{'descr': [('a', '<i4'), ('b', '|S3', (2,))], 'fortran_order': False, 'shape': (7,), }", 0);
	/* As numpy 1.24 writes it. */
	must_take("{'descr': '<i4', 'fortran_order': False, 'shape': (7,), }");
	static uint8_t out[NPY_WRITE_MAX];
	ck_assert_uint_eq(npy_header_write(&header, out), 128);
	ck_assert_mem_eq(out, "\x93NUMPY\1\0v\0{'descr': '<i4', 'fortran_order': False, 'shape': (7,), } ", 68);
	/* Too long for format 1.0. */
	length = (size_t)sprintf(text, "{'descr': [");
	for (unsigned i = 0; i < 3000; i++)
		length += (size_t)sprintf(text + length, "('f%05u', '<i4'), ", i);
	sprintf(text + length, "], 'fortran_order': False, 'shape': (1,), }");
	must_come_back(text, 0);
	/* Names that are not ASCII need format 3.0. */
	must_come_back("{'descr': [('\xe6\xb0\xb4', '<i4')], 'fortran_order': False, 'shape': (1,), }", 0);
}
END_TEST

START_TEST(plain_numbers_have_their_names)
{
	static const char *const names[] = { "|b1", "|i1", "<i8", ">u2", "<f2", ">c16" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char out[NPY_PLAIN_DESCR_MAX];

		ck_assert_ptr_null(npy_descr_parse(names[i], strlen(names[i]), &header));
		ck_assert_uint_eq(npy_plain_descr(&header, out), strlen(names[i]));
		ck_assert_mem_eq(out, names[i], strlen(names[i]));
	}
	ck_assert_ptr_nonnull(npy_descr_parse("'<f8'", 5, &header));
	ck_assert_ptr_nonnull(npy_descr_parse("<f8'", 4, &header));
	ck_assert_ptr_nonnull(npy_descr_parse("", 0, &header));
	ck_assert_ptr_null(npy_descr_parse("[('a', '<i4')]", 14, &header));
	ck_assert_ptr_nonnull(npy_descr_parse("[('a', '<i4')] x", 16, &header));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("npy_header");
	TCase *headers = tcase_create("headers");
	SRunner *runner;
	int failed;

	tcase_add_test(headers, a_header_is_read);
	tcase_add_test(headers, keys_come_in_any_order_and_notation);
	tcase_add_test(headers, shapes_are_tuples_of_any_length);
	tcase_add_test(headers, types_have_their_sizes);
	tcase_add_test(headers, types_that_numpy_has_not_are_refused);
	tcase_add_test(headers, records_nest_only_so_deep);
	tcase_add_test(headers, sizes_that_overflow_are_refused);
	tcase_add_test(headers, shapes_that_are_none_are_refused);
	tcase_add_test(headers, faults_are_named_with_their_place);
	tcase_add_test(headers, a_header_cut_anywhere_is_refused);
	tcase_add_test(headers, a_prefix_tells_version_and_length);
	tcase_add_test(headers, what_is_written_is_read_as_the_same);
	tcase_add_test(headers, plain_numbers_have_their_names);
	suite_add_tcase(suite, headers);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
