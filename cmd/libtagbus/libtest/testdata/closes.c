/* SPDX-License-Identifier: Apache-2.0 */

/* What is closed while others close it, by callbacks, and for one another: closes NAME BUS, as traps.c. */

#include "trap.h"

static const char *const options[] = {NULL, "--on-loop"};

/* --- a close beside that of the bus ----------------------------------------------------------- */

enum { BEFORE, RUNS, MAY_RETURN, RETURNS };

struct held {
	struct pair x;
	tagbus_subscription *sub;
	volatile int state; /* of on_batch */
};

static void on_batch_waits(void *user, const tagbus_batch *b)
{
	struct held *h = user;
	(void)b;
	__atomic_store_n(&h->state, RUNS, __ATOMIC_SEQ_CST);
	until(&h->state, MAY_RETURN);
	__atomic_store_n(&h->state, RETURNS, __ATOMIC_SEQ_CST);
}

static void *closes_bus(void *arg)
{
	struct held *h = arg;
	CHECK(tagbus_close(h->x.bus) == TAGBUS_OK, "close of the bus");
	return NULL;
}

static void closed_at(struct held *h, int code)
{
	CHECK(code == TAGBUS_OK || code == TAGBUS_ECLOSED, "got %d", code);
	CHECK(GET(h->state) == RETURNS, "it returns while on_batch runs");
}

#define CLOSES(name, call) \
	static void *name(void *arg) \
	{ \
		struct held *h = arg; \
		closed_at(h, call); \
		return NULL; \
	}
CLOSES(closes_bus_too, tagbus_close(h->x.bus))
CLOSES(closes_subscriber, tagbus_subscriber_close(h->x.s))
CLOSES(closes_subscription, tagbus_subscription_close(h->sub))

/* While one thread closes a bus, which waits for a callback, others close parts of it: they wait for that callback, too. */
static void test_child(void)
{
	static void *(*const closers[])(void *) = {closes_bus_too, closes_subscriber, closes_subscription};
	enum { N = sizeof closers / sizeof closers[0] };
	int i, j;
	for (i = 0; i < 2; i++) {
		struct held h;
		pthread_t t[N + 1];
		char *stats;
		memset(&h, 0, sizeof h);
		h.x = open_pair(NULL, options[i], NULL, NULL);
		MUST((h.sub = tagbus_subscribe(h.x.s, "1", NULL, on_batch_waits, NULL, &h)) != NULL);
		MUST(tagbus_publisher_wait(h.x.p, 1, "1", 20000) == TAGBUS_OK);
		MUST(tagbus_publish(h.x.p, 1, "x", 1, 0, 1000) == TAGBUS_OK);
		tagbus_publisher_flush(h.x.p);
		until(&h.state, RUNS);
		MUST(pthread_create(&t[N], NULL, closes_bus, &h) == 0);
		while ((stats = tagbus_stats(i == 0 ? (void *)h.x.p : (void *)h.x.s)) != NULL) { /* closed last, and first, which waits for the loop */
			tagbus_free(stats);
			usleep(100);
		}
		for (j = 0; j < N; j++)
			MUST(pthread_create(&t[j], NULL, closers[j], &h) == 0);
		usleep(200000);
		__atomic_store_n(&h.state, MAY_RETURN, __ATOMIC_SEQ_CST);
		for (j = 0; j <= N; j++)
			pthread_join(t[j], NULL);
	}
}

/* --- callbacks that close what waits for them ------------------------------------------------- */

struct side {
	struct pair x;
	struct side *other;
	volatile int ready, called, result;
};

static void closes_other(void *user, const tagbus_event *e)
{
	struct side *s = user;
	(void)e;
	if (ADD(s->called, 1) > 1)
		return;
	until(&s->ready, 1);
	until(&s->other->called, 1);
	__atomic_store_n(&s->result, tagbus_close(s->other->x.bus) == TAGBUS_OK ? 1 : tagbus_last_code(), __ATOMIC_SEQ_CST);
}

/* Callbacks on two buses, each of which closes the bus of the other: one does, and one is refused. */
static void test_mutual(void)
{
	static struct side sides[2];
	char other[4096];
	const char *const first = where;
	int i, ok = 0;
	(void)snprintf(other, sizeof other, "%s-other", where);
	for (i = 0; i < 2; i++) {
		where = i == 0 ? first : other;
		sides[i].other = &sides[1 - i];
		sides[i].x = open_pair(NULL, NULL, closes_other, &sides[i]);
		MUST(tagbus_subscribe(sides[i].x.s, "1", NULL, NULL, NULL, NULL) != NULL);
	}
	for (i = 0; i < 2; i++)
		ADD(sides[i].ready, 1);
	for (i = 0; i < 2; i++) {
		while (GET(sides[i].result) == 0)
			usleep(100);
		CHECK(sides[i].result == 1 || sides[i].result == TAGBUS_EWOULDDEADLOCK, "got %d", sides[i].result);
		ok += sides[i].result == 1;
	}
	CHECK(ok == 1, "%d of two buses closed", ok);
	for (i = 0; i < 2; i++)
		(void)tagbus_close(sides[i].x.bus);
}

/* --- on_batch that closes its subscription ---------------------------------------------------- */

struct batch {
	tagbus_subscription *volatile sub;
	volatile int inside, closed, ends;
};

static void closes_itself(void *user, const tagbus_batch *b)
{
	struct batch *c = user;
	(void)b;
	while (GET(c->sub) == NULL)
		usleep(100);
	ADD(c->inside, 1);
	CHECK(tagbus_subscription_close(c->sub) == TAGBUS_OK, "close in on_batch");
	ADD(c->inside, -1);
	ADD(c->closed, 1);
}

static void ends_behind(void *user, int code, const char *text)
{
	struct batch *c = user;
	(void)text;
	CHECK(code == TAGBUS_OK && GET(c->inside) == 0, "code %d, %d in on_batch", code, c->inside);
	ADD(c->ends, 1);
}

/* on_end comes behind on_batch, also if that closes its subscription, and before the close of the bus returns. */
static void test_batch(void)
{
	int i;
	for (i = 0; i < 2; i++) {
		struct batch c;
		struct pair x = open_pair(NULL, options[i], NULL, NULL);
		memset((void *)&c, 0, sizeof c);
		__atomic_store_n(&c.sub, tagbus_subscribe(x.s, "1", NULL, closes_itself, ends_behind, &c), __ATOMIC_SEQ_CST);
		MUST(c.sub != NULL);
		MUST(tagbus_publisher_wait(x.p, 1, "1", 20000) == TAGBUS_OK);
		MUST(tagbus_publish(x.p, 1, "x", 1, 0, 1000) == TAGBUS_OK);
		tagbus_publisher_flush(x.p);
		until(&c.closed, 1);
		FAILS(tagbus_subscription_close(c.sub), TAGBUS_ECLOSED);
		MUST(tagbus_close(x.bus) == TAGBUS_OK);
		CHECK(c.ends == 1 && c.closed == 1, "%d ends, %d closes", c.ends, c.closed);
	}
}

/* --- the loop of another bus ------------------------------------------------------------------ */

static struct batch foreign;

static void closes_foreign(void *user, const tagbus_batch *b)
{
	(void)user, (void)b;
	FAILS(tagbus_subscription_close(foreign.sub), TAGBUS_EWOULDDEADLOCK); /* it would wait for an on_batch on its loop */
	ADD(foreign.closed, 1);
}

static void nothing(void *user, const tagbus_batch *b) { (void)user, (void)b; }

static void test_foreign(void)
{
	struct pair x = open_pair(NULL, "--on-loop", NULL, NULL), y;
	char other[4096];
	(void)snprintf(other, sizeof other, "%s-other", where);
	where = other;
	y = open_pair(NULL, "--on-loop", NULL, NULL);
	MUST((foreign.sub = tagbus_subscribe(y.s, "1", NULL, nothing, ends_behind, &foreign)) != NULL);
	MUST(tagbus_subscribe(x.s, "1", NULL, closes_foreign, NULL, NULL) != NULL);
	MUST(tagbus_publisher_wait(x.p, 1, "1", 20000) == TAGBUS_OK);
	MUST(tagbus_publish(x.p, 1, "x", 1, 0, 1000) == TAGBUS_OK);
	tagbus_publisher_flush(x.p);
	until(&foreign.closed, 1);
	CHECK(foreign.ends == 0, "it has ended");
	MUST(tagbus_subscription_close(foreign.sub) == TAGBUS_OK);
	CHECK(foreign.ends == 1, "%d ends", foreign.ends);
	MUST(tagbus_close(x.bus) == TAGBUS_OK);
	MUST(tagbus_close(y.bus) == TAGBUS_OK);
}

static const struct test tests[] = {
	{"child", test_child}, {"mutual", test_mutual}, {"batch", test_batch}, {"foreign", test_foreign}, {NULL, NULL},
};

int main(int argc, char **argv) { return run_test(tests, argc, argv); }
