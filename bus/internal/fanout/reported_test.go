// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"errors"
	"math"
	"testing"

	"tagbus/bus/internal/positions"
	"tagbus/subscription"
	"tagbus/tags"
)

// listOf returns a list of one position or count.
func listOf(tag tags.Tag, count uint64) []byte {
	return subscription.AppendPosition(nil, 0, subscription.Position{Tag: tag, Count: count})
}

// TestOutbox_countsOfASubscriberAreClaims: 3 messages of tag 1 were published, for lane 1.
func TestOutbox_countsOfASubscriberAreClaims(t *testing.T) {
	const full = subscription.CauseFull
	for name, test := range map[string]struct {
		say   func(*Outbox) error
		wrong bool
	}{
		"a position that is reached":            {func(b *Outbox) error { return b.fan.Reached(listOf(1, 3)) }, false},
		"one above":                             {func(b *Outbox) error { return b.fan.Reached(listOf(1, 4)) }, true},
		"one of a tag that was never published": {func(b *Outbox) error { return b.fan.Reached(listOf(2, 1)) }, true},
		"missed: all":                           {func(b *Outbox) error { return b.Missed(&subscription.Missed{Lane: 1, Cause: full, List: listOf(1, 3)}) }, false},
		"missed: one more":                      {func(b *Outbox) error { return b.Missed(&subscription.Missed{Lane: 1, Cause: full, List: listOf(1, 4)}) }, true},
		"missed: as many as there are numbers": {func(b *Outbox) error {
			return b.Missed(&subscription.Missed{Lane: 1, Cause: full, List: listOf(1, math.MaxUint64)})
		}, true},
		"missed: in a lane that is none": {func(b *Outbox) error { return b.Missed(&subscription.Missed{Lane: 2, Cause: full, List: listOf(1, 1)}) }, true},
		"received: none":                 {func(b *Outbox) error { return b.Received(&subscription.Received{Lane: 1}) }, false},
		"received: more than were sent": {func(b *Outbox) error {
			return errors.Join(b.Received(&subscription.Received{Lane: 1}), b.Received(&subscription.Received{Lane: 1, Messages: 3}))
		}, true},
		"received: more than there can be": {func(b *Outbox) error { return b.Received(&subscription.Received{Lane: 1, Messages: positions.Max + 1}) }, true},
		"received: in a lane that is none": {func(b *Outbox) error { return b.Received(&subscription.Received{Lane: 2}) }, true},
		"dropped: none": {func(b *Outbox) error {
			return b.Dropped(&subscription.Dropped{Lane: 1, Cause: subscription.CauseOverflow}, 10)
		}, false},
		"dropped: what was not received": {func(b *Outbox) error {
			return b.Dropped(&subscription.Dropped{Lane: 1, Cause: subscription.CauseOverflow, Messages: 1}, 10)
		}, true},
		"dropped: of a tag more than of all": {func(b *Outbox) error {
			return b.Dropped(&subscription.Dropped{Lane: 1, Cause: subscription.CauseOverflow, List: listOf(1, 1)}, 10)
		}, true},
		"dropped: in a lane that is none": {func(b *Outbox) error {
			return b.Dropped(&subscription.Dropped{Lane: 2, Cause: subscription.CauseOverflow}, 10)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newLeaveBed(t, 2, 16) // it has published one of each tag
			box := b.connect()
			b.want(box, tags.Of(0, 1), subscription.Policy{})
			for range 2 {
				if err := b.fan.Publish(1, 0, nil, nil); err != nil {
					t.Fatal(err)
				}
			}
			err := test.say(&box.Outbox)
			if (err != nil) != test.wrong {
				t.Errorf("got %v, want an error: %v", err, test.wrong)
			}
		})
	}
}
