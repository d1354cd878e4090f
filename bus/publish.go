// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"context"

	"tagbus/bus/internal/fanout"
	"tagbus/bus/internal/wire"
	"tagbus/tags"
)

// Publish publishes a message: it is PublishStatus with status 0.
func (handle *Publisher) Publish(tag tags.Tag, data []byte) error {
	return handle.PublishStatus(tag, 0, data)
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
func (handle *Publisher) PublishStatus(tag tags.Tag, status Status, data []byte) error {
	p := publisherOf(handle)
	if err := p.fan.Publish(tag, wire.Status(status), data, nil); err != nil {
		return p.explain(tag, len(data), err)
	}
	return nil
}

// explain returns the user's error for one of the fanout about a message of n bytes.
func (p *publisherImpl) explain(tag tags.Tag, n int, err error) error {
	switch err {
	case nil:
		return nil
	case fanout.ErrNoRoom: //nolint:errorlint // the fanout returns them bare, and this is the data path
		return ErrNoResources
	case fanout.ErrStopped:
		return ErrClosed
	case fanout.ErrUnknownTag:
		return &PublishError{Tag: tag, Err: ErrUnknownTag}
	case fanout.ErrTooLarge:
		return &PublishError{Tag: tag, Bytes: n, Limit: p.cfg.MaxMessageBytes, Err: ErrMessageTooLarge}
	}
	return err
}

// PublishContext publishes a message as Publish does, and waits for room.
//
//   - Errors: as PublishStatus without ErrNoResources, and the cause of the
//     end of ctx, wrapped. An error means that no subscriber gets the message.
//     On a loop it returns ErrOnLoop instead of waiting, since the loop is what
//     makes room.
//   - Threads: any.
func (handle *Publisher) PublishContext(ctx context.Context, tag tags.Tag, data []byte) error {
	return handle.PublishStatusContext(ctx, tag, 0, data)
}

// PublishStatusContext is PublishContext with a status.
//
//go:noinline
func (handle *Publisher) PublishStatusContext(ctx context.Context, tag tags.Tag, status Status, data []byte) error {
	p := publisherOf(handle)
	return p.publishContext(ctx, tag, wire.Status(status), data, nil)
}

// publishContext is PublishStatusContext with a receipt, for a message that is to be
// acknowledged; nil: none.
//
// Errors: for a sender also ErrNoReceiver, not wrapped.
func (p *publisherImpl) publishContext(ctx context.Context, tag tags.Tag, status wire.Status, data []byte, x *fanout.Receipt) error {
	err := p.fan.Publish(tag, status, data, x)
	switch err {
	case nil:
		return nil
	case fanout.ErrNoRoom: //nolint:errorlint // the fanout returns it bare, and this is the data path
		return p.retry(ctx, tag, len(data), func() error { return p.fan.Publish(tag, status, data, x) })
	}
	return p.explain(tag, len(data), err)
}

// retry calls publish again until there is room for its message.
//
//   - publish: returns errors of the fanout.
func (p *publisherImpl) retry(ctx context.Context, tag tags.Tag, size int, publish func() error) error {
	if p.loop.OnAnyLoop() {
		return ErrOnLoop
	}
	var err error
	end := p.fan.AwaitRoom(ctx, func() (done bool) {
		err = publish()
		return err != fanout.ErrNoRoom //nolint:errorlint // publish returns it bare, and this is the data path
	})
	if end != nil {
		return &PublishError{Tag: tag, Bytes: size, Err: end}
	}
	return p.explain(tag, size, err)
}

// Flush sends published messages without waiting for full pages or the flush interval.
// What the policy Latest keeps for a subscriber that is behind is sent when there is room for
// it. Blocks: never.
func (handle *Publisher) Flush() { publisherOf(handle).fan.Flush() }

// PublishZeroCopy publishes a message as PublishStatus does, but does not copy
// the payload: it is sent from where it is.
//
//   - data: must not change until done is called.
//   - done: called once if the error is nil, and never otherwise. The call comes when
//     no subscriber needs data any more, sent or not. It comes on the loop, in Close,
//     or, if the payload was copied, before PublishZeroCopy returns. done must not
//     block; it may publish. The same func may be given for many messages, so that
//     nothing is allocated. nil: there is no call, as for data that never changes.
//   - The payload is copied if it is smaller than an eighth of a page, or if the
//     subscribers of the tag do not share pages (policies Latest and Sample; more sets
//     of subscribers than MaxStreams). It is also copied for the cache, and once a
//     subscriber is connected by RDMA or shared memory, which send from the memory of
//     the publisher alone: see Loan.
//   - Errors, order, threads: as PublishStatus. A payload counts in QueueBytes as
//     if it were copied, but takes next to nothing of PoolBytes.
//   - Blocks: never.
func (handle *Publisher) PublishZeroCopy(tag tags.Tag, status Status, data []byte, done func()) error {
	p := publisherOf(handle)
	return p.explain(tag, len(data), p.fan.Lend(tag, wire.Status(status), data, done))
}

// PublishZeroCopyContext publishes a message as PublishZeroCopy does, and waits
// for room.
//
//   - Errors: as PublishContext.
//   - Threads: any.
func (handle *Publisher) PublishZeroCopyContext(ctx context.Context, tag tags.Tag, status Status, data []byte, done func()) error {
	p := publisherOf(handle)
	err := p.PublishZeroCopy(tag, status, data, done)
	if err != ErrNoResources { //nolint:errorlint // PublishZeroCopy returns it bare, and this is the data path
		return err
	}
	return p.retry(ctx, tag, len(data), func() error { return p.fan.Lend(tag, wire.Status(status), data, done) })
}

// TagPublisher publishes messages of one tag: what Publisher.Publish and PublishContext do,
// without the lookup of the tag for each message.
//
// Threads: any, as for Publisher.
type TagPublisher struct {
	p   *Publisher
	way any // a *fanout.Way, as publisherOf says
}

// Tag returns the way to publish messages of a tag, for loops over few tags. It need not be
// closed, and stays valid while tags are added and removed.
//
//go:noinline
func (handle *Publisher) Tag(tag tags.Tag) *TagPublisher {
	return &TagPublisher{handle, publisherOf(handle).fan.Way(tag)}
}

// Publish publishes a message as Publisher.Publish does.
func (t *TagPublisher) Publish(data []byte) error {
	if t.way.(*fanout.Way).Publish(data) {
		return nil
	}
	return t.p.Publish(t.way.(*fanout.Way).Tag(), data)
}

// PublishContext publishes a message as Publisher.PublishContext does.
func (t *TagPublisher) PublishContext(ctx context.Context, data []byte) error {
	if t.way.(*fanout.Way).Publish(data) {
		return nil
	}
	return t.p.PublishContext(ctx, t.way.(*fanout.Way).Tag(), data)
}

// Reply publishes the reply to a request.
//
//   - to: Message.RequestID of the command. Only the Requester that has sent the command
//     takes the reply, and only for that request; all subscribers of the tag get the
//     message. Zero, since the command is not a Requester's: Reply is PublishStatus.
//   - tag: the one on which the requesters of this device wait for replies.
//   - data: 0 to PublisherConfig.MaxMessageBytes - 17 bytes; copied.
//   - Result, errors, order, threads: as PublishStatus. The largest size of
//     ErrMessageTooLarge is the one above.
//   - Blocks: never.
func (handle *Publisher) Reply(to RequestID, tag tags.Tag, status Status, data []byte) error {
	p := publisherOf(handle)
	mark, payload, err := p.marked(to, tag, status, data)
	if err == nil {
		err = p.explain(tag, len(data), p.fan.Publish(tag, mark, payload, nil))
	}
	return err
}

// ReplyContext publishes a reply as Reply does, and waits for room.
//
//   - Errors: as PublishContext.
//   - Threads: any.
func (handle *Publisher) ReplyContext(ctx context.Context, to RequestID, tag tags.Tag, status Status, data []byte) error {
	p := publisherOf(handle)
	mark, payload, err := p.marked(to, tag, status, data)
	if err == nil {
		err = p.publishContext(ctx, tag, mark, payload, nil)
	}
	return err
}

// marked returns a message with the id of a request as the fanout takes it.
//
// Errors: *PublishError with ErrMessageTooLarge.
func (p *publisherImpl) marked(id RequestID, tag tags.Tag, status Status, data []byte) (wire.Status, []byte, error) {
	if id == (RequestID{}) {
		return wire.Status(status), data, nil
	}
	if len(data) > p.maxRequest() {
		return 0, nil, &PublishError{Tag: tag, Bytes: len(data), Limit: p.maxRequest(), Err: ErrMessageTooLarge}
	}
	payload := wire.AppendRequest(make([]byte, 0, wire.RequestBytes+len(data)), uint8(status), id.id)
	return wire.Request, append(payload, data...), nil
}

// maxRequest returns the largest payload of a request or a reply.
func (p *publisherImpl) maxRequest() int { return p.cfg.MaxMessageBytes - wire.RequestBytes }
