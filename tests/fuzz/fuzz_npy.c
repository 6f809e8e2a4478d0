/*
 * fuzz_npy.c - NumPy arrays.
 *
 * The first byte chooses: the rest is a header's text, which must be read as
 * the same when it was written; a file, which must come back byte for byte; or
 * a body, which two sinks must take or refuse wherever frames are cut.  The
 * second byte is how many bytes a read gives, or tokens a frame has.
 */
// needs: consumer/array_body.c consumer/sink_fault.c consumer/sink_json_npy.c consumer/sink_npy.c
// needs: consumer/text_out.c
#include "tests/fuzz/kept_stream.h"

#include "producer/source_npy.c"
#include "tests/fuzz/kept_sink.h"

#define INPUT_MAX 16000u

static void try_header(const uint8_t *bytes, size_t length)
{
	static uint8_t out[NPY_WRITE_MAX + INPUT_MAX];
	char *exact = malloc(length + 1);
	struct npy_header header, again;
	const char *fault;
	unsigned major;
	uint32_t text;
	size_t at, size, prefix;

	MUST(exact);
	memcpy(exact, bytes, length);
	fault = npy_header_parse(exact, length, &header, &at);
	MUST(at <= length);
	if (fault == NULL) {
		MUST(header.dimensions <= NPY_DIMENSIONS_MAX);
		MUST(header.item_size == 0 || header.data_size / header.item_size == header.elements);
		MUST(header.descr >= exact && header.descr + header.descr_length <= exact + length);
		size = npy_header_write(&header, out);
		prefix = npy_prefix_parse(out, size, &major, &text, &fault);
		MUST(prefix > 0 && prefix + text == size && size % 64 == 0);
		MUST(npy_header_parse((char *)out + prefix, text, &again, &at) == NULL);
		MUST(again.kind == header.kind && again.item_size == header.item_size);
		MUST(again.big_endian == header.big_endian && again.fortran == header.fortran);
		MUST(again.dimensions == header.dimensions && again.data_size == header.data_size);
		MUST(memcmp(again.shape, header.shape, sizeof(header.shape)) == 0);
		MUST(again.descr_length == header.descr_length &&
		     memcmp(again.descr, header.descr, header.descr_length) == 0);
	}
	free(exact);
}

static void try_file(const uint8_t *bytes, size_t length, size_t step)
{
	static struct stream_writer stream;
	static struct message_header header;
	struct output file = { .length = 0 }, json = { .length = 0 };

	if (kept_run(&source_npy, &stream, bytes, length, step) == EXIT_COMPLETE && stream.messages == 1) {
		MUST(header_decode(stream.header, stream.header_length, &header) == 0);
		MUST(kept_sink_both(&sink_npy, &header, stream.bodies, stream.length, (unsigned)step, &file) ==
		     EXIT_COMPLETE);
		MUST(file.length == length && memcmp(file.bytes, bytes, length) == 0);
		/* Bools may be neither. */
		kept_sink_both(&sink_json_npy, &header, stream.bodies, stream.length, (unsigned)step, &json);
	}
	kept_release(&stream);
	output_mock_clear(&file);
	output_mock_clear(&json);
}

static void try_body(const uint8_t *bytes, size_t length, unsigned tokens)
{
	static const struct message_header header;
	struct output file = { .length = 0 }, json = { .length = 0 };
	enum exit_code code = kept_sink_both(&sink_npy, &header, bytes, length, tokens, &file);

	/* JSON takes no more, and can fail of its own. */
	MUST(kept_sink_both(&sink_json_npy, &header, bytes, length, tokens, &json) == EXIT_BAD_DATA ||
	     code == EXIT_COMPLETE);
	if (code == EXIT_COMPLETE) {
		static struct stream_writer stream;

		/* A header of more than 256 KiB is none that we read; these are short. */
		MUST(kept_run(&source_npy, &stream, (uint8_t *)file.bytes, file.length, 7) == EXIT_COMPLETE);
		kept_release(&stream);
	}
	output_mock_clear(&file);
	output_mock_clear(&json);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	if (length < 2 || length > INPUT_MAX)
		return 0;
	switch (bytes[0] % 3) {
	case 0:
		try_header(bytes + 2, length - 2);
		break;
	case 1:
		try_file(bytes + 2, length - 2, 1u + bytes[1]);
		break;
	default:
		try_body(bytes + 2, length - 2, 1u + bytes[1] % 8);
		break;
	}
	return 0;
}
