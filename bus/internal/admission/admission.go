// SPDX-License-Identifier: Apache-2.0

// Package admission decides which connections stay when there are too many.
//
// A stranger can open any number of connections. So those that ask for nothing give way
// to new ones, and each host has only a share of the places.
//
//   - Guests are connections that have not said who they are. The oldest one gives way.
//   - Seats are the places of peers. One that is idle gives way.
//
// Everything here runs on the loop. Nothing is locked.
package admission

import (
	"container/list"
	"net/netip"
)

// Guests are connections in the order in which they came. The zero value is empty.
type Guests[C comparable] struct {
	order list.List // of C
	at    map[C]*list.Element
}

// Greet adds a connection.
//
//   - most: how many there may be.
//   - Result: the oldest one, which has given way, if there are more.
func (g *Guests[C]) Greet(c C, most int) (oldest C, gaveWay bool) {
	if g.at == nil {
		g.at = make(map[C]*list.Element)
	}
	g.at[c] = g.order.PushBack(c)
	if g.order.Len() <= most {
		return oldest, false
	}
	oldest = g.order.Front().Value.(C)
	g.Leave(oldest)
	return oldest, true
}

// Leave removes a connection, if it is a guest.
func (g *Guests[C]) Leave(c C) {
	if e := g.at[c]; e != nil {
		g.order.Remove(e)
		delete(g.at, c)
	}
}

// Seats are the places of the connections of peers. The zero value is empty.
type Seats[C comparable] struct {
	taken map[C]*seat[C]
	idle  list.List // of *seat[C]: those that are idle, for the longest time first
	hosts map[netip.Addr]int
}

// seat is a place.
type seat[C any] struct {
	conn C
	host netip.Addr
	idle *list.Element // nil: it is busy
}

// Limits bound the places.
type Limits struct {
	All  int
	Host int // of one host; a loopback address has no such limit
}

// Full says which limit refuses a connection.
type Full struct {
	Taken int
	Host  netip.Addr // whose share it is; the zero value: all places are taken
}

// Len returns how many places are taken.
func (s *Seats[C]) Len() int { return len(s.taken) }

// Take takes a place for a connection, which is busy at first. If there is none left, an
// idle connection gives way: one of the same host if that has its share, otherwise one of
// the host that has most of them. Of these it is the one that is idle for longest. Hosts
// with as many as that of the newcomer are spared.
//
//   - before: a connection of the same peer, whose place c takes over; it does not give
//     way, and keeps its place if c gets none. Any other value: there is none.
//   - mayLeave: reports whether an idle connection may give way. It is called only if no
//     place is left.
//   - Result: the connection that has given way, if gaveWay. Or why c has got no place.
func (s *Seats[C]) Take(c C, host netip.Addr, limit Limits, before C, mayLeave func(C) bool) (way C, gaveWay bool, full *Full) {
	all, ofHost := s.Len(), s.hosts[host]
	if x := s.taken[before]; x != nil {
		all--
		if x.host == host {
			ofHost--
		}
	}
	others := func(c C) bool { return c != before && mayLeave(c) }
	switch {
	case ofHost >= limit.Host && !host.IsLoopback():
		if way, gaveWay = s.oldest(host, others); !gaveWay {
			return way, false, &Full{ofHost, host}
		}
	case all >= limit.All:
		if way, gaveWay = s.oldest(s.most(host, others), others); !gaveWay {
			return way, false, &Full{Taken: all}
		}
	}
	s.Leave(before)
	if gaveWay {
		s.Leave(way)
	}
	if s.taken == nil {
		s.taken, s.hosts = make(map[C]*seat[C]), make(map[netip.Addr]int)
	}
	s.hosts[host]++
	s.taken[c] = &seat[C]{conn: c, host: host}
	return way, gaveWay, nil
}

// Idle notes that a connection with a place is idle from now on, if it was not before,
// and reports whether that is new.
func (s *Seats[C]) Idle(c C) (fresh bool) {
	x := s.taken[c]
	if x == nil || x.idle != nil {
		return false
	}
	x.idle = s.idle.PushBack(x)
	return true
}

// Busy notes that a connection does not give way until Idle.
func (s *Seats[C]) Busy(c C) {
	if x := s.taken[c]; x != nil && x.idle != nil {
		s.idle.Remove(x.idle)
		x.idle = nil
	}
}

// Leave gives back the place of a connection, if it has one.
func (s *Seats[C]) Leave(c C) {
	x := s.taken[c]
	if x == nil {
		return
	}
	s.Busy(c)
	delete(s.taken, c)
	if s.hosts[x.host]--; s.hosts[x.host] == 0 {
		delete(s.hosts, x.host)
	}
}

// oldest returns the connection of a host that is idle for longest.
func (s *Seats[C]) oldest(host netip.Addr, mayLeave func(C) bool) (c C, ok bool) {
	for e := s.idle.Front(); e != nil; e = e.Next() {
		if x := e.Value.(*seat[C]); x.host == host && mayLeave(x.conn) {
			return x.conn, true
		}
	}
	return c, false
}

// most returns the host that has most of the idle connections, preferably a certain one.
func (s *Seats[C]) most(preferred netip.Addr, mayLeave func(C) bool) (most netip.Addr) {
	counts := make(map[netip.Addr]int)
	for e := s.idle.Front(); e != nil; e = e.Next() {
		if x := e.Value.(*seat[C]); mayLeave(x.conn) {
			if counts[x.host]++; counts[x.host] > counts[most] {
				most = x.host
			}
		}
	}
	if counts[preferred] >= counts[most] {
		return preferred
	}
	return most
}
