/* reader_talk.c - what programs that read a ring say of it. */
#include "shared/reader_talk.h"

#include <errno.h>
#include <string.h>

#include "ring/ring.h"
#include "shared/leave.h"
#include "shared/log.h"
#include "shared/version.h"

enum exit_code reader_talk_attach_failed(const char *ring, int error, int64_t wait_ms)
{
	switch (error) {
	case -ENOENT:
		log_fatal("ring \"%s\": no producer within %.1f s", ring, (double)wait_ms / 1000);
		return EXIT_ABSENT;
	case -EINTR:
		log_fatal("stopped by signal %d (%s) while waiting for ring \"%s\"", leave_signal(),
		          strsignal(leave_signal()), ring);
		return (enum exit_code)(128 + leave_signal());
	case -EBADMSG:
		log_fatal("\"%s\" is not a ring, or a broken one", ring);
		return EXIT_BAD_DATA;
	case -EPROTONOSUPPORT:
		log_fatal("ring \"%s\" is of another version; this is Sluice %s", ring, SLUICE_VERSION);
		return EXIT_BAD_DATA;
	case -EUSERS:
		log_fatal("ring \"%s\" has its %d consumers already", ring, RING_MAX_READERS);
		return EXIT_ABSENT;
	case -EPERM:
		log_fatal("ring \"%s\" is another user's (see --any-user)", ring);
		return EXIT_SYSTEM;
	case -EINVAL:
		log_fatal("not a ring name: \"%s\" (1 to %d characters, no '/', no blanks, no leading '.')",
		          ring, RING_NAME_MAX);
		return EXIT_USAGE;
	default:
		log_fatal("cannot open ring \"%s\": %s", ring, strerror(-error));
		return EXIT_SYSTEM;
	}
}
