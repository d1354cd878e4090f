// SPDX-License-Identifier: Apache-2.0

package tcp

import (
	"container/list"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"tagbus/internal/alarm"
	"tagbus/netio"
	"tagbus/netio/internal/handover"
	"tagbus/netio/internal/spread"
	"tagbus/netio/internal/trouble"
	"tagbus/netio/reactor"
)

const (
	// turnBytes is what the endpoints together send and receive at the end of
	// a turn before the loop looks for events again, and what they receive with
	// those events before the rest waits for the end of that turn.
	turnBytes = 8 << 20

	// trimEvery is how long unused memory is kept.
	trimEvery = 2 * time.Second
)

// Opener returns an opener of TCP backends on loop, which need not run yet. A
// backend is closed before its loop is.
//
// The errors of the opener: those of Config.Validate; the system's if a
// descriptor cannot be made, EMFILE for instance. It takes two descriptors.
func Opener(loop *reactor.EventLoop, cfg Config) netio.Opener {
	return func(h netio.Handler) (netio.Backend, error) {
		if err := cfg.Validate(); err != nil {
			return nil, err
		}
		cfg := cfg.withDefaults() // the opener may be used by several goroutines
		cfg.warn()
		return open(loop, cfg, h, newSiblings(&cfg, false))
	}
}

// backend implements netio.Backend. Its steps are events of sockets, the end of
// the loop's turn (PrepareWait), and times.
type backend struct {
	handover.Backend
	config Config
	memory memory

	// Only in a step.
	trimming  alarm.Alarm
	scratch   scratch
	sender    sender
	moved     int       // bytes sent and received since the turn began
	began     time.Time // of the turn, at the first look at the time
	unlooked  int       // bytes that callbacks have got since the last look at the time
	behind    int       // endpoints that have more to read, in their next turn
	endpoints list.List // of *endpoint, the oldest first
	listeners []*listenEndpoint
	spare     int             // a descriptor to give up when there is no other; -1: none
	trouble   trouble.Trouble // of serving what was accepted
	secured   trouble.Trouble // of making it secure

	siblings *siblings    // of those that share what one accepts
	load     atomic.Int64 // endpoints, and connections on their way here

	arrivals spread.Arrivals[arrival]

	handshakes sync.WaitGroup // goroutines

	receive *receivePool // nil: each endpoint or listen endpoint may have its own
}

func open(loop *reactor.EventLoop, cfg Config, h netio.Handler, all *siblings) (netio.Backend, error) {
	b := &backend{config: cfg, siblings: all}
	b.trimming.F = b.trim
	b.sender.most = batchBytes
	var err error
	if b.scratch.block, err = b.memory.get(scratchBytes); err != nil {
		return nil, err
	}
	if b.receive, err = newSharedReceive(b); err != nil {
		b.freeMemory()
		return nil, err
	}
	if b.spare, err = openSpare(); err != nil {
		b.freeMemory()
		return nil, fmt.Errorf("tcp: open a spare descriptor: %w", err)
	}
	if err = b.Open(loop, h, cfg.Config, b); err != nil {
		b.freeMemory()
		return nil, errors.Join(err, unix.Close(b.spare))
	}
	all.backends = append(all.backends, b)
	return b, nil
}

// freeMemory gives back all memory that no user holds.
func (b *backend) freeMemory() {
	b.memory.put(b.scratch.block)
	b.memory.close()
	if b.receive != nil {
		b.receive.retire()
	}
}

func openSpare() (fd int, err error) {
	for {
		fd, err = unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// Name implements netio.Backend and reactor.Named.
func (b *backend) Name() string {
	if b.config.TLS != nil {
		return "tls"
	}
	return "tcp"
}

// Close implements netio.Backend. It waits for the goroutines of handshakes, too, except
// where it must not wait.
func (b *backend) Close() error {
	err := b.Backend.Close()
	if !b.EventLoop.OnAnyLoop() {
		b.handshakes.Wait()
	}
	return err
}

// PrepareWait implements reactor.PrepareWaiter: it is the end of a turn.
func (b *backend) PrepareWait() (sleep bool) {
	b.Turn.Lock()
	defer b.Turn.Unlock()
	if b.Finished {
		return true
	}
	if b.memory.returned.Load() {
		b.trimLater()
	}
	through := false
	defer func() {
		if !through { // a callback panicked
			b.anotherTurn()
		}
	}()
	// A loop that ends has no further turn: then this one goes on. Work that
	// callbacks add without end is left to Close.
	for range lastTurns {
		b.List.Refill()
		b.moved, b.began = 0, time.Time{}
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

// trimLater schedules the release of unused memory.
func (b *backend) trimLater() {
	if !b.trimming.IsSet() {
		b.Alarms.Set(&b.trimming, trimEvery)
	}
}

func (b *backend) trim() {
	b.memory.trim()
}

// Resume implements handover.Transport: there is nothing but the work.
func (b *backend) Resume() {}

// End implements handover.Transport.
func (b *backend) End() {
	b.declineArrivals()
	for _, l := range b.listeners {
		l.shut()
	}
	b.listeners = nil
	for at := b.endpoints.Front(); at != nil; at = b.endpoints.Front() {
		at.Value.(*endpoint).end(nil)
	}
}

// Free implements handover.Transport.
func (b *backend) Free() {
	if b.spare >= 0 {
		_ = unix.Close(b.spare)
	}
	b.freeMemory()
}
