// SPDX-License-Identifier: Apache-2.0

package snapshot_test

import (
	"slices"
	"testing"

	"tagbus/bus/internal/intake"
	"tagbus/bus/internal/ledger"
	"tagbus/bus/internal/snapshot"
	"tagbus/bus/state"
	"tagbus/subscription"
	"tagbus/tags"
)

// TestReceived adds up what publishers have sent of a tag, and leaves out what is beyond the limit.
func TestReceived(t *testing.T) {
	var sums snapshot.Received
	came := func(delivered, missed uint64) *ledger.Tally {
		tally := &ledger.Tally{Position: delivered + missed, Delivered: delivered}
		if missed > 0 {
			tally.Lose(subscription.CauseFull, missed)
		}
		return tally
	}
	for tag := tags.Tag(state.MaxTags); tag > 0; tag-- {
		if !sums.Add(tag, came(1, 0), false) {
			t.Fatalf("tag %v is left out", tag)
		}
	}
	if !sums.Add(5, came(2, 3), false) {
		t.Error("a tag of another publisher is left out")
	}
	if sums.Add(state.MaxTags+1, came(1, 0), false) || sums.Add(6, came(0, 0), false) {
		t.Error("one tag too many was added, or one of which nothing came")
	}
	all := sums.States()
	if len(all) != state.MaxTags || all[0].Tag != 1 {
		t.Fatalf("got %d tags, from %v, want %d from 1", len(all), all[0].Tag, state.MaxTags)
	}
	if x := all[4]; x.Tag != 5 || x.Messages != 3 || state.Lost(x.Losses) != 3 {
		t.Errorf("got %d messages of tag %v, and %v lost; want 3 of 5, and 3", x.Messages, x.Tag, x.Losses)
	}
}

// TestReceived_superseded: what a full queue has lost counts by its policy.
func TestReceived_superseded(t *testing.T) {
	var sums snapshot.Received
	for messages, superseded := range map[uint64]bool{5: false, 7: true} {
		tally := &ledger.Tally{Position: 10, Delivered: 10}
		tally.Drop(ledger.Queue, messages)
		tally.Drop(ledger.Panic, 1)
		sums.Add(1, tally, superseded)
	}
	want := []state.Loss{{Cause: state.Overflow, Messages: 5}, {Cause: state.Panic, Messages: 2}}
	if x := sums.States()[0]; x.Messages != 20 || x.LeftOut != 7 || !slices.Equal(x.Losses, want) {
		t.Errorf("got %d messages, %d left out and lost %v; want 20, 7 and %v", x.Messages, x.LeftOut, x.Losses, want)
	}
}

// Of what has come, what was left out on purpose is no loss.
func TestShowReceived(t *testing.T) {
	counts := intake.Counts{Messages: 5, Bytes: 50, Pages: 2, Unwanted: 1, Panics: 3, Superseded: 4}
	counts.Lost[subscription.CauseLeftOut], counts.Lost[ledger.Queue], counts.Lost[subscription.CauseFull] = 6, 7, 8
	var st state.State
	snapshot.ShowReceived(&st, &counts, new(ledger.Times))
	if st.Messages != 5 || st.PayloadBytes != 50 || st.LeftOut != 10 || state.Lost(st.Losses) != 15 {
		t.Errorf("got %d messages of %d bytes, %d left out, lost %v; want 5 of 50, 10, and 15", st.Messages, st.PayloadBytes, st.LeftOut, st.Losses)
	}
	if got, want := *st.Receiving, (state.Receiving{Pages: 2, Overflowed: 11, Unwanted: 1, Panics: 3}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	var peer state.Peer
	snapshot.ShowIntake(&peer, &intake.Sums{Messages: 5, Bytes: 50, Pages: 2, Losses: counts.Lost, Superseded: 4})
	if peer.Messages != 5 || peer.Bytes != 50 || peer.Pages != 2 || peer.LeftOut != 10 || state.Lost(peer.Losses) != 15 {
		t.Errorf("peer: got %+v", peer)
	}
}
