// SPDX-License-Identifier: Apache-2.0

package snapshot_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tagbus/bus/internal/fanout"
	"tagbus/bus/internal/snapshot"
	"tagbus/bus/state"
)

func TestRanking(t *testing.T) {
	var st state.State
	var idle fanout.Outbox
	ranking := snapshot.NewRanking[string](4)
	for _, x := range []struct {
		backend string
		rank    snapshot.Rank
	}{
		{"tcp", snapshot.Rank{Name: "b"}},
		{"shm", snapshot.Rank{Name: "c", CutOff: 2}},
		{"tcp", snapshot.Rank{Name: "a"}},
		{"tcp", snapshot.Rank{Name: "e", Denied: true}},
		{"tcp", snapshot.Rank{Name: "d", Stalled: true}},
	} {
		ranking.Add(&st, x.rank.Name, x.backend, &idle, x.rank)
	}
	if got := ranking.Shown(&st); !slices.Equal(got, []string{"d", "c", "e", "a"}) {
		t.Errorf("got %v, want the stalled one, then the one that was cut off, then the one that lacks tags, then by name", got)
	}
	want := state.State{Connected: 5, Stalled: 1, ByBackend: []state.BackendCount{{Backend: "tcp", Connected: 4}, {Backend: "shm", Connected: 1}}}
	if diff := cmp.Diff(want, st); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestLast(t *testing.T) {
	began := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	stalled := errors.New("takes nothing")
	first := snapshot.Last{Since: began, Messages: 7, Bytes: 70, Pages: 2, Heard: began.Add(time.Second), Ended: began.Add(time.Minute), Cause: stalled}
	first.Remember(3, 3, stalled)
	var peer state.Peer
	first.Show(&peer)
	want := state.Peer{
		Messages: 7, Bytes: 70, Pages: 2, Heard: first.Heard, Ended: first.Ended, Reason: "takes nothing",
		UnconfirmedFrom: first.Heard, UnconfirmedTo: first.Ended,
		Broken: 1, StallsEnded: 1, FirstBroken: first.Ended, LastBroken: first.Ended, BrokenReason: "takes nothing",
	}
	if diff := cmp.Diff(want, peer); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}

	second := snapshot.Last{Past: first.Past, Since: began.Add(time.Hour), Heard: began.Add(2 * time.Hour), Ended: began.Add(3 * time.Hour)}
	second.Remember(2, 5, stalled)
	peer = state.Peer{}
	second.Show(&peer)
	want = state.Peer{
		Heard: second.Heard, Ended: second.Ended, UnconfirmedFrom: first.Heard, UnconfirmedTo: second.Ended,
		Broken: 1, StallsEnded: 1, FirstBroken: first.Ended, LastBroken: first.Ended, BrokenReason: "takes nothing",
	}
	if diff := cmp.Diff(want, peer); diff != "" {
		t.Errorf("after one in order: -want +got:\n%s", diff)
	}
}
