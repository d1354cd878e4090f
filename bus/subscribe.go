// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"fmt"
	"maps"
	"slices"

	"tagbus/bus/internal/closer"
	"tagbus/bus/internal/tagset"
	"tagbus/bus/internal/workqueue"
	"tagbus/subscription"
	"tagbus/tags"
)

// Subscribe asks every publisher, also later ones, for the tags of a set. Messages may
// arrive before it returns. It is SubscribeWith with the zero SubscriptionConfig.
func (handle *Subscriber) Subscribe(set tags.Set, h Handler) (*Subscription, error) {
	return handle.SubscribeWith(set, h, SubscriptionConfig{})
}

// SubscribeWith is Subscribe with a SubscriptionConfig.
//
//   - h: called for each message, on the loop; it must not block. A nil
//     handler queues the messages for Subscription.Messages.
//   - Result: the subscription; its Wait waits for the acknowledgement.
//   - Errors: ErrEmptySet; subscription.ErrTooManyTags, wrapped; those of
//     SubscriptionConfig.Validate; ErrTooManyPolicies; ErrClosed.
//   - Blocks: never.
func (handle *Subscriber) SubscribeWith(set tags.Set, h Handler, cfg SubscriptionConfig) (*Subscription, error) {
	sub, err := subscriberOf(handle).subscribe(set, handlers{each: h}, cfg)
	return sub.handle(), err
}

// SubscribeBatch is SubscribeWith for a handler that takes all messages of a page
// at once, for example to write them together. A nil handler queues.
func (handle *Subscriber) SubscribeBatch(set tags.Set, h BatchHandler, cfg SubscriptionConfig) (*Subscription, error) {
	sub, err := subscriberOf(handle).subscribe(set, handlers{batch: h}, cfg)
	return sub.handle(), err
}

// handlers has one at most.
type handlers struct {
	each  Handler
	batch BatchHandler
	pages func(Batch)
}

func (s *subscriberImpl) subscribe(set tags.Set, h handlers, cfg SubscriptionConfig) (*subscriptionImpl, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if set.IsEmpty() {
		return nil, ErrEmptySet
	}
	if n := set.Parts(); n > subscription.MaxParts {
		return nil, fmt.Errorf("bus: subscribe: %w", tagset.TooMany(n))
	}
	lane, ok := s.lanes.Number(cfg.lane(), maxLanes)
	if !ok {
		return nil, ErrTooManyPolicies
	}
	sub := newSubscription(s, s.nextID.Add(1), set, h, cfg, lane)
	if s.closed.Load() || !s.loop.Post(func() { s.add(sub) }) {
		return nil, ErrClosed
	}
	return sub, nil
}

// add makes a subscription known. Loop only.
func (s *subscriberImpl) add(sub *subscriptionImpl) {
	if s.closed.Load() || sub.closed.Load() {
		sub.finish(ErrClosed)
		return
	}
	s.subs.Add(sub.id, sub)
	s.listing.Load().Changed()
	s.duplicates.Open(sub)
	if sub.cfg.Timeout > 0 {
		sub.patience.F = func() { s.giveUp(sub) }
		s.alarms.Set(&sub.patience, sub.cfg.Timeout)
	}
	for _, src := range s.sources {
		src.considerOne(sub)
		src.tellDeniedOf(sub)
	}
}

// remove ends a subscription. Loop only.
func (s *subscriberImpl) remove(sub *subscriptionImpl) {
	if s.subs.Has(sub.id) {
		s.duplicates.Close(sub)
	}
	s.subs.Remove(sub.id)
	s.listing.Load().Changed()
	s.leaving[sub.id] = sub
	s.alarms.Cancel(&sub.patience)
	sub.resume()
	for _, src := range s.sources {
		src.unsubscribe(sub)
	}
	sub.maybeEnded()
}

// retire ends a subscription that still takes the messages on their way. Loop only.
func (s *subscriberImpl) retire(sub *subscriptionImpl) {
	if !sub.over() && s.subs.Has(sub.id) {
		sub.retired = true
		s.remove(sub)
	}
}

// maybeEnded ends Unsubscribe if no publisher sends any more. Loop only.
func (sub *subscriptionImpl) maybeEnded() {
	for _, src := range sub.owner.sources {
		if r := src.requests.Of(sub.id); r != nil && r.Open() {
			return
		}
	}
	sub.finish(ErrClosed)
}

// finish ends everything that waits for the subscription. Loop only.
func (sub *subscriptionImpl) finish(err error) {
	sub.wishes.Settle(err)
	sub.end.Do(func() { close(sub.ended) })
	delete(sub.owner.leaving, sub.id)
	if sub.retired {
		err = nil // an orderly end, after the messages on their way
	}
	sub.endQueue(err)
}

// giveUp ends a subscription that no publisher has acknowledged in time.
func (s *subscriberImpl) giveUp(sub *subscriptionImpl) {
	if sub.closed.Swap(true) {
		return
	}
	err := &NoPublisherError{Tags: sub.live, Waited: sub.cfg.Timeout}
	for _, src := range s.sources {
		if r := src.requests.Of(sub.id); r != nil && r.Denied() != nil {
			err.Err = r.Denied()
		}
	}
	sub.wishes.Settle(err)
	sub.endQueue(err)
	s.remove(sub)
	s.event(Event{Kind: Problem, Tags: sub.live, Err: err})
}

// Close ends the subscriber. It says goodbye on every connection, then closes all
// connections and subscriptions. Retained messages stay valid. The second call does
// nothing.
//
//   - Blocks: until the last callback has run, and at most 250 ms for publishers that
//     do not read; from inside a callback, of any node, it returns at once, and on its
//     own loop no handler is called after that callback.
//
//go:noinline
func (handle *Subscriber) Close() error {
	s := subscriberOf(handle)
	return s.closer.Close(s.backend, s.close)
}

func (s *subscriberImpl) close() (later bool, err error) {
	s.closed.Store(true)
	unlisted := s.listing.Load().End()
	s.directory.End()
	s.door.Close()
	return s.closer.Part(s.backend, closer.Parting{
		Shutdown: s.shutdown, Farewell: s.farewell, Said: s.gone, Patience: goodbyeTime,
		Wait: func() {
			<-s.finished
			unlisted()
		},
	})
}

// shutdown ends everything above the backend. Loop only.
func (s *subscriberImpl) shutdown() {
	for _, src := range s.sources {
		src.in.Changed() // the handlers of the page being delivered
	}
	s.work.Stop()
	_ = s.alarms.Close()
	left := slices.Collect(maps.Values(s.leaving))
	workqueue.InTurns(s.loop.Post, slices.AppendSeq(left, s.subs.All), finishedPerTurn,
		func(sub *subscriptionImpl) { sub.finish(ErrClosed) }, func() { close(s.finished) })
}

// finishedPerTurn is how many subscriptions a turn of the loop finishes.
const finishedPerTurn = 2048
