/* SPDX-License-Identifier: Apache-2.0 */

/* memory right BUS: has and frees memory as it is to be.
 * memory freed BUS: publishes memory that is freed.
 * memory beyond BUS: publishes more than there is, in a batch.
 * memory gone BUS: reads memory that was freed before a peer had gone.
 * memory lost BUS: does not free a text. */

#include "trap.h"

static void on_batch(void *user, const tagbus_batch *b)
{
	(void)b;
	ADD(*(volatile int *)user, 1);
}

static volatile int batches;

/* talk has a message go from a publisher to two subscriptions. */
static struct pair talk(void)
{
	struct pair x = open_pair(NULL, NULL, NULL, NULL);
	tagbus_subscription *sub = pull(&x, NULL), *called;
	const tagbus_batch *b;
	batches = 0;
	MUST((called = tagbus_subscribe(x.s, "1", NULL, on_batch, NULL, (void *)(uintptr_t)&batches)) != NULL);
	MUST(tagbus_subscription_wait(called, 20000) == TAGBUS_OK);
	MUST(tagbus_publish(x.p, 1, "hello", 5, 0, 20000) == TAGBUS_OK && tagbus_publisher_flush(x.p) == TAGBUS_OK);
	MUST(tagbus_next(sub, &b, 20000) == TAGBUS_OK);
	CHECK(b->messages[0].size == 5 && memcmp(b->messages[0].data, "hello", 5) == 0, "got %u bytes", b->messages[0].size);
	MUST(tagbus_batch_release(b) == TAGBUS_OK);
	return x;
}

static void test_right(void)
{
	struct pair x = talk();
	char *text = tagbus_stats(x.p);
	until(&batches, 1);
	MUST(text != NULL);
	tagbus_free(text);
	MUST(tagbus_subscriber_close(x.s) == TAGBUS_OK && tagbus_publisher_drain(x.p, NULL, 20000) == TAGBUS_OK);
	MUST(tagbus_close(x.bus) == TAGBUS_OK);
}

static void test_freed(void)
{
	struct pair x = talk();
	char *volatile data = malloc(100);
	MUST(data != NULL);
	memset(data, 1, 100);
	free(data);
	(void)tagbus_publish(x.p, 1, data, 100, 0, 0);
	tagbus_close(x.bus);
}

static void test_beyond(void)
{
	struct pair x = talk();
	char *data = calloc(1, 100);
	tagbus_message m[2] = {{1, 0, "x", 1, 0, 0, {0, 0}}, {1, 0, data, 101, 0, 0, {0, 0}}};
	(void)tagbus_publish_batch(x.p, m, 2, 0);
	tagbus_close(x.bus);
	free(data);
}

static void test_gone(void)
{
	struct pair x = talk();
	char *volatile data = calloc(1, 100);
	MUST(data != NULL);
	free(data);
	MUST(tagbus_subscriber_close(x.s) == TAGBUS_OK && tagbus_close(x.bus) == TAGBUS_OK);
	if (data[3] != 0)
		puts("not 0");
}

static void test_lost(void)
{
	struct pair x = talk();
	(void)tagbus_stats(x.p);
	tagbus_close(x.bus);
}

static const struct test tests[] = {{"right", test_right}, {"freed", test_freed}, {"beyond", test_beyond}, {"gone", test_gone},
	{"lost", test_lost}, {NULL, NULL}};

int main(int argc, char **argv) { return run_test(tests, argc, argv); }
