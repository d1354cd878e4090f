// SPDX-License-Identifier: Apache-2.0

/* threads.c: threads that call the program back. */

#include "library.h"

_Thread_local struct inside inside;
struct orders orders;

#define ITEMS 16

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
int with_signals_blocked(int (*f)(void *), void *arg)
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
int need_thread(const char *function, tagbus_handle owner)
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
int may_wait(const char *function, tagbus_handle owner, tagbus_handle bus)
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

void waited(void)
{
	if (inside.thread == NULL)
		return;
	pthread_mutex_lock(&threads_lock);
	inside.thread->awaits = NULL;
	pthread_mutex_unlock(&threads_lock);
}

/* join waits for the ends of the threads of an owner, or of a bus: those of which the core has said that
 * they end. */
void join(tagbus_handle owner, tagbus_handle bus)
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
void pass(tagbus_handle owner)
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
