// SPDX-License-Identifier: Apache-2.0

/* readout BUS TAG COUNT SIZE [OPTIONS]: publishes COUNT messages of SIZE bytes, once there is a subscriber. */

#include <stdio.h>
#include <tagbus.h>

static int failed(void)
{
	fprintf(stderr, "readout: %s\n", tagbus_last_error());
	return 1;
}

int main(int argc, char **argv)
{
	static tagbus_writer writer;
	unsigned long long count, i;
	size_t size;
	char *data;
	tagbus *bus;
	tagbus_publisher *publisher;
	if (argc < 5) {
		fprintf(stderr, "usage: readout BUS TAG COUNT SIZE [OPTIONS]\n");
		return 2;
	}
	count = strtoull(argv[3], NULL, 0);
	size = strtoul(argv[4], NULL, 0);
	data = calloc(1, size + 1);
	if (data == NULL || (bus = tagbus_open(argv[1], argc > 5 ? argv[5] : NULL)) == NULL)
		return failed();
	if ((publisher = tagbus_publisher_open(bus, argv[2], NULL, NULL, NULL)) == NULL)
		return failed();
	if (tagbus_publisher_wait(publisher, 1, argv[2], TAGBUS_FOREVER) != TAGBUS_OK)
		return failed();
	tagbus_writer_init(&writer, publisher, TAGBUS_FOREVER);
	for (i = 1; i <= count; i++) {
		memset(data, (int)(i % 256), size);
		if (tagbus_writer_add(&writer, strtoull(argv[2], NULL, 0), data, size, 0) != TAGBUS_OK)
			return failed();
	}
	if (tagbus_writer_flush(&writer) != TAGBUS_OK || tagbus_publisher_drain(publisher, NULL, 60000) != TAGBUS_OK)
		return failed();
	printf("published %llu messages\n", count);
	tagbus_close(bus);
	free(data);
	return 0;
}
