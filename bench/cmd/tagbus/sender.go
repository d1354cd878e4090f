// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"tagbus/bench/internal/load"
	"tagbus/bus"
)

// newSender returns what publishes for one producer.
func newSender(o load.Options, p *bus.Publisher) load.Sender {
	switch o.Way {
	case "handle":
		return newHandles(o, p)
	case "batch":
		return newBatch(o, p)
	case "zerocopy":
		return newLender(o, p)
	case "loan":
		return &borrower{p, load.NewMessage(o.Size)}
	default:
		return &sender{p, load.NewMessage(o.Size)}
	}
}

// sender publishes one message at a time.
type sender struct {
	p    *bus.Publisher
	data []byte
}

// Publish implements load.Sender.
func (s *sender) Publish(i int, sequence uint64, lane uint32, due int64) {
	load.Stamp(s.data, sequence, lane, due)
	load.Must(s.p.PublishContext(context.Background(), tag(i), s.data))
}

// handles publishes one message at a time, by Publisher.Tag.
type handles struct {
	tags []*bus.TagPublisher
	data []byte
}

func newHandles(o load.Options, p *bus.Publisher) *handles {
	h := &handles{data: load.NewMessage(o.Size)}
	for i := range o.Tags {
		h.tags = append(h.tags, p.Tag(tag(i)))
	}
	return h
}

// Publish implements load.Sender.
func (h *handles) Publish(i int, sequence uint64, lane uint32, due int64) {
	load.Stamp(h.data, sequence, lane, due)
	load.Must(h.tags[i].PublishContext(context.Background(), h.data))
}

// batch publishes several messages at once, as a readout does that finds several
// in its buffer.
type batch struct {
	p        *bus.Publisher
	messages []bus.Message
	full     int
}

const batchMessages = 64

func newBatch(o load.Options, p *bus.Publisher) *batch {
	b := &batch{p: p, messages: make([]bus.Message, batchMessages)}
	for i := range b.messages {
		b.messages[i].Data = load.NewMessage(o.Size)
	}
	return b
}

// Publish implements load.Sender.
func (b *batch) Publish(i int, sequence uint64, lane uint32, due int64) {
	m := &b.messages[b.full]
	m.Tag = tag(i)
	load.Stamp(m.Data, sequence, lane, due)
	if b.full++; b.full == len(b.messages) {
		b.Complete()
	}
}

// Complete implements load.Batcher.
func (b *batch) Complete() {
	_, err := b.p.PublishBatchContext(context.Background(), b.messages[:b.full])
	load.Must(err)
	b.full = 0
}

// lender publishes from memory of its own, which is not copied.
type lender struct {
	p    *bus.Publisher
	free chan *lent
}

// lent is the memory of a message.
type lent struct {
	data []byte
	back func()
}

// lentMessages is how many messages of a lender may be on their way: 1 MiB, which
// stays in the cache, but at least 3.
func lentMessages(o load.Options) int { return max(3, 1<<20/o.Size) }

func newLender(o load.Options, p *bus.Publisher) *lender {
	l := &lender{p: p, free: make(chan *lent, lentMessages(o))}
	for range cap(l.free) {
		m := &lent{data: load.NewMessage(o.Size)}
		m.back = func() { l.free <- m }
		m.back()
	}
	return l
}

// Publish implements load.Sender.
func (l *lender) Publish(i int, sequence uint64, lane uint32, due int64) {
	m := <-l.free
	load.Stamp(m.data, sequence, lane, due)
	load.Must(l.p.PublishZeroCopyContext(context.Background(), tag(i), 0, m.data, m.back))
}

// borrower fills memory of the publisher in place.
type borrower struct {
	p    *bus.Publisher
	data []byte // what the messages have
}

// Publish implements load.Sender.
func (b *borrower) Publish(i int, sequence uint64, lane uint32, due int64) {
	l, err := b.p.LoanContext(context.Background(), tag(i), len(b.data))
	load.Must(err)
	copy(l.Data(), b.data)
	load.Stamp(l.Data(), sequence, lane, due)
	load.Must(l.PublishContext(context.Background(), 0))
}
