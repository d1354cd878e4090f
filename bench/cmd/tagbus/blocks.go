// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"

	"tagbus/bench/internal/load"
)

const (
	blockBytes    = 1 << 20
	waitingBlocks = 3 // beside the one that is filled
)

// blocks is a file that a goroutine of its own writes, about blockBytes at a time. An error
// of it ends the program.
//
// Threads: one at a time.
type blocks struct {
	filling     []byte
	full, empty chan []byte
	written     chan struct{}
}

func newBlocks(file io.Writer) *blocks {
	const room = blockBytes + blockBytes/8
	b := &blocks{
		filling: make([]byte, 0, room), full: make(chan []byte, waitingBlocks), empty: make(chan []byte, waitingBlocks+1),
		written: make(chan struct{}),
	}
	for range waitingBlocks {
		b.empty <- make([]byte, 0, room)
	}
	go func() {
		defer close(b.written)
		for block := range b.full {
			_, err := file.Write(block)
			load.Must(err)
			b.empty <- block
		}
	}()
	return b
}

// Write implements io.Writer.
func (b *blocks) Write(p []byte) (int, error) {
	b.filling = append(b.filling, p...)
	if len(b.filling) >= blockBytes {
		b.full <- b.filling
		b.filling = (<-b.empty)[:0]
	}
	return len(p), nil
}

// close writes the rest, and returns when all is written.
func (b *blocks) close() {
	b.full <- b.filling
	close(b.full)
	<-b.written
}
