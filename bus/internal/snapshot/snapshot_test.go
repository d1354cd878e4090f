// SPDX-License-Identifier: Apache-2.0

package snapshot_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tagbus/bus/internal/coarseclock"
	"tagbus/bus/internal/ledger"
	"tagbus/bus/internal/snapshot"
	"tagbus/bus/state"
	"tagbus/internal/testkit/wallclock"
	"tagbus/subscription"
	"tagbus/tags"
)

// The text of a set has whole items only, and no more bytes than a state may have.
func TestTheTextOfTagsIsCutBetweenItems(t *testing.T) {
	var many []tags.Tag
	for i := range 1000 {
		many = append(many, 0x1000013000000000+tags.Tag(2*i))
	}
	for _, test := range []struct {
		name  string
		set   tags.Set
		parts int
		cut   bool
	}{
		{"none", tags.Set{}, 0, false},
		{"few", tags.Of(1, 5), 2, false},
		{"as many as fit", tags.Of(many[:53]...), 53, false},
		{"one more", tags.Of(many[:54]...), 54, true},
		{"many", tags.Of(many...), 1000, true},
		{"of more", tags.Of(1, 5), 3, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			text, parts := snapshot.Text(test.set, test.parts)
			if parts != test.parts || len(text) > state.MaxTagsText {
				t.Errorf("got %d parts and %d bytes, want %d and up to %d", parts, len(text), test.parts, state.MaxTagsText)
			}
			kept, cut := strings.CutSuffix(text, ",...")
			if cut != test.cut || !strings.HasPrefix(test.set.String(), kept) {
				t.Fatalf("got %q, want the beginning of the set, cut %v", text, test.cut)
			}
			got, err := tags.ParseSet(kept)
			if err != nil {
				t.Fatalf("what is kept: %v", err)
			}
			if left := test.set.String()[len(kept):]; left != "" && left[0] != ',' || !test.cut && !got.Equal(test.set) {
				t.Errorf("got %q before %q, want whole items", kept, left)
			}
		})
	}
}

func TestPeersInTrouble(t *testing.T) {
	want := []snapshot.Rank{
		{Stalled: true, Fullest: 0.1},
		{Stalled: true, Lost: 5},
		{CutOff: 3},
		{CutOff: 2, Fullest: 1, Lost: 100},
		{Fullest: 1},
		{Fullest: 0.5, Lost: 2},
		{Fullest: 0.5, Lost: 1},
		{Name: "a"},
		{Name: "b"},
	}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, snapshot.Before)
	if !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// A front-end boots with a wrong clock, which is set while it runs.
func TestAClockThatIsSetChangesNoAge(t *testing.T) {
	began := time.Now()
	for _, set := range []time.Duration{0, 3 * time.Hour, -2 * time.Hour} {
		now := wallclock.Set(began.Add(time.Minute), set)
		st := snapshot.New(state.Publisher, snapshot.Time(now))
		st.Since, st.Gone = snapshot.Time(began), []state.Peer{{Ended: snapshot.Time(began.Add(50 * time.Second))}}
		st.Losses = []state.Loss{{Last: coarseclock.Time(coarseclock.Of(began))}}
		st = snapshot.Shown(st, now)
		if ran, ago, lost := st.Time.Sub(st.Since), st.Time.Sub(st.Gone[0].Ended), st.Time.Sub(st.Losses[0].Last); ran != time.Minute || ago != 10*time.Second || lost < time.Minute || lost > time.Minute+time.Second {
			t.Errorf("the clock is set by %v: it runs for %v, a peer has gone %v ago and messages were lost %v ago, want 1m0s, 10s and 1m0s", set, ran, ago, lost)
		}
		if off := now.Round(0).Sub(st.Time); off.Abs() > time.Second {
			t.Errorf("the clock is set by %v: the state is of %v before", set, off)
		}
	}
}

func TestLossesHaveTheirCauses(t *testing.T) {
	counts := ledger.Counts{
		ledger.Ended: 1, subscription.CauseFull: 2, subscription.CauseMemory: 3,
		subscription.CauseConnection: 4, subscription.CauseLeftOut: 5, ledger.Queue: 6,
	}
	var times, later ledger.Times
	for _, at := range []uint32{7, 8, 9} {
		times.Note(subscription.CauseFull, at)
	}
	later.Note(subscription.CauseFull, 11)
	later.Note(subscription.CauseMemory, 12)
	times.Add(&later)
	want := []state.Loss{
		{Cause: state.Full, Messages: 2, First: time.Unix(7, 0).UTC(), Last: time.Unix(11, 0).UTC()},
		{Cause: state.Memory, Messages: 3, First: time.Unix(12, 0).UTC(), Last: time.Unix(12, 0).UTC()},
		{Cause: state.Connection, Messages: 4},
		{Cause: state.Ended, Messages: 1},
		{Cause: state.Overflow, Messages: 6},
	}
	if got := snapshot.Losses(&counts, &times); !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := snapshot.Lost(&counts); got != state.Lost(want) {
		t.Errorf("got %d lost, want %d", got, state.Lost(want))
	}
}
