package bus

// startPatience begins the wait for the first acknowledgement of a subscription. Loop
// only.
func (s *Subscriber) startPatience(sub *Subscription) {
	if sub.cfg.Timeout > 0 {
		sub.patience.F = func() { s.giveUp(sub) }
		s.alarms.Set(&sub.patience, sub.cfg.Timeout)
	}
}

// stopPatience ends that wait. Loop only.
func (s *Subscriber) stopPatience(sub *Subscription) { s.alarms.Cancel(&sub.patience) }

// giveUp ends a subscription that no publisher has acknowledged in time.
func (s *Subscriber) giveUp(sub *Subscription) {
	if sub.closed.Swap(true) {
		return
	}
	err := &NoPublisherError{Tags: sub.live, Waited: sub.cfg.Timeout}
	for _, src := range s.sources {
		if r := src.requests.Of(sub.id); r != nil && r.Denied() != nil {
			err.Err = r.Denied()
		}
	}
	sub.settle(err)
	if sub.queue != nil {
		sub.queue.close(err)
	}
	s.remove(sub)
	s.event(Event{Kind: Problem, Tags: sub.live, Err: err})
}
