/* test_sink_npy.c - arrays as NumPy files and as JSON. */
// needs: consumer/array_body.c consumer/sink_fault.c consumer/sink_json_npy.c consumer/sink_npy.c
// needs: consumer/text_out.c
#include "shared/npy_header.h"
#include "tests/unit/sink_run.h"

/* What numpy would write, and the data. */
static void must_be_file(const struct message_header *header, const char *hex, const char *text,
                         const void *data, size_t data_size)
{
	static uint8_t out[NPY_WRITE_MAX + 4096];
	struct npy_header npy;
	size_t at, size;

	ck_assert_ptr_null(npy_header_parse(text, strlen(text), &npy, &at));
	size = npy_header_write(&npy, out);
	memcpy(out + size, data, data_size);
	sink_must_give(&sink_npy, header, hex, out, size + data_size);
}

#define DICTIONARY(descr, fortran, shape) \
	"{'descr': " descr ", 'fortran_order': " fortran ", 'shape': " shape ", }"

START_TEST(typed_arrays_become_files)
{
	must_be_file(NULL, "d828 82 82 02 03 d840 46 \"abcdef\"", DICTIONARY("'|u1'", "False", "(2, 3)"), "abcdef", 6);
	must_be_file(NULL, "d90410 82 82 02 03 d840 46 \"abcdef\"", DICTIONARY("'|u1'", "True", "(2, 3)"), "abcdef", 6);
	must_be_file(NULL, "d828 82 81 02 d856 50 \"0123456789abcdef\"", DICTIONARY("'<f8'", "False", "(2,)"),
	             "0123456789abcdef", 16);
	/* Nothing has a length. */
	must_be_file(NULL, "d828 9f 9f 02 01 ff d841 5f 41 \"a\" 40 43 \"bcd\" ff ff", DICTIONARY("'>u2'", "False", "(2, 1)"),
	             "abcd", 4);
	/* Without dimensions around it, it has one. */
	must_be_file(NULL, "d84d 46 \"abcdef\"", DICTIONARY("'<i2'", "False", "(3,)"), "abcdef", 6);
	must_be_file(NULL, "d848 40", DICTIONARY("'|i1'", "False", "(0,)"), "", 0);
}
END_TEST

START_TEST(every_tag_has_its_type)
{
	static const struct {
		unsigned tag;
		const char *descr;
	} types[] = {
		{ 64, "|u1" }, { 65, ">u2" }, { 66, ">u4" }, { 67, ">u8" }, { 69, "<u2" }, { 70, "<u4" },
		{ 71, "<u8" }, { 72, "|i1" }, { 73, ">i2" }, { 74, ">i4" }, { 75, ">i8" }, { 77, "<i2" },
		{ 78, "<i4" }, { 79, "<i8" }, { 80, ">f2" }, { 81, ">f4" }, { 82, ">f8" }, { 84, "<f2" },
		{ 85, "<f4" }, { 86, "<f8" },
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		char hex[128], text[128];

		snprintf(hex, sizeof(hex), "d8%02x 50 \"0123456789abcdef\"", types[i].tag);
		snprintf(text, sizeof(text), "{'descr': '%s', 'fortran_order': False, 'shape': (%d,), }",
		         types[i].descr, 16 / (types[i].descr[2] - '0'));
		must_be_file(NULL, hex, text, "0123456789abcdef", 16);
	}
	/* Clamped, reserved, binary128. */
	sink_must_refuse(&sink_npy, NULL, "d844 40", "is not a typed array: no NumPy array");
	sink_must_refuse(&sink_npy, NULL, "d84c 40", "is not a typed array");
	sink_must_refuse(&sink_npy, NULL, "d853 40", "is not a typed array");
	sink_must_refuse(&sink_npy, NULL, "d828 82 81 01 d857 50 \"0123456789abcdef\"",
	                 "holds elements of a kind that NumPy has not");
}
END_TEST

#define MAP(dtype, shape, order, data) \
	"a4 65\"dtype\" " dtype " 65\"shape\" " shape " 65\"order\" " order " 64\"data\" " data

START_TEST(other_types_become_files)
{
	must_be_file(NULL, MAP("63\"|S3\"", "81 02", "61\"C\"", "46 \"abcdef\""), DICTIONARY("'|S3'", "False", "(2,)"),
	             "abcdef", 6);
	must_be_file(NULL, MAP("63\"<c8\"", "80", "61\"F\"", "48 \"01234567\""), DICTIONARY("'<c8'", "True", "()"),
	             "01234567", 8);
	must_be_file(NULL, MAP("7f 67\"[('a', \" 67\"'|i1')]\" ff", "9f 02 ff", "61\"C\"", "5f 41\"a\" 41\"b\" ff"),
	             DICTIONARY("[('a', '|i1')]", "False", "(2,)"), "ab", 2);
	must_be_file(NULL, MAP("63\"|b1\"", "82 00 03", "61\"C\"", "40"), DICTIONARY("'|b1'", "False", "(0, 3)"), "", 0);
}
END_TEST

START_TEST(what_is_no_array_is_refused)
{
	static const struct {
		const char *hex, *why;
	} cases[] = {
		{ "", "is not a typed array: no NumPy array; use --format json, cbor or diag" },
		{ "01", "is not a typed array" },
		{ "80", "is not a typed array" },
		{ "a0", "is not a typed array" },
		{ "a4 61\"x\" 01 02 03 04 05 06 07", "is not a typed array" },
		{ "c1 00", "is not a typed array" },
		{ "d828 01", "is not a typed array" },
		{ "d828 83 81 01 d840 41 00 00", "is not a typed array" },
		{ "d828 82 01 01", "is not a typed array" },
		{ "d828 82 81 20 d840 40", "has a shape that is no list of integers" },
		{ "d828 82 81 03 83 01 02 03", "holds elements of a kind that NumPy has not" },
		{ "d828 82 81 03 d840 63 \"abc\"", "is not a typed array" },
		{ "d828 82 82 1bffffffffffffffff 02 d840 40", "has a shape that is too large" },
		{ "d828 82 82 1b8000000000000000 00 d840 40", "has a shape that is too large" },
		{ "d828 82 81 03 d840 44 00000000", "has more data than its shape says" },
		{ "d828 82 81 03 d840 42 0000", "has less data than its shape says" },
		{ "d828 82 81 03 d840 5f 42 0000 42 0000 ff", "has more data than its shape says" },
		{ "d828 82 81 03 d840 5f 42 0000 ff", "has less data than its shape says" },
		{ "d828 9f 81 01 d840 41 00 00 ff", "is not a typed array" },
		{ "d840 5f 41 00 ff", "whose length is not known beforehand" },
		{ "d841 43 000000", "no whole number of elements" },
		{ "d840 41 00 d840 41 00", "is more than one array" },
		{ MAP("62\"|O\"", "81 01", "61\"C\"", "41 00"), "has a dtype that cannot be read" },
		{ MAP("60", "81 01", "61\"C\"", "41 00"), "has a dtype that cannot be read" },
		{ MAP("63\"|u1\"", "81 01", "61\"D\"", "41 00"), "has an order that is neither C nor F" },
		{ MAP("63\"|u1\"", "01", "61\"C\"", "41 00"), "is not a typed array" },
		{ "d828 82 81 03 d840 43 0000", "ill-formed CBOR" },
		{ "d828 82 81 03", "ill-formed CBOR: ends within an item" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		sink_must_refuse(&sink_npy, NULL, cases[i].hex, cases[i].why);
}
END_TEST

START_TEST(a_header_that_was_kept_is_given_back)
{
	static const char text[] = "{\"shape\":(2,3),'descr':'|u1', 'fortran_order':False}\n";
	static uint8_t encoded[512], kept[256];
	struct message_header header = { .has_type = true, .type = "npy" };
	size_t length = sizeof(text) - 1;

	memcpy(kept, "\x93NUMPY\1\0", 8);
	kept[8] = (uint8_t)length;
	kept[9] = 0;
	memcpy(kept + 10, text, length);
	header.encoded_length = header_encode(&header, encoded);
	header.encoded_length = header_add(encoded, header.encoded_length, "npy", false, kept, 10 + length);
	header.encoded = encoded;
	memcpy(kept + 10 + length, "abcdef", 6);
	sink_must_give(&sink_npy, &header, "d828 82 82 02 03 d840 46 \"abcdef\"", kept, 10 + length + 6);
	/* Not for another body. */
	sink_must_refuse(&sink_npy, &header, "d828 82 82 03 02 d840 46 \"abcdef\"",
	                 "has a HEADER that says something else than its body");
	sink_must_refuse(&sink_npy, &header, "d828 82 82 02 03 d848 46 \"abcdef\"", "has a HEADER");
	sink_must_refuse(&sink_npy, &header, "d90410 82 82 02 03 d840 46 \"abcdef\"", "has a HEADER");
	sink_must_refuse(&sink_npy, &header, "d828 82 81 06 d840 46 \"abcdef\"", "has a HEADER");
}
END_TEST

START_TEST(arrays_become_json)
{
	static const struct {
		const char *hex, *json;
	} cases[] = {
		{ "d828 82 82 02 03 d840 46 010203fdfeff", "[[1,2,3],[253,254,255]]" },
		{ "d828 82 82 02 03 d848 46 010203fdfeff", "[[1,2,3],[-3,-2,-1]]" },
		{ "d828 82 83 02 01 02 d840 44 01020304", "[[[1,2]],[[3,4]]]" },
		{ "d828 82 83 01 03 01 d840 43 010203", "[[[1],[2],[3]]]" },
		{ "d84b 58 18 8000000000000000 ffffffffffffffff 7fffffffffffffff",
		  "[-9223372036854775808,-1,9223372036854775807]" },
		{ "d847 50 ffffffffffffffff 0100000000000000", "[18446744073709551615,1]" },
		{ "d84d 44 feff 0001", "[-2,256]" },
		{ "d850 4c 3c00 8000 7bff 0001 7e00 fc00",
		  "[1.0,-0.0,65504.0,5.960464477539063e-8,{\"$float\":\"NaN\"},{\"$float\":\"-Infinity\"}]" },
		{ "d855 44 cdcccc3d", "[0.10000000149011612]" },
		{ "d852 48 3ff199999999999a", "[1.1]" },
		/* Cut between and within numbers. */
		{ "d828 82 81 02 d841 5f 41 01 42 0203 41 04 ff", "[258,772]" },
		{ "d828 82 82 02 02 d842 5f 43 000000 41 01 44 00000002 47 00000003000000 41 04 ff", "[[1,2],[3,4]]" },
		/* By columns: flat, unless it makes no difference. */
		{ "d90410 82 82 02 03 d840 46 010402050306",
		  "{\"shape\":[2,3],\"order\":\"F\",\"data\":[1,4,2,5,3,6]}" },
		{ "d90410 82 82 01 03 d840 43 010203", "[[1,2,3]]" },
		{ "d90410 82 82 03 01 d840 43 010203", "[[1],[2],[3]]" },
		/* Maps. */
		{ MAP("63\"|b1\"", "82 02 02", "61\"C\"", "44 00010100"), "[[false,true],[true,false]]" },
		{ MAP("63\"<c8\"", "81 01", "61\"C\"", "48 0000803f 000000c0"), "[[1.0,-2.0]]" },
		{ MAP("64\">c16\"", "82 02 02", "61\"F\"", "5840 3ff00000000000000000000000000000"
		      "3ff00000000000000000000000000000 3ff00000000000000000000000000000 3ff00000000000004000000000000000"),
		  "{\"shape\":[2,2],\"order\":\"F\",\"data\":[[1.0,0.0],[1.0,0.0],[1.0,0.0],[1.0,2.0]]}" },
		{ MAP("63\"<i2\"", "80", "61\"C\"", "42 0100"), "1" },
		{ MAP("63\"<i2\"", "81 00", "61\"C\"", "40"), "[]" },
		{ MAP("63\"<i2\"", "82 02 00", "61\"C\"", "40"), "[[],[]]" },
		{ MAP("63\"<i2\"", "82 02 00", "61\"F\"", "40"), "[[],[]]" },
		{ MAP("63\"<i2\"", "82 00 02", "61\"C\"", "40"), "[]" },
		{ MAP("63\"<i2\"", "83 02 03 00", "61\"C\"", "40"), "[[[],[],[]],[[],[],[]]]" },
		{ MAP("63\"<i2\"", "82 1a7fffffff 00", "61\"C\"", "40"),
		  "{\"shape\":[2147483647,0],\"order\":\"C\",\"data\":[]}" },
		{ MAP("63\"|S3\"", "81 02", "61\"C\"", "5f 42\"ab\" 41\"c\" 43 000000 ff"),
		  "{\"dtype\":\"|S3\",\"shape\":[2],\"order\":\"C\",\"data\":\"YWJjAAAA\"}" },
		{ MAP("6e\"[('a', '|i1')]\"", "80", "61\"C\"", "41 ff"),
		  "{\"dtype\":\"[('a', '|i1')]\",\"shape\":[],\"order\":\"C\",\"data\":\"_w\"}" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char line[1024];
		int length = snprintf(line, sizeof(line), "%s\n", cases[i].json);

		sink_must_give(&sink_json_npy, NULL, cases[i].hex, line, (size_t)length);
	}
}
END_TEST

START_TEST(json_that_would_lose_something_is_refused)
{
	sink_must_refuse(&sink_json_npy, NULL, MAP("63\"|b1\"", "81 02", "61\"C\"", "42 0102"),
	                 "has a bool that is neither 0 nor 1, which JSON would lose; use --format cbor or diag");
	sink_must_refuse(&sink_json_npy, NULL, "d828 82 81 03 d840 42 0000", "has less data than its shape says");
	sink_must_refuse(&sink_json_npy, NULL, "80", "is not a typed array");
}
END_TEST

START_TEST(sixty_four_dimensions_are_nested)
{
	char hex[512] = "d828 82 9840", json[512] = "";

	for (unsigned i = 0; i < 64; i++) {
		strcat(hex, i == 63 ? " 02" : " 01");
		strcat(json, "[");
	}
	strcat(hex, " d840 42 0708");
	strcat(json, "7,8");
	for (unsigned i = 0; i < 64; i++)
		strcat(json, "]");
	strcat(json, "\n");
	sink_must_give(&sink_json_npy, NULL, hex, json, strlen(json));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sink_npy");
	TCase *arrays = tcase_create("arrays");
	SRunner *runner;
	int failed;

	tcase_add_test(arrays, typed_arrays_become_files);
	tcase_add_test(arrays, every_tag_has_its_type);
	tcase_add_test(arrays, other_types_become_files);
	tcase_add_test(arrays, what_is_no_array_is_refused);
	tcase_add_test(arrays, a_header_that_was_kept_is_given_back);
	tcase_add_test(arrays, arrays_become_json);
	tcase_add_test(arrays, json_that_would_lose_something_is_refused);
	tcase_add_test(arrays, sixty_four_dimensions_are_nested);
	suite_add_tcase(suite, arrays);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
