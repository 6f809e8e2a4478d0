/*
 * sink_fault.c - see sink_fault.h.
 */
#include "consumer/sink_fault.h"

#include "ring/ring.h"
#include "shared/cbor_walk.h"
#include "shared/log.h"
#include "shared/stream.h"

bool sink_is_torn(const struct sink_job *job)
{
	return job->reader != NULL && ring_reader_check(job->reader) != 0;
}

enum exit_code sink_ill_formed(const struct sink_job *job, size_t offset, int outcome)
{
	if (sink_is_torn(job))
		return EXIT_INCOMPLETE;
	log_fatal("ring \"%s\": message %llu, byte %llu: ill-formed CBOR: %s", job->ring,
	          (unsigned long long)job->message,
	          (unsigned long long)(job->position + STREAM_FRAME_HEAD + offset),
	          outcome == 0 ? "a frame ends within a token" : cbor_walk_fault());
	return EXIT_BAD_DATA;
}

enum exit_code sink_ended_early(const struct sink_job *job)
{
	if (sink_is_torn(job))
		return EXIT_INCOMPLETE;
	log_fatal("ring \"%s\": message %llu, byte %llu: ill-formed CBOR: ends within an item",
	          job->ring, (unsigned long long)job->message,
	          (unsigned long long)job->position);
	return EXIT_BAD_DATA;
}

enum exit_code sink_no_table(const struct sink_job *job, const char *why)
{
	if (sink_is_torn(job))
		return EXIT_INCOMPLETE;
	log_fatal("ring \"%s\": message %llu, byte %llu: %s", job->ring,
	          (unsigned long long)job->message, (unsigned long long)job->position, why);
	return EXIT_BAD_DATA;
}
