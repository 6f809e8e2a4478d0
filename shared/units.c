/* units.c - sizes and times. */
#include "shared/units.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The number at the start of text; *rest is what follows it. */
static int number_before(const char *text, uint64_t *number, const char **rest)
{
	char *end;

	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	errno = 0;
	*number = strtoull(text, &end, 10);
	*rest = end;
	return errno == 0 ? 0 : -EINVAL;
}

int units_parse_number(const char *text, uint64_t least, uint64_t most, uint64_t *number)
{
	const char *rest;

	if (number_before(text, number, &rest) != 0 || *rest != '\0')
		return -EINVAL;
	return *number >= least && *number <= most ? 0 : -EINVAL;
}

int units_parse_size(const char *text, uint64_t *bytes)
{
	static const char letters[] = "KMGT";
	const char *rest, *letter;
	unsigned shift;

	if (number_before(text, bytes, &rest) != 0)
		return -EINVAL;
	if (*rest == '\0')
		return 0;
	letter = strchr(letters, toupper((unsigned char)*rest));
	if (letter == NULL)
		return -EINVAL;
	rest++;
	/* K, KB and KiB are the same here. */
	if (strcmp(rest, "") != 0 && strcmp(rest, "B") != 0 && strcmp(rest, "iB") != 0)
		return -EINVAL;
	shift = 10 * ((unsigned)(letter - letters) + 1);
	if (*bytes > UINT64_MAX >> shift)
		return -EINVAL;
	*bytes <<= shift;
	return 0;
}

int units_parse_time(const char *text, int64_t *ms)
{
	static const struct {
		const char *unit;
		uint64_t ms;
	} units[] = { { "ms", 1 }, { "s", 1000 }, { "", 1000 }, { "m", 60000 }, { "h", 3600000 } };
	const char *rest;
	uint64_t number;

	if (number_before(text, &number, &rest) != 0)
		return -EINVAL;
	for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
		if (strcmp(rest, units[i].unit) != 0)
			continue;
		if (number > (uint64_t)INT64_MAX / 1000000 / units[i].ms)
			return -EINVAL;
		*ms = (int64_t)(number * units[i].ms);
		return 0;
	}
	return -EINVAL;
}

char *units_format_bytes(uint64_t bytes, char out[UNITS_TEXT_MAX])
{
	static const char *const names[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double value = (double)bytes;
	int unit = -1;

	while (value >= 1023.95 && unit < 5) {
		value /= 1024;
		unit++;
	}
	if (unit < 0)
		snprintf(out, UNITS_TEXT_MAX, "%" PRIu64 " bytes", bytes);
	else
		snprintf(out, UNITS_TEXT_MAX, "%.1f %s", value, names[unit]);
	return out;
}
