// SPDX-License-Identifier: Apache-2.0

package netio_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"tagbus/netio"
)

func TestBufferWritesWholeOrNothing(t *testing.T) {
	tests := []struct {
		name  string
		room  int // one byte less than what is written
		write func(b *netio.Buffer) error
		want  []byte
	}{
		{"Write", 2, func(b *netio.Buffer) error { _, err := b.Write([]byte("abc")); return err }, []byte("abc")},
		{"WriteVector", 4, func(b *netio.Buffer) error {
			_, err := b.WriteVector([]byte("ab"), nil, []byte("cde"))
			return err
		}, []byte("abcde")},
		{"WriteUint8", 0, func(b *netio.Buffer) error { return b.WriteUint8(0x12) }, []byte{0x12}},
		{"WriteUint16", 1, func(b *netio.Buffer) error { return b.WriteUint16(0x1234) }, []byte{0x34, 0x12}},
		{"WriteUint32", 3, func(b *netio.Buffer) error { return b.WriteUint32(0x12345678) }, []byte{0x78, 0x56, 0x34, 0x12}},
		{"WriteUint64", 7, func(b *netio.Buffer) error { return b.WriteUint64(0x0102030405060708) }, []byte{8, 7, 6, 5, 4, 3, 2, 1}},
	}
	p := newPool(t, 1, 20)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := p.Get()
			defer b.Release()
			if err := tt.write(b); err != nil || !bytes.Equal(b.Bytes(), tt.want) {
				t.Errorf("with room: got %x and error %v, want %x and none", b.Bytes(), err, tt.want)
			}
			b.Reset()
			b.Extend(20 - tt.room)
			if err := tt.write(b); !errors.Is(err, io.ErrShortBuffer) {
				t.Errorf("with %d bytes of room: got error %v, want %v", tt.room, err, io.ErrShortBuffer)
			}
			if got := b.Available(); got != tt.room {
				t.Errorf("room after a write that failed: got %d, want %d as before", got, tt.room)
			}
			b.Truncate(20 - len(tt.want))
			b.Extend(0)
			if err := tt.write(b); err != nil || b.Available() != 0 {
				t.Errorf("with exactly the room: got %d left and error %v, want 0 and none", b.Available(), err)
			}
			if got := b.Bytes()[20-len(tt.want):]; !bytes.Equal(got, tt.want) {
				t.Errorf("at the end of the buffer: got %x, want %x", got, tt.want)
			}
		})
	}
}

func TestBufferReportsWhatItWrote(t *testing.T) {
	b := newPool(t, 1, 10).Get()
	defer b.Release()
	if n, err := b.Write([]byte("abc")); n != 3 || err != nil {
		t.Errorf("Write of 3 bytes: got %d and error %v, want 3 and none", n, err)
	}
	if n, err := b.WriteVector([]byte("de"), []byte("f")); n != 3 || err != nil {
		t.Errorf("WriteVector of 3 bytes: got %d and error %v, want 3 and none", n, err)
	}
	if n, err := b.Write([]byte("too long")); n != 0 || err == nil {
		t.Errorf("Write of too much: got %d and error %v, want 0 and an error", n, err)
	}
	if n, err := b.WriteVector([]byte("to"), []byte("o long")); n != 0 || err == nil {
		t.Errorf("WriteVector of too much: got %d and error %v, want 0 and an error", n, err)
	}
	if got := string(b.Bytes()); got != "abcdef" {
		t.Errorf("Bytes: got %q, want %q", got, "abcdef")
	}
	copy(b.Extend(2), "gh")
	b.Truncate(7)
	if got := string(b.Bytes()); got != "abcdefg" || b.Available() != 3 {
		t.Errorf("after Extend and Truncate: got %q and %d available, want %q and 3", got, b.Available(), "abcdefg")
	}
}

func TestBufferHasOneOwner(t *testing.T) {
	p, other := newPool(t, 1, 10), newPool(t, 1, 10)
	b := p.Get()
	if b.MarkSent(other) {
		t.Error("MarkSent with another pool: got true, want false")
	}
	if !b.MarkSent(p) {
		t.Error("MarkSent of a taken buffer: got false, want true")
	}
	if b.MarkSent(p) {
		t.Error("MarkSent of a buffer being sent: got true, want false")
	}
	b.UnmarkSent()
	if !b.MarkSent(p) {
		t.Error("MarkSent after UnmarkSent: got false, want true")
	}
	b.ReleaseSent() // as the backend does at completion
	if b.MarkSent(p) {
		t.Error("MarkSent of a free buffer: got true, want false")
	}
	var none *netio.Buffer
	if none.MarkSent(p) {
		t.Error("MarkSent of no buffer: got true, want false")
	}
}

func TestReleasingASentBufferPanics(t *testing.T) {
	p := newPool(t, 1, 10)
	b := p.Get()
	if !b.MarkSent(p) {
		t.Fatal("MarkSent: got false, want true")
	}
	func() {
		defer func() {
			if v := fmt.Sprint(recover()); !strings.Contains(v, "after it was sent") {
				t.Errorf("Release of a sent buffer: got panic %v, want one that says so", v)
			}
		}()
		b.Release()
	}()
	if p.Free() != 0 {
		t.Error("the buffer was given back while it is being sent")
	}
	b.ReleaseSent()
	b.ReleaseSent() // must not give it back twice
	if got := p.Free(); got != 1 {
		t.Errorf("free buffers: got %d, want 1", got)
	}
}
