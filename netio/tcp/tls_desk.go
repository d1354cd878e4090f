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

// forget takes s out of the line.
func (d *desk) forget(s *secure) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s.place != nil {
		d.line.Remove(s.place)
		s.place = nil
		d.waiting.Add(-1)
	}
}

// crowded reports whether a handshake whose peer is silent makes way.
func (d *desk) crowded() bool { return d.yields && d.waiting.Load() > 0 }

// strangers are the accepted endpoints that are not secure yet, the oldest first. When
// there are as many endpoints as may be, the oldest makes way: otherwise strangers that
// say nothing could keep all others out.
//
// Threads: any.
type strangers struct {
	mu   sync.Mutex
	list list.List // of *secure
}

func (all *strangers) add(s *secure) {
	all.mu.Lock()
	defer all.mu.Unlock()
	s.since = time.Now()
	s.unknown = all.list.PushBack(s)
}

// remove takes s out, if it is in.
func (all *strangers) remove(s *secure) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if s.unknown != nil {
		all.list.Remove(s.unknown)
		s.unknown = nil
	}
}

// displace ends the oldest stranger, and reports whether there was one that has had its
// time.
func (all *strangers) displace() bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	first := all.list.Front()
	if first == nil || time.Since(first.Value.(*secure).since) < yieldAfter {
		return false
	}
	s := all.list.Remove(first).(*secure)
	s.unknown = nil
	_ = s.endpoint.Close() // its end follows on its loop
	return true
}
