// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tagbus/bus"
	"tagbus/tags"
)

// TestSender_whatOneReceiverHadNoOtherGets: the cache makes up for a lost connection,
// not for the time in which another receiver owned the tag.
func TestSender_whatOneReceiverHadNoOtherGets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		first, second := make(inbox), make(inbox)
		r := b.receiver(bus.ReceiverConfig{Tags: tags.Of(1, 2)}, first.handle)
		s := b.sender(bus.SenderConfig{Sending: bus.Sending{CacheMessages: 100}})
		must(t, s.WaitReceivers(t.Context(), tags.Of(1, 2)))
		must(t, s.SendAcked(t.Context(), 1, []byte("a")))
		must(t, s.SendAcked(t.Context(), 2, []byte("u")))
		rival := b.receiver(bus.ReceiverConfig{Tags: tags.Of(1)}, second.handle)
		b.net.Partition(anybody, anyPort(r.host))
		must(t, s.Send(2, []byte("v"))) // is missed, and sent again
		time.Sleep(20 * time.Second)    // the rival takes over
		must(t, s.SendAcked(t.Context(), 1, []byte("b")))
		b.net.Heal(anybody, anyPort(r.host))
		time.Sleep(20 * time.Second)
		must(t, s.SendAcked(t.Context(), 1, []byte("c")))
		must(t, rival.Drain(t.Context()))
		must(t, s.SendAcked(t.Context(), 1, []byte("d")))
		must(t, s.Drain(t.Context()))
		synctest.Wait()
		want := map[tags.Tag][]string{1: {"a", "d"}, 2: {"u", "v"}}
		if d := cmp.Diff(want, first[""].data); d != "" {
			t.Errorf("the first receiver (-want +got):\n%s", d)
		}
		second.want(t, "", 1, "b", "c")
		if missed := gaps(r.member); missed[1] != 2 || missed[2] != 0 {
			t.Errorf("the first receiver: got gaps %v, want one of the 2 messages that were sent while it was away", missed)
		}
	})
}

// TestSender_aTagThatIsGivenUp goes to another receiver, although the one that had it stays.
func TestSender_aTagThatIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		first, second := make(inbox), make(inbox)
		r := b.receiver(bus.ReceiverConfig{Tags: tags.Of(1, 2)}, first.handle)
		s := b.sender(bus.SenderConfig{Tags: tags.Of(1, 2, 3)})
		must(t, s.WaitReceivers(t.Context(), tags.Of(1, 2)))
		must(t, s.SendAcked(t.Context(), 2, []byte("a")))
		b.receiver(bus.ReceiverConfig{Tags: tags.Of(2, 3)}, second.handle)
		time.Sleep(time.Minute)
		must(t, r.Subscription().Remove(tags.Of(2)))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		must(t, s.WaitReceivers(ctx, tags.Of(1, 2, 3)))
		must(t, s.SendAcked(t.Context(), 2, []byte("b")))
		first.want(t, "", 2, "a")
		second.want(t, "", 2, "b")
	})
}
