// SPDX-License-Identifier: Apache-2.0

/* monitor BUS TAGS COUNT [OPTIONS]: subscribes, and ends after COUNT messages, lost ones included. */

#include <stdatomic.h>
#include <stdio.h>
#include <tagbus.h>

static atomic_ullong lost;

static void on_event(void *user, const tagbus_event *event)
{
	(void)user;
	fprintf(stderr, "monitor: %s\n", event->text);
	if (event->kind == TAGBUS_GAP)
		lost += event->count;
}

static int failed(void)
{
	fprintf(stderr, "monitor: %s\n", tagbus_last_error());
	return 1;
}

int main(int argc, char **argv)
{
	unsigned long long count, messages = 0, bytes = 0;
	const tagbus_batch *batch;
	tagbus *bus;
	tagbus_subscriber *subscriber;
	tagbus_subscription *subscription;
	if (argc < 4) {
		fprintf(stderr, "usage: monitor BUS TAGS COUNT [OPTIONS]\n");
		return 2;
	}
	count = strtoull(argv[3], NULL, 0);
	if ((bus = tagbus_open(argv[1], argc > 4 ? argv[4] : NULL)) == NULL)
		return failed();
	if ((subscriber = tagbus_subscriber_open(bus, NULL, on_event, NULL)) == NULL)
		return failed();
	if ((subscription = tagbus_subscribe(subscriber, argv[2], NULL, NULL, NULL, NULL)) == NULL)
		return failed();
	while (messages + lost < count) {
		int code = tagbus_next(subscription, &batch, 1000);
		if (code == TAGBUS_ETIMEOUT)
			continue; /* to look at what is lost */
		if (code != TAGBUS_OK)
			return failed();
		for (size_t i = 0; i < batch->count; i++)
			bytes += batch->messages[i].size;
		messages += batch->count;
		tagbus_batch_release(batch);
	}
	printf("received %llu messages, %llu bytes, %llu lost\n", messages, bytes, lost);
	tagbus_close(bus);
	return 0;
}
