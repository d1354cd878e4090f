package bus

import (
	"context"
	"fmt"
)

// Wait waits until the subscription, as of the last Add or Remove, is acknowledged.
// That takes every publisher of its tags that is connected, that is being connected for
// the first time, or that is in the directory and has acknowledged it before. The first
// time it takes at least one publisher. From then on every missed message is reported.
// A later publisher acknowledges with a Subscribed event.
//
//   - Errors: the publisher's reason, if all of them refused; *NoPublisherError
//     after SubscriptionConfig.Timeout; ErrClosed; ErrOnLoop; the cause of the end of
//     ctx, and the subscription stays open.
//   - Threads: any.
func (sub *Subscription) Wait(ctx context.Context) error {
	sub.mu.Lock()
	ready := sub.ready
	sub.mu.Unlock()
	select {
	case <-ready.done:
		return ready.err
	default:
	}
	if sub.owner.loop.OnAnyLoop() {
		return ErrOnLoop
	}
	select {
	case <-ready.done:
		return ready.err
	case <-ctx.Done():
		return fmt.Errorf("bus: wait for a publisher of %s: %w", shortSet(sub.Tags()), context.Cause(ctx))
	}
}

// maybeReady ends Wait if no publisher is left to wait for. Loop only.
func (sub *Subscription) maybeReady() {
	sub.mu.Lock()
	wait := sub.applying || sub.ready.settled
	sub.mu.Unlock()
	if wait {
		return
	}
	acked := false
	var denied error
	for _, src := range sub.owner.sources {
		switch r := src.requests.Of(sub.id); {
		case r == nil:
			if src.contact.Pending() && src.concerns(sub) {
				return
			}
		case r.Subscribing() || r.Leaving():
			return
		case r.Denied() != nil:
			denied = r.Denied()
		case r.Current():
			acked = true
		case src.mayDial() && src.concerns(sub):
			return
		}
	}
	switch {
	case acked || denied == nil && sub.known:
		sub.settle(nil)
	case denied != nil:
		sub.settle(denied)
	}
}

// checkReady calls maybeReady for all subscriptions, when any of them may have no
// publisher left to wait for. Loop only.
func (s *Subscriber) checkReady() {
	if s.checking {
		return
	}
	s.checking = true // until the job begins: later changes need another one
	check := s.subs.each(func(sub *Subscription) (steps int) {
		sub.maybeReady()
		return stepsPerRequest + len(s.sources)
	})
	s.chores.Add(func(budget int) (steps int, done bool) {
		s.checking = false
		return check(budget)
	})
}

// settle ends Wait. The first call counts.
func (sub *Subscription) settle(err error) {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	if r := sub.ready; !r.settled {
		r.settled, r.err = true, err
		close(r.done)
	}
}

// maybeEnded ends Unsubscribe if no publisher sends any more. Loop only.
func (sub *Subscription) maybeEnded() {
	for _, src := range sub.owner.sources {
		if r := src.requests.Of(sub.id); r != nil && r.Open() {
			return
		}
	}
	sub.finish(ErrClosed)
}

// finish ends everything that waits for the subscription. Loop only.
func (sub *Subscription) finish(err error) {
	sub.settle(err)
	sub.end.Do(func() { close(sub.ended) })
	delete(sub.owner.leaving, sub.id)
	if sub.queue != nil && sub.retired {
		err = nil // an orderly end, after the messages on their way
	}
	if sub.queue != nil {
		sub.queue.close(err)
	}
}
