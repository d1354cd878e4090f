// SPDX-License-Identifier: Apache-2.0

package site_test

import (
	"sync"
	"time"

	"tagbus/bus"
	"tagbus/tags"
)

// stream is the messages of a tag from one run of a publisher.
type stream struct {
	instance string
	tag      tags.Tag
}

// consumer is a subscriber, and the account of what it gets.
type consumer struct {
	*bus.Subscriber
	reading
	loop *loop

	mu       sync.Mutex
	events   map[bus.EventKind]uint64
	active   map[string]bool // publishers that have acknowledged and are not lost
	changed  time.Time       // of active
	last     map[stream]uint64
	messages uint64 // delivered to the handler
	missing  uint64 // numbers between those of successive messages that did not come
	reported uint64 // that events named as missing
}

// note is OnEvent.
func (c *consumer) note(e bus.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events[e.Kind]++
	switch e.Kind {
	case bus.Subscribed, bus.Resubscribed:
		c.active[e.Peer.Instance] = true
	case bus.Lost, bus.Vanished, bus.Goodbye:
		delete(c.active, e.Peer.Instance)
	case bus.Gap:
		c.reported += e.Count
		return
	default:
		return
	}
	c.changed = time.Now()
}

// handle is the handler.
func (c *consumer) handle(m bus.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := stream{m.Publisher.Instance, m.Tag}
	if before, ok := c.last[s]; ok {
		c.missing += m.Counter - before - 1
	}
	c.last[s] = m.Counter
	c.messages++
}

// tally is what consumers have seen, added up.
type tally struct {
	active, messages, missing, reported uint64
	events                              map[bus.EventKind]uint64
	changed                             time.Time // the last change of what is active
}

func (c *consumer) addTo(sum *tally) {
	c.mu.Lock()
	defer c.mu.Unlock()
	sum.active += uint64(len(c.active))
	sum.messages += c.messages
	sum.missing += c.missing
	sum.reported += c.reported
	for kind, n := range c.events {
		sum.events[kind] += n
	}
	if c.changed.After(sum.changed) {
		sum.changed = c.changed
	}
}
