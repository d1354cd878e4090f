package bus

import (
	"errors"
	"net/netip"
	"time"

	"github.com/cenkalti/backoff/v5"

	"tagbus/bus/directory"
	"tagbus/internal/plain"
	"tagbus/netio"
	"tagbus/subscription"
)

// contact is the way to a connection with one entry of the directory, and back
// to one when it is lost. A subscriber has a contact for each publisher, a
// sender for each receiver.
//
//	idle ──► dialing ──► greeting ──► ready
//	 ▲          │            │          │
//	 │          ▼            ▼          │
//	 └──────  waiting  ◄────────────────┘   (refused, lost)
//
// Everything here runs on the loop.
type contact struct {
	dialer  *dialer
	user    contactUser
	entry   directory.Entry
	listed  bool // in the directory
	state   contactState
	gone    time.Time // when it left the directory
	ended   bool      // one of us said goodbye: never dial again
	address int       // which of the entry's addresses is dialed
	refusal string    // reported last, so as not to report it at every try
	report  func(Event)

	ep    netio.Endpoint // nil without a connection
	peer  *Peer
	since time.Time // of the connection: when it became ready

	due     time.Time // end of the delay before the next try, or of the patience for the hello
	backoff *backoff.ExponentialBackOff
}

type contactState int

const (
	contactIdle contactState = iota
	contactDialing
	contactGreeting
	contactReady
	contactWaiting
)

// contactUser is what a contact needs to know of who uses the connection.
type contactUser interface {
	params() netio.Params // of the connection
	wanted() bool         // tells whether there is to be one
	consider()            // opens it if it is wanted
	unlisted()            // there is none, and none is going to be opened now
	tried()               // a try has ended without one
	fail(err error)       // closes it
}

func (d *dialer) contact(user contactUser) contact {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval = d.min, d.max
	b.Reset()
	return contact{dialer: d, user: user, backoff: b, report: d.event}
}

// reportRefusal reports why there is no connection, once for all tries that end
// the same way.
func (c *contact) reportRefusal(err error) {
	if text := err.Error(); text != c.refusal {
		c.refusal = text
		c.report(Event{Kind: Refused, Peer: c.describe(), Err: err})
	}
}

// describe returns what the directory says of the peer.
func (c *contact) describe() *Peer {
	p := &Peer{Instance: c.entry.Instance, Name: c.entry.Name, Host: c.entry.Host, PID: c.entry.PID}
	if len(c.entry.Addresses) > 0 {
		p.Addr = c.entry.Addresses[c.address%len(c.entry.Addresses)]
	}
	return p
}

func (c *contact) dial() {
	addr := c.entry.Addresses[c.address%len(c.entry.Addresses)]
	c.state = contactDialing
	err := c.dialer.backend.OpenEndpoint(addr, c.user.params())
	switch {
	case err == nil:
		c.dialer.dialing[addr] = c
	case errors.Is(err, netio.ErrEndpointExists) && c.dialer.connected(addr):
		c.refused(ErrStaleEntry) // another one has it, with an entry of its own
	default:
		c.refused(err)
	}
}

// established takes over a connection, whose peer has yet to say hello.
func (c *contact) established(ep netio.Endpoint) {
	delete(c.dialer.dialing, ep.Remote())
	c.ep, c.state = ep, contactGreeting
	c.peer = c.describe()
	c.peer.Addr = ep.Remote()
}

// greeted notes that the peer has said hello as it should.
func (c *contact) greeted() {
	c.after(0)
	c.state, c.refusal, c.since = contactReady, "", time.Now()
}

// closed notes the end of the connection, and tells whether it was ready.
func (c *contact) closed() (wasReady bool) {
	c.ep = nil
	c.after(0)
	if c.state != contactReady {
		return false
	}
	if time.Since(c.since) >= c.dialer.max {
		c.backoff.Reset() // it worked; one that fails soon after hello gets no new patience
	}
	return true
}

// refused tries the peer's next address at once, and the first again after a
// delay.
func (c *contact) refused(err error) {
	if c.address++; c.address < len(c.entry.Addresses) && c.user.wanted() {
		c.dial()
		return
	}
	c.address = 0
	c.reportRefusal(err)
	c.retry()
}

func (c *contact) retry() {
	c.state = contactIdle
	if !c.user.wanted() {
		c.user.unlisted()
	} else {
		c.state = contactWaiting
		c.after(min(max(c.backoff.NextBackOff(), c.dialer.min), c.dialer.max))
	}
	c.user.tried()
}

// pending tells whether the peer is being connected, or is connected.
func (c *contact) pending() bool {
	return c.state != contactIdle && c.state != contactWaiting
}

// alarm is what the timer does: it ends the delay or the patience.
func (c *contact) alarm() {
	switch c.state {
	case contactWaiting:
		c.state = contactIdle
		c.user.consider()
		if c.state == contactIdle {
			c.user.unlisted()
		}
	case contactGreeting:
		c.user.fail(ErrHelloTimeout)
	case contactIdle, contactDialing, contactReady:
	}
}

// after has alarm called in d, or not at all if d is 0.
func (c *contact) after(d time.Duration) {
	c.due = time.Time{}
	if d > 0 {
		c.due = time.Now().Add(d)
	}
	c.dialer.schedule()
}

// answerOf reads the first message of the side that has been dialed: its hello,
// or why it refuses the connection.
func answerOf(data []byte) (subscription.Hello, error) {
	if data[0] == byte(subscription.KindRefused) {
		m, err := subscription.Decode(data)
		if err != nil {
			return subscription.Hello{}, errors.Join(ErrProtocol, err)
		}
		return subscription.Hello{}, errors.New(plain.Line(m.(*subscription.Refused).Reason))
	}
	h, err := subscription.DecodeHello(data)
	if err != nil {
		return h, errors.Join(ErrProtocol, err)
	}
	return h, nil
}

// dialer is what the contacts of a subscriber or sender have in common. Loop
// only.
type dialer struct {
	backend  netio.Backend
	loop     netio.Loop
	min, max time.Duration // delay before another try
	event    func(Event)
	all      func(yield func(*contact) bool)

	timer   netio.Timer
	dialing map[netip.AddrPort]*contact // waiting for OnConnection...
	stopped bool
}

// start makes the timer. The other fields are set.
func (d *dialer) start() (err error) {
	d.dialing = make(map[netip.AddrPort]*contact)
	d.timer, err = d.loop.NewTimer(d.ring)
	return err
}

// stop ends the timer. Loop only.
func (d *dialer) stop() {
	d.stopped = true
	if d.timer != nil {
		_ = d.timer.Close()
	}
}

// refused takes the answer to a dial that is not a connection.
func (d *dialer) refused(addr netip.AddrPort, err error) {
	if c := d.dialing[addr]; c != nil {
		delete(d.dialing, addr)
		c.refused(err)
	}
}

// connected tells whether a peer at addr has said who it is.
func (d *dialer) connected(addr netip.AddrPort) bool {
	for c := range d.all {
		if c.state == contactReady && c.ep != nil && c.ep.Remote() == addr {
			return true
		}
	}
	return false
}

// schedule sets the timer for the contact that is due next.
func (d *dialer) schedule() {
	var next time.Time
	for c := range d.all {
		if !c.due.IsZero() && (next.IsZero() || c.due.Before(next)) {
			next = c.due
		}
	}
	if next.IsZero() || d.stopped {
		d.timer.Stop()
		return
	}
	if err := d.timer.StartOnce(max(time.Microsecond, time.Until(next))); err != nil {
		d.event(Event{Kind: Problem, Err: err})
	}
}

// ring calls the contacts that are due.
func (d *dialer) ring() {
	now := time.Now()
	for c := range d.all {
		if !c.due.IsZero() && !c.due.After(now) {
			c.due = time.Time{}
			c.alarm()
		}
	}
	d.schedule()
}
