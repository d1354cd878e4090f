// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"testing"

	"tagbus/netio"
)

// A payload of the user is lent again when the last connection has gone that would copy it.
func TestConnectionsThatCopyAreCounted(t *testing.T) {
	fan := newFanout(t)
	var boxes []*Outbox
	for _, can := range []netio.Capabilities{{AnyMemory: true}, {}, {AnyMemory: true, CopyOther: true}} {
		box := &Outbox{}
		box.Init(fan, &beatEndpoint{can: can}, func(error) {})
		boxes = append(boxes, box)
	}
	for i, want := range []int32{2, 1, 0} {
		boxes[i].Kill()
		boxes[i].Kill()
		if got := fan.ownOnly.Load(); got != want {
			t.Errorf("after the end of %d: got %d connections that copy, want %d", i+1, got, want)
		}
	}
}
