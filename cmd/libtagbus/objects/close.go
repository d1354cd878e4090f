// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"slices"

	"tagbus/bus"
)

// ended returns the error of a close of a handle that is closed, when no callback is made any more, except
// those that threads have: another goroutine may be about to close it.
func (l *Library) ended(h Handle, err error) error {
	if CodeOf(err) != Closed {
		return err
	}
	l.mu.Lock()
	var working []*Owner
	for _, o := range l.working {
		if o.handle == h || o.bus.handle == h {
			working = append(working, o)
		}
	}
	l.mu.Unlock()
	for _, o := range working {
		if o.bus.node.Loop().OnAnyLoop() {
			return bus.ErrOnLoop
		}
		<-o.ended
	}
	return err
}

// CloseSubscription ends a subscription. The thread of its owner has the last callback to make, or the
// loop, if it is called there: by the callback before that, perhaps.
func (l *Library) CloseSubscription(h Handle) error {
	s, err := l.Subscription(h)
	if err != nil {
		return l.closed(h, err)
	}
	o := s.owner
	loop := o.bus.node.Loop()
	ours := o.onLoop && loop.OnLoop()
	switch {
	case o.kind == KindReceiver:
		return invalid("subscription is that of a receiver: close the receiver")
	case !ours && loop.OnAnyLoop():
		return bus.ErrOnLoop
	case !l.Table.Remove(h):
		return l.closed(h, &Error{Closed, "subscription is closed"})
	}
	o.post.mu.Lock()
	s.closed = true
	o.post.mu.Unlock()
	_ = s.sub.Close() // it may have ended by itself
	end := func() {
		s.finish(OK, "")
		s.release()
		o.drop(s)
	}
	if ours && loop.Post(end) {
		return nil
	}
	o.pass()
	end()
	return nil
}

// closed returns the error of a close of a subscription that is closed, when no callback of it is made on the
// loop any more, unless that callback calls it.
func (l *Library) closed(h Handle, err error) error {
	s := l.closing(h)
	if s == nil || CodeOf(err) != Closed {
		return err
	}
	switch loop := s.owner.bus.node.Loop(); {
	case s.owner.onLoop && loop.OnLoop():
	case loop.OnAnyLoop():
		return bus.ErrOnLoop
	default:
		s.owner.pass()
	}
	return err
}

// closing returns the subscription of a closed handle, of which there may be callbacks yet; nil: there is none.
func (l *Library) closing(h Handle) *Subscription {
	if h.kind() != KindSubscription {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range l.working {
		if s := o.find(h); s != nil {
			return s
		}
	}
	return nil
}

// find returns the subscription of a handle; nil: the owner has it not.
func (o *Owner) find(h Handle) *Subscription {
	o.mu.Lock()
	defer o.mu.Unlock()
	if i := slices.IndexFunc(o.subs, func(s *Subscription) bool { return s.handle == h }); i >= 0 {
		return o.subs[i]
	}
	return nil
}

// drop takes off a subscription that has ended.
func (o *Owner) drop(s *Subscription) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.subs = slices.DeleteFunc(o.subs, func(x *Subscription) bool { return x == s })
}

// pass waits until the loop has made the callback that it makes now, if callbacks are made there.
func (o *Owner) pass() {
	if !o.onLoop {
		return
	}
	passed := make(chan struct{})
	if !o.bus.node.Loop().Post(func() { close(passed) }) {
		return
	}
	select {
	case <-passed:
	case <-o.ended:
	}
}
