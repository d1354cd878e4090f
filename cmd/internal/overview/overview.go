// SPDX-License-Identifier: Apache-2.0

// Package overview looks at a whole bus: what the directory lists, and what each entry says
// of itself. The commands of tagbus and the page show it.
//
// A [Watcher] makes an [Overview] with each look. Tables are made of it by
// [Overview.Instances] and [Overview.Links], [Sum], [Filter] and [Sorter].
package overview

import (
	"context"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/state"
)

// Asker asks an entry for its state, as observer.Observer does.
type Asker interface {
	Ask(ctx context.Context, e directory.Entry, q state.Question) (state.State, error)
}

// Overview is a bus at one time.
type Overview struct {
	Time    time.Time
	Rows    []Row  // in the order of the entries
	Problem error  // of the directory; the rows are valid all the same
	Dead    []Dead // what is left of instances that have gone without a word
	Full    bool   // the folder has more names than programs look at
}

// Dead is an instance that has gone without a word.
type Dead struct {
	Entry directory.Entry
	Since time.Time // when it gave a sign of life last
	Why   string    // how that is known
}

// Row is an entry of the directory and what it says of itself.
type Row struct {
	Entry  directory.Entry
	State  *state.State // nil: it did not answer
	Before *state.State // its answer of the look before, for rates; nil: there is none
	Err    error        // why it did not answer
	Told   bool         // State is what its peers say of it (Clients), by the clock of one of them

	SilentSince time.Time // when it was first asked without an answer since; zero: it has answered

	peersBefore map[string]*state.Peer // of Before, by instance; nil until it is needed
}

// Rate returns by how much a counter has grown in a second, between two looks. ok is false
// without an earlier look.
func (r *Row) Rate(counter func(*state.State) uint64) (perSecond float64, ok bool) {
	if r.State == nil || r.Before == nil {
		return 0, false
	}
	seconds := Passed(r.Before, r.State).Seconds()
	now, before := counter(r.State), counter(r.Before)
	if seconds <= 0 || now < before {
		return 0, false
	}
	return float64(now-before) / seconds, true
}
