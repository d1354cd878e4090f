// SPDX-License-Identifier: Apache-2.0

// The bus through libtagbus.so. --way is, of a subscriber, pull (default), thread or loop, and of a
// publisher, single (default), batch or writer.
#include "bench.h"
#include "publish.h"

#include <pthread.h>
#include <tagbus.h>

enum { BATCH = 64 };
static const uint64_t FIRST = 0x1000000000000000;
static uint64_t tag_of(int i) { return FIRST + 2 * (uint64_t)i; }

static void *must(void *handle, const char *what) {
    if (handle) return handle;
    fprintf(stderr, "%s: %s\n", what, tagbus_last_error());
    exit(1);
}

static void must_be(int code, const char *what) {
    if (code == TAGBUS_OK) return;
    fprintf(stderr, "%s: %s: %s\n", what, tagbus_error_name(code), tagbus_last_error());
    exit(1);
}

static char *tags_of(int n) {
    char *set = malloc((size_t)n * 20 + 1), *at = set;
    for (int i = 0; i < n; i++) at += sprintf(at, "%s0x%" PRIx64, i ? "," : "", tag_of(i));
    return set;
}

typedef struct {
    tagbus_publisher *p;
    uint8_t *data;
    size_t size;
    tagbus_writer writer;
    tagbus_message messages[BATCH];
    int full;
} sender;

static void publish_single(void *system, int tag, uint64_t sequence, uint32_t lane, int64_t due) {
    sender *s = system;
    stamp(s->data, sequence, lane, due);
    must_be(tagbus_publish(s->p, tag_of(tag), s->data, s->size, 0, TAGBUS_FOREVER), "tagbus_publish");
}

static void publish_gathered(sender *s) {
    if (s->full && tagbus_publish_batch(s->p, s->messages, (size_t)s->full, TAGBUS_FOREVER) != s->full)
        must_be(tagbus_last_code(), "tagbus_publish_batch");
    s->full = 0;
}

static void publish_batched(void *system, int tag, uint64_t sequence, uint32_t lane, int64_t due) {
    sender *s = system;
    tagbus_message *m = &s->messages[s->full];
    m->tag = tag_of(tag);
    stamp((uint8_t *)(uintptr_t)m->data, sequence, lane, due);
    if (++s->full == BATCH) publish_gathered(s);
}

static void publish_written(void *system, int tag, uint64_t sequence, uint32_t lane, int64_t due) {
    sender *s = system;
    stamp(s->data, sequence, lane, due);
    must_be(tagbus_writer_add(&s->writer, tag_of(tag), s->data, s->size, 0), "tagbus_writer_add");
}

static void flush(void *system) {
    sender *s = system;
    publish_gathered(s);
    must_be(tagbus_writer_flush(&s->writer), "tagbus_writer_flush");
    must_be(tagbus_publisher_flush(s->p), "tagbus_publisher_flush");
}

static void publish_all(const options *o) {
    char folder[] = "/tmp/busXXXXXX";
    if (!mkdtemp(folder)) fail("mkdtemp");
    sender *s = calloc(1, sizeof *s);
    tagbus *bus = must(tagbus_open(folder, NULL), "tagbus_open");
    s->p = must(tagbus_publisher_open(bus, tags_of(o->tags), NULL, NULL, NULL), "tagbus_publisher_open");
    s->size = o->size;
    fill(s->data = allocate(o->size), o->size);
    size_t apart = (o->size + 15) & ~(size_t)15; // as Go's allocator puts them: pages apart they would share few lines of the cache
    uint8_t *memory = allocate(BATCH * apart);
    for (int i = 0; i < BATCH; i++) {
        uint8_t *data = memory + (size_t)i * apart;
        fill(data, o->size);
        s->messages[i].data = data;
        s->messages[i].size = (uint32_t)o->size;
    }
    tagbus_writer_init(&s->writer, s->p, TAGBUS_FOREVER);
    say_listening(folder);
    await_go();
    must_be(tagbus_publisher_wait(s->p, (size_t)o->subscribers, NULL, TAGBUS_FOREVER), "tagbus_publisher_wait");
    if (is(o->way, "batch")) publish(o, publish_batched, flush, s, &s->size);
    else if (is(o->way, "writer")) publish(o, publish_written, flush, s, &s->size);
    else publish(o, publish_single, flush, s, &s->size);
    must_be(tagbus_close(bus), "tagbus_close");
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool last_seen;

static bool take_all(checker *c, const tagbus_batch *b) {
    for (size_t i = 0; i < b->count; i++)
        if (take(c, b->messages[i].data, b->messages[i].size)) return true;
    return false;
}

static void on_batch(void *user, const tagbus_batch *b) {
    if (!take_all(user, b)) return;
    pthread_mutex_lock(&lock);
    last_seen = true;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
}

static void subscribe_all(const options *o) {
    bool calls = is(o->way, "thread") || is(o->way, "loop");
    checker *c = new_checker(o);
    tagbus *bus = must(tagbus_open(o->addr, NULL), "tagbus_open");
    tagbus_subscriber *s = must(tagbus_subscriber_open(bus, is(o->way, "loop") ? "--on-loop" : NULL, NULL, NULL), "tagbus_subscriber_open");
    tagbus_subscription *sub = must(tagbus_subscribe(s, tags_of(o->tags), NULL, calls ? on_batch : NULL, NULL, c), "tagbus_subscribe");
    must_be(tagbus_subscription_wait(sub, TAGBUS_FOREVER), "tagbus_subscription_wait");
    say_ready();
    if (calls) {
        pthread_mutex_lock(&lock);
        while (!last_seen) pthread_cond_wait(&changed, &lock);
        pthread_mutex_unlock(&lock);
    } else {
        const tagbus_batch *b;
        bool last;
        do {
            must_be(tagbus_next(sub, &b, TAGBUS_FOREVER), "tagbus_next");
            last = take_all(c, b);
            tagbus_batch_release(b);
        } while (!last);
    }
    must_be(tagbus_subscription_close(sub), "tagbus_subscription_close");
    report_received(c);
}

// ---- ping-pong

static tagbus_publisher *answers;
static tagbus_subscription *questions;

static void exchange(void *system, uint8_t *data, size_t size) {
    (void)system;
    const tagbus_batch *b;
    must_be(tagbus_publish(answers, FIRST, data, size, 0, TAGBUS_FOREVER), "tagbus_publish");
    must_be(tagbus_next(questions, &b, TAGBUS_FOREVER), "tagbus_next");
    memcpy(data, b->messages[0].data, size);
    tagbus_batch_release(b);
}

static void echo(void *user, const tagbus_batch *b) {
    (void)user;
    for (size_t i = 0; i < b->count; i++)
        must_be(tagbus_publish(answers, FIRST + 1, b->messages[i].data, b->messages[i].size, 0, 0), "tagbus_publish");
}

static void ping_pong(const options *o) {
    char made[] = "/tmp/busXXXXXX";
    const char *folder = o->addr;
    bool asks = publishes(o);
    if (asks && !(folder = mkdtemp(made))) fail("mkdtemp");
    tagbus *bus = must(tagbus_open(folder, NULL), "tagbus_open");
    char mine[32], others[32];
    snprintf(mine, sizeof mine, "0x%" PRIx64, FIRST + !asks);
    snprintf(others, sizeof others, "0x%" PRIx64, FIRST + asks);
    answers = must(tagbus_publisher_open(bus, mine, NULL, NULL, NULL), "tagbus_publisher_open");
    const char *how = asks || is(o->way, "thread") ? NULL : "--on-loop";
    tagbus_subscriber *s = must(tagbus_subscriber_open(bus, how, NULL, NULL), "tagbus_subscriber_open");
    if (asks) {
        say_listening(folder);
        await_go();
    }
    questions = must(tagbus_subscribe(s, others, NULL, asks ? NULL : echo, NULL, NULL), "tagbus_subscribe");
    must_be(tagbus_subscription_wait(questions, TAGBUS_FOREVER), "tagbus_subscription_wait");
    must_be(tagbus_publisher_wait(answers, 1, NULL, TAGBUS_FOREVER), "tagbus_publisher_wait");
    if (asks) {
        ping(o, exchange, NULL);
        return;
    }
    say_ready();
    await_quit();
}

int main(int argc, char **argv) {
    options o = parse(argc, argv);
    if (is(o.work, "pingpong")) ping_pong(&o);
    else if (publishes(&o)) publish_all(&o);
    else subscribe_all(&o);
    return 0;
}
