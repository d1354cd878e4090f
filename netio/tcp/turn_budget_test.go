// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tagbus/internal/testkit"
	"tagbus/internal/testkit/backendtest"
	"tagbus/netio"
	"tagbus/netio/reactor"
	"tagbus/netio/tcp"
)

// flood is a backend without a running loop, whose endpoints have more to read
// than any turn allows: each reads a file from its beginning.
type flood struct {
	netio.NopHandler
	b     netio.Backend
	eps   []netio.Endpoint
	frame int  // bytes
	panic bool // in OnConnectionClosed

	delivered map[netio.Endpoint]int // bytes; nil: not counted

	// Of the last step.
	read  map[netio.Endpoint]int
	total int
}

// floodBytes is the size of the file: what an endpoint reads in some turns.
const floodBytes = 4 << 20

func newFlood(t *testing.T, cfg tcp.Config, endpoints, size int) *flood {
	t.Helper()
	one := frame(make([]byte, size))
	before := tcp.SetTurnTime(time.Hour) // the tests count bytes
	t.Cleanup(func() { tcp.SetTurnTime(before) })
	f := &flood{frame: len(one)}
	loop := backendtest.NewRunner(t, reactor.Config{})
	b, err := tcp.Opener(loop.EventLoop, cfg)(f)
	if err != nil {
		t.Fatalf("open backend: got error %v, want none", err)
	}
	f.b = b
	t.Cleanup(func() {
		if err := errors.Join(b.Close(), loop.Close()); err != nil {
			t.Errorf("close the backend and its loop: got error %v, want none", err)
		}
	})
	file, err := unix.MemfdCreate("flood", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatalf("make a file: got error %v, want none", err)
	}
	defer unix.Close(file)
	if _, err := unix.Write(file, bytes.Repeat(one, floodBytes/len(one))); err != nil {
		t.Fatalf("write the file: got error %v, want none", err)
	}
	for range endpoints {
		fd, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", file), unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatalf("open the file: got error %v, want none", err)
		}
		ep, err := tcp.AddEndpoint(b, fd, netio.Params{})
		if err != nil {
			t.Fatalf("AddEndpoint: got error %v, want none", err)
		}
		f.eps = append(f.eps, ep)
	}
	return f
}

func (f *flood) OnData(ep netio.Endpoint, data []byte) {
	if f.delivered != nil {
		f.delivered[ep] += len(data)
	}
}

func (f *flood) OnConnectionClosed(netio.Endpoint, []netio.Key, error) {
	if f.panic {
		panic("as asked for")
	}
}

// events is a batch of events: all endpoints are readable.
func (f *flood) events() {
	f.step(func() {
		for _, ep := range f.eps {
			tcp.Event(ep, reactor.Readable)
		}
	})
}

// endTurn is the end of a turn.
func (f *flood) endTurn() { f.step(func() { tcp.EndTurn(f.b) }) }

// step notes how much each endpoint reads in do: how far it comes in its file.
func (f *flood) step(do func()) {
	f.read, f.total = make(map[netio.Endpoint]int), 0
	before := make(map[netio.Endpoint]int)
	for _, ep := range f.eps {
		before[ep] = position(ep)
	}
	func() {
		defer func() { _ = recover() }() // as the loop does
		do()
	}()
	for _, ep := range f.eps {
		if n := position(ep) - before[ep]; n > 0 {
			f.read[ep] = n
			f.total += n
		}
	}
}

func position(ep netio.Endpoint) int {
	at, err := unix.Seek(tcp.FD(ep), 0, unix.SEEK_CUR)
	if err != nil {
		panic(err)
	}
	return int(at)
}

// wantTurn asserts what was read at the end of a turn: no more than a turn allows,
// and by each endpoint that could read its share: less what is not worth a call, or
// more for the rest of a message.
func (f *flood) wantTurn(t *testing.T, turn, share int) {
	t.Helper()
	if most := tcp.TurnBytes + share + f.frame; f.total > most || f.total == 0 {
		t.Errorf("turn %d: got %d bytes, want 1 to %d", turn, f.total, most)
	}
	for i, ep := range f.eps {
		if got := f.read[ep]; got != 0 && (got <= share-tcp.LeastReadBytes || got > share+f.frame+4) {
			t.Errorf("turn %d: endpoint %d: got %d bytes, want its share of %d, and no more than a message of %d more", turn, i, got, share, f.frame)
			return
		}
	}
}

func TestEndpoint_busyOnesShareATurn(t *testing.T) {
	floods := []struct {
		endpoints int
		share     int
	}{
		{1, tcp.MostReadBytes},
		{32, tcp.MostReadBytes},
		{100, tcp.TurnBytes / 100},
		{1000, tcp.LeastReadBytes},
	}
	for _, tt := range floods {
		for _, size := range []int{1000, 130_900} {
			t.Run(fmt.Sprintf("%d endpoints, messages of %d bytes", tt.endpoints, size), func(t *testing.T) {
				if testkit.Race && tt.endpoints*size > 100e6 {
					t.Skip("all is on one goroutine: the race detector sees no more in 131 MB")
				}
				f := newFlood(t, tcp.Config{}, tt.endpoints, size)
				// They all become busy at once, which could not be foreseen.
				f.events()
				if most := tcp.TurnBytes + tcp.MostReadBytes + f.frame; f.total > most || f.total == 0 {
					t.Errorf("events: got %d bytes, want 1 to %d", f.total, most)
				}
				served := make(map[netio.Endpoint]bool)
				for turn := range 4 * max(1, tt.endpoints*(tt.share+f.frame)/tcp.TurnBytes) {
					f.endTurn()
					f.wantTurn(t, turn, tt.share)
					for ep := range f.read {
						served[ep] = true
					}
					if len(served) == tt.endpoints && turn > 0 {
						return
					}
				}
				t.Errorf("endpoints that had a turn: got %d, want all %d", len(served), tt.endpoints)
			})
		}
	}
}

func TestEndpoint_hasTheWholeTurnWhenTheOthersGo(t *testing.T) {
	const endpoints = 500
	tests := []struct {
		name  string
		end   func(netio.Endpoint)
		panic bool
		turns int // in which they go
	}{
		{"paused", netio.Endpoint.PauseReceive, false, 2},
		{"closed", func(ep netio.Endpoint) { _ = ep.Close() }, false, 2},
		{"closed, with a handler that panics", func(ep netio.Endpoint) { _ = ep.Close() }, true, endpoints + 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFlood(t, tcp.Config{}, endpoints, 1000)
			f.events()
			f.endTurn()
			f.wantTurn(t, 0, tcp.TurnBytes/endpoints)
			last := f.eps[endpoints/2]
			for _, ep := range f.eps {
				if ep != last {
					tt.end(ep)
				}
			}
			f.eps = []netio.Endpoint{last}
			f.panic = tt.panic
			for range tt.turns {
				f.endTurn()
			}
			f.panic = false
			f.endTurn()
			f.wantTurn(t, 1, tcp.MostReadBytes)
		})
	}
}

// Bytes that were sent at the end of a turn do not keep an endpoint from reading
// for longer than to the end of the next.
func TestEndpoint_whatEventsMayNotReadTheEndOfTheTurnDoes(t *testing.T) {
	f := newFlood(t, tcp.Config{}, 100, 1000)
	f.events()
	late := f.eps[99]
	if f.read[late] != 0 {
		t.Fatalf("last endpoint of the events: got %d bytes, want none: the turn was full", f.read[late])
	}
	for _, ep := range f.eps[:99] {
		ep.PauseReceive()
	}
	f.endTurn()
	if f.read[late] == 0 {
		t.Errorf("at the end of the turn: got no bytes, want some")
	}
}

// TestEndpoint_whatEventsMayNotSendTheEndOfTheTurnDoes: an endpoint whose peer has made room
// sends behind those that have filled the turn.
func TestEndpoint_whatEventsMayNotSendTheEndOfTheTurnDoes(t *testing.T) {
	f := newFlood(t, tcp.Config{}, 100, 1000)
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatalf("socketpair: got error %v, want none", err)
	}
	t.Cleanup(func() { _ = unix.Close(pair[1]) })
	sender, err := tcp.AddEndpoint(f.b, pair[0], netio.Params{ZeroCopy: netio.ZeroCopyParams{Outstanding: 1}})
	if err != nil {
		t.Fatalf("AddEndpoint: got error %v, want none", err)
	}
	if err := sender.Send(1, nil, make([]byte, 16<<20)); err != nil {
		t.Fatalf("Send: got error %v, want none", err)
	}
	drained := func() (n int) {
		buffer := make([]byte, 1<<20)
		for {
			got, err := unix.Read(pair[1], buffer)
			if err != nil {
				return n
			}
			n += got
		}
	}
	f.endTurn()
	if drained() == 0 {
		t.Fatal("at first: got no bytes, want what the socket takes")
	}
	f.endTurn() // what is moved counts from here
	f.events()
	tcp.Event(sender, reactor.Writable)
	if got := drained(); got != 0 {
		t.Errorf("event in a full turn: got %d bytes, want none", got)
	}
	f.endTurn()
	if drained() == 0 {
		t.Error("at the end of the turn: got no bytes, want some")
	}
}
