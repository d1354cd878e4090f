package bus

import "tagbus/subscription"

// unsubscribe ends a subscription and acknowledges that. It acknowledges an unknown one
// too, since the peer must not wait for ever. Loop only.
func (l *link) unsubscribe(id uint64) {
	n, set, leave := l.out.Unsubscribe(id)
	if n == nil {
		l.out.Send(nil, &subscription.Unsubscribed{ID: id})
		return
	}
	l.begin(linkJob{run: func(budget int) (steps int, done bool) {
		if steps, done = leave(budget); done {
			l.out.Send(n, &subscription.Unsubscribed{ID: id})
			l.event(Event{Kind: Unsubscribed, Peer: l.peer, Tags: set})
		}
		return steps, done
	}, abort: l.out.AbortUnsubscribe})
}

// unroute takes a subscriber out of all routes, for good, and then calls f. Loop
// only.
func (p *Publisher) unroute(l *link, f func()) {
	if !l.unrouting {
		l.owed = l.out.Subscriptions() > 0
	}
	if l.unrouted || p.chores.Ended() { // if the publisher has ended, nothing is published any more
		f()
		return
	}
	l.afterwards = append(l.afterwards, f)
	if l.unrouting {
		return
	}
	l.unrouting = true
	leave := l.out.Leave()
	l.begin(linkJob{run: func(budget int) (steps int, done bool) {
		if steps, done = leave(budget); done {
			l.wasUnrouted()
		}
		return steps, done
	}})
}

// wasUnrouted calls the functions that wait for the end of unrouting.
func (l *link) wasUnrouted() {
	l.unrouted = true
	for len(l.afterwards) > 0 {
		f := l.afterwards[0]
		l.afterwards = l.afterwards[1:]
		f()
	}
}

// sayGoodbye sends a subscriber the final positions when the publisher drains. Loop
// only.
func (l *link) sayGoodbye() {
	l.begin(linkJob{run: l.out.Farewell(), abort: func() {}})
}
