/* space.c - /dev/shm, memory cgroups, and a geometry that fits. */
#include "ring/space.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "ring/segment.h"

#define CGROUP_ROOT "/sys/fs/cgroup"
#define CGROUP_PATH_MAX 4096

/* ---- memory cgroups ---------------------------------------------------- */

/* A number in a small file; "max", or no such file: UINT64_MAX. */
static uint64_t read_number(const char *directory, const char *file)
{
	char path[CGROUP_PATH_MAX + 64];
	uint64_t number = UINT64_MAX;
	FILE *stream;

	snprintf(path, sizeof path, "%s/%s", directory, file);
	stream = fopen(path, "re");
	if (stream == NULL)
		return UINT64_MAX;
	if (fscanf(stream, "%" SCNu64, &number) != 1)
		number = UINT64_MAX;
	fclose(stream);
	return number;
}

/* File pages that the kernel gives back when the group is short of memory. */
static uint64_t reclaimable(const char *directory)
{
	char path[CGROUP_PATH_MAX + 64], key[64];
	uint64_t value, sum = 0;
	FILE *stream;

	snprintf(path, sizeof path, "%s/memory.stat", directory);
	stream = fopen(path, "re");
	if (stream == NULL)
		return 0;
	while (fscanf(stream, "%63s %" SCNu64, key, &value) == 2)
		if (strcmp(key, "inactive_file") == 0 || strcmp(key, "active_file") == 0)
			sum += value;
	fclose(stream);
	return sum;
}

uint64_t space_cgroup_remainder(const char *path)
{
	uint64_t limit = read_number(path, "memory.max");
	uint64_t used = read_number(path, "memory.current");
	uint64_t cache;

	if (limit == UINT64_MAX) {
		limit = read_number(path, "memory.limit_in_bytes");
		used = read_number(path, "memory.usage_in_bytes");
	}
	if (limit == UINT64_MAX || used == UINT64_MAX)
		return UINT64_MAX;
	cache = reclaimable(path);
	used = used > cache ? used - cache : 0;
	return limit > used ? limit - used : 0;
}

/* The smallest remainder of a group and its ancestors below `root`. */
static uint64_t remainder_upwards(const char *root, const char *group)
{
	char path[CGROUP_PATH_MAX];
	uint64_t least = UINT64_MAX;
	size_t root_length = strlen(root);
	int length = snprintf(path, sizeof path, "%s%s", root, group);

	if (length < 0 || (size_t)length >= sizeof path)
		return UINT64_MAX;
	for (;;) {
		uint64_t here = space_cgroup_remainder(path);
		char *slash = strrchr(path, '/');

		if (here < least)
			least = here;
		if (slash == NULL || (size_t)(slash - path) < root_length)
			return least;
		*slash = '\0';
	}
}

static uint64_t cgroup_available(void)
{
	FILE *stream = fopen("/proc/self/cgroup", "re");
	uint64_t least = UINT64_MAX;
	char line[CGROUP_PATH_MAX];

	if (stream == NULL)
		return UINT64_MAX;
	/* "0::/group" (v2) or "4:memory:/group" (v1). */
	while (fgets(line, sizeof line, stream) != NULL) {
		char *controllers = strchr(line, ':');
		char *group = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
		uint64_t here;

		if (group == NULL)
			continue;
		*group++ = '\0';
		group[strcspn(group, "\n")] = '\0';
		if (strcmp(controllers, ":") == 0)
			here = remainder_upwards(CGROUP_ROOT, group);
		else if (strstr(controllers, "memory") != NULL)
			here = remainder_upwards(CGROUP_ROOT "/memory", group);
		else
			continue;
		if (here < least)
			least = here;
	}
	fclose(stream);
	return least;
}

uint64_t space_available(bool *memory_cgroup)
{
	uint64_t cgroup = cgroup_available(), shm = 0;
	struct statvfs status;

	if (statvfs(SEGMENT_DIR, &status) == 0)
		/* A tmpfs without a limit has no blocks to count. */
		shm = status.f_blocks == 0 ? UINT64_MAX : (uint64_t)status.f_bavail * status.f_frsize;
	*memory_cgroup = cgroup < shm;
	return cgroup < shm ? cgroup : shm;
}

/* ---- a geometry that fits ---------------------------------------------- */

static bool slot_size_valid(uint32_t size)
{
	return size >= RING_MIN_SLOT_SIZE && size <= RING_MAX_SLOT_SIZE && (size & (size - 1)) == 0;
}

int space_choose_within(struct ring_geometry asked, uint64_t available,
                        struct ring_geometry *chosen)
{
	bool free_size = asked.slot_size == 0, free_count = asked.slot_count == 0;

	if (!free_size && !slot_size_valid(asked.slot_size))
		return -EINVAL;
	if (!free_count && (asked.slot_count < RING_MIN_SLOTS || asked.slot_count > RING_MAX_SLOTS))
		return -EINVAL;
	chosen->slot_size = free_size ? RING_DEFAULT_SLOT_SIZE : asked.slot_size;
	chosen->slot_count = free_count ? RING_DEFAULT_SLOTS : asked.slot_count;

	/* Fewer slots first, down to four; then smaller ones; then two. */
	while (segment_size(*chosen) > available) {
		if (free_count && chosen->slot_count > 4)
			chosen->slot_count /= 2;
		else if (free_size && chosen->slot_size > RING_MIN_SLOT_SIZE)
			chosen->slot_size /= 2;
		else if (free_count && chosen->slot_count > RING_MIN_SLOTS)
			chosen->slot_count = RING_MIN_SLOTS;
		else
			return -ENOSPC;
	}
	return 0;
}

int space_choose(struct ring_geometry asked, struct ring_geometry *chosen,
                 struct ring_shortage *shortage)
{
	int error;

	shortage->available_bytes = space_available(&shortage->memory_cgroup);
	error = space_choose_within(asked, shortage->available_bytes, chosen);
	shortage->needed_bytes = error == -EINVAL ? 0 : segment_size(*chosen);
	return error;
}
