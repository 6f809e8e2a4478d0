/* writer_talk.c - what programs that write a ring say of it. */
#include "shared/writer_talk.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "shared/log.h"
#include "shared/units.h"

#define REPORTS_MAX 192

const char *writer_talk_who(const struct ring_process *process, char out[WRITER_TALK_WHO_MAX])
{
	if (process->label[0] != '\0')
		snprintf(out, WRITER_TALK_WHO_MAX, "consumer \"%s\" (pid %d)", process->label,
		         (int)process->pid);
	else
		snprintf(out, WRITER_TALK_WHO_MAX, "consumer (pid %d)", (int)process->pid);
	return out;
}

void writer_talk_event(const char *ring, const struct ring_event *event, int64_t stall_timeout_ms)
{
	const char *kind = event->required ? "" : " (not required)";
	char who[WRITER_TALK_WHO_MAX];

	writer_talk_who(&event->process, who);
	switch (event->kind) {
	case RING_EVENT_READER_DIED:
		log_warning("ring \"%s\": %s died at byte %" PRIu64 "%s", ring, who, event->tail, kind);
		break;
	case RING_EVENT_READER_LOST:
		log_warning("ring \"%s\": %s died at byte %" PRIu64 "; waiting for it to come back%s",
		            ring, who, event->tail, kind);
		break;
	case RING_EVENT_READER_BACK:
		log_note("ring \"%s\": %s came back and goes on at byte %" PRIu64 "%s", ring, who,
		         event->tail, kind);
		break;
	case RING_EVENT_READER_FAILED:
		log_warning("ring \"%s\": %s failed with exit code %d%s", ring, who, event->code, kind);
		break;
	case RING_EVENT_READER_EVICTED:
		log_warning("ring \"%s\": %s evicted: no progress for %.1f s while the ring was full%s",
		            ring, who, (double)stall_timeout_ms / 1000, kind);
		break;
	case RING_EVENT_READER_SLOW:
		log_warning("ring \"%s\": %s has held the ring full for 10 s at byte %" PRIu64 "%s",
		            ring, who, event->tail, kind);
		break;
	case RING_EVENT_READER_LATE:
		log_note("ring \"%s\": %s joined late; it is not required", ring, who);
		break;
	default:
		break;
	}
}

static enum exit_code say_shortage(const char *ring, const struct ring_shortage *shortage,
                                   const char *remedy)
{
	char needed[UNITS_TEXT_MAX], there[UNITS_TEXT_MAX];

	units_format_bytes(shortage->needed_bytes, needed);
	units_format_bytes(shortage->available_bytes, there);
	log_fatal("cannot create ring \"%s\": %s (needs %s, %s %s; try %s)",
	          ring, strerror(ENOSPC), needed,
	          shortage->memory_cgroup ? "the memory cgroup leaves" : "/dev/shm has", there, remedy);
	return EXIT_SYSTEM;
}

enum exit_code writer_talk_create_failed(const char *ring, int error,
                                         const struct ring_shortage *shortage, const char *remedy)
{
	if (error == -EEXIST) {
		log_fatal("ring \"%s\" is in use by another producer", ring);
		return EXIT_ABSENT;
	}
	if (error == -EBUSY) {
		log_fatal("ring \"%s\" is a dead producer's, and who removes it does not come to an end",
		          ring);
		return EXIT_ABSENT;
	}
	if (error == -ENOSPC && shortage->needed_bytes > shortage->available_bytes)
		return say_shortage(ring, shortage, remedy);
	if (error == -EINVAL) {
		log_fatal("not a ring name: \"%s\" (1 to %d characters, no '/', no blanks, no leading '.')",
		          ring, RING_NAME_MAX);
		return EXIT_USAGE;
	}
	log_fatal("cannot create ring \"%s\": %s", ring, strerror(-error));
	return EXIT_SYSTEM;
}

void writer_talk_progress(struct ring_writer *ring, char *text, size_t size)
{
	struct ring_geometry geometry = ring_writer_geometry(ring);
	struct ring_process process;
	char who[WRITER_TALK_WHO_MAX];
	uint64_t lag;

	text[0] = '\0';
	if (ring_writer_slowest(ring, &lag, &process) >= 0)
		snprintf(text, size, ", ring %u%% full, slowest: %s",
		         (unsigned)(lag * 100 / ((uint64_t)geometry.slot_size * geometry.slot_count)),
		         writer_talk_who(&process, who));
}

static void account_consumers(struct json_out *out, struct ring_writer *ring)
{
	static const char *const outcomes[] = { "pending", "complete", "failed", "died", "evicted" };
	struct ring_reader_report reports[REPORTS_MAX];
	size_t count = ring_writer_reports(ring, reports, REPORTS_MAX);

	json_out_open(out, "consumers", '[');
	for (size_t i = 0; i < count && i < REPORTS_MAX; i++) {
		json_out_open(out, NULL, '{');
		json_out_text(out, "name", reports[i].process.label);
		json_out_number(out, "pid", (uint64_t)reports[i].process.pid);
		json_out_bool(out, "required", reports[i].required);
		json_out_text(out, "outcome", outcomes[reports[i].outcome]);
		json_out_number(out, "code", (uint64_t)reports[i].code);
		json_out_number(out, "position", reports[i].tail);
		json_out_seconds(out, "held_back_seconds", reports[i].blocked_ns);
		json_out_number(out, "dropped_messages", reports[i].dropped_messages);
		json_out_close(out, '}');
	}
	json_out_close(out, ']');
}

void writer_talk_account(struct json_out *out, struct ring_writer *ring)
{
	struct ring_geometry geometry = ring_writer_geometry(ring);

	json_out_number(out, "stream_bytes", ring_writer_position(ring));
	json_out_number(out, "slot_size", geometry.slot_size);
	json_out_number(out, "slots", geometry.slot_count);
	json_out_number(out, "segment_bytes", ring_writer_segment_bytes(ring));
	json_out_seconds(out, "blocked_seconds", ring_writer_blocked_ns(ring));
	account_consumers(out, ring);
}
