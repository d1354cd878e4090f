/* SPDX-License-Identifier: Apache-2.0 */

/* The tests of libtagbus.so that need C: traps NAME BUS. Each prints what is wrong, and exits with 1. */

#include "trap.h"

/* --- fork ------------------------------------------------------------------------------------- */

static int child_says(int (*f)(void))
{
	int status;
	pid_t pid = fork();
	if (pid == 0)
		_exit(f());
	alarm(30); /* a child that hangs */
	waitpid(pid, &status, 0);
	alarm(110);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static struct pair opened;
static tagbus_subscription *opened_sub;

static int in_child_after(void)
{
	const tagbus_batch *b;
	FAILS_NULL(tagbus_open(where, NULL), TAGBUS_EFORKED);
	FAILS(tagbus_publish(opened.p, 1, "x", 1, 0, -1), TAGBUS_EFORKED);
	FAILS(tagbus_next(opened_sub, &b, -1), TAGBUS_EFORKED);
	FAILS(tagbus_close(opened.bus), TAGBUS_EFORKED);
	FAILS_NULL(tagbus_stats(opened.p), TAGBUS_EFORKED);
	CHECK(*tagbus_version() != 0, "no version");
	return wrong;
}

static int works(void)
{
	struct pair x = open_pair(NULL, NULL, NULL, NULL);
	const tagbus_batch *b;
	tagbus_subscription *sub = pull(&x, NULL);
	MUST(tagbus_publish(x.p, 7, "hello", 5, 3, -1) == TAGBUS_OK);
	MUST(tagbus_next(sub, &b, 10000) == TAGBUS_OK);
	CHECK(b->count == 1 && b->messages[0].tag == 7 && b->messages[0].counter == 1 && b->messages[0].status == 3 &&
		b->messages[0].size == 5 && memcmp(b->messages[0].data, "hello", 5) == 0, "another message");
	CHECK(tagbus_batch_release(b) == TAGBUS_OK, "release");
	CHECK(tagbus_close(x.bus) == TAGBUS_OK, "close");
	return wrong;
}

static void test_fork(void)
{
	CHECK(child_says(works) == 0, "a child of a process that has opened nothing");
	opened = open_pair(NULL, NULL, NULL, NULL);
	opened_sub = pull(&opened, NULL);
	CHECK(child_says(in_child_after) == 0, "a child of a process that has opened a bus");
	CHECK(tagbus_close(opened.bus) == TAGBUS_OK, "close in the parent");
}

/* --- signals ---------------------------------------------------------------------------------- */

static volatile int interrupted, terminated, used;
static void on_int(int n) { (void)n; ADD(interrupted, 1); }
static void on_term(int n) { (void)n; ADD(terminated, 1); }
static void on_usr(int n) { (void)n; ADD(used, 1); }

static volatile int batches, messages;
static volatile int masked, same_thread = 1;
static pthread_t callback_thread;

static void count(void *user, const tagbus_batch *b)
{
	sigset_t now;
	(void)user;
	if (ADD(batches, 1) == 1)
		callback_thread = pthread_self();
	else if (!pthread_equal(callback_thread, pthread_self()))
		same_thread = 0;
	pthread_sigmask(SIG_BLOCK, NULL, &now);
	masked = sigismember(&now, SIGINT) && sigismember(&now, SIGUSR1) && sigismember(&now, SIGTERM);
	ADD(messages, (int)b->count);
}

static void test_signals(void)
{
	struct sigaction a;
	struct pair x;
	int i;
	memset(&a, 0, sizeof a);
	a.sa_handler = on_int; /* without SA_ONSTACK */
	sigaction(SIGINT, &a, NULL);
	x = open_pair(NULL, NULL, NULL, NULL);
	a.sa_handler = on_term;
	sigaction(SIGTERM, &a, NULL);
	a.sa_handler = on_usr;
	sigaction(SIGUSR1, &a, NULL);
	MUST(tagbus_subscribe(x.s, "1-100", NULL, count, NULL, NULL) != NULL);
	MUST(tagbus_publisher_wait(x.p, 1, NULL, 10000) == TAGBUS_OK);
	for (i = 0; i < 300; i++) {
		kill(getpid(), SIGINT);
		kill(getpid(), SIGTERM);
		kill(getpid(), SIGUSR1);
		MUST(tagbus_publish(x.p, 1, "x", 1, 0, -1) == TAGBUS_OK);
	}
	until(&messages, 300);
	CHECK(interrupted == 300 && terminated == 300 && used == 300, "handled %d, %d, %d", interrupted, terminated, used);
	CHECK(masked, "a callback runs where signals are delivered");
	CHECK(same_thread, "callbacks on several threads");
	sigaction(SIGINT, NULL, &a);
	CHECK(a.sa_handler == on_int, "another handler of SIGINT");
	CHECK(tagbus_close(x.bus) == TAGBUS_OK, "close");
}

/* --- the library ------------------------------------------------------------------------------ */

static void test_dlclose(void)
{
	Dl_info info;
	void *again;
	const char *version = tagbus_version();
	MUST(dladdr((void *)(uintptr_t)version, &info) != 0);
	MUST(works() == 0);
	MUST(dladdr(dlsym(RTLD_DEFAULT, "tagbus_open"), &info) != 0);
	again = dlopen(info.dli_fname, RTLD_NOW);
	MUST(again != NULL);
	dlclose(again);
	dlclose(again);
	MUST(works() == 0);
}

/* A panic in the core is a code and a text. */
static void test_panic(void)
{
	tagbus_core_v1_fn open_core;
	tagbus_failure f;
	tagbus_core c;
	tagbus_hooks none;
	const char *path = getenv("TAGBUS_TEST_CORE");
	void *library = dlopen(path, RTLD_NOW), *symbol = library ? dlsym(library, "tagbus_core_v1") : NULL;
	MUST(symbol != NULL);
	memcpy(&open_core, &symbol, sizeof symbol);
	memset(&none, 0, sizeof none);
	CHECK(open_core(TAGBUS_CORE_ABI + 1, &c, &none) == TAGBUS_CORE_ABI, "it takes another ABI");
	MUST(open_core(TAGBUS_CORE_ABI, &c, &none) == TAGBUS_CORE_ABI);
	CHECK(c.test_panic(&f) == TAGBUS_EINTERNAL && f.code == TAGBUS_EINTERNAL && strstr(f.text, "made by a test") != NULL, "got %d %s",
		f.code, f.text);
}

static void test_load(void)
{
	setenv("TAGBUS_CORE", "/nowhere/libtagbus-core.so", 1);
	FAILS_NULL(tagbus_open(where, NULL), TAGBUS_ELOAD);
	CHECK(strstr(tagbus_last_error(), "/nowhere/") != NULL && strstr(tagbus_last_error(), "TAGBUS_CORE") != NULL, "says too little");
	unsetenv("TAGBUS_CORE");
	MUST(works() == 0);
	FAILS_NULL(tagbus_open("etcd://127.0.0.1:1/x", NULL), TAGBUS_ELOAD);
}

/* --- views ------------------------------------------------------------------------------------ */

#define VIEWS 12

static const tagbus_batch *kept[64];
static volatile int keeps;

static void keep(void *user, const tagbus_batch *b)
{
	(void)user;
	if (tagbus_batch_retain(b) == TAGBUS_OK)
		kept[ADD(keeps, 1) - 1] = b;
}

static size_t view_size(int i) { return (size_t)(i % VIEWS == 11 ? 70000 : 5 + i % VIEWS * 600); }

static void check_views(const tagbus_batch **all, int n)
{
	int i, total = 0;
	size_t k, m;
	for (i = 0; i < n; i++) {
		for (k = 0; k < all[i]->count; k++, total++) {
			const tagbus_message *v = &all[i]->messages[k];
			const unsigned char *d = v->data;
			CHECK(v->size == view_size((int)v->tag - 1), "message of tag %d has %u bytes", (int)v->tag, v->size);
			CHECK((uintptr_t)d >= (uintptr_t)all[i]->page && (uintptr_t)d + v->size <= (uintptr_t)all[i]->page + all[i]->page_bytes,
				"outside of the page");
			for (m = 0; m < v->size; m++)
				if (d[m] != (unsigned char)v->tag) {
					CHECK(0, "byte %zu of tag %d", m, (int)v->tag);
					break;
				}
		}
		CHECK(strlen(all[i]->publisher) > 10, "publisher %s", all[i]->publisher);
	}
	CHECK(total == VIEWS, "%d views", total);
	for (i = 0; i < n; i++) {
		CHECK(tagbus_batch_release(all[i]) == TAGBUS_OK, "release");
		FAILS(tagbus_batch_release(all[i]), TAGBUS_EINVAL);
		FAILS(tagbus_batch_retain(all[i]), TAGBUS_EINVAL);
	}
}

static void publish_views(struct pair *x)
{
	static unsigned char data[70000];
	int i;
	for (i = 0; i < VIEWS; i++) {
		memset(data, i + 1, sizeof data);
		MUST(tagbus_publish(x->p, (uint64_t)i + 1, data, view_size(i), 0, -1) == TAGBUS_OK);
		if (i % 4 == 3)
			MUST(tagbus_publisher_flush(x->p) == TAGBUS_OK);
	}
	MUST(tagbus_publisher_flush(x->p) == TAGBUS_OK);
}

static void views(const char *options)
{
	struct pair x = open_pair(NULL, options, NULL, NULL);
	MUST(tagbus_subscribe(x.s, "1-100", NULL, keep, NULL, NULL) != NULL);
	MUST(tagbus_publisher_wait(x.p, 1, NULL, 10000) == TAGBUS_OK);
	keeps = 0;
	publish_views(&x);
	MUST(tagbus_publisher_drain(x.p, NULL, 10000) == TAGBUS_OK);
	if (strcmp(options, "--on-loop") != 0)
		usleep(200000);
	MUST(tagbus_close(x.bus) == TAGBUS_OK);
	check_views(kept, keeps);
}

static void test_views(void)
{
	const tagbus_batch *all[VIEWS * 2];
	int n = 0, total = 0;
	struct pair x;
	tagbus_subscription *sub;
	views("--name on-its-thread");
	views("--on-loop");
	x = open_pair(NULL, NULL, NULL, NULL);
	sub = pull(&x, NULL);
	publish_views(&x);
	while (total < VIEWS) {
		MUST(tagbus_next(sub, &all[n], 10000) == TAGBUS_OK);
		total += (int)all[n++]->count;
	}
	MUST(tagbus_close(x.bus) == TAGBUS_OK);
	check_views(all, n);
}

/* --- ends ------------------------------------------------------------------------------------- */

static void *flood(void *arg)
{
	struct pair *x = arg;
	while (tagbus_publish(x->p, 1, "0123456789", 10, 0, 1000) == TAGBUS_OK)
		;
	return NULL;
}

static void test_exit(void)
{
	static struct pair x;
	pthread_t t;
	x = open_pair(NULL, NULL, NULL, NULL);
	MUST(tagbus_subscribe(x.s, "1-100", NULL, count, NULL, NULL) != NULL);
	MUST(tagbus_subscribe(x.s, "1-100", NULL, NULL, NULL, NULL) != NULL);
	MUST(tagbus_publisher_wait(x.p, 1, NULL, 10000) == TAGBUS_OK);
	pthread_create(&t, NULL, flood, &x);
	until(&messages, 10000);
	exit(wrong);
}

static void on_nothing(void *user, const tagbus_event *e) { (void)user, (void)e; }

static void test_opens(void)
{
	long early = 0, late;
	int i, n = getenv("TAGBUS_TEST_OPENS") ? atoi(getenv("TAGBUS_TEST_OPENS")) : 200;
	tagbus *bus = tagbus_open(where, NULL);
	MUST(bus != NULL);
	for (i = 0; i < n; i++) {
		tagbus_subscriber *s = tagbus_subscriber_open(bus, NULL, on_nothing, NULL);
		tagbus *other = i % 10 == 0 ? tagbus_open(where, NULL) : NULL;
		MUST(s != NULL && (i % 10 != 0 || other != NULL));
		MUST(tagbus_subscribe(s, "1", NULL, count, NULL, NULL) != NULL);
		MUST(tagbus_subscriber_close(s) == TAGBUS_OK);
		if (other != NULL)
			MUST(tagbus_close(other) == TAGBUS_OK);
		if (i == n / 2)
			early = resident();
	}
	late = resident();
	CHECK(late < early + 8192, "%ld KiB after %d opens, %ld after %d", early, n / 2, late, n);
	CHECK(tagbus_close(bus) == TAGBUS_OK, "close");
}

/* --- callbacks -------------------------------------------------------------------------------- */

struct life {
	struct pair x;
	tagbus_subscription *sub;
	volatile int batches, ended, after, events;
	int code;
	volatile int tried;
};

static void try_closes(struct life *l)
{
	const tagbus_batch *b;
	FAILS(tagbus_subscriber_close(l->x.s), TAGBUS_EWOULDDEADLOCK);
	FAILS(tagbus_close(l->x.bus), TAGBUS_EWOULDDEADLOCK);
	FAILS(tagbus_next(l->sub, &b, 0), TAGBUS_EINVAL); /* it has on_batch */
}

static void close_inside(void *user, const tagbus_batch *b)
{
	struct life *l = user;
	(void)b;
	if (GET(l->ended))
		ADD(l->after, 1);
	if (ADD(l->batches, 1) == 1) {
		while (GET(l->sub) == NULL)
			usleep(100);
		try_closes(l);
		CHECK(tagbus_subscription_close(l->sub) == TAGBUS_OK, "its own subscription");
		FAILS(tagbus_subscription_close(l->sub), TAGBUS_ECLOSED);
		ADD(l->tried, 1);
	}
}

static void life_end(void *user, int code, const char *text)
{
	struct life *l = user;
	(void)text;
	l->code = code;
	ADD(l->ended, 1);
}

static void closing(const char *options)
{
	static struct life l;
	tagbus_subscription *sub;
	int i;
	memset(&l, 0, sizeof l);
	l.x = open_pair(NULL, options, NULL, NULL);
	sub = tagbus_subscribe(l.x.s, "1-100", NULL, close_inside, life_end, &l);
	MUST(sub != NULL);
	__atomic_store_n(&l.sub, sub, __ATOMIC_SEQ_CST);
	MUST(tagbus_publisher_wait(l.x.p, 1, NULL, 10000) == TAGBUS_OK);
	for (i = 0; i < 50; i++) {
		MUST(tagbus_publish(l.x.p, 1, "x", 1, 0, 1000) == TAGBUS_OK);
		tagbus_publisher_flush(l.x.p);
	}
	until(&l.tried, 1);
	until(&l.ended, 1);
	MUST(tagbus_close(l.x.bus) == TAGBUS_OK);
	CHECK(l.batches == 1 && l.ended == 1 && l.after == 0 && l.code == TAGBUS_OK, "batches %d, ended %d, after %d, code %d", l.batches,
		l.ended, l.after, l.code);
}

struct waiting {
	volatile int inside, done;
};

static void slow_batch(void *user, const tagbus_batch *b)
{
	struct waiting *w = user;
	(void)b;
	ADD(w->inside, 1);
	usleep(150000);
	ADD(w->done, 1);
}

/* A close waits for a callback that runs, of the subscription and of the subscriber. */
static void close_waits(int whole)
{
	static struct waiting w;
	struct pair x = open_pair(NULL, NULL, NULL, NULL);
	tagbus_subscription *sub = tagbus_subscribe(x.s, "1-100", NULL, slow_batch, NULL, &w);
	memset(&w, 0, sizeof w);
	MUST(tagbus_subscription_wait(sub, 10000) == TAGBUS_OK);
	MUST(tagbus_publish(x.p, 1, "x", 1, 0, 0) == TAGBUS_OK);
	until(&w.inside, 1);
	MUST((whole ? tagbus_subscriber_close(x.s) : tagbus_subscription_close(sub)) == TAGBUS_OK);
	CHECK(w.inside == w.done, "a callback runs after the close");
	MUST(tagbus_close(x.bus) == TAGBUS_OK);
}

/* Two callbacks that close the subscriber of each other. */
struct mutual {
	tagbus_subscriber *other;
	volatile int result;
};

static volatile int both;

static void close_other(void *user, const tagbus_batch *b)
{
	struct mutual *m = user;
	int code;
	(void)b;
	if (ADD(both, 1) > 2)
		return;
	while (GET(both) < 2)
		usleep(100);
	code = tagbus_subscriber_close(m->other);
	CHECK(code == TAGBUS_OK || code == TAGBUS_EWOULDDEADLOCK, "got %d", code);
	__atomic_store_n(&m->result, code == TAGBUS_OK ? 1 : 2, __ATOMIC_SEQ_CST);
}

static void close_each_other(void)
{
	static struct mutual a, b;
	struct pair x = open_pair(NULL, NULL, NULL, NULL);
	tagbus_subscriber *second = tagbus_subscriber_open(x.bus, NULL, NULL, NULL);
	a.other = second;
	b.other = x.s;
	MUST(tagbus_subscribe(x.s, "1-100", NULL, close_other, NULL, &a) != NULL);
	MUST(tagbus_subscribe(second, "1-100", NULL, close_other, NULL, &b) != NULL);
	MUST(tagbus_publisher_wait(x.p, 2, NULL, 10000) == TAGBUS_OK);
	MUST(tagbus_publish(x.p, 1, "x", 1, 0, 0) == TAGBUS_OK);
	until(&a.result, 1);
	until(&b.result, 1);
	CHECK(a.result + b.result == 3, "results %d and %d", a.result, b.result);
	MUST(tagbus_close(x.bus) == TAGBUS_OK);
}

static void test_closing(void)
{
	closing(NULL);
	closing("--on-loop");
	close_waits(0);
	close_waits(1);
	close_each_other();
}

static volatile int dones;
static void on_done(void *user)
{
	CHECK(user == &dones, "another user");
	ADD(dones, 1);
}

static void test_zero_copy(void)
{
	static char large[100000];
	struct pair x = open_pair(NULL, NULL, NULL, NULL);
	tagbus_subscription *sub = pull(&x, NULL);
	const tagbus_batch *b;
	size_t got = 0;
	MUST(tagbus_publish_zero_copy(x.p, 1, large, sizeof large, 0, 1000, on_done, (void *)&dones) == TAGBUS_OK);
	MUST(tagbus_publish_zero_copy(x.p, 2, "small", 5, 0, 1000, on_done, (void *)&dones) == TAGBUS_OK);
	FAILS(tagbus_publish_zero_copy(x.p, 1000, large, sizeof large, 0, 1000, on_done, (void *)&dones), TAGBUS_EUNKNOWNTAG);
	MUST(tagbus_publish_zero_copy(x.p, 1, large, sizeof large, 0, 1000, NULL, NULL) == TAGBUS_OK);
	while (got < 3) {
		MUST(tagbus_next(sub, &b, 10000) == TAGBUS_OK);
		got += b->count;
		tagbus_batch_release(b);
	}
	until(&dones, 2);
	MUST(tagbus_close(x.bus) == TAGBUS_OK);
	CHECK(dones == 2, "done %d times", dones);
}

/* --- bad input -------------------------------------------------------------------------------- */

static void not_there(void *h, int want)
{
	const tagbus_batch *b;
	uint8_t id[16] = {0};
	tagbus_message m;
	memset(&m, 0, sizeof m);
	m.tag = 1;
	FAILS_NULL(tagbus_publisher_open(h, "1", NULL, NULL, NULL), want);
	FAILS_NULL(tagbus_subscriber_open(h, NULL, NULL, NULL), want);
	FAILS_NULL(tagbus_sender_open(h, "1", NULL, NULL, NULL), want);
	FAILS_NULL(tagbus_receiver_open(h, "1", NULL, NULL, NULL, NULL, NULL), want);
	FAILS(tagbus_alive(h, 0), want);
	FAILS(tagbus_close(h), want);
	FAILS(tagbus_publish(h, 1, "x", 1, 0, 0), want);
	FAILS(tagbus_publish_batch(h, &m, 1, 0), want);
	FAILS(tagbus_publish_zero_copy(h, 1, "x", 1, 0, 0, on_done, NULL), want);
	FAILS(tagbus_reply(h, id, 1, "x", 1, 0, 0), want);
	FAILS(tagbus_publisher_flush(h), want);
	FAILS(tagbus_publisher_add(h, "1"), want);
	FAILS(tagbus_publisher_remove(h, "1"), want);
	FAILS(tagbus_publisher_wait(h, 1, NULL, 0), want);
	FAILS(tagbus_publisher_drain(h, NULL, 0), want);
	FAILS(tagbus_publisher_close(h), want);
	FAILS(tagbus_subscriber_close(h), want);
	FAILS_NULL(tagbus_subscribe(h, "1", NULL, NULL, NULL, NULL), want);
	FAILS_NULL(tagbus_subscribe(h, "1", NULL, count, NULL, NULL), want);
	FAILS(tagbus_subscription_wait(h, 0), want);
	FAILS(tagbus_subscription_add(h, "1"), want);
	FAILS(tagbus_subscription_remove(h, "1"), want);
	FAILS(tagbus_subscription_close(h), want);
	FAILS(tagbus_next(h, &b, 0), want);
	FAILS(tagbus_subscription_fd(h), want);
	FAILS(tagbus_send(h, 1, "x", 1, 0, 0), want);
	FAILS(tagbus_send_acked(h, 1, "x", 1, 0, 0), want);
	FAILS(tagbus_sender_flush(h), want);
	FAILS(tagbus_sender_wait(h, "1", 0), want);
	FAILS(tagbus_sender_drain(h, NULL, 0), want);
	FAILS(tagbus_sender_close(h), want);
	FAILS_NULL(tagbus_receiver_messages(h), want);
	FAILS(tagbus_receiver_drain(h, 0), want);
	FAILS(tagbus_receiver_close(h), want);
	FAILS_NULL(tagbus_requester_open(h, h, 1, 2, NULL), want);
	FAILS(tagbus_request(h, "x", 1, &b, 0), want);
	FAILS(tagbus_requester_close(h), want);
	FAILS_NULL(tagbus_stats(h), want);
	FAILS_NULL(tagbus_state(h, NULL), want);
}

static void test_handles(void)
{
	struct pair x;
	tagbus_subscription *sub;
	tagbus_requester *q;
	tagbus_sender *sender;
	const tagbus_batch *b;
	uint8_t id[16];
	int i;
	static tagbus_batch foreign;
	FAILS(tagbus_publish(NULL, 1, "x", 1, 0, 0), TAGBUS_EINVAL); /* before anything is opened */
	not_there(NULL, TAGBUS_EINVAL);
	x = open_pair(NULL, NULL, NULL, NULL);
	not_there(NULL, TAGBUS_EINVAL);
	not_there(&x, TAGBUS_EINVAL);
	not_there((void *)(uintptr_t)0x1234, TAGBUS_EINVAL);
	not_there((void *)UINTPTR_MAX, TAGBUS_EINVAL);
	not_there((void *)((uintptr_t)x.bus ^ (uintptr_t)1 << 20), TAGBUS_EINVAL == 0 ? 0 : tagbus_alive((tagbus *)((uintptr_t)x.bus ^ (uintptr_t)1 << 20), 0));
	sub = pull(&x, NULL);
	/* Each other function refuses the handle of this kind. */
	FAILS(tagbus_publish((tagbus_publisher *)x.bus, 1, "x", 1, 0, 0), TAGBUS_EINVAL);
	FAILS(tagbus_close((tagbus *)x.p), TAGBUS_EINVAL);
	FAILS(tagbus_close((tagbus *)sub), TAGBUS_EINVAL);
	FAILS(tagbus_publisher_close((tagbus_publisher *)x.s), TAGBUS_EINVAL);
	FAILS(tagbus_subscriber_close((tagbus_subscriber *)x.p), TAGBUS_EINVAL);
	FAILS(tagbus_next((tagbus_subscription *)x.s, &b, 0), TAGBUS_EINVAL);
	FAILS(tagbus_sender_flush((tagbus_sender *)x.p), TAGBUS_EINVAL);
	FAILS_NULL(tagbus_stats(x.bus), TAGBUS_EINVAL);
	FAILS_NULL(tagbus_stats(sub), TAGBUS_EINVAL);
	FAILS_NULL(tagbus_receiver_messages((tagbus_receiver *)x.s), TAGBUS_EINVAL);
	FAILS_NULL(tagbus_subscribe((tagbus_subscriber *)x.p, "1", NULL, count, NULL, NULL), TAGBUS_EINVAL);
	FAILS(tagbus_next(sub, NULL, 0), TAGBUS_EINVAL);
	FAILS(tagbus_reply(x.p, NULL, 1, "x", 1, 0, 0), TAGBUS_EINVAL);
	FAILS(tagbus_batch_retain(NULL), TAGBUS_EINVAL);
	FAILS(tagbus_batch_release(NULL), TAGBUS_EINVAL);
	FAILS(tagbus_batch_release(&foreign), TAGBUS_EINVAL);
	FAILS(tagbus_batch_request_id(&foreign, 0, id), TAGBUS_EINVAL);
	MUST(tagbus_publish(x.p, 1, "x", 1, 0, 0) == TAGBUS_OK);
	MUST(tagbus_next(sub, &b, 10000) == TAGBUS_OK);
	FAILS(tagbus_batch_request_id(b, 0, id), TAGBUS_EINVAL);
	FAILS(tagbus_batch_request_id(b, 1, id), TAGBUS_EINVAL);
	FAILS(tagbus_batch_request_id(b, 0, NULL), TAGBUS_EINVAL);
	FAILS(tagbus_batch_release((const tagbus_batch *)((const char *)b + 8)), TAGBUS_EINVAL);
	MUST(tagbus_batch_release(b) == TAGBUS_OK);
	MUST((sender = tagbus_sender_open(x.bus, NULL, NULL, NULL, NULL)) != NULL);
	MUST((q = tagbus_requester_open(sender, x.s, 200, 201, NULL)) != NULL);
	FAILS(tagbus_sender_wait(sender, NULL, 0), TAGBUS_EINVAL);
	FAILS(tagbus_request(q, "x", 1, NULL, 0), TAGBUS_EINVAL);
	MUST(tagbus_requester_close(q) == TAGBUS_OK);
	FAILS(tagbus_requester_close(q), TAGBUS_ECLOSED);
	FAILS_NULL(tagbus_stats(q), TAGBUS_ECLOSED);
	MUST(tagbus_subscription_close(sub) == TAGBUS_OK);
	FAILS(tagbus_subscription_close(sub), TAGBUS_ECLOSED);
	FAILS(tagbus_next(sub, &b, -1), TAGBUS_ECLOSED);
	FAILS(tagbus_subscription_fd(sub), TAGBUS_ECLOSED);
	MUST(tagbus_publisher_close(x.p) == TAGBUS_OK);
	FAILS(tagbus_publisher_close(x.p), TAGBUS_ECLOSED);
	FAILS(tagbus_publish(x.p, 1, "x", 1, 0, -1), TAGBUS_ECLOSED);
	MUST(tagbus_close(x.bus) == TAGBUS_OK);
	FAILS(tagbus_close(x.bus), TAGBUS_ECLOSED);
	FAILS(tagbus_subscriber_close(x.s), TAGBUS_ECLOSED);
	FAILS(tagbus_sender_flush(sender), TAGBUS_ECLOSED);
	for (i = TAGBUS_ENOPUBLISHER; i <= 0; i++)
		CHECK(strncmp(tagbus_error_name(i), "TAGBUS_", 7) == 0, "no name of %d", i);
	CHECK(strcmp(tagbus_error_name(77), "unknown") == 0, "a name of 77");
}

/* Data at addresses that are none: an error, of the first message that has it. */
static void nowhere(struct pair *x)
{
	const void *end = (const void *)(UINTPTR_MAX - 3), *one = (const void *)(uintptr_t)1;
	tagbus_message m[4];
	size_t i;
	memset(m, 0, sizeof m);
	for (i = 0; i < 4; i++)
		m[i].tag = 1;
	m[0].data = one;
	m[1].data = end;
	m[2].data = end;
	m[2].size = 5;
	CHECK(tagbus_publish_batch(x->p, m, 4, 0) == 2 && tagbus_last_code() == TAGBUS_EINVAL, "a batch");
	says("data");
	FAILS(tagbus_publish_batch(x->p, m + 2, 2, 0), TAGBUS_EINVAL);
	FAILS(tagbus_publish(x->p, 1, end, 5, 0, 0), TAGBUS_EINVAL);
	says("data");
	FAILS(tagbus_publish_zero_copy(x->p, 1, end, 5, 0, 0, NULL, NULL), TAGBUS_EINVAL);
	CHECK(tagbus_publish(x->p, 1, one, 0, 0, 0) == TAGBUS_OK, "no bytes at 1");
	CHECK(tagbus_publish_zero_copy(x->p, 1, one, 0, 0, 0, NULL, NULL) == TAGBUS_OK, "no bytes at 1");
}

static void test_texts(void)
{
	static const char *const options[][2] = {
		{"--quee-bytes 3", "--quee-bytes"}, {"--queue-bytes", "--queue-bytes"}, {"--queue-bytes 3x", "--queue-bytes"}, {"--queue-bytes 3", "--queue-bytes"},
		{"--queue-bytes -5", "--queue-bytes"}, {"queue", "queue"}, {"--heartbeat 3", "--heartbeat"}, {"--policies nothing", "--policies"},
		{"--name '", "closing '"}, {"--name \\", "backslash"}, {"--help", "--help"}, {"--cache 99999999999999999999", "--cache"},
		{"--max-message-bytes 4TiB", "--max-message-bytes"}, {"--listen nowhere:x", "--listen"}, {"--name \xff", "UTF-8"},
	};
	struct pair x = open_pair("--name 'a \"quoted\" name'", NULL, NULL, NULL);
	char *state = tagbus_state(x.p, NULL);
	static char huge[2000000];
	size_t i;
	tagbus_message m;
	MUST(state != NULL);
	CHECK(strstr(state, "a \\\"quoted\\\" name") != NULL, "state %s", state);
	tagbus_free(state);
	tagbus_free(NULL);
	for (i = 0; i < sizeof options / sizeof options[0]; i++) {
		FAILS_NULL(tagbus_publisher_open(x.bus, "1", options[i][0], NULL, NULL), TAGBUS_EINVAL);
		says(options[i][1]);
	}
	FAILS_NULL(tagbus_publisher_open(x.bus, NULL, NULL, NULL, NULL), TAGBUS_EINVAL);
	says("tags");
	FAILS_NULL(tagbus_publisher_open(x.bus, "", NULL, NULL, NULL), TAGBUS_EINVAL);
	FAILS_NULL(tagbus_publisher_open(x.bus, "\xc3", NULL, NULL, NULL), TAGBUS_EINVAL);
	says("UTF-8");
	FAILS_NULL(tagbus_subscribe(x.s, "0x", NULL, NULL, NULL, NULL), TAGBUS_EINVAL);
	says("tags");
	FAILS_NULL(tagbus_subscribe(x.s, "1", "--policy never", NULL, NULL, NULL), TAGBUS_EINVAL);
	says("--policy");
	FAILS_NULL(tagbus_subscribe(x.s, "1", "--duplicates some", NULL, NULL, NULL), TAGBUS_EINVAL);
	says("--duplicates");
	FAILS_NULL(tagbus_open("", NULL), TAGBUS_EINVAL);
	FAILS_NULL(tagbus_open(NULL, NULL), TAGBUS_EINVAL);
	FAILS_NULL(tagbus_open("ftp://host/x", NULL), TAGBUS_EINVAL);
	FAILS_NULL(tagbus_open(where, "--backend pigeon"), TAGBUS_EINVAL);
	FAILS_NULL(tagbus_open(where, "--loops 0"), TAGBUS_EINVAL);
	says("--loops");
	FAILS_NULL(tagbus_open(where, "--cert /nowhere.pem"), TAGBUS_EINVAL);
	says("--ca");
	FAILS_NULL(tagbus_state(x.p, "--max-peers x"), TAGBUS_EINVAL);
	memset(huge, 'x', sizeof huge - 1);
	FAILS_NULL(tagbus_subscriber_open(x.bus, huge, NULL, NULL), TAGBUS_EINVAL);
	/* Sizes. */
	FAILS(tagbus_publish(x.p, 1, huge, sizeof huge, 0, 0), TAGBUS_ETOOLARGE);
	FAILS(tagbus_publish(x.p, 1, huge, SIZE_MAX, 0, 0), TAGBUS_ETOOLARGE);
	FAILS(tagbus_publish(x.p, 1, NULL, 1, 0, 0), TAGBUS_EINVAL);
	says("data");
	CHECK(tagbus_publish(x.p, 1, NULL, 0, 0, 0) == TAGBUS_OK, "no bytes");
	FAILS(tagbus_publish_batch(x.p, NULL, 1, 0), TAGBUS_EINVAL);
	FAILS(tagbus_publish_batch(x.p, &m, SIZE_MAX, 0), TAGBUS_EINVAL);
	CHECK(tagbus_publish_batch(x.p, NULL, 0, 0) == 0, "no messages");
	memset(&m, 0, sizeof m);
	m.tag = 1;
	m.size = 5;
	FAILS(tagbus_publish_batch(x.p, &m, 1, 0), TAGBUS_EINVAL);
	says("data");
	nowhere(&x);
	MUST(tagbus_close(x.bus) == TAGBUS_OK);
}

static void test_limits(void)
{
	const tagbus_batch *held[2000], *b;
	int n = 0, got = 0, code = 0, i;
	static char data[60000];
	struct pair x = open_pair(NULL, "--retain-bytes 1MiB", NULL, NULL);
	tagbus_subscription *sub = pull(&x, NULL);
	for (i = 0; i < 60; i++)
		MUST(tagbus_publish(x.p, 1, data, sizeof data, 0, 10000) == TAGBUS_OK);
	while (n < 2000 && (code = tagbus_next(sub, &held[n], 10000)) == TAGBUS_OK)
		got += (int)held[n++]->count;
	CHECK(code == TAGBUS_ELIMIT && n > 1 && n < 60, "code %d after %d", code, n);
	says("--retain-bytes");
	FAILS(tagbus_next(sub, &b, 0), TAGBUS_ELIMIT);
	for (i = 0; i < n; i++)
		MUST(tagbus_batch_release(held[i]) == TAGBUS_OK);
	while (got < 60) {
		MUST(tagbus_next(sub, &b, 10000) == TAGBUS_OK);
		got += (int)b->count;
		MUST(tagbus_batch_release(b) == TAGBUS_OK);
	}
	MUST(tagbus_close(x.bus) == TAGBUS_OK);
}

/* --- waits ------------------------------------------------------------------------------------ */

static void sleeps(void *user, const tagbus_batch *b)
{
	(void)user;
	if (GET(messages) == 0)
		usleep(1500000); /* longer than the heartbeat timeout */
	ADD(messages, (int)b->count);
}

static volatile int losses;
static void lost(void *user, const tagbus_event *e)
{
	(void)user;
	CHECK(e->struct_bytes == sizeof *e && e->name != NULL && e->text != NULL && e->cause != NULL, "event");
	if (e->kind == TAGBUS_GAP || e->kind == TAGBUS_LOST || e->kind == TAGBUS_PROBLEM)
		ADD(losses, 1);
}

static void test_slow(void)
{
	int i, n = 300000;
	struct pair x = open_pair("--heartbeat-timeout 400ms", "--heartbeat-timeout 400ms --queue-bytes 1MiB", lost, NULL);
	MUST(tagbus_subscribe(x.s, "1-100", NULL, sleeps, NULL, NULL) != NULL);
	MUST(tagbus_publisher_wait(x.p, 1, NULL, 10000) == TAGBUS_OK);
	for (i = 0; i < n; i++)
		MUST(tagbus_publish(x.p, 1, &i, sizeof i, 0, 30000) == TAGBUS_OK);
	until(&messages, n);
	CHECK(messages == n && losses == 0, "%d of %d, %d events of loss", messages, n, losses);
	MUST(tagbus_close(x.bus) == TAGBUS_OK);
}

static volatile int waiters_done;
static void *waits(void *sub)
{
	const tagbus_batch *b;
	int code = tagbus_next(sub, &b, TAGBUS_FOREVER);
	CHECK(code == TAGBUS_ECLOSED || code == TAGBUS_END, "got %d", code);
	ADD(waiters_done, 1);
	return NULL;
}

static void test_next(void)
{
	struct pair x = open_pair(NULL, NULL, NULL, NULL);
	tagbus_subscription *sub = pull(&x, NULL), *none;
	const tagbus_batch *b;
	struct pollfd p;
	pthread_t t[4];
	int i;
	FAILS(tagbus_next(sub, &b, 0), TAGBUS_ETIMEOUT);
	FAILS(tagbus_next(sub, &b, 50), TAGBUS_ETIMEOUT);
	p.fd = tagbus_subscription_fd(sub);
	p.events = POLLIN;
	MUST(p.fd >= 0 && tagbus_subscription_fd(sub) == p.fd);
	FAILS(tagbus_next(sub, &b, 0), TAGBUS_ETIMEOUT);
	CHECK(poll(&p, 1, 0) == 0, "readable, and nothing is there");
	MUST(tagbus_publish(x.p, 1, "x", 1, 0, 0) == TAGBUS_OK);
	CHECK(poll(&p, 1, 10000) == 1, "not readable");
	MUST(tagbus_next(sub, &b, 0) == TAGBUS_OK);
	MUST(tagbus_batch_release(b) == TAGBUS_OK);
	FAILS(tagbus_next(sub, &b, 0), TAGBUS_ETIMEOUT);
	CHECK(poll(&p, 1, 0) == 0, "readable, and nothing is there");
	MUST((none = tagbus_subscribe(x.s, "5000", "--timeout 100ms", NULL, NULL, NULL)) != NULL);
	FAILS(tagbus_next(none, &b, 10000), TAGBUS_ENOPUBLISHER);
	for (i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, waits, sub);
	usleep(50000);
	MUST(tagbus_subscription_close(sub) == TAGBUS_OK);
	for (i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	CHECK(waiters_done == 4, "%d", waiters_done);
	MUST(tagbus_close(x.bus) == TAGBUS_OK);
}

/* --- sender, receiver, requester -------------------------------------------------------------- */

static tagbus_publisher *replies;
static volatile int commands;
static void on_command(void *user, const tagbus_batch *b)
{
	size_t i;
	(void)user;
	for (i = 0; i < b->count; i++) {
		uint8_t id[16];
		if (b->messages[i].flags & TAGBUS_REQUEST) {
			CHECK(tagbus_batch_request_id(b, i, id) == TAGBUS_OK, "id");
			CHECK(tagbus_reply(replies, id, 201, b->messages[i].data, b->messages[i].size, 9, 1000) == TAGBUS_OK, "reply");
		}
		ADD(commands, 1);
	}
}

static void test_request(void)
{
	tagbus *bus = tagbus_open(where, NULL);
	tagbus_receiver *r, *pulled;
	tagbus_sender *s;
	tagbus_subscriber *sub;
	tagbus_requester *q;
	const tagbus_batch *b;
	struct life l;
	MUST(bus != NULL);
	memset(&l, 0, sizeof l);
	MUST((replies = tagbus_publisher_open(bus, "201", NULL, NULL, NULL)) != NULL);
	MUST((r = tagbus_receiver_open(bus, "200", NULL, on_command, life_end, NULL, &l)) != NULL);
	MUST((pulled = tagbus_receiver_open(bus, "300", NULL, NULL, NULL, NULL, NULL)) != NULL);
	FAILS_NULL(tagbus_receiver_messages(r), TAGBUS_EINVAL);
	MUST((s = tagbus_sender_open(bus, "200,300", NULL, NULL, NULL)) != NULL);
	MUST(tagbus_sender_wait(s, NULL, 10000) == TAGBUS_OK);
	MUST(tagbus_send_acked(s, 200, "x", 1, 0, 10000) == TAGBUS_OK);
	MUST(tagbus_send(s, 300, "y", 1, 5, 10000) == TAGBUS_OK);
	MUST(tagbus_sender_flush(s) == TAGBUS_OK);
	FAILS(tagbus_send(s, 200000, "x", 1, 0, 0), TAGBUS_EUNKNOWNTAG);
	MUST(tagbus_next(tagbus_receiver_messages(pulled), &b, 10000) == TAGBUS_OK);
	CHECK(b->messages[0].tag == 300 && b->messages[0].status == 5 && b->messages[0].flags == 0, "another message");
	MUST(tagbus_batch_release(b) == TAGBUS_OK);
	FAILS(tagbus_subscription_close(tagbus_receiver_messages(pulled)), TAGBUS_EINVAL);
	MUST((sub = tagbus_subscriber_open(bus, NULL, NULL, NULL)) != NULL);
	MUST((q = tagbus_requester_open(s, sub, 200, 201, "--timeout 10s")) != NULL);
	MUST(tagbus_request(q, "command", 7, &b, 10000) == TAGBUS_OK);
	CHECK(b->count == 1 && b->messages[0].size == 7 && memcmp(b->messages[0].data, "command", 7) == 0 && b->messages[0].status == 9,
		"another reply");
	MUST(tagbus_batch_retain(b) == TAGBUS_OK);
	MUST(tagbus_batch_release(b) == TAGBUS_OK);
	MUST(tagbus_batch_release(b) == TAGBUS_OK);
	FAILS(tagbus_batch_release(b), TAGBUS_EINVAL);
	until(&commands, 2);
	MUST(tagbus_requester_close(q) == TAGBUS_OK);
	MUST(tagbus_receiver_drain(r, 10000) == TAGBUS_OK);
	until(&l.ended, 1);
	MUST(tagbus_sender_drain(s, NULL, 10000) == TAGBUS_OK);
	FAILS(tagbus_next(tagbus_receiver_messages(pulled), &b, 0), TAGBUS_ETIMEOUT);
	MUST(tagbus_receiver_drain(pulled, 10000) == TAGBUS_OK);
	FAILS(tagbus_next(tagbus_receiver_messages(pulled), &b, 10000), TAGBUS_END);
	MUST(tagbus_close(bus) == TAGBUS_OK);
	CHECK(l.ended == 1 && l.code == TAGBUS_OK, "ended %d, code %d", l.ended, l.code);
}

/* A subscriber that takes nothing: publishers run out of room, wait for it, and go on. */
static void *takes(void *sub)
{
	const tagbus_batch *b;
	while (tagbus_next(sub, &b, 2000) == TAGBUS_OK) {
		ADD(messages, (int)b->count);
		tagbus_batch_release(b);
	}
	return NULL;
}

static void *drains(void *p)
{
	usleep(100000);
	tagbus_publisher_drain(p, NULL, 1);
	return NULL;
}

static void test_room(void)
{
	static char data[50000];
	struct pair x = open_pair("--queue-bytes 2MiB", "--queue-bytes 1MiB", NULL, NULL);
	tagbus_subscription *sub = pull(&x, NULL);
	tagbus_message m[4];
	tagbus_writer *w = malloc(sizeof *w);
	pthread_t t;
	int i, sent = 0, code;
	while ((code = tagbus_publish(x.p, 1, data, sizeof data, 0, 200)) == TAGBUS_OK)
		sent++;
	CHECK(code == TAGBUS_ETIMEOUT && tagbus_last_code() == TAGBUS_ETIMEOUT, "code %d", code);
	FAILS(tagbus_publish(x.p, 1, data, sizeof data, 0, 0), TAGBUS_ENOROOM);
	memset(m, 0, sizeof m);
	for (i = 0; i < 4; i++) {
		m[i].tag = 1;
		m[i].data = data;
		m[i].size = sizeof data;
	}
	CHECK(tagbus_publish_batch(x.p, m, 4, 0) == 0 && tagbus_last_code() == TAGBUS_ENOROOM, "batch");
	CHECK(tagbus_publish_batch(x.p, m, 4, 50) == 0 && tagbus_last_code() == TAGBUS_ETIMEOUT, "batch");
	FAILS(tagbus_reply(x.p, (const uint8_t *)"0123456789abcdef", 1, data, 1000, 0, 0), TAGBUS_ENOROOM);
	while ((code = tagbus_publish_zero_copy(x.p, 1, data, sizeof data, 0, 20, NULL, NULL)) == TAGBUS_OK)
		sent++;
	CHECK(code == TAGBUS_ETIMEOUT, "code %d", code);
	tagbus_writer_init(w, x.p, 0);
	MUST(tagbus_writer_add(w, 1, data, sizeof data, 0) == TAGBUS_OK);
	FAILS(tagbus_writer_flush(w), TAGBUS_ENOROOM);
	pthread_create(&t, NULL, takes, sub);
	for (i = 0; i < 200; i++)
		MUST(tagbus_publish(x.p, 1, data, sizeof data, 0, TAGBUS_FOREVER) == TAGBUS_OK);
	MUST(tagbus_publish_batch(x.p, m, 4, TAGBUS_FOREVER) == 4);
	w->timeout_ms = TAGBUS_FOREVER;
	MUST(tagbus_writer_flush(w) == TAGBUS_OK);
	m[2].tag = 9999;
	CHECK(tagbus_publish_batch(x.p, m, 4, TAGBUS_FOREVER) == 2 && tagbus_last_code() == TAGBUS_EUNKNOWNTAG, "batch");
	FAILS(tagbus_publish_batch(x.p, m + 2, 2, TAGBUS_FOREVER), TAGBUS_EUNKNOWNTAG);
	sent += 200 + 4 + 1 + 2;
	tagbus_publisher_flush(x.p);
	pthread_join(t, NULL);
	CHECK(messages == sent, "%d of %d", messages, sent);
	while (tagbus_publish(x.p, 1, data, sizeof data, 0, 100) == TAGBUS_OK)
		;
	pthread_create(&t, NULL, drains, x.p);
	while ((code = tagbus_publish(x.p, 1, data, sizeof data, 0, TAGBUS_FOREVER)) == TAGBUS_OK)
		; /* the system may have taken more meanwhile */
	CHECK(code == TAGBUS_ECLOSED, "code %d", code);
	pthread_join(t, NULL);
	MUST(tagbus_close(x.bus) == TAGBUS_OK);
	free(w);
}

static void test_works(void) { works(); }

static const struct test tests[] = {
	{"works", test_works}, {"fork", test_fork}, {"signals", test_signals}, {"dlclose", test_dlclose}, {"panic", test_panic}, {"load", test_load},
	{"views", test_views}, {"exit", test_exit}, {"opens", test_opens}, {"closing", test_closing}, {"zero-copy", test_zero_copy},
	{"handles", test_handles}, {"texts", test_texts}, {"limits", test_limits}, {"slow", test_slow}, {"next", test_next}, {"request", test_request}, {"room", test_room}, {NULL, NULL},
};

int main(int argc, char **argv) { return run_test(tests, argc, argv); }
