// SPDX-License-Identifier: Apache-2.0

package memnet_test

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tagbus/internal/testkit/memnet"
	"tagbus/netio"
)

func TestStallFillsTheWindowThenTheQueue(t *testing.T) {
	inWorld(t, func(w *world) {
		w.net.SetWindow(onB, onA, 25)
		w.connect()
		w.net.Stall(onB, onA)
		for i := range 6 { // of 10 bytes: two and a half fit, four more are outstanding
			w.say(fmt.Sprintf("message %2d", i))
		}
		if got := len(w.client.reported); got != 2 {
			w.Errorf("completions with a window of 25 bytes full: got %d, want 2", got)
		}
		if err := w.client.send(2, 9, "too many"); !errors.Is(err, netio.ErrNoResources) {
			w.Errorf("send with 4 sends outstanding: got error %v, want %v", err, netio.ErrNoResources)
		}
		w.sleep(time.Hour)
		w.heard("while stalled")
		if w.client.ready != 0 || len(w.client.causes) != 0 {
			w.Errorf("while stalled: got %d OnSendReady and closes %v, want none", w.client.ready, w.client.causes)
		}
		w.net.Resume(onB, onA)
		synctest.Wait()
		w.heard("after Resume", "message  0", "message  1", "message  2", "message  3", "message  4", "message  5")
		if w.client.ready != 1 || len(w.client.reported) != 6 {
			w.Errorf("after Resume: got %d OnSendReady and %d completions, want 1 and 6", w.client.ready, len(w.client.reported))
		}
	})
}

func TestStallIsOfOneDirection(t *testing.T) {
	inWorld(t, func(w *world) {
		w.connect()
		w.net.Stall(onA, onB)
		w.say("there")
		w.heard("with the other direction stalled", "there")
		if err := w.server.send(2, 1, "back"); err != nil {
			w.Fatalf("send: got error %v, want none", err)
		}
		synctest.Wait()
		if len(w.client.received) != 0 {
			w.Errorf("messages received over a stalled direction: got %q, want none", w.client.received)
		}
	})
}

func TestStallHoldsTheEndBack(t *testing.T) {
	inWorld(t, func(w *world) {
		w.connect()
		w.net.Stall(anybody, anybody)
		w.say("last words")
		if err := w.client.ep.Close(); err != nil {
			w.Fatalf("Close: got error %v, want none", err)
		}
		w.sleep(time.Hour)
		if len(w.server.causes) != 0 {
			w.Errorf("the end of a stalled connection: got causes %v, want none yet", w.server.causes)
		}
		w.net.Resume(anybody, anybody)
		synctest.Wait()
		w.heard("after Resume", "last words")
		if len(w.server.causes) != 1 || !errors.Is(w.server.causes[0], io.EOF) {
			w.Errorf("causes after Resume: got %v, want %v", w.server.causes, io.EOF)
		}
	})
}

func TestPartitionLosesNothingAndFailsNothing(t *testing.T) {
	inWorld(t, func(w *world) {
		w.connect()
		w.net.Partition(onA, onB)
		w.say("across")
		if w.net.Reset(addrA, onB) != 1 {
			w.Errorf("Reset: got no connection, want 1")
		}
		w.sleep(time.Hour)
		w.heard("while cut off")
		if len(w.client.causes)+len(w.server.causes) != 0 {
			w.Errorf("causes while cut off: got %v and %v, want none", w.client.causes, w.server.causes)
		}
		w.net.Heal(onA, onB)
		synctest.Wait()
		for _, u := range []*user{w.client, w.server} {
			if len(u.causes) != 1 || !errors.Is(u.causes[0], syscall.ECONNRESET) {
				w.Errorf("causes after Heal of a connection that was reset: got %v, want %v", u.causes, syscall.ECONNRESET)
			}
		}
	})
}

func TestPartitionHealedDelivers(t *testing.T) {
	inWorld(t, func(w *world) {
		w.connect()
		w.net.Partition(onA, onB)
		w.say("across")
		w.sleep(time.Hour)
		w.net.Heal(onA, onB)
		synctest.Wait()
		w.heard("after Heal", "across")
	})
}

func TestConnectingAcrossAPartitionTimesOut(t *testing.T) {
	inWorld(t, func(w *world) {
		w.net.Partition(onA, onB)
		start := time.Now()
		var took time.Duration
		w.net.Observe(func(e memnet.Event) {
			if e.Kind == memnet.Refused && errors.Is(e.Err, netio.ErrTimeout) {
				took = time.Since(start)
			}
		})
		w.dial()
		if w.client.refused != 0 {
			w.Errorf("refused at once: got %d, want 0", w.client.refused)
		}
		w.sleep(time.Hour)
		if w.client.refused != 1 || took != netio.DefaultConnectTimeout {
			w.Errorf("refused: got %d after %v, want 1 after %v", w.client.refused, took, netio.DefaultConnectTimeout)
		}
	})
}

func TestConnectingWaitsForAPartitionToHeal(t *testing.T) {
	inWorld(t, func(w *world) {
		w.net.Partition(onA, onB)
		w.dial()
		w.sleep(time.Second)
		w.net.Heal(onA, onB)
		synctest.Wait()
		if w.client.ep == nil || w.client.refused != 0 {
			w.Errorf("after Heal: got a connection %v and %d refused, want one and 0", w.client.ep, w.client.refused)
		}
	})
}

func TestDelayIsExact(t *testing.T) {
	inWorld(t, func(w *world) {
		w.net.SetDelay(onB, onA, 3*time.Second)
		w.net.SetDelay(onA, onB, time.Second)
		start := time.Now()
		var got []string
		w.net.Observe(func(e memnet.Event) {
			got = append(got, fmt.Sprint(e.Kind, " ", e.Local.Addr(), " ", time.Since(start)))
		})
		w.dial()
		w.sleep(4 * time.Second)
		w.say("slow")
		w.sleep(time.Second)
		w.net.SetDelay(onB, onA, 0) // what follows does not overtake
		w.say("fast")
		w.sleep(time.Minute)
		w.heard("in the end", "slow", "fast")
		want := []string{
			"established 10.0.0.1 4s", "established 10.0.0.2 4s",
			"completed 10.0.0.2 4s", "completed 10.0.0.2 5s",
			"delivered 10.0.0.1 7s", "delivered 10.0.0.1 7s",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			w.Errorf("events (-want +got):\n%s", diff)
		}
	})
}

func TestDelayLongerThanTheTimeoutRefuses(t *testing.T) {
	inWorld(t, func(w *world) {
		w.net.SetDelay(anybody, anybody, time.Minute)
		w.dial()
		w.sleep(netio.DefaultConnectTimeout)
		if w.client.refused != 1 || w.client.ep != nil {
			w.Errorf("got %d refused and a connection %v, want 1 and none", w.client.refused, w.client.ep)
		}
	})
}

func TestRefuseAndAdmit(t *testing.T) {
	inWorld(t, func(w *world) {
		w.net.Refuse(addrA)
		w.dial()
		if w.client.refused != 1 {
			w.Errorf("refused: got %d, want 1", w.client.refused)
		}
		w.net.Admit(addrA)
		w.connect()
		w.net.Refuse(onA)
		w.say("established ones live on")
		w.heard("after Refuse", "established ones live on")
	})
}

func TestTrafficCountsByPattern(t *testing.T) {
	inWorld(t, func(w *world) {
		w.connect()
		w.say("12345")
		w.say("123")
		if err := w.server.send(2, 1, "12"); err != nil {
			w.Fatalf("send: got error %v, want none", err)
		}
		synctest.Wait()
		for _, tt := range []struct {
			from, to netip.AddrPort
			want     memnet.Traffic
		}{
			{onB, onA, memnet.Traffic{Messages: 2, Bytes: 8}},
			{addrA, onB, memnet.Traffic{Messages: 1, Bytes: 2}},
			{anybody, anybody, memnet.Traffic{Messages: 3, Bytes: 10}},
			{onA, addrA, memnet.Traffic{}},
		} {
			if got := w.net.Traffic(tt.from, tt.to); got != tt.want {
				w.Errorf("Traffic(%v, %v): got %+v, want %+v", tt.from, tt.to, got, tt.want)
			}
		}
	})
}

func TestHostBindsTheBackend(t *testing.T) {
	inWorld(t, func(w *world) {
		_, err := w.cb.OpenListenEndpoint(netip.AddrPortFrom(hostA, 0), netio.Params{})
		if !errors.Is(err, syscall.EADDRNOTAVAIL) {
			w.Errorf("OpenListenEndpoint on another host: got error %v, want %v", err, syscall.EADDRNOTAVAIL)
		}
		l, err := w.cb.OpenListenEndpoint(netip.MustParseAddrPort("0.0.0.0:0"), netio.Params{})
		if err != nil || l.Addr().Addr() != hostB || l.Addr().Port() == 0 {
			w.Errorf("OpenListenEndpoint on no host in particular: got %v and error %v, want a port of %v", l, err, hostB)
		}
		w.connect()
		if got := w.client.ep.Local().Addr(); got != hostB {
			w.Errorf("Local: got %v, want %v", got, hostB)
		}
	})
}

// TestOneLoopIsDeterministic runs something busy twice and compares all events.
func TestOneLoopIsDeterministic(t *testing.T) {
	run := func() (events []string) {
		inWorld(t, func(w *world) {
			start := time.Now()
			w.net.Observe(func(e memnet.Event) {
				events = append(events, fmt.Sprint(time.Since(start), e.Kind, e.Local, e.Remote, string(e.Data), e.Err))
			})
			w.net.SetWindow(anybody, anybody, 7)
			w.net.SetDelay(onB, onA, time.Millisecond)
			w.net.SetDelay(onA, onB, time.Millisecond)
			w.dial()
			w.sleep(time.Second)
			for i := range 20 {
				for _, u := range []*user{w.client, w.server} {
					if err := u.send(2, netio.Key(i), fmt.Sprint("message ", i)); err != nil && !errors.Is(err, netio.ErrNoResources) {
						w.Errorf("send: got error %v, want none or %v", err, netio.ErrNoResources)
					}
				}
				w.sleep(time.Duration(i) * time.Millisecond)
			}
		})
		return events
	}
	first := run()
	if len(first) < 50 {
		t.Fatalf("events: got %d, want a busy run", len(first))
	}
	for range 5 {
		if diff := cmp.Diff(first, run()); diff != "" {
			t.Fatalf("events of two runs (-first +second):\n%s", diff)
		}
	}
}

func TestAnUnspecifiedAddressStandsForAll(t *testing.T) {
	inWorld(t, func(w *world) {
		everywhere := &user{}
		b := w.open(netip.Addr{}, everywhere)
		_, err := b.OpenListenEndpoint(netip.AddrPortFrom(netip.IPv4Unspecified(), addrA.Port()), netio.Params{})
		if err != nil {
			w.Fatal(err)
		}
		w.dial()
		if w.server.ep == nil || everywhere.ep != nil {
			w.Error("at an address with a listener of its own: got the listener of all addresses, want its own")
		}
		elsewhere := netip.AddrPortFrom(netip.MustParseAddr("10.0.0.77"), addrA.Port())
		if err := w.cb.OpenEndpoint(elsewhere, netio.Params{}); err != nil {
			w.Fatal(err)
		}
		synctest.Wait()
		if everywhere.ep == nil || everywhere.ep.Local() != elsewhere {
			w.Errorf("at another address: got the connection %v, want one at %v", everywhere.ep, elsewhere)
		}
	})
}
