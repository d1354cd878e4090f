// SPDX-License-Identifier: Apache-2.0

/*
 * libtagbus.so: what tagbus.h promises, on top of libtagbus-core.so, which the first tagbus_open loads.
 *
 * These files have the things that C does better than Go: the check for fork, the text of the last error of a
 * thread, threads that call the program back, waiting, and the users of batches.
 */

#ifndef TAGBUS_LIBRARY_H
#define TAGBUS_LIBRARY_H

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core.h"
#include "watch.h"

#define LOAD(x) __atomic_load_n(&(x), __ATOMIC_SEQ_CST)
#define STORE(x, v) __atomic_store_n(&(x), v, __ATOMIC_SEQ_CST)
#define ADD(x, v) __atomic_add_fetch(&(x), v, __ATOMIC_SEQ_CST)

/* H is the id in the value of a handle. */
#define H(handle) ((tagbus_handle)(uintptr_t)(handle))
#define HANDLE(type, id) ((type *)(uintptr_t)(id))

#pragma GCC visibility push(hidden)

extern tagbus_core core;
extern int loaded; /* core is complete */
extern int forked; /* this process is a child of the one that has loaded it */
extern int *born; /* in memory that is 0 in a child of any kind of fork, also one that runs no handlers; NULL: the system cannot do that */

/* said is the last failure of a thread. */
extern _Thread_local tagbus_failure said;

struct thread;
/* What callback this thread is in, if any. */
struct inside {
	tagbus_handle owner, bus;
	int on_loop;
	struct thread *thread; /* NULL on the loop */
};
extern _Thread_local struct inside inside;

/* The batch whose callback this thread, a loop, is in. */
extern _Thread_local const tagbus_box *on_loop_now;

/* errors.c */
__attribute__((format(printf, 2, 3))) int say(int code, const char *format, ...);
int missing(const char *function, const char *argument);
int would_deadlock(const char *function);
int is_forked(void);
int usable(const char *function);
int usable_for(const char *function, int64_t ms);

/* bells.c */
struct timespec deadline(int64_t ms);
int await(tagbus_bell *bell, uint32_t seen, const struct timespec *end);
void ring(tagbus_bell *bell);

/* boxes.c */
tagbus_box *box_new(size_t messages, int ids);
void box_drop(tagbus_box *b);

/* threads.c */
int with_signals_blocked(int (*f)(void *), void *arg);
int need_thread(const char *function, tagbus_handle owner);
int may_wait(const char *function, tagbus_handle owner, tagbus_handle bus);
void waited(void);
int running(tagbus_handle owner, tagbus_handle bus);
void join(tagbus_handle owner, tagbus_handle bus);
void pass(tagbus_handle owner);

/* loop.c */
void loop_event(uintptr_t fn, uintptr_t user, tagbus_handle owner, tagbus_handle bus, tagbus_event *event);
void loop_batch(uintptr_t fn, uintptr_t user, tagbus_handle owner, tagbus_handle bus, tagbus_box *box);
void loop_end(uintptr_t fn, uintptr_t user, tagbus_handle owner, tagbus_handle bus, int code, const char *text);
void loop_done(uintptr_t fn, uintptr_t user, tagbus_handle owner, tagbus_handle bus);

/* load.c */
int need_core(const char *bus);

/* bus.c */
int close_handle(const char *function, tagbus_handle h, int kind);
tagbus_handle threaded(const char *function, tagbus_handle h, int kind, int has_callbacks);

/* publisher.c */
const void *payload(const void *data, size_t size);

#pragma GCC visibility pop

#endif
