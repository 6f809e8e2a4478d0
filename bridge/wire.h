/*
 * wire.h - what two bridges say to each other, byte by byte.
 *
 * First each side sends one greeting: a preamble of 12 bytes, and a CBOR map
 * of as many bytes as that says.  The sender, which connects, says HELLO; the
 * receiver says WELCOME; either may say REFUSE instead.  From then on there
 * are records: a head of 24 bytes, and a payload.
 *
 * Nothing here reads, waits, allocates or prints: bytes come in, bytes go
 * out.  All that comes in is untrusted.  Where something is wrong with it,
 * `why` gets one line for people, without control characters, cut to fit.
 */
#ifndef SLUICE_BRIDGE_WIRE_H
#define SLUICE_BRIDGE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ring/ring.h"
#include "shared/version.h"

#define WIRE_SOFTWARE "sluice-bridge " SLUICE_VERSION

/* The protocols that this version speaks. */
#define WIRE_PROTO_MIN 1u
#define WIRE_PROTO_MAX 1u

#define WIRE_PREAMBLE 12u              /* bytes: "SLUICE\r\n", length of the map */
#define WIRE_MAP_MAX 4096u             /* bytes of a greeting's map */
#define WIRE_GREETING_MAX (WIRE_PREAMBLE + WIRE_MAP_MAX)
#define WIRE_RECORD_HEAD 24u           /* bytes */
#define WIRE_REPORT_MAX 1024u          /* bytes of the payload of END, OUTCOME, ERROR */

#define WIRE_STREAM_ID 16u             /* bytes */
#define WIRE_SOFTWARE_MAX 64u          /* bytes, without NUL; likewise those below */
#define WIRE_TEXT_MAX 512u
#define WIRE_NAME_MAX 255u
#define WIRE_WHY_MAX 512u              /* enough for every `why` that is given here */

/* ---- greetings ----------------------------------------------------------- */

enum wire_greeting_kind {
	WIRE_HELLO,                    /* sender to receiver */
	WIRE_WELCOME,                  /* receiver to sender */
	WIRE_REFUSE,                   /* either */
};

/* What a side may have beyond the protocol it speaks.  Unknown ones are
 * ignored in "features", and refused by name in "required". */
enum wire_feature {
	WIRE_FEATURE_RESUME = 1,       /* "resume": goes on with a stream after a broken connection */
};

/* Who the other side is.  Filled by decoding; when encoding, this side's. */
struct wire_peer {
	uint32_t proto_min, proto_max; /* WELCOME: both the chosen one */
	char software[WIRE_SOFTWARE_MAX + 1];
	uint32_t features;             /* enum wire_feature, or-ed: the known ones */
	uint32_t required;             /* likewise; all are known, or decoding refused */
};

struct wire_hello {
	uint8_t stream[WIRE_STREAM_ID];
	struct ring_geometry geometry;
	uint64_t start;                /* where a receiver that has nothing yet begins */
	bool resume;                   /* it is expected to have the stream already */
	uint64_t retry_ms;             /* how long the sender would try to come back */
	char name[WIRE_NAME_MAX + 1];  /* what the sender calls this destination; "": nothing */
};

struct wire_welcome {
	uint64_t head;                 /* the position from which to go on */
	char ring[RING_NAME_MAX + 1];
};

/* How something came out, with an exit code of shared/exit.h. */
struct wire_report {
	int code;                      /* 0 .. 255 */
	char text[WIRE_TEXT_MAX + 1];  /* control characters replaced; "" where there is none */
};

struct wire_greeting {
	enum wire_greeting_kind kind;
	uint32_t proto;                /* HELLO, WELCOME, decoded: the protocol to speak */
	struct wire_peer peer;         /* decoded */
	union {
		struct wire_hello hello;
		struct wire_welcome welcome;
		struct wire_report refusal;    /* code 1 .. 255 */
	};
};

/*
 * Look at the first bytes of a connection, as far as they have come.
 *
 * @length  of `bytes`; more than WIRE_PREAMBLE are not looked at
 * @map     out, on 0: how long the map is that follows, 1 .. WIRE_MAP_MAX
 *
 * Returns 0; -EAGAIN right so far, but not WIRE_PREAMBLE bytes yet; -EBADMSG
 * not a bridge (`why` guesses what it is), or a map of impossible length.
 */
int wire_preamble_check(const uint8_t *bytes, size_t length, uint32_t *map,
                        char *why, size_t why_size);

/* What a peer may be whose first bytes are no greeting, for the log: "a TLS
 * client", "an HTTP client" (or server, of either), or "something else". */
const char *wire_guess_peer(const uint8_t *bytes, size_t length);

/*
 * Write a greeting, preamble and all, as this version says it: protocols and
 * software are its own, `features` and `required` are greeting->peer's.  A
 * longer text is cut between characters.  Returns its length in bytes.
 */
size_t wire_greeting_encode(const struct wire_greeting *greeting, uint8_t out[WIRE_GREETING_MAX]);

/*
 * Read the map of a greeting, and find the protocol to speak.
 *
 * @expected  WIRE_HELLO or WIRE_WELCOME; a REFUSE is always taken
 * @bytes     the map, without preamble, all of it
 *
 * Returns 0; -EPROTONOSUPPORT no common protocol, or an unknown required
 * feature: `why` names both versions, and may be sent in a REFUSE as it is;
 * -EBADMSG ill-formed, or a known key that is missing, twice, or has a value
 * that it cannot have.  Protocols are compared before any other value is
 * judged: another version may mean other things by the same keys.  After
 * -EPROTONOSUPPORT greeting->peer is valid, otherwise nothing is on failure.
 */
int wire_greeting_decode(enum wire_greeting_kind expected, const uint8_t *bytes, size_t length,
                         struct wire_greeting *greeting, char *why, size_t why_size);

/* ---- records ------------------------------------------------------------- */

enum wire_type {
	/* Sender to receiver. */
	WIRE_DATA = 'D',               /* 1 .. slot size bytes of the stream, from position on */
	WIRE_END = 'E',                /* position: the final head; payload: struct wire_end */
	WIRE_PING = 'P',
	WIRE_BYE = 'Q',
	/* Receiver to sender. */
	WIRE_ACK = 'A',                /* position: all before it is safe in the ring */
	WIRE_READY = 'R',              /* position: its start barrier is met */
	WIRE_OUTCOME = 'O',            /* payload: struct wire_report */
	/* Either, before closing. */
	WIRE_ERROR = 'X',              /* payload: struct wire_report */
};

enum wire_side {
	WIRE_FROM_SENDER,
	WIRE_FROM_RECEIVER,
};

struct wire_record {
	enum wire_type type;
	uint32_t length;               /* bytes of the payload */
	uint64_t position;
	uint64_t check;                /* XXH3-64 of the payload, seeded with that of the rest of the head */
};

/*
 * Write the head of a record.  The payload is only read, for the check; it is
 * sent from where it lies, to as many peers as there are.
 */
void wire_record_encode(enum wire_type type, uint64_t position, const void *payload,
                        uint32_t length, uint8_t out[WIRE_RECORD_HEAD]);

/*
 * Read the head of a record.
 *
 * @from       who sent it
 * @slot_size  of the stream: the longest DATA
 *
 * Returns 0; -EBADMSG a type that this side does not send, bytes that must be
 * zero, or a length that this type cannot have.  Positions are not judged.
 */
int wire_record_decode(const uint8_t bytes[WIRE_RECORD_HEAD], enum wire_side from,
                       uint32_t slot_size, struct wire_record *record,
                       char *why, size_t why_size);

/* What the check of a record's payload is seeded with: for who digests it piece
 * by piece, and compares with record->check. */
uint64_t wire_record_seed(const struct wire_record *record);

/* Are head and payload (record->length bytes; NULL if that is 0) what was sent?
 * To be asked of every record, also of an empty one. */
bool wire_record_intact(const struct wire_record *record, const void *payload);

/* ---- payloads ------------------------------------------------------------ */

/* How the stream ended at the sender. */
struct wire_end {
	enum ring_end end;             /* RING_COMPLETE or RING_ABORTED */
	struct wire_report report;
};

/* Write the payload of OUTCOME or ERROR, or of END.  Returns its length. */
size_t wire_report_encode(const struct wire_report *report, uint8_t out[WIRE_REPORT_MAX]);
size_t wire_end_encode(const struct wire_end *end, uint8_t out[WIRE_REPORT_MAX]);

/* Read such a payload.  Unknown keys are skipped; "text" may be missing.
 * Returns 0 or -EBADMSG. */
int wire_report_decode(const uint8_t *bytes, size_t length, struct wire_report *report,
                       char *why, size_t why_size);
int wire_end_decode(const uint8_t *bytes, size_t length, struct wire_end *end,
                    char *why, size_t why_size);

#endif
