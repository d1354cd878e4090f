package bus

import (
	"errors"
	"net/netip"
	"time"

	"github.com/cenkalti/backoff/v5"

	"tagbus/bus/directory"
	"tagbus/internal/alarm"
	"tagbus/internal/plain"
	"tagbus/netio"
	"tagbus/subscription"
)

// contact makes the connection to the peer of a directory entry, and makes it again
// after a loss. A subscriber has a contact for each publisher, a sender for each
// receiver.
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
	ended   bool      // one side said goodbye: never dial again
	address int       // which of the entry's addresses is dialed
	refusal string    // reported last, so that each try does not report it again
	report  func(Event)

	ep    netio.Endpoint // nil without a connection
	peer  *Peer
	since time.Time // of the connection: when it became ready

	alarm   alarm.Alarm // ends the delay before the next try, or the wait for the hello
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

// contactUser is what a contact needs to know of the user of its connection.
type contactUser interface {
	params() netio.Params // of the connection
	wanted() bool         // reports whether a connection is wanted
	consider()            // opens it if it is wanted
	unlisted()            // there is no connection, and none is going to be opened
	tried()               // a try has ended without a connection
	fail(err error)       // closes it
}

// prepare makes c the contact of a user.
func (d *dialer) prepare(c *contact, user contactUser) {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval = d.min, d.max
	b.Reset()
	c.dialer, c.user, c.backoff, c.report, c.alarm.F = d, user, b, d.event, c.ring
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
		c.refused(ErrStaleEntry) // another contact has this address, with an entry of its own
	default:
		c.refused(err)
	}
}

// established takes over a connection whose peer has not said hello yet.
func (c *contact) established(ep netio.Endpoint) {
	delete(c.dialer.dialing, ep.Remote())
	c.ep, c.state = ep, contactGreeting
	c.peer = c.describe()
	c.peer.Addr = ep.Remote()
}

// greeted notes that the peer has sent a valid hello.
func (c *contact) greeted() {
	c.after(0)
	c.state, c.refusal, c.since = contactReady, "", time.Now()
}

// closed notes the end of the connection, and reports whether it was ready.
func (c *contact) closed() (wasReady bool) {
	c.ep = nil
	c.after(0)
	if c.state != contactReady {
		return false
	}
	if time.Since(c.since) >= c.dialer.max {
		c.backoff.Reset() // it worked; the delay stays if a connection fails soon after its hello
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

// pending reports whether the peer is being connected, or is connected.
func (c *contact) pending() bool {
	return c.state != contactIdle && c.state != contactWaiting
}

// ring is called by the alarm. It ends the delay or the wait for the hello.
func (c *contact) ring() {
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

// after schedules the alarm in d, replacing any earlier time; 0 cancels it.
func (c *contact) after(d time.Duration) {
	if d > 0 {
		c.dialer.alarms.Set(&c.alarm, d)
	} else {
		c.dialer.alarms.Cancel(&c.alarm)
	}
}

// answerOf reads the first message of the dialed side: its hello, or the reason for
// which it refuses the connection.
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
	alarms   *alarm.Clock
	min, max time.Duration // delay before another try
	event    func(Event)
	all      func(yield func(*contact) bool)
	dialing  map[netip.AddrPort]*contact // waiting for OnConnection...
}

// refused handles a dial that ends without a connection.
func (d *dialer) refused(addr netip.AddrPort, err error) {
	if c := d.dialing[addr]; c != nil {
		delete(d.dialing, addr)
		c.refused(err)
	}
}

// connected reports whether the peer at addr has sent its hello.
func (d *dialer) connected(addr netip.AddrPort) bool {
	for c := range d.all {
		if c.state == contactReady && c.ep != nil && c.ep.Remote() == addr {
			return true
		}
	}
	return false
}
