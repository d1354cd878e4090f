package bus

import (
	"net/netip"

	"tagbus/tags"
)

// Status is the 8-bit status that travels with each message, for example the
// error flags of the detector's firmware. 0 means no error and costs nothing
// on the wire. The bus carries it unchanged and gives its bits no meaning.
type Status uint8

// Message is one message as a subscriber receives it.
type Message struct {
	Tag    tags.Tag
	Status Status
	turn   uint32 // of origin

	// Counter is the message's position in the stream of its tag and publisher. The
	// first published message has 1. Successive messages of one tag and publisher have
	// successive counters. If some are missing, a Gap event says so at about the same
	// time.
	Counter uint64

	// Publisher says where the message comes from; at a Receiver that is a
	// sender. The same pointer for all messages of one connection.
	Publisher *Peer

	// Data is the payload. It is valid until the handler returns, or until the
	// next step of the iteration over Subscription.Messages; Retain keeps it.
	Data []byte

	origin *origin // what Data belongs to
}

// Peer describes the other end of a connection, for people and logs.
type Peer struct {
	Instance string // nuid of the peer's publisher or subscriber
	Name     string // chosen by its user; may be empty
	Host     string
	PID      int
	Addr     netip.AddrPort // its address on this connection
}

// String returns, for example, "readout@host1:4711 (10.0.0.1:40000)".
func (p *Peer) String() string { return peerText(p) }
