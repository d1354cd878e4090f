// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"fmt"
	"slices"
	"strings"

	"tagbus/bus/directory"
	"tagbus/bus/state"
	"tagbus/netio"
)

// withinHost is the transport for processes of one host.
const withinHost = "shm"

// Backends names the transports by which an entry is dialed, the best first: "shm,tcp".
func Backends(e *directory.Entry) string {
	all := e.AllWays()
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Backend
	}
	return strings.Join(names, ",")
}

// Via says by which transports an instance is connected: "tcp", or "shm=3,tcp=1" if there are
// several, one word as other cells of tables; "" if it is connected to none, or is of a release that does not say so.
func Via(s *state.State) string {
	if len(s.ByBackend) == 1 {
		return s.ByBackend[0].Backend
	}
	texts := make([]string, len(s.ByBackend))
	for i, b := range s.ByBackend {
		texts[i] = fmt.Sprintf("%s=%d", b.Backend, b.Connected)
	}
	return strings.Join(texts, ",")
}

// Unused is a transport that is better than that of a connection, and not used.
type Unused struct {
	Backend string `json:"backend"` // the best one
	Via     string `json:"via"`     // that of the connection
	Reason  string `json:"reason"`  // why; the same for all connections with this fault
	Do      string `json:"do"`      // what to do; "": it is as it must be
}

// WithinHost reports whether the better transport is for processes of one host.
func (u *Unused) WithinHost() bool { return u.Backend == withinHost }

// Unused returns the transport that a connection should have instead of its own. ok is false if
// there is none, or that is not known.
//
//   - p: a peer in the answer of the row.
//   - itself: the answer of that peer; nil: it has given none.
func (r *Row) Unused(p *state.Peer, itself *state.State) (u Unused, ok bool) {
	s := r.State
	if p.Backend == "" {
		return u, false // of a release that has one transport
	}
	c := connection{word: "publisher", peer: "subscriber", via: p.Backend, local: s.Host != "" && s.Host == p.Host}
	if s.Role == state.Receiver || s.Role == state.Sender {
		c.word, c.peer = "receiver", "sender"
	}
	if s.Role == state.Subscriber || s.Role == state.Sender { // which has dialed
		return c.passedBy(p.Passed, s.Role == state.Subscriber)
	}
	announced := r.Entry.AllWays()
	at := slices.IndexFunc(announced, func(w directory.Way) bool { return w.Backend == netio.Kind(p.Backend) })
	for i := range announced[:max(at, 0)] {
		if better := announced[i].Backend; c.could(better) {
			return c.unused(better, c.why(better, r.Entry.Instance, itself)), true
		}
	}
	return c.notAnnounced(at >= 0, Backends(&r.Entry))
}

// connection is one of which it is judged whether its transport is the best.
type connection struct {
	word, peer string // what listens, and what dials
	via        string
	local      bool // both ends are on one host
}

// could reports whether a transport connects the two ends at all.
func (c *connection) could(backend string) bool { return c.local || backend != withinHost }

// passedBy judges by what the side that has dialed says.
//
//   - tells: it does; else nothing is known.
func (c *connection) passedBy(passed []state.PassedWay, tells bool) (Unused, bool) {
	for _, way := range passed {
		if c.could(way.Backend) {
			return c.unused(way.Backend, way.Reason), true
		}
	}
	return c.notAnnounced(tells, c.via)
}

// notAnnounced says that processes of one host do not share memory because the side that listens
// does not offer it.
//
//   - known: its transports are.
func (c *connection) notAnnounced(known bool, has string) (u Unused, ok bool) {
	if !known || !c.local || c.via == withinHost {
		return u, false
	}
	u = Unused{
		Backend: withinHost, Via: c.via, Reason: fmt.Sprintf("the %s has only %s", c.word, has),
		Do: "start the " + c.word + " with --backend auto, or with shm in front of what it has",
	}
	return u, true
}

// why returns what the side that has dialed says of a transport that it does not use, "" if nothing.
//
//   - instance: the one that it has dialed.
//   - itself: its answer; may be nil.
func (c *connection) why(backend, instance string, itself *state.State) string {
	if itself == nil {
		return ""
	}
	for i := range itself.Peers {
		if itself.Peers[i].Instance != instance {
			continue
		}
		for _, way := range itself.Peers[i].Passed {
			if netio.Kind(way.Backend) == backend {
				return way.Reason
			}
		}
	}
	if !slices.ContainsFunc(strings.Split(itself.Backend, ","), func(name string) bool { return netio.Kind(name) == backend }) {
		return hasOnly + itself.Backend
	}
	return ""
}
