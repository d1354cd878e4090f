// Package seats decides which connections stay when there are too many.
//
// A stranger can open any number of connections. So those that ask for nothing give way
// to new ones, and each host has only a share of the places.
//
//   - Guests are connections that have not said who they are. The oldest one gives way.
//   - Seats are the places of peers. One that is idle gives way.
//
// Everything here runs on the loop. Nothing is locked.
package seats

import (
	"container/list"
	"net/netip"
)

// Guests are connections in the order in which they came. The zero value is empty.
type Guests[C comparable] struct{ order order[C] }

// Greet adds a connection.
//
//   - most: how many there may be.
//   - Result: the oldest one, which has given way, if there are more.
func (g *Guests[C]) Greet(c C, most int) (oldest C, gaveWay bool) {
	g.order.add(c, netip.Addr{})
	if g.order.list.Len() <= most {
		return oldest, false
	}
	oldest = g.order.list.Front().Value.(seat[C]).conn
	g.order.remove(oldest)
	return oldest, true
}

// Leave removes a connection, if it is a guest.
func (g *Guests[C]) Leave(c C) { g.order.remove(c) }

// Seats are the places of the connections of peers. The zero value is empty.
type Seats[C comparable] struct {
	order order[C] // the longest idle first, of those that are
	hosts map[netip.Addr]int
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
func (s *Seats[C]) Len() int { return s.order.list.Len() }

// Take takes a place. If there is none left, an idle connection gives way: one of the
// same host if that has its share, otherwise one of the host that has most of them. Of
// these it is the one that is idle for longest.
//
//   - idle: reports whether a connection may give way. It is called for those that have a
//     place, only if none is left.
//   - Result: the connection that has given way, if gaveWay. Or why c has got no place.
func (s *Seats[C]) Take(c C, host netip.Addr, limit Limits, idle func(C) bool) (way C, gaveWay bool, full *Full) {
	switch {
	case s.hosts[host] >= limit.Host && !host.IsLoopback():
		if way, gaveWay = s.oldest(host, idle); !gaveWay {
			return way, false, &Full{s.hosts[host], host}
		}
	case s.Len() >= limit.All:
		if way, gaveWay = s.oldest(s.most(idle), idle); !gaveWay {
			return way, false, &Full{Taken: s.Len()}
		}
	}
	if gaveWay {
		s.Leave(way)
	}
	if s.hosts == nil {
		s.hosts = make(map[netip.Addr]int)
	}
	s.hosts[host]++
	s.order.add(c, host)
	return way, gaveWay, nil
}

// Renew notes that a connection with a place becomes idle now.
func (s *Seats[C]) Renew(c C) {
	if e := s.order.at[c]; e != nil {
		s.order.list.MoveToBack(e)
	}
}

// Leave gives back the place of a connection, if it has one.
func (s *Seats[C]) Leave(c C) {
	e := s.order.at[c]
	if e == nil {
		return
	}
	host := e.Value.(seat[C]).host
	s.order.remove(c)
	if s.hosts[host]--; s.hosts[host] == 0 {
		delete(s.hosts, host)
	}
}

// oldest returns the connection of a host that is idle for longest.
func (s *Seats[C]) oldest(host netip.Addr, idle func(C) bool) (c C, ok bool) {
	for e := s.order.list.Front(); e != nil; e = e.Next() {
		if x := e.Value.(seat[C]); x.host == host && idle(x.conn) {
			return x.conn, true
		}
	}
	return c, false
}

// most returns the host that has most of the idle connections.
func (s *Seats[C]) most(idle func(C) bool) (most netip.Addr) {
	counts := make(map[netip.Addr]int)
	for e := s.order.list.Front(); e != nil; e = e.Next() {
		if x := e.Value.(seat[C]); idle(x.conn) {
			if counts[x.host]++; counts[x.host] > counts[most] {
				most = x.host
			}
		}
	}
	return most
}

// order has connections in an order.
type order[C comparable] struct {
	list list.List // of seat[C]
	at   map[C]*list.Element
}

type seat[C any] struct {
	conn C
	host netip.Addr
}

func (o *order[C]) add(c C, host netip.Addr) {
	if o.at == nil {
		o.at = make(map[C]*list.Element)
	}
	o.at[c] = o.list.PushBack(seat[C]{c, host})
}

func (o *order[C]) remove(c C) {
	if e := o.at[c]; e != nil {
		o.list.Remove(e)
		delete(o.at, c)
	}
}
