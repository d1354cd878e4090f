// SPDX-License-Identifier: Apache-2.0

// Package latency counts how long messages took.
package latency

import (
	"math/bits"
	"sync"
	"time"
)

// Histogram counts durations in buckets that are at most 1/32 of their value
// wide, from a nanosecond to centuries. The zero value is empty.
//
// Threads: any.
type Histogram struct {
	mu            sync.Mutex
	total, recent counts
}

type counts struct {
	buckets [64 * sub]uint64
	n       uint64
	sum     float64 // nanoseconds
	most    time.Duration
}

const (
	subBits = 5
	sub     = 1 << subBits
)

// bucket returns the bucket of a duration. Durations below sub have one each.
func bucket(d time.Duration) int {
	v := uint64(max(d, 0))
	if v < sub {
		return int(v)
	}
	shift := bits.Len64(v) - 1 - subBits
	return (shift+1)*sub + int(v>>shift) - sub
}

// upper returns the largest duration of a bucket.
func upper(bucket int) time.Duration {
	if bucket < sub {
		return time.Duration(bucket)
	}
	shift := bucket/sub - 1
	return time.Duration(uint64(bucket%sub+sub+1)<<shift - 1)
}

// Record counts a duration; one below zero, which clocks that differ make,
// counts as zero.
func (h *Histogram) Record(d time.Duration) {
	h.mu.Lock()
	h.total.add(d)
	h.recent.add(d)
	h.mu.Unlock()
}

func (c *counts) add(d time.Duration) {
	c.buckets[bucket(d)]++
	c.n++
	c.sum += float64(max(d, 0))
	c.most = max(c.most, d)
}

// Summary says how long messages took.
type Summary struct {
	Messages uint64
	P50, P99 time.Duration // at most so long took half of them, and 99 of 100
	Max      time.Duration
}

// Total returns all that was counted.
func (h *Histogram) Total() Summary {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.total.summary()
}

// Recent returns what was counted since the call before.
func (h *Histogram) Recent() Summary {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.recent.summary()
	h.recent = counts{}
	return s
}

func (c *counts) summary() Summary {
	return Summary{Messages: c.n, P50: c.quantile(1, 2), P99: c.quantile(99, 100), Max: c.most}
}

// quantile returns the duration that num of den do not exceed.
func (c *counts) quantile(num, den uint64) time.Duration {
	if c.n == 0 {
		return 0
	}
	rank := (c.n*num + den - 1) / den
	for i, n := range c.buckets {
		if n >= rank {
			return min(upper(i), c.most)
		}
		rank -= n
	}
	return c.most
}
