// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/bus/state"
	"tagbus/tags"
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

// So it is with a sender, at the receiver: connected again or not, and whatever else is known of it.
func TestReceiver_State_remembersThatASenderWasCutOff(t *testing.T) {
	for name, end := range map[string]func(b *bed, s *sender, r *receiver){
		"reset": func(b *bed, s *sender, r *receiver) { b.net.Reset(anyPort(s.host), anyPort(r.host)) },
		"silent": func(b *bed, s *sender, r *receiver) {
			b.net.Partition(anyPort(s.host), anyPort(r.host))
			time.Sleep(7 * time.Second)
			b.net.Heal(anyPort(s.host), anyPort(r.host))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				r := b.receiver(bus.ReceiverConfig{Tags: tags.Of(1)}, func(bus.Message) {})
				s := b.sender(bus.SenderConfig{Common: bus.Common{Name: "control"}})
				send := func() {
					must(t, s.SendContext(t.Context(), 1, []byte("a")))
					s.Flush()
					synctest.Wait()
				}
				send()
				if st := stateOf(t, r, everything); len(st.Peers) != 1 || len(st.Gone) != 0 || st.Peers[0].Broken != 0 || !st.Peers[0].FirstBroken.IsZero() {
					t.Fatalf("before: got %+v, gone %+v", st.Peers, st.Gone)
				}
				start := time.Now()
				for range 4 {
					end(b, s, r)
					synctest.Wait()
					if st := stateOf(t, r, everything); st.Connected == 0 {
						if len(st.Gone) != 1 || st.Gone[0].Name != "control" || st.Gone[0].Reason == "" || st.Gone[0].Ended.IsZero() || st.Gone[0].Messages == 0 {
							t.Errorf("while it is away: got %+v", st.Gone)
						}
					}
					time.Sleep(20 * time.Second)
					send()
				}
				st := stateOf(t, r, everything)
				if len(st.Peers) != 1 || len(st.Gone) != 0 {
					t.Fatalf("got %+v, gone %+v, want the sender, connected", st.Peers, st.Gone)
				}
				x := st.Peers[0]
				if x.Instance != s.Instance() || x.Broken != 4 || x.Broken != st.Broken || x.StallsEnded != 0 || x.BrokenReason == "" {
					t.Errorf("got %+v, want four broken connections", x)
				}
				if x.FirstBroken.Sub(start) > 10*time.Second || x.LastBroken.Sub(start) < time.Minute || time.Since(x.LastBroken) > 30*time.Second {
					t.Errorf("got it from %v to %v", x.FirstBroken.Sub(start), x.LastBroken.Sub(start))
				}
				must(t, s.Drain(t.Context()))
				must(t, s.Close())
				synctest.Wait()
				if st := stateOf(t, r, everything); len(st.Peers) != 0 || len(st.Gone) != 0 {
					t.Errorf("after its goodbye: got %+v, gone %+v", st.Peers, st.Gone)
				}
			})
		})
	}
}

// A sender that is killed has gone, and its receiver says so: no directory does.
func TestReceiver_State_namesASenderThatWasKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		r := b.receiver(bus.ReceiverConfig{Tags: tags.Of(1)}, func(bus.Message) {})
		s := b.sender(bus.SenderConfig{Common: bus.Common{Name: "control"}})
		must(t, s.SendContext(t.Context(), 1, []byte("a")))
		b.net.Kill(s.host)
		time.Sleep(time.Minute) // longer than it is waited for
		st := stateOf(t, r, everything)
		if st.Connected != 0 || len(st.Gone) != 1 || st.Gone[0].Name != "control" || st.Gone[0].Instance != s.Instance() || st.Gone[0].Reason == "" || st.Gone[0].Broken != 1 {
			t.Errorf("got %+v, want the sender that has gone", st.Gone)
		}
	})
}

// A peer that is cut off again and again is in an answer with little room.
func TestReceiver_State_keepsASenderThatIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		r := b.receiver(bus.ReceiverConfig{Tags: tags.Of(1)}, func(bus.Message) {})
		var all []*sender
		for range 5 {
			s := b.sender(bus.SenderConfig{})
			must(t, s.SendContext(t.Context(), 1, []byte("a")))
			all = append(all, s)
		}
		for _, s := range all {
			for range 2 {
				b.net.Reset(anyPort(s.host), anyPort(r.host))
				time.Sleep(5 * time.Second)
			}
			st := stateOf(t, r, state.Question{Peers: 1})
			if len(st.Peers) != 1 || st.Connected != 5 || st.Peers[0].Broken != 2 {
				t.Fatalf("got %+v of %d, want one that was cut off", st.Peers, st.Connected)
			}
			time.Sleep(11 * time.Minute) // then that is of old
		}
	})
}
