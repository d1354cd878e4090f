// SPDX-License-Identifier: Apache-2.0

package memnet

import (
	"net/netip"
	"slices"
)

// rule gives a value to the direction from one address to another.
type rule[V any] struct {
	from, to netip.AddrPort // patterns, see matches
	value    V
}

// matches reports whether a pattern of a rule covers addr: the zero AddrPort
// covers all, port 0 every port of the host.
func matches(pattern, addr netip.AddrPort) bool {
	switch {
	case pattern == netip.AddrPort{}:
		return true
	case pattern.Port() == 0:
		return pattern.Addr() == addr.Addr()
	default:
		return pattern == addr
	}
}

// setRule replaces the rule with the same patterns, or adds one.
func setRule[V any](rules []rule[V], from, to netip.AddrPort, value V) []rule[V] {
	return append(dropRule(rules, from, to), rule[V]{from, to, value})
}

func dropRule[V any](rules []rule[V], from, to netip.AddrPort) []rule[V] {
	return slices.DeleteFunc(rules, func(r rule[V]) bool { return r.from == from && r.to == to })
}

// lookUp returns the value of the rule set last that covers the direction, or
// otherwise the given one.
func lookUp[V any](rules []rule[V], from, to netip.AddrPort, otherwise V) V {
	for _, r := range slices.Backward(rules) {
		if matches(r.from, from) && matches(r.to, to) {
			return r.value
		}
	}
	return otherwise
}

// covered reports whether a rule covers the direction.
func covered(rules []rule[struct{}], from, to netip.AddrPort) bool {
	return slices.ContainsFunc(rules, func(r rule[struct{}]) bool { return matches(r.from, from) && matches(r.to, to) })
}
