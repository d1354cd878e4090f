// SPDX-License-Identifier: Apache-2.0

// A publisher and a subscriber that do what the lines of their input say, and answer each with a line:
// driven BUS [OPTIONS]. driven.py is the same in Python; guarantees_test.go drives both.
//
// The n-th message of a tag has the number n in its first 8 bytes, and n & 255 in all others.

#define _GNU_SOURCE
#include "tagbus.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>

#define SLOTS 64 /* a tag from 0x100 to 0x13f has the slot of its last 6 bits */

struct received {
	uint64_t tag, got, lost, first, last;
	char publisher[64];
};

static const char *kinds[] = {"", "connected", "subscribed", "unsubscribed", "lost", "refused", "gap", "vanished", "goodbye",
	"problem", "stalled", "resumed", "resubscribed", "duplicate", "announced", "left"};
enum { KINDS = sizeof kinds / sizeof *kinds };

static tagbus *bus;
static tagbus_publisher *publisher;
static tagbus_subscriber *subscriber;
static tagbus_subscription *subscription;

/* What lock guards. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct received received[SLOTS];
static uint64_t got, lost, wrong, disordered, events[KINDS];
static int held, stop;

/* --- what comes ------------------------------------------------------------------------------- */

static void one(const tagbus_message *m, const char *from)
{
	struct received *r = &received[m->tag % SLOTS];
	const uint8_t *data = m->data;
	uint64_t number = 0;
	if (m->size >= 8)
		memcpy(&number, data, 8);
	if (number != m->counter || (m->size > 8 && data[m->size - 1] != (uint8_t)number))
		wrong++;
	if (strcmp(r->publisher, from) != 0) {
		snprintf(r->publisher, sizeof r->publisher, "%s", from);
		r->last = 0;
	}
	if (r->got++ == 0)
		r->first = m->counter;
	if (m->counter <= r->last)
		disordered++;
	r->tag = m->tag;
	r->last = m->counter;
}

static void take(void *user, const tagbus_batch *b)
{
	size_t i;
	(void)user;
	pthread_mutex_lock(&lock);
	while (held)
		pthread_cond_wait(&changed, &lock);
	for (i = 0; i < b->count; i++)
		one(&b->messages[i], b->publisher);
	got += b->count;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static void *pulls(void *user)
{
	const tagbus_batch *b;
	(void)user;
	for (;;) {
		pthread_mutex_lock(&lock);
		while (held)
			pthread_cond_wait(&changed, &lock);
		pthread_mutex_unlock(&lock);
		if (tagbus_next(subscription, &b, TAGBUS_FOREVER) != TAGBUS_OK)
			return NULL;
		take(NULL, b);
		tagbus_batch_release(b);
	}
}

static int kind_of(const char *name)
{
	int k = 0;
	while (k < KINDS && strcmp(kinds[k], name) != 0)
		k++;
	return k;
}

static void note(void *user, const tagbus_event *e)
{
	int k = kind_of(e->name);
	(void)user;
	pthread_mutex_lock(&lock);
	if (k < KINDS)
		events[k]++;
	if (e->kind == TAGBUS_GAP) {
		received[e->tag % SLOTS].tag = e->tag;
		received[e->tag % SLOTS].lost += e->count;
		lost += e->count;
	}
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

/* --- what goes -------------------------------------------------------------------------------- */

static uint64_t published[SLOTS];

/* Makes the next message of a tag. */
static void make(tagbus_message *m, uint8_t memory[104], uint64_t tag)
{
	uint64_t number = ++published[tag % SLOTS];
	m->tag = tag;
	m->size = 8 + (uint32_t)(number % 90);
	m->data = memory;
	memset(memory, (int)(number & 255), m->size);
	memcpy(memory, &number, 8);
}

/* Publishes messages on the tags from first to last in turn, without those that the publisher does not
 * have. Returns how many. */
static uint64_t publish(uint64_t first, uint64_t last, uint64_t count)
{
	static uint8_t memory[64][104];
	tagbus_message m[64];
	uint64_t done = 0, turn = 0;
	memset(m, 0, sizeof m);
	while (done < count && !__atomic_load_n(&stop, __ATOMIC_SEQ_CST)) {
		size_t n = 0, i, accepted;
		int64_t result;
		for (; n < 64 && done + n < count; n++)
			make(&m[n], memory[n], first + (turn + n) % (last - first + 1));
		result = tagbus_publish_batch(publisher, m, n, TAGBUS_FOREVER);
		accepted = result < 0 ? 0 : (size_t)result;
		for (i = accepted; i < n; i++)
			published[m[i].tag % SLOTS]--;
		done += accepted;
		turn += accepted;
		if (accepted < n) {
			if (tagbus_last_code() != TAGBUS_EUNKNOWNTAG)
				break;
			turn++;
		}
	}
	return done;
}

static uint64_t flood_tags[2], flooded;
static pthread_t flooding;

static void *flood(void *user)
{
	(void)user;
	flooded = publish(flood_tags[0], flood_tags[1], UINT64_MAX);
	return NULL;
}

/* --- commands --------------------------------------------------------------------------------- */

/* Answers a command that a function of the library has carried out. */
static void answer(int code)
{
	if (code != TAGBUS_OK)
		printf("%s: %s\n", tagbus_error_name(code), tagbus_last_error());
	else
		puts("ok");
}

static void opened(const void *handle) { answer(handle == NULL ? tagbus_last_code() : TAGBUS_OK); }

/* Waits until there are n of a kind of event, or of messages that have come or are said to be lost. */
static void until(const char *kind, uint64_t n)
{
	int k = kind_of(kind);
	pthread_mutex_lock(&lock);
	while ((k < KINDS ? events[k] : strcmp(kind, "got") == 0 ? got : got + lost) < n)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	puts("ok");
}

static void print_stats(const char *name, const void *handle)
{
	char *text = tagbus_stats(handle);
	printf(",\"%s\":%s", name, text == NULL ? "null" : text);
	tagbus_free(text);
}

static void account(void)
{
	int i;
	const char *comma = "";
	pthread_mutex_lock(&lock);
	printf("{\"wrong\":%" PRIu64 ",\"disordered\":%" PRIu64 ",\"tags\":{", wrong, disordered);
	for (i = 0; i < SLOTS; i++)
		if (received[i].tag != 0) {
			printf("%s\"%" PRIu64 "\":{\"got\":%" PRIu64 ",\"lost\":%" PRIu64 ",\"first\":%" PRIu64 ",\"last\":%" PRIu64 "}", comma,
				received[i].tag, received[i].got, received[i].lost, received[i].first, received[i].last);
			comma = ",";
		}
	printf("},\"published\":{");
	for (i = 0, comma = ""; i < SLOTS; i++)
		if (published[i] > 0) {
			printf("%s\"%d\":%" PRIu64, comma, 0x100 + i, published[i]);
			comma = ",";
		}
	printf("},\"events\":{");
	for (i = 1; i < KINDS; i++)
		printf("%s\"%s\":%" PRIu64, i > 1 ? "," : "", kinds[i], events[i]);
	printf("}");
	pthread_mutex_unlock(&lock);
	if (publisher != NULL)
		print_stats("publisher", publisher);
	if (subscriber != NULL)
		print_stats("subscriber", subscriber);
	puts("}");
}

static void hold(int on)
{
	pthread_mutex_lock(&lock);
	held = on;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	puts("ok");
}

static void subscribe(const char *way, const char *tags, const char *options)
{
	pthread_t thread;
	int pull = strcmp(way, "pull") == 0;
	subscription = tagbus_subscribe(subscriber, tags, options, pull ? NULL : take, NULL, NULL);
	if (subscription != NULL && pull && pthread_create(&thread, NULL, pulls, NULL) != 0)
		abort();
	opened(subscription);
}

/* Carries out one command: its name, its first argument, and what is behind it. */
static void command(const char *name, const char *a, const char *rest)
{
	uint64_t n = strtoull(a, NULL, 0), m = 0, count = 0;
	if (strcmp(name, "publisher") == 0) {
		opened(publisher = tagbus_publisher_open(bus, a, rest, note, NULL));
	} else if (strcmp(name, "subscriber") == 0) {
		opened(subscriber = tagbus_subscriber_open(bus, rest, note, NULL));
	} else if (strcmp(name, "pull") == 0 || strcmp(name, "thread") == 0) {
		subscribe(name, a, rest);
	} else if (strcmp(name, "acknowledged") == 0) {
		answer(tagbus_subscription_wait(subscription, TAGBUS_FOREVER));
	} else if (strcmp(name, "wait") == 0) {
		answer(tagbus_publisher_wait(publisher, n, NULL, TAGBUS_FOREVER));
	} else if (strcmp(name, "publish") == 0 && sscanf(rest, "%" SCNi64 " %" SCNu64, (int64_t *)&m, &count) == 2) {
		printf("ok %" PRIu64 "\n", publish(n, m, count));
	} else if (strcmp(name, "flood") == 0 && sscanf(rest, "%" SCNi64, (int64_t *)&m) == 1) {
		flood_tags[0] = n;
		flood_tags[1] = m;
		__atomic_store_n(&stop, 0, __ATOMIC_SEQ_CST);
		answer(pthread_create(&flooding, NULL, flood, NULL));
	} else if (strcmp(name, "stop") == 0) {
		__atomic_store_n(&stop, 1, __ATOMIC_SEQ_CST);
		pthread_join(flooding, NULL);
		__atomic_store_n(&stop, 0, __ATOMIC_SEQ_CST);
		printf("ok %" PRIu64 "\n", flooded);
	} else if (strcmp(name, "flush") == 0) {
		answer(tagbus_publisher_flush(publisher));
	} else if (strcmp(name, "drain") == 0) {
		answer(tagbus_publisher_drain(publisher, NULL, 60000));
	} else if (strcmp(name, "serve") == 0) {
		answer(tagbus_publisher_add(publisher, a));
	} else if (strcmp(name, "withdraw") == 0) {
		answer(tagbus_publisher_remove(publisher, a));
	} else if (strcmp(name, "add") == 0) {
		answer(tagbus_subscription_add(subscription, a));
	} else if (strcmp(name, "remove") == 0) {
		answer(tagbus_subscription_remove(subscription, a));
	} else if (strcmp(name, "hold") == 0 || strcmp(name, "go") == 0) {
		hold(*name == 'h');
	} else if (strcmp(name, "until") == 0) {
		until(a, strtoull(rest, NULL, 0));
	} else if (strcmp(name, "account") == 0) {
		account();
	} else if (strcmp(name, "end") == 0) {
		answer(tagbus_close(bus));
		exit(0);
	} else {
		printf("no command: %s %s %s\n", name, a, rest);
	}
}

int main(int argc, char **argv)
{
	static char line[4096];
	setvbuf(stdout, NULL, _IOLBF, 0);
	opened(bus = tagbus_open(argv[1], argc > 2 ? argv[2] : NULL));
	while (fgets(line, sizeof line, stdin) != NULL) {
		char *rest = line, *name, *a;
		line[strcspn(line, "\n")] = 0;
		name = strsep(&rest, " ");
		a = rest == NULL ? NULL : strsep(&rest, " ");
		command(name, a == NULL ? "" : a, rest == NULL ? "" : rest);
	}
	return 1;
}
