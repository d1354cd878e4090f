// SPDX-License-Identifier: Apache-2.0

package memnet

import (
	"errors"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"time"

	"tagbus/internal/goroutine"
	"tagbus/internal/invariants"
	"tagbus/netio"
)

// backend is a netio.Backend on a Network. What happens to its endpoints is
// decided in turns on its loop: a change that concerns an endpoint schedules it, and
// its turn looks at the state and makes the callbacks. All fields below mu are guarded
// by the network's mutex, which is never held during a callback.
type backend struct {
	net  *Network
	loop netio.Loop
	h    netio.Handler
	cfg  Config
	done chan struct{} // closed after the last callback of a closed backend

	turning sync.Mutex // held during a turn

	sharedSend    *sendBuffers    // of all endpoints, or nil
	sharedReceive *receiveBuffers // of all endpoints, or nil

	// mu stands for net.mu:
	listeners     []*listener
	endpoints     []*endpoint
	dials         []*dial
	ready         []task
	posted        bool // a turn is on its way through the loop
	timer         netio.Timer
	sleeping      []task
	closing       bool
	finished      bool
	killed        bool
	turner        uint64 // the goroutine that runs a turn, or 0
	loopGoroutine uint64 // the goroutine that ran the last posted turn, or 0
	stats         netio.Stats
}

// task is something that gets turns: an endpoint or a dial.
type task interface {
	// turn looks at the state and makes callbacks. It needs no lock.
	turn()
	mark() *taskMark
}

// taskMark is the backend's note on a task.
type taskMark struct {
	queued bool      // in backend.ready
	wake   time.Time // if not zero: in backend.sleeping until then
}

func newBackend(n *Network, loop netio.Loop, h netio.Handler, cfg Config) (*backend, error) {
	b := &backend{net: n, loop: loop, h: h, cfg: cfg, done: make(chan struct{})}
	timer, err := loop.NewTimer(b.wakeSleepers)
	if err != nil {
		return nil, err
	}
	b.timer = timer
	if s := cfg.SharedSend; s.Enabled() {
		if b.sharedSend, err = newSendBuffers(b, true, s.Buffers, s.BufferBytes); err != nil {
			return nil, errors.Join(err, timer.Close())
		}
	}
	b.sharedReceive = newReceiveBuffers(cfg.SharedReceive.Buffers)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.backends = append(n.backends, b)
	return b, nil
}

// checkThread panics if a method of an Unsafe backend is called where it may
// not be: elsewhere than on the loop, or in a turn that Close runs, while the
// loop runs. It checks in every build. It must not be called under the
// network's mutex.
func (b *backend) checkThread(method string) {
	if b.cfg.ThreadSafety == netio.Safe || b.loop.OnLoop() {
		return
	}
	b.net.mu.Lock()
	inTurn := b.turner == goroutine.ID()
	b.net.mu.Unlock()
	invariants.CheckThread(inTurn || !b.loopRuns(), method)
}

// loopRuns reports whether the loop runs. One that does not tell counts as
// running until it takes no more functions.
func (b *backend) loopRuns() bool {
	if l, ok := b.loop.(interface{ Running() bool }); ok {
		return l.Running()
	}
	return b.loop.Post(func() {})
}

// Name implements netio.Backend.
func (b *backend) Name() string { return b.cfg.Name }

// Loop implements netio.Backend.
func (b *backend) Loop() netio.Loop { return b.loop }

// Stats implements netio.Backend.
func (b *backend) Stats() netio.Stats {
	b.net.mu.Lock()
	defer b.net.mu.Unlock()
	return b.stats
}

// OpenListenEndpoint implements netio.Backend. With Config.Host, another
// address fails with EADDRNOTAVAIL.
func (b *backend) OpenListenEndpoint(addr netip.AddrPort, p netio.Params) (netio.ListenEndpoint, error) {
	b.checkThread("OpenListenEndpoint")
	b.net.mu.Lock()
	defer b.net.mu.Unlock()
	l, err := b.listen(addr, p)
	if err != nil {
		return nil, &netio.OpError{Op: "open listen endpoint", Addr: addr, Err: err}
	}
	return l, nil
}

// listen needs b.net.mu.
func (b *backend) listen(addr netip.AddrPort, p netio.Params) (*listener, error) {
	if b.closing {
		return nil, netio.ErrClosed
	}
	if !addr.IsValid() {
		return nil, netio.ErrInvalidAddress
	}
	p, err := b.cfg.ListenParams(p)
	if err != nil {
		return nil, err
	}
	host := addr.Addr()
	if b.cfg.Host.IsValid() {
		if host != b.cfg.Host && !host.IsUnspecified() {
			return nil, syscall.EADDRNOTAVAIL
		}
		host = b.cfg.Host
	}
	port := addr.Port()
	if port == 0 {
		port = b.net.allocatePort(host)
	}
	addr = netip.AddrPortFrom(host, port)
	if old := b.net.listeners[addr]; old != nil {
		if old.b == b {
			return nil, netio.ErrListenEndpointExists
		}
		return nil, syscall.EADDRINUSE
	}
	l := &listener{b: b, addr: addr, params: p}
	if p.Receive.Shared {
		l.sharedReceive = newReceiveBuffers(p.Receive.Buffers)
	}
	b.net.listeners[addr] = l
	b.listeners = append(b.listeners, l)
	return l, nil
}

// OpenEndpoint implements netio.Backend.
func (b *backend) OpenEndpoint(addr netip.AddrPort, p netio.Params) error {
	b.checkThread("OpenEndpoint")
	b.net.mu.Lock()
	defer b.net.mu.Unlock()
	if err := b.dial(addr, p); err != nil {
		return &netio.OpError{Op: "open endpoint", Addr: addr, Err: err}
	}
	return nil
}

// dial needs b.net.mu.
func (b *backend) dial(addr netip.AddrPort, p netio.Params) error {
	if b.closing {
		return netio.ErrClosed
	}
	if !addr.IsValid() || addr.Port() == 0 || addr.Addr().IsUnspecified() {
		return netio.ErrInvalidAddress
	}
	p, err := b.cfg.EndpointParams(p)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(b.dials, func(d *dial) bool { return d.addr == addr }) ||
		slices.ContainsFunc(b.endpoints, func(e *endpoint) bool { return e.ln == nil && e.remote == addr }) {
		return netio.ErrEndpointExists
	}
	host := b.cfg.Host
	if !host.IsValid() {
		host = addr.Addr()
	}
	d := &dial{
		b:        b,
		addr:     addr,
		local:    netip.AddrPortFrom(host, b.net.allocatePort(host)),
		params:   p,
		deadline: time.Now().Add(p.ConnectTimeout),
	}
	b.dials = append(b.dials, d)
	b.schedule(d)
	return nil
}

// Close implements netio.Backend. On the loop means here: inside a callback,
// or wherever the loop's own OnLoop method says so.
func (b *backend) Close() error {
	b.net.mu.Lock()
	if !b.closing {
		b.closing = true
		for _, l := range b.listeners {
			l.unregister()
		}
		b.listeners, b.dials = nil, nil
		for _, e := range b.endpoints {
			e.closed = true
			b.schedule(e)
		}
	}
	self := goroutine.ID()
	onLoop := self == b.turner || self == b.loopGoroutine
	b.net.mu.Unlock()
	if b.loop.OnLoop() {
		onLoop = true
	}
	if !b.loop.Post(b.loopTurn) && !onLoop {
		b.turn(self)
	}
	if !onLoop && !b.loop.OnAnyLoop() {
		<-b.done
	}
	return nil
}

// kill needs b.net.mu.
func (b *backend) kill() {
	b.killed = true
	for _, l := range b.listeners {
		l.unregister()
	}
	b.listeners = nil
	for _, e := range b.endpoints {
		e.out.clear()
		e.peer.fail()
	}
}
