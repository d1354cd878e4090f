// SPDX-License-Identifier: Apache-2.0

package fanout_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"tagbus/bus/internal/fanout"
	"tagbus/netio"
)

func TestMemory_least(t *testing.T) {
	for _, x := range []struct{ page, message, queue int }{
		{4096, 1, 4096},
		{4096, 4096 - fanout.MostFraming, 4096},
		{4096, 4096 - fanout.MostFraming + 1, 2 * 4096},
		{256, 10_000, (10_000 + fanout.MostFraming + 255) / 256 * 256},
	} {
		m := fanout.Memory{PageBytes: x.page, MaxMessageBytes: x.message}
		if m.QueueBytes = m.LeastQueue(); m.QueueBytes != x.queue || m.LeastPool() != x.queue+x.page {
			t.Errorf("messages of %d in pages of %d: got %d and %d bytes, want %d and a page more", x.message, x.page, m.QueueBytes, m.LeastPool(), x.queue)
		}
	}
	const most = min(1<<40, math.MaxInt)
	if m := (fanout.Memory{PageBytes: 256, QueueBytes: most}); m.LeastPool() != int(min(int64(most)+256, math.MaxInt)) {
		t.Errorf("got %d, want no overflow", m.LeastPool())
	}
}

func TestMemory_thatTheMachineDoesNotHave(t *testing.T) {
	const most = min(1<<46, math.MaxInt)
	if netio.CheckMemory(most) == nil {
		t.Skip("this machine has so much memory")
	}
	small := fanout.Memory{PageBytes: 4096, QueueBytes: 1 << 20, PoolBytes: 4 << 20, MaxMessageBytes: 1 << 10}
	if err := small.Check(); err != nil {
		t.Fatal(err)
	}
	pool, cache, queue := small, small, small
	pool.PoolBytes = most
	cache.CacheMessages, cache.CacheBytes = 1, most
	queue.QueueBytes, queue.PoolBytes = most-4096, most
	for want, m := range map[string]fanout.Memory{"bus: PoolBytes is ": pool, "bus: CacheBytes is ": cache, "bus: QueueBytes is ": queue} {
		if err := m.Check(); !errors.Is(err, netio.ErrNoMemory) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want ErrNoMemory behind %q", err, want)
		}
	}
}

func TestMemory_make(t *testing.T) {
	m := fanout.Memory{PageBytes: 4096, QueueBytes: 1 << 16, PoolBytes: 1<<17 + 1, MaxMessageBytes: 1 << 10}
	for _, messages := range []int{0, 5} {
		m.CacheMessages, m.CacheBytes = messages, 1<<16
		pool, cache, err := m.Make(false)
		if err != nil {
			t.Fatal(err)
		}
		if pool.Buffers() != 32 || (cache != nil) != (messages > 0) {
			t.Errorf("got %d buffers, want 32, and a cache only of some messages, of %d: %v", pool.Buffers(), messages, cache != nil)
		}
		if cache != nil {
			cache.Close()
		}
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	}
}
