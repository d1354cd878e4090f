// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/tags"
)

// TestSender_aKilledReceiverRaisesNoAlarm: its directory entry stays for a while, and
// another one has taken over its tags. The sender must not call it a second
// receiver.
func TestSender_aKilledReceiverRaisesNoAlarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		a, c := make(inbox), make(inbox)
		first := b.receiver(bus.ReceiverConfig{Common: bus.Common{Name: "first"}, Tags: tags.Of(1)}, a.handle)
		s := b.sender(bus.SenderConfig{Tags: tags.Of(1)})
		must(t, s.SendContext(t.Context(), 1, []byte("a")))
		time.Sleep(time.Second)
		b.net.Kill(first.host)
		synctest.Wait()
		second := b.receiver(bus.ReceiverConfig{Common: bus.Common{Name: "second"}, Tags: tags.Of(1)}, c.handle)
		must(t, s.SendContext(t.Context(), 1, []byte("b")))
		time.Sleep(time.Minute)
		if got := s.of(bus.Duplicate); len(got) > 0 {
			t.Errorf("got alarms %v, want none: the first is dead", got)
		}
		must(t, s.Drain(t.Context()))
		a.want(t, "", 1, "a")
		c.want(t, "", 1, "b")
		if got := second.of(bus.Gap); len(got) > 0 {
			t.Errorf("got gaps %v, want none", got)
		}
	})
}

// TestSender_namesAReceiverThatLostItsTags: it lives, but while it was cut off another
// one has taken over its tags.
func TestSender_namesAReceiverThatLostItsTags(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		a, c := make(inbox), make(inbox)
		first := b.receiver(bus.ReceiverConfig{Common: bus.Common{Name: "first"}, Tags: tags.Of(1)}, a.handle)
		s := b.sender(bus.SenderConfig{Tags: tags.Of(1)})
		must(t, s.SendContext(t.Context(), 1, []byte("a")))
		time.Sleep(time.Second)
		b.net.Partition(anyPort(first.host), anyPort(s.host))
		time.Sleep(10 * time.Second)
		b.receiver(bus.ReceiverConfig{Common: bus.Common{Name: "second"}, Tags: tags.Of(1)}, c.handle)
		must(t, s.SendContext(t.Context(), 1, []byte("b")))
		b.net.Heal(anyPort(first.host), anyPort(s.host))
		time.Sleep(time.Minute)
		alarms := s.of(bus.Duplicate)
		if len(alarms) != 1 || alarms[0].Peer.Name != "first" || alarms[0].Other.Name != "second" {
			t.Errorf("got alarms %v, want one that names the first beside the second", alarms)
		}
		if got := len(s.of(bus.Connected)); got != 3 {
			t.Errorf("got %d connections in a minute, want 3: the first, the second, and once more the first, to hear what it wants", got)
		}
		must(t, s.Drain(t.Context()))
		c.want(t, "", 1, "b")
	})
}
