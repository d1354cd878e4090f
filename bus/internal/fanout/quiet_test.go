// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"testing"
	"time"

	"tagbus/bus/internal/ledger"
	"tagbus/netio"
	"tagbus/subscription"
)

// A connection is quiet when a tick finds nothing, and until something is queued. A beat
// that is done leaves it so.
func TestAConnectionIsQuietWhileNothingIsQueued(t *testing.T) {
	fan, box := new(Fanout), new(Outbox)
	fan.beat.control = []byte("beat")
	fan.beatData = [][]byte{fan.beat.control}
	e := &beatEndpoint{can: netio.Capabilities{AnyMemory: true, Direct: true}, whole: true}
	box.Init(fan, e, func(err error) { t.Errorf("fault %v", err) })
	want := func(quiet bool, when string) {
		t.Helper()
		if box.Quiet() != quiet {
			t.Errorf("%s: got quiet %t, want %t", when, box.Quiet(), quiet)
		}
	}
	tick := func() { box.Tick(time.Time{}, 0) }
	want(false, "at first")
	tick()
	want(true, "after a tick")
	box.Beat()
	want(true, "after a beat that is done")
	e.whole = false
	box.Beat()
	want(false, "after a beat that is on its way")
	tick()
	want(false, "while it is on its way")
	box.Completed(e.key)
	tick()
	want(false, "in the tick that finds that it was sent")
	tick()
	want(true, "in the next tick")
	box.SendBytes([]byte("x"))
	want(false, "with a control message")
	box.Completed(e.key)
	tick()
	tick()
	want(true, "when that was sent")
	fan.lanes = make(map[subscription.LaneID]*Lane)
	box.open(0, subscription.Policy{}, 0, new(ledger.Lane))
	want(false, "with a new lane")
}

// What waits after a rest is stuck from the first tick on that finds it, not for as long as
// the rest lasted.
func TestARestCountsForNoLane(t *testing.T) {
	fan, box := newFanout(t), new(Outbox)
	box.Init(fan, &beatEndpoint{can: netio.Capabilities{AnyMemory: true}}, func(err error) { t.Errorf("fault %v", err) })
	n := box.open(0, subscription.Policy{}, 0, new(ledger.Lane))
	now := time.Now()
	box.Tick(now, 0)
	if !box.Quiet() {
		t.Fatal("got a lane with nothing that is not quiet")
	}
	now = now.Add(time.Hour)
	box.Send(n, &subscription.Beat{})
	for _, want := range []time.Duration{0, time.Second, 2 * time.Second} {
		box.Tick(now, 0)
		if got := n.StuckFor(now); got != want {
			t.Errorf("got stuck for %v, want %v", got, want)
		}
		now = now.Add(time.Second)
	}
}
