/*
 * units.h - sizes and times as people write them.
 */
#ifndef SLUICE_UNITS_H
#define SLUICE_UNITS_H

#include <stddef.h>
#include <stdint.h>

#define UNITS_TEXT_MAX 32

/* "64K", "1M", "4G", "512": bytes, by powers of 1024.  0 or -EINVAL. */
int units_parse_size(const char *text, uint64_t *bytes);

/* "500ms", "30s", "2m", "1h", "10" (seconds): milliseconds.  0 or -EINVAL. */
int units_parse_time(const char *text, int64_t *ms);

/* A whole number within bounds.  0 or -EINVAL. */
int units_parse_number(const char *text, uint64_t least, uint64_t most, uint64_t *number);

/* "16.1 MiB".  Returns out. */
char *units_format_bytes(uint64_t bytes, char out[UNITS_TEXT_MAX]);

#endif
