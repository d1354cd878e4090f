// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"tagbus/bus/internal/fanout"
	"tagbus/bus/internal/intake"
	"tagbus/bus/internal/topk"
	"tagbus/bus/state"
)

// Ranking chooses the peers that a state shows, and sums up all of them.
//
//   - C: a connection.
type Ranking[C any] struct {
	first topk.Heap[ranked[C]]
	by    Backends
}

type ranked[C any] struct {
	Rank
	conn C
}

// NewRanking returns one without peers.
//
//   - most: peers that are shown.
func NewRanking[C any](most int) *Ranking[C] {
	return &Ranking[C]{first: topk.New(most, func(a, b ranked[C]) int { return Before(a.Rank, b.Rank) })}
}

// Add adds a peer, and what it is to the sums of st.
//
//   - rank: without Fullest and Lost, which are those of out.
func (r *Ranking[C]) Add(st *state.State, conn C, backend string, out *fanout.Outbox, rank Rank) {
	rank.Fullest = out.Fullest()
	for _, n := range out.Lanes {
		sums := n.Account.Sums()
		rank.Lost += Lost(&sums.Lost)
	}
	if rank.Stalled {
		st.Stalled++
	}
	st.Fullest = max(st.Fullest, rank.Fullest)
	r.add(st, conn, backend, rank)
}

// AddSource is Add for a peer that sends to this side.
//
//   - rank: without Lost, which is that of sums.
func (r *Ranking[C]) AddSource(st *state.State, conn C, backend string, sums *intake.Sums, rank Rank) {
	rank.Lost = Lost(&sums.Losses)
	r.add(st, conn, backend, rank)
}

func (r *Ranking[C]) add(st *state.State, conn C, backend string, rank Rank) {
	st.Connected++
	r.by.Add(backend, 1)
	r.first.Add(ranked[C]{rank, conn})
}

// Shown returns the peers that are shown, in their order, and completes the sums of st.
func (r *Ranking[C]) Shown(st *state.State) (conns []C) {
	st.ByBackend = r.by.Connected()
	for _, x := range r.first.Sorted() {
		conns = append(conns, x.conn)
	}
	return conns
}
