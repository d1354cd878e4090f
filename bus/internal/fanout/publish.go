package fanout

import (
	"context"

	"tagbus/tags"
)

// publish publishes a message to every lane that wants its tag, or to none.
//
//   - x: for a message that is to be acknowledged; nil: none.
//   - Errors: ErrNoRoom, ErrUnknownTag, ErrTooLarge, ErrStopped,
//     Config.Unowned. They are not wrapped.
func (fan *Fanout) Publish(tag tags.Tag, status uint8, data []byte, x *Receipt) error {
	if len(data) > fan.cfg.MaxMessageBytes {
		return ErrTooLarge
	}
	t := fan.tags.Get(tag)
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
		if retry, err := t.publishSplit(r, tag, status, data); !retry {
			return err
		}
	}
}

// publish publishes a message to s, which is all of the tag's route and whose mu
// is held.
func (t *tagState) publish(s *stream, tag tags.Tag, status uint8, data []byte, x *Receipt) error {
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
		t.accepted(s.fan.cache, status, data)
	}
	return err
}

// wait calls try, and again each time that room is freed, until try reports that it is
// done.
//
// Errors: the cause of the end of ctx.
func (fan *Fanout) Wait(ctx context.Context, try func() (done bool)) error {
	w := fan.waiting.enter()
	defer fan.waiting.leave(w)
	for !try() {
		if err := w.wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// flush sends what waits for full pages or the flush interval.
func (fan *Fanout) Flush() {
	for _, s := range *fan.streams.Load() {
		s.sealNow()
	}
}

// armFlush ensures that flushDue runs at the end of the flush interval.
func (fan *Fanout) armFlush() {
	if fan.flushArmed.Swap(true) {
		return
	}
	if fan.cfg.FlushInterval < 0 {
		fan.loop.Post(fan.flushFunc)
		return
	}
	if err := fan.flushTimer.StartOnce(fan.cfg.FlushInterval); err != nil {
		fan.loop.Post(fan.flushFunc) // without a timer the page must still go
	}
}

// flushDue seals the pages that a subscriber waits for. Loop only.
func (fan *Fanout) flushDue() {
	fan.flushArmed.Store(false)
	open := false
	for _, s := range *fan.streams.Load() {
		open = s.flush() || open
	}
	if open && fan.cfg.FlushInterval > 0 { // otherwise a completion flushes
		fan.armFlush()
	}
}
