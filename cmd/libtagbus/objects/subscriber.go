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

// OpenSubscriber opens a subscriber.
func (l *Library) OpenSubscriber(h Handle, options string, call Callbacks) (Handle, error) {
	const function = "tagbus_subscriber_open"
	b, err := Get[*Bus](&l.Table, h, KindBus, "bus")
	if err != nil {
		return 0, err
	}
	var flags struct{ receiveOptions }
	if err := read(function, options, &flags); err != nil {
		return 0, err
	}
	// Its thread is there for the subscriptions with callbacks, too.
	o, err := b.open(KindSubscriber, flags.OnLoop, call, func(o *Owner, onEvent func(bus.Event)) (err error) {
		cfg := bus.SubscriberConfig{Common: flags.common(), Receiving: flags.receiving()}
		cfg.OnEvent = onEvent
		o.subscriber, err = b.node.NewSubscriber(cfg)
		return err
	})
	if err != nil {
		return 0, err
	}
	return o.handle, nil
}

// Subscribe subscribes.
func (l *Library) Subscribe(h Handle, set, options string, call Callbacks) (Handle, error) {
	const function = "tagbus_subscribe"
	o, err := Get[*Owner](&l.Table, h, KindSubscriber, "subscriber")
	if err != nil {
		return 0, err
	}
	parsed, err := parseTags(function, set)
	if err != nil {
		return 0, err
	}
	var flags subscriptionOptions
	if err := read(function, options, &flags); err != nil {
		return 0, err
	}
	cfg := flags.config()
	s, onBatch := o.subscription(call, &cfg)
	if s == nil {
		return 0, tooMany
	}
	if s.sub, err = o.subscriber.SubscribePages(parsed, onBatch, cfg); err == nil {
		err = s.begin()
	}
	if err != nil {
		l.Table.Remove(s.handle)
		return 0, err
	}
	return s.handle, nil
}

// OpenReceiver opens a receiver.
func (l *Library) OpenReceiver(h Handle, set, options string, call Callbacks) (Handle, error) {
	const function = "tagbus_receiver_open"
	b, err := Get[*Bus](&l.Table, h, KindBus, "bus")
	if err != nil {
		return 0, err
	}
	parsed, err := parseTags(function, set)
	if err != nil {
		return 0, err
	}
	var flags receiverOptions
	if err := read(function, options, &flags); err != nil {
		return 0, err
	}
	o, err := b.open(KindReceiver, flags.OnLoop, call, func(o *Owner, onEvent func(bus.Event)) (err error) {
		cfg := flags.config(parsed)
		cfg.OnEvent = onEvent
		s, onBatch := o.subscription(call, &cfg.Subscription)
		if s == nil {
			return tooMany
		}
		o.messages, cfg.Pages = s, onBatch
		if o.receiver, err = b.node.NewReceiver(cfg, nil); err != nil {
			l.Table.Remove(s.handle)
			return err
		}
		s.sub = o.receiver.Subscription()
		return s.begin()
	})
	if err != nil {
		return 0, err
	}
	return o.handle, nil
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

// Subscription returns the subscription of a handle.
func (l *Library) Subscription(h Handle) (*Subscription, error) {
	return Get[*Subscription](&l.Table, h, KindSubscription, "subscription")
}

// Messages returns what a receiver receives.
func (l *Library) Messages(h Handle) (Handle, error) {
	o, err := Get[*Owner](&l.Table, h, KindReceiver, "receiver")
	if err != nil {
		return 0, err
	}
	if o.call.Batch != 0 {
		return 0, invalid("tagbus_receiver_messages: receiver delivers to on_batch: open it with NULL")
	}
	return o.messages.handle, nil
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

// WaitAcknowledged waits until a subscription is acknowledged.
func (l *Library) WaitAcknowledged(h Handle, milliseconds int64) error {
	s, err := l.Subscription(h)
	if err != nil {
		return err
	}
	ctx, cancel := waiting(milliseconds)
	defer cancel()
	return timeless("tagbus_subscription_wait", milliseconds, s.sub.Wait(ctx))
}

// ChangeSubscription adds tags to a subscription, or removes some.
func (l *Library) ChangeSubscription(h Handle, set string, add bool) error {
	s, err := l.Subscription(h)
	if err != nil {
		return err
	}
	if add {
		parsed, err := parseTags("tagbus_subscription_add", set)
		if err != nil {
			return err
		}
		return s.sub.Add(parsed)
	}
	parsed, err := parseTags("tagbus_subscription_remove", set)
	if err != nil {
		return err
	}
	return s.sub.Remove(parsed)
}

// CloseSubscription ends a subscription. The thread of its owner has the last callback to make.
func (l *Library) CloseSubscription(h Handle) error {
	s, err := l.Subscription(h)
	if err != nil {
		return err
	}
	o := s.owner
	if o.kind == KindReceiver {
		return invalid("subscription is that of a receiver: close the receiver")
	}
	if !l.Table.Remove(h) {
		return &Error{Closed, "subscription is closed"}
	}
	o.post.mu.Lock()
	s.closed = true
	o.post.mu.Unlock()
	_ = s.sub.Close() // it may have ended by itself
	if loop := o.bus.node.Loop(); o.onLoop && !loop.OnAnyLoop() {
		passed := make(chan struct{})
		if loop.Post(func() { close(passed) }) {
			select {
			case <-passed: // no callback of it runs
			case <-o.ended:
			}
		}
	}
	s.finish(OK, "")
	s.release()
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, x := range o.subs {
		if x == s {
			o.subs = append(o.subs[:i], o.subs[i+1:]...)
			break
		}
	}
	return nil
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
