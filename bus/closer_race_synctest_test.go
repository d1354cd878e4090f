// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"testing"
	"testing/synctest"

	"tagbus/bus"
)

// The loop of the subscriber ended what a Close on another loop had begun, while that
// one still wrote down how it went: a data race.
func TestSubscriber_Close_onAnotherLoopLeavesTheRestToItsOwn(t *testing.T) {
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			b := newBed(t)
			s, other := b.subscriber(bus.SubscriberConfig{}), b.subscriber(bus.SubscriberConfig{})
			other.loop.Post(func() { must(t, s.Close()) })
		})
	}
}
