// SPDX-License-Identifier: Apache-2.0

package netio

import (
	"encoding/binary"
	"fmt"
	"io"
	"sync/atomic"
)

// States of a Buffer: its owner.
const (
	bufferFree  uint32 = iota // the pool
	bufferTaken               // the caller of Get
	bufferSent                // the backend, until the completion
)

// Buffer is a piece of a Pool's memory that is filled from the front.
//
// It has one owner at a time and is not safe for use by two goroutines at once. That of
// an Unsafe backend is for its loop only. Integers are written in little-endian byte
// order.
//
// Source: netio3 NetworkBuffer.
type Buffer struct {
	pool  *Pool
	key   Key
	mem   []byte // len: bytes written; cap: capacity
	state atomic.Uint32
}

// Key returns the key with which the completion of SendBuffer names b: its
// index in the pool.
func (b *Buffer) Key() Key { return b.key }

// Bytes returns the bytes written so far, within the buffer's memory.
func (b *Buffer) Bytes() []byte { return b.mem }

// Available returns how many more bytes fit.
func (b *Buffer) Available() int { return cap(b.mem) - len(b.mem) }

// Reset forgets what was written.
func (b *Buffer) Reset() { b.mem = b.mem[:0] }

// Extend grows b by n bytes, 0 to Available, and returns them to be filled.
// Their content is undefined.
func (b *Buffer) Extend(n int) []byte {
	old := len(b.mem)
	b.mem = b.mem[:old+n]
	return b.mem[old:]
}

// Truncate shortens b to its first n bytes, 0 to len(Bytes()).
func (b *Buffer) Truncate(n int) { b.mem = b.mem[:n] }

// Write appends data whole, or nothing and returns io.ErrShortBuffer.
func (b *Buffer) Write(data []byte) (int, error) {
	if len(data) > b.Available() {
		return 0, io.ErrShortBuffer
	}
	b.mem = append(b.mem, data...)
	return len(data), nil
}

// WriteVector appends all pieces, or nothing and returns io.ErrShortBuffer.
func (b *Buffer) WriteVector(pieces ...[]byte) (int, error) {
	n := 0
	for _, piece := range pieces {
		n += len(piece)
	}
	if n > b.Available() {
		return 0, io.ErrShortBuffer
	}
	for _, piece := range pieces {
		b.mem = append(b.mem, piece...)
	}
	return n, nil
}

// WriteUint8 appends one byte, or returns io.ErrShortBuffer.
func (b *Buffer) WriteUint8(v uint8) error {
	if b.Available() < 1 {
		return io.ErrShortBuffer
	}
	b.mem = append(b.mem, v)
	return nil
}

// WriteUint16 appends two bytes, or returns io.ErrShortBuffer.
func (b *Buffer) WriteUint16(v uint16) error {
	if b.Available() < 2 {
		return io.ErrShortBuffer
	}
	b.mem = binary.LittleEndian.AppendUint16(b.mem, v)
	return nil
}

// WriteUint32 appends four bytes, or returns io.ErrShortBuffer.
func (b *Buffer) WriteUint32(v uint32) error {
	if b.Available() < 4 {
		return io.ErrShortBuffer
	}
	b.mem = binary.LittleEndian.AppendUint32(b.mem, v)
	return nil
}

// WriteUint64 appends eight bytes, or returns io.ErrShortBuffer.
func (b *Buffer) WriteUint64(v uint64) error {
	if b.Available() < 8 {
		return io.ErrShortBuffer
	}
	b.mem = binary.LittleEndian.AppendUint64(b.mem, v)
	return nil
}

// Release returns b to its pool. Its owner calls it exactly once. A second call,
// or one for a buffer that was sent, would give the same memory to two owners,
// so it panics.
func (b *Buffer) Release() {
	if !b.state.CompareAndSwap(bufferTaken, bufferFree) {
		what := "released twice"
		if b.state.Load() == bufferSent {
			what = "released after it was sent: it comes back by itself"
		}
		panic(fmt.Sprintf("netio: buffer %d %s", b.key, what))
	}
	b.pool.put(b)
}

// ReleaseSent returns b, which MarkSent has handed to a backend, to its pool when
// the send is over.
func (b *Buffer) ReleaseSent() {
	if b.state.CompareAndSwap(bufferSent, bufferFree) {
		b.pool.put(b)
	}
}

// MarkSent hands b from its user to the backend that is about to send it. It
// returns false if b is not from p or not in the hands of a user, which is
// ErrForeignBuffer.
func (b *Buffer) MarkSent(p *Pool) bool {
	return b != nil && b.pool == p && b.state.CompareAndSwap(bufferTaken, bufferSent)
}

// UnmarkSent undoes MarkSent when the send was refused.
func (b *Buffer) UnmarkSent() { b.state.Store(bufferTaken) }
