// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"context"
	"time"

	"tagbus/bus/internal/intake"
	"tagbus/bus/internal/snapshot"
	"tagbus/bus/internal/tagset"
	"tagbus/bus/internal/workqueue"
	"tagbus/bus/state"
	"tagbus/netio"
	"tagbus/tags"
)

// State returns what the subscriber knows of itself and of its publishers. A tag counts once
// in KnownTags for each publisher and policy. There are no busiest tags, and no bytes, times
// and rates of tags: publishers have them. A tag that is asked for has what was delivered
// of it.
//
//   - q: how much; beyond its limits it counts as Question.Bounded.
//   - Errors: ErrClosed; ErrOnLoop on the loop of another node; the cause of the end of
//     ctx, wrapped.
//   - Threads: any. Blocks: until the loop has collected the result between other work, as
//     for TagStats if there are tags in q. On the loop it collects the result itself, at
//     once.
func (handle *Subscriber) State(ctx context.Context, q state.Question) (state.State, error) {
	s := subscriberOf(handle)
	return s.stateWith(ctx, q.Bounded(), s.snapshot)
}

// State returns what the receiver knows of itself and of its senders; see
// Subscriber.State.
func (handle *Receiver) State(ctx context.Context, q state.Question) (state.State, error) {
	r := receiverOf(handle)
	return r.sub.stateWith(ctx, q.Bounded(), r.snapshot)
}

// stateWith returns the result of f, which runs on the loop, with the tags that are asked
// for.
func (s *subscriberImpl) stateWith(ctx context.Context, q state.Question, f func(state.Question) state.State) (state.State, error) {
	if s.closed.Load() {
		return state.State{}, ErrClosed
	}
	st, err := workqueue.Ask(ctx, s.asked(), func(tell func(state.State)) workqueue.Job {
		return s.stateOfTags(ctx, q.Tags, func(all []state.Tag) {
			st := f(q)
			st.Asked = all
			tell(snapshot.Shown(st, time.Now()))
		})
	})
	return st, unanswered("state", err)
}

// stateOfTags returns the job that calls tell with the states of the tags of a set of which
// something was received or lost, of not too many of them, unless ctx ends. Loop only.
func (s *subscriberImpl) stateOfTags(ctx context.Context, set tags.Set, tell func([]state.Tag)) workqueue.Job {
	if set.IsEmpty() {
		return func(int) (steps int, done bool) { tell(nil); return 1, true }
	}
	var sums snapshot.Received
	configs := s.lanes.All()
	return intake.Walk(ctx, s.met(), intakeOf, func(at receivedPart, e *knownTag) (steps int) {
		if !set.Contains(e.Tag) || !sums.Add(e.Tag, &e.Value.Tally, configs[at.Lane].Policy.Kind == Latest) {
			return 0
		}
		return intake.StepsPerTag
	}, func() { tell(sums.States()) })
}

// snapshot returns the state of a receiver. Loop only.
func (r *receiverImpl) snapshot(q state.Question) state.State {
	st := r.sub.snapshot(q)
	st.Role = state.Receiver
	st.Gone = r.sub.pasts.Gone(q.Peers, time.Now(), r.sub.isConnected) // no directory tells of senders
	return st
}

// snapshot returns the state of this side. q is within its limits. Loop only.
func (s *subscriberImpl) snapshot(q state.Question) state.State {
	now := time.Now()
	st := s.state(state.Subscriber, now)
	st.Tags, st.TagParts = snapshot.Text(s.wanted())
	st.MaxMessageBytes = s.cfg.MaxMessageBytes
	c, counts := &s.counters, s.counters.Counts()
	snapshot.ShowReceived(&st, &counts, c.LostAt())
	x := st.Receiving
	x.Retained, x.RetainedBytes, x.RetainRefusals = s.retainer.Stats()
	ranking := snapshot.NewRanking[*source](q.Peers)
	var eps []netio.Endpoint
	for _, src := range s.sources {
		for lane := range src.in.Lanes() {
			st.KnownTags += src.in.Known(lane).Len()
		}
		if src.contact.Connected() {
			eps = append(eps, src.contact.Ep)
			past, peer := s.pasts.Of(src.contact.Peer.Instance), src.contact.Peer
			ranking.AddSource(&st, src, peer.Backend, src.in.Sums(), snapshot.Rank{CutOff: past.CutOff(now), Name: peer.Instance})
		}
	}
	st.Path = snapshot.SumPaths(eps)
	for _, src := range ranking.Shown(&st) {
		peer, past := src.state(), s.pasts.Of(src.contact.Peer.Instance)
		past.Show(&peer)
		snapshot.ShowPath(&peer, src.contact.Ep)
		peer.Passed = src.contact.PassedWays(peer.Backend)
		if !src.unsendable.IsEmpty() {
			peer.Denied, _ = snapshot.Text(src.unsendable, src.unsendable.Parts())
		}
		st.Peers = append(st.Peers, peer)
	}
	return st
}

// state returns the state of a publisher, of its last connection if it has none.
func (src *source) state() state.Peer {
	peer := src.contact.Peer.state(src.contact.Since())
	snapshot.ShowIntake(&peer, src.in.Sums())
	peer.Heard = snapshot.Time(src.pulse.Heard())
	return peer
}

// isConnected reports whether a publisher is connected, and both have said hello.
func (s *subscriberImpl) isConnected(instance string) bool {
	src := s.sources[instance]
	return src != nil && src.contact.Connected()
}

// remember notes how the connection to a publisher has ended.
//
//   - cause: nil: in order.
func (s *subscriberImpl) remember(src *source, cause error) {
	switch {
	case cause != nil:
		s.pasts.Broke(src.state(), time.Now(), cause, ErrStalled, s.isConnected)
	case src.contact.Ended:
		s.pasts.Ended(src.contact.Peer.Instance)
	}
}

// wanted returns what the open subscriptions want together, and how many parts that has;
// or some of it, if it has very many parts.
func (s *subscriberImpl) wanted() (some tags.Set, parts int) {
	return tagset.Some(func(yield func(tags.Set) bool) {
		for sub := range s.subs.All {
			if !yield(sub.live) {
				return
			}
		}
	})
}

// listed returns what the directory says that the subscriber wants. ok is false at its end.
// Blocks: for the loop.
func (s *subscriberImpl) listed() (set tags.Set, ok bool) {
	result := make(chan tags.Set, 1)
	if !s.loop.Post(func() {
		wanted, _ := s.wanted()
		result <- wanted
	}) {
		return set, false
	}
	select {
	case set = <-result:
		return set, true
	case <-s.closer.Ended():
		return set, false
	}
}

// Offers looks which publishers of the directory have a tag of a set, and if none has,
// which are nearest to it. Distances are to the lowest 64 ranges and patterns of the set.
//
//   - Errors: ErrClosed; ErrOnLoop on the loop of another node; the cause of the end of
//     ctx.
//   - Threads: any. Blocks: until the loop has looked, between other work: some 100 ms for
//     10,000 publishers. On the loop it looks at once.
func (handle *Subscriber) Offers(ctx context.Context, wanted tags.Set) (Offers, error) {
	s := subscriberOf(handle)
	if s.closed.Load() {
		return Offers{}, ErrClosed
	}
	return s.offers(ctx, wanted, false, func(yield func(*peerContact) bool) {
		for _, src := range s.sources {
			if !yield(&src.contact) {
				return
			}
		}
	})
}
