// SPDX-License-Identifier: Apache-2.0

//go:build linux

package reactor_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tagbus/netio/reactor"
)

// BenchmarkTrigger compares sources that are edge-triggered, and registered once
// and for all, with level-triggered ones, which watch for Writable only while a
// write is blocked. The numbers of adr/0015 are from here.
//
// Both do the same work in turns, each on a loop of its own: so what else the
// machine does meets both. A time is the median of the rounds.
func BenchmarkTrigger(b *testing.B) {
	pairs := map[string]func(testing.TB) [2]int{"tcp": tcpPair, "unix": unixPair}
	works := map[string]func(*triggered){"ping-pong": pingPong, "stream that blocks": stream, "64 at once": manyAtOnce}
	for _, over := range []string{"tcp", "unix"} {
		for _, work := range []string{"ping-pong", "stream that blocks", "64 at once"} {
			b.Run("over="+over+"/work="+work, func(b *testing.B) {
				var both [2]*triggered
				for i := range both {
					loop, stop := started(b, reactor.Config{})
					both[i] = &triggered{tb: b, loop: loop, pair: pairs[over], edge: i == 0, done: make(chan struct{}, 1)}
					works[work](both[i])
					b.Cleanup(stop) // before descriptors are closed that a callback may be reading
				}
				compareTriggers(b, both)
			})
		}
	}
}

// compareTriggers reports what a step takes, edge and level, and the ratio.
func compareTriggers(b *testing.B, both [2]*triggered) {
	b.Helper()
	const rounds = 20
	steps := max(1, b.N/rounds)
	var took [2][]float64
	for round := range rounds {
		for i := range both {
			i = (i + round) % 2 // each is first as often as the other
			took[i] = append(took[i], float64(both[i].run(steps).Nanoseconds())/float64(steps))
		}
	}
	var median [2]float64
	for i := range both {
		slices.Sort(took[i])
		median[i] = took[i][rounds/2]
	}
	b.ReportMetric(0, "ns/op") // of both together
	b.ReportMetric(median[0], "edge-ns")
	b.ReportMetric(median[1], "level-ns")
	b.ReportMetric(median[1]/median[0], "level/edge")
	b.ReportMetric(float64(both[1].modified)/float64(rounds*steps), "level-ctl")
}

// triggered is a work whose sources are all edge-triggered, or all not. Its fields
// are used on the loop.
type triggered struct {
	tb   testing.TB
	loop *reactor.EventLoop
	pair func(testing.TB) [2]int
	edge bool

	begin    func() // begins what left counts down
	left     int
	modified int // calls of Modify
	done     chan struct{}
}

// run takes some steps, and returns the time.
func (w *triggered) run(steps int) time.Duration {
	began := time.Now()
	w.loop.Post(func() { w.left = steps; w.begin() })
	await(w.tb, w.done, "the end of a work")
	return time.Since(began)
}

// step ends a step. It reports whether there is another one.
func (w *triggered) step() bool {
	if w.left--; w.left == 0 {
		w.done <- struct{}{}
	}
	return w.left > 0
}

// interest is what a source is registered for.
func (w *triggered) interest(blocked bool) reactor.Events {
	events := reactor.Readable | reactor.PeerClosed
	if w.edge {
		return events | reactor.Writable | reactor.EdgeTriggered
	}
	if blocked {
		events |= reactor.Writable
	}
	return events
}

func (w *triggered) register(fd int, f sourceFunc) *reactor.Registration {
	return register(w.tb, w.loop, fd, w.interest(false), f)
}

// watch waits for room to write while a write is blocked.
func (w *triggered) watch(r *reactor.Registration, blocked bool) {
	if w.edge {
		return
	}
	w.modified++
	if err := r.Modify(w.interest(blocked)); err != nil {
		w.tb.Errorf("Modify: got error %v, want none", err)
	}
}

// pingPong is one byte to and fro.
func pingPong(w *triggered) {
	fds, buf := w.pair(w.tb), make([]byte, 64)
	for i, fd := range fds {
		w.register(fd, func(e reactor.Events) {
			if e.Has(reactor.Readable) && w.readAll(fd, buf) > 0 && (i == 1 || w.step()) {
				w.write(fd, buf[:1])
			}
		})
	}
	w.begin = func() { w.write(fds[0], buf[:1]) }
}

// stream is bursts that are larger than what the system has room for: level-triggered,
// the writer watches for Writable from the middle of each to its end.
func stream(w *triggered) {
	const burst = 512 << 10
	fds, block, buf := w.pair(w.tb), make([]byte, 64<<10), make([]byte, 64<<10)
	for _, fd := range fds {
		for _, option := range []int{unix.SO_SNDBUF, unix.SO_RCVBUF} {
			if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, option, 64<<10); err != nil {
				w.tb.Fatalf("set the size of a buffer: got error %v, want none", err)
			}
		}
	}
	var writer *reactor.Registration
	blocked, unsent, unread := false, 0, 0
	send := func() {
		was := blocked
		for blocked = false; unsent > 0 && !blocked; {
			n := w.write(fds[0], block[:min(unsent, len(block))])
			blocked = n < min(unsent, len(block))
			unsent -= n
		}
		if blocked != was {
			w.watch(writer, blocked)
		}
	}
	w.begin = func() {
		unsent, unread = burst, burst
		send()
	}
	writer = w.register(fds[0], func(e reactor.Events) {
		if e.Has(reactor.Writable) && blocked {
			send()
		}
	})
	w.register(fds[1], func(e reactor.Events) {
		if !e.Has(reactor.Readable) {
			return
		}
		if unread -= w.readAll(fds[1], buf); unread == 0 && w.step() {
			w.begin()
		}
	})
}

// manyAtOnce is a turn in which each of 64 sources has a byte.
func manyAtOnce(w *triggered) {
	const sources = 64
	buf, peers, unread := make([]byte, 64), make([]int, sources), 0
	w.begin = func() {
		unread = sources
		for _, fd := range peers {
			w.write(fd, buf[:1])
		}
	}
	for i := range peers {
		fds := w.pair(w.tb)
		peers[i] = fds[0]
		w.tb.Cleanup(func() { _ = unix.Close(fds[0]) })
		w.register(fds[1], func(e reactor.Events) {
			if !e.Has(reactor.Readable) {
				return
			}
			if unread -= w.readAll(fds[1], buf); unread == 0 && w.step() {
				w.begin()
			}
		})
	}
}

// readAll reads until a read is short, and returns the number of bytes.
func (w *triggered) readAll(fd int, buf []byte) (total int) {
	for {
		n, err := unix.Read(fd, buf)
		switch {
		case err != nil && !errors.Is(err, unix.EAGAIN):
			w.tb.Errorf("read: got error %v, want none", err)
			return total
		case n < len(buf): // also the end, when the benchmark closes the others first
			return total + max(n, 0)
		}
		total += n
	}
}

// write returns how many bytes the system has taken.
func (w *triggered) write(fd int, p []byte) int {
	n, err := unix.Write(fd, p)
	if err != nil && !errors.Is(err, unix.EAGAIN) {
		w.tb.Errorf("write: got error %v, want none", err)
	}
	return max(n, 0)
}

// unixPair returns two connected sockets, which are the caller's to close.
func unixPair(tb testing.TB) [2]int {
	tb.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		tb.Fatalf("socketpair: got error %v, want none", err)
	}
	return fds
}

// tcpPair is the same with TCP, by which a source hears of Writable only after a
// write was blocked, and not whenever its peer has read.
func tcpPair(tb testing.TB) (fds [2]int) {
	tb.Helper()
	must := func(err error) {
		if err != nil {
			tb.Fatalf("tcp pair: got error %v, want none", err)
		}
	}
	listener, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	must(err)
	defer unix.Close(listener)
	must(unix.Bind(listener, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	must(unix.Listen(listener, 1))
	at, err := unix.Getsockname(listener)
	must(err)
	fds[0], err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	must(err)
	must(unix.Connect(fds[0], at))
	fds[1], _, err = unix.Accept4(listener, unix.SOCK_CLOEXEC)
	must(err)
	for _, fd := range fds {
		must(unix.SetNonblock(fd, true))
		must(unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1))
		must(unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, "reno")) // does not pace
	}
	return fds
}
