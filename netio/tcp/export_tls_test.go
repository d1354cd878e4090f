// SPDX-License-Identifier: Apache-2.0

package tcp

import (
	"time"

	"tagbus/netio"
	"tagbus/netio/internal/mutual"
)

// YieldAfter is how long a handshake may be silent while others wait.
const YieldAfter = mutual.YieldAfter

// SealBytes is how much an endpoint seals before it asks the system to take it.
const SealBytes = sealBytes

// ParkedPerPlace is how many handshakes go on without a place, for each place.
const ParkedPerPlace = mutual.ParkedPerPlace

// Handshakes returns how many handshakes of accepted connections have a place, wait in
// line, and go on without a place.
func Handshakes(b netio.Backend) (busy, waiting, parked int) {
	return b.(*backend).siblings.accepts.Count()
}

// Strangers returns how many accepted connections are not secure yet.
func Strangers(b netio.Backend) int { return b.(*backend).siblings.strangers.count() }

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

// Exhaust takes all processor time of strangers from a backend for a while.
func Exhaust(b netio.Backend, lasts time.Duration) {
	b.(*backend).siblings.ration.Tune(0, func(rate float64) time.Duration {
		return -time.Duration(float64(lasts) * rate) // below what handshakes let it be
	})
}

// Starve gives a backend so little processor time for strangers that few of them are let in at once.
func Starve(b netio.Backend, processors float64) {
	b.(*backend).siblings.ration.Tune(processors, func(rate float64) time.Duration { return time.Duration(rate * float64(time.Second/2)) })
}

// Spare gives a backend so much processor time for strangers that none of them waits for it.
func Spare(b netio.Backend) {
	b.(*backend).siblings.ration.Tune(1e6, func(float64) time.Duration { return time.Second })
}
