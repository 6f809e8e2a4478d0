/*
 * fuzz_mtx.c - Matrix Market.
 *
 * The first byte chooses: the rest is a file, which must say the same when it
 * went out and in once more, and give the same bytes out; or a body, which the
 * sink must take or refuse wherever frames are cut.  The second byte is how
 * many bytes a read gives, or tokens a frame has.
 */
// needs: consumer/json_number.c consumer/sink_fault.c consumer/sink_mtx.c consumer/text_out.c
// needs: producer/mtx_parser.c
#include "tests/fuzz/kept_stream.h"

#include "producer/source_mtx.c"
#include "tests/fuzz/kept_sink.h"

#define INPUT_MAX 60000u

static const struct message_header header;

static void try_file(const uint8_t *bytes, size_t length, size_t step)
{
	static struct stream_writer first, second;
	struct output file = { .length = 0 }, again = { .length = 0 };

	if (kept_run(&source_mtx, &first, bytes, length, step) == EXIT_COMPLETE) {
		MUST(first.messages == 1);
		/* A comment that ends in CR after CR is one that no file can have again. */
		if (kept_sink_both(&sink_mtx, &header, first.bodies, first.length, (unsigned)step, &file) ==
		    EXIT_COMPLETE) {
			MUST(kept_run(&source_mtx, &second, (uint8_t *)file.bytes, file.length, 1000) == EXIT_COMPLETE);
			MUST(second.length == first.length && memcmp(second.bodies, first.bodies, first.length) == 0);
			MUST(kept_sink(&sink_mtx, &header, second.bodies, second.length, 0, &again) == EXIT_COMPLETE);
			MUST(again.length == file.length && memcmp(again.bytes, file.bytes, file.length) == 0);
			kept_release(&second);
		}
	}
	kept_release(&first);
	output_mock_clear(&file);
	output_mock_clear(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct output output = { .length = 0 };

	if (length < 2 || length > INPUT_MAX)
		return 0;
	if (bytes[0] % 2 == 0)
		try_file(bytes + 2, length - 2, 1u + bytes[1]);
	else
		kept_sink_both(&sink_mtx, &header, bytes + 2, length - 2, 1u + bytes[1] % 8, &output);
	output_mock_clear(&output);
	return 0;
}
