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

// desk lets handshakes of one kind begin, as many at once as it has places, and those that
// are accepted only while the ration has processor time for strangers. The others wait in
// line:
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
	places  int
	ration  *ration
	accepts bool // parked ones end when there are too many; else no more are parked

	mu     sync.Mutex
	busy   int // places that are taken
	line   line
	parked list.List   // of *secure, the first to be parked first
	timer  *time.Timer // nil: the ration was never used up
}

// enter begins the handshake of s now or later.
func (d *desk) enter(s *secure) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.line.add(s)
	d.fill()
}

// fill gives places that are free to those in line whose turn it is. mu is held.
func (d *desk) fill() {
	for d.busy < d.places && d.line.length > 0 {
		if d.accepts {
			if wait := d.ration.wait(d.busy); wait > 0 {
				d.pause(wait)
				return
			}
		}
		s := d.line.first()
		s.begun = true
		d.busy++
		s.endpoint.backend.handshakes.Add(1)
		go s.shake()
	}
}

// pause fills places later. mu is held.
func (d *desk) pause(wait time.Duration) {
	if d.timer != nil {
		d.timer.Reset(wait)
		return
	}
	d.timer = time.AfterFunc(wait, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.fill()
	})
}

// park is called by a handshake whose peer has been silent for yieldAfter.
func (d *desk) park(s *secure) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s.place != nil || d.line.length == 0 {
		return
	}
	if d.parked.Len() == parkedPerPlace*d.places {
		if !d.accepts {
			return
		}
		first := d.parked.Remove(d.parked.Front()).(*secure)
		first.cut = true
		first.wire.stop(errStalled)
	}
	s.place = d.parked.PushBack(s)
	d.busy--
	d.fill()
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
		d.busy--
		d.fill()
	}
}

// forget takes s out of the line, and reports whether it was there: one that has begun
// leaves by itself.
func (d *desk) forget(s *secure) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s.place == nil || s.begun {
		return false
	}
	d.line.remove(s)
	return true
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
