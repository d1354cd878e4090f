// SPDX-License-Identifier: Apache-2.0

// The yardsticks: what C reaches with plain sockets. --way says how:
//   record    throughput: records of a 12-byte header and the payload, coalesced
//             into pages of two loopback segments, one write for each; the reader
//             finds them in place
//   block     throughput: one block, the payload, by each write; the reader reads
//             blocks
//   block-zerocopy  the same with MSG_ZEROCOPY, to one subscriber: zerocopy.h
//   epoll     latency: records are written when no other is due; the reader waits in
//             epoll
//   busy      as epoll, but the reader asks again and again
//   epoll-two, busy-two  the same over two connections, one for each direction:
//             what one receives is acknowledged by packets of their own
#include "bench.h"
#include "publish.h"
#include "zerocopy.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

enum { PAGE = 2 * 65450, READ = 256 << 10, RECORD = 12, MAX_SUBSCRIBERS = 64 };

typedef struct {
    int fds[MAX_SUBSCRIBERS], n;
    int in, out; // of a ping-pong: places in fds
    size_t size, have;
    uint8_t *page, *data;
    bool records, busy;
    int epoll;
    lender *lender;
} sender;

static void tune(int fd, const options *o) {
    int one = 1;
    if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one)) fail("TCP_NODELAY");
    if (*o->congestion && setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, o->congestion, strlen(o->congestion)))
        fail("TCP_CONGESTION");
}

static void accept_all(sender *s, const options *o) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof a;
    int l = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (l < 0 || bind(l, (void *)&a, sizeof a) || listen(l, MAX_SUBSCRIBERS)) fail("listen");
    if (getsockname(l, (void *)&a, &length)) fail("getsockname");
    char addr[32];
    snprintf(addr, sizeof addr, "127.0.0.1:%d", ntohs(a.sin_port));
    say_listening(addr);
    if (o->subscribers > MAX_SUBSCRIBERS) {
        fprintf(stderr, "%d subscribers: at most %d\n", o->subscribers, MAX_SUBSCRIBERS);
        exit(1);
    }
    for (s->n = 0; s->n < o->subscribers; s->n++) {
        if ((s->fds[s->n] = accept(l, NULL, NULL)) < 0) fail("accept");
        tune(s->fds[s->n], o);
    }
}

static int dial(const options *o) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const char *colon = strrchr(o->addr, ':');
    a.sin_port = htons((uint16_t)atoi(colon ? colon + 1 : ""));
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (void *)&a, sizeof a)) fail("connect");
    tune(fd, o);
    return fd;
}

static void write_all(int fd, const uint8_t *b, size_t n) {
    while (n > 0) {
        ssize_t wrote = write(fd, b, n);
        if (wrote < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (wrote < 0) fail("write");
        b += wrote;
        n -= (size_t)wrote;
    }
}

static void flush(void *system) {
    sender *s = system;
    for (int i = 0; i < s->n; i++) write_all(s->fds[i], s->page, s->have);
    s->have = 0;
}

static inline void publish_record(void *system, int tag, uint64_t sequence, uint32_t lane, int64_t due) {
    sender *s = system;
    if (s->have + RECORD + s->size > PAGE) flush(s);
    uint8_t *at = s->page + s->have;
    uint32_t length = (uint32_t)s->size;
    uint64_t number = (uint64_t)tag;
    stamp(s->data, sequence, lane, due);
    memcpy(at, &length, 4);
    memcpy(at + 4, &number, 8);
    memcpy(at + RECORD, s->data, s->size);
    s->have += RECORD + s->size;
}

static inline void publish_block(void *system, int tag, uint64_t sequence, uint32_t lane, int64_t due) {
    sender *s = system;
    (void)tag;
    stamp(s->data, sequence, lane, due);
    for (int i = 0; i < s->n; i++) write_all(s->fds[i], s->data, s->size);
}

static inline void publish_lent(void *system, int tag, uint64_t sequence, uint32_t lane, int64_t due) {
    sender *s = system;
    (void)tag;
    stamp(next_block(s->lender), sequence, lane, due);
    lend(s->lender);
}

static void flush_lent(void *system) {
    sender *s = system;
    lent(s->lender);
}

static void no_flush(void *system) { (void)system; }

// receive waits for bytes as the way says.
static size_t receive(sender *s, uint8_t *b, size_t room) {
    for (;;) {
        ssize_t n = read(s->fds[s->in], b, room);
        if (n > 0) return (size_t)n;
        if (n == 0) exit(0); // the publisher has ended
        if (errno != EAGAIN && errno != EINTR) fail("read");
        if (!s->busy) {
            struct epoll_event e;
            if (epoll_wait(s->epoll, &e, 1, -1) < 0 && errno != EINTR) fail("epoll_wait");
        }
    }
}

static void read_records(sender *s, checker *c) {
    size_t room = READ > 2 * (RECORD + c->size) ? READ : 2 * (RECORD + c->size), from = 0, to = 0;
    uint8_t *b = allocate(room);
    for (;;) {
        for (to += receive(s, b + to, room - to); to - from >= RECORD;) {
            uint32_t length;
            memcpy(&length, b + from, 4);
            if (to - from < RECORD + length) break;
            if (take(c, b + from + RECORD, length)) return;
            from += RECORD + length;
        }
        memmove(b, b + from, to - from);
        to -= from;
        from = 0;
    }
}

static void read_blocks(sender *s, checker *c) {
    uint8_t *b = allocate(c->size);
    do
        for (size_t have = 0; have < c->size;) have += receive(s, b + have, c->size - have);
    while (!take(c, b, c->size));
}

static void exchange(void *system, uint8_t *data, size_t size) {
    sender *s = system;
    write_all(s->fds[s->out], data, size);
    for (size_t have = 0; have < size;) have += receive(s, data + have, size - have);
}

static void echo(sender *s, const options *o) {
    uint8_t *data = allocate(o->size);
    for (;;) {
        for (size_t have = 0; have < o->size;) have += receive(s, data + have, o->size - have);
        write_all(s->fds[s->out], data, o->size);
    }
}

// watch makes the socket that is read one that does not block.
static void watch(sender *s) {
    struct epoll_event e = {.events = EPOLLIN | EPOLLET};
    if (fcntl(s->fds[s->in], F_SETFL, O_NONBLOCK)) fail("O_NONBLOCK");
    if ((s->epoll = epoll_create1(EPOLL_CLOEXEC)) < 0 || epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->fds[s->in], &e)) fail("epoll");
}

int main(int argc, char **argv) {
    options o = parse(argc, argv);
    bool busy = strncmp(o.way, "busy", 4) == 0, two = strstr(o.way, "-two") != NULL;
    bool waits = busy || strncmp(o.way, "epoll", 5) == 0;
    sender s = {.size = o.size, .records = strncmp(o.way, "block", 5) != 0, .busy = busy};
    if (RECORD + o.size > PAGE && s.records) {
        fprintf(stderr, "size %zu: a record must fit into a page\n", o.size);
        return 1;
    }
    if (publishes(&o)) {
        s.page = allocate(PAGE);
        s.data = allocate(o.size);
        fill(s.data, o.size);
        if (two) o.subscribers = 2, s.in = 1;
        accept_all(&s, &o);
        await_go();
        if (is(o.work, "pingpong")) {
            watch(&s);
            ping(&o, exchange, &s);
        } else if (s.records) {
            publish(&o, publish_record, flush, &s, &s.size);
        } else if (is(o.way, "block-zerocopy")) {
            s.lender = new_lender(s.fds[0], o.size);
            publish(&o, publish_lent, flush_lent, &s, &s.size);
        } else {
            publish(&o, publish_block, no_flush, &s, &s.size);
        }
        return 0;
    }
    s.fds[0] = dial(&o);
    s.n = 1;
    if (two) s.fds[1] = dial(&o), s.out = 1;
    if (waits) watch(&s);
    say_ready();
    if (is(o.work, "pingpong")) {
        echo(&s, &o);
        return 0;
    }
    checker *c = new_checker(&o);
    if (s.records) read_records(&s, c);
    else read_blocks(&s, c);
    report_received(c);
    return 0;
}
