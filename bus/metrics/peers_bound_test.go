// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"fmt"
	"testing"

	"tagbus/bus"
)

// stranger returns the state of a subscriber with a name and a policy of its own.
func stranger(instance string, number int) bus.SubscriberState {
	return bus.SubscriberState{
		Peer: bus.Peer{Instance: instance, Name: fmt.Sprint("stranger ", number)}, Messages: 5, Pages: 1,
		Lanes: []bus.LaneState{{ID: uint64(number), Policy: bus.Policy{Kind: bus.Sample, Every: uint64(number + 2)}}},
	}
}

// TestTheSeriesOfPeersAreBounded: 3,000 strangers come, 50 at a time.
func TestTheSeriesOfPeersAreBounded(t *testing.T) {
	p := newPeers()
	for i := range 60 {
		var now []bus.SubscriberState
		for n := range 50 {
			now = append(now, stranger(fmt.Sprint(i, " ", n), 50*i+n))
		}
		p.see(now, nil)
		want := min(50*(i+1), maxIdle+50)
		if peers, lanes := len(p.all.rows), len(p.lanes.rows); peers != want || lanes != want {
			t.Fatalf("after %d strangers: got series of %d names and %d policies, want %d", 50*(i+1), peers, lanes, want)
		}
		if len(p.known) != 50 {
			t.Fatalf("got %d instances that are known, want those that are there, 50", len(p.known))
		}
	}
	back := stranger("back", 0)
	p.see([]bus.SubscriberState{back}, nil)
	if got := p.all.rows[peerLabels{"stranger 0", ""}].value.messages; got != 5 {
		t.Errorf("a name that is back after its series was dropped: got %d messages, want 5", got)
	}
	p.see(nil, []bus.SubscriberState{back})
	if row := p.all.rows[peerLabels{"stranger 0", ""}]; row == nil || row.value.messages != 5 {
		t.Errorf("a name that has left just now: got %v, want its series kept", row)
	}
}

// TestThePoliciesOfAPeerAreBounded: one instance changes its policy again and again.
func TestThePoliciesOfAPeerAreBounded(t *testing.T) {
	p := newPeers()
	for i := range maxIdle + 500 {
		s := stranger("x", i)
		s.Peer.Name = "x"
		p.see([]bus.SubscriberState{s}, nil)
		if len(p.lanes.rows) > maxIdle+1 || len(p.known["x"].losses) > maxLanes {
			t.Fatalf("after %d policies: got %d series and %d that are known, want at most %d and %d",
				i+1, len(p.lanes.rows), len(p.known["x"].losses), maxIdle+1, maxLanes)
		}
	}
	if len(p.lanes.rows) != maxIdle+1 {
		t.Errorf("got %d series, want %d", len(p.lanes.rows), maxIdle+1)
	}
}
