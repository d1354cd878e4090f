// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm_test

import (
	"bytes"
	"errors"
	"runtime"
	"testing"

	"tagbus/internal/invariants"
	"tagbus/internal/testkit"
	"tagbus/internal/testkit/backendtest"
	"tagbus/netio"
	"tagbus/netio/reactor"
	"tagbus/netio/shm"
)

// sharedRegion returns memory to lend, until the end of the test.
func sharedRegion(t *testing.T, n int) []byte {
	t.Helper()
	if testkit.Race {
		t.Skip("a race build has no memory that can be lent")
	}
	region, err := netio.AllocSharedRegion(n)
	if err != nil {
		t.Fatalf("AllocSharedRegion: got error %v, want none", err)
	}
	t.Cleanup(func() { _ = netio.FreeRegion(region) })
	return region
}

// dial opens an endpoint to s from a backend of its own, and returns it with the other
// end.
func (s *served) dial(t *testing.T, w *backendtest.Watcher, cfg shm.Config, p netio.Params) (b netio.Backend, opened, accepted netio.Endpoint) {
	t.Helper()
	cfg.Folder = s.folder
	b, _ = backendtest.Open(t, reactor.Config{}, w, opener(cfg))
	if err := b.OpenEndpoint(s.l.Addr(), p); err != nil {
		t.Fatalf("OpenEndpoint: got error %v, want none", err)
	}
	return b, next(t, "OnConnectionEstablished", w.Established), next(t, "OnConnectionEstablished", s.Established)
}

// TestLentMessageIsNotCopied: the handler sees the very memory of the sender.
func TestLentMessageIsNotCopied(t *testing.T) {
	if invariants.Enabled {
		t.Skip("a build with invariants copies all, to overwrite it")
	}
	region := sharedRegion(t, 64<<10)
	s := serve(t, shm.Config{}, netio.Params{})
	seen := make(chan [2]byte, 1)
	s.AtData = func(_ netio.Endpoint, data []byte) {
		before := data[0]
		region[0]++
		seen <- [2]byte{before, data[0]}
	}
	w := newWatcher()
	_, ep, _ := s.dial(t, w, shm.Config{}, netio.Params{ZeroCopy: netio.ZeroCopyParams{Region: region}})
	if err := ep.Send(1, nil, region); err != nil {
		t.Fatalf("Send: got error %v, want none", err)
	}
	if got := next(t, "OnData", seen); got != [2]byte{0, 1} {
		t.Errorf("first byte before and after its sender has changed it: got %v, want 0 and 1", got)
	}
	next(t, "OnSendCompleted", w.Completed)
}

// TestCloseWaitsForWhoReads: memory that a reader looks at is not its sender's again
// before the reader has turned away, however the sender closes.
func TestCloseWaitsForWhoReads(t *testing.T) {
	for _, how := range []string{"endpoint", "backend"} {
		t.Run(how, func(t *testing.T) {
			region := sharedRegion(t, 64<<10)
			cfg := shm.WithPartTimeout(shm.Config{}, backendtest.Patience)
			s := serve(t, cfg, netio.Params{})
			inside, free := make(chan struct{}), make(chan struct{})
			var changed bool
			s.AtData = func(_ netio.Endpoint, data []byte) {
				inside <- struct{}{}
				<-free
				changed = data[0] != 0
			}
			w := newWatcher()
			w.AtClosed = func(netio.Endpoint) { region[0] = 1 }
			b, ep, accepted := s.dial(t, w, cfg, netio.Params{ZeroCopy: netio.ZeroCopyParams{Region: region}})
			for key := range netio.Key(2) {
				if err := ep.Send(key, nil, region); err != nil {
					t.Fatalf("Send: got error %v, want none", err)
				}
			}
			next(t, "OnData", inside)
			closed := make(chan struct{})
			go func() {
				defer close(closed)
				if how == "endpoint" {
					_ = ep.Close()
				} else {
					_ = b.Close()
				}
			}()
			for !shm.PeerHasClosed(accepted) {
				runtime.Gosched()
			}
			if how == "endpoint" { // the loop turns meanwhile
				onLoop(t, b.Loop(), func() {})
				onLoop(t, b.Loop(), func() {})
			}
			if n := len(w.Closed); n != 0 {
				t.Errorf("OnConnectionClosed while the other side reads: got %d, want none", n)
			}
			free <- struct{}{}
			end := next(t, "OnConnectionClosed", w.Closed)
			<-closed
			if len(end.Keys) == 0 || end.Cause != nil {
				t.Errorf("OnConnectionClosed: got keys %v, cause %v, want those outstanding, and none", end.Keys, end.Cause)
			}
			next(t, "OnConnectionClosed", s.Closed)
			if changed {
				t.Errorf("data at the end of OnData: got changed, want as it was sent")
			}
			if n := len(s.Data); n != 1 {
				t.Errorf("messages: got %d, want the one that was being read: the other was taken back", n)
			}
		})
	}
}

// TestReaderThatDoesNotTurnAway is not waited for for ever.
func TestReaderThatDoesNotTurnAway(t *testing.T) {
	region := sharedRegion(t, 64<<10)
	for _, how := range []string{"endpoint", "backend"} {
		s := serve(t, shm.WithPartTimeout(shm.Config{}, 1), netio.Params{ZeroCopy: netio.ZeroCopyParams{Region: region}})
		_, ep := s.greet(t)
		if err := ep.Send(7, nil, region); err != nil {
			t.Fatalf("Send: got error %v, want none", err)
		}
		if how == "endpoint" {
			_ = ep.Close()
		} else {
			_ = s.b.Close()
		}
		if end := next(t, "OnConnectionClosed", s.Closed); len(end.Keys) != 1 || end.Keys[0] != 7 || end.Cause != nil {
			t.Errorf("%s: OnConnectionClosed: got keys %v, cause %v, want 7 and none", how, end.Keys, end.Cause)
		}
	}
}

// TestCopiedMessagesOutliveTheirSender: what was copied is read when its sender has
// closed, up to what was lent.
func TestCopiedMessagesOutliveTheirSender(t *testing.T) {
	s := serve(t, shm.Config{}, netio.Params{})
	w := newWatcher()
	_, ep, accepted := s.dial(t, w, shm.Config{}, netio.Params{})
	onLoop(t, s.b.Loop(), accepted.PauseReceive)
	want := bytes.Repeat([]byte("copied"), 5000)
	for key := range netio.Key(3) {
		if err := ep.SendCopy(key, nil, want); err != nil {
			t.Fatalf("SendCopy: got error %v, want none", err)
		}
		next(t, "OnSendCompleted", w.Completed) // though it was not read
	}
	_ = ep.Close()
	next(t, "OnConnectionClosed", w.Closed)
	accepted.ResumeReceive()
	for range 3 {
		if got := next(t, "OnData", s.Data); !bytes.Equal(got, want) {
			t.Errorf("message: got %d bytes, want the %d that were sent", len(got), len(want))
		}
	}
	next(t, "OnConnectionClosed", s.Closed)
}

// TestRetainMakesReceivingPrivate: memory of the other side is not kept, and the next
// message comes in memory that is.
func TestRetainMakesReceivingPrivate(t *testing.T) {
	s := serve(t, shm.Config{}, netio.Params{})
	var kept netio.Retained
	var errs []error
	s.AtData = func(ep netio.Endpoint, _ []byte) {
		r, err := ep.Retain()
		if err == nil {
			kept = r
		}
		errs = append(errs, err)
	}
	w := newWatcher()
	_, ep, _ := s.dial(t, w, shm.Config{}, netio.Params{})
	for range 2 {
		if err := ep.SendCopy(1, nil, make([]byte, 5000)); err != nil {
			t.Fatalf("SendCopy: got error %v, want none", err)
		}
		next(t, "OnData", s.Data)
	}
	onLoop(t, s.b.Loop(), func() {})
	if first := errs[0]; !invariants.Enabled && !errors.Is(first, netio.ErrNoResources) || errs[1] != nil {
		t.Errorf("Retain of two messages: got %v, want %v and none", errs, netio.ErrNoResources)
	}
	if got := kept.Bytes(); got < 5000 {
		t.Errorf("Retained.Bytes: got %d, want at least 5000", got)
	}
	kept.Release()
}

// TestPeerCredentials: both ends know which process the other one is.
func TestPeerCredentials(t *testing.T) {
	s := serve(t, shm.Config{}, netio.Params{})
	w := newWatcher()
	_, opened, accepted := s.dial(t, w, shm.Config{}, netio.Params{})
	for _, ep := range []netio.Endpoint{opened, accepted} {
		if got := ep.(netio.LocalPeer).PeerCredentials(); got != ownCredentials() {
			t.Errorf("PeerCredentials: got %+v, want those of this process, %+v", got, ownCredentials())
		}
	}
}
