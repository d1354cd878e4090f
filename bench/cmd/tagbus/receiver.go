// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"tagbus/bench/internal/load"
	"tagbus/bus"
	"tagbus/node"
)

// receiver is a subscriber and what it has received.
type receiver struct {
	checker      *load.Checker
	subscription *bus.Subscription
	done         chan struct{}
}

func newReceiver(o load.Options, n *node.Node, of bus.SubscriberConfig) *receiver {
	s, err := n.NewSubscriber(of)
	load.Must(err)
	cfg := bus.SubscriptionConfig{}
	if o.Policy != "" {
		load.Must(cfg.Policy.UnmarshalText([]byte(o.Policy)))
	}
	r := &receiver{checker: load.NewChecker(o), done: make(chan struct{})}
	switch o.Receive {
	case "messages":
		r.subscription, err = s.SubscribeWith(wanted(o), nil, cfg)
		go r.iterate()
	case "batches":
		cfg.Batches = true
		r.subscription, err = s.SubscribeWith(wanted(o), nil, cfg)
		go r.iterateBatches()
	case "channel":
		copies, mem := make(chan []byte, waiting), new(slab)
		r.subscription, err = s.SubscribeWith(wanted(o), func(m bus.Message) { copies <- mem.clone(m.Data) }, cfg)
		go r.drain(copies)
	case "batch":
		r.subscription, err = s.SubscribeBatch(wanted(o), r.takeAll, cfg)
	default:
		r.subscription, err = s.SubscribeWith(wanted(o), func(m bus.Message) { r.take(m.Data) }, cfg)
	}
	load.Must(err)
	return r
}

// waiting is how many messages a channel holds.
const waiting = 1024

func (r *receiver) take(data []byte) (last bool) {
	if last = r.checker.Take(data); last {
		close(r.done)
	}
	return last
}

func (r *receiver) takeAll(messages []bus.Message) {
	for i := range messages {
		r.take(messages[i].Data)
	}
}

func (r *receiver) iterate() {
	for m, err := range r.subscription.Messages(context.Background()) {
		load.Must(err)
		if r.take(m.Data) {
			return
		}
	}
}

func (r *receiver) iterateBatches() {
	var messages []bus.Message
	for b, err := range r.subscription.Batches(context.Background()) {
		load.Must(err)
		messages = b.AppendTo(messages[:0])
		for i := range messages {
			if r.take(messages[i].Data) {
				return
			}
		}
	}
}

func (r *receiver) drain(messages <-chan []byte) {
	for data := range messages {
		r.take(data)
	}
}

// slab has the memory of copies, so that there is an allocation for many of them.
type slab struct{ free []byte }

// slabBytes is what a slab allocates at once.
const slabBytes = 64 << 10

func (s *slab) clone(data []byte) []byte {
	if len(s.free) < len(data) {
		s.free = make([]byte, max(slabBytes, len(data)))
	}
	n := copy(s.free, data)
	kept := s.free[:n:n]
	s.free = s.free[n:]
	return kept
}
