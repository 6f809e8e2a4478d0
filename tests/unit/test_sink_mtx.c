/* test_sink_mtx.c - bodies as Matrix Market files. */
// needs: consumer/json_number.c consumer/sink_fault.c consumer/sink_mtx.c consumer/text_out.c
#include "tests/unit/sink_run.h"

#define HEAD(object, format, field, symmetry) \
	"a7 66\"object\" " object " 66\"format\" " format " 65\"field\" " field " 68\"symmetry\" " symmetry
#define MATRIX "66\"matrix\""
#define VECTOR "66\"vector\""
#define ARRAY "65\"array\""
#define COORDINATE "6a\"coordinate\""
#define REAL "64\"real\""
#define INTEGER "67\"integer\""
#define COMPLEX "67\"complex\""
#define PATTERN "67\"pattern\""
#define GENERAL "67\"general\""
#define SYMMETRIC "69\"symmetric\""
#define REST(comments, shape, data) " 68\"comments\" " comments " 65\"shape\" " shape " 64\"data\" " data

static void must_give(const char *hex, const char *text)
{
	sink_must_give(&sink_mtx, NULL, hex, text, strlen(text));
}

static void must_refuse(const char *hex, const char *why)
{
	sink_must_refuse(&sink_mtx, NULL, hex, why);
}

START_TEST(matrices_become_files)
{
	must_give(HEAD(MATRIX, COORDINATE, REAL, GENERAL) REST("80", "82 03 04", "82 83 01 02 f93800 83 03 04 20"),
	          "%%MatrixMarket matrix coordinate real general\n3 4 2\n1 2 0.5\n3 4 -1\n");
	must_give(HEAD(MATRIX, COORDINATE, PATTERN, SYMMETRIC) REST("9f ff", "82 03 03", "81 82 02 01"),
	          "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 1\n2 1\n");
	must_give(HEAD(MATRIX, COORDINATE, COMPLEX, GENERAL) REST("80", "82 03 03", "81 84 02 01 f97e00 f9fc00"),
	          "%%MatrixMarket matrix coordinate complex general\n3 3 1\n2 1 nan -inf\n");
	must_give(HEAD(MATRIX, ARRAY, INTEGER, SYMMETRIC)
	          REST("80", "82 02 02", "83 1bffffffffffffffff c249010000000000000000 c349010000000000000000"),
	          "%%MatrixMarket matrix array integer symmetric\n2 2\n18446744073709551615\n"
	          "18446744073709551616\n-18446744073709551617\n");
	must_give(HEAD(MATRIX, ARRAY, COMPLEX, GENERAL) REST("80", "82 01 01", "81 82 c4822118 6e f97c00"),
	          "%%MatrixMarket matrix array complex general\n1 1\n1.10 inf\n");
	must_give(HEAD(VECTOR, ARRAY, REAL, GENERAL) REST("80", "81 02", "82 01 02"),
	          "%%MatrixMarket vector array real general\n2\n1\n2\n");
	must_give(HEAD(VECTOR, COORDINATE, REAL, GENERAL) REST("80", "81 02", "81 82 02 05"),
	          "%%MatrixMarket vector coordinate real general\n2 1\n2 5\n");
	must_give(HEAD(MATRIX, ARRAY, REAL, GENERAL) REST("80", "82 00 05", "80"),
	          "%%MatrixMarket matrix array real general\n0 5\n");
}
END_TEST

START_TEST(comments_come_back)
{
#define EMPTY " 65\"shape\" 82 01 01 64\"data\" 80"
	static const char file[] = "%%MatrixMarket matrix coordinate real general\n% one\n%\n% \xe9\n1 1 0\n";

	must_give(HEAD(MATRIX, COORDINATE, REAL, GENERAL) " 68\"comments\" 83 64\" one\" 60 42 20e9" EMPTY, file);
	must_give(HEAD(MATRIX, COORDINATE, REAL, GENERAL) " 68\"comments\" 9f 64\" one\" 60 42 20e9 ff" EMPTY, file);
	must_give(HEAD(MATRIX, COORDINATE, REAL, GENERAL) " 68\"comments\" 9f 7f 62\" o\" 62\"ne\" ff 7f ff 5f 4120 41e9 ff ff"
	          EMPTY, file);
	must_give(HEAD(MATRIX, COORDINATE, REAL, GENERAL) " 68\"comments\" 83 7f 62\" o\" 62\"ne\" ff 60 5f 4220e9 ff" EMPTY, file);
	must_refuse(HEAD(MATRIX, COORDINATE, REAL, GENERAL) " 68\"comments\" 81 62 610a" EMPTY,
	            "a comment of more than one line");
	must_refuse(HEAD(MATRIX, COORDINATE, REAL, GENERAL) " 68\"comments\" 81 01" EMPTY, "a comment that is no string");
	must_refuse(HEAD(MATRIX, COORDINATE, REAL, GENERAL) " 68\"comments\" 01" EMPTY, "comments that are no array");
}
END_TEST

START_TEST(what_is_no_matrix_is_refused)
{
	static const struct {
		const char *hex, *why;
	} cases[] = {
		{ "", "message 3 is no Matrix Market matrix: it is empty; use --format json, cbor or diag" },
		{ "01", "its members are others" },
		{ "a0", "its members are others" },
		{ "a7 61\"x\" 01", "its members are others" },
		{ HEAD("64\"cube\"", ARRAY, REAL, GENERAL) REST("80", "82 01 01", "81 01"), "a word that its banner cannot have" },
		{ HEAD(MATRIX, ARRAY, PATTERN, GENERAL) REST("80", "82 01 01", "81 01"), "an array cannot be a pattern" },
		{ HEAD(VECTOR, ARRAY, REAL, SYMMETRIC) REST("80", "81 01", "81 01"), "a vector can only be general" },
		{ HEAD(MATRIX, ARRAY, REAL, GENERAL) REST("80", "81 01", "81 01"), "a shape of other dimensions" },
		{ HEAD(MATRIX, ARRAY, REAL, GENERAL) REST("80", "82 01 20", "81 01"), "a shape that is no list of integers" },
		{ HEAD(MATRIX, ARRAY, REAL, SYMMETRIC) REST("80", "82 01 02", "81 01"), "not square" },
		{ HEAD(MATRIX, ARRAY, REAL, GENERAL) REST("80", "82 1b8000000000000000 02", "81 01"), "more than 2^64 entries" },
		{ HEAD(MATRIX, ARRAY, REAL, GENERAL) REST("80", "82 01 01", "82 01 01"),
		  "another number of entries than its shape says" },
		{ HEAD(MATRIX, ARRAY, REAL, GENERAL) REST("80", "82 01 01", "9f 01 ff"), "data without a number of entries" },
		{ HEAD(MATRIX, ARRAY, REAL, GENERAL) REST("80", "82 01 01", "81 61\"x\""), "a value that is no number" },
		{ HEAD(MATRIX, ARRAY, REAL, GENERAL) REST("80", "82 01 01", "81 c26161"), "a value that is no number" },
		{ HEAD(MATRIX, ARRAY, INTEGER, GENERAL) REST("80", "82 01 01", "81 f93c00"), "a value that is no integer" },
		{ HEAD(MATRIX, ARRAY, INTEGER, GENERAL) REST("80", "82 01 01", "81 c482 00 01"), "a value that is no integer" },
		{ HEAD(MATRIX, COORDINATE, REAL, GENERAL) REST("80", "82 01 01", "81 83 02 01 01"),
		  "an index outside of the matrix" },
		{ HEAD(MATRIX, COORDINATE, REAL, GENERAL) REST("80", "82 01 01", "81 83 01 00 01"),
		  "an index outside of the matrix" },
		{ HEAD(MATRIX, COORDINATE, REAL, GENERAL) REST("80", "82 01 01", "81 82 01 01"), "an entry of another kind" },
		{ HEAD(MATRIX, COORDINATE, REAL, GENERAL) REST("80", "82 01 01", "81 01"), "an entry of another kind" },
		{ HEAD(MATRIX, COORDINATE, REAL, GENERAL) REST("80", "82 01 01", "80 01"), "something after it" },
		{ HEAD(MATRIX, COORDINATE, REAL, GENERAL) REST("80", "82 01 01", "81 83 01"), "ill-formed CBOR: ends within an item" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		must_refuse(cases[i].hex, cases[i].why);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sink_mtx");
	TCase *matrices = tcase_create("matrices");
	SRunner *runner;
	int failed;

	tcase_add_test(matrices, matrices_become_files);
	tcase_add_test(matrices, comments_come_back);
	tcase_add_test(matrices, what_is_no_matrix_is_refused);
	suite_add_tcase(suite, matrices);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
