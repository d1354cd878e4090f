// SPDX-License-Identifier: Apache-2.0

package tcp

import (
	"container/list"
	"sync"
	"sync/atomic"
	"time"
)

// yieldAfter is how long a peer may keep a handshake waiting while others wait in line.
const yieldAfter = 100 * time.Millisecond

// desk lets handshakes of one kind begin, as many at once as it has places. The others
// wait in line, the first to come first. A stranger that begins a handshake and stops
// holds a place for yieldAfter, so one that goes on gets its turn.
//
// Threads: any.
type desk struct {
	places int
	yields bool // one whose peer is silent makes way

	mu      sync.Mutex
	busy    int
	line    list.List    // of *secure
	waiting atomic.Int64 // its length
}

// enter begins the handshake of s now or later.
func (d *desk) enter(s *secure) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.busy == d.places {
		s.place = d.line.PushBack(s)
		d.waiting.Add(1)
		return
	}
	d.busy++
	d.begin(s)
}

// begin starts the goroutine of a handshake. mu is held.
func (d *desk) begin(s *secure) {
	s.place = nil
	s.begun = true
	s.endpoint.backend.handshakes.Add(1)
	go s.shake()
}

// leave ends a handshake, and begins the next.
func (d *desk) leave() {
	d.mu.Lock()
	defer d.mu.Unlock()
	first := d.line.Front()
	if first == nil {
		d.busy--
		return
	}
	d.waiting.Add(-1)
	d.begin(d.line.Remove(first).(*secure))
}

// forget takes s out of the line. It reports whether its handshake never begins.
func (d *desk) forget(s *secure) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s.place != nil {
		d.line.Remove(s.place)
		s.place = nil
		d.waiting.Add(-1)
	}
	return !s.begun
}

// crowded reports whether a handshake whose peer is silent makes way.
func (d *desk) crowded() bool { return d.yields && d.waiting.Load() > 0 }
