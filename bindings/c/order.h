// SPDX-License-Identifier: Apache-2.0

/* order.h: what Go orders between threads, said to ThreadSanitizer. It sees what C does, and nothing of Go: without
 * this it takes for a race what a program hands over through the bus. Its runtime is in the program, if at all, so a
 * program that is compiled with it works with the library as it is installed. */

#ifndef TAGBUS_ORDER_H
#define TAGBUS_ORDER_H

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
static struct {
	uint64_t tags[ORDERS], handles[ORDERS];
	uint64_t requests, peers;
} orders;

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

#endif
