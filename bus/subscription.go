// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"tagbus/bus/internal/overlap"
	"tagbus/bus/internal/pull"
	"tagbus/bus/internal/wanted"
	"tagbus/internal/alarm"
	"tagbus/subscription"
	"tagbus/tags"
)

// Handler receives the messages of a subscription. It is called on the subscriber's
// loop, one message at a time, and may call any method of the bus. It must not
//
//   - block, or take long: everything on this loop waits for it, and no heartbeat is sent.
//     After HeartbeatTimeout the publishers take the subscriber for dead. Slow work belongs
//     in a loop over [Subscription.Messages], or in a goroutine of its own.
//   - use Message.Data after it has returned, except by [Message.Retain].
//   - change Message.Data: other subscriptions see the same bytes.
//   - call runtime.Goexit, as t.FailNow does: that ends the loop, and the node with it.
//
// A panic is caught and reported (PanicError); the next message comes all the same.
type Handler func(Message)

// BatchHandler receives the messages of a subscription that came in one page, at least
// one, in order. It is called on the subscriber's loop, as a [Handler] is. messages and
// their Data are valid until it returns. A message that is large, or came alone, is a
// page of its own.
type BatchHandler func(messages []Message)

// Subscription is a subscriber's request for a set of tags.
//
// Threads: all methods may be called from any goroutine, and from callbacks
// unless they block.
type Subscription struct {
	is any // a *subscriptionImpl
}

// subscriptionOf returns what a Subscription is, as publisherOf does.
func subscriptionOf(handle *Subscription) *subscriptionImpl { return handle.is.(*subscriptionImpl) }

// handle returns the Subscription of sub; nil of nil.
func (sub *subscriptionImpl) handle() *Subscription {
	if sub == nil {
		return nil
	}
	return &sub.Subscription
}

// subscriptionImpl is what a Subscription is.
type subscriptionImpl struct {
	Subscription // as its user has it

	owner   *subscriberImpl
	id      uint64
	cfg     SubscriptionConfig
	lane    uint16 // of every publisher's connection
	handler Handler
	batch   BatchHandler
	pages   func(*pull.Batch[*Peer])

	// Of messages that are not handed to handler or batch, one queue has all.
	messages *pull.Messages[sourceTag, *Peer]
	batches  *pull.Batches[sourceTag, *Peer] // with pages it has only the page that is being delivered
	reader   *pull.Reader[*Peer]             // of that queue; nil with any handler
	lossy    bool                            // the queue may lose messages, each by itself

	closed   atomic.Bool
	reaiming atomic.Bool   // reaim is posted
	ended    chan struct{} // closed when no publisher sends for it any more
	end      sync.Once     // of ended
	wishes   wanted.Wishes[Handler]

	// Loop only.
	live     tags.Set    // what the publishers are asked for
	known    bool        // some publisher has acknowledged it
	patience alarm.Alarm // for that
	pausing  []*source   // sources that wait for the queue, or for Resume
	held     bool        // by Pause
	pending  []Message   // of this page, for batch
	retired  bool        // is ended, and takes what is on its way

	overflowed atomic.Uint64
	overflow   func(sourceTag) // as a value made once
}

// over reports whether the end has begun. Loop only.
func (sub *subscriptionImpl) over() bool { return sub.closed.Load() || sub.retired }

func newSubscription(owner *subscriberImpl, id uint64, set tags.Set, h handlers, cfg SubscriptionConfig, lane uint16) *subscriptionImpl {
	sub := &subscriptionImpl{
		owner: owner, id: id, live: set, handler: h.each, batch: h.batch, cfg: cfg, lane: lane, ended: make(chan struct{}),
	}
	sub.is = sub
	sub.wishes = wanted.New[Handler](set, sub.change)
	if h.each == nil && h.batch == nil {
		sub.openQueue(h.pages)
	}
	return sub
}

// Ended returns a channel that is closed when the subscription has ended, for whatever reason, and
// no handler of it is called any more. Messages that are queued can still be read.
//
//go:noinline
func (handle *Subscription) Ended() <-chan struct{} { return subscriptionOf(handle).ended }

// request returns the message that asks a publisher, without its set.
func (sub *subscriptionImpl) request() subscription.Subscribe {
	m := subscription.Subscribe{
		ID: sub.id, Lane: sub.lane, BacklogBytes: uint64(sub.cfg.BacklogBytes), Replay: uint64(sub.cfg.Replay),
	}
	if sub.cfg.Policy != (Policy{}) {
		m.Policy = sub.cfg.Policy.String()
	}
	return m
}

// Rule returns which publishers of a tag send it.
func (sub *subscriptionImpl) Rule() overlap.Rule { return overlap.Rule(sub.cfg.Duplicates) }

// Tags returns the set of the subscription.
//
//go:noinline
func (handle *Subscription) Tags() tags.Set { return subscriptionOf(handle).wishes.Tags() }

// Handle gives one tag of the set a handler of its own. It takes effect with the
// messages that the loop has not yet begun to deliver. A nil h gives the tag back to
// the subscription's handler. If the subscription has a BatchHandler, h is called
// before it.
func (handle *Subscription) Handle(tag tags.Tag, h Handler) error {
	sub := subscriptionOf(handle)
	if !sub.wishes.Handle(tag, h, h == nil) {
		return fmt.Errorf("bus: handle tag %v: not in the subscription's set %s", tag, shortSet(sub.Tags()))
	}
	if !sub.reaiming.Swap(true) && !sub.owner.loop.Post(sub.reaim) {
		sub.reaiming.Store(false)
		return ErrClosed
	}
	return nil
}

func (sub *subscriptionImpl) handlerOf(tag tags.Tag) Handler {
	if h, ok := sub.wishes.Handler(tag); ok {
		return h
	}
	return sub.handler
}

// reaim makes the sources look their handlers up again. Loop only.
func (sub *subscriptionImpl) reaim() {
	sub.reaiming.Store(false)
	for _, src := range sub.owner.sources {
		src.in.Changed()
	}
}

// Close ends the subscription. Its handlers are not called any more once the loop has
// taken notice; a call on the loop takes effect at once. The second call returns
// ErrClosed. Blocks: never.
func (handle *Subscription) Close() error {
	sub := subscriptionOf(handle)
	if sub.closed.Swap(true) {
		return ErrClosed
	}
	sub.endQueue(nil)
	if sub.owner.loop.OnLoop() {
		sub.owner.remove(sub) // the next message of this very page is too late
		return nil
	}
	if !sub.owner.loop.Post(func() { sub.owner.remove(sub) }) {
		return ErrClosed
	}
	return nil
}

// Unsubscribe is Close, and waits until every publisher has acknowledged that
// it sends no more.
//
//   - Errors: ErrClosed; ErrOnLoop, and the subscription stays open; the cause
//     of the end of ctx.
//   - Threads: any.
func (handle *Subscription) Unsubscribe(ctx context.Context) error {
	sub := subscriptionOf(handle)
	if sub.owner.loop.OnAnyLoop() {
		return ErrOnLoop
	}
	if err := sub.Close(); err != nil {
		return err
	}
	select {
	case <-sub.ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("bus: unsubscribe from %s: %w", shortSet(sub.Tags()), context.Cause(ctx))
	}
}

// Pause stops reading from the publishers of the subscription until Resume. They have no
// room soon, and do what its policy says, as if the subscriber were slow: so a handler that
// hands messages on can hold the publishers, or have them lose messages in their own count.
// It stops all subscriptions to these publishers, since they share the connection. Time in
// which nothing is read is no silence (SubscriberConfig.HeartbeatTimeout).
//
// Called by a handler or elsewhere on the loop it takes effect at once: only messages of the
// page that is being delivered still come. It does nothing if the subscription is paused, or
// closed. Blocks: never.
//
//go:noinline
func (handle *Subscription) Pause() {
	sub := subscriptionOf(handle)
	sub.onLoop(sub.pause)
}

// Resume undoes Pause, as closing the subscription does. Blocks: never.
//
//go:noinline
func (handle *Subscription) Resume() {
	sub := subscriptionOf(handle)
	sub.onLoop(sub.resume)
}

// onLoop calls f, now or soon.
func (sub *subscriptionImpl) onLoop(f func()) {
	if loop := sub.owner.loop; loop.OnLoop() {
		f()
	} else {
		loop.Post(f) // without a loop there is nothing to read
	}
}

// pause stops reading from all publishers that have been asked. Loop only.
func (sub *subscriptionImpl) pause() {
	if sub.over() {
		return
	}
	sub.held = true
	for _, src := range sub.owner.sources {
		if src.requests.Of(sub.id) != nil {
			sub.stall(src)
		}
	}
}

// resume ends a pause. Loop only.
func (sub *subscriptionImpl) resume() {
	sub.held = false
	sub.unpause()
}
