// SPDX-License-Identifier: Apache-2.0

/* sender BUS TAG COUNT [OPTIONS]: sends COUNT messages to the receiver that owns the tag. */

#include <stdio.h>
#include <tagbus.h>

static int failed(void)
{
	fprintf(stderr, "sender: %s\n", tagbus_last_error());
	return 1;
}

int main(int argc, char **argv)
{
	unsigned long long count, i;
	char text[32];
	tagbus *bus;
	tagbus_sender *sender;
	if (argc < 4) {
		fprintf(stderr, "usage: sender BUS TAG COUNT [OPTIONS]\n");
		return 2;
	}
	count = strtoull(argv[3], NULL, 0);
	if ((bus = tagbus_open(argv[1], argc > 4 ? argv[4] : NULL)) == NULL)
		return failed();
	if ((sender = tagbus_sender_open(bus, argv[2], NULL, NULL, NULL)) == NULL)
		return failed();
	for (i = 1; i <= count; i++) {
		int n = snprintf(text, sizeof text, "message %llu", i);
		if (tagbus_send(sender, strtoull(argv[2], NULL, 0), text, (size_t)n, 0, TAGBUS_FOREVER) != TAGBUS_OK)
			return failed();
	}
	if (tagbus_sender_drain(sender, NULL, 60000) != TAGBUS_OK)
		return failed();
	printf("sent %llu messages\n", count);
	tagbus_close(bus);
	return 0;
}
