// SPDX-License-Identifier: Apache-2.0

/* load LIBRARY BUS: opens a bus with the library in a file, and prints where the core is, or why there is none. */

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "tagbus.h"

static void *find(void *library, const char *name)
{
	void *symbol = dlsym(library, name);
	if (symbol == NULL)
		fprintf(stderr, "load: %s is not there\n", name);
	return symbol;
}

int main(int argc, char **argv)
{
	void *library = argc == 3 ? dlopen(argv[1], RTLD_NOW) : NULL, *symbol;
	tagbus_bus *(*open_bus)(const char *, const char *);
	const char *(*last_error)(void);
	char line[4096];
	FILE *maps;
	if (library == NULL) {
		fprintf(stderr, "load: %s\n", dlerror());
		return 2;
	}
	symbol = find(library, "tagbus_open");
	memcpy(&open_bus, &symbol, sizeof symbol);
	symbol = find(library, "tagbus_last_error");
	memcpy(&last_error, &symbol, sizeof symbol);
	if (open_bus(argv[2], NULL) == NULL) {
		printf("%s\n", last_error());
		return 1;
	}
	maps = fopen("/proc/self/maps", "r");
	while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
		if (strstr(line, "libtagbus-core") != NULL) {
			printf("%s", strchr(line, '/'));
			return 0;
		}
	}
	return 2;
}
