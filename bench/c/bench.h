// SPDX-License-Identifier: Apache-2.0

// What the benchmark programs in C have in common: options, messages and their
// check, clock, histogram, and the lines that the runner reads. It is the same as
// internal/load does in Go; a change to one is a change to the other.
#pragma once
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "histogram.h"

enum { HEADER = 24, SAMPLE_MASK = 1023, QUIET_ENDS = 20 };
#define END_LANE UINT32_MAX
#define END_INTERVAL_NS 20000000L
#define COMMAND_INTERVAL_NS 10000000L

static void fail(const char *what) {
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(1);
}

static void *allocate(size_t n) {
    void *p = aligned_alloc(4096, (n + 4095) & ~(size_t)4095);
    if (!p) fail("allocate");
    return p;
}

static inline bool is(const char *a, const char *b) { return strcmp(a, b) == 0; }

// ---- options

typedef struct {
    const char *role, *work, *addr, *way, *congestion;
    size_t size;
    int tags, subscribers;
    int burst;      // of an open loop: messages that are due together; 0: it spins
    bool read_all;  // all messages are compared byte by byte
    size_t command; // bytes of the messages on tag 1 beside those on tag 0; 0: none
    double seconds, rate;
} options;

static options parse(int argc, char **argv) {
    options o = {.role = "", .work = "throughput", .addr = "", .way = "", .congestion = "",
                 .size = 40, .tags = 1, .subscribers = 1, .seconds = 1};
    for (int i = 1; i < argc; i++) {
        char *value = strchr(argv[i], '=');
        if (!value) continue;
        *value++ = 0;
        const char *name = argv[i] + strspn(argv[i], "-");
        if (!strcmp(name, "role")) o.role = value;
        else if (!strcmp(name, "work")) o.work = value;
        else if (!strcmp(name, "addr")) o.addr = value;
        else if (!strcmp(name, "way")) o.way = value;
        else if (!strcmp(name, "congestion")) o.congestion = value;
        else if (!strcmp(name, "size")) o.size = strtoul(value, NULL, 10);
        else if (!strcmp(name, "read-all")) o.read_all = is(value, "true");
        else if (!strcmp(name, "tags")) o.tags = atoi(value);
        else if (!strcmp(name, "subscribers")) o.subscribers = atoi(value);
        else if (!strcmp(name, "seconds")) o.seconds = atof(value);
        else if (!strcmp(name, "rate")) o.rate = atof(value);
        else if (!strcmp(name, "burst")) o.burst = atoi(value);
        else if (!strcmp(name, "command")) o.command = strtoul(value, NULL, 10);
    }
    if (o.size < HEADER) {
        fprintf(stderr, "size %zu: want at least %d bytes\n", o.size, HEADER);
        exit(1);
    }
    return o;
}

static inline bool publishes(const options *o) { return is(o->role, "pub"); }

// ---- clock and talk with the runner

static inline int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

static void say_listening(const char *addr) {
    printf("{\"listen\":\"%s\"}\n", addr);
    fflush(stdout);
}

static void say_ready(void) {
    printf("{\"ready\":true}\n");
    fflush(stdout);
}

static void await_go(void) {
    char c;
    while (read(0, &c, 1) == 1)
        if (c == '\n') return;
    exit(1); // the runner is gone
}

// quit_asked tells whether the runner needs this process no longer, after waiting
// for ms at most; -1: for ever.
static bool quit_asked(int ms) {
    struct pollfd p = {.fd = 0, .events = POLLIN};
    char c;
    if (poll(&p, 1, ms) <= 0) return false;
    return read(0, &c, 1) <= 0;
}

static void await_quit(void) {
    while (!quit_asked(-1)) {}
}

// ---- messages

static inline uint32_t check_of(uint64_t sequence, uint32_t lane) {
    return (uint32_t)(((sequence ^ (uint64_t)lane << 32) * 0x9E3779B97F4A7C15u) >> 32);
}

static void fill(uint8_t *b, size_t size) {
    for (size_t i = HEADER; i < size; i++) b[i] = (uint8_t)(i * 31 + (i >> 8));
}

static inline void stamp(uint8_t *b, uint64_t sequence, uint32_t lane, int64_t due) {
    uint32_t check = check_of(sequence, lane);
    memcpy(b, &sequence, 8);
    memcpy(b + 8, &lane, 4);
    memcpy(b + 12, &check, 4);
    memcpy(b + 16, &due, 8);
}

typedef struct {
    uint64_t *next; // sequence, by lane
    uint32_t lanes;
    size_t size, command; // command: of lane 1, if not 0
    uint8_t *pattern;
    bool stamped, finished;
    uint64_t mask, received, sampled, corrupt, disordered, seen;
    int64_t last_ns;
    int quiet;
    histogram latency;
} checker;

static checker *new_checker(const options *o) {
    checker *c = calloc(1, sizeof *c);
    if (!c) fail("calloc");
    c->lanes = (uint32_t)o->tags;
    c->next = calloc(c->lanes, sizeof *c->next);
    c->size = o->size;
    c->command = o->command;
    c->pattern = allocate(o->size);
    fill(c->pattern, o->size);
    c->stamped = is(o->work, "openloop");
    c->mask = o->read_all ? 0 : SAMPLE_MASK;
    return c;
}

static bool take_end(checker *c, uint64_t total, uint32_t lane) {
    if (lane != END_LANE) {
        c->corrupt++;
        return false;
    }
    if (c->received != c->seen || c->last_ns == 0) {
        c->seen = c->received;
        c->quiet = 0;
        c->last_ns = now_ns();
    } else {
        c->quiet++;
    }
    c->finished = c->received >= total || c->quiet >= QUIET_ENDS;
    return c->finished;
}

// take checks a message, and tells whether it was the last.
static inline bool take(checker *c, const uint8_t *b, size_t size) {
    uint64_t sequence;
    uint32_t lane, check;
    if (size < HEADER) {
        c->corrupt++;
        return false;
    }
    memcpy(&sequence, b, 8);
    memcpy(&lane, b + 8, 4);
    memcpy(&check, b + 12, 4);
    if ((size != c->size && (lane != 1 || size != c->command)) || check != check_of(sequence, lane)) {
        c->corrupt++;
        return false;
    }
    if (lane >= c->lanes) return take_end(c, sequence, lane);
    if (sequence < c->next[lane]) c->disordered++;
    c->next[lane] = sequence + 1;
    if ((sequence & c->mask) == 0) {
        c->sampled++;
        if (memcmp(b + HEADER, c->pattern + HEADER, size - HEADER)) c->corrupt++;
    }
    if (c->stamped) {
        int64_t due;
        memcpy(&due, b + 16, 8);
        if (due) record(&c->latency, now_ns() - due); // 0: bulk beside commands
    }
    c->received++;
    return false;
}

static void report_received(const checker *c) {
    printf("{\"role\":\"sub\",\"received\":%" PRIu64 ",\"last_ns\":%" PRId64 ",\"sampled\":%" PRIu64
           ",\"corrupt\":%" PRIu64 ",\"disordered\":%" PRIu64,
           c->received, c->last_ns, c->sampled, c->corrupt, c->disordered);
    print_histogram(&c->latency);
    printf("}\n");
    fflush(stdout);
}

// ---- ping-pong: exchange sends a message and waits for the answer

typedef void exchange_one(void *system, uint8_t *data, size_t size);

static void ping(const options *o, exchange_one *exchange, void *system) {
    static histogram h;
    uint8_t *data = allocate(o->size);
    fill(data, o->size);
    int64_t start = now_ns(), until = start + (int64_t)(o->seconds * 1e9), warm = start + (until - start) / 10, end;
    uint64_t n = 0, corrupt = 0;
    do {
        int64_t sent = now_ns();
        stamp(data, n, 0, sent);
        exchange(system, data, o->size);
        end = now_ns();
        uint64_t sequence;
        uint32_t check;
        memcpy(&sequence, data, 8);
        memcpy(&check, data + 12, 4);
        if (sequence != n || check != check_of(n, 0)) corrupt++;
        if (n++ > 0 && sent >= warm) record(&h, end - sent);
    } while (end < until || h.n == 0); // one counts at least, on a machine that does other things
    printf("{\"role\":\"pub\",\"sent\":%" PRIu64 ",\"start_ns\":%" PRId64 ",\"end_ns\":%" PRId64 ",\"corrupt\":%" PRIu64,
           n, start, end, corrupt);
    print_histogram(&h);
    printf("}\n");
    fflush(stdout);
    await_quit();
}
