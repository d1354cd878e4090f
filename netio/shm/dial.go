// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"tagbus/internal/alarm"
	"tagbus/internal/headroom"
	"tagbus/netio"
	"tagbus/netio/internal/handover"
	"tagbus/netio/reactor"
)

// connectRetry is the pause after which a connection is tried again for which the queue
// of the listen endpoint had no room.
const connectRetry = 2 * time.Millisecond

// dial is what an endpoint needs only until it is connected.
type dial struct {
	paths []string // where the socket may be
	lent  lentFile
	uid   uint32 // of this process, when it connected
	retry alarm.Alarm
}

// Dial implements handover.Transport.
func (b *backend) Dial(addr netip.AddrPort, p *netio.Params) error {
	paths, err := b.config.pathsOf(handover.Canonical(addr))
	if err != nil {
		return err
	}
	fd, err := newSocket()
	if err != nil {
		return err
	}
	if headroom.Taken(fd) {
		_ = unix.Close(fd)
		return fmt.Errorf("socket: %w", unix.EMFILE)
	}
	lent, err := lend(p.ZeroCopy.Region)
	if err != nil {
		_ = unix.Close(fd)
		return err
	}
	e, err := newEndpoint(b, fd, addr, p)
	if err != nil {
		lent.close()
		_ = unix.Close(fd)
		return err
	}
	e.dial = &dial{paths: paths, lent: lent}
	e.Schedule(toConnect)
	return nil
}

// connect begins to connect.
func (e *endpoint) connect() {
	b := e.backend
	e.place = b.endpoints.PushBack(e)
	e.limit.F = func() { e.refuse(netio.ErrTimeout) }
	b.Alarms.Set(&e.limit, e.params.ConnectTimeout)
	e.dial.retry.F = e.tryConnect
	e.tryConnect()
}

// tryConnect connects, and introduces this side. A listen endpoint whose queue is full
// is tried again.
func (e *endpoint) tryConnect() {
	switch err := e.connectAny(); {
	case err == nil:
	case errors.Is(err, unix.EAGAIN):
		e.backend.Alarms.Set(&e.dial.retry, connectRetry)
		return
	default:
		e.refuse(err)
		return
	}
	var err error
	if e.credentials, err = credentials(e.fd); err == nil {
		err = e.backend.config.trusts(e.credentials)
	}
	if err == nil && e.backend.config.TLS != nil {
		if err = e.secureDialled(); err == nil {
			return
		}
	}
	if err != nil {
		e.refuse(err)
		return
	}
	e.lend()
}

// connectAny connects to the first of the paths where a process listens. Errors: unix.EAGAIN if
// that is busy; netio.ErrElsewhere, with unix.ECONNREFUSED, if there is nothing; the system's.
func (e *endpoint) connectAny() error {
	e.dial.uid = uint32(os.Geteuid()) // no user is below 0
	var failed error                  // of the first that is there: its process may be dead, and another live
	for _, path := range e.dial.paths {
		err := connect(e.fd, path)
		if err == nil || errors.Is(err, unix.EAGAIN) {
			return err
		}
		if failed == nil && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENOTDIR) {
			failed = err
		}
	}
	if failed != nil {
		return failed
	}
	return fmt.Errorf("%w: %w", unix.ECONNREFUSED, netio.ErrElsewhere)
}

// trusts returns why the process that listens is not trusted, or nil. In the default folder that is
// another user than this one or root: in /tmp others may have been faster.
//
// Errors: ErrFolder, wrapped.
func (c *Config) trusts(who unix.Ucred) error {
	if uid := os.Geteuid(); c.ownFolder && who.Uid != 0 && int(who.Uid) != uid {
		return fmt.Errorf("%w: user %d listens there, want %d or 0", ErrFolder, who.Uid, uid)
	}
	return nil
}

// lend introduces this side, when the region that it lends is committed. The listen endpoint
// gives it some time: what is done by then is done for the next try.
func (e *endpoint) lend() {
	done, err := e.dial.lent.commit(e.backend)
	if err == nil && !done {
		e.Schedule(toCommit)
		return
	}
	if err == nil {
		err = e.introduce(0)
	}
	if err == nil && e.registration == nil {
		// Not before it is connected: till then a socket is hung up.
		e.registration, err = e.backend.EventLoop.Register(e.fd, edges, e)
	}
	if err != nil {
		e.refuse(err)
	}
}

// answered looks for the greeting of the side that has accepted.
func (e *endpoint) answered() {
	if e.own == nil {
		return // this side is still to introduce itself, as the region is not committed
	}
	g, files, err := receiveGreeting(e.fd)
	if errors.Is(err, unix.EAGAIN) {
		return
	}
	if err == nil {
		err = e.mapPeer(&g, files)
	}
	if err != nil {
		e.refuse(err)
		return
	}
	e.begin(&g)
	e.LocalAddr = netip.AddrPortFrom(handover.Canonical(e.Remote()).Addr(), g.port)
	e.backend.Alarms.Cancel(&e.limit)
	e.backend.Counters.Opened.Add(1)
	e.state = established
}

// refuse ends an attempt to connect.
func (e *endpoint) refuse(err error) {
	if e.state != connecting {
		return
	}
	e.state = ended
	e.Shut()
	e.release()
	b := e.backend
	b.Counters.Refused.Add(1)
	b.Handler.OnConnectionRefused(e.Remote(), e.OpError("open endpoint", err))
}

// edges is what the socket of an endpoint is registered for.
const edges = reactor.Readable | reactor.PeerClosed | reactor.EdgeTriggered
