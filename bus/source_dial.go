// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"fmt"
	"net/netip"
	"time"

	"tagbus/netio"
	"tagbus/subscription"
)

// dialing decides whether and when a subscriber dials a publisher: if a subscription wants
// what that serves, and for some time if it owes messages and is not in the directory any
// more. It implements dialer.User.
type dialing struct {
	src *source

	wanting        *Subscription // one that wanted the publisher when Wanted last looked
	looking, again bool          // look goes on; and then once more
	seek           seek
}

// Open implements dialer.User.
func (d *dialing) Open(addr netip.AddrPort) error {
	return d.src.contact.open(&d.src.sub.dialer, d.src.sub.backend, addr, netio.Params{
		Receive: netio.ReceiveParams{
			MaxMessageBytes:   frameBytes(d.src.contact.entry.PageBytes, d.src.contact.entry.MaxMessageBytes),
			FirstMessageBytes: subscription.MaxHelloBytes,
		},
		Buffered: netio.BufferedParams{Buffers: subscribeBuffers, BufferBytes: subscription.MaxControlBytes},
		Context:  d.src,
	})
}

// Woken implements dialer.User.
func (d *dialing) Woken() {
	d.src.consider()
	if d.src.contact.Idle() {
		d.src.unlisted()
	}
}

// Tried implements dialer.User: no subscription need wait for this publisher.
func (d *dialing) Tried(err error) {
	if err != nil {
		d.src.contact.reportRefusal(d.src.contact.explain(err))
	}
	if d.src.contact.Idle() {
		d.src.unlisted()
	}
	d.sought()
	d.src.sub.checkReady()
}

// HelloMissed implements dialer.User.
func (d *dialing) HelloMissed() { d.src.fail(ErrHelloTimeout) }

// look dials if some subscription wants the publisher's tags.
func (d *dialing) look() {
	if !d.may() {
		return
	}
	if d.looking {
		d.again = true
		return
	}
	d.looking, d.again = true, false
	found := false
	look := d.src.sub.subs.Each(func(sub *Subscription) (steps int) {
		found = found || d.src.needs(sub)
		return asking{d.src}.Cost(sub)
	})
	d.src.sub.work.Add(func(budget int) (steps int, done bool) {
		if steps, done = look(budget); !done && !found {
			return steps, false
		}
		d.looking = false
		if found {
			d.begin()
		} else if d.again {
			d.look()
		}
		if d.src.contact.Idle() {
			d.src.unlisted()
		}
		return steps, true
	})
}

// begin dials for a subscription that the publisher concerns.
func (d *dialing) begin() {
	if d.src.contact.Idle() && d.may() && d.src.sub.sources[d.src.contact.entry.Instance] == d.src && d.src.contact.speakable(d.src.sub.backend.Name(), d.fits()) {
		d.src.contact.Dial()
	}
}

// Wanted implements dialer.User.
func (d *dialing) Wanted() bool {
	if !d.may() {
		return false
	}
	if sub := d.wanting; sub != nil && d.src.sub.subs.Has(sub.id) && d.src.needs(sub) {
		return true
	}
	d.wanting = nil
	for sub := range d.src.sub.subs.All {
		if d.src.needs(sub) {
			d.wanting = sub // looked at first the next time
			return true
		}
	}
	return false
}

// may reports whether the publisher may be dialed.
func (d *dialing) may() bool { return (d.src.contact.listed || d.seek.on) && !d.src.contact.ended }

// fits returns why the publisher's messages do not fit this subscriber, or nil.
func (d *dialing) fits() error {
	entry, most := &d.src.contact.entry, d.src.sub.cfg.MaxMessageBytes
	if need := frameBytes(entry.PageBytes, entry.MaxMessageBytes); need > most {
		return fmt.Errorf("bus: publisher sends up to %d bytes at once, this subscriber receives %d: raise SubscriberConfig.MaxMessageBytes", need, most)
	}
	return nil
}

// A publisher that leaves the directory may be ending, and wait for subscribers whose
// connections are just lost. So a publisher that owes messages is sought before it is
// given up: its last addresses are dialed a few times.
const (
	maxSeeks = 3
	seekTime = 2 * time.Second // after which there is no other try
)

// seek is the search for a publisher that is not in the directory.
type seek struct {
	on    bool
	done  bool // in vain
	tries int
	begun time.Time
}

// seeks begins to seek a publisher that is neither in the directory nor connected, and
// reports whether it is being sought.
func (d *dialing) seeks() bool {
	if d.seek.on && d.src.contact.Waiting() {
		return true
	}
	if d.seek.on { // nothing is wanted of it any more
		d.seek.on, d.seek.done = false, true
	}
	if d.seek.done || d.src.sub.isDialed() || d.src.requests.Owing() == 0 || d.src.contact.ended || d.src.vanished {
		return false
	}
	d.seek = seek{on: true, begun: time.Now()}
	if d.src.contact.refusal != "" { // it has been dialed in vain already
		d.seek.tries = maxSeeks - 1
	}
	d.src.contact.Wait(d.src.sub.cfg.ReconnectMin)
	return true
}

// sought notes that a try to connect has failed.
func (d *dialing) sought() {
	if !d.seek.on || d.src.contact.listed || !d.src.contact.Waiting() {
		return
	}
	if d.seek.tries++; d.seek.tries >= maxSeeks || time.Since(d.seek.begun) > seekTime {
		d.seek.on, d.seek.done = false, true
		d.src.unlisted()
	}
}
