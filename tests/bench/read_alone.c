/* read_alone.c - read(2) of FILE into one 1 MiB buffer: the floor of everything. */
#include <fcntl.h>

#include "tests/bench/bench.h"

int main(int argc, char **argv)
{
	static char buffer[1 << 20] __attribute__((aligned(4096)));
	int fd = argc > 1 ? open(argv[1], O_RDONLY) : -1;
	ssize_t got;

	if (fd < 0)
		bench_die(2, argc > 1 ? argv[1] : "FILE");
	while ((got = read(fd, buffer, sizeof buffer)) > 0)
		continue;
	return got < 0 ? 5 : 0;
}
