package bus

import (
	"fmt"
	"slices"

	"tagbus/bus/internal/tagset"
	"tagbus/subscription"
	"tagbus/tags"
)

// Subscribe asks every publisher, also later ones, for the tags of a set. Messages may
// arrive before it returns. It is SubscribeWith with the zero SubscriptionConfig.
func (s *Subscriber) Subscribe(set tags.Set, h Handler) (*Subscription, error) {
	return s.SubscribeWith(set, h, SubscriptionConfig{})
}

// SubscribeWith is Subscribe with a SubscriptionConfig.
//
//   - h: called for each message, on the loop; it must not block. A nil
//     handler queues the messages for Subscription.Messages.
//   - Result: the subscription; its Wait waits for the acknowledgement.
//   - Errors: ErrEmptySet; subscription.ErrTooManyTags, wrapped; those of
//     SubscriptionConfig.Validate; ErrTooManyPolicies; ErrClosed.
//   - Blocks: never.
func (s *Subscriber) SubscribeWith(set tags.Set, h Handler, cfg SubscriptionConfig) (*Subscription, error) {
	return s.subscribe(set, h, nil, cfg)
}

// SubscribeBatch is SubscribeWith for a handler that takes all messages of a page
// at once, for example to write them together. A nil handler queues.
func (s *Subscriber) SubscribeBatch(set tags.Set, h BatchHandler, cfg SubscriptionConfig) (*Subscription, error) {
	return s.subscribe(set, nil, h, cfg)
}

func (s *Subscriber) subscribe(set tags.Set, h Handler, batch BatchHandler, cfg SubscriptionConfig) (*Subscription, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if set.IsEmpty() {
		return nil, ErrEmptySet
	}
	if n := set.Parts(); n > subscription.MaxParts {
		return nil, fmt.Errorf("bus: subscribe: %w", tagset.TooMany(n))
	}
	lane, err := s.laneFor(cfg)
	if err != nil {
		return nil, err
	}
	sub := newSubscription(s, s.nextID.Add(1), set, h, batch, cfg, lane)
	if s.closed.Load() || !s.loop.Post(func() { s.add(sub) }) {
		return nil, ErrClosed
	}
	return sub, nil
}

// laneFor returns the lane of subscriptions that are treated alike. Lanes are
// never given up: a publisher knows them as long as the connection lives.
func (s *Subscriber) laneFor(cfg SubscriptionConfig) (uint16, error) {
	cfg = cfg.lane()
	s.laneMu.Lock()
	defer s.laneMu.Unlock()
	i := slices.Index(s.laneConfigs, cfg)
	if i < 0 {
		if i = len(s.laneConfigs); i == maxLanes {
			return 0, ErrTooManyPolicies
		}
		s.laneConfigs = append(s.laneConfigs, cfg)
	}
	return uint16(i), nil
}

// add makes a subscription known. Loop only.
func (s *Subscriber) add(sub *Subscription) {
	if s.closed.Load() || sub.closed.Load() {
		sub.finish(ErrClosed)
		return
	}
	s.subs.add(sub)
	if sub.cfg.Duplicates != DuplicatesAll {
		s.choosy++
	}
	s.startPatience(sub)
	for _, src := range s.sources {
		src.considerOne(sub)
	}
}

// remove ends a subscription. Loop only.
func (s *Subscriber) remove(sub *Subscription) {
	if s.subs.has(sub) && sub.cfg.Duplicates != DuplicatesAll {
		s.choosy--
	}
	s.subs.remove(sub)
	s.leaving[sub.id] = sub
	s.stopPatience(sub)
	sub.unpause()
	for _, src := range s.sources {
		src.unsubscribe(sub)
	}
	sub.maybeEnded()
}

// retire ends a subscription that still takes the messages on their way. Loop only.
func (s *Subscriber) retire(sub *Subscription) {
	if !sub.over() && s.subs.has(sub) {
		sub.retired = true
		s.remove(sub)
	}
}
