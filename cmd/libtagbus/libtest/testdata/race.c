/* SPDX-License-Identifier: Apache-2.0 */

/* race ordered BUS: hands plain memory over by each way that the bus orders.
 * race race BUS: two callbacks of different subscribers write it at a time. */

#include "trap.h"

static int plain[8];
static volatile int ends, inside;

static void on_event(void *user, const tagbus_event *event)
{
	(void)user;
	if (event->kind == TAGBUS_SUBSCRIBED && event->text[0] != 0)
		plain[1]++; /* after tagbus_subscribe of the same program */
}

static void on_batch(void *user, const tagbus_batch *b)
{
	int *value = user;
	size_t i;
	for (i = 0; i < b->count; i++)
		*value += (int)b->messages[i].size;
}

static void on_end(void *user, int code, const char *text)
{
	*(int *)user += code == TAGBUS_OK && text[0] == 0 ? 1 : 100;
	__atomic_add_fetch(&ends, 1, __ATOMIC_SEQ_CST);
}

static void on_done(void *user) { *(int *)user += 1; }

/* Each callback reads what was written before the call that it comes of, and close is after all of them. */
static void ordered(const char *options)
{
	static char large[100000];
	struct pair x;
	tagbus_subscription *sub, *pulled;
	const tagbus_batch *b;
	int i;
	MUST((x.bus = tagbus_open(where, NULL)) != NULL);
	plain[1] = 0;
	MUST((x.p = tagbus_publisher_open(x.bus, "1-100", options, on_event, NULL)) != NULL);
	MUST((x.s = tagbus_subscriber_open(x.bus, options, NULL, NULL)) != NULL);
	MUST((pulled = tagbus_subscribe(x.s, "2", NULL, NULL, NULL, NULL)) != NULL);
	plain[2] = plain[3] = 0;
	MUST((sub = tagbus_subscribe(x.s, "1", NULL, on_batch, on_end, &plain[2])) != NULL);
	MUST(tagbus_subscription_wait(sub, 20000) == TAGBUS_OK && tagbus_subscription_wait(pulled, 20000) == TAGBUS_OK);
	for (i = 0; i < 100; i++)
		MUST(tagbus_publish(x.p, 1, "x", 1, 0, TAGBUS_FOREVER) == TAGBUS_OK);
	plain[3] = 0;
	MUST(tagbus_publish_zero_copy(x.p, 2, large, sizeof large, 0, TAGBUS_FOREVER, on_done, &plain[3]) == TAGBUS_OK);
	MUST(tagbus_publisher_flush(x.p) == TAGBUS_OK);
	MUST(tagbus_next(pulled, &b, 20000) == TAGBUS_OK);
	CHECK(b->messages[0].size == sizeof large, "%u bytes", b->messages[0].size);
	MUST(tagbus_batch_release(b) == TAGBUS_OK);
	MUST(tagbus_publisher_drain(x.p, NULL, 20000) == TAGBUS_OK);
	MUST(tagbus_subscription_close(sub) == TAGBUS_OK && tagbus_close(x.bus) == TAGBUS_OK);
	CHECK(ends == 1 && plain[1] > 0 && plain[2] >= 1 && plain[2] <= 101 && plain[3] == 1, "ends %d, events %d, bytes %d, done %d", ends, plain[1], plain[2], plain[3]);
	ends = 0;
}

static void test_ordered(void)
{
	ordered(NULL);
	ordered("--on-loop");
}

static void together(void *user, const tagbus_batch *b)
{
	(void)user;
	(void)b;
	ADD(inside, 1);
	until(&inside, 2);
	plain[0]++;
}

static void test_race(void)
{
	struct pair x = open_pair(NULL, NULL, NULL, NULL);
	tagbus_subscriber *other = tagbus_subscriber_open(x.bus, NULL, NULL, NULL);
	MUST(tagbus_subscribe(x.s, "1", NULL, together, NULL, NULL) != NULL && tagbus_subscribe(other, "1", NULL, together, NULL, NULL) != NULL);
	MUST(tagbus_publisher_wait(x.p, 2, "1", 20000) == TAGBUS_OK);
	MUST(tagbus_publish(x.p, 1, "x", 1, 0, TAGBUS_FOREVER) == TAGBUS_OK && tagbus_publisher_flush(x.p) == TAGBUS_OK);
	until(&inside, 2);
	MUST(tagbus_close(x.bus) == TAGBUS_OK);
}

static const struct test tests[] = {{"ordered", test_ordered}, {"race", test_race}, {NULL, NULL}};

int main(int argc, char **argv) { return run_test(tests, argc, argv); }
