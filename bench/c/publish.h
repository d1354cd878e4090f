// SPDX-License-Identifier: Apache-2.0

// The work of a publisher: as internal/load does it in Go, see there.
#pragma once
#include "bench.h"

// publisher sends a message on a tag, which it stamps, and waits for room.
typedef void publish_one(void *system, int tag, uint64_t sequence, uint32_t lane, int64_t due);

typedef struct {
    uint64_t sent;
    int64_t start_ns, end_ns;
} published;
static char extra[128]; // a member of the result, as JSON with a comma in front, or nothing

static inline __attribute__((always_inline)) published throughput(const options *o, publish_one *one, void *system) {
    published p = {.start_ns = now_ns()};
    int64_t until = p.start_ns + (int64_t)(o->seconds * 1e9);
    int batch = o->size > 65536 ? 1 : (int)(65536 / o->size), tag = 0;
    if (batch > 256) batch = 256;
    uint64_t round = 0;
    do {
        for (int i = 0; i < batch; i++) {
            one(system, tag, round, (uint32_t)tag, 0);
            if (++tag == o->tags) {
                tag = 0;
                round++;
            }
        }
        p.sent += (uint64_t)batch;
    } while (now_ns() < until);
    p.end_ns = now_ns();
    return p;
}

typedef void flush_all(void *system);

// wait_until waits until something is due, and returns from when on its latency
// counts; why: internal/load/openloop.go.
static int64_t wait_until(const options *o, int64_t due, flush_all *flush, void *system) {
    if (now_ns() < due) flush(system);
    if (!o->burst) {
        while (now_ns() < due) {}
        return due;
    }
    if (now_ns() >= due) return due;
    struct timespec t = {.tv_sec = due / 1000000000, .tv_nsec = due % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR) {}
    return now_ns();
}

// open_loop publishes at a fixed rate, and flushes when nothing is due. *size is that
// of the next message.
static published open_loop(const options *o, publish_one *one, flush_all *flush, void *system, size_t *size) {
    published p = {.start_ns = now_ns() + 1000000, .sent = (uint64_t)(o->seconds * o->rate)};
    uint64_t burst = o->burst ? (uint64_t)o->burst : 1, tags = o->command ? 1 : (uint64_t)o->tags, commands = 0;
    int64_t command = o->command ? p.start_ns : INT64_MAX;
    for (uint64_t i = 0; i < p.sent;) {
        int64_t due = p.start_ns + (int64_t)((double)i * 1e9 / o->rate);
        if (command < due) {
            int64_t since = wait_until(o, command, flush, system);
            *size -= o->size - o->command;
            one(system, 1, commands++, 1, since);
            *size += o->size - o->command;
            command += COMMAND_INTERVAL_NS;
            continue;
        }
        due = wait_until(o, due, flush, system);
        for (uint64_t end = i + burst < p.sent ? i + burst : p.sent; i < end; i++)
            one(system, (int)(i % tags), i / tags, (uint32_t)(i % tags), o->command ? 0 : due);
    }
    p.end_ns = now_ns();
    p.sent += commands;
    return p;
}

static inline __attribute__((always_inline)) void publish(const options *o, publish_one *one, flush_all *flush, void *system,
                                                          size_t *size) {
    published p = is(o->work, "openloop") ? open_loop(o, one, flush, system, size) : throughput(o, one, system);
    flush(system);
    printf("{\"role\":\"pub\",\"sent\":%" PRIu64 ",\"start_ns\":%" PRId64 ",\"end_ns\":%" PRId64 "%s}\n",
           p.sent, p.start_ns, p.end_ns, extra);
    fflush(stdout);
    do {
        one(system, 0, p.sent, END_LANE, 0);
        flush(system);
    } while (!quit_asked((int)(END_INTERVAL_NS / 1000000)));
}
