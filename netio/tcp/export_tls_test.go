// SPDX-License-Identifier: Apache-2.0

package tcp

import "tagbus/netio"

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
	return d.busy, d.line.Len(), d.parked.Len()
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
