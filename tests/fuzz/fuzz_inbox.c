/*
 * fuzz_inbox.c - any bytes where records are to come, in any pieces.
 *
 * The input is a list of portions: a byte of flags, a length of two bytes, and
 * so many bytes.  A portion is sent as it is, or made into a record first: then
 * its check is right, whatever its type, position and payload are.  It is sent
 * through a socket, in one piece or in two.  What the inbox takes must be what
 * was sent, and no payload may go beyond the place that it was given.
 */
// needs: bridge/inbox.c bridge/wire.c bridge/transport.c bridge/tls.c
// libs: -lssl -lcrypto
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bridge/inbox.h"
#include "shared/bigendian.h"
#include "tests/fuzz/cbor_check.h"

#define SLOT_SIZE (64u << 10)
#define PORTION_MAX 4096u

enum {
	AS_RECORD = 1,             /* head and check are made: type, position, payload follow */
	IN_TWO = 2,                /* sent in two pieces */
	LONG_LENGTH = 4,           /* a record whose head promises more than comes */
};

static uint8_t *place;             /* of the DATA record at hand: exactly as long as that */

static void place_free(void)
{
	free(place);
	place = NULL;
}

/* A record is whole: within bounds, and intact by the other way to tell. */
static void record_judge(const struct inbox *inbox)
{
	const struct wire_record *record = &inbox->record;

	MUST(record->length <= (record->type == WIRE_DATA ? SLOT_SIZE : WIRE_REPORT_MAX));
	MUST(record->length == 0 || inbox->payload != NULL);
	MUST(wire_record_intact(record, record->length > 0 ? inbox->payload : NULL));
}

/* Take what is there.  False: the connection is of no more use. */
static bool inbox_drain(struct inbox *inbox, struct transport *transport)
{
	for (;;) {
		int found = inbox_read(inbox, transport);

		switch (found) {
		case INBOX_HEAD:
			place_free();
			MUST(inbox->record.type == WIRE_DATA && inbox->record.length >= 1);
			place = malloc(inbox->record.length);
			MUST(place != NULL);
			inbox_place(inbox, place);
			break;
		case INBOX_RECORD:
			record_judge(inbox);
			place_free();
			break;
		case -EAGAIN:
			return true;
		default:
			MUST(found == -EBADMSG || found == -EPIPE);
			MUST(found != -EBADMSG || inbox->why[0] != '\0');
			return false;
		}
	}
}

/* Make the portion a record: its first 9 bytes are type and position. */
static size_t record_make(uint8_t flags, const uint8_t *bytes, size_t length,
                          uint8_t out[WIRE_RECORD_HEAD + PORTION_MAX])
{
	uint8_t type = length > 0 ? bytes[0] : 0;
	uint64_t position = length >= 9 ? get_u64(bytes + 1) : 0;
	size_t payload = length > 9 ? length - 9 : 0;

	if (payload > 0)
		memcpy(out + WIRE_RECORD_HEAD, bytes + 9, payload);
	wire_record_encode((enum wire_type)type, position, out + WIRE_RECORD_HEAD, (uint32_t)payload, out);
	if (flags & LONG_LENGTH)
		put_u32(out + 4, (uint32_t)payload + 77);
	return WIRE_RECORD_HEAD + payload;
}

static bool send_piece(int fd, const uint8_t *bytes, size_t length, struct inbox *inbox,
                       struct transport *transport)
{
	if (length > 0 && send(fd, bytes, length, MSG_NOSIGNAL) != (ssize_t)length)
		return false;
	return inbox_drain(inbox, transport);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t made[WIRE_RECORD_HEAD + PORTION_MAX];
	enum wire_side from = size > 0 && (data[0] & 1) != 0 ? WIRE_FROM_RECEIVER : WIRE_FROM_SENDER;
	struct transport *transport;
	struct inbox inbox;
	bool alive = true;
	int fds[2];

	if (size == 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, fds) != 0)
		return 0;
	MUST(transport_open(&transport, fds[0], NULL, true, NULL) == 0);
	MUST(inbox_open(&inbox, from, SLOT_SIZE) == 0);
	for (size_t at = 1; alive && at + 3 <= size;) {
		uint8_t flags = data[at];
		size_t length = ((size_t)data[at + 1] << 8 | data[at + 2]) % (PORTION_MAX + 1);
		const uint8_t *bytes = data + at + 3;
		size_t half;

		if (length > size - at - 3)
			length = size - at - 3;
		at += 3 + length;
		if (flags & AS_RECORD) {
			length = record_make(flags, bytes, length, made);
			bytes = made;
		}
		half = flags & IN_TWO ? length / 2 : 0;
		alive = send_piece(fds[1], bytes, half, &inbox, transport) &&
		        send_piece(fds[1], bytes + half, length - half, &inbox, transport);
	}
	close(fds[1]);
	if (alive)
		MUST(!inbox_drain(&inbox, transport));
	place_free();
	inbox_close(&inbox);
	transport_close(transport);
	return 0;
}
