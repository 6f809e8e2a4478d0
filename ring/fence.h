/*
 * fence.h - fences, in a form that ThreadSanitizer accepts.
 *
 * It does not model fences; the exchange keeps the hardware's order there, and
 * every happens-before that a test relies on comes from the accesses' own
 * orders.
 */
#ifndef SLUICE_RING_FENCE_H
#define SLUICE_RING_FENCE_H

#include <stdatomic.h>

#if defined __SANITIZE_THREAD__
#define RING_UNDER_TSAN 1
#elif defined __has_feature
#if __has_feature(thread_sanitizer)
#define RING_UNDER_TSAN 1
#endif
#endif

static inline void fence_full(void)       /* both sides of pairs B, C, D, E */
{
#ifdef RING_UNDER_TSAN
	static atomic_int anything;

	atomic_fetch_add(&anything, 1);
#else
	atomic_thread_fence(memory_order_seq_cst);
#endif
}

static inline void fence_release(void)    /* the taking side of pair G */
{
#ifndef RING_UNDER_TSAN
	atomic_thread_fence(memory_order_release);
#endif
}

static inline void fence_acquire(void)    /* the reading side of pair G */
{
#ifndef RING_UNDER_TSAN
	atomic_thread_fence(memory_order_acquire);
#endif
}

#endif
