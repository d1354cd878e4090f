// SPDX-License-Identifier: Apache-2.0

package ways

import (
	"bytes"
	"crypto/sha256"
	"net/netip"
	"slices"

	"tagbus/bus/directory"
	"tagbus/bus/internal/dialer"
	"tagbus/netio"
)

// Spread reports whether the addresses of a backend are of devices among which connections are
// shared out.
func (bs Backends) Spread(backend string) bool {
	_, ok := bs.Named(backend).(netio.DeviceBackend)
	return ok
}

// targets returns the addresses of a peer as targets of backends of one kind, as many as an entry may name
// at most.
//
// Backends of devices share out the connections: each pair of instances has an order of the devices
// of both sides that is as good as random, and the same each time. The first targets differ in both devices, so
// that when one fails the next does not need it. Those of one network come first, and loopback last.
//
//   - pair: what the order depends on.
func (bs Backends) targets(pair string, addresses []netip.AddrPort) []dialer.Target {
	if !bs.Spread(bs[0].Name()) || len(bs)*len(addresses) < 2 {
		return dialer.Targets(bs[0].Name(), addresses)
	}
	ours := shuffled(pair, bs, netio.Backend.Name)
	theirs := shuffled(pair, addresses, netip.AddrPort.String)
	var all [distances][]dialer.Target
	for round := range ours {
		for i, addr := range theirs {
			b := ours[(i+round)%len(ours)]
			far := distance(b, addr.Addr())
			all[far] = append(all[far], dialer.Target{Backend: b.Name(), Addr: addr})
		}
	}
	targets := slices.Concat(all[:]...)
	return targets[:min(len(targets), directory.MaxAddresses)]
}

const distances = 3

// distance orders targets: those in the network of the device first.
func distance(b netio.Backend, ip netip.Addr) int {
	switch {
	case b.(netio.DeviceBackend).Near(ip): //nolint:forcetypeassert // all of a kind are
		return 0
	case !ip.IsLoopback():
		return 1
	}
	return 2
}

// shuffled returns all in an order that depends on their names and on pair only.
func shuffled[T any](pair string, all []T, name func(T) string) []T {
	type weighed struct {
		weight [sha256.Size]byte
		of     T
	}
	weights := make([]weighed, len(all))
	for i, x := range all {
		weights[i] = weighed{sha256.Sum256([]byte(pair + " " + name(x))), x}
	}
	slices.SortFunc(weights, func(a, b weighed) int { return bytes.Compare(a.weight[:], b.weight[:]) })
	sorted := make([]T, len(all))
	for i, w := range weights {
		sorted[i] = w.of
	}
	return sorted
}
