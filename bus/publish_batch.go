package bus

import (
	"context"

	"tagbus/bus/internal/wire"
)

// PublishBatch publishes messages, in their order. Only Tag, Status and Data of each
// message are used, so a BatchHandler can publish its messages again as they are.
// Compared with calls of PublishStatus, PublishBatch saves the lock and the lookup of
// the tag. For small messages that is most of the work.
//
//   - Result: the number of messages accepted, always the first ones. If it is not
//     all of them, the error is that of the first one refused. Those behind it are
//     not tried.
//   - Data, errors, order, threads: as PublishStatus. Other goroutines may publish
//     between two of the messages.
//   - Blocks: never. Allocates: only for the first message of a tag.
func (p *Publisher) PublishBatch(messages []Message) (int, error) {
	n := 0
	for n < len(messages) {
		done, err := p.fan.publishRun(messages[n:])
		n += done
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// PublishBatchContext publishes messages as PublishBatch does, and waits for
// room.
//
//   - Errors: as PublishContext.
//   - Threads: any.
func (p *Publisher) PublishBatchContext(ctx context.Context, messages []Message) (int, error) {
	n := 0
	for {
		done, err := p.PublishBatch(messages[n:])
		n += done
		if err != ErrNoResources { //nolint:errorlint // PublishBatch returns it bare, and this is the data path
			return n, err
		}
		m := &messages[n]
		if err := p.PublishStatusContext(ctx, m.Tag, m.Status, m.Data); err != nil {
			return n, err
		}
		n++
	}
}

// runBytes is about how much is published under one hold of a stream's mutex. Others
// wait for it, also on the loop.
const runBytes = 64 << 10

// publishRun publishes the first of messages, at least one, under one hold of
// the mutex of their stream.
func (fan *fanout) publishRun(messages []Message) (n int, err error) {
	m := &messages[0]
	t := fan.tags.Get(m.Tag)
	s := t.lockOnly()
	if s == nil {
		if err := fan.publish(m.Tag, m.Status, m.Data, nil); err != nil {
			return 0, err
		}
		return 1, nil
	}
	defer s.mu.Unlock()
	tag := m.Tag
	for left := runBytes; n < len(messages) && left > 0; n++ {
		m := &messages[n]
		if m.Tag != tag {
			tag = m.Tag
			if t = fan.tags.Get(tag); t == nil || !t.route.Load().isOnly(s) {
				break
			}
		}
		if err := fan.checkSize(tag, m.Data); err != nil {
			return n, err
		}
		if err := t.publish(s, tag, m.Status, m.Data, nil); err != nil {
			return n, err
		}
		left -= len(m.Data) + wire.MaxOverhead
		more, bytes := t.publishPlain(s, messages[n+1:], left)
		n += more
		left -= bytes + more*wire.PlainBytes
	}
	return n, nil
}

// publishPlain publishes the first of messages that are like the one before, which was
// published in s, and that go into its page without further work for each. It returns
// their number and bytes.
func (t *tagState) publishPlain(s *stream, messages []Message, budget int) (n, bytes int) {
	p := s.pub
	if s.page == nil || s.solo != nil || p.cache != nil || t.removed {
		return 0, 0
	}
	n, bytes = appendRun(&s.writer, messages, p.cfg.MaxMessageBytes, budget)
	s.messages += uint64(n)
	s.bytes += uint64(bytes)
	t.count += uint64(n)
	return n, bytes
}

// appendRun adds the first of messages that are plain, have up to limit bytes, fit, and
// together take not much more than budget bytes of page. It returns their number, and
// the bytes of their payloads.
func appendRun(w *wire.Writer, messages []Message, limit, budget int) (n, bytes int) {
	mem, end := w.Run(budget)
	for i := range messages {
		m := &messages[i]
		if len(m.Data) > limit || len(mem)+len(m.Data) > end || !w.Plain(m.Tag, uint8(m.Status)) {
			break
		}
		mem = wire.AppendPlain(mem, m.Data)
		n++
		bytes += len(m.Data)
	}
	w.Ran(mem, n)
	return n, bytes
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
