// SPDX-License-Identifier: Apache-2.0

// nng, pub and sub. A publisher does not wait for a subscriber that is slow:
// messages are lost, and the runner counts them.
#include "bench.h"
#include "publish.h"

#include <nng/nng.h>
#include <nng/protocol/pair0/pair.h>
#include <nng/protocol/pubsub0/pub.h>
#include <nng/protocol/pubsub0/sub.h>

#include <arpa/inet.h>

// A message begins with its tag, big-endian, to which subscribers subscribe.
enum { TAG = 8, BUFFERS = 8192 };

typedef struct {
    nng_socket socket;
    uint8_t *data;
    size_t size;
} sender;

static void must(int code, const char *what) {
    if (code) {
        fprintf(stderr, "%s: %s\n", what, nng_strerror(code));
        exit(1);
    }
}

static void listen_on(nng_socket s) {
    nng_listener l;
    nng_sockaddr a;
    char addr[64];
    must(nng_listen(s, "tcp://127.0.0.1:0", &l, 0), "nng_listen");
    must(nng_listener_get_addr(l, NNG_OPT_LOCADDR, &a), "address");
    snprintf(addr, sizeof addr, "tcp://127.0.0.1:%d", ntohs(a.s_in.sa_port));
    say_listening(addr);
}

static void publish_one_message(void *system, int tag, uint64_t sequence, uint32_t lane, int64_t due) {
    sender *s = system;
    uint64_t number = __builtin_bswap64((uint64_t)tag);
    memcpy(s->data, &number, TAG);
    stamp(s->data + TAG, sequence, lane, due);
    must(nng_send(s->socket, s->data, s->size, 0), "nng_send");
}

static void no_flush(void *system) { (void)system; }

static int pipes;
static void on_pipe(nng_pipe p, nng_pipe_ev ev, void *arg) {
    (void)p, (void)ev, (void)arg;
    __atomic_add_fetch(&pipes, 1, __ATOMIC_SEQ_CST);
}

static void publish_all(const options *o) {
    sender s = {.size = TAG + o->size};
    must(nng_pub0_open(&s.socket), "nng_pub0_open");
    must(nng_socket_set_int(s.socket, NNG_OPT_SENDBUF, BUFFERS), "send-buffer");
    must(nng_pipe_notify(s.socket, NNG_PIPE_EV_ADD_POST, on_pipe, NULL), "nng_pipe_notify");
    s.data = allocate(s.size);
    fill(s.data + TAG, o->size);
    listen_on(s.socket);
    await_go();
    while (__atomic_load_n(&pipes, __ATOMIC_SEQ_CST) < o->subscribers) usleep(1000);
    publish(o, publish_one_message, no_flush, &s, &s.size);
    nng_close(s.socket);
}

static void subscribe_all(const options *o) {
    nng_socket s;
    must(nng_sub0_open(&s), "nng_sub0_open");
    must(nng_socket_set_int(s, NNG_OPT_RECVBUF, BUFFERS), "recv-buffer");
    must(nng_socket_set_size(s, NNG_OPT_RECVMAXSZ, 0), "recv-size-max");
    for (int i = 0; i < o->tags; i++) {
        uint64_t number = __builtin_bswap64((uint64_t)i);
        must(nng_socket_set(s, NNG_OPT_SUB_SUBSCRIBE, &number, TAG), "subscribe");
    }
    must(nng_dial(s, o->addr, NULL, 0), "nng_dial");
    say_ready();
    checker *c = new_checker(o);
    bool last = false;
    while (!last) {
        nng_msg *m;
        must(nng_recvmsg(s, &m, 0), "nng_recvmsg");
        last = take(c, (uint8_t *)nng_msg_body(m) + TAG, nng_msg_len(m) - TAG);
        nng_msg_free(m);
    }
    report_received(c);
    nng_close(s);
}

static void exchange(void *system, uint8_t *data, size_t size) {
    nng_socket *s = system;
    must(nng_send(*s, data, size, 0), "nng_send");
    must(nng_recv(*s, data, &size, 0), "nng_recv");
}

static void on_gone(nng_pipe p, nng_pipe_ev ev, void *arg) {
    (void)p, (void)ev, (void)arg;
    _exit(0);
}

int main(int argc, char **argv) {
    options o = parse(argc, argv);
    if (!is(o.work, "pingpong")) {
        if (publishes(&o)) publish_all(&o);
        else subscribe_all(&o);
        return 0;
    }
    nng_socket s;
    must(nng_pair0_open(&s), "nng_pair0_open");
    if (publishes(&o)) {
        listen_on(s);
        await_go();
        ping(&o, exchange, &s);
        return 0;
    }
    must(nng_pipe_notify(s, NNG_PIPE_EV_REM_POST, on_gone, NULL), "nng_pipe_notify");
    must(nng_dial(s, o.addr, NULL, 0), "nng_dial");
    say_ready();
    uint8_t *data = allocate(o.size);
    for (;;) {
        size_t size = o.size;
        must(nng_recv(s, data, &size, 0), "nng_recv");
        must(nng_send(s, data, size, 0), "nng_send");
    }
}
