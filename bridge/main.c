/* main.c - sluice-bridge: a ring to other hosts, or from another. */
#include <string.h>

#include "bridge/options.h"
#include "bridge/receiver.h"
#include "bridge/sender.h"
#include "ring/wait.h"
#include "shared/command.h"
#include "shared/json_out.h"
#include "shared/leave.h"
#include "shared/log.h"
#include "shared/version.h"

/* An end of the bridge. */
struct end {
	const char *name;
	enum exit_code (*run)(const struct bridge_options *options);
	void (*account)(struct json_out *out);
	void (*close)(void);
	void (*interrupt)(void);
};

static const struct end sending = {
	"sending", sender_run, sender_account, sender_close, sender_interrupt,
};
static const struct end receiving = {
	"receiving", receiver_run, receiver_account, receiver_close, receiver_interrupt,
};

static enum exit_code summarize(const struct bridge_options *options, const struct end *end,
                                enum exit_code code, uint64_t started_ns)
{
	struct json_out out;
	int error = json_out_begin(&out, options->summary);

	if (error == 0) {
		json_out_text(&out, "program", "sluice-bridge");
		json_out_text(&out, "version", SLUICE_VERSION);
		json_out_text(&out, "end", end->name);
		json_out_text(&out, "ring", options->ring);
		json_out_number(&out, "exit", code);
		json_out_text(&out, "reason", log_fatal_text());
		json_out_seconds(&out, "seconds", wait_now_ns() - started_ns);
		json_out_peak_memory(&out, "peak_memory_kib");
		end->account(&out);
		error = json_out_end(&out, options->summary);
	}
	if (error == 0)
		return code;
	log_fatal("cannot write %s: %s", options->summary, strerror(-error));
	return code == EXIT_COMPLETE ? EXIT_SYSTEM : code;
}

int main(int argc, char **argv)
{
	static struct bridge_options options;
	uint64_t started_ns = wait_now_ns();
	const struct end *end;
	enum exit_code code;

	command_begin("sluice-bridge");
	bridge_options_parse(&options, argc, argv);
	end = options.to_count > 0 ? &sending : &receiving;
	leave_setup(end->interrupt);
	code = end->run(&options);
	if (options.summary != NULL)
		code = summarize(&options, end, code, started_ns);
	end->close();
	return (int)code;
}
