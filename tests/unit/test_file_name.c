/* test_file_name.c - a message's name as a file name that stays in its directory. */
// needs: consumer/file_name.c
#include <check.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/file_name.h"
#include "shared/utf8.h"

static const char *made(const char *name, unsigned turn)
{
	static char out[FILE_NAME_BUFFER];

	file_name_make(name, 7, turn, out);
	return out;
}

START_TEST(only_the_last_component_is_kept)
{
	ck_assert_str_eq(made("a.csv", 0), "a.csv");
	ck_assert_str_eq(made("/etc/passwd", 0), "passwd");
	ck_assert_str_eq(made("../../x", 0), "x");
	ck_assert_str_eq(made("a//b", 0), "b");
	ck_assert_str_eq(made("with blank", 0), "with blank");
}
END_TEST

START_TEST(a_name_of_nothing_becomes_the_messages_number)
{
	ck_assert_str_eq(made("", 0), "message-7");
	ck_assert_str_eq(made("/", 0), "message-7");
	ck_assert_str_eq(made("a/", 0), "message-7");
	ck_assert_str_eq(made("", 2), "message-7.2");
}
END_TEST

START_TEST(nothing_leaves_the_directory_or_hides_in_it)
{
	ck_assert_str_eq(made(".", 0), "_");
	ck_assert_str_eq(made("..", 0), "_.");
	ck_assert_str_eq(made("a/..", 0), "_.");
	ck_assert_str_eq(made(".bashrc", 0), "_bashrc");
	ck_assert_str_eq(made("...", 0), "_..");
}
END_TEST

START_TEST(control_characters_are_replaced)
{
	ck_assert_str_eq(made("a\nb\tc\x1b[2Jd\x7f", 0), "a_b_c_[2Jd_");
}
END_TEST

START_TEST(a_turn_is_appended)
{
	ck_assert_str_eq(made("a.csv", 1), "a.csv.1");
	ck_assert_str_eq(made("a.csv", 4294967295u), "a.csv.4294967295");
}
END_TEST

START_TEST(a_long_name_is_cut_between_characters)
{
	char name[1000];

	memset(name, 'x', sizeof name);
	name[sizeof name - 1] = '\0';
	ck_assert_uint_eq(strlen(made(name, 0)), 200);
	ck_assert_uint_le(strlen(made(name, 4294967295u)), 255);
	for (size_t i = 0; i < 4; i++) {
		memcpy(name + 197 + i, "\xf0\x9f\x98\x80", 4);
		ck_assert_uint_eq(strlen(made(name, 0)), i == 0 ? 197 : 197 + i);
		ck_assert_uint_eq(utf8_valid((const uint8_t *)made(name, 0), strlen(made(name, 0))),
		                  strlen(made(name, 0)));
		memset(name + 197, 'x', 10);
	}
}
END_TEST

/* Can a file be called so, within a directory, and be seen there? */
static bool is_safe(const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < length; i++)
		if ((unsigned char)name[i] < ' ' || name[i] == '/' || name[i] == 0x7f)
			return false;
	return length > 0 && length <= 255 && name[0] != '.';
}

START_TEST(whatever_the_name_is_a_file_can_be_called_so)
{
	unsigned seed = 1;

	for (int turn = 0; turn < 10000; turn++) {
		char name[300];
		size_t length = (size_t)rand_r(&seed) % sizeof name;

		/* Any bytes, or many dots, slashes and control characters. */
		for (size_t i = 0; i < length; i++)
			name[i] = (char)(1 + rand_r(&seed) % (turn % 2 == 0 ? 255 : 60));
		name[length] = '\0';
		ck_assert(is_safe(made(name, (unsigned)rand_r(&seed) % 3)));
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("file name");
	TCase *tcase = tcase_create("file name");
	SRunner *runner = srunner_create(suite);
	int failures;

	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, only_the_last_component_is_kept);
	tcase_add_test(tcase, a_name_of_nothing_becomes_the_messages_number);
	tcase_add_test(tcase, nothing_leaves_the_directory_or_hides_in_it);
	tcase_add_test(tcase, control_characters_are_replaced);
	tcase_add_test(tcase, a_turn_is_appended);
	tcase_add_test(tcase, a_long_name_is_cut_between_characters);
	tcase_add_test(tcase, whatever_the_name_is_a_file_can_be_called_so);
	srunner_run_all(runner, CK_ENV);
	failures = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failures != 0;
}
