// SPDX-License-Identifier: Apache-2.0

package memnet_test

import (
	"testing"
	"testing/synctest"

	"tagbus/internal/testkit/memnet"
	"tagbus/netio"
)

// TestDirectTakesWhatItIsTold sends directly with a window of 10 bytes, which are free.
func TestDirectTakesWhatItIsTold(t *testing.T) {
	tests := []struct {
		name   string
		direct func(int) int
		text   string
		done   bool
	}{
		{"as it is", nil, "0123456789", true},
		{"as it is, more than the window", nil, "0123456789a", false},
		{"all", func(size int) int { return size }, "0123456789", true},
		{"more than all", func(size int) int { return 2 * size }, "0123", true},
		{"a part", func(size int) int { return size - 1 }, "0123456789", false},
		{"nothing", func(int) int { return 0 }, "0", false},
		{"less than nothing", func(int) int { return -1 }, "0", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.net.SetWindow(onB, onA, 10)
				w.cb = openBackend(w, w.net.Opener(w.loop, memnet.Config{Host: hostB, Direct: tt.direct}), w.client)
				w.connect()
				done, err := w.client.ep.SendDirect(7, nil, []byte(tt.text))
				if done != tt.done || err != nil {
					t.Errorf("SendDirect: got %v and error %v, want %v and none", done, err, tt.done)
				}
				synctest.Wait()
				w.heard("directly", tt.text)
				completions, direct := 1, uint64(0)
				if tt.done {
					completions, direct = 0, 1
				}
				if got := len(w.client.reported); got != completions {
					t.Errorf("completions: got %d, want %d", got, completions)
				}
				if got, want := w.cb.Stats(), (netio.Stats{Opened: 1, MessagesSent: 1, BytesSent: uint64(len(tt.text)), MessagesDirect: direct}); got != want {
					t.Errorf("Stats: got %+v, want %+v", got, want)
				}
			})
		})
	}
}

// TestADirectSendOverABrokenConnectionWaitsForItsEnd: it is accepted, and cancelled.
func TestADirectSendOverABrokenConnectionWaitsForItsEnd(t *testing.T) {
	inWorld(t, func(w *world) {
		w.connect()
		ep := w.client.ep
		w.loop.Freeze()
		w.net.Reset(ep.Local(), ep.Remote())
		if done, err := ep.SendDirect(7, nil, []byte("lost")); done || err != nil {
			t.Errorf("SendDirect over a broken connection: got %v and error %v, want false and none", done, err)
		}
		w.loop.Thaw()
		synctest.Wait()
		if len(w.client.reported) != 1 || len(w.client.causes) != 1 {
			t.Errorf("the end: got keys %v and causes %v, want one of each", w.client.reported, w.client.causes)
		}
		w.heard("after the end")
	})
}
