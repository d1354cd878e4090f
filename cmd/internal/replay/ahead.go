// SPDX-License-Identifier: Apache-2.0

//go:build linux

package replay

import (
	"context"
	"time"

	"tagbus/bus"
	"tagbus/recording"
)

const (
	batches       = 4       // that are read ahead of what is published
	batchMessages = 2048    // in one, at most
	batchBytes    = 1 << 18 // of data in one, unless a message is larger
	keptBytes     = 1 << 20 // of data that an empty batch keeps the memory for

	// readGrace is how long a read may take to end once nothing more is wanted.
	readGrace = 100 * time.Millisecond
)

// batch is a run of messages that were read together.
type batch struct {
	messages []bus.Message
	due      []time.Duration // of each message
	data     []byte          // of all messages
	ends     bool            // a pass
	err      error           // ends the replay behind the messages
}

func newBatch() *batch {
	return &batch{messages: make([]bus.Message, 0, batchMessages), due: make([]time.Duration, 0, batchMessages), data: make([]byte, 0, batchBytes)}
}

// reset makes the batch empty.
func (b *batch) reset() {
	*b = batch{messages: b.messages[:0], due: b.due[:0], data: b.data[:0]}
	if cap(b.data) > keptBytes {
		b.data = make([]byte, 0, batchBytes)
	}
}

// fits reports whether there is room for a message.
func (b *batch) fits(bytes int) bool {
	return len(b.messages) == 0 || len(b.messages) < batchMessages && len(b.data)+bytes <= cap(b.data)
}

// add appends a message that fits.
func (b *batch) add(m *bus.Message, due time.Duration) {
	if len(m.Data) > cap(b.data) {
		b.data = make([]byte, 0, len(m.Data))
	}
	begin := len(b.data)
	b.data = append(b.data, m.Data...)
	b.messages = append(b.messages, bus.Message{Tag: m.Tag, Status: m.Status, Data: b.data[begin:len(b.data):len(b.data)]})
	b.due = append(b.due, due)
}

// ahead reads messages on a goroutine of its own, a few batches ahead of what is published.
type ahead struct {
	files    recording.Readers
	query    recording.Query
	passes   int // 0: without end
	strict   bool
	schedule schedule
	mapper   mapper
	damaged  func(error) // is called for each damage of each pass

	free, full chan *batch
	account    account // of the first pass; it may be read when full is closed
}

// begin starts to read. full is closed at the end, or when ctx has ended.
func (a *ahead) begin(ctx context.Context) {
	a.free, a.full = make(chan *batch, batches), make(chan *batch, batches)
	for range batches {
		a.free <- newBatch()
	}
	go func() {
		defer close(a.full)
		for pass := 0; a.passes == 0 || pass < a.passes; pass++ {
			if !a.pass(ctx, pass == 0) {
				return
			}
		}
	}()
}

// pass reads all messages once, and reports whether there is to be another pass.
func (a *ahead) pass(ctx context.Context, first bool) bool {
	a.schedule.again()
	b := a.next(ctx)
	some := false
	for rec, err := range a.files.Records(a.query) {
		if b == nil {
			return false
		}
		switch {
		case err != nil && ctx.Err() != nil: // the run may have gone on without this goroutine
			return false
		case err != nil:
			if first {
				a.account.damage()
			}
			a.damaged(err)
			if a.strict {
				b.err = err
				a.full <- b
				return false
			}
		case rec.Event != nil:
			if first {
				a.account.event(rec.Event)
			}
		default:
			if first {
				a.account.message(&rec.Message)
			}
			if !b.fits(len(rec.Data)) {
				a.full <- b
				if b = a.next(ctx); b == nil {
					return false
				}
			}
			rec.Tag = a.mapper.of(rec.Tag)
			b.add(&rec.Message.Message, a.schedule.next(rec.Time.UnixNano()))
			some = true
		}
	}
	if b == nil {
		return false
	}
	b.ends = some || first // a later pass without a message is none
	a.full <- b
	return some
}

// wait returns the next batch to publish; nil: there is none, or ctx has ended, with its cause.
func (a *ahead) wait(ctx context.Context) (*batch, error) {
	select {
	case b := <-a.full:
		if b == nil && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return b, nil
	case <-ctx.Done(): // a read may never return
		return nil, context.Cause(ctx)
	}
}

// over waits until nothing is read any more, and reports whether that is so. A read that does not
// return is left behind.
func (a *ahead) over() bool {
	grace := time.NewTimer(readGrace)
	defer grace.Stop()
	for {
		select {
		case b := <-a.full:
			if b == nil {
				return true
			}
		case <-grace.C:
			return false
		}
	}
}

// next returns an empty batch; nil: ctx has ended.
func (a *ahead) next(ctx context.Context) *batch {
	select {
	case b := <-a.free:
		b.reset()
		return b
	case <-ctx.Done():
		return nil
	}
}
