// SPDX-License-Identifier: Apache-2.0

package memnet

import "net/netip"

// EventKind says what an Event is about.
type EventKind int

// Kinds of events. Each is observed just before the Handler hears of it.
const (
	Established EventKind = iota + 1 // OnConnectionEstablished
	Refused                          // OnConnectionRefused; Local is the address that dialled
	Delivered                        // OnData
	Completed                        // OnSendCompleted
	Closed                           // OnConnectionClosed
)

// String returns the kind in lower case.
func (k EventKind) String() string {
	names := [...]string{"none", "established", "refused", "delivered", "completed", "closed"}
	if k < 0 || int(k) >= len(names) {
		return "unknown"
	}
	return names[k]
}

// Event is something that happened at one side of a connection.
type Event struct {
	Kind   EventKind
	Local  netip.AddrPort // of the side where it happens
	Remote netip.AddrPort // of the other side
	Data   []byte         // of Delivered: the message, valid until return
	Err    error          // of Refused and Closed: the cause
}

// Observe calls f for every event from now on, on the loop where it happens
// and not under a lock: f may call any method of n, and must be safe for
// several goroutines if n has several loops.
func (n *Network) Observe(f func(Event)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.observers = append(n.observers, f)
}

// direction is one way between two exact addresses.
type direction struct{ from, to netip.AddrPort }

// Traffic counts what was delivered.
type Traffic struct {
	Messages uint64
	Bytes    uint64
}

// Traffic returns what was delivered from one address to the other, which may
// be patterns as in a rule.
func (n *Network) Traffic(from, to netip.AddrPort) Traffic {
	n.mu.Lock()
	defer n.mu.Unlock()
	var sum Traffic
	for d, t := range n.traffic {
		if matches(from, d.from) && matches(to, d.to) {
			sum.Messages += t.Messages
			sum.Bytes += t.Bytes
		}
	}
	return sum
}
