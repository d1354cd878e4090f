// SPDX-License-Identifier: Apache-2.0

package door

import (
	"net"
	"net/netip"
	"time"

	"tagbus/identity"
)

// home is where connections come from: a principal, or a network as long as it is not known, which
// is an IPv4 address, or 64 bits of an IPv6 address, of which a host has as many as it likes.
type home struct {
	who     identity.Principal
	network netip.Prefix
}

// networkOf returns the network of the other end of a connection.
func networkOf(a net.Addr) netip.Prefix {
	at := addrOf(a).Addr()
	bits := at.BitLen()
	if at.Is6() {
		bits = 64
	}
	network, _ := at.Prefix(bits) // of an address with so many, or of none
	return network
}

// maxLooked is how many connections of one home are looked at when one of them is to give way.
const maxLooked = 64

// seats are the connections, and of which home. When there are too many, one of the home with most
// of them gives way: so a caller that takes what it can keeps no other one out.
type seats struct {
	all   map[*conn]struct{}
	homes map[home]map[*conn]struct{}
}

// take adds a connection of a home.
func (s *seats) take(c *conn) {
	if s.all == nil {
		s.all, s.homes = make(map[*conn]struct{}), make(map[home]map[*conn]struct{})
	}
	s.all[c] = struct{}{}
	if s.homes[c.home] == nil {
		s.homes[c.home] = make(map[*conn]struct{})
	}
	s.homes[c.home][c] = struct{}{}
}

// leave takes a connection out, and reports whether it was in.
func (s *seats) leave(c *conn) bool {
	if _, in := s.all[c]; !in {
		return false
	}
	delete(s.all, c)
	delete(s.homes[c.home], c)
	if len(s.homes[c.home]) == 0 {
		delete(s.homes, c.home)
	}
	return true
}

// move notes that a connection is of another home.
func (s *seats) move(c *conn, to home) {
	in := s.leave(c)
	if c.home = to; in {
		s.take(c)
	}
}

// way takes out which connection gives way: of those homes with most of them, and of maxLooked of
// each, the one that has said nothing for longest. There is one.
func (s *seats) way() *conn {
	most := 0
	for _, conns := range s.homes {
		most = max(most, len(conns))
	}
	var way *conn
	for _, conns := range s.homes {
		if len(conns) < most {
			continue
		}
		looked := 0
		for c := range conns {
			if looked++; looked > maxLooked {
				break
			}
			if way == nil || c.said.Load() < way.said.Load() {
				way = c
			}
		}
	}
	s.leave(way)
	return way
}

// silent returns which of the connections that have not said what they are gives way, the oldest
// first: the oldest one of the home with most of them. There is one.
func silent(greeting []*conn) *conn {
	many := make(map[home]int)
	most := 0
	for _, c := range greeting {
		many[c.home]++
		most = max(most, many[c.home])
	}
	for _, c := range greeting {
		if many[c.home] == most {
			return c
		}
	}
	return nil
}

// begun is what the times of connections are counted from.
var begun = time.Now()

// speaks notes that a connection says something.
func (c *conn) speaks() { c.said.Store(int64(time.Since(begun))) }
