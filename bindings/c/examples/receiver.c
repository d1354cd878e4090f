// SPDX-License-Identifier: Apache-2.0

/* receiver BUS TAGS COUNT [OPTIONS]: owns tags, and ends after COUNT messages. */

#include <stdio.h>
#include <tagbus.h>

static int failed(void)
{
	fprintf(stderr, "receiver: %s\n", tagbus_last_error());
	return 1;
}

int main(int argc, char **argv)
{
	unsigned long long count, messages = 0, bytes = 0;
	const tagbus_batch *batch;
	tagbus *bus;
	tagbus_receiver *receiver;
	if (argc < 4) {
		fprintf(stderr, "usage: receiver BUS TAGS COUNT [OPTIONS]\n");
		return 2;
	}
	count = strtoull(argv[3], NULL, 0);
	if ((bus = tagbus_open(argv[1], argc > 4 ? argv[4] : NULL)) == NULL)
		return failed();
	if ((receiver = tagbus_receiver_open(bus, argv[2], NULL, NULL, NULL, NULL, NULL)) == NULL)
		return failed();
	while (messages < count) {
		if (tagbus_next(tagbus_receiver_messages(receiver), &batch, TAGBUS_FOREVER) != TAGBUS_OK)
			return failed();
		for (size_t i = 0; i < batch->count; i++)
			bytes += batch->messages[i].size;
		messages += batch->count;
		tagbus_batch_release(batch);
	}
	if (tagbus_receiver_drain(receiver, 60000) != TAGBUS_OK)
		return failed();
	printf("received %llu messages, %llu bytes\n", messages, bytes);
	tagbus_close(bus);
	return 0;
}
