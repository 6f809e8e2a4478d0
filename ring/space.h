/*
 * space.h - how much memory a segment may take here.
 */
#ifndef SLUICE_RING_SPACE_H
#define SLUICE_RING_SPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "ring/ring.h"

/* Bytes free in /dev/shm, and in the memory cgroups (v1 and v2) that this
 * process is in; the smaller of the two, and which it is. */
uint64_t space_available(bool *memory_cgroup);

/*
 * The geometry to use: what was asked for, completed by defaults that shrink
 * to what is there.  0; -EINVAL out of range; -ENOSPC, with the shortage.
 */
int space_choose(struct ring_geometry asked, struct ring_geometry *chosen,
                 struct ring_shortage *shortage);

/* The same with the space given: for tests. */
int space_choose_within(struct ring_geometry asked, uint64_t available,
                        struct ring_geometry *chosen);

/* The remainder of a memory cgroup whose directory is `path`, or UINT64_MAX. */
uint64_t space_cgroup_remainder(const char *path);

#endif
