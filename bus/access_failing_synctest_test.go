// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"testing"
	"testing/synctest"

	"tagbus/bus"
	"tagbus/tags"
)

// failing is an Access that goes by something of before.
type failing struct{ bus.Access }

func (failing) Failing() bool { return true }

// TestState_ofAnAccessThatFails is told to those who ask: a policy that is not in use is seen in a log alone.
func TestState_ofAnAccessThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		x := b.site(`{"rules":[{"who": "cn:p", "publish": "1-3"}]}`)
		good := b.publisher(bus.PublisherConfig{Tags: tags.Of(1), Common: bus.Common{Access: x.as("cn:p")}})
		bad := b.publisher(bus.PublisherConfig{Tags: tags.Of(2), Common: bus.Common{Access: failing{x.as("cn:p")}}})
		none := b.publisher(bus.PublisherConfig{Tags: tags.Of(3)})
		if stateOf(t, good, everything).AccessFailing || stateOf(t, none, everything).AccessFailing || !stateOf(t, bad, everything).AccessFailing {
			t.Error("got the state of one for that of another")
		}
	})
}
