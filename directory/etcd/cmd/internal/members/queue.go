// SPDX-License-Identifier: Apache-2.0

package members

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// queuedLines is how many lines wait for a writer that is not read.
	queuedLines = 256

	// stuckAfter is how long the end waits for such a writer.
	stuckAfter = 2 * time.Second
)

// queue writes lines late, so that no caller waits for a writer that is not read: those
// that find no room are counted and left out. etcd says things where it must not wait.
//
// Threads: any.
type queue struct {
	to     io.Writer
	lines  chan []byte
	flush  chan chan<- struct{}
	quit   chan struct{}
	end    sync.Once
	missed atomic.Uint64
}

// newQueue returns one that writes to a writer, until stop.
func newQueue(to io.Writer) *queue {
	q := &queue{to: to, lines: make(chan []byte, queuedLines), flush: make(chan chan<- struct{}), quit: make(chan struct{})}
	go q.run()
	return q
}

// Write queues a line. Blocks: never.
func (q *queue) Write(line []byte) (int, error) {
	select {
	case q.lines <- bytes.Clone(line):
	default:
		q.missed.Add(1)
	}
	return len(line), nil
}

// stop writes what is queued, for a short time, and then nothing any more. Idempotent.
func (q *queue) stop() {
	late := time.NewTimer(stuckAfter)
	defer late.Stop()
	done := make(chan struct{}, 1)
	select {
	case q.flush <- done:
		select {
		case <-done:
		case <-late.C:
		}
	case <-late.C:
	case <-q.quit:
	}
	q.end.Do(func() { close(q.quit) })
}

// run writes lines. Text that cannot be written is lost: there is no other place for it.
func (q *queue) run() {
	for {
		select {
		case line := <-q.lines:
			q.write(line)
		case done := <-q.flush:
			for len(q.lines) > 0 {
				q.write(<-q.lines)
			}
			done <- struct{}{}
		case <-q.quit:
			return
		}
	}
}

// write writes one line, and how many were left out before it.
func (q *queue) write(line []byte) {
	if n := q.missed.Swap(0); n > 0 {
		fmt.Fprintf(q.to, "%s: warn: %d lines were left out, since standard error was not read\n", program, n)
	}
	_, _ = q.to.Write(line)
}
