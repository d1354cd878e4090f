package bus

import (
	"errors"
	"fmt"

	"tagbus/bus/internal/fanout"
	"tagbus/bus/internal/ledger"
	"tagbus/subscription"
	"tagbus/tags"
)

// subscribe begins to make the subscriptions of a group active. Loop only.
func (l *link) subscribe(wishes []fanout.Wish) {
	p := l.pub
	g := l.out.Subscribe(wishes, fanout.Terms{
		Check:    l.check,
		Steps:    p.ownership.checkSteps,
		Account:  func(w *fanout.Wish) *ledger.Lane { return p.account(l, w) },
		HandOver: func(sets []tags.Set) []tags.Set { return p.ownership.handOver(l, sets) },
		Entered:  func() { p.ownership.entered(l) },
		Refusal:  func(w *fanout.Wish) subscription.Message { return refusal(w.Request.ID, w.Err) },
	})
	l.begin(linkJob{run: func(budget int) (steps int, done bool) {
		if steps, done = g.Run(budget); !done {
			return steps, false
		}
		if at, fault := g.Failed(); fault != nil {
			l.expel(at, fault)
			return steps, true
		}
		p.settle(l)
		l.answered(wishes)
		p.farewell(l)
		return steps, true
	}, abort: g.Abort})
}

// check returns why a subscription cannot become active, or why the connection has to
// end. fan.Mu is held.
func (l *link) check(w *fanout.Wish) (refusal, fault error) {
	p := l.pub
	if err := p.ownership.check(l, w); err != nil {
		if errors.As(err, new(*DuplicateError)) {
			return err, err
		}
		return err, nil
	}
	policy, err := p.policyOf(l, w.Request)
	if err == nil {
		err = p.checkRoom(l, w.Request)
	}
	w.Policy = policy
	if errors.Is(err, ErrProtocol) {
		return err, err
	}
	return err, nil
}

// expel ends the connection for a fault of its peer.
//
//   - at: the subscription that was looked at.
func (l *link) expel(at *fanout.Wish, fault error) {
	if duplicate := (*DuplicateError)(nil); errors.As(fault, &duplicate) {
		l.pub.ownership.expel(l, at.Request.ID, duplicate)
		return
	}
	if !errors.Is(fault, ErrProtocol) {
		fault = fmt.Errorf("%w: %w", ErrProtocol, fault)
	}
	l.fail(fault)
}
