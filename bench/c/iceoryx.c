// SPDX-License-Identifier: Apache-2.0

// iceoryx, shared memory within a host: each message is filled in a chunk of the pool of its daemon (iox-roudi),
// which subscribers read in place. A publisher waits for a subscriber whose queue is full. All tags are one service.
#include "bench.h"
#include "publish.h"

#include <iceoryx_binding_c/publisher.h>
#include <iceoryx_binding_c/runtime.h>
#include <iceoryx_binding_c/subscriber.h>
#include <iceoryx_binding_c/wait_set.h>

#include <signal.h>
#include <sys/wait.h>

// A queue takes at most 256 chunks. The pool that the daemon has by itself has 200 of 128 KiB.
enum { QUEUE = 256, QUEUE_LARGE = 64, LARGE = 16 << 10 };

static void open_runtime(const char *role) {
    char name[64];
    snprintf(name, sizeof name, "bench-%s-%d", role, (int)getpid());
    iox_runtime_init(name);
}

typedef struct {
    iox_pub_t pub;
    const uint8_t *data;
    size_t size;
} sender;

static void publish_one_message(void *system, int tag, uint64_t sequence, uint32_t lane, int64_t due) {
    (void)tag;
    sender *s = system;
    void *chunk;
    while (iox_pub_loan_chunk(s->pub, &chunk, (uint32_t)s->size) != AllocationResult_SUCCESS) usleep(10);
    memcpy(chunk, s->data, s->size);
    stamp(chunk, sequence, lane, due);
    iox_pub_publish_chunk(s->pub, chunk);
}

static void no_flush(void *system) { (void)system; }

static void publish_all(const options *o) {
    open_runtime("pub");
    uint8_t *data = allocate(o->size);
    fill(data, o->size);
    iox_pub_options_t options;
    iox_pub_options_init(&options);
    options.subscriberTooSlowPolicy = ConsumerTooSlowPolicy_WAIT_FOR_CONSUMER;
    iox_pub_storage_t storage;
    sender s = {.pub = iox_pub_init(&storage, "tagbus", "bench", "messages", &options), .data = data, .size = o->size};
    say_listening("iceoryx");
    await_go(); // all subscribers are subscribed
    publish(o, publish_one_message, no_flush, &s, &s.size);
    iox_pub_deinit(s.pub);
    free(data);
}

static void subscribe_all(const options *o) {
    open_runtime("sub");
    iox_sub_options_t options;
    iox_sub_options_init(&options);
    options.queueCapacity = o->size > LARGE ? QUEUE_LARGE : QUEUE;
    options.queueFullPolicy = QueueFullPolicy_BLOCK_PRODUCER;
    iox_sub_storage_t storage;
    iox_sub_t sub = iox_sub_init(&storage, "tagbus", "bench", "messages", &options);
    iox_ws_storage_t waits;
    iox_ws_t ws = iox_ws_init(&waits);
    iox_ws_attach_subscriber_state(ws, sub, SubscriberState_HAS_DATA, 0, NULL);
    while (iox_sub_get_subscription_state(sub) != SubscribeState_SUBSCRIBED) usleep(1000);
    say_ready();
    checker *c = new_checker(o);
    for (bool last = false; !last;) {
        iox_notification_info_t infos[1];
        uint64_t missed;
        iox_ws_wait(ws, infos, 1, &missed);
        const void *chunk;
        while (!last && iox_sub_take_chunk(sub, &chunk) == ChunkReceiveResult_SUCCESS) {
            last = take(c, chunk, o->size);
            iox_sub_release_chunk(sub, chunk);
        }
    }
    report_received(c);
    iox_sub_unsubscribe(sub); // the publisher would wait for it
    iox_ws_deinit(ws);
    iox_sub_deinit(sub);
}

// serve runs the daemon until the runner asks to end.
static void serve(void) {
    int out[2];
    if (pipe(out)) fail("pipe");
    pid_t daemon = fork();
    if (daemon < 0) fail("fork");
    if (daemon == 0) {
        dup2(out[1], STDOUT_FILENO);
        close(out[0]);
        close(out[1]);
        execlp("iox-roudi", "iox-roudi", "--monitoring-mode", "off", (char *)NULL);
        fail("iox-roudi");
    }
    close(out[1]);
    FILE *lines = fdopen(out[0], "r");
    char line[256];
    bool ready = false;
    while (!ready && fgets(line, sizeof line, lines)) ready = strstr(line, "ready") != NULL;
    if (!ready) fail("iox-roudi has ended"); // another one may run
    say_listening("iceoryx");
    await_quit();
    kill(daemon, SIGTERM);
    while (fgets(line, sizeof line, lines)) {}
    int status;
    if (waitpid(daemon, &status, 0) < 0) fail("waitpid");
}

int main(int argc, char **argv) {
    options o = parse(argc, argv);
    if (is(o.role, "server")) serve();
    else if (publishes(&o)) publish_all(&o);
    else subscribe_all(&o);
    return 0;
}
