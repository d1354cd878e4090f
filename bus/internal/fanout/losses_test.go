// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// newLossBed returns a fanout with 64 pages, of which those that may lose messages have half,
// and each lane has at most 16.
func newLossBed(t *testing.T) *bytesBed {
	t.Helper()
	const pageBytes = 4096
	pool, err := netio.NewPool(64, pageBytes)
	if err != nil {
		t.Fatal(err)
	}
	b := newBytesBed(t, subscription.Policy{}, 0, Config{
		Pool: pool, PageBytes: pageBytes, QueueBytes: 16 * pageBytes, MaxMessageBytes: 2000, Served: tags.Everything(),
	})
	b.fan.cfg.FlushInterval = 0
	return b
}

// crowd makes subscribers that want one tag each, from first on, and take nothing. It publishes
// for them until there is no room. complete makes them take all.
func (b *bytesBed) crowd(lanes int, first tags.Tag, policy subscription.Policy) (complete func()) {
	b.t.Helper()
	all := make(map[*Outbox]*modelEndpoint)
	for i := range tags.Tag(lanes) {
		box, ep := b.subscriber(tags.Of(first+i), policy)
		all[box] = ep
		for box.Lanes[0].Account.Lost(first+i) == 0 {
			err := b.fan.Publish(first+i, 0, make([]byte, 1500), nil)
			if errors.Is(err, ErrNoRoom) {
				break
			}
			if err != nil {
				b.t.Fatal(err)
			}
			b.fan.Flush()
		}
	}
	return func() {
		for box, ep := range all {
			for ep.complete(box) {
			}
		}
	}
}

// TestALossHasItsCause: a lane that has room is not the one that is too slow.
func TestALossHasItsCause(t *testing.T) {
	newest, oldest := subscription.Policy{Kind: subscription.DropNewest}, subscription.Policy{Kind: subscription.DropOldest}
	latest, sample := subscription.Policy{Kind: subscription.Latest}, subscription.Policy{Kind: subscription.Sample, Every: 1}
	for _, test := range []struct {
		lacks    string
		crowd    func(*bytesBed)
		stands   bool // the lane takes nothing
		policies []subscription.Policy
		want     subscription.Cause
	}{
		{"room in the lane", func(*bytesBed) {}, true, []subscription.Policy{newest, oldest, sample}, subscription.CauseFull},
		{"room of all that may lose messages", func(b *bytesBed) { b.crowd(4, 10, newest) }, false, []subscription.Policy{newest, oldest, latest, sample}, subscription.CauseMemory},
		{"pages", func(b *bytesBed) { b.crowd(5, 10, subscription.Policy{}) }, false, []subscription.Policy{newest, oldest, latest, sample}, subscription.CauseMemory},
	} {
		for _, policy := range test.policies {
			t.Run(fmt.Sprintf("%v without %s", policy, test.lacks), func(t *testing.T) {
				b := newLossBed(t)
				box, ep := b.subscriber(tags.Of(1), policy)
				test.crowd(b)
				for range 100 {
					if err := b.fan.Publish(1, 0, make([]byte, 1500), nil); err != nil {
						t.Fatal(err)
					}
					b.fan.Flush()
					for !test.stands && ep.complete(box) {
					}
				}
				lost := box.Lanes[0].Account.Sums().Lost
				full, memory := lost[subscription.CauseFull], lost[subscription.CauseMemory]
				if lost[test.want] == 0 || full+memory != lost[test.want] {
					t.Errorf("lost %d with cause full, and %d with cause memory; want cause %v of all", full, memory, test.want)
				}
			})
		}
	}
}

// TestALossHasItsCause_asThePageBegins: the lane that does not get the page may have room when it ends.
func TestALossHasItsCause_asThePageBegins(t *testing.T) {
	b := newLossBed(t)
	newest := subscription.Policy{Kind: subscription.DropNewest}
	box, _ := b.subscriber(tags.Of(1), newest)
	b.subscriber(tags.Of(1), subscription.Policy{}) // gets the page
	complete := b.crowd(4, 10, newest)
	b.fan.cfg.FlushInterval = time.Hour
	if err := b.fan.Publish(1, 0, nil, nil); err != nil {
		t.Fatal(err)
	}
	complete()
	b.fan.Flush()
	if lost := box.Lanes[0].Account.Sums().Lost; lost[subscription.CauseMemory] != 1 {
		t.Errorf("lost by cause: %v, want one for want of memory", lost)
	}
}
