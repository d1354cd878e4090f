// SPDX-License-Identifier: Apache-2.0

/* watch.h: tells what watches a program, ThreadSanitizer, AddressSanitizer and valgrind, of Go. They see what C does,
 * and nothing of Go: without this the first one takes for a race what a program hands over through the bus, and none of them
 * sees Go read memory that the program has freed. What they have is in the program, if at all, so that a program that
 * is compiled or run with one works with the library as it is installed. */

#ifndef TAGBUS_WATCH_H
#define TAGBUS_WATCH_H

#include "core.h"

extern void __tsan_acquire(void *at) __attribute__((weak));
extern void __tsan_release(void *at) __attribute__((weak));

/* What a thread has done before given is before what another one does after taken of the same. */
static inline void given(const void *at)
{
	if (__tsan_release != NULL)
		__tsan_release((void *)(uintptr_t)at);
}

static inline void taken(const void *at)
{
	if (__tsan_acquire != NULL)
		__tsan_acquire((void *)(uintptr_t)at);
}

/* One for each tag and handle would be without a bound: some share one. */
#define ORDERS 256
#pragma GCC visibility push(hidden)
extern struct orders {
	uint64_t tags[ORDERS], handles[ORDERS];
	uint64_t requests, peers;
} orders;
#pragma GCC visibility pop

static inline size_t order_slot(uint64_t key) { return (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 56); }

/* A message: who publishes it comes before who receives it, and who handles it before who gets its acknowledgement. */
static inline void given_tag(uint64_t tag) { given(&orders.tags[order_slot(tag)]); }
static inline void taken_tag(uint64_t tag) { taken(&orders.tags[order_slot(tag)]); }

static inline void given_tags(const tagbus_message *messages, size_t n)
{
	size_t i;
	if (__tsan_release != NULL && messages != NULL && n <= INT32_MAX) /* more are refused, and not read */
		for (i = 0; i < n; i++)
			given_tag(messages[i].tag);
}

/* What came to a thread through Go. */
static inline void taken_box(const tagbus_box *box)
{
	size_t i;
	if (__tsan_acquire == NULL)
		return;
	taken(box);
	for (i = 0; i < box->batch.count; i++) {
		taken_tag(box->messages[i].tag);
		if (box->messages[i].flags & TAGBUS_REQUEST)
			taken(&orders.requests);
	}
}

/* A handle: what is asked of it comes before its callbacks, and these come before its end. */
static inline void given_handle(tagbus_handle h) { given(&orders.handles[order_slot(h)]); }
static inline void taken_handle(tagbus_handle h) { taken(&orders.handles[order_slot(h)]); }

/* A peer: what it subscribes, ends and the like comes before the event or the end of a wait that tells of it. */
static inline void given_peers(void) { given(&orders.peers); }
static inline void taken_peers(void) { taken(&orders.peers); }

/* --- what Go reads ---------------------------------------------------------------------------- */

extern void __tsan_read_range(void *at, unsigned long size) __attribute__((weak));
extern void __asan_loadN(uintptr_t at, uintptr_t size) __attribute__((weak));

/* ask_valgrind makes a client request as valgrind.h does, and returns 0 where there is no valgrind. */
static inline uintptr_t ask_valgrind(uintptr_t request, uintptr_t a, uintptr_t b)
{
	uintptr_t result = 0;
#if defined(__x86_64__) && defined(__LP64__)
	const volatile uintptr_t args[6] = {request, a, b, 0, 0, 0};
	__asm__ volatile("rolq $3, %%rdi\n\trolq $13, %%rdi\n\trolq $61, %%rdi\n\trolq $51, %%rdi\n\txchgq %%rbx, %%rbx"
		: "=d"(result) : "a"(&args[0]), "0"(result) : "cc", "memory");
#elif defined(__aarch64__) && defined(__LP64__)
	const volatile uintptr_t args[6] = {request, a, b, 0, 0, 0};
	__asm__ volatile("mov x3, %1\n\tmov x4, %2\n\tror x12, x12, #3\n\tror x12, x12, #13\n\tror x12, x12, #51\n\tror x12, x12, #61\n\t"
		"orr x10, x10, x10\n\tmov %0, x3"
		: "=r"(result) : "r"(result), "r"(&args[0]) : "cc", "memory", "x3", "x4");
#else
	(void)request, (void)a, (void)b;
#endif
	return result;
}

#define VALGRIND_IS_THERE 0x1001
#define VALGRIND_CHECK_ADDRESSES 0x4d430004 /* of its tool memcheck */

static int with_valgrind = -1;

/* read_by_go has them check memory that Go reads. */
static inline void read_by_go(const void *data, size_t size)
{
	if (size == 0)
		return;
	if (__tsan_read_range != NULL)
		__tsan_read_range((void *)(uintptr_t)data, size);
	if (__asan_loadN != NULL)
		__asan_loadN((uintptr_t)data, size);
	if (__atomic_load_n(&with_valgrind, __ATOMIC_RELAXED) < 0) /* threads find the same */
		__atomic_store_n(&with_valgrind, ask_valgrind(VALGRIND_IS_THERE, 0, 0) != 0, __ATOMIC_RELAXED);
	if (__atomic_load_n(&with_valgrind, __ATOMIC_RELAXED))
		(void)ask_valgrind(VALGRIND_CHECK_ADDRESSES, (uintptr_t)data, size);
}

static inline void read_batch_by_go(const tagbus_message *messages, size_t n)
{
	size_t i;
	if (n == 0)
		return;
	read_by_go(messages, n * sizeof *messages);
	for (i = 0; i < n && (__tsan_read_range != NULL || __asan_loadN != NULL || __atomic_load_n(&with_valgrind, __ATOMIC_RELAXED)); i++)
		read_by_go(messages[i].data, messages[i].size);
}

#endif
