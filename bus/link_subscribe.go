package bus

import (
	"errors"

	"tagbus/bus/internal/ledger"
	"tagbus/subscription"
	"tagbus/tags"
)

// subscribe begins to make the subscriptions of a group active. Loop only.
func (l *link) subscribe(wishes []wish) {
	p := l.pub
	g := l.out.subscribe(wishes, terms{
		check:    l.check,
		steps:    p.ownership.checkSteps,
		account:  func(w *wish) *ledger.Lane { return p.account(l, w) },
		handOver: func(sets []tags.Set) []tags.Set { return p.ownership.handOver(l, sets) },
		entered:  func() { p.ownership.entered(l) },
		refusal:  func(w *wish) subscription.Message { return refusal(w.request.ID, w.err) },
	})
	l.begin(linkJob{run: func(budget int) (steps int, done bool) {
		if steps, done = g.run(budget); !done {
			return steps, false
		}
		if at, fault := g.failed(); fault != nil {
			l.expel(at, fault)
			return steps, true
		}
		p.settle(l)
		l.answered(wishes)
		p.farewell(l)
		return steps, true
	}, abort: g.abort})
}

// check returns why a subscription cannot become active, or why the connection has to
// end. fanout.mu is held.
func (l *link) check(w *wish) (refusal, fault error) {
	p := l.pub
	if err := p.ownership.check(l, w); err != nil {
		if errors.As(err, new(*DuplicateError)) {
			return err, err
		}
		return err, nil
	}
	policy, err := p.policyOf(l, w.request)
	if err == nil {
		err = p.checkRoom(l, w.request)
	}
	w.policy = policy
	if errors.Is(err, ErrProtocol) {
		return err, err
	}
	return err, nil
}

// expel ends the connection for a fault of its peer.
//
//   - at: the subscription that was looked at.
func (l *link) expel(at *wish, fault error) {
	if duplicate := (*DuplicateError)(nil); errors.As(fault, &duplicate) {
		l.pub.ownership.expel(l, at.request.ID, duplicate)
		return
	}
	if !errors.Is(fault, ErrProtocol) {
		fault = errors.Join(ErrProtocol, fault)
	}
	l.fail(fault)
}
