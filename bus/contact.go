package bus

import (
	"errors"
	"net/netip"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/internal/contact"
	"tagbus/internal/plain"
	"tagbus/netio"
	"tagbus/subscription"
)

// peerContact is the contact with the peer of a directory entry. A subscriber has one
// for each publisher, a sender for each receiver. Loop only.
type peerContact struct {
	contact.Contact
	entry   directory.Entry
	listed  bool      // in the directory
	gone    time.Time // when it left the directory
	ended   bool      // one side said goodbye: never dial again
	refusal string    // reported last, so that each try does not report it again
	report  func(Event)

	ep   netio.Endpoint // nil without a connection
	peer *Peer
}

// list takes over the entry of the directory.
func (c *peerContact) list(e directory.Entry) {
	c.entry, c.listed, c.Addresses = e, true, e.Addresses
}

// reportRefusal reports why there is no connection, once for all tries that end
// the same way.
func (c *peerContact) reportRefusal(err error) {
	if text := err.Error(); text != c.refusal {
		c.refusal = text
		c.report(Event{Kind: Refused, Peer: c.describe(), Err: err})
	}
}

// describe returns what the directory says of the peer.
func (c *peerContact) describe() *Peer {
	return &Peer{Instance: c.entry.Instance, Name: c.entry.Name, Host: c.entry.Host, PID: c.entry.PID, Addr: c.Address()}
}

// speakable reports whether this program can talk to the peer. If not, an event has the
// reason, once for all tries that end the same way.
//
//   - ours: the backend of this program.
//   - fits: nil if the messages of the two sides fit each other.
func (c *peerContact) speakable(ours string, fits error) bool {
	err := fits
	if c.entry.Backend != ours {
		err = &BackendError{c.entry.Role, c.entry.Backend, ours}
	}
	if err != nil {
		c.reportRefusal(err)
	}
	return err == nil
}

// open begins to open a connection to an address of the peer.
func (c *peerContact) open(d *contact.Dialer, b netio.Backend, addr netip.AddrPort, p netio.Params) error {
	err := b.OpenEndpoint(addr, p)
	if errors.Is(err, netio.ErrEndpointExists) && d.Connected(addr) {
		return ErrStaleEntry // another peer has this address, with an entry of its own
	}
	return err
}

// established takes over a connection whose peer has not said hello yet.
func (c *peerContact) established(ep netio.Endpoint) {
	c.Established()
	c.ep, c.peer = ep, c.describe()
	c.peer.Addr = ep.Remote()
}

// greeted notes that the peer has sent a valid hello.
func (c *peerContact) greeted() {
	c.Greeted()
	c.refusal = ""
}

// closed notes the end of the connection, and reports whether it was ready.
func (c *peerContact) closed() (wasReady bool) {
	c.ep = nil
	return c.Closed()
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
