// SPDX-License-Identifier: Apache-2.0

package tcp

import (
	"net/netip"
	"slices"
	"time"

	"tagbus/netio"
)

// YieldAfter is how long a handshake may be silent while others wait.
const YieldAfter = yieldAfter

// SealBytes is how much an endpoint seals before it asks the system to take it.
const SealBytes = sealBytes

// ParkedPerPlace is how many handshakes go on without a place, for each place.
const ParkedPerPlace = parkedPerPlace

// Handshakes returns how many handshakes of accepted connections have a place, wait in
// line, and go on without a place.
func Handshakes(b netio.Backend) (busy, waiting, parked int) {
	d := &b.(*backend).group.accepts
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.busy, d.line.length, d.parked.Len()
}

// Strangers returns how many accepted connections are not secure yet.
func Strangers(b netio.Backend) int {
	all := &b.(*backend).group.strangers
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.list.Len()
}

// SealedBytes returns how much of an endpoint is sealed and not sent.
func SealedBytes(ep netio.Endpoint) int {
	w := &ep.(*endpoint).secure.wire
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to - w.from
}

// FlushLater schedules a flush.
func FlushLater(ep netio.Endpoint) { ep.(*endpoint).Schedule(toFlush) }

// Answer makes TLS write a record of n bytes beside what was to be sealed, as
// crypto/tls does that answers a peer. Threads: the loop.
func Answer(ep netio.Endpoint, n int) error {
	_, err := ep.(*endpoint).secure.wire.Write(make([]byte, n))
	return err
}

// Ration is what handshakes may use of the processors.
type Ration struct{ *ration }

// NewRation returns one for so many processors.
func NewRation(processors int, clock func() time.Time) Ration {
	return Ration{newRation(processors, clock)}
}

// Wait is ration.wait without a handshake that is under way.
func (r Ration) Wait() time.Duration { return r.wait(0) }

// WaitBeside is ration.wait.
func (r Ration) WaitBeside(handshakes int) time.Duration { return r.wait(handshakes) }

// Pay is ration.pay.
func (r Ration) Pay(spent time.Duration) { r.pay(spent) }

// Workers returns how many goroutines may compute at once.
func (r Ration) Workers() int { return cap(r.workers) }

// Exhaust takes all processor time of strangers from a backend for a while.
func Exhaust(b netio.Backend, lasts time.Duration) {
	r := b.(*backend).group.ration
	r.mu.Lock()
	defer r.mu.Unlock()
	r.save()
	r.balance = -time.Duration(float64(lasts) * r.rate) // below what pay lets it be
}

// Starve gives a backend so little processor time for strangers that few of them are let in at once.
func Starve(b netio.Backend, processors float64) {
	r := b.(*backend).group.ration
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rate = processors
	r.balance = r.most()
}

// Spare gives a backend so much processor time for strangers that none of them waits for it.
func Spare(b netio.Backend) {
	r := b.(*backend).group.ration
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rate = 1e6
}

// Line is the line of a desk.
type Line struct {
	line
	all []*secure
}

// Add adds a connection from an address.
func (l *Line) Add(remote string) {
	s := &secure{remote: netip.MustParseAddr(remote)}
	l.all = append(l.all, s)
	l.add(s)
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
