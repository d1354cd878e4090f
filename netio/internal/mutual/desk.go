// SPDX-License-Identifier: Apache-2.0

//go:build linux

package mutual

import (
	"container/list"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"tagbus/netio"
)

const (
	// YieldAfter is how long a peer may keep a handshake waiting while others wait in
	// line, before it gives its place to the next.
	YieldAfter = 100 * time.Millisecond

	// ParkedPerPlace is how many handshakes without a place go on, for each place.
	ParkedPerPlace = 16
)

// Visitor is a handshake as a desk knows it. It must not be copied.
type Visitor struct {
	Remote netip.Addr      // where the peer is: networks, and their addresses, take turns
	Begin  func()          // starts the goroutine of the handshake, which ends with Desk.Leave
	Stop   func(err error) // makes a handshake that has begun fail soon; both are called with the desk locked

	// Guarded by the mutex of the desk.
	place *list.Element // in the line, or parked
	begun bool
	cut   bool // it was parked, and must end
}

// errStalled is that of a handshake that was parked and has to end.
var errStalled = fmt.Errorf("%w: the peer has not answered, and others wait", netio.ErrTimeout)

// Desk lets handshakes of one kind begin, as many at once as it has places, and those that
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
type Desk struct {
	Places  int     // handshakes that are under way at once; at least 1
	Ration  *Ration // of all desks of a backend
	Accepts bool    // parked ones end when there are too many; else no more are parked

	mu     sync.Mutex
	busy   int // places that are taken
	line   line
	parked list.List   // of *Visitor, the first to be parked first
	timer  *time.Timer // nil: the ration was never used up
}

// Enter begins the handshake of v now or later, once.
func (d *Desk) Enter(v *Visitor) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.line.add(v)
	d.fill()
}

// fill gives places that are free to those in line whose turn it is. mu is held.
func (d *Desk) fill() {
	for d.busy < d.Places && d.line.length > 0 {
		if d.Accepts {
			if wait := d.Ration.wait(d.busy); wait > 0 {
				d.pause(wait)
				return
			}
		}
		v := d.line.first()
		v.begun = true
		d.busy++
		v.Begin()
	}
}

// pause fills places later. mu is held.
func (d *Desk) pause(wait time.Duration) {
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

// Park is called by a handshake whose peer has been silent for YieldAfter.
func (d *Desk) Park(v *Visitor) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if v.place != nil || d.line.length == 0 {
		return
	}
	if d.parked.Len() == ParkedPerPlace*d.Places {
		if !d.Accepts {
			return
		}
		first := d.parked.Remove(d.parked.Front()).(*Visitor)
		first.cut = true
		first.Stop(errStalled)
	}
	v.place = d.parked.PushBack(v)
	d.busy--
	d.fill()
}

// Leave ends the handshake of v, on its goroutine.
func (d *Desk) Leave(v *Visitor) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case v.cut: // it is not parked any more
	case v.place != nil:
		d.parked.Remove(v.place)
		v.place = nil
	default:
		d.busy--
		d.fill()
	}
}

// Forget takes v out of the line, and reports whether it was there: one that has begun
// leaves by itself.
func (d *Desk) Forget(v *Visitor) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if v.place == nil || v.begun {
		return false
	}
	d.line.remove(v)
	return true
}

// Count returns how many handshakes have a place, wait in line, and go on without a place.
func (d *Desk) Count() (busy, waiting, parked int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.busy, d.line.length, d.parked.Len()
}
