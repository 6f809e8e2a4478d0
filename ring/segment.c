/* segment.c - the named file behind a ring. */
#include "ring/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "ring/testpoint.h"
#include "ring/wait.h"

/* ---- descriptors that a child must not keep ---------------------------- */

/*
 * A lock lives as long as any copy of its descriptor: a child that inherits
 * one would keep its dead parent alive for everybody else.  exec closes them;
 * between fork and exec this list does.
 */
#define GUARDED_MAX 1024
static atomic_int guarded[GUARDED_MAX];    /* fd + 1; 0: unused */

static void guarded_close_in_child(void)
{
	for (size_t i = 0; i < GUARDED_MAX; i++) {
		int fd = atomic_exchange(&guarded[i], 0) - 1;

		if (fd >= 0)
			close(fd);
	}
}

static void guarded_setup(void)
{
	pthread_atfork(NULL, NULL, guarded_close_in_child);
}

static int guard(int fd)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, guarded_setup);
	for (size_t i = 0; i < GUARDED_MAX; i++) {
		int none = 0;

		if (atomic_compare_exchange_strong(&guarded[i], &none, fd + 1))
			return 0;
	}
	return -EMFILE;
}

static void unguard(int fd)
{
	for (size_t i = 0; i < GUARDED_MAX; i++) {
		int mine = fd + 1;

		if (atomic_compare_exchange_strong(&guarded[i], &mine, 0))
			return;
	}
}

/* Not one of 0, 1, 2: a program that was started with those closed would write
 * its output into the segment.  The descriptor, or -errno. */
static int away_from_standard(int fd)
{
	int higher;

	if (fd < 0)
		return -errno;
	if (fd > STDERR_FILENO)
		return fd;
	higher = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (higher < 0)
		higher = -errno;
	close(fd);
	return higher;
}

/* ---- names and sizes --------------------------------------------------- */

int segment_path(const char *name, char path[SEGMENT_PATH_MAX])
{
	size_t length = strlen(name);

	if (length == 0 || length > RING_NAME_MAX || name[0] == '.')
		return -EINVAL;
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)name[i];

		if (c <= ' ' || c == '/' || c == 0x7f)
			return -EINVAL;
	}
	snprintf(path, SEGMENT_PATH_MAX, "%s/sluice.%s", SEGMENT_DIR, name);
	return 0;
}

static uint64_t page_round(uint64_t bytes)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	return (bytes + page - 1) / page * page;
}

static uint64_t control_bytes(uint32_t slot_count)
{
	return sizeof(struct ring_control) + (uint64_t)slot_count * sizeof(uint32_t);
}

static uint64_t payload_bytes(struct ring_geometry geometry)
{
	return (uint64_t)geometry.slot_size * geometry.slot_count;
}

uint64_t segment_size(struct ring_geometry geometry)
{
	return page_round(control_bytes(geometry.slot_count)) +
	       page_round(sizeof(struct ring_shared)) + payload_bytes(geometry);
}

/* ---- locks ------------------------------------------------------------- */

static struct flock lock_of(int byte, short type)
{
	struct flock lock = {
		.l_type = type,
		.l_whence = SEEK_SET,
		.l_start = byte,
		.l_len = 1,
	};

	return lock;
}

static int lock_fd(int fd, int byte)
{
	struct flock lock = lock_of(byte, F_WRLCK);

	if (fcntl(fd, F_OFD_SETLK, &lock) == 0)
		return 0;
	return errno == EACCES ? -EAGAIN : -errno;
}

int segment_lock(const struct segment *segment, int byte)
{
	return lock_fd(segment->fd, byte);
}

void segment_unlock(const struct segment *segment, int byte)
{
	struct flock lock = lock_of(byte, F_UNLCK);

	fcntl(segment->fd, F_OFD_SETLK, &lock);
}

static bool is_locked(int fd, int byte)
{
	struct flock lock = lock_of(byte, F_WRLCK);
	bool locked = fcntl(fd, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;

	/* A system call orders nothing for us: pairs with what the dead one
	 * stored before it died (pair I; and end and head of a dead writer). */
	atomic_thread_fence(memory_order_acquire);
	return locked;
}

bool segment_is_locked(const struct segment *segment, int byte)
{
	return is_locked(segment->fd, byte);
}

/* ---- removal ----------------------------------------------------------- */

static bool leads_to(const char *path, int fd)
{
	struct stat named, ours;

	return stat(path, &named) == 0 && fstat(fd, &ours) == 0 &&
	       named.st_dev == ours.st_dev && named.st_ino == ours.st_ino;
}

/* 0: the name does not lead there any more; or why it still does. */
static int unlink_same(const char *path, int fd)
{
	if (!leads_to(path, fd) || unlink(path) == 0 || errno == ENOENT)
		return 0;
	return -errno;
}

void segment_unlink(const struct segment *segment)
{
	(void)unlink_same(segment->path, segment->fd);
}

/* May a dead writer of this segment still be replaced?  Of a file that makes no
 * sense: no.  read(2), for who has not mapped it. */
static bool may_be_taken_over(int fd)
{
	uint64_t patience, alive, now = wait_now_ns();
	struct ring_control head;

	if (pread(fd, &head, sizeof head, 0) != (ssize_t)sizeof head ||
	    memcmp(head.magic, RING_MAGIC, sizeof head.magic) != 0 ||
	    head.abi_version != RING_ABI_VERSION)
		return false;
	patience = (uint64_t)head.takeover_ms * 1000000u;
	alive = atomic_load_explicit(&head.alive_ns, memory_order_relaxed);
	return patience != 0 && alive <= now && now - alive < patience;
}

bool segment_may_be_taken_over(const struct segment *segment)
{
	return may_be_taken_over(segment->fd);
}

/*
 * Unlink the name of a ring whose writer is gone and will not be replaced.
 * Who holds the remover's byte keeps others away from the name and from the
 * writer's byte: between a look at the name and its unlinking, another's new
 * ring could get it, or the ring a new writer.
 * Returns 0 (the name is not this segment's any more); -EEXIST its writer
 * lives, or may be replaced; -EAGAIN somebody else is at it; -EPERM or the like
 * it is another user's.
 */
static int remove_stale(const char *path, int fd)
{
	int error = lock_fd(fd, RING_LOCK_REMOVER);

	if (error != 0)
		return error;
	if (is_locked(fd, RING_LOCK_WRITER) || may_be_taken_over(fd))
		return -EEXIST;
	TESTPOINT("remove_before_unlink");
	return unlink_same(path, fd);
}

void segment_remove_if_stale(const struct segment *segment)
{
	if (remove_stale(segment->path, segment->fd) != -EAGAIN)
		segment_unlock(segment, RING_LOCK_REMOVER);
}

/* ---- mapping ----------------------------------------------------------- */

static void *map_region(int fd, uint64_t offset, uint64_t length, int protection)
{
	void *region = mmap(NULL, length, protection, MAP_SHARED, fd, (off_t)offset);

	if (region == MAP_FAILED)
		return NULL;
	/* A child has no use for it, and a core dump no room. */
	madvise(region, length, MADV_DONTFORK);
	madvise(region, length, MADV_DONTDUMP);
	return region;
}

static int segment_map(struct segment *segment, int protection)
{
	segment->control = map_region(segment->fd, 0, segment->shared_offset, protection);
	segment->shared = map_region(segment->fd, segment->shared_offset,
	                             segment->payload_offset - segment->shared_offset,
	                             PROT_READ | PROT_WRITE);
	segment->payload = map_region(segment->fd, segment->payload_offset,
	                              payload_bytes(segment->geometry), protection);
	if (segment->control == NULL || segment->shared == NULL || segment->payload == NULL)
		return -ENOMEM;
	return 0;
}

void segment_close(struct segment *segment)
{
	if (segment->control != NULL)
		munmap(segment->control, segment->shared_offset);
	if (segment->shared != NULL)
		munmap(segment->shared, segment->payload_offset - segment->shared_offset);
	if (segment->payload != NULL)
		munmap(segment->payload, payload_bytes(segment->geometry));
	unguard(segment->fd);
	close(segment->fd);      /* drops the locks: nothing is stored after this */
	segment->fd = -1;
}

/* ---- creation ---------------------------------------------------------- */

static int header_init(struct segment *segment, const struct ring_writer_options *options)
{
	struct ring_control *control = segment->control;
	struct timespec now;

	memcpy(control->magic, RING_MAGIC, sizeof control->magic);
	control->abi_version = RING_ABI_VERSION;
	control->byte_order = RING_BYTE_ORDER;
	control->control_size = sizeof(struct ring_control);
	control->shared_size = sizeof(struct ring_shared);
	control->slot_size = segment->geometry.slot_size;
	control->slot_count = segment->geometry.slot_count;
	control->shared_offset = segment->shared_offset;
	control->payload_offset = segment->payload_offset;
	control->segment_size = segment->segment_bytes;
	clock_gettime(CLOCK_REALTIME, &now);
	control->created_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	if (options->stream_id != NULL)
		memcpy(control->stream_id, options->stream_id, sizeof control->stream_id);
	else if (getrandom(control->stream_id, sizeof control->stream_id, 0) !=
	         (ssize_t)sizeof control->stream_id)
		return -EIO;
	control->start = segment->start = options->start;
	control->takeover_ms = segment->takeover_ms = options->takeover_ms;
	atomic_store_explicit(&control->alive_ns, wait_now_ns(), memory_order_relaxed);
	atomic_store_explicit(&control->head, options->start, memory_order_relaxed);

	if (sem_init(&segment->shared->space, 1, 0) != 0)
		return -errno;
	for (size_t i = 0; i < RING_MAX_READERS; i++)
		if (sem_init(&segment->shared->entries[i].data, 1, 0) != 0)
			return -errno;
	return 0;
}

int segment_create(struct segment *segment, const char *name, struct ring_geometry geometry,
                   const struct ring_writer_options *options)
{
	mode_t mode = options->mode != 0 ? options->mode : 0600;
	int error;

	memset(segment, 0, sizeof *segment);
	error = segment_path(name, segment->path);
	if (error != 0)
		return error;
	segment->geometry = geometry;
	segment->segment_bytes = segment_size(geometry);
	segment->shared_offset = page_round(control_bytes(geometry.slot_count));
	segment->payload_offset = segment->shared_offset + page_round(sizeof(struct ring_shared));

	segment->fd = away_from_standard(open(SEGMENT_DIR, O_TMPFILE | O_RDWR | O_CLOEXEC, mode));
	if (segment->fd < 0)
		return segment->fd;
	error = guard(segment->fd);
	if (error == 0 && fchmod(segment->fd, mode) != 0)    /* whatever the umask */
		error = -errno;
	if (error == 0)
		error = segment_lock(segment, RING_LOCK_WRITER);
	TESTPOINT("create_locked");
	if (error == 0)
		error = -posix_fallocate(segment->fd, 0, (off_t)segment->segment_bytes);
	if (error == 0)
		error = segment_map(segment, PROT_READ | PROT_WRITE);
	if (error == 0)
		error = header_init(segment, options);
	TESTPOINT("create_initialized");
	if (error != 0)
		segment_close(segment);
	return error;
}

/* Remove the segment that has our name if it is stale.  0: gone by now. */
static int make_way(const char *path, bool *replaced)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	int error;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	error = remove_stale(path, fd);
	if (error == 0)
		*replaced = true;
	close(fd);
	return error;
}

/* Somebody else who is removing the same stale name needs but a moment. */
#define REMOVER_TRIES 100
#define REMOVER_MOMENT_NS 5000000

static void remover_moment(unsigned *tries)
{
	const struct timespec moment = { .tv_nsec = REMOVER_MOMENT_NS };

	nanosleep(&moment, NULL);
	++*tries;
}

int segment_link(struct segment *segment, bool *replaced)
{
	unsigned tries = 0;
	char self[64];

	snprintf(self, sizeof self, "/proc/self/fd/%d", segment->fd);
	*replaced = false;
	/* Each turn either links, or finds a living owner, or removes a stale
	 * segment; others may do the same at the same time. */
	for (;;) {
		int error;

		if (linkat(AT_FDCWD, self, AT_FDCWD, segment->path, AT_SYMLINK_FOLLOW) == 0)
			break;
		if (errno != EEXIST)
			return -errno;
		error = make_way(segment->path, replaced);
		if (error == -EAGAIN && tries < REMOVER_TRIES)
			remover_moment(&tries);
		else if (error != 0)
			return error == -EAGAIN ? -EBUSY : error;
	}
	TESTPOINT("create_linked");
	return 0;
}

/* ---- attachment -------------------------------------------------------- */

int segment_check(struct segment *segment, const struct ring_control *control,
                  uint64_t control_length, uint64_t file_size)
{
	struct ring_control head;

	if (control_length < offsetof(struct ring_control, head) ||
	    file_size < sizeof(struct ring_control))
		return -EBADMSG;
	/* One copy, then checks: the original may change at any time. */
	memcpy(&head, control, offsetof(struct ring_control, head));
	if (memcmp(head.magic, RING_MAGIC, sizeof head.magic) != 0)
		return -EBADMSG;
	if (head.byte_order != RING_BYTE_ORDER || head.abi_version != RING_ABI_VERSION)
		return -EPROTONOSUPPORT;
	if (head.control_size != sizeof(struct ring_control) ||
	    head.shared_size != sizeof(struct ring_shared))
		return -EPROTONOSUPPORT;
	if (head.slot_size < RING_MIN_SLOT_SIZE || head.slot_size > RING_MAX_SLOT_SIZE ||
	    (head.slot_size & (head.slot_size - 1)) != 0 ||
	    head.slot_count < RING_MIN_SLOTS || head.slot_count > RING_MAX_SLOTS)
		return -EBADMSG;

	if ((head.start & (head.slot_size - 1)) != 0)
		return -EBADMSG;

	segment->geometry.slot_size = head.slot_size;
	segment->geometry.slot_count = head.slot_count;
	memcpy(segment->stream_id, head.stream_id, sizeof segment->stream_id);
	segment->start = head.start;
	segment->takeover_ms = head.takeover_ms;
	segment->segment_bytes = segment_size(segment->geometry);
	segment->shared_offset = page_round(control_bytes(head.slot_count));
	segment->payload_offset = segment->shared_offset + page_round(sizeof(struct ring_shared));
	if (head.shared_offset != segment->shared_offset ||
	    head.payload_offset != segment->payload_offset ||
	    head.segment_size != segment->segment_bytes || file_size != segment->segment_bytes)
		return -EBADMSG;
	return 0;
}

static int check_fd(struct segment *segment, bool any_user)
{
	union {
		struct ring_control control;
		uint8_t bytes[sizeof(struct ring_control)];
	} head;
	struct stat status;
	ssize_t got;

	if (fstat(segment->fd, &status) != 0)
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -EBADMSG;
	if (status.st_uid != geteuid() && !any_user)
		return -EPERM;
	/* read(2), not the mapping: a short file gives a short read, no SIGBUS. */
	got = pread(segment->fd, head.bytes, sizeof head.bytes, 0);
	if (got < 0)
		return -errno;
	return segment_check(segment, &head.control, (uint64_t)got, (uint64_t)status.st_size);
}

/* Open and check; not mapped yet. */
static int open_checked(struct segment *segment, const char *name, bool any_user)
{
	int error;

	memset(segment, 0, sizeof *segment);
	error = segment_path(name, segment->path);
	if (error != 0)
		return error;
	segment->fd = away_from_standard(open(segment->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW));
	if (segment->fd < 0)
		return segment->fd == -ELOOP ? -EBADMSG : segment->fd;
	error = guard(segment->fd);
	if (error == 0)
		error = check_fd(segment, any_user);
	if (error != 0)
		segment_close(segment);
	return error;
}

int segment_open(struct segment *segment, const char *name, bool any_user)
{
	int error = open_checked(segment, name, any_user);

	if (error != 0)
		return error;
	error = segment_map(segment, PROT_READ);
	if (error != 0)
		segment_close(segment);
	return error;
}

/*
 * Under the remover's byte: so the name leads here as long as the writer's byte
 * is not ours, and is not removed once it is.
 */
static int take_writer_byte(struct segment *segment)
{
	unsigned tries = 0;
	int error;

	while ((error = segment_lock(segment, RING_LOCK_REMOVER)) == -EAGAIN && tries < REMOVER_TRIES)
		remover_moment(&tries);
	if (error != 0)
		return error == -EAGAIN ? -EBUSY : error;
	TESTPOINT("takeover_alone");
	/* The byte first: a writer that leaves removes the name, and then gives it up. */
	if (is_locked(segment->fd, RING_LOCK_WRITER))
		error = -EEXIST;
	else if (!may_be_taken_over(segment->fd) || !leads_to(segment->path, segment->fd))
		error = -ENOENT;
	else
		error = segment_lock(segment, RING_LOCK_WRITER);   /* nobody else may */
	TESTPOINT("takeover_byte_taken");
	segment_unlock(segment, RING_LOCK_REMOVER);
	return error;
}

int segment_take_over(struct segment *segment, const char *name, const uint8_t *stream_id)
{
	int error = open_checked(segment, name, false);

	if (error != 0)
		return error;
	if (stream_id != NULL && memcmp(segment->stream_id, stream_id, sizeof segment->stream_id) != 0)
		error = -ENOENT;
	if (error == 0)
		error = take_writer_byte(segment);
	if (error == 0)
		error = segment_map(segment, PROT_READ | PROT_WRITE);
	if (error != 0)
		segment_close(segment);
	return error;
}
