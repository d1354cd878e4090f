package bus

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// An ending publisher owes an account to subscribers whose connections are just lost:
// messages on their way are in no count yet. It waits some seconds for these
// subscribers, accepts their connections, and lets them go like all others.

// returnTime is how long an ending publisher waits for a lost subscriber, from the loss
// on. It is the longest time between two tries of a subscriber, defaultReconnectMax.
const returnTime = 5 * time.Second

// beginDrain says goodbye to the connected subscribers, and begins to wait for those
// that may come back. Loop only.
func (p *Publisher) beginDrain() {
	p.fan.Mu.Lock()
	p.draining = true
	p.accounts.Await(returnTime)
	p.giveUp()
	p.noteDrained()
	links := make([]*link, 0, len(p.links))
	for l := range p.links {
		links = append(links, l)
	}
	p.fan.Mu.Unlock()
	for _, l := range links {
		p.farewell(l)
	}
}

// farewell says goodbye to a subscriber of an ending publisher, once, unless its
// subscriptions have yet to settle an account. It is called after the answer to each
// group of subscriptions: a refused group settles nothing, and nothing else follows it.
// Loop only.
func (p *Publisher) farewell(l *link) {
	p.fan.Mu.Lock()
	p.giveUp()
	early := !p.draining || !l.asked && p.accounts.Owes(l.peer.Instance, l)
	p.fan.Mu.Unlock()
	if early || l.dismissed || l.state != linkReady {
		return
	}
	l.dismissed = true
	l.sayGoodbye()
}

// awaitReturn waits until all subscribers have left. Lost ones have to come back and
// leave, or are given up.
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
				p.fan.Mu.Lock()
				p.noteDrained()
				p.fan.Mu.Unlock()
			})
		case <-ctx.Done():
			p.fan.Mu.Lock()
			left, lost := len(p.links), p.unreturned()
			p.fan.Mu.Unlock()
			if left == 0 && lost != nil {
				return fmt.Errorf("%w: %w", lost, context.Cause(ctx))
			}
			return errors.Join(lost, fmt.Errorf("bus: drain: subscribers that have not received everything: %d: %w", left, context.Cause(ctx)))
		}
	}
}

// unreturned returns an error if connections ended before or during the Drain and their
// subscribers have not come back. mu is held.
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
	p.fan.Mu.Lock()
	defer p.fan.Mu.Unlock()
	return p.state != publisherClosed && p.accounts.Returns(instance)
}

// giveUp stops waiting for peers that cannot come back to an ending publisher. Loop
// only, and mu is held.
func (p *Publisher) giveUp() {
	if p.draining {
		p.ownership.giveUp()
	}
}
