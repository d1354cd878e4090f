// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"errors"
	"fmt"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/internal/admission"
	"tagbus/bus/internal/contact"
	"tagbus/bus/internal/dialer"
	"tagbus/bus/internal/snapshot"
	"tagbus/bus/internal/ways"
	"tagbus/bus/state"
	"tagbus/internal/sanitize"
	"tagbus/netio"
	"tagbus/subscription"
)

// What both ends of a connection say of each other.

// protocolError returns an error that wraps ErrProtocol, for a peer that has broken the
// protocol.
func protocolError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrProtocol, fmt.Sprintf(format, args...))
}

// unanswered returns the error of workqueue.Ask as users see it: the cause of the end of a
// context with what was asked.
func unanswered(what string, err error) error {
	if err == nil || err == ErrClosed || err == ErrOnLoop { //nolint:errorlint // the cause of a context may wrap one of these
		return err
	}
	return fmt.Errorf("bus: %s: %w", what, err)
}

// tooMany returns kind, with the limit of a configuration that is reached.
func tooMany(kind error, full *admission.Full, limit string) error {
	if full.Host.IsValid() {
		return fmt.Errorf("%w: %d from %v, the most it allows of one host: raise %sPerHost", kind, full.Taken, full.Host, limit)
	}
	return fmt.Errorf("%w: %d, the most it allows: raise %s", kind, full.Taken, limit)
}

// peerOf returns the peer that has said hello, or nothing yet.
func peerOf(h subscription.Hello, ep netio.Endpoint) *Peer {
	return &Peer{Instance: h.Instance, Name: h.Name, Host: h.Host, PID: h.PID, Addr: ep.Remote(), Backend: ep.Backend()}
}

// state returns the state of a peer that is connected since a time, without its counts.
func (p *Peer) state(since time.Time) state.Peer {
	st := state.Peer{Instance: p.Instance, Name: p.Name, Host: p.Host, PID: p.PID, Backend: p.Backend, Since: snapshot.Time(since)}
	if p.Addr.IsValid() {
		st.Address = p.Addr.String()
	}
	return st
}

// refusal is how a peer is told why it is refused, and the subscription id, or the
// whole connection if id is 0. A reason that is longer than a text of the protocol
// may be loses its end, and says so.
func refusal(id uint64, reason error) *subscription.Refused {
	return &subscription.Refused{ID: id, Reason: sanitize.Cut(sanitize.Error(outsideOf(reason)), subscription.MaxTextBytes)}
}

// peerContact is the contact of a subscriber with a publisher, or of a sender with a receiver.
type peerContact = contact.Contact[*Peer]

// words are what contacts tell of peers.
var words = contact.Words[*Peer]{
	Stale: ErrStaleEntry,
	Peer: func(e directory.Entry, at dialer.Target) *Peer {
		return &Peer{Instance: e.Instance, Name: e.Name, Host: e.Host, PID: e.PID, Addr: at.Addr, Backend: at.Backend}
	},
	NoWay: func(e directory.Entry, ours string, err error) error {
		return &BackendError{e.Role, ways.Text(e), ours, err}
	},
	Loopback: func(e directory.Entry, host string, err error) error {
		return &LoopbackError{Role: e.Role, Host: e.Host, Ours: host, Addresses: e.Addresses, Err: err}
	},
}

// answerOf reads the first message of the dialed side: its hello, or the reason for which it
// refuses the connection.
//
//   - instance, role: that it is expected to have. Another instance at the address of an entry may
//     be gone again later, or the peer be at its next address.
func answerOf(data []byte, instance, role string) (h subscription.Hello, err error) {
	if data[0] == byte(subscription.KindRefused) {
		var refused *subscription.Refused
		if refused, err = subscription.DecodeRefused(data); err == nil {
			return h, refusedError{sanitize.Line(refused.Reason)}
		}
	} else {
		h, err = subscription.DecodeHello(data)
	}
	switch {
	case err != nil:
		return h, errors.Join(ErrProtocol, err)
	case h.Instance != instance:
		return h, ErrStaleEntry
	case h.Role != role && role == "":
		return h, protocolError("it is a %s", sanitize.Text(h.Role))
	case h.Role != role:
		return h, protocolError("it is no %s", role)
	}
	return h, nil
}
