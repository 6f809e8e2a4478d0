/*
 * fuzz_csv.c - CSV against a parser that sees all of it at once, and on, through
 * the source, to the sinks.
 *
 * The first three bytes choose how the rest, the input, is cut up, and the
 * options.
 *
 * 1. Rows and faults are those of the other parser, however reads cut the input.
 * 2. The source, built for slots of 2 KiB, makes one message of the good rows,
 *    whatever its room.
 * 3. Written as CSV, parsed again, they are the same rows; as JSON a line each.
 */
// needs: producer/csv_parser.c producer/csv_infer.c producer/recode.c consumer/json_keys.c
// needs: consumer/json_number.c consumer/json_quick.c consumer/text_out.c consumer/sink_csv.c
// needs: consumer/sink_fault.c consumer/sink_json.c consumer/diag_text.c
#include "ring/ring.h"

#undef RING_MIN_SLOT_SIZE
#define RING_MIN_SLOT_SIZE 2048u

#define log_fatal kept_fatal
#define log_warning kept_warning
#define stream_begin kept_begin
#define stream_fail kept_fail
#define stream_fill kept_fill
#define stream_finish kept_finish
#define stream_is_open kept_is_open
#define stream_put kept_put
#define stream_room kept_room

#include "producer/source_csv.c"
#include "tests/fuzz/cbor_check.h"
#include "tests/unit/csv_record.h"
#include "tests/unit/output_mock.h"

#define INPUT_MAX (24u << 10)          /* as names, it would still fit a HEADER */

void log_fatal(const char *format, ...)
{
	(void)format;
}

void log_warning(const char *format, ...)
{
	(void)format;
}

struct dialect {
	char delimiter, quote;
};

/* ---- the other parser ----------------------------------------------------------- */

struct other {
	const uint8_t *bytes;
	size_t length, at, line_at;
	uint64_t line, fields;
	struct dialect dialect;
	bool at_fault;                 /* the present row is */
	struct csv_record *record;
};

static void other_fault(struct other *other, uint64_t line, size_t column, const char *reason)
{
	struct csv_record *record = other->record;

	if (!other->at_fault && record->fault_count < RECORD_FAULTS_MAX) {
		struct csv_fault *fault = &record->faults[record->fault_count++];

		memset(fault, 0, sizeof(*fault));
		snprintf(fault->reason, sizeof(fault->reason), "%s", reason);
		fault->line = line;
		fault->column = column;
		fault->encoding = strstr(reason, "UTF-8") != NULL;
	}
	other->at_fault = true;
}

static void other_fault_here(struct other *other, const char *reason)
{
	other_fault(other, other->line, other->at - other->line_at + 1, reason);
}

static bool other_line_ends(const struct other *other)
{
	return other->bytes[other->at] == '\n' || other->bytes[other->at] == '\r';
}

/* Behind a line's end. */
static void other_next_line(struct other *other)
{
	if (other->bytes[other->at] == '\r' && other->at + 1 < other->length && other->bytes[other->at + 1] == '\n')
		other->at++;
	other->at++;
	other->line++;
	other->line_at = other->at;
}

/* One character of a field. */
static void other_character(struct other *other)
{
	const uint8_t *here = other->bytes + other->at;
	size_t left = other->length - other->at, size = 1;

	while (size <= 4 && size <= left && !text_is_good(here, size))
		size++;
	if (*here == '\0')
		other_fault_here(other, "NUL byte");
	if (size > 4 || size > left) {
		other_fault_here(other, "bytes that are not UTF-8");
		size = 1;
	}
	record_put(other->record, (const char *)here, size);
	other->at += size;
}

static void other_quoted(struct other *other)
{
	uint64_t line = other->line;
	size_t column = other->at - other->line_at + 1;

	record_put(other->record, RECORD_QUOTED, 1);
	other->at++;
	for (;;) {
		if (other->at == other->length) {
			other_fault(other, line, column, "quote that is never closed");
			return;
		}
		if (other->bytes[other->at] == (uint8_t)other->dialect.quote) {
			other->at++;
			if (other->at == other->length || other->bytes[other->at] != (uint8_t)other->dialect.quote)
				return;
			record_put(other->record, &other->dialect.quote, 1);
			other->at++;
		} else if (other_line_ends(other)) {
			size_t start = other->at;

			other_next_line(other);
			record_put(other->record, (const char *)other->bytes + start, other->at - start);
		} else {
			other_character(other);
		}
	}
}

/* True if another one follows in the row. */
static bool other_field(struct other *other)
{
	bool quotes = other->dialect.quote != '\0', quoted;
	char reason[80];

	snprintf(reason, sizeof(reason), "row of more than %" PRIu64 " field%s", other->record->width,
	         other->record->width == 1 ? "" : "s");
	if (other->fields++ == other->record->width)
		other_fault_here(other, reason);
	quoted = quotes && other->at < other->length && other->bytes[other->at] == (uint8_t)other->dialect.quote;
	if (quoted)
		other_quoted(other);
	for (;;) {
		if (other->at == other->length || other_line_ends(other))
			return false;
		if (other->bytes[other->at] == (uint8_t)other->dialect.delimiter) {
			other->at++;
			return true;
		}
		if (quoted)
			other_fault_here(other, "text behind a closing quote");
		if (quotes && other->bytes[other->at] == (uint8_t)other->dialect.quote)
			other_fault_here(other, "quote within a field that does not begin with one");
		other_character(other);
	}
}

static void other_row(struct other *other)
{
	struct csv_record *record = other->record;
	char reason[80];
	bool more;

	other->fields = 0;
	other->at_fault = false;
	do {
		more = other_field(other);
		record_put(record, "", 1);
	} while (more);
	snprintf(reason, sizeof(reason), "row of %" PRIu64 " field%s, not %" PRIu64, other->fields,
	         other->fields == 1 ? "" : "s", record->width);
	if (record->width != UINT64_MAX && other->fields < record->width)
		other_fault_here(other, reason);
	if (other->at < other->length)
		other_next_line(other);
	if (other->at_fault) {
		record->length = record->row;
		return;
	}
	record->width = other->fields;
	record_put(record, RECORD_ROW, 1);
	record->row = record->length;
	record->rows++;
}

/* Returns whether the first row is there, and good. */
static bool other_parse(struct csv_record *record, const uint8_t *bytes, size_t length,
                        struct dialect dialect)
{
	struct other other = { .bytes = bytes, .length = length, .line = 1, .dialect = dialect, .record = record };
	bool first_good;

	memset(record, 0, sizeof(*record));
	record_put(record, "", 0);
	record->width = UINT64_MAX;
	if (length >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0)
		other.at = other.line_at = 3;
	if (other.at == length)
		return false;
	other_row(&other);
	first_good = !other.at_fault;
	while (other.at < length)
		other_row(&other);
	return first_good;
}

static void must_not_differ(const struct csv_record *one, const struct csv_record *two)
{
	const char *differ = csv_records_differ(one, two);

	if (differ == NULL)
		return;
	fprintf(stderr, "%s\n", differ);
	for (size_t i = 0; i < one->fault_count || i < two->fault_count; i++)
		fprintf(stderr, "%d:%d %s | %d:%d %s\n", (int)one->faults[i].line, (int)one->faults[i].column,
		        one->faults[i].reason, (int)two->faults[i].line, (int)two->faults[i].column,
		        two->faults[i].reason);
	abort();
}

/* ---- a stream that keeps what is written ------------------------------------------ */

struct stream_writer {
	uint8_t header[STREAM_HEADER_MAX];
	size_t header_length;
	uint8_t *body, *room;
	size_t length, capacity, given, slack;
	bool open, failed;
	unsigned messages, begun;
};

bool stream_is_open(const struct stream_writer *stream)
{
	return stream->open;
}

int stream_begin(struct stream_writer *stream, const void *header, size_t length)
{
	MUST(!stream->open && stream->messages == 0 && length <= STREAM_HEADER_MAX);
	memcpy(stream->header, header, length);
	stream->header_length = length;
	stream->open = true;
	stream->begun++;
	return 0;
}

int stream_room(struct stream_writer *stream, size_t least, uint8_t **room, size_t *length)
{
	MUST(stream->open && stream->room == NULL && least <= RING_MIN_SLOT_SIZE / 2);
	stream->given = least + stream->slack;
	*room = stream->room = malloc(stream->given);
	MUST(stream->room);
	*length = stream->given;
	return 0;
}

void stream_fill(struct stream_writer *stream, size_t length)
{
	MUST(stream->open && stream->room != NULL && length <= stream->given);
	if (stream->length + length > stream->capacity) {
		stream->capacity = 2 * (stream->length + length);
		stream->body = realloc(stream->body, stream->capacity);
		MUST(stream->body);
	}
	if (length > 0)
		memcpy(stream->body + stream->length, stream->room, length);
	stream->length += length;
	free(stream->room);
	stream->room = NULL;
}

int stream_put(struct stream_writer *stream, const void *bytes, size_t length)
{
	uint8_t *room;
	size_t there;

	stream_room(stream, length, &room, &there);
	memcpy(room, bytes, length);
	stream_fill(stream, length);
	return 0;
}

int stream_finish(struct stream_writer *stream)
{
	MUST(stream->open && stream->room == NULL);
	stream->open = false;
	stream->messages++;
	return 0;
}

int stream_fail(struct stream_writer *stream, int code, const char *text)
{
	MUST(stream->open && code == EXIT_BAD_DATA && text[0] != '\0');
	free(stream->room);
	stream->room = NULL;
	stream->open = false;
	stream->failed = true;
	return 1;
}

/* ---- an input in memory ------------------------------------------------------------ */

static struct {
	const uint8_t *bytes;
	size_t length, at, step;
} source;

ssize_t input_take(struct input *input, void *buffer, size_t length)
{
	size_t left = source.length - source.at;

	(void)input;
	if (length > left)
		length = left;
	if (length > source.step)
		length = source.step;
	if (length > 0)
		memcpy(buffer, source.bytes + source.at, length);
	source.at += length;
	return (ssize_t)length;
}

void input_settle(struct input *input, bool partial)
{
	(void)input;
	(void)partial;
}

enum exit_code source_input_failed(const struct input *input, int error)
{
	(void)input;
	(void)error;
	abort();
}

enum exit_code source_stream_failed(int error)
{
	(void)error;
	abort();
}

void source_name_header(const struct input *input, struct message_header *header)
{
	(void)input;
	(void)header;
}

/* ---- the sinks ------------------------------------------------------------------------ */

/* The message through a sink, in frames of whole tokens. */
static enum exit_code sink_message(const struct sink *sink, const struct stream_writer *stream,
                                   struct output *output, unsigned every)
{
	static struct cbor_walker walker;
	struct message_header header;
	struct sink_job job = { .output = output, .ring = "fuzz" };
	struct cbor_token token;
	enum exit_code code;
	size_t start = 0, at = 0;

	MUST(header_decode(stream->header, stream->header_length, &header) == 0);
	MUST(sink->open(&job) == 0);
	code = sink->begin(&job, &header);
	cbor_walker_init(&walker);
	for (unsigned tokens = 1; code == EXIT_COMPLETE && at < stream->length; tokens++) {
		MUST(cbor_walk(&walker, stream->body + at, stream->length - at, &token) == 1);
		at += token.size;
		if (tokens % every == 0 || at == stream->length) {
			uint8_t *frame = malloc(at - start);

			MUST(frame);
			memcpy(frame, stream->body + start, at - start);
			code = sink->body(&job, frame, at - start);
			free(frame);
			start = at;
		}
	}
	if (code == EXIT_COMPLETE)
		code = sink->finish(&job, true);
	sink->close(&job);
	return code;
}

/* Without the marks of quotes. */
static void marks_drop(struct csv_record *record)
{
	size_t kept = 0;

	for (size_t i = 0; i < record->length; i++)
		if (record->text[i] != RECORD_QUOTED[0])
			record->text[kept++] = record->text[i];
	record->length = kept;
}

static void check_sinks(const struct stream_writer *stream, struct csv_record *expected,
                        struct dialect dialect, bool header, bool infer, unsigned every)
{
	struct output csv = { .length = 0 }, json = { .length = 0 };
	struct csv_record again;
	struct csv_feed feed = { .delimiter = dialect.delimiter, .quote = dialect.quote };
	enum exit_code code;
	size_t lines = 0;

	code = sink_message(&sink_csv, stream, &csv, every);
	if (code == EXIT_BAD_DATA && dialect.quote == '\0') {
		/* It begins with a byte order mark, which only quotes would keep. */
		MUST(memmem(expected->text, expected->length, "\xef\xbb\xbf", 3) != NULL);
		output_mock_clear(&csv);
		return;
	}
	MUST(code == EXIT_COMPLETE);
	csv_record(&again, csv.bytes, csv.length, &feed);
	MUST(again.fault_count == 0 && again.rows == expected->rows);
	marks_drop(&again);
	marks_drop(expected);
	if (!infer)
		MUST(again.length == expected->length && memcmp(again.text, expected->text, again.length) == 0);
	free(again.text);

	code = sink_message(&sink_json, stream, &json, every);
	/* Two columns may have one name. */
	MUST(code == EXIT_COMPLETE || (code == EXIT_BAD_DATA && header && json.length == 0));
	for (size_t i = 0; i < json.length; i++)
		lines += json.bytes[i] == '\n';
	MUST(code != EXIT_COMPLETE || lines == expected->rows - header);
	output_mock_clear(&csv);
	output_mock_clear(&json);
}

/* ---- the source ------------------------------------------------------------------------- */

/* One that may have come in pieces, as the source is built here: too long for a
 * name. */
static bool has_long_name(const struct csv_record *record)
{
	for (const char *name = record->text; *name != RECORD_ROW[0]; name += strlen(name) + 1)
		if (strlen(name) > BUFFER_SIZE / 2)
			return true;
	return false;
}

static void check_source(const uint8_t *bytes, size_t length, struct csv_record *expected, bool first_good,
                         struct dialect dialect, uint8_t flags, unsigned step)
{
	struct source_options options = {
		.skip_bad = true, .csv_header = flags & 1, .infer = flags & 2,
		.delimiter = dialect.delimiter, .quote = dialect.quote,
		.encoding = flags & 4 ? "UTF-8" : NULL,
	};
	static struct stream_writer stream;
	struct source_job job = { .stream = &stream, .options = &options };
	struct input input = { .path = "fuzz" };
	size_t faults = expected->fault_count;
	bool nameless = options.csv_header && !first_good;

	stream.length = 0;
	stream.open = stream.failed = false;
	stream.messages = stream.begun = 0;
	stream.slack = step * 7 % 3000;
	source.bytes = bytes;
	source.length = length;
	source.at = 0;
	source.step = step;
	MUST(source_csv.run(&job, &input) == EXIT_COMPLETE);
	MUST(stream.room == NULL || stream.failed);
	if (stream.failed || nameless || (stream.begun == 0 && options.csv_header && has_long_name(expected))) {
		MUST(job.bad_records > 0 && stream.messages == 0);
		return;
	}
	MUST(stream.messages == 1);
	MUST(faults == RECORD_FAULTS_MAX || job.bad_records == faults);
	check_sinks(&stream, expected, dialect, options.csv_header, options.infer, step % 9 + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	static const struct dialect dialects[] = { { ',', '"' }, { ';', '"' }, { '\t', '\0' }, { 'a', '\'' } };
	struct csv_record expected, record;
	struct dialect dialect;
	struct csv_feed feed;
	bool first_good;

	if (length < 3 || length > INPUT_MAX)
		return 0;
	dialect = dialects[bytes[2] >> 3 & 3];
	feed = (struct csv_feed){
		.buffer_size = CSV_BUFFER_MIN + 2u * bytes[0], .most = 1u + bytes[1],
		.delimiter = dialect.delimiter, .quote = dialect.quote,
	};
	first_good = other_parse(&expected, bytes + 3, length - 3, dialect);
	csv_record(&record, bytes + 3, length - 3, &feed);
	must_not_differ(&record, &expected);
	free(record.text);
	feed.buffer_size = 0;
	feed.most = 0;
	csv_record(&record, bytes + 3, length - 3, &feed);
	must_not_differ(&record, &expected);
	free(record.text);
	check_source(bytes + 3, length - 3, &expected, first_good, dialect, bytes[2], 1u + 16u * bytes[1]);
	free(expected.text);
	return 0;
}
