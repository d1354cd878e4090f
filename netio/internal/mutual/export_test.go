// SPDX-License-Identifier: Apache-2.0

//go:build linux

package mutual

import (
	"net/netip"
	"slices"
	"time"
)

// Wait is wait without a handshake that is under way.
func (r *Ration) Wait() time.Duration { return r.wait(0) }

// WaitBeside is wait.
func (r *Ration) WaitBeside(handshakes int) time.Duration { return r.wait(handshakes) }

// Pay is pay.
func (r *Ration) Pay(spent time.Duration) { r.pay(spent) }

// Workers returns how many goroutines may compute at once.
func (r *Ration) Workers() int { return cap(r.workers) }

// Line is the line of a desk.
type Line struct {
	line
	all []*Visitor
}

// Add adds a connection from an address.
func (l *Line) Add(remote string) {
	v := &Visitor{Remote: netip.MustParseAddr(remote)}
	l.all = append(l.all, v)
	l.add(v)
}

// Remove takes out the i-th that was added.
func (l *Line) Remove(i int) { l.remove(l.all[i]) }

// Next takes out the next, and returns which it is; -1: there is none.
func (l *Line) Next() int {
	if l.length == 0 {
		return -1
	}
	return slices.Index(l.all, l.first())
}

// Networks returns how many networks have some in line.
func (l *Line) Networks() int { return len(l.networks.at) }

// AlertProtocolVersion is the alert of a peer that does not speak TLS.
const AlertProtocolVersion = alertProtocolVersion
