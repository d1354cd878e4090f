// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/bus/state"
)

// A subscriber that is cut off again and again was new at each look, and its state said that
// nothing is wrong. What becomes of its connections is remembered over all of them.
func TestPublisher_State_remembersThatASubscriberWasCutOff(t *testing.T) {
	for name, policy := range map[string]bus.Policy{"disconnect": disconnectAfter(5 * time.Second), "block": {}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				p := b.publisher(small(bus.PublisherConfig{Sending: bus.Sending{MaxStall: 5 * time.Second}}))
				s, _ := b.stuck(policy)
				peer := func() state.Peer {
					st := stateOf(t, p, everything)
					for _, x := range append(st.Peers, st.Gone...) {
						if x.Instance == s.Instance() {
							return x
						}
					}
					t.Fatalf("the state does not have it: %+v", st)
					return state.Peer{}
				}
				if x := peer(); x.Broken != 0 || !x.FirstBroken.IsZero() {
					t.Errorf("before: got %+v", x)
				}
				start := time.Now()
				for time.Since(start) < time.Minute {
					_ = p.Publish(1, make([]byte, 900))
					time.Sleep(100 * time.Millisecond)
				}
				lost := p.of(bus.Lost)
				if len(lost) < 3 {
					t.Fatalf("got %d lost connections, want some", len(lost))
				}
				x := peer()
				if x.Broken != uint64(len(lost)) || x.StallsEnded != x.Broken || x.StallsEnded != p.Stats().Stalled {
					t.Errorf("got %d broken and %d stalls, want %d", x.Broken, x.StallsEnded, len(lost))
				}
				if x.FirstBroken.Sub(start) > 10*time.Second || time.Since(x.LastBroken) > 15*time.Second || !strings.Contains(x.BrokenReason, "takes nothing") {
					t.Errorf("got it from %v to %v because %q", x.FirstBroken.Sub(start), x.LastBroken.Sub(start), x.BrokenReason)
				}
				if to := x.UnconfirmedTo; x.UnconfirmedFrom.IsZero() || to.Before(x.UnconfirmedFrom) || to.After(x.LastBroken) {
					t.Errorf("got messages unconfirmed from %v to %v", x.UnconfirmedFrom, to)
				}
			})
		})
	}
}
