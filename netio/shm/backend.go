// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm

import (
	"container/list"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"tagbus/netio"
	"tagbus/netio/internal/handover"
	"tagbus/netio/internal/mutual"
	"tagbus/netio/reactor"
)

// Opener returns an opener of backends on loop, which need not run yet. A backend is
// closed before its loop is.
//
// The errors of the opener: those of Config.Validate; the system's if a descriptor cannot
// be made, EMFILE for instance. It takes two descriptors.
func Opener(loop *reactor.EventLoop, cfg Config) netio.Opener {
	return func(h netio.Handler) (netio.Backend, error) {
		if err := cfg.Validate(); err != nil {
			return nil, err
		}
		cfg := cfg.withDefaults() // the opener may be used by several goroutines
		return open(loop, cfg, h)
	}
}

// backend implements netio.Backend. Its steps are events of sockets, the end of
// the loop's turn (PrepareWait), and times.
type backend struct {
	handover.Backend
	config Config
	parts  netio.PartsHandler // the Handler; nil: it is none
	memory memory
	swept  bool // guarded by Mu

	accepts    mutual.Desk // the handshakes of accepted endpoints, with TLS
	dials      mutual.Desk
	ration     *mutual.Ration // of both
	handshakes sync.WaitGroup // goroutines

	// Only in a step.
	moved     int       // of what a turn may cost, since it began
	began     time.Time // of the turn, at the first look at the time
	unlooked  int       // of moved since the last look at the time
	endpoints list.List // of *endpoint, the oldest first
	watched   []*endpoint
	strangers strangers
	listeners []*listenEndpoint
	accepted  int                 // of endpoints
	ports     map[uint16]struct{} // of them
	spare     int                 // a descriptor to give up when there is no other; -1: none
	control   rightsBuffer        // of drain
}

func open(loop *reactor.EventLoop, cfg Config, h netio.Handler) (netio.Backend, error) {
	if err := probe(); err != nil {
		return nil, err
	}
	b := &backend{config: cfg, ports: make(map[uint16]struct{}), spare: openSpare()}
	if t := cfg.TLS; t != nil {
		b.ration = mutual.NewRation(runtime.GOMAXPROCS(0), time.Now)
		b.accepts = mutual.Desk{Places: t.MaxHandshakes, Ration: b.ration, Accepts: true}
		b.dials = mutual.Desk{Places: t.MaxHandshakes, Ration: b.ration}
	}
	b.parts, _ = h.(netio.PartsHandler)
	if err := b.Open(loop, h, cfg.Config, b); err != nil {
		b.closeSpare()
		return nil, err
	}
	return b, nil
}

// probe returns why this system has no memory that processes share as here, or nil: it is older than
// Linux 5.1, or a filter of system calls (seccomp) forbids it.
func probe() error {
	fd, mem, err := newSegment(shape{slots: minSlots, arena: minArena})
	if err != nil {
		return fmt.Errorf("shm: this system gives no sealed memory to share (Linux 5.1 has it, a seccomp filter may forbid it): %w", err)
	}
	return errors.Join(unix.Close(fd), unix.Munmap(mem))
}

// openSpare returns a descriptor, -1 if there is none.
func openSpare() (fd int) {
	err := retry(func() (err error) {
		fd, err = unix.Eventfd(0, unix.EFD_CLOEXEC)
		return err
	})
	if err != nil {
		return -1
	}
	return fd
}

func (b *backend) closeSpare() {
	if b.spare >= 0 {
		_ = unix.Close(b.spare)
		b.spare = -1
	}
}

// Name implements netio.Backend and reactor.Named.
func (b *backend) Name() string { return "shm" }

// Close implements netio.Backend. It waits for the goroutines of handshakes, too, except
// where it must not wait.
func (b *backend) Close() error {
	err := b.Backend.Close()
	if !b.EventLoop.OnAnyLoop() {
		b.handshakes.Wait()
	}
	return err
}

// NewName implements netio.NamedBackend. All of 127.0.0.0/8 is of loopback.
func (b *backend) NewName() netip.AddrPort {
	n := rand.Uint32()
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, byte(n), byte(n >> 8), byte(n >> 16)}), 0)
}

// PrepareWait implements reactor.PrepareWaiter: it is the end of a turn.
func (b *backend) PrepareWait() (sleep bool) {
	b.Turn.Lock()
	defer b.Turn.Unlock()
	if b.Finished {
		return true
	}
	through := false
	defer func() {
		if !through { // a callback panicked
			b.anotherTurn()
		}
	}()
	b.look()
	// A loop that ends has no further turn: then this one goes on. Work that
	// callbacks add without end is left to Close.
	for range lastTurns {
		b.List.Refill()
		b.moved, b.unlooked, b.began = 0, 0, time.Time{}
		for b.List.Left() > 0 && b.moved < turnBytes && !b.late() {
			b.List.Take().Work()
		}
		if b.Finished || b.anotherTurn() {
			break
		}
	}
	through = true
	return true
}

// lastTurns bounds the work of a loop that has been stopped.
const lastTurns = 64

// anotherTurn wakes the loop if work is left, or has come in a turn that did only the
// rest of an earlier one, for which the wake-up is spent. It returns false if there is
// work and the loop has no further turn.
func (b *backend) anotherTurn() bool {
	if b.List.Left() == 0 && !b.List.Waiting() {
		return true
	}
	return b.Wake()
}

// What a turn may cost, in bytes received. A message counts messageBytes more than it has.
const (
	turnBytes    = 8 << 20
	readBytes    = 256 << 10 // of one endpoint, before the others get their turn
	messageBytes = 512
	lookBytes    = 64 << 10 // between two looks at the time
)

// turnTime is how long the callbacks for data of a turn may take before what has been
// received waits for the next turn. A variable for tests.
var turnTime = 5 * time.Millisecond

// spend notes what was received. It reports whether others must have their turn.
func (b *backend) spend(bytes int) (late bool) {
	b.moved += bytes
	b.unlooked += bytes
	return b.moved >= turnBytes || b.late()
}

// late reports whether the turn has taken so long that what else there is to receive
// waits for the next one.
func (b *backend) late() bool {
	if b.unlooked < lookBytes {
		return false
	}
	b.unlooked = 0
	now := time.Now()
	if b.began.IsZero() {
		b.began = now
		return turnTime == 0
	}
	return now.Sub(b.began) >= turnTime
}

// Resume implements handover.Transport: there is nothing but the work.
func (b *backend) Resume() {}

// End implements handover.Transport.
func (b *backend) End() {
	for _, l := range b.listeners {
		l.shut()
	}
	b.listeners = nil
	b.partAll()
	for at := b.endpoints.Front(); at != nil; at = b.endpoints.Front() {
		at.Value.(*endpoint).endNow(nil)
	}
}

// partAll says to all peers that the connections end, and waits for those that look at
// memory they were lent. Their loops turn meanwhile, or the wait ends with its time.
func (b *backend) partAll() {
	for at := b.endpoints.Front(); at != nil; at = at.Next() {
		e := at.Value.(*endpoint)
		if e.state == reported {
			e.Shut()
			e.leave()
		}
	}
	limit := time.Now().Add(b.config.part)
	for at := b.endpoints.Front(); at != nil; at = at.Next() {
		if e := at.Value.(*endpoint); e.state == reported || e.state == parting {
			e.awaitParting(limit)
		}
	}
}

// Free implements handover.Transport.
func (b *backend) Free() {
	b.closeSpare()
	b.memory.close()
}

var errPeerGone = errors.New("the peer has ended without closing")
