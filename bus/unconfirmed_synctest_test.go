// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// laneOf returns what a publisher has counted of a subscriber, which has one
// lane.
func laneOf(tb testing.TB, st bus.PublisherStats, instance string) bus.LaneState {
	tb.Helper()
	for _, s := range slices.Concat(st.Subscribers, st.Gone) {
		if s.Peer.Instance == instance && len(s.Lanes) == 1 {
			return s.Lanes[0]
		}
	}
	tb.Fatalf("got subscribers %+v, gone %+v, want %s with one lane", st.Subscribers, st.Gone, instance)
	return bus.LaneState{}
}

// auditSent checks that what a publisher has counted of a subscriber makes up
// what it has published for it.
func auditSent(tb testing.TB, st bus.PublisherStats, instance string, published uint64) (problems []string) {
	tb.Helper()
	lane := laneOf(tb, st, instance)
	if sum := lane.Sent + lane.Losses.Lost() + lane.Losses.LeftOut + lane.Unconfirmed; sum != published {
		problems = append(problems, fmt.Sprintf("sent %d, lost %+v, unconfirmed %d: together %d, published %d",
			lane.Sent, lane.Losses, lane.Unconfirmed, sum, published))
	}
	return problems
}

// unconfirmedRun is a publisher of tag 1 and a subscriber that has received some
// of it.
type unconfirmedRun struct {
	*accountRun
	all uint64 // published
}

func newUnconfirmedRun(t *testing.T) *unconfirmedRun {
	t.Helper()
	r := &unconfirmedRun{accountRun: newAccountRun(t, bus.Policy{}, 1<<20)}
	r.publish(100)
	time.Sleep(10 * time.Second) // it says how much it has received
	return r
}

// load publishes, to a subscriber that has received a part and then nothing more.
func (r *unconfirmedRun) load() {
	r.publish(20)
	r.bed.net.Stall(anybody, r.host())
	r.publish(40)
	r.all = r.published[1] + r.published[2]
}

// check checks the sum, and how many messages are unconfirmed.
func (r *unconfirmedRun) checkUnconfirmed(least, most uint64) {
	r.t.Helper()
	st := r.pub.Stats()
	for _, problem := range auditSent(r.t, st, r.sub.Instance(), r.all) {
		r.t.Error(problem)
	}
	if n := laneOf(r.t, st, r.sub.Instance()).Unconfirmed; n < least || n > most || n != st.Unconfirmed {
		r.t.Errorf("got %d unconfirmed, and %d in all, want %d to %d", n, st.Unconfirmed, least, most)
	}
}

// Messages in the socket of a lost subscriber counted as sent, and as lost too when it
// was back. Those of a subscriber that was stopped at the end were in no count.
func TestPublisher_whatASubscriberHasNotSaidIsUnconfirmed(t *testing.T) {
	t.Run("it is killed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newUnconfirmedRun(t)
			r.load()
			r.bed.net.Kill(r.sub.host)
			synctest.Wait()
			r.checkUnconfirmed(40, 60)
		})
	})
	t.Run("it is stopped at the end", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newUnconfirmedRun(t)
			r.load()
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			if err := r.pub.Drain(ctx); err == nil {
				t.Error("drain: got no error")
			}
			must(t, r.pub.Close())
			r.checkUnconfirmed(40, 60)
			r.bed.net.Resume(anybody, r.host())
		})
	})
	t.Run("it comes back", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newUnconfirmedRun(t)
			r.load()
			r.bed.net.Reset(r.pub.Addr(), r.host())
			synctest.Wait()
			r.checkUnconfirmed(40, 60)
			r.publish(10) // when it is away
			r.bed.net.Resume(anybody, r.host())
			r.check("when it is back")
		})
	})
	t.Run("it leaves in order", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newUnconfirmedRun(t)
			r.publish(20)
			r.all = r.published[1] + r.published[2]
			time.Sleep(time.Millisecond * 100) // less than between two heartbeats
			must(t, r.sub.Close())
			synctest.Wait()
			r.checkUnconfirmed(0, 0)
		})
	})
	t.Run("it is closed with messages on their way", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newUnconfirmedRun(t)
			r.load()
			must(t, r.sub.Close())
			synctest.Wait()
			r.checkUnconfirmed(40, 60)
			if err := lostOf(t, r.pub.member); err == nil {
				t.Error("got no cause, want the number of unconfirmed messages")
			}
		})
	})
}

// A subscriber cannot have received more than was sent to it.
func TestPublisher_aSubscriberCannotHaveReceivedMoreThanWasSent(t *testing.T) {
	received := func(lane uint16, n uint64) []byte {
		return control(t, &subscription.Received{Lane: lane, Messages: n})
	}
	tests := []struct {
		name string
		send [][]byte
		want string // in an event
	}{
		{"all", [][]byte{received(1, 0), received(1, 5)}, ""},
		{"after what it had from earlier connections", [][]byte{received(1, 1000), received(1, 1005)}, ""},
		{"one more", [][]byte{received(1, 0), received(1, 6)}, "received 6 messages in lane 1 after 0, of 5 that were sent"},
		{"fewer than before", [][]byte{received(1, 3), received(1, 2)}, "received 2 messages in lane 1 after 3"},
		{"2^64-1", [][]byte{received(1, 1<<64-1)}, "received 18446744073709551615 messages in lane 1, limit"},
		{"in a lane that there is not", [][]byte{received(2, 0)}, "in lane 2, which has no subscription"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
				x := accountStranger(t)
				backend, _ := b.stranger(x)
				must(t, backend.OpenEndpoint(p.Addr(), netio.Params{}))
				synctest.Wait()
				for range 5 {
					must(t, p.Publish(1, nil))
				}
				time.Sleep(time.Second)
				x.send(test.send...)
				synctest.Wait()
				if ended := x.ended(); ended != (test.want != "") {
					t.Errorf("got the end of the connection %v; events %v", ended, p.events)
				}
				wantEvent(t, p.member, test.want)
			})
		})
	}
}
