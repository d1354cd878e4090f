// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"context"
	"fmt"
	"time"

	"tagbus/bus/internal/ledger"
	"tagbus/bus/internal/portrait"
	"tagbus/bus/state"
	"tagbus/subscription"
	"tagbus/tags"
)

// State returns what the subscriber knows of itself and of its publishers. It has no
// Busiest and no rates: publishers have them.
//
//   - q: how much; beyond its limits it counts as Question.Bounded.
//   - Errors: ErrClosed; ErrOnLoop on the loop of another node; the cause of the end of
//     ctx, wrapped.
//   - Threads: any. Blocks: until the loop has collected the result between other work. On
//     the loop it collects the result itself, at once.
func (s *Subscriber) State(ctx context.Context, q state.Question) (state.State, error) {
	return s.portrayed(ctx, q.Bounded(), s.portray)
}

// State returns what the receiver knows of itself and of its senders; see
// Subscriber.State.
func (r *Receiver) State(ctx context.Context, q state.Question) (state.State, error) {
	return r.sub.portrayed(ctx, q.Bounded(), r.portray)
}

// portrayed returns the result of f, which runs on the loop.
func (s *Subscriber) portrayed(ctx context.Context, q state.Question, f func(state.Question) state.State) (state.State, error) {
	switch {
	case s.closed.Load():
		return state.State{}, ErrClosed
	case s.loop.OnLoop():
		return f(q), nil
	case s.loop.OnAnyLoop():
		return state.State{}, ErrOnLoop
	}
	result := make(chan state.State, 1)
	if !s.loop.Post(func() { result <- f(q) }) {
		return state.State{}, ErrClosed
	}
	select {
	case st := <-result:
		return st, nil
	case <-s.closer.Ended():
		return state.State{}, ErrClosed
	case <-ctx.Done():
		return state.State{}, fmt.Errorf("bus: state: %w", context.Cause(ctx))
	}
}

// portray returns the state of a receiver. Loop only.
func (r *Receiver) portray(q state.Question) state.State {
	st := r.sub.portray(q)
	st.Role = state.Receiver
	if at := r.at.Load(); at != nil {
		for _, addr := range *at {
			st.Addresses = append(st.Addresses, addr.String())
		}
	}
	return st
}

// rankedSource is a publisher that may be shown.
type rankedSource struct {
	portrait.Rank
	src *source
}

// portray returns the state of this side. q is within its limits. Loop only.
func (s *Subscriber) portray(q state.Question) state.State {
	st := portrait.New(state.Subscriber, portrait.Time(time.Now()))
	st.Tags, st.TagParts = portrait.Text(s.wanted())
	st.Instance, st.Name, st.Host, st.Since = s.instance, s.cfg.Name, s.host, portrait.Time(s.opened)
	st.Backend, st.MaxMessageBytes = s.backend.Name(), s.cfg.MaxMessageBytes
	c := &s.counters
	var lost ledger.Counts
	for cause := range lost {
		lost[cause] = c.lost[cause].Load()
	}
	st.Messages, st.PayloadBytes, st.LeftOut = c.messages.Load(), c.bytes.Load(), lost[subscription.CauseLeftOut]
	st.Silent, st.Broken, st.EntryFailing = c.silent.Load(), c.broken.Load(), c.entryFailing.Load()
	st.Losses = portrait.Losses(&lost, &s.lostAt)
	st.Receiving = &state.Receiving{
		Pages: c.pages.Load(), Overflowed: lost[ledger.Queue], Unwanted: c.unwanted.Load(), Panics: c.panics.Load(),
	}
	x := st.Receiving
	x.Retained, x.RetainedBytes, x.RetainRefusals = s.retainer.Stats()
	first := portrait.NewFirst(q.Peers, func(a, b rankedSource) int { return portrait.Before(a.Rank, b.Rank) })
	for _, src := range s.sources {
		for _, lane := range src.lanes {
			st.KnownTags += lane.received.Len()
		}
		if src.contact.Ready() && src.contact.ep != nil {
			st.Connected++
			first.Add(rankedSource{portrait.Rank{Lost: portrait.Lost(&src.losses), Name: src.contact.peer.Instance}, src})
		}
	}
	for _, r := range first.Sorted() {
		peer := r.src.contact.peer.portray(r.src.contact.Since())
		peer.Heard = portrait.Time(r.src.pulse.Heard())
		peer.LeftOut, peer.Losses = r.src.losses[subscription.CauseLeftOut], portrait.Losses(&r.src.losses, &r.src.lossTimes)
		portrayDistance(&peer, r.src.contact.ep)
		st.Peers = append(st.Peers, peer)
	}
	return st
}

// maxWantedParts bounds the sets that are united for a state.
const maxWantedParts = 256

// wanted returns what the open subscriptions want together, and how many parts that has;
// or some of it, if it has very many parts.
func (s *Subscriber) wanted() (some tags.Set, parts int) {
	for sub := range s.subs.All {
		if parts += sub.live.Parts(); some.Parts() <= maxWantedParts {
			some = some.Union(sub.live)
		}
	}
	if some.Parts() <= maxWantedParts {
		parts = some.Parts()
	}
	return some, parts
}
