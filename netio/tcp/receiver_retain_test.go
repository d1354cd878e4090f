// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"tagbus/internal/testkit"
	"tagbus/netio"
	"tagbus/netio/tcp"
)

// keptMessage is a message that is retained, with a copy of what it was.
type keptMessage struct {
	retained   netio.Retained
	data, want []byte
}

func newReceivers(tb testing.TB, n, limit int) *tcp.Receivers {
	tb.Helper()
	rs, err := tcp.NewReceivers(n, netio.ReceiveParams{MaxMessageBytes: limit, FirstMessageBytes: limit})
	if err != nil {
		tb.Fatalf("NewReceivers: got error %v, want none", err)
	}
	return rs
}

// TestEndpoint_retainedMessagesStayAsTheyAre gives the receivers of one backend streams in pieces
// of any size, retains some messages and releases them again at any time.
func TestEndpoint_retainedMessagesStayAsTheyAre(t *testing.T) {
	const limit = 600_000
	for seed := range uint64(testkit.Fewer(60)) { // all is on one goroutine
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 0))
			rs := newReceivers(t, 3, limit)
			defer rs.Close()
			streams, wants := make([][]byte, 3), make([][][]byte, 3)
			for i := range streams {
				for range 60 {
					m := pattern(1+rnd.IntN(1<<(1+rnd.IntN(19))), rnd.IntN(200))
					wants[i] = append(wants[i], m)
					streams[i] = append(streams[i], frame(m)...)
				}
			}
			often := 1 + rnd.IntN(4)
			var kept []keptMessage
			for len(streams[0])+len(streams[1])+len(streams[2]) > 0 {
				i := rnd.IntN(3)
				n := min(len(streams[i]), 1+rnd.IntN(1<<(1+rnd.IntN(20))))
				err := rs.Turn(i, streams[i][:n], func(message []byte, retain func() netio.Retained) {
					if len(wants[i]) == 0 || !bytes.Equal(message, wants[i][0]) {
						t.Fatalf("receiver %d: got %d bytes, want the next message", i, len(message))
					}
					wants[i] = wants[i][1:]
					if rnd.IntN(often) == 0 {
						kept = append(kept, keptMessage{retain(), message, bytes.Clone(message)})
					}
				})
				if err != nil {
					t.Fatalf("Turn: got error %v, want none", err)
				}
				streams[i] = streams[i][n:]
				checkKept(t, kept)
				for len(kept) > 0 && rnd.IntN(3) == 0 {
					j := rnd.IntN(len(kept))
					kept[j].retained.Release()
					kept[j] = kept[len(kept)-1]
					kept = kept[:len(kept)-1]
				}
			}
			for _, k := range kept {
				k.retained.Release()
			}
			if got := rs.UsedBytes(); got != 0 {
				t.Errorf("memory in use when all is released: got %d bytes, want 0", got)
			}
		})
	}
}

func checkKept(tb testing.TB, kept []keptMessage) {
	tb.Helper()
	for i, k := range kept {
		if !bytes.Equal(k.data, k.want) {
			tb.Fatalf("retained message %d of %d bytes: got %x..., want %x...", i, len(k.data), k.data[:min(16, len(k.data))], k.want[:min(16, len(k.want))])
		}
	}
}

// TestEndpoint_smallRetainedMessagesShareMemory: one message a turn must not pin a
// scratch each.
func TestEndpoint_smallRetainedMessagesShareMemory(t *testing.T) {
	rs := newReceivers(t, 1, 1000)
	defer rs.Close()
	var kept []keptMessage
	for range 500 {
		err := rs.Turn(0, frame(pattern(40, len(kept))), func(message []byte, retain func() netio.Retained) {
			kept = append(kept, keptMessage{retain(), message, bytes.Clone(message)})
		})
		if err != nil {
			t.Fatalf("Turn: got error %v, want none", err)
		}
	}
	checkKept(t, kept)
	if got := rs.UsedBytes(); got != 0 {
		t.Errorf("500 messages of 40 bytes, retained: got %d bytes beyond the scratch, want 0", got)
	}
	for range 10_000 {
		err := rs.Turn(0, frame(pattern(40, len(kept))), func(message []byte, retain func() netio.Retained) {
			kept = append(kept, keptMessage{retain(), message, bytes.Clone(message)})
		})
		if err != nil {
			t.Fatalf("Turn: got error %v, want none", err)
		}
	}
	checkKept(t, kept)
	// A turn takes a cache line, and half a scratch may stay free at its end.
	if got, want := rs.UsedBytes(), 2*10_500*64+tcp.ScratchBytes; got > want {
		t.Errorf("10,500 messages of 40 bytes, retained: got %d bytes beyond the scratch, want at most %d", got, want)
	}
	for _, k := range kept {
		k.retained.Release()
	}
	if got := rs.UsedBytes(); got != 0 {
		t.Errorf("memory in use when all is released: got %d bytes, want 0", got)
	}
}

func TestEndpoint_releasingTwicePanics(t *testing.T) {
	rs := newReceivers(t, 1, 500_000)
	defer rs.Close()
	var r netio.Retained
	err := rs.Turn(0, frame(pattern(400_000, 1)), func(_ []byte, retain func() netio.Retained) { r = retain() })
	if err != nil {
		t.Fatalf("Turn: got error %v, want none", err)
	}
	r.Release()
	defer func() {
		if recover() == nil {
			t.Error("Release of memory that is free: got no panic, want one")
		}
	}()
	r.Release()
}
