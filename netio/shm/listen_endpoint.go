// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm

import (
	"errors"
	"math/rand/v2"
	"net/netip"
	"os"
	"runtime"

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
	params netio.Params
	path   string
	uid    uint32 // of this process, when it began to listen

	// Only in a step.
	lent         lentFile
	commitment   commitment
	fd           int // -1: closed
	registration *reactor.Registration
	resting      alarm.Alarm // set while the system cannot give us descriptors
	accepting    trouble.Trouble
	dismissed    trouble.Trouble // of connections with certificates, or for want of memory
	crowds       trouble.Trouble // of room
}

// randomPort returns one of the ports that are chosen.
func randomPort() int { return rand.IntN(ports) }

// yield lets another goroutine, or process, go on.
func yield() { runtime.Gosched() }

// Listen implements handover.Transport. An address is a name in the folder.
func (b *backend) Listen(addr netip.AddrPort, p *netio.Params) (handover.Listener, error) {
	l := &listenEndpoint{backend: b, params: *p}
	l.Init(&b.Backend, l)
	var err error
	if l.lent, err = lend(p.ZeroCopy.Region); err != nil {
		return nil, err
	}
	l.commitment.init(l)
	l.uid = uint32(os.Geteuid()) // no user is below 0
	if l.fd, l.path, l.Address, err = b.config.place(handover.Canonical(addr), !b.swept); err != nil {
		l.lent.close()
		return nil, err
	}
	b.swept = true
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
		// Peers are to be refused, not left waiting.
		b.Counters.AcceptErrors.Add(1)
		b.config.Logger.Error("shm: cannot watch a listen endpoint: it is closed", "addr", l.Address, "err", err)
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
		if foreign.full() {
			if isReadable(l.fd) { // else the next connection rings
				l.rest(errForeign)
			}
			return
		}
		if reached, waits := headroom.Keeps(l.fd); reached {
			if waits {
				l.shed()
			}
			if waits || l.accepting.Lasts() { // until there are some
				l.rest(unix.EMFILE)
			}
			return
		}
		fd, _, err := unix.Accept4(l.fd, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		switch errnoOf(err) {
		case 0:
			if failed, lasted, tell := l.accepting.End(); tell {
				b.config.Logger.Info("shm: listen endpoint accepts again", "addr", l.Address, "failed", failed, "after", lasted)
			}
			l.adopt(fd)
		case unix.EINTR:
		case unix.EAGAIN:
			return
		case unix.EMFILE, unix.ENFILE:
			l.shed()
			l.rest(err)
			return
		case unix.ECONNABORTED:
			b.Counters.AcceptErrors.Add(1)
		default:
			l.rest(err)
			return
		}
	}
	b.Enqueue(l)
}

// isReadable reports whether a read, or an accept, would not wait.
func isReadable(fd int) bool {
	set := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(set, 0)
	return n > 0 || err != nil
}

// errnoOf returns the number of an error of a call of the system; 0: none.
func errnoOf(err error) (errno unix.Errno) {
	errors.As(err, &errno)
	return errno
}

// adopt makes an endpoint of an accepted connection.
func (l *listenEndpoint) adopt(fd int) {
	b := l.backend
	if b.accepted >= b.config.MaxEndpoints {
		l.tellCrowded()
		b.Counters.AcceptShed.Add(1)
		if !b.displaceStranger() {
			closeSocket(fd)
			return
		}
	} else if failed, lasted, tell := l.crowds.End(); tell {
		b.config.Logger.Info("shm: there is room for connections again", "addr", l.Address, "failed", failed, "after", lasted)
	}
	e, err := b.newAccepted(l, fd)
	if err != nil {
		b.Counters.AcceptErrors.Add(1)
		b.config.Logger.Warn("shm: cannot serve an accepted connection", "addr", l.Address, "err", err)
		closeSocket(fd)
		return
	}
	e.greet() // it has come with the connection, unless a stranger has connected
	if e.stranger == nil {
		return
	}
	if !e.isSecuring() || !e.secure.shaking {
		e.limitStranger()
	}
	if b.strangers.Len() > b.config.maxStrangers() {
		b.Counters.AcceptShed.Add(1)
		b.displaceStranger()
	}
}

// shed gets rid of connections for which there is no descriptor: they would
// stay in the queue, and their peers would wait for an answer.
func (l *listenEndpoint) shed() {
	b := l.backend
	if b.displaceStranger() {
		b.Counters.AcceptShed.Add(1)
	}
	if b.spare >= 0 {
		_ = unix.Close(b.spare)
	}
	for range b.config.acceptBudget {
		fd, _, err := unix.Accept4(l.fd, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		if err != nil {
			break
		}
		b.Counters.AcceptShed.Add(1) // before the peer can know
		closeSocket(fd)
	}
	b.spare = openSpare() // next time, if the descriptor was taken meanwhile
}

// rest stops accepting for a while. Without it the loop would do nothing else.
func (l *listenEndpoint) rest(err error) {
	b := l.backend
	b.Counters.AcceptErrors.Add(1)
	if failed, tell := l.accepting.Fail(); tell {
		b.config.Logger.Warn("shm: listen endpoint cannot accept, and tries again and again", "addr", l.Address,
			"failed", failed, "every", b.config.acceptPause, "err", err)
	}
	b.Alarms.Set(&l.resting, b.config.acceptPause)
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
	for at := b.endpoints.Front(); at != nil; {
		e := at.Value.(*endpoint)
		at = at.Next()
		if e.listener == l {
			_ = e.Close()
		}
	}
}

// empty closes the connections that wait to be accepted: the system would close the files in them.
func (l *listenEndpoint) empty() {
	for range backlog {
		fd, _, err := unix.Accept4(l.fd, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		if err != nil {
			return
		}
		closeSocket(fd)
	}
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
	b.Alarms.Cancel(&l.commitment.pause)
	_ = unix.Unlink(l.path) // first: a name that refuses is that of a dead process
	l.empty()
	_ = unix.Close(l.fd)
	b.config.leaveFolder(l.path)
	l.fd = -1
	l.lent.close()
	b.Unlisten(l.Address)
}
