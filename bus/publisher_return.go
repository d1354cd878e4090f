package bus

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A publisher that ends owes an account to the subscribers that it has just lost:
// what was on its way to them is in no count yet. It waits for those some seconds,
// takes their connections, and lets them go like all others.

// returnTime is how long a publisher that ends waits for a subscriber that it has
// lost, from the loss on. It is the longest time between two tries of a subscriber,
// defaultReconnectMax.
const returnTime = 5 * time.Second

// beginDrain says goodbye to those who are connected, and begins to wait for
// those who may come back. Loop only.
func (p *Publisher) beginDrain() {
	p.mu.Lock()
	p.draining = true
	p.accounts.Await(returnTime)
	p.giveUp()
	p.noteDrained()
	links := make([]*link, 0, len(p.links))
	for l := range p.links {
		links = append(links, l)
	}
	p.mu.Unlock()
	for _, l := range links {
		p.farewell(l)
	}
}

// farewell says goodbye to a subscriber of a publisher that ends, once, unless an
// account is owed that its subscriptions have yet to settle. It is called whenever
// a group of subscriptions is answered: one that is refused settles nothing, and
// nothing else is to come. Loop only.
func (p *Publisher) farewell(l *link) {
	p.mu.Lock()
	p.giveUp()
	early := !p.draining || !l.asked && p.accounts.Owes(l.peer.Instance, l)
	p.mu.Unlock()
	if early || l.dismissed || l.state != linkReady {
		return
	}
	l.dismissed = true
	l.sayGoodbye()
}

// awaitReturn waits until all subscribers have left, and those that are lost have
// come back and left, or are given up.
//
// Errors: as Drain.
func (p *Publisher) awaitReturn(ctx context.Context) error {
	look := time.NewTicker(returnTime / 50)
	defer look.Stop()
	for {
		select {
		case <-p.drained:
			return p.drainResult()
		case <-look.C: // some may be given up
			p.loop.Post(func() {
				p.mu.Lock()
				p.noteDrained()
				p.mu.Unlock()
			})
		case <-ctx.Done():
			p.mu.Lock()
			left, lost := len(p.links), p.unreturned()
			p.mu.Unlock()
			if left == 0 && lost != nil {
				return fmt.Errorf("%w: %w", lost, context.Cause(ctx))
			}
			return errors.Join(lost, fmt.Errorf("bus: drain: subscribers that have not received everything: %d: %w", left, context.Cause(ctx)))
		}
	}
}

// unreturned returns an error if connections have ended, before or while draining,
// whose subscribers have not come back. mu is held.
func (p *Publisher) unreturned() error {
	missing, unconfirmed := p.accounts.Missing()
	if missing += p.cutOff; missing == 0 {
		return nil
	}
	return fmt.Errorf("bus: drain: %w: connections that ended before: %d, with %d messages unconfirmed",
		ErrUndelivered, missing, unconfirmed+p.cutOffMessages)
}

// mayReturn reports whether a subscriber that is lost may connect again to a publisher
// that ends, or is about to: a Sender knows that it ends a moment before.
func (p *Publisher) mayReturn(instance string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state != publisherClosed && p.accounts.Returns(instance)
}

// giveUp ceases to wait for peers that cannot come back to a publisher that ends. Loop
// only, and mu is held.
func (p *Publisher) giveUp() {
	if p.draining {
		p.ownership.giveUp()
	}
}
