/* test_space.c - a geometry that fits, and what a memory cgroup leaves. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "ring/segment.h"
#include "ring/space.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)

static struct ring_geometry choose(struct ring_geometry asked, uint64_t available)
{
	struct ring_geometry chosen = { 0, 0 };

	ck_assert_int_eq(space_choose_within(asked, available, &chosen), 0);
	ck_assert_uint_le(segment_size(chosen), available);
	return chosen;
}

/* ---- geometry --------------------------------------------------------------------- */

START_TEST(the_default_is_16_slots_of_1_MiB)
{
	struct ring_geometry chosen = choose((struct ring_geometry){ 0, 0 }, UINT64_MAX);

	ck_assert_uint_eq(chosen.slot_size, RING_DEFAULT_SLOT_SIZE);
	ck_assert_uint_eq(chosen.slot_count, RING_DEFAULT_SLOTS);
}
END_TEST

START_TEST(the_default_shrinks_to_what_is_there)
{
	static const struct {
		uint64_t available;
		uint32_t slot_size, slot_count;
	} cases[] = {
		{ 64 * MIB, 512u << 10, 8 },
		{ 5 * MIB, 512u << 10, 8 },
		{ 4 * MIB, 512u << 10, 4 },
		{ 3 * MIB, 512u << 10, 4 },
		{ 2 * MIB, 256u << 10, 4 },
		{ 512 * KIB, 64u << 10, 4 },
		{ 256 * KIB, 64u << 10, 2 },
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct ring_geometry chosen = choose((struct ring_geometry){ 0, 0 }, cases[i].available);

		ck_assert_uint_eq(chosen.slot_size, cases[i].slot_size);
		ck_assert_uint_eq(chosen.slot_count, cases[i].slot_count);
	}
}
END_TEST

START_TEST(what_is_given_is_kept_and_only_the_rest_shrinks)
{
	struct ring_geometry chosen;

	chosen = choose((struct ring_geometry){ 1u << 20, 0 }, 3 * MIB);
	ck_assert_uint_eq(chosen.slot_size, 1u << 20);
	ck_assert_uint_eq(chosen.slot_count, 2);
	chosen = choose((struct ring_geometry){ 0, 100 }, 13 * MIB);
	ck_assert_uint_eq(chosen.slot_size, 128u << 10);
	ck_assert_uint_eq(chosen.slot_count, 100);
	chosen = choose((struct ring_geometry){ 64u << 20, 3 }, 193 * MIB);
	ck_assert_uint_eq(chosen.slot_size, 64u << 20);
	ck_assert_uint_eq(chosen.slot_count, 3);
}
END_TEST

START_TEST(what_cannot_fit_is_refused)
{
	static const struct ring_geometry asked[] = {
		{ 0, 0 }, { 64u << 10, 2 }, { 0, 2 }, { 64u << 10, 0 }, { 1u << 20, 2 }, { 0, 4096 },
	};
	struct ring_geometry chosen;

	for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
		ck_assert_int_eq(space_choose_within(asked[i], 128 * KIB, &chosen), -ENOSPC);
		/* What it would have needed at the least. */
		ck_assert_uint_gt(segment_size(chosen), 128 * KIB);
		ck_assert_int_eq(space_choose_within(asked[i], segment_size(chosen), &chosen), 0);
		ck_assert_int_eq(space_choose_within(asked[i], 0, &chosen), -ENOSPC);
	}
}
END_TEST

START_TEST(what_is_out_of_range_is_refused_whatever_is_there)
{
	static const struct ring_geometry asked[] = {
		{ 1, 0 }, { RING_MIN_SLOT_SIZE - 1, 0 }, { RING_MIN_SLOT_SIZE / 2, 0 },
		{ RING_MIN_SLOT_SIZE + 4096, 0 }, { 2 * RING_MAX_SLOT_SIZE, 0 }, { 0, 1 },
		{ 0, RING_MAX_SLOTS + 1 },
	};
	struct ring_geometry chosen;

	for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
		ck_assert_int_eq(space_choose_within(asked[i], UINT64_MAX, &chosen), -EINVAL);
		ck_assert_int_eq(space_choose_within(asked[i], 0, &chosen), -EINVAL);
	}
}
END_TEST

START_TEST(the_bounds_are_taken)
{
	choose((struct ring_geometry){ RING_MIN_SLOT_SIZE, RING_MIN_SLOTS }, UINT64_MAX);
	choose((struct ring_geometry){ RING_MAX_SLOT_SIZE, RING_MAX_SLOTS }, UINT64_MAX);
}
END_TEST

START_TEST(a_shortage_tells_what_is_needed_and_what_is_there)
{
	struct ring_shortage shortage = { 0, 0, false };
	struct ring_geometry chosen;
	bool memory_cgroup;

	ck_assert_int_eq(space_choose((struct ring_geometry){ RING_MIN_SLOT_SIZE, 2 }, &chosen, &shortage), 0);
	ck_assert_uint_eq(shortage.needed_bytes, segment_size(chosen));
	ck_assert_uint_ge(shortage.available_bytes, shortage.needed_bytes);
	ck_assert_uint_gt(space_available(&memory_cgroup), 0);
}
END_TEST

/* ---- cgroups ------------------------------------------------------------------------ */

static char group[256];

static void group_make(void)
{
	const char *temporary = getenv("TMPDIR");

	snprintf(group, sizeof group, "%s/sluice-unit-XXXXXX", temporary != NULL ? temporary : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(group));
}

static const char *const group_files[] = {
	"memory.max", "memory.current", "memory.stat", "memory.limit_in_bytes", "memory.usage_in_bytes",
};

static void group_clear(void)
{
	for (size_t i = 0; i < sizeof group_files / sizeof group_files[0]; i++) {
		char path[300];

		snprintf(path, sizeof path, "%s/%s", group, group_files[i]);
		unlink(path);
	}
}

static void group_remove(void)
{
	group_clear();
	rmdir(group);
}

static void group_file(const char *name, const char *content)
{
	char path[300];
	FILE *stream;

	snprintf(path, sizeof path, "%s/%s", group, name);
	stream = fopen(path, "we");
	ck_assert_ptr_nonnull(stream);
	fputs(content, stream);
	fclose(stream);
}

START_TEST(a_group_without_a_limit_limits_nothing)
{
	ck_assert_uint_eq(space_cgroup_remainder(group), UINT64_MAX);
	group_file("memory.max", "max\n");
	group_file("memory.current", "1000\n");
	ck_assert_uint_eq(space_cgroup_remainder(group), UINT64_MAX);
	group_file("memory.max", "");
	ck_assert_uint_eq(space_cgroup_remainder(group), UINT64_MAX);
	ck_assert_uint_eq(space_cgroup_remainder("/nowhere/at/all"), UINT64_MAX);
}
END_TEST

START_TEST(a_group_of_either_version_leaves_limit_less_use)
{
	group_file("memory.max", "1000000\n");
	group_file("memory.current", "400000\n");
	ck_assert_uint_eq(space_cgroup_remainder(group), 600000);
	group_clear();
	group_file("memory.limit_in_bytes", "1000000\n");
	group_file("memory.usage_in_bytes", "900000\n");
	ck_assert_uint_eq(space_cgroup_remainder(group), 100000);
}
END_TEST

START_TEST(the_page_cache_of_files_can_be_given_back)
{
	group_file("memory.max", "1000000\n");
	group_file("memory.current", "900000\n");
	group_file("memory.stat", "anon 100000\nfile 999999\ninactive_file 300000\nactive_file 200000\n"
	                          "shmem 50000\n");
	ck_assert_uint_eq(space_cgroup_remainder(group), 600000);
	/* More than is used is not. */
	group_file("memory.stat", "inactive_file 5000000\n");
	ck_assert_uint_eq(space_cgroup_remainder(group), 1000000);
}
END_TEST

START_TEST(a_group_over_its_limit_leaves_nothing)
{
	group_file("memory.max", "1000\n");
	group_file("memory.current", "2000\n");
	ck_assert_uint_eq(space_cgroup_remainder(group), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("space");
	TCase *geometry = tcase_create("geometry"), *cgroup = tcase_create("cgroup");
	SRunner *runner = srunner_create(suite);
	int failures;

	suite_add_tcase(suite, geometry);
	suite_add_tcase(suite, cgroup);
	tcase_add_checked_fixture(cgroup, group_make, group_remove);
	tcase_add_test(geometry, the_default_is_16_slots_of_1_MiB);
	tcase_add_test(geometry, the_default_shrinks_to_what_is_there);
	tcase_add_test(geometry, what_is_given_is_kept_and_only_the_rest_shrinks);
	tcase_add_test(geometry, what_cannot_fit_is_refused);
	tcase_add_test(geometry, what_is_out_of_range_is_refused_whatever_is_there);
	tcase_add_test(geometry, the_bounds_are_taken);
	tcase_add_test(geometry, a_shortage_tells_what_is_needed_and_what_is_there);
	tcase_add_test(cgroup, a_group_without_a_limit_limits_nothing);
	tcase_add_test(cgroup, a_group_of_either_version_leaves_limit_less_use);
	tcase_add_test(cgroup, the_page_cache_of_files_can_be_given_back);
	tcase_add_test(cgroup, a_group_over_its_limit_leaves_nothing);
	srunner_run_all(runner, CK_ENV);
	failures = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failures != 0;
}
