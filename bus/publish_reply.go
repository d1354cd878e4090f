// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"context"

	"tagbus/bus/internal/wire"
	"tagbus/tags"
)

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
func (p *Publisher) Reply(to RequestID, tag tags.Tag, status Status, data []byte) error {
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
func (p *Publisher) ReplyContext(ctx context.Context, to RequestID, tag tags.Tag, status Status, data []byte) error {
	mark, payload, err := p.marked(to, tag, status, data)
	if err == nil {
		err = p.publishContext(ctx, tag, mark, payload, nil)
	}
	return err
}

// marked returns a message with the id of a request as the fanout takes it.
//
// Errors: *PublishError with ErrMessageTooLarge.
func (p *Publisher) marked(id RequestID, tag tags.Tag, status Status, data []byte) (wire.Status, []byte, error) {
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
func (p *Publisher) maxRequest() int { return p.cfg.MaxMessageBytes - wire.RequestBytes }
