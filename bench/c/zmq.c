// SPDX-License-Identifier: Apache-2.0

// libzmq, XPUB and SUB; with XPUB_NODROP a publisher waits for room, so that
// nothing is lost. --way=zerocopy hands over memory instead of copying it; --way=ipc goes over a Unix socket.
#include "bench.h"
#include "publish.h"

#include <zmq.h>

// A message begins with its tag, big-endian, to which subscribers subscribe.
enum { TAG = 8, HIGH_WATER = 10000, MEMORIES = 64 };

typedef struct {
    void *socket;
    uint8_t *data;
    size_t size;
    uint8_t *memory[MEMORIES];
    int busy[MEMORIES], next;
} sender;

static void *open_socket(int kind) {
    void *s = zmq_socket(zmq_ctx_new(), kind);
    int water = HIGH_WATER, none = 0;
    if (!s || zmq_setsockopt(s, ZMQ_SNDHWM, &water, sizeof water) ||
        zmq_setsockopt(s, ZMQ_RCVHWM, &water, sizeof water) || zmq_setsockopt(s, ZMQ_LINGER, &none, sizeof none))
        fail("zmq_socket");
    return s;
}

static void bind_socket(const options *o, void *socket) {
    char addr[128];
    size_t length = sizeof addr;
    if (zmq_bind(socket, is(o->way, "ipc") ? "ipc://*" : "tcp://127.0.0.1:*") || zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, addr, &length)) fail("zmq_bind");
    say_listening(addr);
}

static void put_tag(uint8_t *b, int tag) {
    uint64_t number = __builtin_bswap64((uint64_t)tag);
    memcpy(b, &number, TAG);
}

static void publish_copy(void *system, int tag, uint64_t sequence, uint32_t lane, int64_t due) {
    sender *s = system;
    put_tag(s->data, tag);
    stamp(s->data + TAG, sequence, lane, due);
    while (zmq_send(s->socket, s->data, s->size, 0) < 0)
        if (errno != EINTR) fail("zmq_send");
}

// released is called by libzmq, in its own thread.
static void released(void *data, void *hint) {
    (void)data;
    __atomic_store_n((int *)hint, 0, __ATOMIC_RELEASE);
}

static void publish_reference(void *system, int tag, uint64_t sequence, uint32_t lane, int64_t due) {
    sender *s = system;
    int i = s->next;
    s->next = (i + 1) % MEMORIES;
    while (__atomic_load_n(&s->busy[i], __ATOMIC_ACQUIRE)) usleep(10);
    s->busy[i] = 1;
    put_tag(s->memory[i], tag);
    stamp(s->memory[i] + TAG, sequence, lane, due);
    zmq_msg_t m;
    if (zmq_msg_init_data(&m, s->memory[i], s->size, released, &s->busy[i])) fail("zmq_msg_init_data");
    while (zmq_msg_send(&m, s->socket, 0) < 0)
        if (errno != EINTR) fail("zmq_msg_send");
}

static void no_flush(void *system) { (void)system; }

static void publish_all(const options *o) {
    sender s = {.socket = open_socket(ZMQ_XPUB), .size = TAG + o->size};
    int yes = 1;
    if (zmq_setsockopt(s.socket, ZMQ_XPUB_NODROP, &yes, sizeof yes) ||
        zmq_setsockopt(s.socket, ZMQ_XPUB_VERBOSE, &yes, sizeof yes)) // every subscriber's, to count them
        fail("zmq_setsockopt");
    s.data = allocate(s.size);
    fill(s.data + TAG, o->size);
    for (int i = 0; i < MEMORIES; i++) {
        s.memory[i] = allocate(s.size);
        fill(s.memory[i] + TAG, o->size);
    }
    bind_socket(o, s.socket);
    await_go();
    uint8_t subscription[TAG + 1];
    for (int i = 0; i < o->subscribers * (int)o->tags; i++)
        if (zmq_recv(s.socket, subscription, sizeof subscription, 0) < 0) fail("zmq_recv");
    publish(o, is(o->way, "zerocopy") ? publish_reference : publish_copy, no_flush, &s, &s.size);
}

static void subscribe_all(const options *o) {
    void *socket = open_socket(ZMQ_SUB);
    if (zmq_connect(socket, o->addr)) fail("zmq_connect");
    for (int i = 0; i < o->tags; i++) {
        uint8_t tag[TAG];
        put_tag(tag, i);
        if (zmq_setsockopt(socket, ZMQ_SUBSCRIBE, tag, TAG)) fail("ZMQ_SUBSCRIBE");
    }
    say_ready();
    checker *c = new_checker(o);
    zmq_msg_t m;
    if (zmq_msg_init(&m)) fail("zmq_msg_init");
    do {
        while (zmq_msg_recv(&m, socket, 0) < 0)
            if (errno != EINTR) fail("zmq_msg_recv");
    } while (!take(c, (uint8_t *)zmq_msg_data(&m) + TAG, zmq_msg_size(&m) - TAG));
    report_received(c);
}

static void exchange(void *socket, uint8_t *data, size_t size) {
    if (zmq_send(socket, data, size, 0) < 0 || zmq_recv(socket, data, size, 0) < 0) fail("exchange");
}

static void echo(const options *o) {
    void *socket = open_socket(ZMQ_PAIR);
    uint8_t *data = allocate(o->size);
    if (zmq_connect(socket, o->addr)) fail("zmq_connect");
    say_ready();
    zmq_pollitem_t items[] = {{.socket = socket, .events = ZMQ_POLLIN}, {.fd = 0, .events = ZMQ_POLLIN}};
    for (;;) {
        if (zmq_poll(items, 2, -1) < 0) fail("zmq_poll");
        if (items[1].revents && quit_asked(0)) return;
        if (items[0].revents && (zmq_recv(socket, data, o->size, 0) < 0 || zmq_send(socket, data, o->size, 0) < 0)) fail("echo");
    }
}

int main(int argc, char **argv) {
    options o = parse(argc, argv);
    if (is(o.work, "pingpong") && publishes(&o)) {
        void *socket = open_socket(ZMQ_PAIR);
        bind_socket(&o, socket);
        await_go();
        ping(&o, exchange, socket);
    } else if (is(o.work, "pingpong")) {
        echo(&o);
    } else if (publishes(&o)) {
        publish_all(&o);
    } else {
        subscribe_all(&o);
    }
    return 0;
}
