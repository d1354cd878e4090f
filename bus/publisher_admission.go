// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"fmt"

	"tagbus/bus/internal/admission"
	"tagbus/bus/internal/ending"
	"tagbus/subscription"
)

// admit makes l a subscriber, or returns why not.
func (p *publisherImpl) admit(l *link, h subscription.Hello) error {
	if need := frameBytes(p.cfg.PageBytes, p.cfg.MaxMessageBytes); h.MaxMessageBytes < need {
		return &SizeError{Sends: need, Takes: h.MaxMessageBytes, text: fmt.Sprintf("bus: subscriber receives at most %d bytes at once, publisher sends up to %d: raise SubscriberConfig.MaxMessageBytes",
			h.MaxMessageBytes, need)}
	}
	p.fan.Mu.Lock()
	defer p.fan.Mu.Unlock()
	if !p.ending.Takes(h.Instance) {
		return ErrClosed
	}
	if err := p.makeRoom(l, h.Instance); err != nil {
		return err
	}
	p.links[l] = struct{}{}
	return nil
}

// forget frees the numbers of a subscriber, and returns the number of unconfirmed
// messages. Nothing refers to the subscriber any more.
//
//   - cause: of the end of its connection; nil: it ended in order.
func (p *publisherImpl) forget(l *link, cause error) (unconfirmed uint64) {
	p.fan.Mu.Lock()
	defer p.fan.Mu.Unlock()
	if _, known := p.links[l]; !known {
		return 0
	}
	delete(p.links, l)
	p.broken.Add(cause)
	p.seats.Leave(l)
	unconfirmed = p.leaveAccount(l, cause)
	l.out.Free()
	p.ending.Left(l.peer.Instance, unconfirmed)
	p.giveUp()
	p.ending.Look(len(p.links))
	p.fan.NotifyChanged()
	return unconfirmed
}

// makeRoom takes a place for a subscriber. fan.Mu is held.
//
// Errors: ErrTooManySubscribers, wrapped.
func (p *publisherImpl) makeRoom(l *link, instance string) error {
	limits := admission.Limits{All: p.cfg.MaxSubscribers, Host: p.cfg.MaxSubscribersPerHost}
	way, gaveWay, full := p.seats.Take(l, l.ep.Remote().Addr().Unmap(), limits, p.newest.Newest(instance), func(l *link) bool {
		return l.tasks.Len() == 0 // otherwise it has asked for something
	})
	if full != nil {
		return tooMany(ErrTooManySubscribers, full, "PublisherConfig.MaxSubscribers")
	}
	if gaveWay {
		p.loop.Post(func() { way.end(ErrGaveWay) }) // no lock is held then
	}
	return nil
}

// rest notes that a subscriber has no subscription from now on.
func (p *publisherImpl) rest(l *link) {
	if p.seats.Idle(l) {
		l.awaitSubscription()
	}
}

// settle notes after each change whether a subscriber has a subscription. After the end
// of its last one it has some time to leave or to ask for another. One whose request
// was refused may stay, since it would only come again.
func (p *publisherImpl) settle(l *link) {
	switch {
	case l.dialed || l.fault != nil:
	case l.out.Subscriptions() > 0:
		p.seats.Busy(l)
	default: // it may be its last one that has ended
		p.rest(l)
	}
}

// awaitSubscription limits the time that a connection may have no subscription, or an
// incomplete group.
func (l *link) awaitSubscription() {
	l.deadline.Await(&l.pub.alarms, subscribeTimeout, l.subscriptionMissed)
}

// subscriptionMissed ends a connection after too long without a subscription, or with
// an incomplete group.
func (l *link) subscriptionMissed() {
	if l.pub.groups.Has(l) {
		l.pub.groups.Drop(l)
		l.end(ErrGroupTimeout)
		return
	}
	l.end(ErrNoSubscription)
}

// ended returns ErrClosed if the publisher drains or is closed, and otherwise nil.
func (p *publisherImpl) ended() error {
	p.fan.Mu.Lock()
	defer p.fan.Mu.Unlock()
	if p.ending.State() != ending.Open {
		return ErrClosed
	}
	return nil
}
