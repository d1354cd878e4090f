// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"tagbus/netio"
	"tagbus/netio/tcp"
)

// framesOf returns frames whose sizes are given, two bytes for each in units of
// 16 bytes: so that a short input makes a long stream.
func framesOf(sizes []byte) (stream []byte) {
	for i := 0; i+1 < min(len(sizes), 40); i += 2 {
		stream = append(stream, frame(pattern(1+16*int(binary.LittleEndian.Uint16(sizes[i:])), i))...)
	}
	return stream
}

// chunks cuts stream into parts whose sizes are given by cuts, again and again.
func chunks(stream, cuts []byte) [][]byte {
	var parts [][]byte
	for i := 0; len(stream) > 0; i++ {
		n := len(stream)
		if len(cuts) > 0 {
			n = 1 + int(cuts[i%len(cuts)])*int(cuts[(i+1)%len(cuts)])
		}
		n = min(max(n, len(stream)/1000), len(stream)) // in bounded time
		parts = append(parts, stream[:n])
		stream = stream[n:]
	}
	return parts
}

// FuzzFrameDecode compares the receiver, fed with arbitrary parts of a stream,
// with a naive reading of the whole. The stream is frames of given sizes, and
// then arbitrary bytes.
func FuzzFrameDecode(f *testing.F) {
	f.Add([]byte{}, []byte("\x01\x00\x00\x00a\x02\x00\x00\x00bc"), []byte{1}, uint32(10), uint32(100))
	f.Add([]byte{}, []byte("\x00\x00\x00\x00"), []byte{}, uint32(1), uint32(1))
	f.Add([]byte{}, []byte("\xff\xff\xff\xffabc"), []byte{2}, uint32(1<<31-1), uint32(1<<31-1))
	f.Add([]byte{}, []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), []byte{3}, uint32(4096), uint32(65535))
	f.Add([]byte{}, []byte("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"), []byte{5}, uint32(4096), uint32(65535))
	f.Add([]byte{0, 2, 0, 8, 1, 0, 0, 32, 0, 32, 0, 32, 255, 255}, []byte("\x05\x00\x00\x00hell"), []byte{200, 7, 90, 255}, uint32(10_000), uint32(2<<20))
	f.Add([]byte{255, 1, 255, 1, 0, 0, 255, 1}, []byte{}, []byte{90, 100}, uint32(10_000), uint32(10_000))
	f.Fuzz(func(t *testing.T, sizes, tail, cuts []byte, first, limit uint32) {
		if first == 0 || limit == 0 || first > 1<<31-1 || limit > 1<<31-1 {
			return // Params.Validate refuses them
		}
		stream := append(framesOf(sizes), tail...)
		want, rest, bad := naive(stream, int(first), int(limit))
		r := newReceiver(t, netio.ReceiveParams{FirstMessageBytes: int(first), MaxMessageBytes: int(limit)})
		r.Budget = 16 * len(cuts) // 0: none
		i := 0
		var err error
		for _, part := range chunks(stream, cuts) {
			err = r.Turn(part, func(m []byte) {
				if i >= len(want) || !bytes.Equal(m, want[i]) {
					t.Fatalf("message %d: got %d bytes %.20x, want what the naive reading of the stream gives", i, len(m), m)
				}
				i++
			})
			if err != nil {
				break
			}
		}
		if errors.Is(err, netio.ErrMessageLength) != bad || i != len(want) {
			t.Fatalf("got error %v after %d messages, want an impossible length: %v, after %d", err, i, bad, len(want))
		}
		if !bad && r.Buffered() != rest {
			t.Fatalf("left over: got %d bytes, want %d", r.Buffered(), rest)
		}
		if most := 4*len(stream) + 2*tcp.ScratchBytes; r.UsedBytes() > most {
			t.Fatalf("memory for a stream of %d bytes: got %d, want at most %d", len(stream), r.UsedBytes(), most)
		}
	})
}
