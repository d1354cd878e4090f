// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"fmt"
	"testing"

	"tagbus/internal/invariants"
	"tagbus/internal/testkit"
	"tagbus/netio/tcp"
)

// receiveConfigs are backends without and with shared receive buffers, those for
// messages of one size.
func receiveConfigs(size int) []struct {
	name string
	cfg  tcp.Config
} {
	return []struct {
		name string
		cfg  tcp.Config
	}{
		{"adaptive", tcp.Config{}},
		{"shared", shared(4, size)},
		{"shared, of 1 MiB", shared(4, 1<<20)},
	}
}

// BenchmarkReceive compares the memory that follows what comes with shared
// buffers. Reno does not pace: so it is the receiver that is measured.
func BenchmarkReceive(b *testing.B) {
	for _, size := range []int{1 << 10, 64 << 10} {
		for _, c := range receiveConfigs(size) {
			b.Run(fmt.Sprintf("size=%d/memory=%s", size, c.name), func(b *testing.B) {
				c.cfg.CongestionControl = "reno"
				p, s, ep, loop := pumpAndSink(b, c.cfg, "zero-copy", size)
				p.run(s, ep, loop, 2000+(8<<20)/size)
				b.SetBytes(int64(size))
				b.ReportAllocs()
				b.ResetTimer()
				p.run(s, ep, loop, b.N)
			})
		}
	}
}

func TestEndpoint_sharedReceiveAllocatesNothing(t *testing.T) {
	if testkit.Race {
		t.Skip("the race detector allocates")
	}
	if invariants.Enabled {
		t.Skip("the checks of a build with invariants allocate")
	}
	for _, size := range []int{64, 10_000, 130_900} {
		t.Run(fmt.Sprintf("%d bytes", size), func(t *testing.T) {
			p, s, ep, loop := pumpAndSink(t, shared(1, size), "copy", size)
			const messages = 200
			begin := func() { p.fill(ep) }
			run := func() {
				s.left, p.left = messages, messages
				loop.Post(begin)
				<-s.done
				<-p.done
			}
			for range 5 {
				run() // everything gets its size
			}
			// A block or two may come and go with the timing.
			if got := testing.AllocsPerRun(20, run); got > messages/50 {
				t.Errorf("allocations for %d messages: got %v, want none for each", messages, got)
			}
		})
	}
}

// TestEndpoint_waitingAllocatesNothing passes one buffer from endpoint to endpoint.
func TestEndpoint_waitingAllocatesNothing(t *testing.T) {
	if testkit.Race {
		t.Skip("the race detector allocates")
	}
	l := newLine(t, 0, 1)
	l.join(t, 3)
	write(t, l.conns[0], []byte(rest))
	l.wantOrder(t, l.eps...)
	part, end := frame([]byte("message"))[:6], []byte("ssage")
	run := func() {
		for _, c := range l.conns { // the first holds, the others wait
			_, _ = c.Write(part)
		}
		for _, c := range l.conns {
			_, _ = c.Write(end)
		}
		for range l.conns {
			<-l.Data
		}
	}
	for range 5 {
		run()
	}
	// The watcher copies each message and notes its endpoint.
	if got := testing.AllocsPerRun(50, run); got > float64(2*len(l.conns)) {
		t.Errorf("allocations for %d messages with a buffer that was waited for: got %v, want those of the test only", len(l.conns), got)
	}
}
