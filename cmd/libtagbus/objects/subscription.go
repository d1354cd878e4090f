// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"context"
	"errors"
	"sync"

	"golang.org/x/sys/unix"

	"tagbus/bus"
)

// Subscription is a subscription, or what a receiver has of its senders.
type Subscription struct {
	owner  *Owner
	handle Handle
	sub    *bus.Subscription
	call   Callbacks
	bell   uintptr       // of those that pull; 0: it has callbacks
	told   chan struct{} // closed when on_end on the loop has returned

	// Guarded by post.mu of owner:
	listed bool
	closed bool // by the program: no batch is handed out any more
	over   bool // the end was told

	mu       sync.Mutex
	fd       int // -1: none was asked for
	released bool
}

// subscription makes a subscription, nil: there are too many.
//
//   - Result: the handler on the loop; nil: batches are kept.
func (o *Owner) subscription(call Callbacks, cfg *bus.SubscriptionConfig) (s *Subscription, onBatch func(bus.Batch)) {
	s = &Subscription{owner: o, call: call, fd: -1, told: make(chan struct{})}
	if s.handle = o.lib.Table.Put(KindSubscription, s); s.handle == 0 {
		return nil, nil
	}
	switch {
	case call.Batch == 0:
		s.bell = o.lib.Program.NewBell()
	case o.onLoop:
		return s, func(b bus.Batch) { o.lib.Program.Batch(call.Batch, call.User, o.place(), b) }
	}
	cfg.Batches = true
	return s, nil
}

// begin lets a subscription deliver.
func (s *Subscription) begin() error {
	o := s.owner
	o.mu.Lock()
	shut := o.shut
	if !shut {
		o.subs = append(o.subs, s)
	}
	o.mu.Unlock()
	switch {
	case shut:
		return bus.ErrClosed
	case s.bell != 0:
		s.sub.NotifyBatches(s.notify)
	case s.call.Batch != 0 && !o.onLoop:
		s.sub.NotifyBatches(func() { o.post.markReady(s) })
		o.post.markReady(s) // of what has come before
	}
	if s.call.End != 0 && (o.onLoop || s.bell != 0) {
		go s.awaitEnd()
	}
	return nil
}

// awaitEnd tells the program when the subscription has ended by itself.
func (s *Subscription) awaitEnd() {
	<-s.sub.Ended()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := s.sub.Wait(ctx)
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	tell := func() { s.finish(endCode(err), TextOf(err)) }
	if s.owner.onLoop && s.owner.bus.node.Loop().Post(tell) {
		return // after the last batch
	}
	tell()
}

// finish makes the last callback of a subscription, or has it made. It waits for one on the loop that
// another goroutine makes, unless it is called on the loop: by that callback, perhaps.
func (s *Subscription) finish(code Code, text string) {
	o := s.owner
	o.post.mu.Lock()
	s.closed = true
	told := s.over
	s.over = true
	o.post.mu.Unlock()
	if s.bell != 0 {
		o.lib.Program.Ring(s.bell)
	}
	switch {
	case s.call.End == 0:
	case !o.onLoop && !told:
		o.post.add(Work{Kind: WorkEnd, Fn: s.call.End, User: s.call.User, Code: code, Text: text})
	case o.onLoop && !told:
		defer close(s.told)
		o.lib.Program.End(s.call.End, s.call.User, o.place(), code, text)
	case o.onLoop && !o.bus.node.Loop().OnAnyLoop():
		<-s.told
	}
}

// notify wakes those that pull.
func (s *Subscription) notify() {
	s.owner.lib.Program.Ring(s.bell)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.signal()
}

// signal makes the file descriptor readable. mu is held.
func (s *Subscription) signal() {
	if s.fd >= 0 {
		_, _ = unix.Write(s.fd, []byte{1, 0, 0, 0, 0, 0, 0, 0}) // it is readable before it overflows
	}
}

// Bell returns what those that pull wait for.
//
// Errors: it has on_batch.
func (s *Subscription) Bell(function string) (uintptr, error) {
	if s.bell == 0 {
		return 0, invalid("%s: subscription delivers to on_batch: subscribe with NULL", function)
	}
	return s.bell, nil
}

// release gives back what those that pull wait for, and wakes them: they find that it is closed.
func (s *Subscription) release() {
	if s.bell == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.released {
		return
	}
	s.released = true
	s.owner.lib.Program.FreeBell(s.bell)
	if s.fd >= 0 {
		s.signal()
		_ = unix.Close(s.fd)
		s.fd = -1
	}
}
