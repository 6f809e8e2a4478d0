/* test_header.c - the HEADER of a message, written and read. */
#include "shared/header.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct message_header header, decoded;
static uint8_t bytes[2 * HEADER_TEXT_MAX + 64];

static void clear(void)
{
	memset(&header, 0, sizeof(header));
}

static int decode(const void *from, size_t length)
{
	uint8_t *exact = calloc(1, length + (length == 0));
	int outcome;

	memcpy(exact, from, length);
	memset(&decoded, 0xaa, sizeof(decoded));
	outcome = header_decode(exact, length, &decoded);
	free(exact);
	return outcome;
}

#define DECODE(literal) decode(literal, sizeof(literal) - 1)

START_TEST(all_fields_come_back)
{
	clear();
	header.has_name = header.has_type = header.has_size = true;
	strcpy(header.name, "Z\xc3\xbcrich.csv");
	strcpy(header.type, "raw");
	header.size = 1ull << 40;
	ck_assert_int_eq(decode(bytes, header_encode(&header, bytes)), 0);
	ck_assert(decoded.has_name && decoded.has_type && decoded.has_size);
	ck_assert_str_eq(decoded.name, header.name);
	ck_assert_str_eq(decoded.type, "raw");
	ck_assert_uint_eq(decoded.size, header.size);
}
END_TEST

START_TEST(absent_fields_stay_absent)
{
	clear();
	header.has_type = true;
	strcpy(header.type, "cbor");
	ck_assert_int_eq(decode(bytes, header_encode(&header, bytes)), 0);
	ck_assert(!decoded.has_name && decoded.has_type && !decoded.has_size);
	clear();
	ck_assert_uint_eq(header_encode(&header, bytes), 1);
	ck_assert_int_eq(decode(bytes, 1), 0);
	ck_assert(!decoded.has_name && !decoded.has_type && !decoded.has_size);
}
END_TEST

START_TEST(no_header_is_an_empty_one)
{
	memset(&decoded, 0xaa, sizeof(decoded));
	ck_assert_int_eq(header_decode(NULL, 0, &decoded), 0);
	ck_assert(!decoded.has_name && !decoded.has_type && !decoded.has_size);
}
END_TEST

START_TEST(the_longest_texts_fit)
{
	size_t length;

	clear();
	header.has_name = header.has_type = header.has_size = true;
	memset(header.name, 'n', HEADER_TEXT_MAX - 1);
	memset(header.type, 't', HEADER_TEXT_MAX - 1);
	header.size = UINT64_MAX;
	length = header_encode(&header, bytes);
	ck_assert_uint_le(length, sizeof(bytes));
	ck_assert_int_eq(decode(bytes, length), 0);
	ck_assert_str_eq(decoded.name, header.name);
	ck_assert_str_eq(decoded.type, header.type);
}
END_TEST

START_TEST(unknown_keys_are_skipped_whatever_they_hold)
{
	ck_assert_int_eq(DECODE("\xa3" "\x65" "topic" "\x63" "a/b" "\x64" "type" "\x63" "raw"
	                        "\x64" "more" "\xbf\x64" "name" "\x01\xff"), 0);
	ck_assert_str_eq(decoded.type, "raw");
	ck_assert(!decoded.has_name);
	/* Keys of any kind, also such that hold known ones. */
	ck_assert_int_eq(DECODE("\xbf" "\x01" "\x64" "name" "\x81\x64" "size" "\x02"
	                        "\x7f\x64" "size" "\xff" "\x01" "\xff"), 0);
	ck_assert(!decoded.has_name && !decoded.has_size);
	ck_assert_int_eq(DECODE("\xa2" "\x64" "type" "\x60" "\xc0\x64" "name" "\x00"), 0);
	ck_assert(decoded.has_type && decoded.type[0] == '\0' && !decoded.has_name);
}
END_TEST

START_TEST(known_keys_with_other_values_are_refused)
{
	ck_assert_int_eq(DECODE("\xa1\x64" "name" "\x01"), -EBADMSG);
	ck_assert_int_eq(DECODE("\xa1\x64" "name" "\x41x"), -EBADMSG);
	ck_assert_int_eq(DECODE("\xa1\x64" "name" "\x7f\x61x\xff"), -EBADMSG);
	ck_assert_int_eq(DECODE("\xa1\x64" "name" "\xc0\x61x"), -EBADMSG);
	ck_assert_int_eq(DECODE("\xa1\x64" "type" "\xf6"), -EBADMSG);
	ck_assert_int_eq(DECODE("\xa1\x64" "size" "\x20"), -EBADMSG);
	ck_assert_int_eq(DECODE("\xa1\x64" "size" "\xf9\x3c\x00"), -EBADMSG);
}
END_TEST

START_TEST(texts_with_nul_or_too_long_are_refused)
{
	uint8_t *at = bytes;

	ck_assert_int_eq(DECODE("\xa1\x64" "name" "\x62" "a\0"), -EBADMSG);
	memcpy(at, "\xa1\x64name\x79\x10\x00", 9);
	memset(at + 9, 'a', HEADER_TEXT_MAX);
	ck_assert_int_eq(decode(bytes, 9 + HEADER_TEXT_MAX), -EBADMSG);
}
END_TEST

START_TEST(a_known_key_twice_is_refused)
{
	ck_assert_int_eq(DECODE("\xa2\x64" "size" "\x01\x64" "size" "\x01"), -EBADMSG);
	ck_assert_int_eq(DECODE("\xa2\x64" "name" "\x60\x64" "name" "\x60"), -EBADMSG);
}
END_TEST

START_TEST(anything_but_one_map_is_refused)
{
	ck_assert_int_eq(DECODE(""), -EBADMSG);
	ck_assert_int_eq(DECODE("\x00"), -EBADMSG);
	ck_assert_int_eq(DECODE("\x80"), -EBADMSG);
	ck_assert_int_eq(DECODE("\xc0\xa0"), -EBADMSG);
	ck_assert_int_eq(DECODE("\xa0\xa0"), -EBADMSG);
	ck_assert_int_eq(DECODE("\xa0\x00"), -EBADMSG);
	ck_assert_int_eq(DECODE("\xa1"), -EBADMSG);
	ck_assert_int_eq(DECODE("\xa1\x64" "name"), -EBADMSG);
	ck_assert_int_eq(DECODE("\xa1\x64" "name" "\x65" "abc"), -EBADMSG);
	ck_assert_int_eq(DECODE("\xbf\x64" "name" "\x61x"), -EBADMSG);
	ck_assert_int_eq(DECODE("\xa1\xff"), -EBADMSG);
	ck_assert_int_eq(DECODE("\xa1\x61\xff\x00"), -EBADMSG);
}
END_TEST

START_TEST(members_can_be_added_and_found)
{
	size_t length;

	clear();
	header.has_type = true;
	strcpy(header.type, "npy");
	length = header_encode(&header, bytes);
	length = header_add(bytes, length, "dtype", true, "'<f8'", 5);
	length = header_add(bytes, length, "npy", false, "\x93\0", 2);
	ck_assert_int_eq(decode(bytes, length), 0);
	decoded.encoded = bytes;       /* decode freed its own */
	ck_assert_str_eq(decoded.type, "npy");
	ck_assert_mem_eq(header_find(&decoded, "dtype", true, &length), "'<f8'", 5);
	ck_assert_uint_eq(length, 5);
	ck_assert_mem_eq(header_find(&decoded, "npy", false, &length), "\x93\0", 2);
	ck_assert_uint_eq(length, 2);
	/* Of another kind, or not there. */
	ck_assert_ptr_null(header_find(&decoded, "npy", true, &length));
	ck_assert_ptr_null(header_find(&decoded, "name", true, &length));
}
END_TEST

START_TEST(a_member_within_another_is_not_found)
{
	static const uint8_t encoded[] = { 0xa2, 0x61, 'x', 0xa1, 0x61, 'y', 0x62, 'n', 'o', 0x61, 'y',
	                                   0x63, 'y', 'e', 's' };
	size_t length;

	ck_assert_int_eq(decode(encoded, sizeof(encoded)), 0);
	decoded.encoded = encoded;
	ck_assert_mem_eq(header_find(&decoded, "y", true, &length), "yes", 3);
	decoded.encoded = NULL;
	decoded.encoded_length = 0;
	ck_assert_ptr_null(header_find(&decoded, "y", true, &length));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("header");
	TCase *fields = tcase_create("fields");
	SRunner *runner;
	int failed;

	tcase_add_test(fields, all_fields_come_back);
	tcase_add_test(fields, absent_fields_stay_absent);
	tcase_add_test(fields, no_header_is_an_empty_one);
	tcase_add_test(fields, the_longest_texts_fit);
	tcase_add_test(fields, unknown_keys_are_skipped_whatever_they_hold);
	tcase_add_test(fields, known_keys_with_other_values_are_refused);
	tcase_add_test(fields, texts_with_nul_or_too_long_are_refused);
	tcase_add_test(fields, a_known_key_twice_is_refused);
	tcase_add_test(fields, anything_but_one_map_is_refused);
	tcase_add_test(fields, members_can_be_added_and_found);
	tcase_add_test(fields, a_member_within_another_is_not_found);
	suite_add_tcase(suite, fields);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
