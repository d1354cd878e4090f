// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"net/netip"
	"slices"
)

// maxHosts is how many hosts have a turn that is remembered. A host without observers may come
// back, and has no better turn for it.
const maxHosts = 4 * MaxObservers

// turns are whose question is answered next, and which observer gives way: hosts take turns, and
// the one with most observers has too many. So one that floods an instance with questions delays
// those of another host by one answer, and keeps it no place.
type turns struct {
	asked  []*Observer             // all, the one first that has asked nothing for longest
	last   map[netip.Prefix]uint64 // the turns of hosts
	number uint64                  // of the last turn
}

// hostOf returns the host of an address: of IPv6 the 64 bits of a network, of which a host has as many
// addresses as it likes.
func hostOf(a netip.Addr) netip.Prefix {
	a = a.Unmap().WithZone("")
	bits := a.BitLen()
	if a.Is6() {
		bits = 64
	}
	host, _ := a.Prefix(bits) // of an address with so many
	return host
}

// ask notes that o has come, or asks.
func (t *turns) ask(o *Observer) {
	t.leave(o)
	t.asked = append(t.asked, o)
}

// leave takes o out.
func (t *turns) leave(o *Observer) {
	if i := slices.Index(t.asked, o); i >= 0 {
		t.asked = slices.Delete(t.asked, i, i+1)
	}
}

// way returns which observer gives way: of the host with most of them the one that has asked
// nothing for longest. Of hosts with as many it is the one of this kind first.
func (t *turns) way() *Observer {
	many := make(map[netip.Prefix]int)
	most := 0
	for _, o := range t.asked {
		many[o.host]++
		most = max(most, many[o.host])
	}
	return t.asked[slices.IndexFunc(t.asked, func(o *Observer) bool { return many[o.host] == most })]
}

// take takes the next out of those that wait, in the order in which they came: that of the host
// whose turn was longest ago.
func (t *turns) take(waiting *[]*Observer) *Observer {
	all := *waiting
	next := 0
	for i, o := range all {
		if t.last[o.host] < t.last[all[next].host] {
			next = i
		}
	}
	o := all[next]
	*waiting = slices.Delete(all, next, next+1)
	t.note(o.host)
	return o
}

// note notes that a host has had its turn.
func (t *turns) note(host netip.Prefix) {
	if t.last == nil {
		t.last = make(map[netip.Prefix]uint64)
	}
	t.number++
	t.last[host] = t.number
	if len(t.last) <= maxHosts {
		return
	}
	oldest := host
	for h, n := range t.last {
		if n < t.last[oldest] {
			oldest = h
		}
	}
	delete(t.last, oldest)
}
