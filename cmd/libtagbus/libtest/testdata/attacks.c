/* SPDX-License-Identifier: Apache-2.0 */

/* What a program does wrong, or many of its threads at once: attacks NAME BUS, as traps.c. */

#include "trap.h"

#include <dirent.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/resource.h>

static int descriptors(void)
{
	int n = 0;
	DIR *d = opendir("/proc/self/fd");
	while (d != NULL && readdir(d) != NULL)
		n++;
	if (d != NULL)
		closedir(d);
	return n;
}

/* --- arguments -------------------------------------------------------------------------------- */

static void test_writer(void)
{
	static char data[30000];
	struct pair x = open_pair(NULL, NULL, NULL, NULL);
	tagbus_writer *w = malloc(sizeof *w);
	tagbus_writer_init(w, x.p, 1000);
	FAILS(tagbus_writer_add(w, 1, NULL, 5, 0), TAGBUS_EINVAL);
	says("data");
	FAILS(tagbus_writer_add(NULL, 1, "x", 1, 0), TAGBUS_EINVAL);
	FAILS(tagbus_writer_flush(NULL), TAGBUS_EINVAL);
	memset(data, 'a', sizeof data);
	MUST(tagbus_writer_add(w, 1, data, sizeof data, 0) == TAGBUS_OK);
	memset(data, 'b', sizeof data);
	MUST(tagbus_writer_add(w, 9999, data, sizeof data, 0) == TAGBUS_OK);
	MUST(tagbus_writer_add(w, 2, "last", 4, 0) == TAGBUS_OK);
	FAILS(tagbus_writer_flush(w), TAGBUS_EUNKNOWNTAG);
	CHECK(w->count == 2 && w->used == sizeof data + 4, "%zu messages, %zu bytes", w->count, w->used);
	MUST(tagbus_writer_add(w, 3, data, sizeof data, 0) == TAGBUS_OK); /* there is room */
	CHECK(w->count == 3 && *(const char *)w->messages[0].data == 'b' && memcmp(w->messages[1].data, "last", 4) == 0, "another message");
	FAILS(tagbus_writer_flush(w), TAGBUS_EUNKNOWNTAG);
	MUST(tagbus_writer_drop(w) == TAGBUS_OK); /* it would stand before all others for ever */
	MUST(tagbus_writer_flush(w) == TAGBUS_OK);
	CHECK(w->count == 0 && w->used == 0, "%zu messages, %zu bytes", w->count, w->used);
	MUST(tagbus_writer_drop(w) == TAGBUS_OK);
	MUST(tagbus_close(x.bus) == TAGBUS_OK);
	free(w);
}

/* A time before now is not for ever. */
static void test_times(void)
{
	static const int64_t wrongs[] = {-2, -1000, INT64_MIN};
	struct pair x = open_pair(NULL, NULL, NULL, NULL);
	tagbus_subscription *sub = pull(&x, NULL);
	tagbus_sender *s = tagbus_sender_open(x.bus, "200", NULL, NULL, NULL);
	tagbus_receiver *r = tagbus_receiver_open(x.bus, "300", NULL, NULL, NULL, NULL, NULL);
	tagbus_requester *q = tagbus_requester_open(s, x.s, 200, 201, NULL);
	const tagbus_batch *b;
	tagbus_message m;
	uint8_t id[16] = {1};
	size_t i;
	MUST(s != NULL && r != NULL && q != NULL);
	memset(&m, 0, sizeof m);
	m.tag = 1;
	for (i = 0; i < sizeof wrongs / sizeof wrongs[0]; i++) {
		int64_t ms = wrongs[i];
		FAILS(tagbus_alive(x.bus, ms), TAGBUS_EINVAL);
		says("timeout_ms");
		FAILS(tagbus_publish(x.p, 1, "x", 1, 0, ms), TAGBUS_EINVAL);
		FAILS(tagbus_publish_batch(x.p, &m, 1, ms), TAGBUS_EINVAL);
		FAILS(tagbus_publish_zero_copy(x.p, 1, "x", 1, 0, ms, NULL, NULL), TAGBUS_EINVAL);
		FAILS(tagbus_reply(x.p, id, 1, "x", 1, 0, ms), TAGBUS_EINVAL);
		FAILS(tagbus_publisher_wait(x.p, 9, NULL, ms), TAGBUS_EINVAL);
		FAILS(tagbus_publisher_drain(x.p, NULL, ms), TAGBUS_EINVAL);
		FAILS(tagbus_subscription_wait(sub, ms), TAGBUS_EINVAL);
		FAILS(tagbus_next(sub, &b, ms), TAGBUS_EINVAL);
		FAILS(tagbus_send(s, 200, "x", 1, 0, ms), TAGBUS_EINVAL);
		FAILS(tagbus_send_acked(s, 200, "x", 1, 0, ms), TAGBUS_EINVAL);
		FAILS(tagbus_sender_wait(s, NULL, ms), TAGBUS_EINVAL);
		FAILS(tagbus_sender_drain(s, NULL, ms), TAGBUS_EINVAL);
		FAILS(tagbus_receiver_drain(r, ms), TAGBUS_EINVAL);
		FAILS(tagbus_request(q, "x", 1, &b, ms), TAGBUS_EINVAL);
	}
	FAILS(tagbus_publisher_wait(x.p, SIZE_MAX, NULL, 0), TAGBUS_EINVAL);
	says("n is");
	CHECK(tagbus_publish(x.p, 1, "x", 1, 0, INT64_MAX) == TAGBUS_OK, "a very long time");
	MUST(tagbus_next(sub, &b, INT64_MAX) == TAGBUS_OK);
	tagbus_batch_release(b);
	MUST(tagbus_close(x.bus) == TAGBUS_OK);
}

/* A text is not read beyond the longest one that there may be; addresses of messages are not followed
 * before their number is checked. */
static void test_endless(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), size = (1 << 20) + page;
	struct pair x = open_pair(NULL, NULL, NULL, NULL);
	char *text = mmap(NULL, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(text != MAP_FAILED && mprotect(text + size, page, PROT_NONE) == 0);
	memset(text, 'x', size);
	FAILS_NULL(tagbus_open(text, NULL), TAGBUS_EINVAL);
	FAILS_NULL(tagbus_open(where, text), TAGBUS_EINVAL);
	FAILS_NULL(tagbus_publisher_open(x.bus, text, NULL, NULL, NULL), TAGBUS_EINVAL);
	FAILS_NULL(tagbus_publisher_open(x.bus, "1", text, NULL, NULL), TAGBUS_EINVAL);
	FAILS(tagbus_publisher_add(x.p, text), TAGBUS_EINVAL);
	FAILS(tagbus_publisher_drain(x.p, text, 0), TAGBUS_EINVAL);
	FAILS_NULL(tagbus_subscribe(x.s, text, NULL, NULL, NULL, NULL), TAGBUS_EINVAL);
	FAILS_NULL(tagbus_state(x.p, text), TAGBUS_EINVAL);
	FAILS(tagbus_publish_batch(x.p, (const tagbus_message *)((uintptr_t)text + size), SIZE_MAX, 0), TAGBUS_EINVAL);
	FAILS(tagbus_publish_batch(x.p, (const tagbus_message *)((uintptr_t)text + size), (size_t)1 << 40, 0), TAGBUS_EINVAL);
	MUST(tagbus_close(x.bus) == TAGBUS_OK);
}

/* --- what is left behind ---------------------------------------------------------------------- */

static void test_leaks(void)
{
	tagbus *bus = tagbus_open(where, NULL);
	long early = 0, late;
	int i, before = 0;
	MUST(bus != NULL);
	for (i = 0; i < 600; i++) {
		/* Neither has a callback. */
		tagbus_publisher *p = tagbus_publisher_open(bus, "1", NULL, NULL, NULL);
		tagbus_subscriber *s = tagbus_subscriber_open(bus, NULL, NULL, NULL);
		tagbus_subscription *sub = tagbus_subscribe(s, "5000", NULL, NULL, NULL, NULL);
		struct pollfd poller;
		MUST(p != NULL && s != NULL && sub != NULL);
		MUST((poller.fd = tagbus_subscription_fd(sub)) >= 0);
		MUST(tagbus_subscriber_close(s) == TAGBUS_OK);
		MUST(tagbus_publisher_close(p) == TAGBUS_OK);
		if (i == 300) {
			early = resident();
			before = descriptors();
		}
	}
	late = resident();
	CHECK(descriptors() <= before + 3, "%d descriptors, and %d later", before, descriptors());
	CHECK(late < early + 2048, "%ld KiB after 300 opens, %ld after 600", early, late);
	MUST(tagbus_close(bus) == TAGBUS_OK);
}

static volatile int ended_by;
static void close_in_end(void *user, int code, const char *text)
{
	tagbus_subscription **sub = user;
	(void)text;
	while (GET(*sub) == NULL)
		usleep(100);
	CHECK(code == TAGBUS_ENOPUBLISHER, "code %d", code);
	CHECK(tagbus_subscription_close(*sub) == TAGBUS_OK, "close in on_end");
	ADD(ended_by, 1);
}

static void nothing_comes(void *user, const tagbus_batch *b) { (void)user, (void)b; }

/* on_end closes the subscription that has ended by itself. */
static void test_end(void)
{
	static tagbus_subscription *subs[4];
	static const char *const options[] = {NULL, "--on-loop"};
	tagbus_subscription *sub;
	int i;
	for (i = 0; i < 4; i++) {
		struct pair x = open_pair(NULL, options[i % 2], NULL, NULL);
		sub = tagbus_subscribe(x.s, "5000", "--timeout 50ms", i < 2 ? nothing_comes : NULL, close_in_end, &subs[i]);
		MUST(sub != NULL);
		__atomic_store_n(&subs[i], sub, __ATOMIC_SEQ_CST);
		until(&ended_by, i + 1);
		MUST(tagbus_close(x.bus) == TAGBUS_OK);
		CHECK(ended_by == i + 1, "ended %d times", ended_by);
	}
}

/* What a bus has is closed with it, and who waits is told. */
static void test_bus(void)
{
	struct pair x = open_pair(NULL, NULL, NULL, NULL);
	tagbus_subscription *sub = pull(&x, NULL), *none;
	tagbus_sender *s = tagbus_sender_open(x.bus, "200", NULL, NULL, NULL);
	tagbus_requester *q = tagbus_requester_open(s, x.s, 200, 201, NULL);
	const tagbus_batch *b;
	struct pollfd p;
	MUST(s != NULL && q != NULL);
	MUST((none = tagbus_subscribe(x.s, "5000", "--timeout 50ms", NULL, NULL, NULL)) != NULL);
	p.events = POLLIN;
	MUST((p.fd = tagbus_subscription_fd(none)) >= 0);
	FAILS(tagbus_next(none, &b, 0), TAGBUS_ETIMEOUT);
	CHECK(poll(&p, 1, 20000) == 1, "not readable at its end");
	FAILS(tagbus_next(none, &b, 0), TAGBUS_ENOPUBLISHER);
	MUST(tagbus_close(x.bus) == TAGBUS_OK);
	FAILS(tagbus_request(q, "x", 1, &b, 0), TAGBUS_ECLOSED);
	FAILS_NULL(tagbus_stats(q), TAGBUS_ECLOSED);
	FAILS(tagbus_requester_close(q), TAGBUS_ECLOSED);
	FAILS(tagbus_next(sub, &b, TAGBUS_FOREVER), TAGBUS_ECLOSED);
}

/* --- calls that would wait for themselves ----------------------------------------------------- */

struct owner {
	struct pair x;
	tagbus_sender *s;
	tagbus_receiver *r;
	tagbus_requester *q;
	tagbus_subscription *sub, *pulled;
	volatile int ready, done;
	int on_loop;
};

#define DENIED(call) \
	do { \
		int got_ = (int)(call); \
		CHECK(got_ == TAGBUS_EWOULDDEADLOCK && tagbus_last_code() == got_, "got %d", got_); \
	} while (0)

static void on_the_loop(void *user, const tagbus_batch *unused)
{
	struct owner *o = user;
	const tagbus_batch *b;
	char *text;
	int code;
	(void)unused;
	if (!GET(o->ready) || GET(o->done))
		return;
	DENIED(tagbus_next(o->pulled, &b, TAGBUS_FOREVER));
	DENIED(tagbus_publisher_wait(o->x.p, 9, NULL, TAGBUS_FOREVER));
	DENIED(tagbus_publisher_drain(o->x.p, NULL, TAGBUS_FOREVER));
	code = tagbus_subscription_wait(o->pulled, TAGBUS_FOREVER);
	CHECK(code == TAGBUS_OK || code == TAGBUS_EWOULDDEADLOCK, "got %d", code); /* it may be acknowledged */
	DENIED(tagbus_sender_wait(o->s, NULL, TAGBUS_FOREVER));
	DENIED(tagbus_send(o->s, 200, "x", 1, 0, TAGBUS_FOREVER));
	DENIED(tagbus_send_acked(o->s, 200, "x", 1, 0, TAGBUS_FOREVER));
	DENIED(tagbus_sender_drain(o->s, NULL, TAGBUS_FOREVER));
	DENIED(tagbus_receiver_drain(o->r, TAGBUS_FOREVER));
	DENIED(tagbus_request(o->q, "x", 1, &b, TAGBUS_FOREVER));
	DENIED(tagbus_publisher_close(o->x.p));
	DENIED(tagbus_subscriber_close(o->x.s));
	DENIED(tagbus_sender_close(o->s));
	DENIED(tagbus_receiver_close(o->r));
	DENIED(tagbus_close(o->x.bus));
	CHECK(tagbus_publish(o->x.p, 2, "x", 1, 0, 0) == TAGBUS_OK, "publish");
	CHECK(tagbus_publisher_flush(o->x.p) == TAGBUS_OK, "flush");
	CHECK((text = tagbus_stats(o->x.p)) != NULL, "stats");
	tagbus_free(text);
	if ((text = tagbus_state(o->x.p, NULL)) == NULL)
		CHECK(tagbus_last_code() == TAGBUS_EWOULDDEADLOCK, "state");
	tagbus_free(text);
	ADD(o->done, 1);
}

static void on_its_thread(void *user, const tagbus_batch *unused)
{
	struct owner *o = user;
	(void)unused;
	if (GET(o->done))
		return;
	while (!GET(o->ready))
		usleep(100);
	DENIED(tagbus_receiver_drain(o->r, TAGBUS_FOREVER));
	DENIED(tagbus_receiver_close(o->r));
	DENIED(tagbus_close(o->x.bus));
	ADD(o->done, 1);
}

static void test_itself(void)
{
	static struct owner o;
	int i;
	o.x = open_pair(NULL, "--on-loop", NULL, NULL);
	MUST((o.s = tagbus_sender_open(o.x.bus, "200", NULL, NULL, NULL)) != NULL);
	MUST((o.r = tagbus_receiver_open(o.x.bus, "300", NULL, NULL, NULL, NULL, NULL)) != NULL);
	MUST((o.q = tagbus_requester_open(o.s, o.x.s, 200, 201, NULL)) != NULL);
	MUST((o.pulled = tagbus_subscribe(o.x.s, "50", NULL, NULL, NULL, NULL)) != NULL);
	MUST((o.sub = tagbus_subscribe(o.x.s, "1", NULL, on_the_loop, NULL, &o)) != NULL);
	MUST(tagbus_subscription_wait(o.sub, 20000) == TAGBUS_OK);
	ADD(o.ready, 1);
	for (i = 0; i < 3; i++)
		MUST(tagbus_publish(o.x.p, 1, "x", 1, 0, 1000) == TAGBUS_OK);
	until(&o.done, 1);
	MUST(tagbus_close(o.x.bus) == TAGBUS_OK);
	memset(&o, 0, sizeof o);
	o.x = open_pair(NULL, NULL, NULL, NULL);
	MUST((o.r = tagbus_receiver_open(o.x.bus, "200", NULL, on_its_thread, NULL, NULL, &o)) != NULL);
	MUST((o.s = tagbus_sender_open(o.x.bus, "200", NULL, NULL, NULL)) != NULL);
	ADD(o.ready, 1);
	MUST(tagbus_send(o.s, 200, "x", 1, 0, 20000) == TAGBUS_OK);
	MUST(tagbus_sender_flush(o.s) == TAGBUS_OK);
	until(&o.done, 1);
	MUST(tagbus_close(o.x.bus) == TAGBUS_OK);
}

/* done of a zero-copy message is a callback, too. */
static struct owner zero;
static void done_waits(void *user)
{
	const tagbus_batch *b;
	(void)user;
	DENIED(tagbus_next(zero.pulled, &b, TAGBUS_FOREVER));
	DENIED(tagbus_publisher_close(zero.x.p));
	ADD(zero.done, 1);
}

static void count_done(void *user) { ADD(*(volatile int *)user, 1); }

static void test_done(void)
{
	static char large[100000];
	static volatile int dones;
	struct pair x;
	int i, code, accepted = 0;
	zero.x = open_pair("--on-loop", NULL, NULL, NULL);
	MUST((zero.pulled = tagbus_subscribe(zero.x.s, "50", NULL, NULL, NULL, NULL)) != NULL);
	MUST(tagbus_subscribe(zero.x.s, "1", NULL, nothing_comes, NULL, NULL) != NULL);
	MUST(tagbus_publisher_wait(zero.x.p, 1, "1", 20000) == TAGBUS_OK);
	MUST(tagbus_publish_zero_copy(zero.x.p, 1, large, sizeof large, 0, 1000, done_waits, NULL) == TAGBUS_OK);
	MUST(tagbus_publish_zero_copy(zero.x.p, 1, "x", 1, 0, 1000, done_waits, NULL) == TAGBUS_OK);
	tagbus_publisher_flush(zero.x.p);
	until(&zero.done, 2);
	MUST(tagbus_close(zero.x.bus) == TAGBUS_OK);
	/* Each that was accepted is called once, also if nothing was sent. */
	x = open_pair("--queue-bytes 2MiB", "--queue-bytes 1MiB", NULL, NULL);
	(void)pull(&x, NULL);
	for (i = 0; i < 200; i++)
		if ((code = tagbus_publish_zero_copy(x.p, 1, large, sizeof large, 0, 0, count_done, (void *)&dones)) == TAGBUS_OK)
			accepted++;
	CHECK(accepted > 0 && accepted < 200, "accepted %d", accepted);
	MUST(tagbus_publisher_close(x.p) == TAGBUS_OK);
	CHECK(dones == accepted, "accepted %d, done %d", accepted, dones);
	MUST(tagbus_close(x.bus) == TAGBUS_OK);
}

/* --- many threads ----------------------------------------------------------------------------- */

#define CROWD 64

struct crowd {
	struct pair x;
	tagbus_subscription *sub;
	volatile int running, got, sent;
	int n;
};

static void *one_of_many(void *arg)
{
	struct crowd *c = arg;
	int i, me = ADD(c->running, 1);
	const tagbus_batch *b;
	for (i = 0; i < 200; i++) {
		int code;
		if ((code = tagbus_publish(c->x.p, (uint64_t)(me % 50) + 1, &i, sizeof i, 0, 60000)) == TAGBUS_OK)
			ADD(c->sent, 1);
		else
			CHECK(code == TAGBUS_ECLOSED, "publish %d", code);
		if (i % 50 == 0) {
			char *text = tagbus_stats(c->x.p);
			tagbus_free(text);
			FAILS(tagbus_publish(c->x.p, 12345, "x", 1, 0, 0), TAGBUS_EUNKNOWNTAG);
			CHECK(strstr(tagbus_last_error(), "12345") != NULL || strstr(tagbus_last_error(), "3039") != NULL, "the text of another thread");
		}
		if (tagbus_next(c->sub, &b, 0) == TAGBUS_OK) {
			ADD(c->got, (int)b->count);
			MUST(tagbus_batch_retain(b) == TAGBUS_OK);
			MUST(tagbus_batch_release(b) == TAGBUS_OK);
			MUST(tagbus_batch_release(b) == TAGBUS_OK);
		}
	}
	return NULL;
}

static void test_crowd(void)
{
	static struct crowd c;
	pthread_t t[CROWD];
	const tagbus_batch *b;
	int i;
	c.x = open_pair(NULL, NULL, NULL, NULL);
	c.sub = pull(&c.x, NULL);
	for (i = 0; i < CROWD; i++)
		MUST(pthread_create(&t[i], NULL, one_of_many, &c) == 0);
	for (i = 0; i < CROWD; i++)
		pthread_join(t[i], NULL);
	tagbus_publisher_flush(c.x.p);
	while (c.got < c.sent && tagbus_next(c.sub, &b, 20000) == TAGBUS_OK) {
		c.got += (int)b->count;
		tagbus_batch_release(b);
	}
	CHECK(c.sent == CROWD * 200 && c.got == c.sent, "%d of %d", c.got, c.sent);
	MUST(tagbus_close(c.x.bus) == TAGBUS_OK);
}

/* Threads that call the library once and end leave nothing. */
static void *calls_once(void *p)
{
	CHECK(tagbus_publish(p, 1, "x", 1, 0, 1000) == TAGBUS_OK, "publish");
	return NULL;
}

static void test_threads(void)
{
	struct pair x = open_pair(NULL, NULL, NULL, NULL);
	long early = 0;
	int i;
	for (i = 0; i < 2000; i++) {
		pthread_t t;
		MUST(pthread_create(&t, NULL, calls_once, x.p) == 0);
		pthread_join(t, NULL);
		if (i == 1000)
			early = resident();
	}
	CHECK(resident() < early + 4096, "%ld KiB after 1000 threads, %ld after 2000", early, resident());
	MUST(tagbus_close(x.bus) == TAGBUS_OK);
}

/* A close beside each call that waits ends it. */
struct beside {
	struct pair x;
	tagbus_sender *s;
	tagbus_receiver *r;
	tagbus_requester *q;
	tagbus_subscription *sub, *none;
	volatile int begun;
};

static void ends(int code)
{
	CHECK(code == TAGBUS_ECLOSED || code == TAGBUS_END || code == TAGBUS_EUNACKED || code == TAGBUS_EUNDELIVERED || code == TAGBUS_ENOREPLY,
		"got %d", code);
}

static void *in_publish(void *arg)
{
	static char data[50000];
	struct beside *y = arg;
	int code;
	ADD(y->begun, 1);
	while ((code = tagbus_publish(y->x.p, 1, data, sizeof data, 0, TAGBUS_FOREVER)) == TAGBUS_OK)
		;
	ends(code);
	return NULL;
}

static void *in_flush(void *arg)
{
	struct beside *y = arg;
	int code;
	ADD(y->begun, 1);
	while ((code = tagbus_publisher_flush(y->x.p)) == TAGBUS_OK)
		usleep(10);
	ends(code);
	return NULL;
}

#define WAITS(name, call) \
	static void *name(void *arg) \
	{ \
		struct beside *y = arg; \
		const tagbus_batch *b = NULL; \
		(void)b; \
		ADD(y->begun, 1); \
		ends(call); \
		return NULL; \
	}
WAITS(in_next, tagbus_next(y->none, &b, TAGBUS_FOREVER))
WAITS(in_sub_wait, tagbus_subscription_wait(y->none, TAGBUS_FOREVER))
WAITS(in_pub_wait, tagbus_publisher_wait(y->x.p, 9, NULL, TAGBUS_FOREVER))
WAITS(in_send, tagbus_send(y->s, 200, "x", 1, 0, TAGBUS_FOREVER))
WAITS(in_send_acked, tagbus_send_acked(y->s, 200, "x", 1, 0, TAGBUS_FOREVER))
WAITS(in_sender_wait, tagbus_sender_wait(y->s, NULL, TAGBUS_FOREVER))
WAITS(in_request, tagbus_request(y->q, "x", 1, &b, TAGBUS_FOREVER))

static void test_beside(void)
{
	static void *(*const calls[])(void *) = {in_publish, in_publish, in_flush, in_next, in_next, in_sub_wait, in_pub_wait, in_send, in_send_acked,
		in_sender_wait, in_request};
	enum { N = sizeof calls / sizeof calls[0] };
	int round, i;
	for (round = 0; round < 3; round++) {
		struct beside y;
		pthread_t t[N];
		memset(&y, 0, sizeof y);
		y.x = open_pair("--queue-bytes 2MiB", "--queue-bytes 1MiB", NULL, NULL);
		y.sub = pull(&y.x, NULL);
		MUST((y.none = tagbus_subscribe(y.x.s, "5000", NULL, NULL, NULL, NULL)) != NULL);
		MUST((y.s = tagbus_sender_open(y.x.bus, "200", NULL, NULL, NULL)) != NULL);
		MUST((y.q = tagbus_requester_open(y.s, y.x.s, 200, 201, "--timeout 1h")) != NULL);
		for (i = 0; i < N; i++)
			MUST(pthread_create(&t[i], NULL, calls[i], &y) == 0);
		until(&y.begun, N);
		if (round == 1) { /* one by one, else the bus */
			usleep(50000);
			MUST(tagbus_publisher_close(y.x.p) == TAGBUS_OK);
			MUST(tagbus_requester_close(y.q) == TAGBUS_OK);
			MUST(tagbus_sender_close(y.s) == TAGBUS_OK);
			MUST(tagbus_subscription_close(y.none) == TAGBUS_OK);
		}
		MUST(tagbus_close(y.x.bus) == TAGBUS_OK);
		for (i = 0; i < N; i++)
			pthread_join(t[i], NULL);
	}
}

/* --- the process ------------------------------------------------------------------------------ */

static void test_descriptors(void)
{
	struct rlimit few, before;
	struct pair x;
	tagbus_subscription *sub;
	int i, n;
	getrlimit(RLIMIT_NOFILE, &before);
	few = before;
	for (n = 3; n < 24; n++) {
		tagbus *bus;
		few.rlim_cur = (rlim_t)n;
		MUST(setrlimit(RLIMIT_NOFILE, &few) == 0);
		if ((bus = tagbus_open(where, NULL)) != NULL) {
			MUST(tagbus_close(bus) == TAGBUS_OK);
			continue;
		}
		CHECK(tagbus_last_code() == TAGBUS_ESYSTEM && strstr(tagbus_last_error(), "open files") != NULL, "open with %d", n);
	}
	setrlimit(RLIMIT_NOFILE, &before);
	bus_options = "--log-level error"; /* that a transport is left out, and the others serve, is a warning */
	x = open_pair(NULL, NULL, NULL, NULL);
	sub = pull(&x, NULL);
	few.rlim_cur = (rlim_t)3;
	MUST(setrlimit(RLIMIT_NOFILE, &few) == 0);
	FAILS(tagbus_subscription_fd(sub), TAGBUS_ESYSTEM);
	for (i = 0; i < 3; i++) {
		tagbus_publisher *p = tagbus_publisher_open(x.bus, "7", NULL, NULL, NULL);
		CHECK(p == NULL && tagbus_last_code() == TAGBUS_ESYSTEM, "a publisher without a descriptor");
	}
	setrlimit(RLIMIT_NOFILE, &before);
	CHECK(tagbus_subscription_fd(sub) >= 0, "fd");
	MUST(tagbus_close(x.bus) == TAGBUS_OK);
}

/* Another copy of the library shares the core of this one, and is refused: its batches would be of the first. */
static void test_copies(void)
{
	char command[PATH_MAX * 2 + 100], copy[PATH_MAX];
	Dl_info info;
	void *second, *symbol;
	tagbus_bus *(*open_second)(const char *, const char *);
	const char *(*error)(void);
	struct pair x = open_pair(NULL, NULL, NULL, NULL);
	MUST(dladdr(dlsym(RTLD_DEFAULT, "tagbus_open"), &info) != 0);
	setenv("TAGBUS_CORE", getenv("TAGBUS_TEST_CORE"), 1);
	snprintf(copy, sizeof copy, "%s-libtagbus.so", where);
	snprintf(command, sizeof command, "cp -L '%s' '%s'", info.dli_fname, copy);
	MUST(system(command) == 0);
	MUST((second = dlopen(copy, RTLD_NOW | RTLD_LOCAL)) != NULL);
	MUST((symbol = dlsym(second, "tagbus_open")) != NULL);
	memcpy(&open_second, &symbol, sizeof symbol);
	MUST((symbol = dlsym(second, "tagbus_last_error")) != NULL);
	memcpy(&error, &symbol, sizeof symbol);
	CHECK(open_second(where, NULL) == NULL && strstr(error(), "copy") != NULL, "a second copy: %s", error());
	MUST(tagbus_publisher_close(x.p) == TAGBUS_OK);
	MUST(tagbus_close(x.bus) == TAGBUS_OK);
}

/* A fork beside the first tagbus_open, and one that runs no handlers. */
static volatile int opening;
static void *opens(void *unused)
{
	(void)unused;
	ADD(opening, 1);
	return tagbus_open(where, NULL);
}

static int opens_or_not(void)
{
	alarm(30);
	return tagbus_open(where, NULL) == NULL && tagbus_last_code() != TAGBUS_EFORKED;
}

static void test_forks(void)
{
	pthread_t t;
	void *bus;
	int i, status;
	pid_t pids[40];
	MUST(pthread_create(&t, NULL, opens, NULL) == 0);
	until(&opening, 1);
	for (i = 0; i < 40; i++) {
		if ((pids[i] = fork()) == 0)
			_exit(opens_or_not());
		usleep(200);
	}
	pthread_join(t, &bus);
	for (i = 0; i < 40; i++) {
		waitpid(pids[i], &status, 0);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "child %d ends with %x", i, status);
	}
	MUST(bus != NULL);
	if ((pids[0] = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)) == 0) {
		alarm(30);
		_exit(tagbus_alive(bus, 1000) != TAGBUS_EFORKED);
	}
	waitpid(pids[0], &status, 0);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a child of clone ends with %x", status);
	MUST(tagbus_close(bus) == TAGBUS_OK);
}

static const struct test tests[] = {
	{"writer", test_writer}, {"times", test_times}, {"endless", test_endless}, {"leaks", test_leaks}, {"end", test_end}, {"bus", test_bus},
	{"itself", test_itself}, {"done", test_done}, {"crowd", test_crowd}, {"threads", test_threads}, {"beside", test_beside},
	{"descriptors", test_descriptors}, {"copies", test_copies}, {"forks", test_forks}, {NULL, NULL},
};

int main(int argc, char **argv) { return run_test(tests, argc, argv); }
