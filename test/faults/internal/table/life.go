// SPDX-License-Identifier: Apache-2.0

package table

import (
	"errors"
	"time"
)

// Begin starts a publisher on one host, a subscriber on the other one, which most faults are done to, and a
// subscriber beside the publisher. It returns when messages flow.
func (c *Case) Begin(flags ...string) (publisher, victim, other *Program) {
	publisher = c.Publisher("publisher", c.A, append([]string{"-usr1", "-subscribers", "2"}, flags...)...)
	publisher.Says("ready")
	victim = c.Subscriber("victim", c.Far())
	other = c.Subscriber("other", c.A)
	c.Go(publisher, victim, other)
	return publisher, victim, other
}

// Go lets a publisher with the flag -usr1 begin, when all subscribers are complete, and waits until messages flow.
func (c *Case) Go(publisher *Program, subscribers ...*Program) {
	for _, s := range subscribers {
		s.Says("complete")
	}
	c.Must(publisher.Signal(sigusr1))
	publisher.Says("begins")
	for _, s := range subscribers {
		s.flows(Patience)
	}
}

// Lossless notes that no connection breaks: what is not left out by a policy is not lost.
func (c *Case) Lossless() { c.lossless = true }

// Finish ends the publishers in order, waits for the subscribers, and has the checker compare both ends.
func (c *Case) Finish() {
	asked := c.Now()
	for _, p := range c.publishers {
		if !p.gone() {
			c.Must(p.Signal(sigterm))
		}
	}
	for _, p := range c.publishers {
		if !p.Killed {
			p.Exits(0)
			if l, ok := p.find("ended", 0); ok {
				c.Took("publisher ends", time.Duration(l.At-asked), 5*time.Second)
			}
		}
	}
	for _, s := range c.subscribers {
		if !s.Killed {
			s.hasAll()
			c.Must(s.Signal(sigterm))
			s.Exits(0)
		}
	}
	c.Verify()
}

// Verify has the checker compare both ends.
func (c *Case) Verify() {
	var errs []error
	var all account
	for _, s := range c.subscribers {
		for _, p := range c.publishers {
			errs = append(errs, c.compare(p, s, &all))
		}
	}
	c.Note("%s", all)
	c.Must(errors.Join(errs...))
}
