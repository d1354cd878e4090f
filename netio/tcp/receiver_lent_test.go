// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"

	"tagbus/netio"
	"tagbus/netio/tcp"
)

func newLentReceiver(tb testing.TB, p netio.ReceiveParams) *tcp.Receiver {
	tb.Helper()
	r, err := tcp.NewLentReceiver(p)
	if err != nil {
		tb.Fatalf("NewLentReceiver: got error %v, want none", err)
	}
	tb.Cleanup(r.Close)
	return r
}

// TestEndpoint_readsSlicesInALentBuffer cuts a stream in two, and in single bytes, everywhere,
// with memory for exactly one message of the limit.
func TestEndpoint_readsSlicesInALentBuffer(t *testing.T) {
	const limit = 5000
	want := [][]byte{pattern(1, 1), pattern(limit, 2), pattern(3, 3), pattern(limit, 4), pattern(limit-1, 5), pattern(2, 6)}
	var stream []byte
	for _, m := range want {
		stream = append(stream, frame(m)...)
	}
	var bytewise [][]byte
	for i := range stream {
		bytewise = append(bytewise, stream[i:i+1])
	}
	cuts := map[string][][]byte{"byte by byte": bytewise}
	for at := 0; at <= len(stream); at += 97 {
		cuts[fmt.Sprintf("cut at %d", at)] = [][]byte{stream[:at], stream[at:]}
	}
	for name, parts := range cuts {
		for _, one := range []bool{false, true} {
			r := newLentReceiver(t, netio.ReceiveParams{FirstMessageBytes: limit, MaxMessageBytes: limit})
			r.OneMessage = func() bool { return one }
			var got [][]byte
			for _, part := range parts {
				if err := r.Turn(part, func(m []byte) { got = append(got, bytes.Clone(m)) }); err != nil {
					t.Fatalf("%s: got error %v, want none", name, err)
				}
			}
			if !slices.EqualFunc(got, want, bytes.Equal) {
				t.Fatalf("%s: got %d messages, want the %d that were sent", name, len(got), len(want))
			}
			if r.Buffered() != 0 || r.UsedBytes() != 0 {
				t.Errorf("%s: got %d bytes buffered and %d of other memory, want none", name, r.Buffered(), r.UsedBytes())
			}
		}
	}
}

func TestEndpoint_limitsInALentBuffer(t *testing.T) {
	tests := []struct {
		name         string
		first, limit int
		sizes        []uint32
		messages     int
		bad          bool
	}{
		{"the largest message fits exactly", 5000, 5000, []uint32{5000, 5000}, 2, false},
		{"one byte more does not", 5000, 5000, []uint32{5000, 5001}, 1, true},
		{"a message that would fit the smallest buffer is over its limit", 10, 10, []uint32{10, 11}, 1, true},
		{"the first message has its own limit", 10, 5000, []uint32{11}, 0, true},
		{"the second has the usual one", 10, 5000, []uint32{10, 5000}, 2, false},
		{"no byte is impossible", 10, 10, []uint32{0}, 0, true},
		{"2^32-1 is impossible", 10, 10, []uint32{1<<32 - 1}, 0, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newLentReceiver(t, netio.ReceiveParams{FirstMessageBytes: tt.first, MaxMessageBytes: tt.limit})
			var stream []byte
			for _, size := range tt.sizes {
				stream = binary.LittleEndian.AppendUint32(stream, size)
				stream = append(stream, make([]byte, min(size, 5001))...)
			}
			got := 0
			err := r.Turn(stream, func([]byte) { got++ })
			if got != tt.messages || errors.Is(err, netio.ErrMessageLength) != tt.bad || !tt.bad && err != nil {
				t.Errorf("got %d messages and error %v, want %d and an impossible length: %v", got, err, tt.messages, tt.bad)
			}
		})
	}
}

// TestEndpoint_movesInALentBuffer asserts that little is moved within a buffer.
func TestEndpoint_movesInALentBuffer(t *testing.T) {
	tests := []struct {
		name   string
		buffer int
		sizes  []int
		most   float64 // of the bytes are moved
	}{
		{"messages that fill the buffer", 64 << 10, []int{64 << 10}, 0},
		{"messages of half the buffer", 128 << 10, []int{64 << 10}, 0.005}, // the part behind the first
		{"large messages of all sizes", 200_000, []int{40_000, 130_900, 90_000, 64 << 10, 33_000, 200_000}, 0.15},
		{"small messages", 64 << 10, []int{64, 1000, 3000}, 0.05},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newLentReceiver(t, netio.ReceiveParams{FirstMessageBytes: tt.buffer, MaxMessageBytes: tt.buffer})
			var stream []byte
			for len(stream) < 16<<20 {
				for _, size := range tt.sizes {
					stream = append(stream, frame(make([]byte, size))...)
				}
			}
			if err := r.Turn(stream, func([]byte) {}); err != nil {
				t.Fatalf("got error %v, want none", err)
			}
			if got := float64(r.Moved()) / float64(len(stream)); got > tt.most {
				t.Errorf("moved bytes: got %.4f of all, want at most %.4f", got, tt.most)
			}
		})
	}
}

// FuzzLentReceiver compares the receiver in lent memory, with others that wait
// for it now and then, with the one whose memory follows what comes.
func FuzzLentReceiver(f *testing.F) {
	f.Add([]byte{}, []byte("\x01\x00\x00\x00a\x02\x00\x00\x00bc"), []byte{1}, uint32(10), uint32(100), uint64(0))
	f.Add([]byte{}, []byte("\x00\x00\x00\x00"), []byte{}, uint32(1), uint32(1), uint64(1))
	f.Add([]byte{}, []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), []byte{3}, uint32(4096), uint32(65535), uint64(5))
	f.Add([]byte{0, 2, 0, 8, 1, 0, 0, 32, 0, 32, 0, 32, 255, 255}, []byte("\x05\x00\x00\x00hell"), []byte{200, 7, 90, 255}, uint32(10_000), uint32(2<<20), uint64(0x5555))
	f.Add([]byte{255, 0, 255, 0, 0, 0, 255, 0}, []byte{}, []byte{90, 100}, uint32(4081), uint32(4081), ^uint64(0))
	f.Add([]byte{0, 16, 0, 8, 0, 12, 0, 16, 1, 0, 0, 9}, []byte{1, 0}, []byte{255, 255, 3}, uint32(65537), uint32(65537), uint64(0xf0f0))
	f.Fuzz(func(t *testing.T, sizes, tail, cuts []byte, first, limit uint32, waits uint64) {
		if first == 0 || limit == 0 || first > limit || limit > 4<<20 {
			return
		}
		params := netio.ReceiveParams{FirstMessageBytes: int(first), MaxMessageBytes: int(limit)}
		parts := chunks(append(framesOf(sizes), tail...), cuts)
		receive := func(r *tcp.Receiver) (messages [][]byte, err error) {
			for _, part := range parts {
				if err = r.Turn(part, func(m []byte) { messages = append(messages, bytes.Clone(m)) }); err != nil {
					break
				}
			}
			return messages, err
		}
		adaptive, lent := newReceiver(t, params), newLentReceiver(t, params)
		reads := 0
		lent.OneMessage = func() bool {
			reads++
			return waits>>(reads%64)&1 != 0
		}
		want, wantErr := receive(adaptive)
		got, err := receive(lent)
		if len(got) != len(want) || errors.Is(err, netio.ErrMessageLength) != errors.Is(wantErr, netio.ErrMessageLength) {
			t.Fatalf("got %d messages and error %v, want %d and %v", len(got), err, len(want), wantErr)
		}
		for i := range want {
			if !bytes.Equal(got[i], want[i]) {
				t.Fatalf("message %d: got %d bytes %.20x, want %d bytes %.20x", i, len(got[i]), got[i], len(want[i]), want[i])
			}
		}
		if err == nil && lent.Buffered() != adaptive.Buffered() {
			t.Fatalf("left over: got %d bytes, want %d", lent.Buffered(), adaptive.Buffered())
		}
		if used := lent.UsedBytes(); used != 0 {
			t.Fatalf("memory beside what was lent: got %d bytes, want none", used)
		}
	})
}
