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

func TestReceiver_thatReconnectsIsToldExactlyWhatItMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		in := make(inbox)
		r := b.receiver(bus.ReceiverConfig{Tags: tags.Of(1, 2)}, in.handle)
		s := b.sender(bus.SenderConfig{Sending: bus.Sending{PageBytes: 1024, QueueBytes: 64 << 10, MaxMessageBytes: 1000}})
		must(t, s.SendContext(t.Context(), 1, []byte("a")))
		time.Sleep(time.Second)
		b.stall(r.host)
		for range 20 { // accepted, and then lost with the connection
			must(t, s.Send(1, make([]byte, 500)))
		}
		must(t, s.Send(2, nil))
		s.Flush()
		synctest.Wait()
		b.net.Reset(anyPort(s.host), anyPort(r.host))
		b.net.Resume(anybody, anyPort(r.host))
		synctest.Wait()
		if err := s.Send(1, nil); !errors.Is(err, bus.ErrNoReceiver) {
			t.Errorf("while the connection is lost: got %v, want ErrNoReceiver", err)
		}
		must(t, s.SendContext(t.Context(), 1, []byte("b")))
		must(t, s.Drain(t.Context()))
		synctest.Wait()
		missed := gaps(r.member)
		delivered := uint64(len(in[""].data[1]))
		if want := uint64(22); delivered+missed[1] != want || missed[2] != 1 || missed[1] == 0 {
			t.Errorf("got %d messages and gaps %v of tag 1, want %d together, and 1 of tag 2", delivered, missed, want)
		}
		lost := s.of(bus.Lost)
		var undelivered *bus.UnconfirmedError
		if len(lost) == 0 || !errors.As(lost[0].Err, &undelivered) || undelivered.Messages == 0 || undelivered.Messages > 21 {
			t.Errorf("sender: got %v, want a lost connection with undelivered messages", lost)
		}
		if len(r.of(bus.Vanished)) > 0 {
			t.Errorf("got events %v, want none of a sender that is gone for good", r.events)
		}
	})
}

func TestSender_aReceiverRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		old := make(inbox)
		first := b.receiver(bus.ReceiverConfig{Tags: tags.Of(1)}, old.handle)
		s := b.sender(bus.SenderConfig{})
		must(t, s.SendContext(t.Context(), 1, []byte("a")))
		time.Sleep(time.Second)
		b.net.Kill(first.host) // its directory entry stays
		synctest.Wait()
		in := make(inbox)
		second := b.receiver(bus.ReceiverConfig{Tags: tags.Of(1)}, in.handle)
		must(t, s.SendContext(t.Context(), 1, []byte("b")))
		must(t, s.Drain(t.Context()))
		old.want(t, "", 1, "a")
		in.want(t, "", 1, "b")
		if got := in[""].last[1]; got != 2 {
			t.Errorf("got counter %d, want 2: it is the sender's", got)
		}
		if st := second.Stats(); st.Lost != 0 || len(second.of(bus.Gap)) > 0 {
			t.Errorf("the new receiver: got %+v, want nothing lost", st)
		}
	})
}

func TestReceiver_aSenderThatIsKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		r := b.receiver(bus.ReceiverConfig{Tags: tags.Of(1)}, func(bus.Message) {})
		s := b.sender(bus.SenderConfig{})
		must(t, s.SendContext(t.Context(), 1, []byte("a")))
		time.Sleep(time.Second)
		b.net.Kill(s.host)
		start := time.Now()
		synctest.Wait()
		if len(r.of(bus.Lost)) != 1 || len(r.of(bus.Vanished)) != 0 {
			t.Errorf("at once: got %v, want lost and not yet vanished", r.events)
		}
		time.Sleep(15*time.Second - time.Millisecond)
		if len(r.of(bus.Vanished)) != 0 {
			t.Errorf("got %v, %v after the connection, want patience", r.of(bus.Vanished), time.Since(start))
		}
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		if len(r.of(bus.Vanished)) != 1 {
			t.Errorf("got %v, want vanished", r.events)
		}
	})
}

// TestSender_thatLostItsConnectionUnnoticed: the receiver still has the old
// connection when the sender dials again.
func TestSender_thatLostItsConnectionUnnoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		in := make(inbox)
		r := b.receiver(bus.ReceiverConfig{Tags: tags.Of(1)}, in.handle)
		s := b.sender(bus.SenderConfig{})
		must(t, s.SendContext(t.Context(), 1, []byte("a")))
		time.Sleep(time.Second)
		twin := b.twinOf(t, s, r)
		synctest.Wait()
		if len(r.of(bus.Problem)) != 1 || !errors.Is(r.of(bus.Problem)[0].Err, bus.ErrReplaced) {
			t.Errorf("got %v, want the old connection replaced", r.events)
		}
		if len(twin.got) != 1 {
			t.Errorf("the new connection: got %d answers, want 1: refused for now", len(twin.got))
		}
		must(t, s.SendContext(t.Context(), 1, []byte("b")))
		must(t, s.Drain(t.Context()))
		in.want(t, "", 1, "a", "b")
	})
}
