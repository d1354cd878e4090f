// SPDX-License-Identifier: Apache-2.0

package snapshot_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"tagbus/bus/internal/snapshot"
	"tagbus/bus/state"
)

var (
	errStall = errors.New("takes nothing")
	start    = time.Date(2026, 11, 27, 8, 0, 0, 0, time.UTC)
)

func nobody(string) bool { return false }

// instances returns those of some peers.
func instances(peers []state.Peer) (all []string) {
	for i := range peers {
		all = append(all, peers[i].Instance)
	}
	return all
}

// A peer was cut off of late if that was so more than once, or because it took nothing.
func TestPast_CutOff(t *testing.T) {
	reset, stall := errors.New("reset"), fmt.Errorf("%w for 5s", errStall)
	for _, test := range []struct {
		name   string
		causes []error
		after  time.Duration // of the last
		want   uint64
	}{
		{"never", nil, 0, 0},
		{"once", []error{reset}, time.Minute, 0},
		{"twice", []error{reset, reset}, time.Minute, 2},
		{"once, since it took nothing", []error{stall}, time.Minute, 1},
		{"long ago", []error{stall, reset, reset}, 11 * time.Minute, 0},
	} {
		var past snapshot.Past
		for i, cause := range test.causes {
			past.Broke(start.Add(time.Duration(i)*time.Second), cause, errStall)
		}
		if got := past.CutOff(start.Add(time.Duration(len(test.causes)-1)*time.Second + test.after)); got != test.want {
			t.Errorf("%s: got %d, want %d", test.name, got, test.want)
		}
	}
}

// Strangers that come once, however many, displace none that was cut off again and again, and one
// that is connected is kept whatever comes.
func TestPasts_Broke_isBounded(t *testing.T) {
	var p snapshot.Pasts
	connected := func(instance string) bool { return instance == "connected" }
	broke := func(instance string, after int) {
		p.Broke(state.Peer{Instance: instance}, start.Add(time.Duration(after)*time.Second), io.EOF, errStall, connected)
	}
	broke("connected", 0)
	for i := range 3 {
		broke("culprit", i)
	}
	for i := range 5000 {
		broke(fmt.Sprint("stranger", i), 10+i)
	}
	now := start.Add(time.Minute)
	gone := p.Gone(10_000, now, connected)
	if n := len(gone); n < 256 || n >= 512 {
		t.Errorf("got %d that are remembered, want 256 to 511", n)
	}
	if last := gone[len(gone)-1]; gone[0].Instance != "stranger4999" || last.Instance != "culprit" || last.Broken != 3 || last.Reason != "the other side has closed it" || last.BrokenReason != last.Reason {
		t.Errorf("got first %+v and last %+v, want the last stranger and the culprit", gone[0], last)
	}
	if got := instances(p.Gone(2, now, connected)); !slices.Equal(got, []string{"stranger4999", "culprit"}) {
		t.Errorf("with room for two: got %q, want the culprit among them", got)
	}
	past := p.Of("connected")
	var peer state.Peer
	if past.Show(&peer); peer.Broken != 1 {
		t.Errorf("got %+v, want what is remembered of one that is connected", peer)
	}
	p.Ended("culprit")
	if got := instances(p.Gone(1, now, nobody)); !slices.Equal(got, []string{"stranger4999"}) {
		t.Errorf("got %q after a goodbye", got)
	}
}

// Of peers that have gone, those that were cut off of late are kept, in the order in which all went.
func TestLatest(t *testing.T) {
	type gone struct {
		name string
		past snapshot.Past
		went time.Time
	}
	var all []gone
	for i, broken := range []int{5, 1, 3, 1, 1} {
		g := gone{name: fmt.Sprint(i), went: start.Add(time.Duration(i) * time.Second)}
		for range broken {
			g.past.Broke(g.went, io.EOF, errStall)
		}
		all = append(all, g)
	}
	for most, want := range [][]string{{}, {"0"}, {"2", "0"}, {"4", "2", "0"}, {"4", "3", "2", "0"}, {"4", "3", "2", "1", "0"}} {
		got := []string{}
		for _, g := range snapshot.Latest(all, most, start.Add(time.Minute), func(g gone) (*snapshot.Past, time.Time) { return &g.past, g.went }) {
			got = append(got, g.name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("of %d: got %q, want %q", most, got, want)
		}
	}
}
