// SPDX-License-Identifier: Apache-2.0

//go:build linux

package file

import (
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// lives knows which of the processes that it was asked about have ended. The kernel has a
// descriptor for each (pidfd), so that one call asks about all of them.
//
// Threads: one at a time.
type lives struct {
	known map[process]*life
	most  int // descriptors; 0: not determined yet

	waits  *os.File      // stands for all descriptors (epoll); nil: only ask finds out
	died   chan struct{} // one token: it is time to ask
	waiter sync.WaitGroup
}

// life is a process of this kernel that another descriptor stands for.
type life struct {
	fd     int
	ended  bool
	wanted bool // since the last sweep
}

// maxLives bounds the descriptors, of which a quarter of the process's limit are used.
const maxLives = 4096

// ended reports whether a process has certainly ended, as of the last ask. False may also
// mean unknown.
//
//   - follow: begin to follow the process if it lives. Otherwise the kernel is asked now.
func (l *lives) ended(p process, follow bool) bool {
	if known := l.known[p]; known != nil {
		known.wanted = true
		return known.ended
	}
	if !p.isNeighbour() {
		return false
	}
	if !follow || len(l.known) >= l.limit() {
		return p.ended()
	}
	fd, err := unix.PidfdOpen(p.PID, 0)
	if p.ended() || err != nil { // asked after the descriptor was made: it stands for p
		if err == nil {
			_ = unix.Close(fd) // nothing can be lost
		}
		return p.ended()
	}
	if l.known == nil {
		l.known = make(map[process]*life)
	}
	l.known[p] = &life{fd: fd, wanted: true}
	l.await(fd)
	return false
}

// wait makes died tell at once that a process has ended, with a goroutine that waits.
//
// Errors: the system's; only ask finds out then.
func (l *lives) wait() error {
	if l.waits != nil {
		return nil
	}
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd) // the first error counts
		return err
	}
	l.waits, l.died = os.NewFile(uintptr(fd), "epoll"), make(chan struct{}, 1)
	for _, x := range l.known {
		l.await(x.fd)
	}
	raw, err := l.waits.SyscallConn()
	if err == nil {
		l.waiter.Go(func() { waitFor(raw, l.died) })
	}
	return err
}

// waitFor tells died when a descriptor of an epoll is ready, until that is closed.
func waitFor(epoll syscall.RawConn, died chan<- struct{}) {
	events := make([]unix.EpollEvent, 64)
	for {
		if err := epoll.Read(func(fd uintptr) bool {
			n, err := unix.EpollWait(int(fd), events, 0)
			return err == nil && n > 0
		}); err != nil {
			return
		}
		select {
		case died <- struct{}{}:
		default:
		}
	}
}

// await makes a descriptor one of those that are waited for.
func (l *lives) await(fd int) {
	if l.waits == nil {
		return
	}
	raw, err := l.waits.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(epoll uintptr) { // if it fails, ask finds out
		_ = unix.EpollCtl(int(epoll), unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLONESHOT, Fd: int32(fd)})
	})
}

// limit returns how many processes can be followed.
func (l *lives) limit() int {
	if l.most == 0 {
		var limit syscall.Rlimit
		if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err == nil {
			l.most = int(min(limit.Cur/4, maxLives))
		}
		l.most = max(l.most, 1)
	}
	return l.most
}

// follows reports whether ask finds out that a process has ended, or nothing can.
func (l *lives) follows(p process) bool { return l.known[p] != nil || !p.isNeighbour() }

// ask asks the kernel about all processes, and reports whether one has ended since.
func (l *lives) ask() (some bool) {
	if len(l.known) == 0 {
		return false
	}
	polled := make([]unix.PollFd, 0, len(l.known))
	order := make([]*life, 0, len(l.known))
	for _, x := range l.known {
		if !x.ended {
			polled, order = append(polled, unix.PollFd{Fd: int32(x.fd), Events: unix.POLLIN}), append(order, x)
		}
	}
	if n, err := retry(func() (int, error) { return unix.Poll(polled, 0) }); err != nil || n == 0 {
		return false
	}
	for i, x := range order {
		if polled[i].Revents&unix.POLLIN != 0 {
			x.ended, some = true, true
		}
	}
	return some
}

// sweep stops following processes of which ended was not asked since the last sweep.
func (l *lives) sweep() {
	for p, x := range l.known {
		if !x.wanted {
			_ = unix.Close(x.fd) // nothing can be lost
			delete(l.known, p)
		}
		x.wanted = false
	}
}

// close stops following all processes.
func (l *lives) close() {
	for _, x := range l.known {
		_ = unix.Close(x.fd) // nothing can be lost
	}
	clear(l.known)
	if l.waits != nil {
		_ = l.waits.Close() // nothing can be lost
		l.waiter.Wait()
		l.waits = nil
	}
}
