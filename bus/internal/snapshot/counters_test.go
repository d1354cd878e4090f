// SPDX-License-Identifier: Apache-2.0

package snapshot_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"tagbus/bus/internal/snapshot"
	"tagbus/bus/state"
	"tagbus/tags"
)

func TestBackends(t *testing.T) {
	var b snapshot.Backends
	for _, backend := range []string{"tcp", "shm", "tls", "shm"} {
		b.Add(backend, 1)
	}
	b.Add("tls", -1)
	if got, want := b.All(), []state.BackendCount{{Backend: "tcp", Connected: 1}, {Backend: "shm", Connected: 2}, {Backend: "tls"}}; !slices.Equal(got, want) {
		t.Errorf("all: got %v, want %v", got, want)
	}
	if got, want := b.Connected(), []state.BackendCount{{Backend: "shm", Connected: 2}, {Backend: "tcp", Connected: 1}}; !slices.Equal(got, want) {
		t.Errorf("connected: got %v, want %v", got, want)
	}
	b.Add("tcp", -1)
	b.Add("shm", -2)
	if got := b.Connected(); got != nil {
		t.Errorf("connected: got %v, want nil, as JSON reads it", got)
	}
}

// held is a cause for which this side is to blame.
type held struct{ error }

func (held) OwnStall() time.Duration { return time.Second }

func TestEndings(t *testing.T) {
	var n snapshot.Endings
	for _, cause := range []error{nil, errors.New("cut"), fmt.Errorf("wrapped: %w", held{errors.New("slow")})} {
		n.Add(cause)
	}
	if n.All() != 2 || n.Own() != 1 {
		t.Errorf("got %d, of which %d are this side's own; want 2 and 1", n.All(), n.Own())
	}
}

// TestLowest shows the smallest number for a minute at least, and two at most.
func TestLowest(t *testing.T) {
	var w snapshot.Lowest
	now := time.Now()
	for _, step := range []struct {
		after   time.Duration
		n, want int
	}{
		{0, 9, 9},
		{time.Second, 3, 3},
		{58 * time.Second, 8, 3},
		{time.Second, 8, 3},
		{time.Second, 7, 3},
		{58 * time.Second, 8, 3}, // the second minute
		{time.Second, 8, 7},
		{2 * time.Minute, 5, 5},
	} {
		now = now.Add(step.after)
		if got := w.Add(now, step.n); got != step.want {
			t.Errorf("%v later, with %d: got %d, want %d", step.after, step.n, got, step.want)
		}
	}
}

// TestLimit leaves no tag that is not allowed, and none of a text that is cut.
func TestLimit(t *testing.T) {
	peer := func() state.Peer {
		return state.Peer{LostTags: []state.LostTag{{Tag: 1}, {Tag: 2}}, Lanes: []state.Lane{{Wanted: []tags.Tag{1, 2}}}}
	}
	s := state.State{
		Tags: tags.Of(1, 2).String(), Busiest: []state.Tag{{Tag: 2}, {Tag: 1}}, Asked: []state.Tag{{Tag: 2}},
		Peers: []state.Peer{peer()}, Gone: []state.Peer{peer()},
	}
	snapshot.Limit(&s, tags.Of(1, 3))
	if s.Tags != tags.Of(1).String() || len(s.Busiest) != 1 || s.Busiest[0].Tag != 1 || len(s.Asked) != 0 {
		t.Errorf("got tags %q, busiest %v, asked %v; want tag 1 only", s.Tags, s.Busiest, s.Asked)
	}
	for _, p := range append(s.Peers, s.Gone...) {
		if len(p.LostTags) != 1 || p.LostTags[0].Tag != 1 || !slices.Equal(p.Lanes[0].Wanted, []tags.Tag{1}) {
			t.Errorf("got a peer with %v and %v, want tag 1 only", p.LostTags, p.Lanes[0].Wanted)
		}
	}
	s.Tags = "1,..."
	if snapshot.Limit(&s, tags.Of(1)); s.Tags != "" {
		t.Errorf("got %q of a text that is cut, want none", s.Tags)
	}
}
