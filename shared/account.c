/* account.c - the account of a run. */
#include "shared/account.h"

#include <string.h>

#include "ring/wait.h"
#include "shared/log.h"
#include "shared/version.h"

enum exit_code account_write(const char *path, const char *program, const char *ring,
                             enum exit_code code, uint64_t started_ns,
                             void (*more)(struct json_out *out))
{
	struct json_out out;
	int error;

	if (path == NULL)
		return code;
	error = json_out_begin(&out, path);
	if (error == 0) {
		json_out_text(&out, "program", program);
		json_out_text(&out, "version", SLUICE_VERSION);
		json_out_text(&out, "ring", ring);
		json_out_number(&out, "exit", code);
		json_out_text(&out, "reason", log_fatal_text());
		json_out_seconds(&out, "seconds", wait_now_ns() - started_ns);
		json_out_peak_memory(&out, "peak_memory_kib");
		more(&out);
		error = json_out_end(&out, path);
	}
	if (error == 0)
		return code;
	log_fatal("cannot write %s: %s", path, strerror(-error));
	return code == EXIT_COMPLETE ? EXIT_SYSTEM : code;
}
