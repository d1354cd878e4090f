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
	tagbus_handle awaits_owner, awaits_bus; /* whose callbacks a callback of this one waits for; 0: none */
	int joining, reached; /* reached is for awaited */
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

/* is_of reports whether a thread is that of an owner, or one of a bus. threads_lock is held. */
static int is_of(const struct thread *t, tagbus_handle owner, tagbus_handle bus)
{
	return t->owner == owner || (bus != 0 && t->bus == bus);
}

/* awaited reports whether a wait for an owner, or for all of a bus, is one for a thread, too: because
 * a callback that is waited for waits for it. threads_lock is held. */
static int awaited(const struct thread *own, tagbus_handle owner, tagbus_handle bus)
{
	int grows = 1;
	struct thread *t, *next;
	for (t = threads; t != NULL; t = t->next)
		t->reached = is_of(t, owner, bus);
	while (grows) {
		grows = 0;
		for (t = threads; t != NULL; t = t->next) {
			if (!t->reached || (t->awaits_owner == 0 && t->awaits_bus == 0))
				continue;
			for (next = threads; next != NULL; next = next->next)
				if (!next->reached && is_of(next, t->awaits_owner, t->awaits_bus))
					next->reached = grows = 1;
		}
	}
	return own->reached;
}

/* may_wait returns 0 if this thread may wait until no callback of an owner, or of all of a bus, runs. It
 * notes that it does; waited undoes that. */
int may_wait(const char *function, tagbus_handle owner, tagbus_handle bus)
{
	int deadlock;
	struct thread *own = inside.thread;
	if (inside.owner == 0)
		return 0;
	deadlock = inside.bus == bus || inside.owner == owner || (inside.on_loop && core.bus_of(owner) == inside.bus);
	if (!deadlock && own != NULL) {
		pthread_mutex_lock(&threads_lock);
		deadlock = awaited(own, owner, bus);
		if (!deadlock) {
			own->awaits_owner = owner;
			own->awaits_bus = bus;
		}
		pthread_mutex_unlock(&threads_lock);
	}
	return deadlock ? would_deadlock(function) : 0;
}

void waited(void)
{
	if (inside.thread == NULL)
		return;
	pthread_mutex_lock(&threads_lock);
	inside.thread->awaits_owner = inside.thread->awaits_bus = 0;
	pthread_mutex_unlock(&threads_lock);
}

/* running reports whether a thread of an owner, or of a bus, has not ended. */
int running(tagbus_handle owner, tagbus_handle bus)
{
	struct thread *t;
	pthread_mutex_lock(&threads_lock);
	for (t = threads; t != NULL && !is_of(t, owner, bus); t = t->next)
		;
	pthread_mutex_unlock(&threads_lock);
	return t != NULL;
}

/* join waits for the ends of the threads of an owner, or of a bus: those of which the core has said that
 * they end. Several may wait for one. */
void join(tagbus_handle owner, tagbus_handle bus)
{
	struct thread **at, *t;
	pthread_mutex_lock(&threads_lock);
again:
	for (at = &threads; (t = *at) != NULL; at = &t->next) {
		if (!is_of(t, owner, bus))
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
	int passed = 0;
	if (!running(owner, 0))
		return;
	if (!core.fence(owner, (uintptr_t)&passed)) { /* another thread closes the owner */
		join(owner, 0);
		return;
	}
	pthread_mutex_lock(&threads_lock);
	while (!passed)
		pthread_cond_wait(&threads_changed, &threads_lock);
	pthread_mutex_unlock(&threads_lock);
}
