/* main.c - sluice-bridge: a ring to other hosts, or from another. */
#include "bridge/options.h"
#include "bridge/receiver.h"
#include "bridge/sender.h"
#include "ring/wait.h"
#include "shared/account.h"
#include "shared/command.h"
#include "shared/leave.h"

/* An end of the bridge. */
struct end {
	enum exit_code (*run)(const struct bridge_options *options);
	void (*account)(struct json_out *out);
	void (*close)(void);
	void (*interrupt)(void);
};

static const struct end sending = {
	sender_run, sender_account, sender_close, sender_interrupt,
};
static const struct end receiving = {
	receiver_run, receiver_account, receiver_close, receiver_interrupt,
};

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
	code = account_write(options.summary, "sluice-bridge", options.ring, code, started_ns, end->account);
	end->close();
	return (int)code;
}
