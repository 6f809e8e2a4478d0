/* source.c - what the sources share. */
#include "producer/source.h"

#include <errno.h>
#include <string.h>

#include "shared/log.h"
#include "shared/utf8.h"

enum exit_code source_input_failed(const struct input *input, int error)
{
	if (error == -EINTR)
		return source_stream_failed(error);
	if (error == -ENODATA)
		log_fatal("%s: the file shrank while it was read: %llu of %llu bytes", input->path,
		          (unsigned long long)input->taken, (unsigned long long)input->size);
	else
		log_fatal("cannot read %s: %s", input->path, strerror(-error));
	return error == -ENODATA ? EXIT_INCOMPLETE : EXIT_SYSTEM;
}

void source_name_header(const struct input *input, struct message_header *header)
{
	size_t length = input->name != NULL ? strlen(input->name) : 0;

	/* A name that is not UTF-8 cannot be a CBOR text; it is only a name. */
	if (length == 0 || length >= HEADER_TEXT_MAX ||
	    utf8_valid((const uint8_t *)input->name, length) != length)
		return;
	header->has_name = true;
	strcpy(header->name, input->name);
}
