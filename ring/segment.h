/*
 * segment.h - the named file behind a ring: creation, mapping, locks, removal.
 */
#ifndef SLUICE_RING_SEGMENT_H
#define SLUICE_RING_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "ring/layout.h"

#define SEGMENT_DIR "/dev/shm"
#define SEGMENT_PATH_MAX (sizeof SEGMENT_DIR + sizeof "/sluice." + RING_NAME_MAX)

struct segment {
	int fd;
	char path[SEGMENT_PATH_MAX];
	struct ring_geometry geometry;    /* checked copies: nothing else is trusted */
	uint64_t segment_bytes;
	struct ring_control *control;     /* read-only for a reader */
	struct ring_shared *shared;
	uint8_t *payload;                 /* read-only for a reader */
	uint64_t shared_offset, payload_offset;
	uint8_t stream_id[16];
	uint64_t start;                   /* position where the stream begins here */
	uint32_t takeover_ms;             /* how long a dead writer may be replaced */
};

/* Fill `path` for a ring name.  Returns 0 or -EINVAL: empty, too long, or with
 * '/', white space or control characters, or beginning with '.'. */
int segment_path(const char *name, char path[SEGMENT_PATH_MAX]);

/* Bytes of a segment of that geometry. */
uint64_t segment_size(struct ring_geometry geometry);

/* A nameless segment, all of it allocated, the writer's byte locked, header
 * filled in; link gives it its name.  0 or -errno; -ENOSPC. */
int segment_create(struct segment *segment, const char *name, struct ring_geometry geometry,
                   const struct ring_writer_options *options);

/* Give the segment its name.  A stale one of that name is removed first, with
 * *replaced set.  -EEXIST: a living writer has it; -EBUSY: somebody is removing
 * it, and does not come to an end. */
int segment_link(struct segment *segment, bool *replaced);

/* Open and check a named segment whose writer died and may be replaced, take
 * the writer's byte, and map it for a writer.  @stream_id: take this stream only;
 * NULL: any.  As segment_open; -EEXIST its writer lives; -ENOENT also another
 * stream, or too late; -EBUSY as segment_link. */
int segment_take_over(struct segment *segment, const char *name, const uint8_t *stream_id);

/* Open and check a named segment and map it for a reader.  -ENOENT; -EBADMSG
 * not a whole ring; -EPROTONOSUPPORT another layout; -EPERM another user's. */
int segment_open(struct segment *segment, const char *name, bool any_user);

/* Is the header a ring's, with regions inside a file of `file_size` bytes?
 * Fills the segment's checked copies.  0, -EBADMSG or -EPROTONOSUPPORT. */
int segment_check(struct segment *segment, const struct ring_control *control,
                  uint64_t control_bytes, uint64_t file_size);

/* Unmap and close. */
void segment_close(struct segment *segment);

/* Take the lock byte.  0; -EAGAIN somebody has it. */
int segment_lock(const struct segment *segment, int byte);

/* Give a lock byte back. */
void segment_unlock(const struct segment *segment, int byte);

/* Does another open file description hold the byte?  One system call; followed
 * by an acquire fence, so that what its holder stored is seen. */
bool segment_is_locked(const struct segment *segment, int byte);

/* Unlink the name if it still leads to this segment.  For its writer. */
void segment_unlink(const struct segment *segment);

/* May a dead writer of this segment still be replaced? */
bool segment_may_be_taken_over(const struct segment *segment);

/* If nobody holds the writer's byte, nor may come to hold it, unlink the name. */
void segment_remove_if_stale(const struct segment *segment);

#endif
