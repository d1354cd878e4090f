// SPDX-License-Identifier: Apache-2.0

package tcp

import (
	"container/list"
	"sync"
	"time"
)

const (
	// yieldAfter is how long a peer may keep a handshake waiting while others wait in
	// line, before it gives its place to the next.
	yieldAfter = 100 * time.Millisecond

	// parkedPerPlace is how many handshakes without a place go on, for each place.
	parkedPerPlace = 16
)

// desk lets handshakes of one kind begin, as many at once as it has places. The others
// wait in line, the first to come first:
//
//	enter ──► line ──► place ──────────────► leave
//	                     └──► parked ──────────┘
//	                   its peer is silent
//
// A handshake whose peer is silent is parked while others wait: it takes a goroutine, and
// keeps no other from its turn. Of those that are accepted the one that was parked first
// ends when there are too many. So strangers that begin a handshake and stop delay the
// others, and a peer that is only slow gets in nevertheless.
//
// Threads: any.
type desk struct {
	places int
	cuts   bool // parked ones end when there are too many; else no more are parked

	mu     sync.Mutex
	busy   int       // places that are taken
	line   list.List // of *secure
	parked list.List // of *secure, the first to be parked first
}

// enter begins the handshake of s now or later.
func (d *desk) enter(s *secure) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.busy == d.places {
		s.place = d.line.PushBack(s)
		return
	}
	d.busy++
	d.begin(s)
}

// begin starts the goroutine of a handshake, which has a place. mu is held.
func (d *desk) begin(s *secure) {
	s.place, s.begun = nil, true
	s.endpoint.backend.handshakes.Add(1)
	go s.shake()
}

// park is called by a handshake whose peer has been silent for yieldAfter.
func (d *desk) park(s *secure) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s.place != nil || d.line.Len() == 0 {
		return
	}
	if d.parked.Len() == parkedPerPlace*d.places {
		if !d.cuts {
			return
		}
		first := d.parked.Remove(d.parked.Front()).(*secure)
		first.cut = true
		first.wire.stop(errStalled)
	}
	s.place = d.parked.PushBack(s)
	d.next()
}

// next gives a place that is free now to the first in line. mu is held.
func (d *desk) next() {
	first := d.line.Front()
	if first == nil {
		d.busy--
		return
	}
	d.begin(d.line.Remove(first).(*secure))
}

// leave ends the handshake of s.
func (d *desk) leave(s *secure) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case s.cut: // it is not parked any more
	case s.place != nil:
		d.parked.Remove(s.place)
		s.place = nil
	default:
		d.next()
	}
}

// forget takes s out of the line, if it is there: one that is parked leaves by itself.
func (d *desk) forget(s *secure) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s.place != nil && !s.begun {
		d.line.Remove(s.place)
		s.place = nil
	}
}

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
