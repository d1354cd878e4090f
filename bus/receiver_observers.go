// SPDX-License-Identifier: Apache-2.0

package bus

import "tagbus/subscription"

// observe makes the connection of a guest an observer.
func (r *Receiver) observe(g *guest, h subscription.Hello) error {
	if err := observable(h); err != nil {
		return err
	}
	if r.draining.Load() {
		return ErrClosed
	}
	hello, err := r.sub.helloTo("", 0)
	if err != nil {
		return err
	}
	r.guests.Leave(g)
	r.observers.Enter(g.ep, hello, watching{g.peer, g.who})
	return nil
}
