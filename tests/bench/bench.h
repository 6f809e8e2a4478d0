/*
 * bench.h - what the benchmarks share: time, errors, quantiles.
 */
#ifndef SLUICE_BENCH_H
#define SLUICE_BENCH_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static inline uint64_t bench_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline _Noreturn void bench_die(int error, const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(error < 0 ? -error : error));
	exit(5);
}

static inline void bench_check(int error, const char *what)
{
	if (error != 0)
		bench_die(error, what);
}

/* What a consumer of messages does to each: add up its 8-byte words.  Four at a
 * time: with one at a time the loop was what limited messages of 1 KiB. */
static inline uint64_t bench_sum_words(const uint8_t *bytes, size_t length)
{
	typedef uint64_t pair __attribute__((vector_size(16)));
	pair even = { 0, 0 }, odd = { 0, 0 }, words;
	uint64_t sum, word;
	size_t at = 0;

	for (; at + 2 * sizeof words <= length; at += 2 * sizeof words) {
		memcpy(&words, bytes + at, sizeof words);
		even += words;
		memcpy(&words, bytes + at + sizeof words, sizeof words);
		odd += words;
	}
	even += odd;
	sum = even[0] + even[1];
	for (; at + sizeof word <= length; at += sizeof word) {
		memcpy(&word, bytes + at, sizeof word);
		sum += word;
	}
	return sum;
}

static inline int bench_compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The q-th part of sorted samples, 0 <= q <= 1. */
static inline uint64_t bench_quantile(const uint64_t *sorted, size_t count, double q)
{
	size_t at = (size_t)(q * (double)(count - 1));

	return sorted[at];
}

#endif
