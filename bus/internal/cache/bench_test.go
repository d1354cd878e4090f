// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"fmt"
	"sync/atomic"
	"testing"
	"unsafe"

	"tagbus/internal/testkit"
)

func TestTheCacheAllocatesNothing(t *testing.T) {
	if got := unsafe.Sizeof(block{}); got != BlockBytes {
		t.Errorf("a block has %d bytes, want %d", got, BlockBytes)
	}
	if testkit.Race {
		t.Skip("the race detector allocates")
	}
	c := cacheOf(t, 4, 1<<16)
	line, other := c.NewLine(), c.NewLine()
	data := make([]byte, 5000)
	n := testing.AllocsPerRun(1000, func() {
		c.Add(line, 0, data[:40])
		c.Add(other, 0, data)
	})
	if n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
}

// BenchmarkCacheAdd is what the cache adds to the cost of publishing: with
// room for all, and when the oldest messages of others must go; in one
// goroutine and in as many as there are processors, each with its own tags.
func BenchmarkCacheAdd(b *testing.B) {
	for _, size := range []int{40, 1 << 10, 64 << 10} {
		for _, lines := range []int{1, 1000} {
			for _, full := range []bool{false, true} {
				name := fmt.Sprintf("size=%d/tags=%d/full=%v", size, lines, full)
				b.Run(name+"/goroutines=1", func(b *testing.B) { benchmarkCacheAdd(b, size, lines, full, false) })
				b.Run(name+"/goroutines=all", func(b *testing.B) { benchmarkCacheAdd(b, size, lines, full, true) })
			}
		}
	}
}

func benchmarkCacheAdd(b *testing.B, size, lines int, full, parallel bool) {
	const depth = 10
	room := int(blocksOf(size)) * BlockBytes * depth * lines
	if full {
		room /= 2
	} else {
		room *= 16
	}
	c := cacheOf(b, depth, min(room, 256<<20))
	data := make([]byte, size)
	b.SetBytes(int64(size))
	b.ReportAllocs()
	var goroutines atomic.Int64
	work := func(next func() bool) {
		mine := make([]uint32, lines)
		for i := range mine {
			mine[i] = c.NewLine()
		}
		for i := int(goroutines.Add(1)); next(); i++ {
			c.Add(mine[i%lines], 0, data)
		}
	}
	if parallel {
		b.RunParallel(func(pb *testing.PB) { work(pb.Next) })
	} else {
		work(b.Loop)
	}
}
