// SPDX-License-Identifier: Apache-2.0

//go:build linux

package recorder

import (
	"sync/atomic"
	"time"

	"tagbus/bus"
	"tagbus/recording"
)

// intake takes messages and events on the loop, and copies them into blocks that another
// goroutine writes. It never waits: when all blocks are full, the subscription is paused, and
// the publishers do what its policy says. So they alone count what is lost.
//
// Threads: the loop, except written and the counters.
type intake struct {
	builder *recording.Builder
	large   int    // bytes of a block that is not filled again
	room    int64  // bytes that may be on their way to the disk
	limit   uint64 // messages; 0: none
	counted func() // called at the limit
	failed  func(error)
	pause   func()
	resume  func()

	free  chan *recording.Block // written, to be filled
	full  chan *recording.Block // to be written; has room for all blocks
	since time.Time             // of the oldest record in the block; zero: there is none
	over  bool                  // takes no more messages
	ended bool                  // takes nothing more
	first time.Time             // when the first message came
	clock clock

	onWay atomic.Int64 // bytes of the blocks that are to be written
	held  atomic.Bool  // paused: there was no free block
	holds atomic.Uint64

	messages, bytes atomic.Uint64
}

// begun is when the program began, on a clock that is never set.
var begun = time.Now()

// newIntake returns an intake with the blocks that the flags name. Its functions are to be
// set.
func newIntake(c *Command) (*intake, error) {
	n, bytes := c.blocks()
	builder, err := recording.NewBuilder(recording.Config{BlockBytes: bytes})
	if err != nil {
		return nil, err
	}
	in := &intake{
		builder: builder, large: 2 * bytes, room: int64(c.QueueBytes), limit: uint64(c.Count),
		free: make(chan *recording.Block, n), full: make(chan *recording.Block, n+1),
	}
	for range n - 1 { // the builder has one
		in.free <- new(recording.Block)
	}
	return in, nil
}

// page takes the messages of a page.
func (in *intake) page(page []bus.Message) {
	if in.over {
		return
	}
	if n := in.messages.Load(); in.limit > 0 && uint64(len(page)) >= in.limit-n {
		page = page[:in.limit-n]
		in.over = true
		defer in.counted()
	}
	now := time.Now()
	in.look(now)
	if in.first.IsZero() {
		in.first = now
	}
	in.note(now)
	if err := in.builder.AppendPage(now, page); err != nil {
		in.over = true
		in.failed(err)
		return
	}
	bytes := 0
	for i := range page {
		bytes += len(page[i].Data)
	}
	in.messages.Add(uint64(len(page)))
	in.bytes.Add(uint64(bytes))
	in.handOn()
}

// look takes a step of the clock since the last look, so that it stands in front of all that
// has the new time.
func (in *intake) look(now time.Time) {
	if step := in.clock.step(now, now.Sub(begun)); step != 0 {
		in.event(recording.SteppedBy(now, step))
	}
}

// event takes an event.
func (in *intake) event(e recording.Event) {
	if in.ended {
		return
	}
	if e.Kind != recording.Stepped {
		in.look(time.Now())
	}
	in.note(e.Time)
	if err := in.builder.AppendEvent(e); err != nil {
		in.failed(err)
		return
	}
	in.handOn()
}

// note notes that a record comes.
func (in *intake) note(now time.Time) {
	if in.since.IsZero() {
		in.since = now
	}
}

// handOn hands the block on to be written, if it is full. Without a free block nothing more
// is read until there is one.
func (in *intake) handOn() {
	if !in.builder.Full() || in.held.Load() || in.seal() {
		return
	}
	in.held.Store(true)
	if in.seal() { // one has come meanwhile, which has not seen that
		in.held.Store(false)
		return
	}
	in.holds.Add(1)
	in.pause()
}

// seal hands the block on, and reports whether there was a free one to go on with. Blocks of
// large messages are larger than others: then fewer are on their way.
func (in *intake) seal() bool {
	if in.onWay.Load() >= in.room {
		return false
	}
	select {
	case next := <-in.free:
		in.handOver(next)
		return true
	default:
		return false
	}
}

// handOver has the block written.
//
//   - next: to be filled; nil: a new one.
func (in *intake) handOver(next *recording.Block) {
	b := in.builder.Seal(next)
	in.onWay.Add(int64(b.Bytes()))
	in.full <- b
	in.since = time.Time{}
}

// flush hands the block on if it has something that is as old as that. Without a free block
// it is written in its turn.
func (in *intake) flush(age time.Duration) {
	if !in.ended && !in.since.IsZero() && time.Since(in.since) >= age && !in.held.Load() {
		in.seal()
	}
}

// goOn goes on after a pause: there is a free block. Reading resumes when half of the blocks
// are free, for each pause costs the publishers a while.
func (in *intake) goOn() {
	if !in.held.Load() || in.ended || in.builder.Full() && !in.seal() || len(in.free) < cap(in.free)/2 {
		return
	}
	in.held.Store(false)
	in.resume()
}

// written gives a block back that is written. Threads: any.
//
//   - bytes: that it had.
//   - post: runs a function on the loop.
func (in *intake) written(b *recording.Block, bytes int, post func(func()) bool) {
	if bytes > in.large {
		b = new(recording.Block) // so that large messages do not take memory for ever
	}
	in.free <- b
	in.onWay.Add(-int64(bytes))
	if in.held.Load() {
		post(in.goOn)
	}
}

// end takes the last event, and hands on what there is, to be written last.
func (in *intake) end(stopped recording.Event) {
	in.event(stopped)
	in.over, in.ended = true, true
	in.handOver(nil)
	close(in.full)
}
