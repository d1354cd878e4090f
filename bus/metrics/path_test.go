// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"maps"
	"testing"
	"time"

	"tagbus/bus"
	"tagbus/netio"
)

// TestABackendWithoutConnectionsFallsToZero, and what is not known is not counted.
func TestABackendWithoutConnectionsFallsToZero(t *testing.T) {
	p := newPeers()
	by := func(names ...string) (all []bus.SubscriberState) {
		for i, name := range names {
			s := stranger("i", i)
			s.Peer.Backend = name
			all = append(all, s)
		}
		return all
	}
	for _, look := range []struct {
		connected []bus.SubscriberState
		want      backendCounts
	}{
		{by("shm", "tcp", "shm", ""), backendCounts{"shm": 2, "tcp": 1}},
		{by("tcp"), backendCounts{"shm": 0, "tcp": 1}},
	} {
		p.see(look.connected, nil)
		if !maps.Equal(p.backends, look.want) || len(p.backends.all()) != len(look.want) {
			t.Errorf("got %v, want %v", p.backends, look.want)
		}
	}
}

// TestSegmentsThatWereSentAgain are added up over connections, and not counted of a transport that
// does not measure them.
func TestSegmentsThatWereSentAgain(t *testing.T) {
	p := newPeers()
	look := func(began int64, path *netio.Path) *peerSums {
		s := stranger("i", 0)
		s.Since, s.Path = time.Unix(began, 0), path
		p.see([]bus.SubscriberState{s}, nil)
		return &p.all.rows[peerLabels{"stranger 0", ""}].value
	}
	if sums := look(1, nil); sums.measured {
		t.Error("got segments of a transport that measures none")
	}
	look(2, &netio.Path{Segments: 100, Retransmitted: 3})
	if sums := look(2, &netio.Path{Segments: 150, Retransmitted: 5}); !sums.measured || sums.segments != 150 || sums.retransmitted != 5 {
		t.Errorf("got %+v, want 150 segments and 5 sent again", sums)
	}
	if sums := look(2, nil); sums.segments != 150 { // it has ended
		t.Errorf("got %d segments after its end, want 150", sums.segments)
	}
	if sums := look(3, &netio.Path{Segments: 1<<32 - 10}); sums.segments != 150+1<<32-10 {
		t.Errorf("got %d segments with a new connection", sums.segments)
	}
	if sums := look(3, &netio.Path{Segments: 20}); sums.segments != 150+1<<32+20 {
		t.Errorf("got %d segments after the system's counter began again, want 30 more", sums.segments)
	}
}
