// SPDX-License-Identifier: Apache-2.0

/* request BUS device|ask COUNT [OPTIONS]: a device that doubles numbers, and a program that asks it. The
 * device owns tag 1, and publishes replies with tag 2. */

#include <stdio.h>
#include <tagbus.h>

enum { COMMAND = 1, REPLY = 2 };

static int failed(void)
{
	fprintf(stderr, "request: %s\n", tagbus_last_error());
	return 1;
}

/* answer answers the commands of a batch, and returns 0 on success. */
static int answer(tagbus_publisher *replies, const tagbus_batch *batch)
{
	for (size_t i = 0; i < batch->count; i++) {
		char text[32] = "";
		uint8_t id[16];
		size_t size = batch->messages[i].size;
		memcpy(text, batch->messages[i].data, size < sizeof text ? size : sizeof text - 1);
		int n = snprintf(text, sizeof text, "%lld", 2 * strtoll(text, NULL, 10));
		if (tagbus_batch_request_id(batch, i, id) != TAGBUS_OK ||
			tagbus_reply(replies, id, REPLY, text, (size_t)n, 0, TAGBUS_FOREVER) != TAGBUS_OK)
			return failed();
	}
	return 0;
}

static int device(tagbus *bus, unsigned long long count)
{
	tagbus_publisher *replies = tagbus_publisher_open(bus, "2", NULL, NULL, NULL);
	tagbus_receiver *commands = tagbus_receiver_open(bus, "1", NULL, NULL, NULL, NULL, NULL);
	const tagbus_batch *batch;
	if (replies == NULL || commands == NULL)
		return failed();
	for (unsigned long long n = 0; n < count; n += batch->count, tagbus_batch_release(batch)) {
		if (tagbus_next(tagbus_receiver_messages(commands), &batch, TAGBUS_FOREVER) != TAGBUS_OK)
			return failed();
		if (answer(replies, batch) != 0)
			return 1;
	}
	if (tagbus_publisher_drain(replies, NULL, 60000) != TAGBUS_OK)
		return failed();
	printf("answered %llu commands\n", count);
	return 0;
}

static int ask(tagbus *bus, unsigned long long count)
{
	tagbus_sender *sender = tagbus_sender_open(bus, "1", NULL, NULL, NULL);
	tagbus_subscriber *subscriber = tagbus_subscriber_open(bus, NULL, NULL, NULL);
	tagbus_requester *requester = tagbus_requester_open(sender, subscriber, COMMAND, REPLY, NULL);
	if (requester == NULL)
		return failed();
	for (unsigned long long i = 1; i <= count; i++) {
		char command[32], want[32];
		const tagbus_batch *reply;
		int n = snprintf(command, sizeof command, "%llu", i), w = snprintf(want, sizeof want, "%llu", 2 * i);
		if (tagbus_request(requester, command, (size_t)n, &reply, 60000) != TAGBUS_OK)
			return failed();
		if (reply->messages[0].size != (uint32_t)w || memcmp(reply->messages[0].data, want, (size_t)w) != 0) {
			fprintf(stderr, "request: %s doubled is not %s\n", command, want);
			return 1;
		}
		tagbus_batch_release(reply);
	}
	printf("asked %llu times\n", count);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 4) {
		fprintf(stderr, "usage: request BUS device|ask COUNT [OPTIONS]\n");
		return 2;
	}
	tagbus *bus = tagbus_open(argv[1], argc > 4 ? argv[4] : NULL);
	if (bus == NULL)
		return failed();
	unsigned long long count = strtoull(argv[3], NULL, 0);
	int status = strcmp(argv[2], "device") == 0 ? device(bus, count) : ask(bus, count);
	tagbus_close(bus);
	return status;
}
