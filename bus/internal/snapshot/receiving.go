// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"maps"
	"slices"

	"tagbus/bus/internal/intake"
	"tagbus/bus/internal/ledger"
	"tagbus/bus/state"
	"tagbus/subscription"
	"tagbus/tags"
)

// Received sums up what has come of tags, of not too many of them. The zero value has none.
type Received struct{ sums map[tags.Tag]*received }

type received struct {
	delivered uint64
	lost      ledger.Counts
}

// Add adds what has come of a tag of one publisher, if that is anything, and reports whether
// it has: what is of more than state.MaxTags tags is left out.
//
//   - superseded: what a full queue has lost is left out on purpose, as the policy Latest does.
func (r *Received) Add(tag tags.Tag, tally *ledger.Tally, superseded bool) (added bool) {
	if tally.Position == tally.Unwanted {
		return false
	}
	sum := r.sums[tag]
	if sum == nil {
		if len(r.sums) == state.MaxTags {
			return false
		}
		if r.sums == nil {
			r.sums = make(map[tags.Tag]*received)
		}
		sum = new(received)
		r.sums[tag] = sum
	}
	lost := tally.Lost()
	if superseded {
		lost[subscription.CauseLeftOut] += lost[ledger.Queue]
		lost[ledger.Queue] = 0
	}
	sum.delivered += tally.Delivered
	sum.lost.Add(&lost)
	return true
}

// States returns the states of the tags, ascending.
func (r *Received) States() (all []state.Tag) {
	for _, tag := range slices.Sorted(maps.Keys(r.sums)) {
		sum := r.sums[tag]
		all = append(all, state.Tag{
			Tag: tag, Messages: sum.delivered, LeftOut: sum.lost[subscription.CauseLeftOut], Losses: Losses(&sum.lost, new(ledger.Times)),
		})
	}
	return all
}

// ShowReceived puts what has come of all publishers into the state of a subscriber.
//
//   - at: when messages were lost.
func ShowReceived(st *state.State, c *intake.Counts, at *ledger.Times) {
	st.Messages, st.PayloadBytes, st.LeftOut = c.Messages, c.Bytes, c.Lost[subscription.CauseLeftOut]+c.Superseded
	st.Losses = Losses(&c.Lost, at)
	st.Receiving = &state.Receiving{Pages: c.Pages, Overflowed: c.Overflowed(), Unwanted: c.Unwanted, Panics: c.Panics}
}

// ShowIntake puts what has come of a publisher into its state.
func ShowIntake(peer *state.Peer, sums *intake.Sums) {
	peer.Messages, peer.Bytes, peer.Pages = sums.Messages, sums.Bytes, sums.Pages
	peer.LeftOut, peer.Losses = sums.Losses[subscription.CauseLeftOut]+sums.Superseded, Losses(&sums.Losses, &sums.Times)
}
