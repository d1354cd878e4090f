// SPDX-License-Identifier: Apache-2.0

package door

import (
	"net"
	"net/netip"
	"os"
	"strconv"
	"sync"

	"tagbus/directory/etcd/internal/guard"
	"tagbus/identity"
)

// certified is a caller with a certificate.
type certified struct {
	guard.Budget

	who    identity.Principal
	from   net.Addr
	roster *Roster
}

func (c *certified) Principal() identity.Principal { return c.who }
func (c *certified) Rank() guard.Rank              { return c.roster.certified(c.who) }
func (c *certified) String() string                { return c.who.String() + " (" + c.from.String() + ")" }

// anonymous is a caller without a certificate.
type anonymous struct {
	guard.Budget

	from, to netip.AddrPort
	roster   *Roster
	user     func() (uid int, ok bool) // of a caller on this host, looked up once
}

// overflow is what the kernel says of a user that the namespace of users does not know.
const overflow = 65534

func newAnonymous(c net.Conn, roster *Roster) *anonymous {
	a := &anonymous{from: addrOf(c.RemoteAddr()), to: addrOf(c.LocalAddr()), roster: roster}
	a.user = sync.OnceValues(func() (int, bool) { return userOf(a.from, a.to) })
	return a
}

// addrOf returns an address of TCP.
func addrOf(a net.Addr) netip.AddrPort {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}
	}
	at := tcp.AddrPort()
	return netip.AddrPortFrom(at.Addr().Unmap().WithZone(""), at.Port())
}

func (*anonymous) Principal() identity.Principal { return identity.Principal{} }

// Rank implements guard.Caller. A process of the member's user, or of root, administers it.
func (a *anonymous) Rank() guard.Rank {
	if !a.isHere() {
		return a.roster.remote(a.from.Addr())
	}
	if uid, ok := a.user(); ok && uid != overflow && (uid == 0 || uid == os.Geteuid()) {
		return guard.Administrator
	}
	return guard.Client
}

// isHere reports whether the caller is on this host, or on one that has an address of it.
func (a *anonymous) isHere() bool {
	at := a.from.Addr()
	if !at.IsValid() || at.IsLoopback() || at == a.to.Addr() {
		return true
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return true // which has fewer rights
	}
	for _, one := range own {
		if network, ok := one.(*net.IPNet); ok {
			if found, ok := netip.AddrFromSlice(network.IP); ok && found.Unmap() == at {
				return true
			}
		}
	}
	return false
}

// String names the address, and the user if it is known.
func (a *anonymous) String() string {
	text := identity.AnonymousName + " (" + a.from.String()
	if a.isHere() {
		if uid, ok := a.user(); ok {
			text += ", user " + strconv.Itoa(uid)
		}
	}
	return text + ")"
}
