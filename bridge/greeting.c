/* greeting.c - sending and reading a greeting. */
#include "bridge/greeting.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int greeting_send(struct greeting_out *out, struct transport *transport)
{
	while (out->sent < out->length) {
		struct iovec piece = {
			.iov_base = out->bytes + out->sent,
			.iov_len = out->length - out->sent,
		};
		ssize_t sent = transport_send(transport, &piece, 1);

		if (sent < 0)
			return (int)sent;
		out->sent += (size_t)sent;
	}
	return 0;
}

int greeting_read(struct greeting_in *in, struct transport *transport, char *why, size_t why_size)
{
	for (;;) {
		size_t wanted = WIRE_PREAMBLE + in->map;
		struct iovec piece = {
			.iov_base = in->bytes + in->got,
			.iov_len = wanted - in->got,
		};
		ssize_t got;
		int error;

		if (in->got == wanted && in->map > 0)
			return 0;
		got = transport_recv(transport, &piece, 1);
		if (got <= 0)
			return got == 0 ? -EPIPE : (int)got;
		in->got += (size_t)got;
		if (in->map > 0)
			continue;
		/* What is wrong with the first bytes is said as soon as they are there. */
		error = wire_preamble_check(in->bytes, in->got, &in->map, why, why_size);
		if (error != 0 && error != -EAGAIN)
			return error;
	}
}

void greeting_refuse(struct greeting_out *out, int code, const char *text)
{
	struct wire_greeting greeting = { .kind = WIRE_REFUSE };

	greeting.refusal.code = code;
	snprintf(greeting.refusal.text, sizeof greeting.refusal.text, "%s", text);
	out->length = wire_greeting_encode(&greeting, out->bytes);
	out->sent = 0;
}
