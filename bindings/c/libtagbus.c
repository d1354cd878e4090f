// SPDX-License-Identifier: Apache-2.0

/*
 * libtagbus.so: what tagbus.h promises, on top of libtagbus-core.so, which the first tagbus_open loads.
 *
 * Here are the things that C does better than Go: the check for fork, the text of the last error of a
 * thread, threads that call the program back, waiting, and the users of batches.
 */

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

#define ITEMS 16

#define LOAD(x) __atomic_load_n(&(x), __ATOMIC_SEQ_CST)
#define STORE(x, v) __atomic_store_n(&(x), v, __ATOMIC_SEQ_CST)
#define ADD(x, v) __atomic_add_fetch(&(x), v, __ATOMIC_SEQ_CST)

static tagbus_core core;
static int loaded; /* core is complete */
static int forked; /* this process is a child of the one that has loaded it */
static int *born; /* in memory that is 0 in a child of any kind of fork, also one that runs no handlers; NULL: the system cannot do that */

/* --- errors ----------------------------------------------------------------------------------- */

/* said is the last failure of a thread. */
static _Thread_local tagbus_failure said;

__attribute__((format(printf, 2, 3))) static int say(int code, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	said.code = code;
	vsnprintf(said.text, sizeof said.text, format, args);
	va_end(args);
	return code;
}

static int missing(const char *function, const char *argument)
{
	return say(TAGBUS_EINVAL, "%s: %s is NULL", function, argument);
}

static int is_forked(void)
{
	int *p;
	return LOAD(forked) || (LOAD(loaded) && (p = LOAD(born)) != NULL && !LOAD(*p));
}

/* usable returns 0 if the core can be called. */
static int usable(const char *function)
{
	if (is_forked()) {
		return say(TAGBUS_EFORKED, "%s: this process is a child of fork, and its parent has opened a bus: open the bus after the fork, "
			"or start the child with exec (in Python: multiprocessing.set_start_method(\"spawn\"))",
			function);
	}
	if (!LOAD(loaded)) {
		return say(TAGBUS_EINVAL, "%s: no handle is open: call tagbus_open first", function);
	}
	return 0;
}

/* usable_for returns 0 if the core can be called for so long. A time that is negative comes of a program that
 * computes how much is left of it: that is not for ever. */
static int usable_for(const char *function, int64_t ms)
{
	int code = usable(function);
	if (code == 0 && ms < 0 && ms != TAGBUS_FOREVER)
		code = say(TAGBUS_EINVAL, "%s: timeout_ms is %lld, want 0 or more, or TAGBUS_FOREVER", function, (long long)ms);
	return code;
}

const char *tagbus_last_error(void) { return said.text; }

int tagbus_last_code(void) { return said.code; }

const char *tagbus_error_name(int code)
{
	switch (code) {
	case TAGBUS_OK: return "TAGBUS_OK";
	case TAGBUS_EINVAL: return "TAGBUS_EINVAL";
	case TAGBUS_ECLOSED: return "TAGBUS_ECLOSED";
	case TAGBUS_ETIMEOUT: return "TAGBUS_ETIMEOUT";
	case TAGBUS_ENOROOM: return "TAGBUS_ENOROOM";
	case TAGBUS_EUNKNOWNTAG: return "TAGBUS_EUNKNOWNTAG";
	case TAGBUS_ETOOLARGE: return "TAGBUS_ETOOLARGE";
	case TAGBUS_ENORECEIVER: return "TAGBUS_ENORECEIVER";
	case TAGBUS_EDENIED: return "TAGBUS_EDENIED";
	case TAGBUS_EFORKED: return "TAGBUS_EFORKED";
	case TAGBUS_EWOULDDEADLOCK: return "TAGBUS_EWOULDDEADLOCK";
	case TAGBUS_ELOAD: return "TAGBUS_ELOAD";
	case TAGBUS_ELIMIT: return "TAGBUS_ELIMIT";
	case TAGBUS_END: return "TAGBUS_END";
	case TAGBUS_EUNDELIVERED: return "TAGBUS_EUNDELIVERED";
	case TAGBUS_EUNACKED: return "TAGBUS_EUNACKED";
	case TAGBUS_ENOREPLY: return "TAGBUS_ENOREPLY";
	case TAGBUS_ESYSTEM: return "TAGBUS_ESYSTEM";
	case TAGBUS_EINTERNAL: return "TAGBUS_EINTERNAL";
	case TAGBUS_ENOPUBLISHER: return "TAGBUS_ENOPUBLISHER";
	}
	return "unknown";
}

const char *tagbus_version(void)
{
	return LOAD(loaded) && !is_forked() ? core.version() : TAGBUS_VERSION;
}

void tagbus_free(char *text) { free(text); }

/* --- bells ------------------------------------------------------------------------------------ */

/* deadline returns the time on the monotonic clock in ms from now. */
static struct timespec deadline(int64_t ms)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	if (ms > INT64_C(31536000000))
		ms = INT64_C(31536000000);
	t.tv_sec += (time_t)(ms / 1000);
	t.tv_nsec += (long)(ms % 1000) * 1000000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_nsec -= 1000000000;
		t.tv_sec++;
	}
	return t;
}

/* await waits until a bell does not show seen any more, or until end, NULL: for ever. It returns 0 when
 * the time is over. A signal may make it return 1 early. */
static int await(tagbus_bell *bell, uint32_t seen, const struct timespec *end)
{
	long r;
	ADD(bell->waiters, 1);
	/* FUTEX_WAIT_BITSET takes the time as it is, and not how long from now. */
	r = syscall(SYS_futex, &bell->value, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, seen, end, NULL, FUTEX_BITSET_MATCH_ANY);
	ADD(bell->waiters, (uint32_t)-1);
	return !(r == -1 && errno == ETIMEDOUT);
}

static void ring(tagbus_bell *bell)
{
	ADD(bell->value, 1);
	if (LOAD(bell->waiters) > 0)
		syscall(SYS_futex, &bell->value, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT_MAX, NULL, NULL, 0);
}

/* --- batches ---------------------------------------------------------------------------------- */

/* Boxes are in slabs, each twice as large as the one before, and are never handed back: so it can be
 * told whether an address is that of a box, and whether the box is in use. */
#define FIRST_SLAB 64
#define SLABS 20

static pthread_mutex_t boxes_lock = PTHREAD_MUTEX_INITIALIZER;
static tagbus_box *slabs[SLABS];
static tagbus_box *free_first, *free_last;

static size_t slab_size(int i) { return (size_t)FIRST_SLAB << i; }

/* box_of returns the box of a batch, NULL if there is none at the address. */
static tagbus_box *box_of(const tagbus_batch *batch)
{
	uintptr_t at = (uintptr_t)batch;
	int i;
	for (i = 0; i < SLABS; i++) {
		tagbus_box *slab = LOAD(slabs[i]);
		uintptr_t begin = (uintptr_t)slab;
		if (slab == NULL)
			break;
		if (at >= begin && at < begin + slab_size(i) * sizeof *slab)
			return (at - begin) % sizeof *slab == 0 ? slab + (at - begin) / sizeof *slab : NULL;
	}
	return NULL;
}

/* grow adds a slab. boxes_lock is held. */
static int grow(void)
{
	int i = 0;
	size_t n;
	tagbus_box *slab;
	while (i < SLABS && slabs[i] != NULL)
		i++;
	if (i == SLABS || (slab = calloc(slab_size(i), sizeof *slab)) == NULL)
		return 0;
	for (n = 0; n + 1 < slab_size(i); n++)
		slab[n].next = &slab[n + 1];
	free_first = slab;
	free_last = &slab[slab_size(i) - 1];
	STORE(slabs[i], slab);
	return 1;
}

/* Room for messages that is free, the newest first: it is in the cache of the processor. Boxes go round
 * all, so rows of their own would push everything else out of the cache. */
typedef struct rows {
	struct rows *next;
	size_t room; /* of messages */
} rows;

static rows *free_rows; /* boxes_lock is held */
static int rows_kept;

#define KEPT_ROWS 64
#define KEPT_MESSAGES 8192 /* of rows */

/* rows_take gives the newest rows to a box. boxes_lock is held. */
static void rows_take(tagbus_box *b)
{
	rows *newest = free_rows;
	if (newest == NULL)
		return;
	free_rows = newest->next;
	rows_kept--;
	b->room = newest->room;
	b->messages = (tagbus_message *)(void *)newest;
}

/* rows_leave takes the rows of a box back. boxes_lock is held. */
static void rows_leave(tagbus_box *b)
{
	rows *newest = (rows *)(void *)b->messages;
	if (newest != NULL && b->room <= KEPT_MESSAGES && rows_kept < KEPT_ROWS) {
		newest->room = b->room;
		newest->next = free_rows;
		free_rows = newest;
		rows_kept++;
	} else {
		free(newest);
	}
	b->room = 0;
	b->messages = NULL;
	b->batch.messages = NULL;
	b->batch.count = 0;
}

static void no_memory(void)
{
	fputs("libtagbus: out of memory for messages that have arrived\n", stderr);
	abort();
}

static tagbus_box *box_new(size_t messages, int ids)
{
	tagbus_box *b;
	pthread_mutex_lock(&boxes_lock);
	if (free_first == NULL && !grow())
		no_memory();
	b = free_first;
	free_first = b->next;
	rows_take(b);
	pthread_mutex_unlock(&boxes_lock);
	b->next = NULL;
	if (b->room < messages) {
		free(b->messages);
		b->room = messages < 16 ? 16 : messages;
		if ((b->messages = malloc(b->room * sizeof *b->messages)) == NULL)
			no_memory();
	}
	if (ids && (b->ids = calloc(messages, 16)) == NULL)
		no_memory();
	b->batch.messages = b->messages;
	b->batch.count = messages;
	b->batch.publisher = b->publisher;
	b->token = 0;
	b->kept = b->on_loop = 0;
	STORE(b->users, 1);
	given(b);
	return b;
}

/* The batch whose callback this thread, a loop, is in. */
static _Thread_local const tagbus_box *on_loop_now;

/* box_release takes a user off, and returns 0 if there was none. */
static int box_release(tagbus_box *b)
{
	int n = LOAD(b->users);
	given(b);
	do {
		if (n <= 0)
			return 0;
	} while (!__atomic_compare_exchange_n(&b->users, &n, n - 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
	if (n > 1)
		return 1;
	taken(b);
	core.box_free(b->token);
	free(b->ids);
	b->ids = NULL;
	pthread_mutex_lock(&boxes_lock);
	rows_leave(b);
	/* To the end: what was released is found to be for long. */
	b->next = NULL;
	if (free_first == NULL)
		free_first = b;
	else
		free_last->next = b;
	free_last = b;
	pthread_mutex_unlock(&boxes_lock);
	return 1;
}

static void box_drop(tagbus_box *b) { (void)box_release(b); }

static tagbus_box *box_arg(const char *function, const tagbus_batch *batch)
{
	tagbus_box *b;
	if (usable(function) != 0)
		return NULL;
	b = box_of(batch);
	if (b == NULL || LOAD(b->users) <= 0) {
		say(TAGBUS_EINVAL, "%s: batch is %s", function,
			batch == NULL ? "NULL" : b == NULL ? "none of this library" : "released");
		return NULL;
	}
	return b;
}

static int box_keep(tagbus_box *b)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* threads of a program may keep a batch at once */
	int code = 0;
	if (LOAD(b->kept))
		return 0;
	if (b->on_loop && on_loop_now != b) {
		return say(TAGBUS_EINVAL, "tagbus_batch_retain: batch is that of a callback with --on-loop, which has to retain it itself: "
			"call it in the callback, and hand the batch over");
	}
	pthread_mutex_lock(&lock);
	if (!LOAD(b->kept) && (code = core.box_keep(b, &said)) == 0)
		STORE(b->kept, 1);
	pthread_mutex_unlock(&lock);
	return code;
}

int tagbus_batch_retain(const tagbus_batch *batch)
{
	tagbus_box *b = box_arg("tagbus_batch_retain", batch);
	int n, code;
	if (b == NULL)
		return said.code;
	if ((code = box_keep(b)) != 0)
		return code;
	n = LOAD(b->users);
	do {
		if (n <= 0)
			return say(TAGBUS_EINVAL, "tagbus_batch_retain: batch is released");
	} while (!__atomic_compare_exchange_n(&b->users, &n, n + 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
	return TAGBUS_OK;
}

int tagbus_batch_release(const tagbus_batch *batch)
{
	tagbus_box *b = box_arg("tagbus_batch_release", batch);
	if (b == NULL)
		return said.code;
	return box_release(b) ? TAGBUS_OK : say(TAGBUS_EINVAL, "tagbus_batch_release: batch is released");
}

int tagbus_batch_request_id(const tagbus_batch *batch, size_t i, uint8_t id[16])
{
	tagbus_box *b = box_arg("tagbus_batch_request_id", batch);
	if (b == NULL)
		return said.code;
	if (id == NULL)
		return missing("tagbus_batch_request_id", "id");
	if (i >= b->batch.count) {
		return say(TAGBUS_EINVAL, "tagbus_batch_request_id: i is %zu, and the batch has %zu messages", i, b->batch.count);
	}
	if (b->ids == NULL || !(b->messages[i].flags & TAGBUS_REQUEST))
		return say(TAGBUS_EINVAL, "tagbus_batch_request_id: the message has no request id");
	memcpy(id, b->ids[i], 16);
	return TAGBUS_OK;
}

/* --- threads ---------------------------------------------------------------------------------- */

/* A thread makes the callbacks of an owner: a publisher, subscriber, sender or receiver. */
struct thread {
	tagbus_handle owner, bus;
	tagbus_bell *bell;
	pthread_t id;
	struct thread *awaits; /* the one whose callbacks a callback of this one waits for */
	int joining;
	struct thread *next;
};

static pthread_mutex_t threads_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t threads_changed = PTHREAD_COND_INITIALIZER;
static struct thread *threads;

/* What callback this thread is in, if any. */
static _Thread_local struct inside {
	tagbus_handle owner, bus;
	int on_loop;
	struct thread *thread; /* NULL on the loop */
} inside;


static void call_batch(const tagbus_work *w)
{
	((tagbus_batch_fn)w->fn)((void *)w->user, &w->box->batch);
	box_drop(w->box);
}

static void do_work(tagbus_work *w)
{
	if (w->kind == TAGBUS_WORK_BATCH)
		taken_box(w->box);
	else
		taken_peers();
	switch (w->kind) {
	case TAGBUS_WORK_EVENT:
		((tagbus_event_fn)w->fn)((void *)w->user, w->event);
		free(w->event);
		break;
	case TAGBUS_WORK_BATCH:
		call_batch(w);
		break;
	case TAGBUS_WORK_END:
		((tagbus_end_fn)w->fn)((void *)w->user, w->code, w->text);
		free(w->text);
		break;
	case TAGBUS_WORK_DONE:
		((tagbus_done_fn)w->fn)((void *)w->user);
		break;
	case TAGBUS_WORK_FENCE:
		pthread_mutex_lock(&threads_lock);
		*(int *)w->user = 1;
		pthread_cond_broadcast(&threads_changed);
		pthread_mutex_unlock(&threads_lock);
		break;
	}
}

static void *run(void *arg)
{
	struct thread *t = arg;
	tagbus_work items[ITEMS];
	inside.owner = t->owner;
	inside.bus = t->bus;
	inside.thread = t;
	for (;;) {
		uint32_t seen = LOAD(t->bell->value);
		int i, n = core.work(t->owner, items, ITEMS);
		taken_handle(t->owner);
		for (i = 0; i < n; i++) {
			if (items[i].kind == TAGBUS_WORK_QUIT)
				return NULL;
			do_work(&items[i]);
		}
		if (n < 0) {
			fprintf(stderr, "libtagbus: callbacks of a handle end: a fault of the library\n");
			return NULL;
		}
		given_handle(t->owner);
		if (n == 0)
			(void)await(t->bell, seen, NULL);
	}
}

/* find returns the thread of an owner. threads_lock is held. */
static struct thread *find(tagbus_handle owner)
{
	struct thread *t;
	for (t = threads; t != NULL && t->owner != owner; t = t->next)
		;
	return t;
}

/* with_signals_blocked runs f with all signals blocked: threads that it starts inherit that. */
static int with_signals_blocked(int (*f)(void *), void *arg)
{
	sigset_t all, before;
	int r;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = f(arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r;
}

static int start(void *arg)
{
	struct thread *t = arg;
	return pthread_create(&t->id, NULL, run, t);
}

/* need_thread has a thread for an owner, unless its callbacks are made on the loop. */
static int need_thread(const char *function, tagbus_handle owner)
{
	int r = 0;
	tagbus_bell *bell = core.bell(owner);
	struct thread *t;
	if (bell == NULL)
		return 0;
	pthread_mutex_lock(&threads_lock);
	if (find(owner) == NULL) {
		if ((t = calloc(1, sizeof *t)) == NULL) {
			r = ENOMEM;
		} else {
			t->owner = owner;
			t->bus = core.bus_of(owner);
			t->bell = bell;
			if ((r = with_signals_blocked(start, t)) == 0) {
				t->next = threads;
				threads = t;
			} else {
				free(t);
			}
		}
	}
	pthread_mutex_unlock(&threads_lock);
	if (r != 0) {
		return say(TAGBUS_ESYSTEM, "%s: a thread for the callbacks: %s", function, strerror(r));
	}
	return 0;
}

/* may_wait returns 0 if this thread may wait until no callback of an owner, or of all of a bus, runs. It
 * notes that it does; waited undoes that. */
static int may_wait(const char *function, tagbus_handle owner, tagbus_handle bus)
{
	int deadlock = 0;
	struct thread *t, *own = inside.thread;
	if (inside.owner == 0)
		return 0;
	if (inside.bus == bus || inside.owner == owner || (inside.on_loop && core.bus_of(owner) == inside.bus))
		deadlock = 1;
	pthread_mutex_lock(&threads_lock);
	if (!deadlock && own != NULL && owner != 0) {
		struct thread *target = find(owner);
		for (t = target; t != NULL && t != own; t = t->awaits)
			;
		deadlock = t == own;
		if (!deadlock)
			own->awaits = target;
	}
	if (!deadlock && own != NULL && bus != 0) {
		for (t = threads; t != NULL && !deadlock; t = t->next) {
			struct thread *next;
			if (t->bus != bus)
				continue;
			for (next = t->awaits; next != NULL && next != own; next = next->awaits)
				;
			deadlock = next == own;
		}
	}
	pthread_mutex_unlock(&threads_lock);
	if (!deadlock)
		return 0;
	return say(TAGBUS_EWOULDDEADLOCK, "%s: it would wait for the callback that calls it: call it on another thread", function);
}

static void waited(void)
{
	if (inside.thread == NULL)
		return;
	pthread_mutex_lock(&threads_lock);
	inside.thread->awaits = NULL;
	pthread_mutex_unlock(&threads_lock);
}

/* join waits for the ends of the threads of an owner, or of a bus: those of which the core has said that
 * they end. */
static void join(tagbus_handle owner, tagbus_handle bus)
{
	struct thread **at, *t;
	pthread_mutex_lock(&threads_lock);
again:
	for (at = &threads; (t = *at) != NULL; at = &t->next) {
		if (t->owner != owner && (bus == 0 || t->bus != bus))
			continue;
		if (t->joining) {
			pthread_cond_wait(&threads_changed, &threads_lock);
			goto again;
		}
		t->joining = 1;
		pthread_mutex_unlock(&threads_lock);
		pthread_join(t->id, NULL);
		pthread_mutex_lock(&threads_lock);
		for (at = &threads; *at != t; at = &(*at)->next)
			;
		*at = t->next;
		free(t);
		pthread_cond_broadcast(&threads_changed);
		goto again;
	}
	pthread_mutex_unlock(&threads_lock);
}

/* pass waits until the thread of an owner has made all callbacks that it has to make now. */
static void pass(tagbus_handle owner)
{
	int passed = 0, comes;
	struct thread *t;
	pthread_mutex_lock(&threads_lock);
	t = find(owner);
	pthread_mutex_unlock(&threads_lock);
	if (t == NULL)
		return;
	comes = core.fence(owner, (uintptr_t)&passed); /* else another thread closes the owner */
	pthread_mutex_lock(&threads_lock);
	while (comes ? !passed : find(owner) != NULL)
		pthread_cond_wait(&threads_changed, &threads_lock);
	pthread_mutex_unlock(&threads_lock);
}

/* Callbacks on the loop. */

static struct inside enter(tagbus_handle owner, tagbus_handle bus)
{
	struct inside before = inside;
	inside.owner = owner;
	inside.bus = bus;
	inside.on_loop = 1;
	taken_handle(owner);
	return before;
}

static void leave(struct inside before)
{
	given_handle(inside.owner);
	given_handle(inside.bus);
	inside = before;
}

static void loop_event(uintptr_t fn, uintptr_t user, tagbus_handle owner, tagbus_handle bus, tagbus_event *event)
{
	struct inside before = enter(owner, bus);
	taken_peers();
	taken(event);
	((tagbus_event_fn)fn)((void *)user, event);
	given(event);
	leave(before);
}

static void loop_batch(uintptr_t fn, uintptr_t user, tagbus_handle owner, tagbus_handle bus, tagbus_box *box)
{
	struct inside before = enter(owner, bus);
	taken_box(box);
	box->on_loop = 1;
	on_loop_now = box;
	((tagbus_batch_fn)fn)((void *)user, &box->batch);
	on_loop_now = NULL;
	given_tags(box->messages, box->batch.count);
	leave(before);
}

static void loop_end(uintptr_t fn, uintptr_t user, tagbus_handle owner, tagbus_handle bus, int code, const char *text)
{
	struct inside before = enter(owner, bus);
	taken(text);
	((tagbus_end_fn)fn)((void *)user, code, text);
	given(text);
	leave(before);
}

static void loop_done(uintptr_t fn, uintptr_t user, tagbus_handle owner, tagbus_handle bus)
{
	struct inside before = enter(owner, bus);
	((tagbus_done_fn)fn)((void *)user);
	leave(before);
}

/* --- the core --------------------------------------------------------------------------------- */

static pthread_mutex_t load_lock = PTHREAD_MUTEX_INITIALIZER;
static const tagbus_hooks hooks = {box_new, box_drop, ring, loop_event, loop_batch, loop_end, loop_done};

/* A fork waits for a thread that loads the core: a child cannot use half of it, nor wait for that thread. */
static void before_fork(void) { pthread_mutex_lock(&load_lock); }
static void after_fork(void) { pthread_mutex_unlock(&load_lock); }

static void in_child(void)
{
	if (LOAD(loaded))
		STORE(forked, 1);
	pthread_mutex_unlock(&load_lock);
}

__attribute__((constructor)) static void guard_forks(void) { (void)pthread_atfork(before_fork, after_fork, in_child); }

/* mark_birth has born say whether this process is one of its own. */
static void mark_birth(void)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	int *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return;
	if (madvise(p, size, MADV_WIPEONFORK) != 0) {
		munmap(p, size);
		return;
	}
	STORE(*p, 1);
	STORE(born, p);
}

/* descriptors returns 0 if there are some: the runtime in the core ends the process if it gets none. */
static int descriptors(void)
{
	int fds[8], n = 0, r = 0;
	while (n < 8 && (fds[n] = eventfd(0, EFD_CLOEXEC)) >= 0)
		n++;
	if (n < 8)
		r = say(TAGBUS_ESYSTEM, "tagbus_open: eventfd: %s: close some open files, or raise their limit (ulimit -n)", strerror(errno));
	while (n > 0)
		close(fds[--n]);
	return r;
}

/* beside writes the path of a file beside a library. */
static void beside(char *path, size_t room, const char *library, const char *name)
{
	const char *slash = strrchr(library, '/');
	if (slash != NULL)
		snprintf(path, room, "%.*s/%s", (int)(slash - library), library, name);
	else
		snprintf(path, room, "%s", name);
}

/* open_core_file opens the file that TAGBUS_CORE names, or the one beside this library, also where a link led
 * to that. If there is none it is the one that the system finds: a wheel has no etcd, which a package may have. */
static void *open_core_file(char *path, size_t room, const char *name)
{
	const int flags = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;
	const char *set = secure_getenv("TAGBUS_CORE");
	char real[PATH_MAX];
	Dl_info info;
	void *library = NULL;
	if (set != NULL && *set != 0) {
		snprintf(path, room, "%s", set);
	} else if (dladdr((void *)(uintptr_t)&core, &info) == 0 || info.dli_fname == NULL) {
		snprintf(path, room, "%s", name);
	} else {
		beside(path, room, info.dli_fname, name);
		if (access(path, F_OK) != 0 && realpath(info.dli_fname, real) != NULL)
			beside(path, room, real, name);
		if (access(path, F_OK) != 0)
			library = dlopen(name, flags);
	}
	return library != NULL ? library : dlopen(path, flags);
}

/* not_loaded says why the core is not loaded, and what to do. */
static int not_loaded(const char *why, int etcd, int glibc)
{
	/* The text is what musl says: in a library that is loaded late it has no place for the thread's memory of Go.
	 * Compatibility layers have the symbol of glibc. */
	if (!glibc || strstr(why, "initial-exec TLS") != NULL)
		return say(TAGBUS_ELOAD, "tagbus_open: the core cannot be loaded: the C library here is musl, as of Alpine, which cannot load the "
			"Go runtime (%s): run the program where there is glibc, as on Debian or AlmaLinux, or leave the bus to the "
			"programs subscriber --output and publisher --input, and read and write their pipes", why);
	return say(TAGBUS_ELOAD, "tagbus_open: the core cannot be loaded: %s: install %s, or name its file in TAGBUS_CORE", why,
		etcd ? "libtagbus0-etcd" : "libtagbus0");
}

static const char etcd_scheme[] = "etcd://";

/* load loads the core. It runs with all signals blocked: the threads of Go inherit that, so handlers of
 * the program, some of which lack SA_ONSTACK, do not run on their small stacks. */
static int load(void *arg)
{
	const char *bus = arg;
	int etcd = strncmp(bus, etcd_scheme, sizeof etcd_scheme - 1) == 0, abi;
	int glibc = dlsym(RTLD_DEFAULT, "gnu_get_libc_version") != NULL; /* later it would end the text of dlerror */
	char path[PATH_MAX];
	void *library, *symbol;
	tagbus_core_v1_fn open_core;
	tagbus_core table;
	if (descriptors() != 0)
		return said.code;
	library = open_core_file(path, sizeof path, etcd ? "libtagbus-core-etcd.so" : "libtagbus-core.so");
	if (library == NULL) {
		const char *why = dlerror();
		return not_loaded(why != NULL ? why : path, etcd, glibc);
	}
	symbol = dlsym(library, "tagbus_core_v1");
	memcpy(&open_core, &symbol, sizeof open_core);
	memset(&table, 0, sizeof table);
	abi = symbol != NULL ? open_core(TAGBUS_CORE_ABI, &table, &hooks) : 0;
	if (abi == TAGBUS_CORE_TAKEN) {
		return say(TAGBUS_ELOAD, "tagbus_open: another copy of libtagbus.so in this process has %s: have one copy of the library, or a core of its own "
			"beside each", path);
	}
	if (abi != TAGBUS_CORE_ABI) {
		return say(TAGBUS_ELOAD, "tagbus_open: %s is not of this libtagbus.so (it has core ABI %d, want %d): install both from one package", path, abi,
			TAGBUS_CORE_ABI);
	}
	core = table;
	mark_birth();
	STORE(loaded, 1);
	return 0;
}

/* need_core loads the core, unless that was done. */
static int need_core(const char *bus)
{
	int r = 0;
	if (is_forked())
		return usable("tagbus_open");
	pthread_mutex_lock(&load_lock);
	if (!LOAD(loaded)) {
		char *copy = strndup(bus, sizeof etcd_scheme); /* its scheme */
		r = copy != NULL ? with_signals_blocked(load, copy) : say(TAGBUS_ESYSTEM, "tagbus_open: out of memory");
		free(copy);
	}
	pthread_mutex_unlock(&load_lock);
	if (r == 0 && core.needs_etcd(bus))
		return say(TAGBUS_ELOAD, "tagbus_open: this process has loaded libtagbus-core.so, which has no etcd, for the bus that it opened "
			"first: open the bus on etcd first, or set TAGBUS_CORE to the file of libtagbus-core-etcd.so, which opens folders, too");
	return r;
}

/* H is the id in the value of a handle. */
#define H(handle) ((tagbus_handle)(uintptr_t)(handle))
#define HANDLE(type, id) ((type *)(uintptr_t)(id))

tagbus_bus *tagbus_open(const char *bus, const char *options)
{
	if (bus == NULL) {
		missing("tagbus_open", "bus");
		return NULL;
	}
	return need_core(bus) != 0 ? NULL : HANDLE(tagbus, core.open(bus, options, &said));
}

/* close_handle closes what has a thread, or several. */
static int close_handle(const char *function, tagbus_handle h, int kind)
{
	tagbus_handle bus = kind == TAGBUS_KIND_BUS ? h : 0, owner = kind == TAGBUS_KIND_BUS ? 0 : h;
	int code = usable(function);
	if (code == 0)
		code = may_wait(function, owner, bus);
	if (code != 0)
		return code;
	given_handle(h);
	given_peers();
	code = core.close(h, kind, &said);
	taken_handle(h);
	if (code != TAGBUS_EINVAL && code != TAGBUS_ECLOSED && code != TAGBUS_EWOULDDEADLOCK)
		join(owner, bus);
	waited();
	return code;
}

int tagbus_close(tagbus *bus) { return close_handle("tagbus_close", H(bus), TAGBUS_KIND_BUS); }

int tagbus_alive(tagbus *bus, int64_t timeout_ms)
{
	int code = usable_for("tagbus_alive", timeout_ms);
	return code != 0 ? code : core.alive(H(bus), timeout_ms, &said);
}

/* --- publisher -------------------------------------------------------------------------------- */

/* threaded returns a handle whose callbacks have a thread. */
static tagbus_handle threaded(const char *function, tagbus_handle h, int kind, int has_callbacks)
{
	if (h == 0 || !has_callbacks || need_thread(function, h) == 0)
		return h;
	{
		tagbus_failure why = said;
		(void)core.close(h, kind, &said);
		said = why;
	}
	return 0;
}

tagbus_publisher *tagbus_publisher_open(tagbus *bus, const char *tags, const char *options, tagbus_event_fn on_event, void *user)
{
	static const char function[] = "tagbus_publisher_open";
	if (usable(function) != 0)
		return NULL;
	return HANDLE(tagbus_publisher, threaded(function, core.publisher_open(H(bus), tags, options, on_event, user, &said),
		TAGBUS_KIND_PUBLISHER, on_event != NULL));
}

/* room is a wait for room. */
struct room {
	const char *function;
	int64_t ms;
	tagbus_bell *bell;
	uint32_t seen;
	struct timespec end;
};

/* A wait for room looks again after so long: what a drain of another thread ends does not ring. */
#define LOOK_MS 100

/* again returns 1 if a call that has returned TAGBUS_ENOROOM is to be made again; else said has why not. */
static int again(struct room *r, tagbus_publisher *p)
{
	struct timespec look;
	if (r->ms == 0) {
		say(TAGBUS_ENOROOM, "%s: the queues are full, and timeout_ms is 0: try again, or give it time to wait for slow subscribers", r->function);
		return 0;
	}
	if (inside.on_loop) {
		say(TAGBUS_EWOULDDEADLOCK, "%s: it would wait for the loop that calls it: use timeout_ms 0, or another thread", r->function);
		return 0;
	}
	if (r->bell == NULL) { /* what becomes free from here on rings */
		if ((r->bell = core.room(H(p))) == NULL)
			return 1;
		if (r->ms > 0)
			r->end = deadline(r->ms);
		r->seen = LOAD(r->bell->value);
		return 1;
	}
	look = deadline(LOOK_MS);
	if (r->ms > 0 && (r->end.tv_sec < look.tv_sec || (r->end.tv_sec == look.tv_sec && r->end.tv_nsec < look.tv_nsec))) {
		if (!await(r->bell, r->seen, &r->end)) {
			say(TAGBUS_ETIMEOUT, "%s: timeout_ms is over, and the queues are full: a subscriber is too slow, or stopped", r->function);
			return 0;
		}
	} else {
		(void)await(r->bell, r->seen, &look);
	}
	r->seen = LOAD(r->bell->value);
	return 1;
}

/* Without bytes an address may be any number; Go takes none that is no pointer. */
static const void *payload(const void *data, size_t size) { return size == 0 ? NULL : data; }

int tagbus_publish(tagbus_publisher *p, uint64_t tag, const void *data, size_t size, uint8_t status, int64_t timeout_ms)
{
	struct room r = {.function = "tagbus_publish", .ms = timeout_ms};
	int code = usable_for(r.function, timeout_ms);
	if (code != 0)
		return code;
	given_tag(tag);
	do {
		code = core.publish(H(p), tag, payload(data, size), size, status, &said);
	} while (code == TAGBUS_ENOROOM && again(&r, p));
	if (code == 0)
		read_by_go(data, size);
	return code == TAGBUS_ENOROOM ? said.code : code;
}

int64_t tagbus_publish_batch(tagbus_publisher *p, const tagbus_message *messages, size_t count, int64_t timeout_ms)
{
	struct room r = {.function = "tagbus_publish_batch", .ms = timeout_ms};
	int code = usable_for(r.function, timeout_ms);
	size_t accepted = 0;
	int64_t n;
	if (code != 0)
		return code;
	given_tags(messages, count);
	do {
		said.code = TAGBUS_OK;
		n = core.publish_batch(H(p), messages == NULL ? NULL : messages + accepted, count - accepted, &said);
		if (n > 0)
			accepted += (size_t)n;
	} while (accepted < count && said.code == TAGBUS_ENOROOM && again(&r, p));
	read_batch_by_go(messages, accepted);
	if (accepted > 0 || n == 0 || said.code == TAGBUS_ENOROOM || said.code == TAGBUS_ETIMEOUT)
		return (int64_t)accepted;
	return said.code;
}

int tagbus_publish_zero_copy(tagbus_publisher *p, uint64_t tag, const void *data, size_t size, uint8_t status, int64_t timeout_ms,
	tagbus_done_fn done, void *user)
{
	struct room r = {.function = "tagbus_publish_zero_copy", .ms = timeout_ms};
	int code = usable_for(r.function, timeout_ms);
	if (code == 0 && done != NULL)
		code = need_thread(r.function, H(p));
	if (code != 0)
		return code;
	given_tag(tag);
	given_handle(H(p));
	read_by_go(data, size); /* afterwards it may be another one's */
	do {
		code = core.publish_zero_copy(H(p), tag, payload(data, size), size, status, done, user, &said);
	} while (code == TAGBUS_ENOROOM && again(&r, p));
	return code == TAGBUS_ENOROOM ? said.code : code;
}

int tagbus_reply(tagbus_publisher *p, const uint8_t request[16], uint64_t tag, const void *data, size_t size, uint8_t status,
	int64_t timeout_ms)
{
	struct room r = {.function = "tagbus_reply", .ms = timeout_ms};
	int code = usable_for(r.function, timeout_ms);
	if (code != 0)
		return code;
	given_tag(tag);
	do {
		code = core.reply(H(p), request, tag, payload(data, size), size, status, &said);
	} while (code == TAGBUS_ENOROOM && again(&r, p));
	if (code == 0) {
		read_by_go(request, 16);
		read_by_go(data, size);
	}
	return code == TAGBUS_ENOROOM ? said.code : code;
}

int tagbus_publisher_flush(tagbus_publisher *p)
{
	int code = usable("tagbus_publisher_flush");
	return code != 0 ? code : core.flush(H(p), TAGBUS_KIND_PUBLISHER, &said);
}

int tagbus_publisher_add(tagbus_publisher *p, const char *tags)
{
	int code = usable("tagbus_publisher_add");
	given_peers();
	return code != 0 ? code : core.publisher_change(H(p), tags, 1, &said);
}

int tagbus_publisher_remove(tagbus_publisher *p, const char *tags)
{
	int code = usable("tagbus_publisher_remove");
	given_peers();
	return code != 0 ? code : core.publisher_change(H(p), tags, 0, &said);
}

int tagbus_publisher_wait(tagbus_publisher *p, size_t n, const char *tags, int64_t timeout_ms)
{
	int code = usable_for("tagbus_publisher_wait", timeout_ms);
	if (code == 0)
		code = core.wait(H(p), TAGBUS_KIND_PUBLISHER, n, tags, timeout_ms, &said);
	taken_peers();
	return code;
}

int tagbus_publisher_drain(tagbus_publisher *p, const char *failure, int64_t timeout_ms)
{
	int code = usable_for("tagbus_publisher_drain", timeout_ms);
	given_peers();
	return code != 0 ? code : core.drain(H(p), TAGBUS_KIND_PUBLISHER, failure, timeout_ms, &said);
}

int tagbus_publisher_close(tagbus_publisher *p) { return close_handle("tagbus_publisher_close", H(p), TAGBUS_KIND_PUBLISHER); }

/* --- subscriber ------------------------------------------------------------------------------- */

tagbus_subscriber *tagbus_subscriber_open(tagbus *bus, const char *options, tagbus_event_fn on_event, void *user)
{
	static const char function[] = "tagbus_subscriber_open";
	if (usable(function) != 0)
		return NULL;
	return HANDLE(tagbus_subscriber, threaded(function, core.subscriber_open(H(bus), options, on_event, user, &said),
		TAGBUS_KIND_SUBSCRIBER, on_event != NULL));
}

int tagbus_subscriber_close(tagbus_subscriber *s) { return close_handle("tagbus_subscriber_close", H(s), TAGBUS_KIND_SUBSCRIBER); }

tagbus_subscription *tagbus_subscribe(tagbus_subscriber *s, const char *tags, const char *options, tagbus_batch_fn on_batch,
	tagbus_end_fn on_end, void *user)
{
	static const char function[] = "tagbus_subscribe";
	if (usable(function) != 0)
		return NULL;
	/* The thread comes first: it has nothing to do if the call fails. */
	if ((on_batch != NULL || on_end != NULL) && need_thread(function, H(s)) != 0)
		return NULL;
	given_handle(H(s));
	given_peers();
	return HANDLE(tagbus_subscription, core.subscribe(H(s), tags, options, on_batch, on_end, user, &said));
}

int tagbus_subscription_wait(tagbus_subscription *sub, int64_t timeout_ms)
{
	int code = usable_for("tagbus_subscription_wait", timeout_ms);
	if (code == 0)
		code = core.wait(H(sub), TAGBUS_KIND_SUBSCRIPTION, 0, NULL, timeout_ms, &said);
	taken_peers();
	return code;
}

int tagbus_subscription_add(tagbus_subscription *sub, const char *tags)
{
	int code = usable("tagbus_subscription_add");
	given_peers();
	return code != 0 ? code : core.subscription_change(H(sub), tags, 1, &said);
}

int tagbus_subscription_remove(tagbus_subscription *sub, const char *tags)
{
	int code = usable("tagbus_subscription_remove");
	given_peers();
	return code != 0 ? code : core.subscription_change(H(sub), tags, 0, &said);
}

int tagbus_subscription_close(tagbus_subscription *sub)
{
	static const char function[] = "tagbus_subscription_close";
	int code = usable(function);
	tagbus_handle owner;
	if (code != 0)
		return code;
	owner = core.owner_of(H(sub));
	given_handle(owner);
	given_peers();
	if (inside.owner == 0 || inside.owner != owner) { /* else it is one of its callbacks, or none of it runs */
		if ((code = may_wait(function, owner, 0)) != 0)
			return code;
		code = core.subscription_close(H(sub), &said);
		if (code == 0)
			pass(owner);
		taken_handle(owner);
		waited();
		return code;
	}
	return core.subscription_close(H(sub), &said);
}

int tagbus_next(tagbus_subscription *sub, const tagbus_batch **batch, int64_t timeout_ms)
{
	static const char function[] = "tagbus_next";
	int code = usable_for(function, timeout_ms), timed = 0;
	tagbus_bell *bell;
	tagbus_box *box = NULL;
	struct timespec end;
	if (code != 0)
		return code;
	if (batch == NULL)
		return missing(function, "batch");
	*batch = NULL;
	if ((bell = core.pull(H(sub), &said)) == NULL)
		return said.code;
	for (;;) {
		uint32_t seen = LOAD(bell->value);
		code = core.next(H(sub), &box, &said);
		if (code == 0) {
			taken_box(box);
			*batch = &box->batch;
		}
		if (code <= 0)
			return code;
		if (timeout_ms == 0)
			return say(TAGBUS_ETIMEOUT, "tagbus_next: no batch is there now");
		if (inside.on_loop)
			return say(TAGBUS_EWOULDDEADLOCK, "tagbus_next: it would wait for the loop that calls it: use timeout_ms 0, or another thread");
		if (timeout_ms > 0 && !timed) {
			end = deadline(timeout_ms);
			timed = 1;
		}
		if (!await(bell, seen, timed ? &end : NULL))
			return say(TAGBUS_ETIMEOUT, "tagbus_next: timeout_ms is over, and no batch has come");
	}
}

int tagbus_subscription_fd(tagbus_subscription *sub)
{
	int code = usable("tagbus_subscription_fd");
	return code != 0 ? code : core.fd(H(sub), &said);
}

/* --- sender and receiver ---------------------------------------------------------------------- */

tagbus_sender *tagbus_sender_open(tagbus *bus, const char *tags, const char *options, tagbus_event_fn on_event, void *user)
{
	static const char function[] = "tagbus_sender_open";
	if (usable(function) != 0)
		return NULL;
	return HANDLE(tagbus_sender, threaded(function, core.sender_open(H(bus), tags, options, on_event, user, &said),
		TAGBUS_KIND_SENDER, on_event != NULL));
}

static int send_message(tagbus_handle s, uint64_t tag, const void *data, size_t size, uint8_t status, int acked, int64_t ms)
{
	int code;
	given_tag(tag);
	code = core.send(s, tag, payload(data, size), size, status, acked, ms, &said);
	if (acked)
		taken_tag(tag);
	if (code == 0)
		read_by_go(data, size);
	return code;
}

int tagbus_send(tagbus_sender *s, uint64_t tag, const void *data, size_t size, uint8_t status, int64_t timeout_ms)
{
	int code = usable_for("tagbus_send", timeout_ms);
	return code != 0 ? code : send_message(H(s), tag, data, size, status, 0, timeout_ms);
}

int tagbus_send_acked(tagbus_sender *s, uint64_t tag, const void *data, size_t size, uint8_t status, int64_t timeout_ms)
{
	int code = usable_for("tagbus_send_acked", timeout_ms);
	return code != 0 ? code : send_message(H(s), tag, data, size, status, 1, timeout_ms);
}

int tagbus_sender_flush(tagbus_sender *s)
{
	int code = usable("tagbus_sender_flush");
	return code != 0 ? code : core.flush(H(s), TAGBUS_KIND_SENDER, &said);
}

int tagbus_sender_wait(tagbus_sender *s, const char *tags, int64_t timeout_ms)
{
	int code = usable_for("tagbus_sender_wait", timeout_ms);
	if (code == 0)
		code = core.wait(H(s), TAGBUS_KIND_SENDER, 0, tags, timeout_ms, &said);
	taken_peers();
	return code;
}

int tagbus_sender_drain(tagbus_sender *s, const char *failure, int64_t timeout_ms)
{
	int code = usable_for("tagbus_sender_drain", timeout_ms);
	given_peers();
	return code != 0 ? code : core.drain(H(s), TAGBUS_KIND_SENDER, failure, timeout_ms, &said);
}

int tagbus_sender_close(tagbus_sender *s) { return close_handle("tagbus_sender_close", H(s), TAGBUS_KIND_SENDER); }

tagbus_receiver *tagbus_receiver_open(tagbus *bus, const char *tags, const char *options, tagbus_batch_fn on_batch, tagbus_end_fn on_end,
	tagbus_event_fn on_event, void *user)
{
	static const char function[] = "tagbus_receiver_open";
	if (usable(function) != 0)
		return NULL;
	given_peers();
	return HANDLE(tagbus_receiver, threaded(function,
		core.receiver_open(H(bus), tags, options, on_batch, on_end, on_event, user, &said), TAGBUS_KIND_RECEIVER,
		on_batch != NULL || on_end != NULL || on_event != NULL));
}

tagbus_subscription *tagbus_receiver_messages(tagbus_receiver *r)
{
	return usable("tagbus_receiver_messages") != 0 ? NULL : HANDLE(tagbus_subscription, core.receiver_messages(H(r), &said));
}

int tagbus_receiver_drain(tagbus_receiver *r, int64_t timeout_ms)
{
	static const char function[] = "tagbus_receiver_drain";
	int code = usable_for(function, timeout_ms);
	if (code == 0)
		code = may_wait(function, H(r), 0); /* on_batch takes what is drained */
	if (code != 0)
		return code;
	given_peers();
	code = core.drain(H(r), TAGBUS_KIND_RECEIVER, NULL, timeout_ms, &said);
	taken_handle(H(r));
	waited();
	return code;
}

int tagbus_receiver_close(tagbus_receiver *r) { return close_handle("tagbus_receiver_close", H(r), TAGBUS_KIND_RECEIVER); }

/* --- requester -------------------------------------------------------------------------------- */

tagbus_requester *tagbus_requester_open(tagbus_sender *sender, tagbus_subscriber *subscriber, uint64_t command_tag, uint64_t reply_tag,
	const char *options)
{
	return usable("tagbus_requester_open") != 0 ? NULL : HANDLE(tagbus_requester,
		core.requester_open(H(sender), H(subscriber), command_tag, reply_tag, options, &said));
}

int tagbus_request(tagbus_requester *r, const void *command, size_t size, const tagbus_batch **reply, int64_t timeout_ms)
{
	int code = usable_for("tagbus_request", timeout_ms);
	tagbus_box *box = NULL;
	if (code != 0)
		return code;
	if (reply == NULL)
		return missing("tagbus_request", "reply");
	*reply = NULL;
	given(&orders.requests);
	code = core.request(H(r), payload(command, size), size, &box, timeout_ms, &said);
	if (code == 0) {
		taken_box(box);
		read_by_go(command, size);
		*reply = &box->batch;
	}
	return code;
}

int tagbus_requester_close(tagbus_requester *r)
{
	int code = usable("tagbus_requester_close");
	return code != 0 ? code : core.close(H(r), TAGBUS_KIND_REQUESTER, &said);
}

/* --- what is known of them -------------------------------------------------------------------- */

char *tagbus_stats(const void *handle) { return usable("tagbus_stats") != 0 ? NULL : core.stats(H(handle), &said); }

char *tagbus_state(const void *handle, const char *options)
{
	return usable("tagbus_state") != 0 ? NULL : core.state(H(handle), options, &said);
}
