// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"context"
	"errors"
	"fmt"

	"tagbus/bus/internal/fanout"
	"tagbus/bus/internal/wire"
	"tagbus/tags"
)

// Send sends a message: it is SendStatus with status 0.
func (handle *Sender) Send(tag tags.Tag, data []byte) error { return handle.SendStatus(tag, 0, data) }

// SendStatus sends a message to the receiver of its tag.
//
//   - data: 0 to SenderConfig.MaxMessageBytes bytes; copied.
//   - Result: nil means accepted. The message is delivered in order, or, if the policy
//     or the end of the connection loses it, reported to the receiver as lost.
//     SendAcked returns once it is handled.
//   - Errors: ErrNoResources (the same call may succeed after OnReady),
//     *PublishError with ErrNoReceiver, ErrUnknownTag or ErrMessageTooLarge,
//     ErrClosed. After an error no receiver gets the message.
//   - Order: as Publisher.PublishStatus.
//   - Threads: any. Blocks: never.
func (handle *Sender) SendStatus(tag tags.Tag, status Status, data []byte) error {
	s := senderOf(handle)
	if err := s.pub.PublishStatus(tag, status, data); err != nil {
		return s.explain(tag, data, err)
	}
	return nil
}

// SendContext sends a message as Send does, and waits for a receiver of the tag
// and for room.
//
//   - Errors: as SendStatus without ErrNoResources; *PublishError with the cause of the
//     end of ctx, and with ErrNoReceiver if it was waiting for one. On a loop it
//     returns ErrOnLoop instead of waiting, since the loop is what makes room.
//   - Threads: any.
func (handle *Sender) SendContext(ctx context.Context, tag tags.Tag, data []byte) error {
	return handle.SendStatusContext(ctx, tag, 0, data)
}

// SendStatusContext is SendContext with a status.
//
//go:noinline
func (handle *Sender) SendStatusContext(ctx context.Context, tag tags.Tag, status Status, data []byte) error {
	s := senderOf(handle)
	return s.send(ctx, tag, wire.Status(status), data, nil)
}

func (s *senderImpl) send(ctx context.Context, tag tags.Tag, status wire.Status, data []byte, x *fanout.Receipt) error {
	for {
		changed := s.pub.fan.NextChange() // before the try, so that no change after it is missed
		err := s.pub.publishContext(ctx, tag, status, data, x)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, ErrNoReceiver):
			return s.explain(tag, data, err)
		case s.pub.loop.OnAnyLoop():
			return ErrOnLoop
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return s.explain(tag, data, fmt.Errorf("%w: %w", ErrNoReceiver, context.Cause(ctx)))
		}
	}
}

// SendAcked sends a message as SendContext does, without the flush interval, and waits
// until the receiver's handler has returned for it.
//
//   - Errors: those of SendContext, if no receiver gets the message. *AckError, if the
//     message was accepted and not acknowledged: with ErrReceiverLost or the cause of
//     the end of ctx it may or may not have been handled; with ErrNotHandled the
//     handler panicked, or there was none any more; with ErrTooSlow, ErrPublisherMemory
//     or ErrLeftOut the receiver's policy has lost it. ErrOnLoop: nothing is sent.
//   - Threads: any.
func (handle *Sender) SendAcked(ctx context.Context, tag tags.Tag, data []byte) error {
	return handle.SendStatusAcked(ctx, tag, 0, data)
}

// SendStatusAcked is SendAcked with a status.
func (handle *Sender) SendStatusAcked(ctx context.Context, tag tags.Tag, status Status, data []byte) error {
	s := senderOf(handle)
	if s.pub.loop.OnAnyLoop() {
		return ErrOnLoop
	}
	x := fanout.NewReceipt(tag)
	if err := s.send(ctx, tag, wire.Status(status), data, x); err != nil {
		return err
	}
	if position, lost, err := x.Wait(ctx); err != nil {
		s.unacked.Add(1)
		return &AckError{Tag: tag, Counter: position, Lost: lost, Err: err}
	}
	s.acked.Add(1)
	return nil
}

// request sends a message with the id of a request as SendContext does.
//
// Errors: those of SendContext.
func (s *senderImpl) request(ctx context.Context, id RequestID, tag tags.Tag, data []byte) error {
	mark, payload, err := s.pub.marked(id, tag, 0, data)
	if err != nil {
		return s.explain(tag, data, err)
	}
	return s.send(ctx, tag, mark, payload, nil)
}

// explain completes an error of the publishing part.
func (s *senderImpl) explain(tag tags.Tag, data []byte, err error) error {
	if refused := (*PublishError)(nil); errors.As(err, &refused) {
		refused.sender = true
		return err
	}
	if errors.Is(err, ErrNoReceiver) {
		s.unowned.Add(1)
		return &PublishError{Tag: tag, Bytes: len(data), Err: err, sender: true}
	}
	return err
}

// Flush sends messages that wait for full pages or the flush interval, as Publisher.Flush.
// Blocks: never.
func (handle *Sender) Flush() { senderOf(handle).pub.fan.Flush() }
