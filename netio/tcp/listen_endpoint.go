// SPDX-License-Identifier: Apache-2.0

package tcp

import (
	"net/netip"

	"golang.org/x/sys/unix"

	"tagbus/internal/alarm"
	"tagbus/internal/headroom"
	"tagbus/netio"
	"tagbus/netio/internal/handover"
	"tagbus/netio/internal/trouble"
	"tagbus/netio/reactor"
)

// listenEndpoint implements netio.ListenEndpoint, and owns a socket.
type listenEndpoint struct {
	backend *backend
	handover.ListenEndpoint
	params  netio.Params
	receive *receivePool // of all that is accepted; nil: there is none

	// Only in a step.
	fd           int // -1: closed
	registration *reactor.Registration
	resting      alarm.Alarm     // set while the system cannot give us descriptors
	trouble      trouble.Trouble // of accepting
	crowds       trouble.Trouble // of room
}

// Listen implements handover.Transport. On "[::]" it listens for IPv4 too; endpoints
// show IPv4 peers with their IPv4 address.
func (b *backend) Listen(addr netip.AddrPort, p *netio.Params) (handover.Listener, error) {
	fd, at, err := newSocket(addr, &b.config)
	if err != nil {
		return nil, err
	}
	actual, err := listen(fd, at, addr, backlog)
	if err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	l := &listenEndpoint{backend: b, params: *p, fd: fd}
	l.Init(&b.Backend, l)
	l.Address = actual
	if l.receive, err = newListenReceive(b, &p.Receive); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	l.resting.F = l.accept
	return l, nil
}

// Work implements handover.Worker. It comes once to begin, once more after Close,
// and whenever connections are left from the turn before.
func (l *listenEndpoint) Work() {
	switch {
	case l.fd < 0:
	case l.IsClosed():
		l.end()
	case l.registration == nil:
		l.begin()
	default:
		l.accept()
	}
}

func (l *listenEndpoint) begin() {
	b := l.backend
	b.listeners = append(b.listeners, l)
	var err error
	if l.registration, err = b.EventLoop.Register(l.fd, reactor.Readable|reactor.EdgeTriggered, l); err != nil {
		// The loop has been closed, or the limit of epoll watches is reached.
		// Peers are to be refused, not left waiting.
		b.Counters.AcceptErrors.Add(1)
		b.config.Logger.Error("tcp: cannot watch a listen endpoint: it is closed", "addr", l.Address, "err", err)
		l.end()
	}
}

// OnEvent implements reactor.Source.
func (l *listenEndpoint) OnEvent(reactor.Events) {
	l.backend.Turn.Lock()
	defer l.backend.Turn.Unlock()
	l.accept()
}

// accept takes connections until there are no more, or the budget is used up.
func (l *listenEndpoint) accept() {
	if l.fd < 0 || l.IsClosed() || l.resting.IsSet() {
		return
	}
	b := l.backend
	for range b.config.acceptBudget {
		if reached, waits := headroom.Keeps(l.fd); reached {
			switch {
			case waits:
				l.scarce(unix.EMFILE)
			case l.trouble.Lasts(): // until there are some
				l.rest(unix.EMFILE)
			}
			return
		}
		fd, remote, errno := accept(l.fd)
		switch errno {
		case 0:
			l.restored()
			l.adopt(fd, remote)
		case unix.EAGAIN: // where a descriptor is missing, that is said first
			l.restored()
			return
		case unix.EMFILE, unix.ENFILE:
			l.scarce(errno)
			return
		case unix.ENOBUFS, unix.ENOMEM, unix.EBADF, unix.EINVAL, unix.ENOTSOCK, unix.EOPNOTSUPP, unix.EFAULT:
			// The system is short of memory, or another part of the program has
			// changed our descriptor.
			l.rest(errno)
			return
		default:
			// A connection that ended before it was accepted, or was forbidden
			// by a firewall (accept(2)). The next one may be well.
			b.Counters.AcceptErrors.Add(1)
		}
	}
	b.Enqueue(l)
}

// scarce makes a connection wait for the descriptor of a stranger, or refuses it.
func (l *listenEndpoint) scarce(errno unix.Errno) {
	b := l.backend
	if b.siblings.strangers.displace() {
		b.Counters.AcceptShed.Add(1)
		b.Enqueue(l) // behind the end of the stranger, whose descriptor is free then
		return
	}
	l.shed()
	l.rest(errno)
}

// adopt makes an endpoint of an accepted connection.
func (l *listenEndpoint) adopt(fd int, remote netip.AddrPort) {
	b := l.backend
	if limit, n := b.crowded(); limit != "" {
		l.tellCrowded(limit, n)
		b.Counters.AcceptShed.Add(1) // this one, or a stranger in its place
		if !b.siblings.strangers.displace() {
			_ = unix.Close(fd)
			return
		}
	} else if failed, lasted, tell := l.crowds.End(); tell {
		b.config.Logger.Info("tcp: there is room for connections again", "addr", l.Address, "failed", failed, "after", lasted)
	}
	b.siblings.assign(l, fd, remote)
}

// crowded returns the limit that leaves no room for one more accepted connection, by name; "": none does.
func (b *backend) crowded() (limit string, n int) {
	switch most := b.config.MaxEndpoints; {
	case int(b.siblings.accepted.Load()) >= most:
		return "MaxEndpoints", most
	case b.siblings.strangers.count() >= b.config.maxStrangers:
		return "without-certificate", b.config.maxStrangers
	}
	return "", 0
}

// tellCrowded logs that a connection is closed for a limit: its peer hears no reason.
func (l *listenEndpoint) tellCrowded(limit string, n int) {
	if failed, tell := l.crowds.Fail(); tell {
		l.backend.config.Logger.Warn("tcp: there are as many accepted connections as may be: for each more one is closed",
			"addr", l.Address, limit, n, "failed", failed)
	}
}

// serve makes an endpoint of a connection that l has accepted.
func (b *backend) serve(l *listenEndpoint, fd int, remote netip.AddrPort) {
	e, err := newEndpoint(b, fd, remote, &l.params)
	if err == nil {
		if l.receive != nil {
			e.borrower.pool = l.receive
		}
		e.state = established
		e.LocalAddr, err = localAddr(fd)
	}
	if err == nil {
		e.registration, err = b.EventLoop.Register(fd, edges, e)
	}
	if err != nil {
		b.siblings.accepted.Add(-1)
		b.Counters.AcceptErrors.Add(1)
		if failed, tell := b.trouble.Fail(); tell {
			b.config.Logger.Warn("tcp: cannot serve an accepted connection", "remote", remote, "failed", failed, "err", err)
		}
		_ = unix.Close(fd)
		if e != nil {
			e.RetirePool()
			e.leaveReceivePool()
		}
		return
	}
	if failed, lasted, tell := b.trouble.End(); tell {
		b.config.Logger.Info("tcp: accepted connections are served again", "failed", failed, "after", lasted)
	}
	tuneToPeer(fd, e.Local().Addr(), remote.Addr(), &b.config)
	b.load.Add(1)
	e.listener = l
	e.place = b.endpoints.PushBack(e)
	if b.config.TLS != nil {
		e.secureAccepted()
		return
	}
	b.Counters.Accepted.Add(1)
	e.Schedule(toReport)
}

// shed gets rid of connections for which there is no descriptor: they would
// stay in the queue, and their peers would wait for an answer.
func (l *listenEndpoint) shed() {
	b := l.backend
	if b.spare >= 0 {
		_ = unix.Close(b.spare)
	}
	for range b.config.acceptBudget {
		fd, _, errno := accept(l.fd)
		if errno != 0 {
			break
		}
		b.Counters.AcceptShed.Add(1) // before the peer can know
		_ = unix.Close(fd)
	}
	var err error
	if b.spare, err = openSpare(); err != nil {
		b.spare = -1 // the descriptor was taken meanwhile; next time
	}
}

// rest stops accepting for a while. Without it the loop would do nothing else.
func (l *listenEndpoint) rest(errno unix.Errno) {
	b := l.backend
	b.Counters.AcceptErrors.Add(1)
	if failed, tell := l.trouble.Fail(); tell {
		b.config.Logger.Warn("tcp: listen endpoint cannot accept, and tries again and again", "addr", l.Address,
			"failed", failed, "every", b.config.acceptPause, "err", errno)
	}
	b.Alarms.Set(&l.resting, b.config.acceptPause)
}

// restored logs that accepting works again, if its failure was logged.
func (l *listenEndpoint) restored() {
	if failed, lasted, tell := l.trouble.End(); tell {
		l.backend.config.Logger.Info("tcp: listen endpoint accepts again", "addr", l.Address, "failed", failed, "after", lasted)
	}
}

// end stops listening, and closes what was accepted.
func (l *listenEndpoint) end() {
	l.shut()
	b := l.backend
	for i, other := range b.listeners {
		if other == l {
			b.listeners = append(b.listeners[:i], b.listeners[i+1:]...)
			break
		}
	}
	b.siblings.closeAccepted(l)
}

// shut closes the socket.
func (l *listenEndpoint) shut() {
	if l.fd < 0 {
		return
	}
	l.Shut()
	b := l.backend
	if l.registration != nil {
		_ = l.registration.Close()
	}
	b.Alarms.Cancel(&l.resting)
	if l.receive != nil {
		l.receive.retire()
	}
	_ = unix.Close(l.fd)
	l.fd = -1
	b.Unlisten(l.Address)
}
