// SPDX-License-Identifier: Apache-2.0

package spread

import (
	"bytes"
	"net/netip"
	"sync"

	"tagbus/netio"
)

type kind uint8

const (
	established kind = iota
	refused
	received
	completed
	ready
	resumed // by the user: what was held back may go on
	closed
	finished // all workers have closed
)

// event is something that a worker reports.
type event struct {
	kind     kind
	endpoint *endpoint
	key      netio.Key      // completed
	data     []byte         // received
	kept     netio.Retained // the memory of data; nil: data is a copy
	end      *ending
}

// slim returns e for longer keeping: a small message does not keep the large memory
// that it came in.
func (e *event) slim() event {
	if e.kept == nil || 2*len(e.data) >= e.kept.Bytes() {
		return *e
	}
	small := *e
	small.data, small.kept = bytes.Clone(e.data), copied(len(e.data))
	e.kept.Release()
	return small
}

// copied is the memory of a message that the garbage collector frees.
type copied int

func (n copied) Bytes() int { return int(n) }
func (copied) Retain()      {}
func (copied) Release()     {}

// ending is what only few events have.
type ending struct {
	keys []netio.Key    // closed
	addr netip.AddrPort // refused
	err  error
}

// queue takes events from all workers to one loop.
//
// Threads: any.
type queue struct {
	mu     sync.Mutex
	events []event
	known  bool // the loop is going to take the events
}

// push adds an event, and reports whether the loop must be woken.
func (q *queue) push(e event) (wake bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.events = append(q.events, e)
	wake, q.known = !q.known, true
	return wake
}

// swap returns all events, in exchange for memory to collect the next ones in. If there
// are none, the next push wakes the loop.
func (q *queue) swap(memory []event) []event {
	q.mu.Lock()
	defer q.mu.Unlock()
	taken := q.events
	q.events = memory
	q.known = len(taken) > 0
	return taken
}
