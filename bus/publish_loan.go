// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"context"

	"tagbus/bus/internal/fanout"
	"tagbus/bus/internal/wire"
	"tagbus/tags"
)

// Loan is memory of a Publisher for one message: a readout program fills it in place, and
// publishes it without a copy, over all transports. It ends with a Publish that returns nil, or
// with Abort. Then its memory is not to be touched any more: subscribers read it, and a build with
// the tag invariants panics if it has changed. A Loan may be copied; the copies are one loan.
//
// Threads: one at a time.
type Loan struct {
	p    *Publisher
	is   any // a *fanout.Loan, as publisherOf says
	turn uint32
	tag  tags.Tag
	size int
}

// loanOf returns what a Loan is, nil of the zero value.
func loanOf(l *Loan) *fanout.Loan {
	of, _ := l.is.(*fanout.Loan)
	return of
}

// Loan returns memory for a message of a tag. A publisher lends up to half of PoolBytes at
// a time.
//
//   - size: of the payload, bytes: up to PageBytes and MaxMessageBytes. Data that is larger, or that is
//     somewhere already, is published by PublishZeroCopy.
//   - Result: with undefined content.
//   - Errors: ErrNoResources (the same call may succeed after OnReady), *PublishError with
//     ErrMessageTooLarge, whose Limit is the size that there is, ErrClosed.
//   - Threads: any. Blocks: never. Allocates: not after the first loans.
//
//go:noinline
func (handle *Publisher) Loan(tag tags.Tag, size int) (Loan, error) {
	return publisherOf(handle).loan(tag, size)
}

// LoanContext is Loan that waits for memory.
//
//   - Errors: as Loan without ErrNoResources, and as PublishContext.
//   - Threads: any.
//
//go:noinline
func (handle *Publisher) LoanContext(ctx context.Context, tag tags.Tag, size int) (l Loan, err error) {
	p, size := publisherOf(handle), max(size, 0)
	if l, err = p.loan(tag, size); err != ErrNoResources { //nolint:errorlint // loan returns it bare
		return l, err
	}
	err = p.retry(ctx, tag, size, func() (err error) {
		var of *fanout.Loan
		if of, l.turn, err = p.fan.Borrow(size); err == nil {
			l = Loan{&p.Publisher, of, l.turn, tag, size}
		}
		return err
	})
	return l, err
}

func (p *publisherImpl) loan(tag tags.Tag, size int) (Loan, error) {
	if p.closer.Begun() {
		return Loan{}, ErrClosed
	}
	size = max(size, 0)
	of, turn, err := p.fan.Borrow(size)
	switch {
	case err == nil:
		return Loan{&p.Publisher, of, turn, tag, size}, nil
	case err == fanout.ErrTooLarge && size <= p.cfg.MaxMessageBytes: //nolint:errorlint // the fanout returns it bare, and this is the data path
		return Loan{}, &PublishError{Tag: tag, Bytes: size, Limit: p.cfg.PageBytes, Err: errLoanTooLarge}
	}
	return Loan{}, p.explain(tag, size, err)
}

// Data returns the memory: size bytes, or as many as Truncate has left. It is nil if the loan is over.
//
//go:noinline
func (l *Loan) Data() []byte {
	if mem := loanOf(l).Data(l.turn); mem != nil {
		return mem[:l.size]
	}
	return nil
}

// Truncate makes the payload the first n bytes of Data, if it is not as short already.
func (l *Loan) Truncate(n int) { l.size = max(0, min(l.size, n)) }

// Publish publishes the payload, as Publisher.PublishStatus does, and ends the loan. It is copied if it is
// smaller than an eighth of a page, if subscribers of the tag do not share pages, and for the cache.
//
//   - Errors: as Publisher.PublishStatus; then the loan goes on. ErrLoanOver.
//   - Blocks: never.
//
//go:noinline
func (l *Loan) Publish(status Status) error {
	ok, err := loanOf(l).Publish(l.turn, l.tag, wire.Status(status), l.size)
	if !ok {
		return ErrLoanOver
	}
	return publisherOf(l.p).explain(l.tag, l.size, err)
}

// PublishContext is Publish that waits for room.
//
//   - Errors: as Publisher.PublishStatusContext; then the loan goes on. ErrLoanOver.
//
//go:noinline
func (l *Loan) PublishContext(ctx context.Context, status Status) error {
	err := l.Publish(status)
	if err != ErrNoResources { //nolint:errorlint // Publish returns it bare
		return err
	}
	return publisherOf(l.p).retry(ctx, l.tag, l.size, func() error {
		_, err := loanOf(l).Publish(l.turn, l.tag, wire.Status(status), l.size)
		return err
	})
}

// Abort gives the memory back. It does nothing if the loan is over.
//
//go:noinline
func (l *Loan) Abort() { loanOf(l).Abort(l.turn) }
