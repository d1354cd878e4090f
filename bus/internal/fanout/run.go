package fanout

import (
	"tagbus/bus/internal/wire"
	"tagbus/tags"
)

// run is the publishing of several messages under one hold of the mutex of their
// stream.
type Run struct {
	fan    *Fanout
	tag    tags.Tag
	t      *tagState
	stream *stream
	left   int // bytes
}

// runBytes is about how much is published in a run. Others wait for its end, also on the
// loop.
const runBytes = 64 << 10

// begin begins a run with messages of a tag. ok is false if the tag is new or its route
// has several streams; then there is no run. The caller ends the run.
func (fan *Fanout) Begin(tag tags.Tag) (r Run, ok bool) {
	t := fan.tags.Get(tag)
	s := t.lockOnly()
	return Run{fan: fan, tag: tag, t: t, stream: s, left: runBytes}, s != nil
}

func (r *Run) End() { r.stream.mu.Unlock() }

// publish publishes a message. It returns false if the message does not belong to the
// run, or the run has become long.
//
// Errors: as fanout.publish.
func (r *Run) Publish(tag tags.Tag, status uint8, data []byte) (ok bool, err error) {
	if r.left <= 0 {
		return false, nil
	}
	if tag != r.tag {
		r.tag = tag
		if r.t = r.fan.tags.Get(tag); r.t == nil || !r.t.route.Load().isOnly(r.stream) {
			return false, nil
		}
	}
	if len(data) > r.fan.cfg.MaxMessageBytes {
		return false, ErrTooLarge
	}
	if err := r.t.publish(r.stream, tag, status, data, nil); err != nil {
		return false, err
	}
	r.left -= len(data) + wire.MaxOverhead
	return true, nil
}

// plain returns the page under construction for messages that are like the one before,
// and go into it without further work for each. The caller appends them, and says how
// many these are by took. The page is nil if there can be none.
//
//   - limit: bytes of a message.
//   - budget: bytes of all of them.
func (r *Run) Plain() (w *wire.Writer, limit, budget int) {
	s := r.stream
	if s.page == nil || s.solo != nil || r.fan.cache != nil || r.t.removed {
		return nil, 0, 0
	}
	return &s.writer, r.fan.cfg.MaxMessageBytes, r.left
}

// took counts n messages of so many bytes that were appended to the page of plain.
func (r *Run) Took(n, bytes int) {
	r.stream.messages += uint64(n)
	r.stream.bytes += uint64(bytes)
	r.t.count += uint64(n)
	r.left -= bytes + n*wire.PlainBytes
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

// isOnly reports whether s is all of the route.
func (r *route) isOnly(s *stream) bool { return len(r.streams) == 1 && r.streams[0] == s }
