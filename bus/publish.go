package bus

import (
	"context"

	"tagbus/bus/internal/cache"
	"tagbus/tags"
)

// Publish publishes a message: it is PublishStatus with status 0.
func (p *Publisher) Publish(tag tags.Tag, data []byte) error {
	return p.PublishStatus(tag, 0, data)
}

// PublishStatus publishes a message to every subscriber of its tag.
//
//   - data: 0 to PublisherConfig.MaxMessageBytes bytes; copied, so that it may
//     be changed on return.
//   - Result: nil means accepted for every subscriber of the tag (there may be
//     none). An error means that no subscriber gets the message.
//   - Errors: ErrNoResources (the same call may succeed after OnReady),
//     *PublishError with ErrUnknownTag or ErrMessageTooLarge, ErrClosed.
//   - Order: messages of one tag are received in the order in which their calls
//     returned. The order of concurrent calls is arbitrary.
//   - Threads: any. Blocks: never. Allocates: only for the first message of a
//     tag.
func (p *Publisher) PublishStatus(tag tags.Tag, status Status, data []byte) error {
	return p.fan.publish(tag, status, data, nil)
}

// publish is PublishStatus with a receipt, for a message that is to be acknowledged;
// nil: none.
//
// Errors: for a sender also ErrNoReceiver.
func (fan *fanout) publish(tag tags.Tag, status Status, data []byte, x *receipt) error {
	if err := fan.checkSize(tag, data); err != nil {
		return err
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

func (fan *fanout) checkSize(tag tags.Tag, data []byte) error {
	if len(data) > fan.cfg.MaxMessageBytes {
		return &PublishError{Tag: tag, Bytes: len(data), Limit: fan.cfg.MaxMessageBytes, Err: ErrMessageTooLarge}
	}
	return nil
}

// publish publishes a message to s, which is all of the tag's route and whose mu
// is held.
func (t *tagState) publish(s *stream, tag tags.Tag, status Status, data []byte, x *receipt) error {
	if t.removed {
		return &PublishError{Tag: tag, Err: ErrUnknownTag}
	}
	var err error
	if x == nil {
		err = s.append(tag, status, t.count+1, data)
	} else {
		err = s.appendAcked(x, status, t.count+1, data)
	}
	if err == nil {
		t.accepted(s.pub.cache, status, data)
	}
	return err
}

// accepted counts a published message, and keeps it in the cache. The mutexes of the
// route are held.
func (t *tagState) accepted(c *cache.Cache, status Status, data []byte) {
	t.count++
	if c != nil {
		c.Add(t.line, uint8(status), data)
	}
}

// PublishContext publishes a message as Publish does, and waits for room.
//
//   - Errors: as PublishStatus without ErrNoResources, and the cause of the
//     end of ctx, wrapped. An error means that no subscriber gets the message.
//     On a loop it returns ErrOnLoop instead of waiting, since the loop is what
//     makes room.
//   - Threads: any.
func (p *Publisher) PublishContext(ctx context.Context, tag tags.Tag, data []byte) error {
	return p.PublishStatusContext(ctx, tag, 0, data)
}

// PublishStatusContext is PublishContext with a status.
func (p *Publisher) PublishStatusContext(ctx context.Context, tag tags.Tag, status Status, data []byte) error {
	return p.fan.publishContext(ctx, tag, status, data, nil)
}

func (fan *fanout) publishContext(ctx context.Context, tag tags.Tag, status Status, data []byte, x *receipt) error {
	err := fan.publish(tag, status, data, x)
	if err != ErrNoResources { //nolint:errorlint // publish returns it bare, and this is the data path
		return err
	}
	return fan.retry(ctx, tag, len(data), func() error { return fan.publish(tag, status, data, x) })
}

// retry calls publish again until there is room for its message.
func (fan *fanout) retry(ctx context.Context, tag tags.Tag, size int, publish func() error) error {
	if fan.loop.OnAnyLoop() {
		return ErrOnLoop
	}
	w := fan.waiting.enter()
	defer fan.waiting.leave(w)
	for {
		err := publish()
		if err != ErrNoResources { //nolint:errorlint // publish returns it bare, and this is the data path
			return err
		}
		if err := w.wait(ctx); err != nil {
			return &PublishError{Tag: tag, Bytes: size, Err: err}
		}
	}
}

// Flush sends published messages without waiting for full pages or the flush interval.
// Blocks: never.
func (p *Publisher) Flush() { p.fan.flush() }

func (fan *fanout) flush() {
	for _, s := range *fan.streams.Load() {
		s.sealNow()
	}
}

// armFlush ensures that flushDue runs at the end of the flush interval.
func (fan *fanout) armFlush() {
	if fan.flushArmed.Swap(true) {
		return
	}
	if fan.cfg.FlushInterval == FlushImmediately {
		fan.loop.Post(fan.flushFunc)
		return
	}
	if err := fan.flushTimer.StartOnce(fan.cfg.FlushInterval); err != nil {
		fan.loop.Post(fan.flushFunc) // without a timer the page must still go
	}
}

// flushDue seals the pages that a subscriber waits for. Loop only.
func (fan *fanout) flushDue() {
	fan.flushArmed.Store(false)
	open := false
	for _, s := range *fan.streams.Load() {
		open = s.flush() || open
	}
	if open && fan.cfg.FlushInterval != FlushImmediately { // otherwise a completion flushes
		fan.armFlush()
	}
}
