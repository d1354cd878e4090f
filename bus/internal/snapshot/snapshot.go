// SPDX-License-Identifier: Apache-2.0

// Package snapshot makes what the states of all instances have in common, and chooses the
// peers that they show.
package snapshot

import (
	"cmp"
	"os"
	"time"

	"tagbus/bus/internal/coarseclock"
	"tagbus/bus/internal/ledger"
	"tagbus/bus/internal/steady"
	"tagbus/bus/state"
	"tagbus/internal/build"
	"tagbus/subscription"
	"tagbus/tags"
)

// New returns the state of an instance of this process, with what is the same for all of
// them.
func New(role state.Role, now time.Time) state.State {
	program, version := build.Version()
	return state.State{Version: state.Version, Time: now, Role: role, PID: os.Getpid(), Program: program, Go: version}
}

// Time returns a time as states have it until they are shown: by the steady clock.
func Time(t time.Time) time.Time { return steady.Time(t) }

// Shown returns a state with its times by the clock of the host as it goes now. So they are as long
// before State.Time as what they are of, though the clock was set meanwhile.
//
//   - now: as time.Now returns it.
func Shown(st state.State, now time.Time) state.State { return st.Moved(steady.Ahead(now)) }

// cut stands for the items of a set that have no room.
const cut = ",..."

// Text returns the text of a set as a state has it, as many whole items as have room, and
// parts.
//
//   - parts: of the whole set, of which this may be some.
func Text(of tags.Set, parts int) (text string, _ int) {
	text, all := of.Short(state.MaxTagsText)
	if !all || parts > of.Parts() {
		text, _ = of.Short(state.MaxTagsText - len(cut))
		text += cut
	}
	return text, parts
}

// causes are those of the losses of a state, in their order there.
var causes = [...]struct {
	cause subscription.Cause
	name  state.Cause
}{
	{subscription.CauseFull, state.Full},
	{subscription.CauseMemory, state.Memory},
	{subscription.CauseConnection, state.Connection},
	{ledger.Ended, state.Ended},
	{ledger.Queue, state.Overflow},
	{ledger.Panic, state.Panic},
}

// Losses returns what was lost, by cause. What was left out on purpose is none of it.
func Losses(counts *ledger.Counts, times *ledger.Times) (losses []state.Loss) {
	for _, c := range causes {
		if n, at := counts[c.cause], times[c.cause]; n > 0 {
			losses = append(losses, state.Loss{Cause: c.name, Messages: n, First: coarseclock.Time(at.First), Last: coarseclock.Time(at.Last)})
		}
	}
	return losses
}

// Lost returns how many messages were lost, without those left out on purpose.
func Lost(counts *ledger.Counts) uint64 {
	return counts.Sum() - counts[subscription.CauseLeftOut]
}

// Rank is what decides which peers a state shows.
type Rank struct {
	Stalled bool
	CutOff  uint64  // Past.CutOff
	Denied  bool    // wants tags that a policy keeps from it
	Fullest float64 // share of its limit that a queue of the peer holds
	Lost    uint64
	Name    string // decides between peers that are alike
}

// Before orders peers: those that are stalled, then those that were cut off most often of late, whose
// queues are new and empty, then those that lack tags, then those with the fullest queues, then those with losses.
// The result is negative if a comes first.
func Before(a, b Rank) int {
	return cmp.Or(first(a.Stalled, b.Stalled), cmp.Compare(b.CutOff, a.CutOff), first(a.Denied, b.Denied), cmp.Compare(b.Fullest, a.Fullest), cmp.Compare(b.Lost, a.Lost), cmp.Compare(a.Name, b.Name))
}

// first orders by what is so of a and of b: what it is so of comes first.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	default:
		return 1
	}
}
