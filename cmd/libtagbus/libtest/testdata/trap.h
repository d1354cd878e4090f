/* SPDX-License-Identifier: Apache-2.0 */

/* What traps.c and attacks.c have in common. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core.h"

static int wrong;
static const char *where;

#define CHECK(cond, ...) \
	do { \
		if (!(cond)) { \
			printf("%s:%d: %s: ", __FILE__, __LINE__, #cond); \
			printf(__VA_ARGS__); \
			printf(" [%d %s]\n", tagbus_last_code(), tagbus_last_error()); \
			wrong = 1; \
		} \
	} while (0)
#define MUST(cond) \
	do { \
		CHECK(cond, "ends here"); \
		if (wrong) exit(1); \
	} while (0)
#define FAILS(call, want) \
	do { \
		int got_ = (int)(call); \
		CHECK(got_ == (want) && tagbus_last_code() == (want) && *tagbus_last_error() != 0, "got %d, want %d", got_, want); \
	} while (0)
#define FAILS_NULL(call, want) \
	do { \
		const void *got_ = (call); \
		CHECK(got_ == NULL && tagbus_last_code() == (want) && *tagbus_last_error() != 0, "got %p, want code %d", got_, want); \
	} while (0)

#define GET(x) __atomic_load_n(&(x), __ATOMIC_SEQ_CST)
#define ADD(x, n) __atomic_add_fetch(&(x), n, __ATOMIC_SEQ_CST)

__attribute__((unused)) static void until(volatile int *n, int want)
{
	int i;
	for (i = 0; i < 10000 && __atomic_load_n(n, __ATOMIC_SEQ_CST) < want; i++)
		usleep(1000);
	CHECK(__atomic_load_n(n, __ATOMIC_SEQ_CST) >= want, "got %d, want %d", *n, want);
}

struct pair {
	tagbus *bus;
	tagbus_publisher *p;
	tagbus_subscriber *s;
};

/* Options of the bus of open_pair. */
static const char *bus_options;

__attribute__((unused)) static struct pair open_pair(const char *publisher, const char *subscriber, tagbus_event_fn on_event, void *user)
{
	struct pair x;
	MUST((x.bus = tagbus_open(where, bus_options)) != NULL);
	MUST((x.p = tagbus_publisher_open(x.bus, "1-100", publisher, NULL, NULL)) != NULL);
	MUST((x.s = tagbus_subscriber_open(x.bus, subscriber, on_event, user)) != NULL);
	return x;
}

__attribute__((unused)) static tagbus_subscription *pull(struct pair *x, const char *options)
{
	tagbus_subscription *sub = tagbus_subscribe(x->s, "1-100", options, NULL, NULL, NULL);
	MUST(sub != NULL);
	MUST(tagbus_subscription_wait(sub, 10000) == TAGBUS_OK);
	return sub;
}

__attribute__((unused)) static void says(const char *word)
{
	CHECK(strstr(tagbus_last_error(), word) != NULL, "does not say %s", word);
}

__attribute__((unused)) static long resident(void)
{
	long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");
	if (f == NULL || fscanf(f, "%*s %ld", &pages) != 1)
		pages = -1;
	if (f != NULL)
		fclose(f);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* A test of a program. Its last one has no name. */
struct test {
	const char *name;
	void (*f)(void);
};

static int run_test(const struct test *tests, int argc, char **argv)
{
	size_t i;
	setvbuf(stdout, NULL, _IONBF, 0);
	if (argc == 3)
		for (i = 0; tests[i].name != NULL; i++)
			if (strcmp(tests[i].name, argv[1]) == 0) {
				where = argv[2];
				alarm(110); /* a call that hangs */
				tests[i].f();
				return wrong;
			}
	for (i = 0; tests[i].name != NULL; i++)
		puts(tests[i].name);
	return 2;
}
