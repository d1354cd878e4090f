// SPDX-License-Identifier: Apache-2.0

package memnet

import (
	"crypto/x509"
	"net/netip"
	"slices"
	"sync"
	"time"

	"tagbus/netio"
)

// defaultWindowBytes is how much a connection holds in each direction between
// the memory of the sender and OnData of the receiver.
const defaultWindowBytes = 256 << 10

// firstPort is the first port that a Network hands out for port 0 and for the
// local side of active endpoints.
const firstPort = 40000

// Network is a transport in memory. Backends that were opened on the same
// Network reach each other by netip.AddrPort; no address of the machine is
// used. It keeps the contract of netio, with these traits:
//
//   - A message moves in pieces from the sender's memory into the window of
//     its connection (SetWindow), on the sender's loop or inside SendDirect
//     (Config.Direct); when its last byte is taken the send is complete. The
//     receiver takes it from there, on its loop. So a receiver that pauses or is
//     stalled fills the window, then the sender's queue, and then the sender sees
//     ErrNoResources.
//   - Nothing is read from the memory given to Send until then, except a
//     checksum: bytes that the owner changed in the meantime are what the
//     receiver gets, and Violations reports it.
//   - Data given to OnData is overwritten when OnData returns.
//   - A receive buffer is taken before the first piece of a message leaves the
//     window; those who find none wait in order. A peer that stops in the
//     middle of a message while others wait for its buffer is disconnected
//     with ErrTimeout after 10 s.
//   - Refusals for want of a shared send buffer are answered in order.
//   - An Unsafe backend panics, in every build, when a method is called that
//     may not be called there.
//
// Faults are set by rules between two addresses, from and to: a rule holds for
// every present and future connection that matches. In an address of a rule,
// port 0 stands for any port of that host, and the zero AddrPort for anybody.
// So a Network with one host per process (Config.Host) can be faulted process
// by process.
//
// Threads: any. Methods may be called inside callbacks. Make it with
// New, inside the bubble in which it is used.
type Network struct {
	mu         sync.Mutex
	listeners  map[netip.AddrPort]*listener
	backends   []*backend
	endpoints  []*endpoint // in the order of their creation
	port       uint16      // handed out last
	windows    []rule[int]
	delays     []rule[time.Duration]
	stalls     []rule[struct{}]
	partitions []rule[struct{}]
	refusals   []netip.AddrPort
	traffic    map[direction]Traffic
	observers  []func(Event)
	violations []string
}

// New returns a network without backends and without faults.
func New() *Network {
	return &Network{listeners: map[netip.AddrPort]*listener{}, traffic: map[direction]Traffic{}, port: firstPort - 1}
}

// Config says what a backend of a Network is like. The zero value has every
// capability.
type Config struct {
	// Config is what all backends have in common. Its Mode changes nothing.
	netio.Config

	// Name is what Backend.Name returns. Default "memory".
	Name string

	// Host is the address of the backend: it listens only there, and its
	// active endpoints have it as their local address. Without it the backend
	// listens anywhere and dials from the address that it dials. It then listens at an
	// unspecified address for all addresses at which no listener has the port.
	Host netip.Addr

	// Certificates are what peers see of the backend (netio.Authenticated). Default: none.
	Certificates []*x509.Certificate

	// NoImmediate takes SendCopy away, as with a backend that has no such way.
	NoImmediate bool

	// NoDirect takes SendDirect away, as with a backend that has no such way.
	NoDirect bool

	// Direct says how many bytes of a message SendDirect takes itself, at most, if
	// nothing is before it: size or more, a part, or 0. What the window has no room
	// for it does not take either. It is called under the lock of the Network, on the
	// goroutine of SendDirect, and must not call into either. Default: as much as there
	// is room for.
	Direct func(size int) int

	// RegionOnly makes Send and SendDirect refuse memory outside
	// ZeroCopyParams.Region, as with a backend whose devices know no other.
	RegionOnly bool
}

func (c Config) withDefaults() Config {
	c.Config = c.WithDefaults()
	if c.Name == "" {
		c.Name = "memory"
	}
	return c
}

// Opener returns the Opener of backends that live on loop and on n.
func (n *Network) Opener(loop netio.Loop, cfg Config) netio.Opener {
	return func(h netio.Handler) (netio.Backend, error) {
		if err := cfg.Validate(); err != nil {
			return nil, err
		}
		return newBackend(n, loop, h, cfg.withDefaults())
	}
}

// SetWindow bounds what the connections from one address to the other hold in
// that direction, in bytes, at least 1. Default 256 KiB. A message larger than
// the window passes through it in pieces.
func (n *Network) SetWindow(from, to netip.AddrPort, bytes int) {
	n.change(func() { n.windows = setRule(n.windows, from, to, max(1, bytes)) })
}

// SetDelay makes everything sent from one address to the other arrive d later.
// A connection is established after the delays of both directions.
func (n *Network) SetDelay(from, to netip.AddrPort, d time.Duration) {
	n.change(func() { n.delays = setRule(n.delays, from, to, d) })
}

// Stall stops the delivery of what is sent from one address to the other, as
// if the receiver did not read: bytes and the end of the connection wait, the
// window fills. Connections are established as ever, and a reset passes.
func (n *Network) Stall(from, to netip.AddrPort) {
	n.change(func() { n.stalls = setRule(n.stalls, from, to, struct{}{}) })
}

// Resume undoes the Stall with the same addresses.
func (n *Network) Resume(from, to netip.AddrPort) {
	n.change(func() { n.stalls = dropRule(n.stalls, from, to) })
}

// Partition cuts a and b off from each other: whatever they send waits and
// nothing fails, except that connections time out.
func (n *Network) Partition(a, b netip.AddrPort) {
	n.change(func() {
		n.partitions = setRule(n.partitions, a, b, struct{}{})
		n.partitions = setRule(n.partitions, b, a, struct{}{})
	})
}

// Heal undoes the Partition of the same addresses: what waited arrives.
func (n *Network) Heal(a, b netip.AddrPort) {
	n.change(func() {
		n.partitions = dropRule(n.partitions, a, b)
		n.partitions = dropRule(n.partitions, b, a)
	})
}

// Refuse makes connections to addr fail with ECONNREFUSED; established ones
// live on.
func (n *Network) Refuse(addr netip.AddrPort) {
	n.change(func() {
		if !slices.Contains(n.refusals, addr) {
			n.refusals = append(n.refusals, addr)
		}
	})
}

// Admit undoes Refuse.
func (n *Network) Admit(addr netip.AddrPort) {
	n.change(func() {
		n.refusals = slices.DeleteFunc(n.refusals, func(a netip.AddrPort) bool { return a == addr })
	})
}

// Reset breaks the present connections between a and b, whichever side dialed: both
// sides close with ECONNRESET and what was under way is lost. It returns how
// many it broke.
func (n *Network) Reset(a, b netip.AddrPort) int {
	broken := 0
	n.change(func() {
		for _, e := range n.endpoints {
			if e.reset == nil && matches(a, e.local) && matches(b, e.remote) {
				e.fail()
				e.peer.fail()
				broken++
			}
		}
	})
	return broken
}

// Kill ends the backends of a host as a killed process ends: the others see
// ECONNRESET, what was under way in either direction is lost, and its
// addresses are free for its successor. The killed backends call their
// Handlers no more, except to report what Close has to; until then they accept
// calls as a process would that does not know yet. It returns how many it
// killed.
func (n *Network) Kill(host netip.Addr) int {
	killed := 0
	n.change(func() {
		for _, b := range n.backends {
			if b.cfg.Host == host && !b.killed && !b.closing {
				b.kill()
				killed++
			}
		}
	})
	return killed
}

// change applies a new rule and lets every endpoint look at it.
func (n *Network) change(f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f()
	for _, e := range n.endpoints {
		e.b.schedule(e)
	}
	for _, b := range n.backends {
		for _, d := range b.dials {
			b.schedule(d)
		}
	}
}

// Violations reports the sends whose memory was changed between Send and the
// completion, each as a sentence.
func (n *Network) Violations() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.violations)
}

// allocatePort returns a port of host on which no endpoint listens. It needs n.mu.
func (n *Network) allocatePort(host netip.Addr) uint16 {
	for {
		n.port++
		if n.port < firstPort {
			n.port = firstPort
		}
		if n.listeners[netip.AddrPortFrom(host, n.port)] == nil {
			return n.port
		}
	}
}
