// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"encoding/hex"
	"math"
	"net/netip"
	"time"
	"unsafe"

	"tagbus/bus/internal/retain"
	"tagbus/bus/internal/snapshot"
	"tagbus/bus/internal/wire"
	"tagbus/bus/state"
	"tagbus/internal/sanitize"
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

	origin *retain.Origin // what Data belongs to
}

// Retain keeps Data valid beyond the handler, or the step of the iteration, until
// Release: on any goroutine, and beyond the end of the subscriber. Nothing is copied if
// the transport can spare the memory; otherwise only this message is. Retain changes m,
// so keep m or a copy made afterwards; these are one retained message. A second Retain
// does nothing.
//
// The memory kept is that around the message, with other messages in it. It counts
// once, up to SubscriberConfig.RetainBytes. SubscriberStats has the amount. Memory that
// is not released costs no messages: the subscriber goes on in other memory.
//
// A message that no subscriber has received, such as one of a recording, is copied. It
// counts nowhere, and Retain cannot see that it comes too late.
//
//   - Errors: ErrRetainLimit; ErrMessageOver. m is as valid as before.
//   - Threads: that of the handler, or of the iteration. Blocks: never.
func (m *Message) Retain() error {
	kept, turn, data, err := m.origin.Retain(m.turn, m.Data)
	if err != nil {
		return err
	}
	m.origin, m.turn, m.Data = kept, turn, data
	return nil
}

// Release ends Retain. After it neither m.Data nor the Data of a copy of m may be used.
// For a message that is not retained, or is already released, it does nothing.
//
// Threads: any.
func (m *Message) Release() {
	if m.origin.Release(m.turn) {
		m.Data = nil
	}
}

// Row is a message as a program in C has it: with the address of its data.
type Row struct {
	Tag     tags.Tag
	Counter uint64
	Data    uintptr // of Size bytes, as long as the Data of the Message is valid
	Size    uint32
	Status  Status
	Request bool // it has a RequestID
	_       [2]byte
}

// RowError says which of the rows of PublishRows has bytes where none can be: at address 0, or
// with an end beyond the memory that an address can name.
type RowError struct {
	Row  int // its index: that many rows of the batch are published
	Tag  tags.Tag
	Data uintptr
	Size uint32
}

// Error names the row, the tag, what is wrong and what to change.
func (e *RowError) Error() string {
	return sanitize.Linef("bus: publish %v: row %d of the batch has %d bytes at %#x, where no data can be: set its Data to the address of the payload, or its Size to 0", e.Tag, e.Row, e.Size, e.Data)
}

// usable reports whether the data of a row can be in memory.
func (r *Row) usable() bool {
	return r.Size == 0 || r.Data != 0 && uint64(r.Size) <= math.MaxInt && uintptr(r.Size) <= -r.Data
}

// data returns the payload of a row that is usable, where it is. An address without bytes may be any
// number: it becomes no pointer, which the garbage collector would object to.
func (r *Row) data() []byte {
	if r.Size == 0 {
		return nil
	}
	at := r.Data
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&at)), r.Size)
}

// address returns where data is.
func address(data []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(data))) }

// Peer describes the other end of a connection, for people and logs.
type Peer struct {
	Instance string // nuid of the peer's publisher or subscriber
	Name     string // chosen by its user; may be empty
	Host     string
	PID      int
	Addr     netip.AddrPort // its address on this connection
	Backend  string         // of this connection: "tcp", "shm"
}

// String returns, for example, "readout@host1:4711 (10.0.0.1:40000)". A peer without name
// is called by the end of its instance (ShortInstance).
func (p *Peer) String() string { return peerText(p) }

// state returns the state of a peer that is connected since a time, without its counts.
func (p *Peer) state(since time.Time) state.Peer {
	st := state.Peer{Instance: p.Instance, Name: p.Name, Host: p.Host, PID: p.PID, Backend: p.Backend, Since: snapshot.Time(since)}
	if p.Addr.IsValid() {
		st.Address = p.Addr.String()
	}
	return st
}

// RequestID names one request of one Requester. The bus carries it beside the payload, with
// the command and with the reply. No two requests have the same, so ids can be compared with
// ==. The zero value names no request.
type RequestID struct{ id wire.ID }

// String returns the id in hexadecimal digits, or "none".
func (id RequestID) String() string {
	if id == (RequestID{}) {
		return "none"
	}
	return hex.EncodeToString(id.id[:])
}

// Bytes returns the id as it stands on the wire; all zeros: none.
func (id RequestID) Bytes() [16]byte { return id.id }

// RequestIDOf returns the id that Bytes has given, for example of a message that was
// recorded.
func RequestIDOf(b [16]byte) RequestID { return RequestID{b} }

// WithRequestID returns m with an id, as a message that no subscriber has received. It is
// for what makes messages out of others, such as a recording. Zero: with no id.
func (m Message) WithRequestID(id RequestID) Message {
	m.origin, m.turn = nil, 0
	if id != (RequestID{}) {
		m.origin = retain.Made(retain.ID(id.id))
	}
	return m
}

// RequestID returns the id of the request that m is, or is a reply to. It is zero for other
// messages, and after Release. The id itself is valid for ever, unlike Data.
//
// Threads: any, but not while Retain runs.
func (m *Message) RequestID() RequestID {
	return RequestID{wire.ID(m.origin.ID(m.turn))}
}
