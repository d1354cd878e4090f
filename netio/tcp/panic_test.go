// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"errors"
	"io"
	"log/slog"
	"slices"
	"testing"

	"tagbus/netio"
	"tagbus/netio/reactor"
	"tagbus/netio/tcp"
)

func TestEndpoint_panicOfACallbackEndsItsEndpointOnly(t *testing.T) {
	tests := []struct {
		name string
		set  func(w *watcher, victim func(netio.Endpoint))
	}{
		{"OnConnectionEstablished", func(w *watcher, victim func(netio.Endpoint)) { w.AtEstablished = victim }},
		{"OnData", func(w *watcher, victim func(netio.Endpoint)) {
			w.AtData = func(ep netio.Endpoint, _ []byte) { victim(ep) }
		}},
		{"OnSendCompleted", func(w *watcher, victim func(netio.Endpoint)) {
			w.AtCompleted = func(c netio.Completion) { victim(c.Endpoint) }
		}},
		{"OnConnectionClosed", func(w *watcher, victim func(netio.Endpoint)) { w.AtClosed = victim }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWatcher()
			var eps []netio.Endpoint // that have had this callback; the second is the victim
			tt.set(w, func(ep netio.Endpoint) {
				if !slices.Contains(eps, ep) {
					eps = append(eps, ep)
				}
				if len(eps) > 1 && ep == eps[1] {
					panic("on purpose")
				}
			})
			b, loop := openBackendOn(t, reactor.Config{Logger: slog.New(slog.DiscardHandler)}, w, tcp.Config{})
			l, err := b.OpenListenEndpoint(loopback, netio.Params{})
			if err != nil {
				t.Fatalf("OpenListenEndpoint: got error %v, want none", err)
			}
			s := &served{w, b, l}
			first, firstEnd := s.dialRaw(t)
			closing := tt.name == "OnConnectionClosed"
			if closing { // the first to have this callback must be another one
				c, _ := s.dialRaw(t)
				_ = c.Close()
				next(t, "OnConnectionClosed", w.Closed)
			} else {
				s.exchange(t, first, firstEnd)
			}
			victim, victimEnd := s.dialRaw(t)
			if closing {
				_ = victim.Close()
			} else {
				_, _ = victim.Write(slices.Concat(frame([]byte("one")), frame([]byte("two")), []byte{3, 0}))
				_ = victimEnd.SendCopy(1, nil, []byte("answer")) // may come too late
			}
			end := next(t, "OnConnectionClosed", w.Closed)
			if end.Endpoint != victimEnd {
				t.Fatalf("OnConnectionClosed: got another endpoint, want the one whose callback panicked")
			}
			if !closing && !errors.Is(end.Cause, tcp.ErrCallbackPanicked) {
				t.Errorf("cause: got %v, want %v", end.Cause, tcp.ErrCallbackPanicked)
			}
			for len(w.Data) > 0 {
				<-w.Data
			}
			s.exchange(t, first, firstEnd)
			s.dialRaw(t) // the listen endpoint lives
			if got := loop.Stats().Panics; got != 1 {
				t.Errorf("panics: got %d, want 1", got)
			}
		})
	}
}

// exchange sends a message in both directions.
func (s *served) exchange(t *testing.T, c io.ReadWriter, ep netio.Endpoint) {
	t.Helper()
	write(t, c, frame([]byte("unharmed")))
	if got := next(t, "OnData", s.Data); string(got) != "unharmed" {
		t.Errorf("OnData: got %q, want %q", got, "unharmed")
	}
	if err := ep.SendCopy(1, nil, []byte("unharmed")); err != nil {
		t.Errorf("SendCopy: got error %v, want none", err)
	}
	got := make([]byte, 12)
	if _, err := io.ReadFull(c, got); err != nil || string(got[4:]) != "unharmed" {
		t.Errorf("peer: got %q and error %v, want %q", got, err, "unharmed")
	}
}
