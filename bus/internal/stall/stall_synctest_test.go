// SPDX-License-Identifier: Apache-2.0

package stall_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tagbus/bus/internal/heartbeat"
	"tagbus/bus/internal/stall"
	"tagbus/internal/alarm"
	"tagbus/internal/testkit/memnet"
	"tagbus/subscription"
)

// lane is one in which something waits since a time.
type lane struct {
	policy subscription.Policy
	since  time.Time // zero: nothing waits
	holds  bool
}

func (n *lane) StuckFor(now time.Time) time.Duration {
	if n.since.IsZero() {
		return 0
	}
	return now.Sub(n.since)
}

func (n *lane) HoldsUp() bool { return n.holds }

func of(kind subscription.PolicyKind) *lane { return &lane{policy: subscription.Policy{Kind: kind}} }

func disconnect(after time.Duration) *lane {
	return &lane{policy: subscription.Policy{Kind: subscription.Disconnect, After: after}}
}

func TestLimits_Of(t *testing.T) {
	for _, test := range []struct {
		most time.Duration
		lane *lane
		want time.Duration
	}{
		{0, of(subscription.Block), 0},
		{time.Minute, of(subscription.Block), time.Minute},
		{time.Minute, of(subscription.DropNewest), 0},
		{time.Minute, of(subscription.Latest), 0},
		{0, disconnect(time.Hour), time.Hour},
		{time.Minute, disconnect(time.Hour), time.Minute},
		{time.Minute, disconnect(time.Second), time.Second},
	} {
		l := stall.Limits{MaxStall: test.most}
		if got := l.Of(test.lane.policy); got != test.want {
			t.Errorf("%v with at most %v: got %v, want %v", test.lane.policy, test.most, got, test.want)
		}
	}
}

// bed looks at lanes at each tick of a clock, and notes what is found.
type bed struct {
	stall.Watch[*lane]
	loop  *memnet.Loop
	begun time.Time
	moved bool // since the last look
	lanes []*lane
	found []string
}

const patience = 6 * time.Second

// watch begins to look at lanes, in which something waits from now on.
func watch(t *testing.T, most time.Duration, lanes ...*lane) *bed {
	t.Helper()
	b := &bed{loop: memnet.NewLoop(), begun: time.Now(), lanes: lanes}
	t.Cleanup(b.loop.Close)
	for _, n := range lanes {
		n.since = b.begun
	}
	alarms, clock := new(alarm.Clock), new(heartbeat.Clock)
	if err := alarm.Open(alarms, b.loop.NewTimer); err != nil {
		t.Fatal(err)
	}
	limits := stall.Limits{MaxStall: most, Patience: patience}
	b.loop.Do(func() {
		clock.Start(alarms, 2*time.Second, patience, func(now time.Time, _ time.Duration) {
			f := b.Look(now, b.lanes, func(n *lane) subscription.Policy { return n.policy }, b.moved, &limits, clock)
			b.moved = false
			if f != (stall.Found{}) {
				b.found = append(b.found, fmt.Sprintf("%v: %+v", now.Sub(b.begun), f))
			}
		})
		clock.Enter()
		for _, n := range lanes {
			clock.Quicken(limits.Of(n.policy))
		}
	})
	return b
}

// expect looks at what was found since the last call.
func (b *bed) expect(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	b.loop.Do(func() {
		if d := cmp.Diff(want, b.found); d != "" {
			t.Errorf("found (-want +got):\n%s", d)
		}
		b.found = nil
	})
}

// state returns what the last look has left.
func (b *bed) state() (told bool, since time.Time, limit time.Duration) {
	synctest.Wait()
	b.loop.Do(func() { told, since, limit = b.Told(), b.Since(), b.Limit() })
	return told, since, limit
}

func TestWatch_tellsOnceThatThePublisherIsHeldUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := of(subscription.Block)
		n.holds = true
		b := watch(t, 0, of(subscription.Latest), n)
		time.Sleep(patience - time.Second)
		b.expect(t)
		if told, since, _ := b.state(); told || !since.IsZero() {
			t.Errorf("after 5 s: told %v, since %v; want neither", told, since)
		}
		time.Sleep(time.Minute)
		b.expect(t, "6s: {Resumed:false Stalled:6s Over:0s Limit:0s}")
		if told, since, limit := b.state(); !told || !since.Equal(b.begun) || limit != 0 {
			t.Errorf("told %v, since %v, limit %v; want since the beginning, and none", told, since, limit)
		}
		b.loop.Do(func() { b.moved, n.since, b.lanes[0].since = true, time.Time{}, time.Time{} })
		time.Sleep(time.Second)
		b.expect(t, "1m5.5s: {Resumed:true Stalled:0s Over:0s Limit:0s}")
		if told, since, _ := b.state(); told || !since.IsZero() {
			t.Errorf("when it has resumed: told %v, since %v; want neither", told, since)
		}
	})
}

// One that only loses messages holds up no publisher, and still takes nothing.
func TestWatch_ofALaneThatLosesMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := watch(t, time.Second, of(subscription.DropNewest))
		time.Sleep(time.Minute)
		b.expect(t)
		if told, since, _ := b.state(); told || !since.Equal(b.begun) {
			t.Errorf("told %v, since %v; want not told, since the beginning", told, since)
		}
	})
}

func TestWatch_endsWhatTakesNothingForTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := watch(t, 20*time.Second, of(subscription.Block), disconnect(2*time.Second))
		time.Sleep(1900 * time.Millisecond)
		b.expect(t)
		if _, _, limit := b.state(); limit != 2*time.Second {
			t.Errorf("limit: got %v, want that of the shorter lane", limit)
		}
		time.Sleep(200 * time.Millisecond)
		b.expect(t, "2s: {Resumed:false Stalled:0s Over:2s Limit:2s}")
	})
}
