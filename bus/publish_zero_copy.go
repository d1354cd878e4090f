package bus

import (
	"context"

	"tagbus/tags"
)

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
//     of subscribers than MaxStreams). It is also copied for the cache, and over RDMA,
//     which sends only from registered memory.
//   - Errors, order, threads: as PublishStatus. A payload counts in QueueBytes as
//     if it were copied, but takes only one page of PoolBytes.
//   - Blocks: never.
func (p *Publisher) PublishZeroCopy(tag tags.Tag, status Status, data []byte, done func()) error {
	return p.explain(tag, len(data), p.lend(tag, status, data, done))
}

// lend is PublishZeroCopy with the errors of the fanout.
func (p *Publisher) lend(tag tags.Tag, status Status, data []byte, done func()) error {
	if done == nil {
		done = func() {}
	}
	lent, err := p.fan.PublishLent(tag, uint8(status), data, done)
	if !lent {
		if err = p.fan.Publish(tag, uint8(status), data, nil); err == nil {
			done()
		}
	}
	return err
}

// PublishZeroCopyContext publishes a message as PublishZeroCopy does, and waits
// for room.
//
//   - Errors: as PublishContext.
//   - Threads: any.
func (p *Publisher) PublishZeroCopyContext(ctx context.Context, tag tags.Tag, status Status, data []byte, done func()) error {
	err := p.PublishZeroCopy(tag, status, data, done)
	if err != ErrNoResources { //nolint:errorlint // PublishZeroCopy returns it bare, and this is the data path
		return err
	}
	return p.retry(ctx, tag, len(data), func() error { return p.lend(tag, status, data, done) })
}
