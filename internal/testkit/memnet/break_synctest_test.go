// SPDX-License-Identifier: Apache-2.0

package memnet_test

import (
	"bytes"
	"errors"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/netio"
)

func TestResetLosesWhatIsUnderWay(t *testing.T) {
	inWorld(t, func(w *world) {
		w.net.SetWindow(anybody, anybody, 10)
		w.connect()
		w.say("arrives")
		w.net.Stall(anybody, anybody)
		w.say("in window!") // fills it
		w.say("in the queue")
		if got := w.net.Reset(onA, onB); got != 1 {
			w.Errorf("Reset: got %d connections, want 1", got)
		}
		if got := w.net.Reset(onA, onB); got != 0 {
			w.Errorf("second Reset: got %d connections, want 0", got)
		}
		synctest.Wait()
		w.net.Resume(anybody, anybody)
		synctest.Wait()
		w.heard("after Reset", "arrives")
		for _, u := range []*user{w.client, w.server} {
			if len(u.causes) != 1 || !errors.Is(u.causes[0], syscall.ECONNRESET) {
				w.Errorf("causes: got %v, want %v", u.causes, syscall.ECONNRESET)
			}
			if !slices.Equal(u.accepted, u.reported) {
				w.Errorf("keys reported: got %v, want %v", u.reported, u.accepted)
			}
		}
	})
}

func TestKillIsSilentThereAndAResetHere(t *testing.T) {
	inWorld(t, func(w *world) {
		w.connect()
		w.net.Stall(onB, onA)
		w.say("lost")
		if got := w.net.Kill(hostA); got != 1 {
			w.Errorf("Kill: got %d backends, want 1", got)
		}
		synctest.Wait()
		if len(w.client.causes) != 1 || !errors.Is(w.client.causes[0], syscall.ECONNRESET) {
			w.Errorf("causes at the peer: got %v, want %v", w.client.causes, syscall.ECONNRESET)
		}
		if err := w.server.ep.Send(7, nil, []byte("nobody hears")); err != nil {
			w.Errorf("Send of a killed backend: got error %v, want none: it does not know", err)
		}
		w.dial()
		if w.client.refused != 1 {
			w.Errorf("connecting to a killed backend: got %d refused, want 1", w.client.refused)
		}
		w.net.Resume(onB, onA)
		w.sleep(time.Hour)
		if len(w.server.causes)+len(w.server.received)+len(w.server.reported) != 0 {
			w.Errorf("callbacks of a killed backend: got %v, %q, %v, want none", w.server.causes, w.server.received, w.server.reported)
		}
		if got := w.net.Kill(hostA); got != 0 {
			w.Errorf("second Kill: got %d backends, want 0", got)
		}
		// Its successor has the address, and Close still keeps the books.
		successor := &user{}
		w.listen(w.open(hostA, successor))
		w.dial()
		if successor.ep == nil || w.client.ep == nil {
			w.Errorf("connecting to the successor: got %v and %v, want a connection", successor.ep, w.client.ep)
		}
		if err := w.sb.Close(); err != nil {
			w.Errorf("Close of a killed backend: got error %v, want none", err)
		}
		if len(w.server.causes) != 1 || w.server.causes[0] != nil || !slices.Equal(w.server.reported, []netio.Key{7}) {
			w.Errorf("Close of a killed backend: got causes %v and keys %v, want one nil and key 7", w.server.causes, w.server.reported)
		}
	})
}

func TestChangedMemoryIsSeen(t *testing.T) {
	inWorld(t, func(w *world) {
		w.net.SetWindow(anybody, anybody, 4)
		w.connect()
		w.net.Stall(anybody, anybody)
		mem := []byte("good bytes")
		if err := w.client.ep.Send(3, nil, mem); err != nil {
			w.Fatalf("Send: got error %v, want none", err)
		}
		synctest.Wait()
		copy(mem, "BAD")
		copy(mem[5:], "BAD")
		w.net.Resume(anybody, anybody)
		synctest.Wait()
		w.heard("of memory changed half-way", "good BADes")
		if got := w.net.Violations(); len(got) != 1 {
			w.Errorf("Violations: got %q, want 1", got)
		}
	})
}

// keeper keeps the data of OnData, which it must not.
type keeper struct {
	user
	kept []byte
}

func (k *keeper) OnData(_ netio.Endpoint, data []byte) { k.kept = data }

func TestKeptDataIsOverwritten(t *testing.T) {
	inWorld(t, func(w *world) {
		k := &keeper{}
		w.cb = w.open(hostB, k)
		w.dial()
		if err := w.server.send(2, 1, "for a moment"); err != nil {
			w.Fatalf("send: got error %v, want none", err)
		}
		synctest.Wait()
		if want := bytes.Repeat([]byte{0xDB}, 12); !bytes.Equal(k.kept, want) {
			w.Errorf("data after OnData: got %q, want %q", k.kept, want)
		}
	})
}

func TestCloseInTheMiddleOfAMessageTruncates(t *testing.T) {
	inWorld(t, func(w *world) {
		w.net.SetWindow(anybody, anybody, 4)
		w.connect()
		w.net.Stall(anybody, anybody)
		w.say("too long for the window")
		if err := w.client.ep.Close(); err != nil {
			w.Fatalf("Close: got error %v, want none", err)
		}
		synctest.Wait()
		w.net.Resume(anybody, anybody)
		synctest.Wait()
		w.heard("of a message that was cut")
		if len(w.server.causes) != 1 || !errors.Is(w.server.causes[0], netio.ErrTruncated) {
			w.Errorf("causes: got %v, want %v", w.server.causes, netio.ErrTruncated)
		}
		if got := w.sb.Stats().Truncated; got != 1 {
			w.Errorf("Stats.Truncated: got %d, want 1", got)
		}
	})
}

func TestPausedEndWithUnreadDataLearnsOfTheEndBySending(t *testing.T) {
	inWorld(t, func(w *world) {
		w.connect()
		w.server.ep.PauseReceive()
		w.say("unread")
		if err := w.client.ep.Close(); err != nil {
			w.Fatalf("Close: got error %v, want none", err)
		}
		w.sleep(time.Hour)
		if len(w.server.causes) != 0 {
			w.Errorf("causes at a paused end with unread data: got %v, want none", w.server.causes)
		}
		if err := w.server.send(2, 1, "are you there?"); err != nil {
			w.Fatalf("send: got error %v, want none", err)
		}
		synctest.Wait()
		if len(w.server.causes) != 1 || !errors.Is(w.server.causes[0], syscall.ECONNRESET) {
			w.Errorf("causes after sending to a peer that is gone: got %v, want %v", w.server.causes, syscall.ECONNRESET)
		}
	})
}
