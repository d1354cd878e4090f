// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/tags"
)

// TestHandler_thatBlocksHoldsUpItsNode is what a Handler must not do, and what comes of it.
func TestHandler_thatBlocksHoldsUpItsNode(t *testing.T) {
	for _, test := range []struct {
		blocks time.Duration
		lost   bool
	}{{3 * time.Second, false}, {8 * time.Second, true}} {
		t.Run(test.blocks.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				p, s := b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2)}), b.subscriber(bus.SubscriberConfig{})
				var other time.Time
				subscribe(t, s, tags.Of(1), func(bus.Message) { time.Sleep(test.blocks) })
				subscribe(t, s, tags.Of(2), func(bus.Message) { other = time.Now() })
				began := time.Now()
				must(t, p.Publish(1, nil))
				must(t, p.Publish(2, nil))
				time.Sleep(time.Minute)
				synctest.Wait()
				if waited := other.Sub(began); waited < test.blocks {
					t.Errorf("the handler of another tag was called after %v, want that it waits for %v", waited, test.blocks)
				}
				lost, _ := p.first(bus.Lost)
				if got := errors.Is(lost.Err, bus.ErrSilent); got != test.lost {
					t.Errorf("the publisher takes the subscriber for dead: got %v, %v want %v", got, lost.Err, test.lost)
				}
			})
		})
	}
}
