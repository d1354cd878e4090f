// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"context"
	"slices"
	"sync/atomic"

	"tagbus/bus/internal/wire"
	"tagbus/subscription"
	"tagbus/tags"
)

// Receipt tells a caller whether its message was handled. It travels with the page whose
// last message it is about, and is settled once: by the Ack, by the policy that drops the
// page, by the end of the connection, or by the caller that gives up. nil: no caller
// waits.
type Receipt struct {
	tag      tags.Tag
	position uint64 // set when the message is accepted
	kept     bool   // the cache has it, from which it may come later

	lane    *Lane  // to which it was given; Outbox.mu
	through uint64 // messages that this lane had been given then, with its own; Outbox.mu

	outbox  atomic.Pointer[Outbox] // that expects the Ack
	settled atomic.Bool
	done    chan struct{} // closed when settled
	err     error         // nil if the message was handled
	lost    bool          // it is certain that it was not
}

// NewReceipt returns a receipt for the next message of a tag: an argument of Publish, and
// if that accepts the message, of no other.
func NewReceipt(tag tags.Tag) *Receipt { return &Receipt{tag: tag, done: make(chan struct{})} }

// of reports whether the receipt is about a message.
func (x *Receipt) of(tag tags.Tag, position uint64) bool {
	return x != nil && x.tag == tag && x.position == position
}

// settle ends the wait. Only the first call counts.
//
//   - lost: the message is never going to be handled, unless it is kept.
func (x *Receipt) settle(err error, lost bool) {
	if x == nil || x.settled.Swap(true) {
		return
	}
	x.err, x.lost = err, lost && !x.kept
	close(x.done)
}

// appendAcked publishes the message of x, as the last of its page. mu is held.
//
// Errors: those of append; x is then not settled and may be used again.
func (s *stream) appendAcked(x *Receipt, status wire.Status, position uint64, data []byte) error {
	s.seal() // without a page the message goes through fill
	x.position, x.kept, s.receipt = position, s.fan.cache != nil, x
	err := s.append(x.tag, status, position, data)
	if err == nil && s.solo != nil {
		s.seal() // the messages that the policy keeps back
	}
	if s.receipt != nil && err == nil { // it came into no page
		cause := subscription.CauseLeftOut
		if s.solo == nil {
			cause = subscription.CauseMemory
		}
		x.settle(s.fan.cfg.LossError(cause), true)
	}
	s.receipt = nil
	return err
}

// loses settles the receipt of the message that is being appended, if the message at
// position, which is lost, is that one. mu is held.
func (s *stream) loses(cause subscription.Cause, tag tags.Tag, position uint64) {
	if s.receipt.of(tag, position) {
		s.receipt.settle(s.fan.cfg.LossError(cause), true)
	}
}

// given notes that the page was given to the transport. The mu of the lane's outbox is
// held.
func (x *Receipt) given(n *Lane) {
	if x != nil {
		x.lane, x.through = n, n.givenMessages
	}
}

// expect notes the receipt of a page that is being queued. mu is held.
func (box *Outbox) expect(x *Receipt) {
	if x == nil {
		return
	}
	if box.receipts == nil {
		box.receipts = make(map[tags.Tag][]*Receipt)
	}
	box.receipts[x.tag] = append(box.receipts[x.tag], x)
	x.outbox.Store(box)
}

// forget drops a receipt, which is mostly one of the oldest of its tag. mu is held.
func (box *Outbox) forget(x *Receipt) {
	if x == nil {
		return
	}
	list := box.receipts[x.tag]
	if i := slices.Index(list, x); i >= 0 {
		copy(list[1:i+1], list[:i])
		box.keep(x.tag, list, 1)
	}
}

// keep drops the first receipts of the list of a tag. mu is held.
func (box *Outbox) keep(tag tags.Tag, list []*Receipt, dropped int) {
	clear(list[:dropped])
	if dropped < len(list) {
		box.receipts[tag] = list[dropped:]
	} else {
		delete(box.receipts, tag)
	}
}

// forsake settles the receipt of a page that is never going to be sent.
func (box *Outbox) forsake(x *Receipt, cause error) {
	if x == nil {
		return
	}
	box.mu.Lock()
	box.forget(x)
	box.mu.Unlock()
	x.settle(cause, true)
}

// abandon settles the next receipts after the last possible Ack, and reports whether these
// were all. Loop only.
func (box *Outbox) abandon(budget int) (steps int, done bool) {
	box.mu.Lock()
	defer box.mu.Unlock()
	for tag, list := range box.receipts {
		n := min(len(list), max(0, budget-steps)/settleSteps+1)
		for _, x := range list[:n] {
			x.settle(ErrLost, false)
		}
		box.keep(tag, list, n)
		if steps += n * settleSteps; steps >= budget {
			break
		}
	}
	return steps, len(box.receipts) == 0
}

// settle settles the receipts of a tag up to a position, after an Ack. Loop only.
//
//   - failed: the message at the position was not handled (ErrNotHandled).
func (box *Outbox) settle(tag tags.Tag, position uint64, failed bool) {
	box.mu.Lock()
	list := box.receipts[tag]
	n := 0
	for n < len(list) && list[n].position <= position {
		n++
	}
	answered := slices.Clone(list[:n])
	if n > 0 {
		box.keep(tag, list, n)
	}
	for _, x := range answered {
		if n := x.lane; n != nil && n.out == box { // pages come in order
			n.ackedMessages = max(n.ackedMessages, x.through)
		}
	}
	box.mu.Unlock()
	for _, x := range answered {
		if failed && x.position == position {
			x.settle(ErrNotHandled, false)
		} else {
			x.settle(nil, false)
		}
	}
}

// Wait waits until the message, which was accepted, is handled, or that is known to be in
// doubt. It is called once, in any goroutine except the loop.
//
//   - position: of the message, also with an error.
//   - lost: it is certain that the message is never going to be handled.
//   - Errors: ErrLost; ErrNotHandled; those of Config.LossError; the cause of the end of
//     ctx. They are not wrapped.
func (x *Receipt) Wait(ctx context.Context) (position uint64, lost bool, err error) {
	select {
	case <-x.done:
	case <-ctx.Done():
		x.giveUp(context.Cause(ctx))
		<-x.done
	}
	return x.position, x.lost, x.err
}

// giveUp ends the wait on behalf of the caller that waits.
func (x *Receipt) giveUp(cause error) {
	if box := x.outbox.Load(); box != nil {
		box.mu.Lock()
		box.forget(x)
		box.mu.Unlock()
	}
	x.settle(cause, false)
}
