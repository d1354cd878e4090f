// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tagbus/netio"
	"tagbus/netio/tcp"
)

// frame returns a message as it stands in the stream.
func frame(message []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(message))), message...)
}

// pattern returns n bytes without a short period.
func pattern(n, seed int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(seed + i + i>>8*7 + i>>16*5)
	}
	return p
}

func newReceiver(tb testing.TB, p netio.ReceiveParams) *tcp.Receiver {
	tb.Helper()
	r, err := tcp.NewReceiver(p)
	if err != nil {
		tb.Fatalf("NewReceiver: got error %v, want none", err)
	}
	tb.Cleanup(r.Close)
	return r
}

// naive cuts a stream as the package comment says, with no regard to speed. It
// returns the messages, what is left over, and the length that is impossible.
func naive(stream []byte, first, limit int) (messages [][]byte, rest int, bad bool) {
	for len(stream) >= 4 {
		n := uint64(binary.LittleEndian.Uint32(stream))
		if n < 1 || n > uint64(first) {
			return messages, 0, true
		}
		if uint64(len(stream)-4) < n {
			break
		}
		messages = append(messages, stream[4:4+n])
		stream = stream[4+n:]
		first = limit
	}
	return messages, len(stream), false
}

func TestEndpoint_readsLengths(t *testing.T) {
	const limit = 1000
	tests := []struct {
		name   string
		length uint32
		bad    bool
	}{
		{"no byte is impossible", 0, true},
		{"one byte is the least", 1, false},
		{"the limit is allowed", limit, false},
		{"one more than the limit is not", limit + 1, true},
		{"2^31-1 is not", 1<<31 - 1, true},
		{"2^31 is not, though negative as an int32", 1 << 31, true},
		{"2^32-4 is not, though 0 with the length itself", 1<<32 - 4, true},
		{"2^32-1 is not", 1<<32 - 1, true},
		{"HTTP is not", binary.LittleEndian.Uint32([]byte("GET ")), true},
		{"TLS is not", binary.LittleEndian.Uint32([]byte{0x16, 3, 1, 2}), true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newReceiver(t, netio.ReceiveParams{FirstMessageBytes: limit, MaxMessageBytes: limit})
			got := 0
			stream := binary.LittleEndian.AppendUint32(nil, tt.length)
			stream = append(stream, make([]byte, limit)...)
			err := r.Turn(stream, func(m []byte) {
				if got++; len(m) != int(tt.length) {
					t.Errorf("message: got %d bytes, want %d", len(m), tt.length)
				}
			})
			if !tt.bad {
				// What follows is zeros, which is an impossible length itself,
				// unless nothing follows.
				if got != 1 {
					t.Errorf("got %d messages, want 1", got)
				}
				return
			}
			if !errors.Is(err, netio.ErrMessageLength) || got != 0 {
				t.Errorf("got error %v and %d messages, want %v and none", err, got, netio.ErrMessageLength)
			}
			for _, number := range []string{fmt.Sprint(tt.length), fmt.Sprint(limit)} {
				if err == nil || !bytes.Contains([]byte(err.Error()), []byte(number)) {
					t.Errorf("error %q: want the number %s in it", err, number)
				}
			}
			if used := r.UsedBytes(); used != 0 {
				t.Errorf("memory for an impossible length: got %d bytes, want none", used)
			}
		})
	}
}

func TestEndpoint_theFirstMessageHasItsOwnLimit(t *testing.T) {
	r := newReceiver(t, netio.ReceiveParams{FirstMessageBytes: 10, MaxMessageBytes: 100})
	ignore := func([]byte) {}
	if err := r.Turn(frame(make([]byte, 10)), ignore); err != nil {
		t.Fatalf("first message of its limit: got error %v, want none", err)
	}
	if err := r.Turn(frame(make([]byte, 100)), ignore); err != nil {
		t.Fatalf("second message of the usual limit: got error %v, want none", err)
	}
	r = newReceiver(t, netio.ReceiveParams{FirstMessageBytes: 10, MaxMessageBytes: 100})
	if err := r.Turn(frame(make([]byte, 11)), ignore); !errors.Is(err, netio.ErrMessageLength) {
		t.Errorf("first message over its limit: got error %v, want %v", err, netio.ErrMessageLength)
	}
}

// TestEndpoint_readsSlices cuts a stream in two, and in single bytes, everywhere.
func TestEndpoint_readsSlices(t *testing.T) {
	want := [][]byte{pattern(1, 1), pattern(7, 2), pattern(300, 3), pattern(2, 4)}
	var stream []byte
	for _, m := range want {
		stream = append(stream, frame(m)...)
	}
	params := netio.ReceiveParams{FirstMessageBytes: 300, MaxMessageBytes: 300}
	for at := range len(stream) + 1 {
		r := newReceiver(t, params)
		var got [][]byte
		for _, part := range [][]byte{stream[:at], stream[at:]} {
			if err := r.Turn(part, func(m []byte) { got = append(got, bytes.Clone(m)) }); err != nil {
				t.Fatalf("cut at %d: got error %v, want none", at, err)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("cut at %d: messages differ (-want +got):\n%s", at, diff)
		}
	}
	r := newReceiver(t, params)
	var got [][]byte
	for _, one := range stream {
		if err := r.Turn([]byte{one}, func(m []byte) { got = append(got, bytes.Clone(m)) }); err != nil {
			t.Fatalf("byte by byte: got error %v, want none", err)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("byte by byte: messages differ (-want +got):\n%s", diff)
	}
	if r.Buffered() != 0 || r.UsedBytes() != 0 {
		t.Errorf("at the end: got %d bytes buffered in %d, want none", r.Buffered(), r.UsedBytes())
	}
}

// TestEndpoint_readsSizes passes messages around each threshold, in reads of random
// sizes.
func TestEndpoint_readsSizes(t *testing.T) {
	const limit = 3 << 20
	random := rand.New(rand.NewPCG(1, 2))
	for _, size := range []int{1, 8187, 8188, 8189, 32764, 32768, 65483, 65536, 130_900, tcp.ScratchBytes - 8, tcp.ScratchBytes - 4, tcp.ScratchBytes, 1 << 20, limit} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			r := newReceiver(t, netio.ReceiveParams{FirstMessageBytes: limit, MaxMessageBytes: limit})
			sizes := []int{size, size, 3, size, 70_000, size, size, size, 5, 6, size}
			var stream []byte
			for i, n := range sizes {
				stream = append(stream, frame(pattern(n, i))...)
			}
			i := 0
			for at := 0; at < len(stream); {
				n := min(1+random.IntN(2*size+10), len(stream)-at)
				r.Budget = 1 + random.IntN(n)
				err := r.Turn(stream[at:at+n], func(m []byte) {
					if !bytes.Equal(m, pattern(sizes[i], i)) {
						t.Fatalf("message %d: got %d bytes that differ, want %d", i, len(m), sizes[i])
					}
					i++
				})
				if err != nil {
					t.Fatalf("got error %v, want none", err)
				}
				at += n
			}
			if i != len(sizes) || r.UsedBytes() != 0 {
				t.Errorf("got %d messages and %d bytes still in use, want %d and 0", i, r.UsedBytes(), len(sizes))
			}
		})
	}
}

// TestEndpoint_movesLittleAsItReads asserts that large messages are read to where they stay.
func TestEndpoint_movesLittleAsItReads(t *testing.T) {
	tests := []struct {
		name  string
		sizes []int
		most  float64 // of the bytes are moved
	}{
		{"pages of the usual size", []int{130_900}, 0.001},
		{"messages of 64 KiB", []int{64 << 10}, 0.001},
		{"messages of 1 MiB", []int{1 << 20}, 0.05}, // the memory of the first one grows: 0.75 of 16
		{"large messages of all sizes", []int{40_000, 130_900, 90_000, 64 << 10, 33_000, 200_000}, 0.10},
		{"small messages", []int{64, 1000, 3000}, 0.02},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newReceiver(t, netio.ReceiveParams{FirstMessageBytes: 2 << 20, MaxMessageBytes: 2 << 20})
			var stream []byte
			for len(stream) < 16<<20 {
				for _, size := range tt.sizes {
					stream = append(stream, frame(make([]byte, size))...)
				}
			}
			if err := r.Turn(stream, func([]byte) {}); err != nil {
				t.Fatalf("got error %v, want none", err)
			}
			got := float64(r.Moved()) / float64(len(stream))
			if got > tt.most {
				t.Errorf("moved bytes: got %.4f of all, want at most %.4f", got, tt.most)
			}
		})
	}
}

// TestEndpoint_readMemoryFollowsWhatHasCome asserts that memory follows what has come, not what was
// announced.
func TestEndpoint_readMemoryFollowsWhatHasCome(t *testing.T) {
	const limit = 1<<31 - 1
	r := newReceiver(t, netio.ReceiveParams{FirstMessageBytes: limit, MaxMessageBytes: limit})
	ignore := func([]byte) {}
	if err := r.Turn(binary.LittleEndian.AppendUint32(nil, limit), ignore); err != nil {
		t.Fatalf("got error %v, want none", err)
	}
	for came := 4; came < 4<<20; came += 4096 {
		if most := max(8<<10, 4*came+tcp.ScratchBytes); r.UsedBytes() > most || came <= 4096 && r.UsedBytes() > 8<<10 {
			t.Fatalf("memory for %d bytes of a message of 2 GiB: got %d, want at most %d", came, r.UsedBytes(), most)
		}
		if err := r.Turn(make([]byte, 4096), ignore); err != nil {
			t.Fatalf("got error %v, want none", err)
		}
	}
}
