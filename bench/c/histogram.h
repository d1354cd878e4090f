// SPDX-License-Identifier: Apache-2.0

// Distribution of latencies, in ns: buckets at most 1/128 of their value wide, as
// HDR histograms have them.
#pragma once
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

enum { SUB_BITS = 7, SUB = 1 << SUB_BITS };
typedef struct {
    uint64_t counts[58 * SUB], n;
    int64_t max;
} histogram;

static void record(histogram *h, int64_t ns) {
    uint64_t v = ns < 0 ? 0 : (uint64_t)ns;
    int shift = v < SUB ? 0 : 63 - __builtin_clzll(v) - SUB_BITS;
    h->counts[v < SUB ? v : (uint64_t)(shift * SUB) + (v >> shift)]++;
    h->n++;
    if (ns > h->max) h->max = ns;
}

static int64_t quantile(const histogram *h, double q) {
    uint64_t want = (uint64_t)(q * (double)h->n + 0.5), seen = 0;
    for (int i = 0; i < 58 * SUB; i++) {
        seen += h->counts[i];
        if (seen >= want && seen > 0) {
            if (i < 2 * SUB) return i;
            int shift = i / SUB - 1;
            return ((int64_t)(i - shift * SUB + 1) << shift) - 1;
        }
    }
    return h->max;
}

static void print_histogram(const histogram *h) {
    if (h->n == 0) return;
    printf(",\"latency\":{\"count\":%" PRIu64 ",\"p50\":%" PRId64 ",\"p90\":%" PRId64 ",\"p99\":%" PRId64
           ",\"p999\":%" PRId64 ",\"max\":%" PRId64 "}",
           h->n, quantile(h, .5), quantile(h, .9), quantile(h, .99), quantile(h, .999), h->max);
}
