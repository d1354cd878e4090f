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

// A peer that reads pages in place needs more of them while it is woken; elsewhere they are out of the reach of policies.
func TestPagesInFlightAsTheTransportReadsThem(t *testing.T) {
	fan := newFanout(t)
	for _, test := range []struct {
		can   netio.Capabilities
		pages int
	}{{netio.Capabilities{AnyMemory: true}, 4}, {netio.Capabilities{AnyMemory: true, InPlace: true}, 16}} {
		box := &Outbox{}
		box.Init(fan, &beatEndpoint{can: test.can}, func(error) {})
		n := &Lane{out: box, limit: 1 << 30}
		box.Lanes = append(box.Lanes, n)
		box.mu.Lock()
		for range 100 {
			n.queue.Push(item{page: &page{bytes: fan.cfg.PageBytes}})
		}
		box.pump()
		if got := box.inFlight.Len(); got != test.pages {
			t.Errorf("%+v: got %d pages in flight, want %d", test.can, got, test.pages)
		}
		box.mu.Unlock()
	}
}
