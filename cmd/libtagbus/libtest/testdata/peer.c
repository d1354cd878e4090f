// SPDX-License-Identifier: Apache-2.0

// A peer for TestCounts: peer publish|pull|thread|loop BUS COUNT OPTIONS. It publishes COUNT messages on tag 5, or receives
// until the publisher says goodbye, and prints what came and what was said to be lost.

#define _DEFAULT_SOURCE
#include "tagbus.h"

#include <stdio.h>
#include <unistd.h>

static unsigned long long got, lost, last, disordered;
static unsigned long long before = (unsigned long long)-1; /* messages that were published for others */
static int over;

static void take(void *user, const tagbus_batch *b)
{
	size_t i;
	(void)user;
	for (i = 0; i < b->count; i++) {
		unsigned long long counter;
		got++;
		if (b->messages[i].size == 1) { /* the last one */
			__atomic_store_n(&over, 1, __ATOMIC_SEQ_CST);
			continue;
		}
		memcpy(&counter, b->messages[i].data, 8);
		if (before == (unsigned long long)-1)
			before = b->messages[i].counter - counter;
		if (counter + before != b->messages[i].counter || counter <= last)
			disordered++;
		last = counter;
	}
}

static void note(void *user, const tagbus_event *e)
{
	(void)user;
	if (e->kind == TAGBUS_GAP)
		__atomic_add_fetch(&lost, e->count, __ATOMIC_SEQ_CST);
	if (e->kind == TAGBUS_GOODBYE || e->kind == TAGBUS_VANISHED)
		__atomic_store_n(&over, 1, __ATOMIC_SEQ_CST);
}

static int fail(const char *what)
{
	printf("%s: %s\n", what, tagbus_last_error());
	return 1;
}

static int publish(tagbus *bus, unsigned long long n)
{
	static char data[100];
	unsigned long long i;
	tagbus_publisher *p = tagbus_publisher_open(bus, "5", NULL, NULL, NULL);
	if (p == NULL || tagbus_publisher_wait(p, 1, NULL, 60000) != TAGBUS_OK)
		return fail("open");
	for (i = 1; i <= n; i++) {
		memcpy(data, &i, 8);
		if (tagbus_publish(p, 5, data, 8 + i % 90, 0, 60000) != TAGBUS_OK)
			return fail("publish");
	}
	if (tagbus_publisher_drain(p, NULL, 60000) != TAGBUS_OK)
		return fail("drain");
	return tagbus_close(bus) == TAGBUS_OK ? 0 : fail("close");
}

int main(int argc, char **argv)
{
	tagbus *bus;
	tagbus_subscriber *s;
	tagbus_subscription *sub;
	const tagbus_batch *b;
	int code, pulls, loop;
	if (argc != 5 || (bus = tagbus_open(argv[2], NULL)) == NULL)
		return fail("open");
	if (strcmp(argv[1], "publish") == 0)
		return publish(bus, strtoull(argv[3], NULL, 10));
	pulls = strcmp(argv[1], "pull") == 0;
	loop = strcmp(argv[1], "loop") == 0;
	if ((s = tagbus_subscriber_open(bus, loop ? "--on-loop" : "--queue-bytes 64KiB", note, NULL)) == NULL)
		return fail("subscriber");
	if ((sub = tagbus_subscribe(s, "5", argv[4], pulls ? NULL : take, NULL, NULL)) == NULL)
		return fail("subscribe");
	for (;;) {
		int ended = __atomic_load_n(&over, __ATOMIC_SEQ_CST);
		if (!pulls) {
			usleep(20000);
			code = TAGBUS_ETIMEOUT;
		} else if ((code = tagbus_next(sub, &b, 100)) == TAGBUS_OK) {
			take(NULL, b);
			tagbus_batch_release(b);
		}
		if (ended && code == TAGBUS_ETIMEOUT)
			break;
	}
	if (!pulls && !loop)
		usleep(300000); /* what is queued */
	if (tagbus_close(bus) != TAGBUS_OK)
		return fail("close");
	printf("%llu %llu %llu\n", got, lost, disordered);
	return 0;
}
