// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"sync/atomic"

	"tagbus/bus/internal/wire"
	"tagbus/tags"
)

// Publish publishes a message to every lane that wants its tag, or to none.
//
//   - data: copied.
//   - x: settled when it is known whether the message was handled; nil: none. If there
//     is an error, it is not settled and may be used again.
//   - Errors: ErrNoRoom, ErrUnknownTag, ErrTooLarge, ErrStopped,
//     Config.Unowned. They are not wrapped.
//   - Blocks: never. Allocates: only for the first message of a tag, and for x.
func (fan *Fanout) Publish(tag tags.Tag, status wire.Status, data []byte, x *Receipt) error {
	if len(data) > fan.cfg.MaxMessageBytes {
		return ErrTooLarge
	}
	t := fan.tags.Get(tag)
	if x == nil && status == 0 && t.publishQuick(tag, data) {
		return nil
	}
	if t == nil {
		var err error
		if t, err = fan.addTag(tag); err != nil {
			return err
		}
	}
	for {
		if s := t.lockOnly(); s != nil {
			err := t.publish(s, tag, status, data, x)
			s.mu.Unlock()
			return err
		}
		r := t.route.Load()
		if len(r.streams) == 1 {
			continue // it has just changed
		}
		if retry, err := t.publishSplit(r, tag, status, data, x); !retry {
			return err
		}
	}
}

// publishQuick publishes a message that is like the one before of its stream and goes into
// the same page: most messages of a flood. It has all in one function, since calls are half
// of the cost of a small message. It reports whether it has published the message. If not,
// nothing has happened. t may be nil.
func (t *tagState) publishQuick(tag tags.Tag, data []byte) bool {
	if t == nil {
		return false
	}
	r := t.route.Load()
	s := r.only
	if s == nil || len(data) > s.quick {
		return false
	}
	if !s.mu.TryLock() {
		s.lockContended()
	}
	w := &s.writer
	now := s.fan.Second.Known()
	ok := len(w.Mem)+wire.PlainBytes+len(data) <= cap(w.Mem) && w.Plain(tag, 0) && t.route.Load() == r && now != 0
	if ok {
		w.Mem = wire.AppendPlain(w.Mem, data)
		w.Messages++
		s.messages++
		s.bytes += uint64(len(data))
		t.last = now
		t.count++
		t.bytes += uint64(len(data))
		if n := w.Messages; n <= s.watch && (n&(n-1) == 0 || n == s.told) {
			s.grown()
		}
	}
	s.mu.Unlock()
	return ok
}

// Way is the way of the messages of one tag. It saves the lookup of the tag.
type Way struct {
	fan *Fanout
	tag tags.Tag
	t   atomic.Pointer[tagState] // nil until a message of the tag was published
}

// Way returns the way of the messages of a tag.
func (fan *Fanout) Way(tag tags.Tag) *Way {
	w := &Way{fan: fan, tag: tag}
	w.t.Store(fan.tags.Get(tag))
	return w
}

// Tag returns the tag of the messages.
func (w *Way) Tag() tags.Tag { return w.tag }

// Publish publishes a message if that is quick, as for most messages of a flood. It reports
// whether it has done so. If not, the caller calls Fanout.Publish.
func (w *Way) Publish(data []byte) bool {
	t := w.t.Load()
	if t == nil {
		t = w.fan.tags.Get(w.tag)
		w.t.Store(t)
	}
	return t.publishQuick(w.tag, data)
}

// publish publishes a message to s, which is all of the tag's route and whose mu is held.
//
// Errors: as Fanout.Publish.
func (t *tagState) publish(s *stream, tag tags.Tag, status wire.Status, data []byte, x *Receipt) error {
	if t.removed {
		return ErrUnknownTag
	}
	var err error
	if x == nil {
		err = s.append(tag, status, t.count+1, data)
	} else {
		err = s.appendAcked(x, status, t.count+1, data)
	}
	if err == nil {
		t.accepted(s.fan, status, data)
	}
	return err
}

// lockOnly locks and returns the stream that is all of the tag's route. The route
// cannot change until it is unlocked. The result is nil if there are several streams,
// or for a nil tag.
func (t *tagState) lockOnly() *stream {
	for t != nil {
		r := t.route.Load()
		if len(r.streams) > 1 {
			return nil
		}
		s := r.streams[0]
		s.lock()
		if t.route.Load() == r {
			return s
		}
		s.mu.Unlock() // a subscription has just moved the tag
	}
	return nil
}

// Run is the publishing of several messages under one hold of the mutex of their stream.
// Only the goroutine that has begun it uses it.
type Run struct {
	fan    *Fanout
	tag    tags.Tag
	t      *tagState // of tag
	stream *stream   // locked
	left   int       // bytes until others have their turn
}

// runBytes is about how much is published in a run. Others wait for its end, also on the
// loop.
const runBytes = 64 << 10

// BeginRun begins a run with messages of a tag. ok is false if the tag is new or its
// route has several streams; then there is no run. Otherwise the caller must call End
// soon.
func (fan *Fanout) BeginRun(tag tags.Tag) (r Run, ok bool) {
	t := fan.tags.Get(tag)
	s := t.lockOnly()
	if s != nil {
		s.batch = true
	}
	return Run{fan: fan, tag: tag, t: t, stream: s, left: runBytes}, s != nil
}

// End lets others publish.
//
//   - more: messages of the same caller follow at once.
func (run *Run) End(more bool) {
	run.stream.ended(more)
	run.stream.mu.Unlock()
}

// Publish publishes a message. ok is false if there is an error, the message does not
// belong to the run, or the run has become long.
//
// Errors: as Fanout.Publish.
func (run *Run) Publish(tag tags.Tag, status wire.Status, data []byte) (ok bool, err error) {
	if run.left <= 0 {
		return false, nil
	}
	if tag != run.tag {
		run.tag = tag
		if run.t = run.fan.tags.Get(tag); run.t == nil || !run.t.route.Load().isOnly(run.stream) {
			return false, nil
		}
	}
	if len(data) > run.fan.cfg.MaxMessageBytes {
		return false, ErrTooLarge
	}
	if err := run.t.publish(run.stream, tag, status, data, nil); err != nil {
		return false, err
	}
	run.left -= len(data) + wire.MaxOverhead
	return true, nil
}

// Plain returns the page under construction for messages that are like the one before,
// and go into it without further work for each. The caller appends them, and says by Took
// how many they are. The page is nil if there can be none.
//
//   - limit: bytes of the payload of a message.
//   - budget: bytes of all of them in the page.
func (run *Run) Plain() (w *wire.Writer, limit, budget int) {
	s := run.stream
	if s.page == nil || s.solo != nil || run.fan.cache != nil || run.t.removed {
		return nil, 0, 0
	}
	return &s.writer, run.fan.cfg.MaxMessageBytes, run.left
}

// Took counts n messages, with payloads of so many bytes, that were appended to the page
// of Plain.
func (run *Run) Took(n, bytes int) {
	run.stream.messages += uint64(n)
	run.stream.bytes += uint64(bytes)
	run.t.took(run.fan, n, bytes)
	run.left -= bytes + n*wire.PlainBytes
}
