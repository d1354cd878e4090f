// SPDX-License-Identifier: Apache-2.0

//go:build linux

package reactor

import (
	"errors"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// threadWait bounds one blocking call of WaitThread. Whenever the runtime needs
// the goroutine, and every 10 ms anyway, it interrupts the call by a signal. The
// bound is for programs that switch those signals off
// (GODEBUG=asyncpreemptoff=1): a garbage collection would wait for the next
// event there.
const threadWait = 10 * time.Millisecond

// poller is the epoll descriptor and the batch of events last fetched from it.
// It is used on the loop only, except control and wake.
//
// All calls that cannot block, and the blocking one of WaitThread, are raw: the
// scheduler does not hear of them. It would otherwise take the processor away
// from a blocked loop within 20 microseconds and give it back on each wake-up,
// which costs more than the wake-up itself.
//
// With WaitNetpoll the runtime's poller watches a gate: an epoll descriptor that
// watches epfd while the loop sleeps. Were it to watch epfd itself, a thread of the
// runtime would wake for every event, also while the loop is awake and takes the
// events by itself. The p99 of 64 B to and fro between two spinning loops was 101 µs
// then, and is 28 µs (make bench ONLY=busy-poll). A loop that sleeps after each event leaves
// the gate open, and spares two system calls each time. One that finds events without
// sleeping closes it.
type poller struct {
	epfd   int
	gate   *os.File        // WaitNetpoll; nil for WaitThread
	conn   syscall.RawConn // of gate
	gateFD int
	open   bool // the gate is
	looks  int  // calls of look in this wait
	batch  []unix.EpollEvent
	ready  int   // events in batch
	err    error // of the last call

	once  func(uintptr) bool // p.look, made once because a method value allocates
	pwait func(epfd int, batch []unix.EpollEvent, milliseconds int64) (int, unix.Errno)

	waker waker
}

func newPoller(mode WaitMode, maxEvents int) (*poller, error) {
	epfd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, &OpError{"create epoll", -1, err}
	}
	p := &poller{epfd: epfd, batch: make([]unix.EpollEvent, maxEvents), pwait: epollPwait, waker: waker{fd: -1}}
	p.once = p.look
	if mode == WaitNetpoll {
		err = p.openGate()
	}
	if err == nil {
		err = p.openWaker()
	}
	if err != nil {
		_ = p.close()
		return nil, err
	}
	return p, nil
}

func (p *poller) openGate() error {
	gate, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return &OpError{"create epoll", -1, err}
	}
	// os.NewFile gives a descriptor to the runtime's poller only if it is
	// non-blocking, though epoll descriptors know no other way.
	if err := unix.SetNonblock(gate, true); err != nil {
		_ = unix.Close(gate)
		return &OpError{"set non-blocking", gate, err}
	}
	p.gate = os.NewFile(uintptr(gate), "epoll")
	p.gateFD = gate
	if err := unix.EpollCtl(gate, unix.EPOLL_CTL_ADD, p.epfd, &gateClosed); err != nil {
		return &OpError{"watch", p.epfd, err}
	}
	p.conn, err = p.gate.SyscallConn()
	if err == nil {
		// A file that the runtime could not add to its poller fails here, and has
		// neither deadlines nor a way to wait.
		err = p.gate.SetReadDeadline(time.Time{})
	}
	if err != nil {
		return &OpError{"watch", gate, err}
	}
	return nil
}

// setGate lets events through, or not. Both descriptors are our own: it fails only if
// one of them was closed elsewhere, which the next call reports.
func (p *poller) setGate(open bool) {
	if p.open == open {
		return
	}
	p.open = open
	e := &gateClosed
	if open {
		e = &gateOpen
	}
	_, _, _ = unix.RawSyscall6(unix.SYS_EPOLL_CTL, uintptr(p.gateFD), unix.EPOLL_CTL_MOD, uintptr(p.epfd),
		uintptr(unsafe.Pointer(e)), 0, 0)
}

var gateOpen, gateClosed = unix.EpollEvent{Events: unix.EPOLLIN}, unix.EpollEvent{}

// poll fetches what is ready, without blocking.
func (p *poller) poll() (int, error) {
	if p.fetchNow(); p.ready > 0 && p.gate != nil {
		p.setGate(false)
	}
	return p.ready, p.err
}

// wait fetches what is ready; it blocks until something is, or wake is called. It may
// end with nothing: see wake.
func (p *poller) wait() (int, error) {
	if p.gate == nil {
		p.fetch(threadWait)
		for p.ready == 0 && p.err == nil {
			p.fetch(threadWait)
		}
		return p.ready, p.err
	}
	if !p.open {
		if p.fetchNow(); p.ready > 0 || p.err != nil {
			return p.ready, p.err
		}
		p.setGate(true)
	}
	p.looks = 0
	err := p.conn.Read(p.once)
	if err == nil && p.looks == 1 {
		p.setGate(false) // it has not slept
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = p.gate.SetReadDeadline(time.Time{})
		p.fetchNow() // a wait that begins after wake has not looked
	}
	if err != nil {
		return 0, &OpError{"wait", p.epfd, err}
	}
	return p.ready, p.err
}

// look reports to the runtime's poller whether the wait is over.
func (p *poller) look(uintptr) bool {
	p.looks++
	p.fetchNow()
	return p.ready > 0 || p.err != nil
}

// fetchNow fills the batch without blocking. An interrupted call says nothing about
// what is ready, and the edge that led to it does not come again: it is repeated.
func (p *poller) fetchNow() {
	for p.fetch(0) {
	}
}

// fetch fills the batch, and reports whether it was interrupted before it could. It
// blocks for at most limit, in milliseconds.
//
// It must be a call of its own: at its entry the runtime can stop the
// goroutine, which is what an interrupted wait was interrupted for.
//
//go:noinline
func (p *poller) fetch(limit time.Duration) (interrupted bool) {
	n, errno := p.pwait(p.epfd, p.batch, limit.Milliseconds())
	p.ready, p.err = n, nil
	if errno != 0 {
		p.ready = 0
		if errno == unix.EINTR {
			return true
		}
		p.err = &OpError{"wait", p.epfd, errno}
	}
	return false
}

// epollPwait is the system call, which a test replaces by one that is interrupted.
func epollPwait(epfd int, batch []unix.EpollEvent, milliseconds int64) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epfd),
		uintptr(unsafe.Pointer(unsafe.SliceData(batch))), uintptr(len(batch)), uintptr(milliseconds), 0, 0)
	return int(n), errno
}

// control adds, changes or removes a descriptor. Threads: any.
func (p *poller) control(op, fd int, events Events, t token) error {
	e := unix.EpollEvent{Events: uint32(events), Fd: int32(t.index), Pad: int32(t.generation)}
	return unix.EpollCtl(p.epfd, op, fd, &e)
}

func (p *poller) close() error {
	err := errors.Join(p.waker.close(), unix.Close(p.epfd))
	if p.gate != nil {
		err = errors.Join(err, p.gate.Close())
	}
	return err
}
