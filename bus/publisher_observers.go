// SPDX-License-Identifier: Apache-2.0

package bus

import "tagbus/subscription"

// observe makes the connection of a link an observer. The link is forgotten: no subscriber
// has gone.
func (p *Publisher) observe(l *link, h subscription.Hello) error {
	if err := observable(h); err != nil {
		return err
	}
	if p.ends() {
		return ErrClosed
	}
	hello, err := p.helloTo("", 0)
	if err != nil {
		return err
	}
	p.guests.Leave(l)
	delete(p.connections, l)
	p.heart.Leave()
	l.out.Kill()
	l.out.BuryAll()
	p.observers.Enter(l.ep, hello, watching{l.peer, l.who})
	return p.leave()
}

// ends reports whether the publisher drains or is closed.
func (p *Publisher) ends() bool {
	p.fan.Mu.Lock()
	defer p.fan.Mu.Unlock()
	return p.state != publisherOpen
}
