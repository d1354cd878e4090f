package reactor

import (
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
// It is used on the loop only, but for add, modify and remove.
//
// All calls that cannot block, and the blocking one of WaitThread, are raw: the
// scheduler does not hear of them. It would otherwise take the processor away
// from a blocked loop within 20 microseconds and give it back on each wake-up,
// which costs more than the wake-up itself.
type poller struct {
	epfd  int
	file  *os.File        // WaitNetpoll: owns epfd; nil for WaitThread
	conn  syscall.RawConn // of file
	batch []unix.EpollEvent
	ready int   // events in batch
	err   error // of the last call

	once func(uintptr) bool // p.look, made once because a method value allocates
}

func newPoller(mode WaitMode, maxEvents int) (*poller, error) {
	epfd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, &OpError{"create epoll", -1, err}
	}
	p := &poller{epfd: epfd, batch: make([]unix.EpollEvent, maxEvents)}
	if mode == WaitThread {
		return p, nil
	}
	// os.NewFile gives a descriptor to the runtime's poller only if it is
	// non-blocking, though epoll descriptors know no other way.
	if err := unix.SetNonblock(epfd, true); err != nil {
		_ = unix.Close(epfd)
		return nil, &OpError{"set non-blocking", epfd, err}
	}
	p.file = os.NewFile(uintptr(epfd), "epoll")
	p.once = p.look
	p.conn, err = p.file.SyscallConn()
	if err == nil {
		// A file that the runtime could not add to its poller fails here.
		err = p.file.SetReadDeadline(time.Time{})
	}
	if err != nil {
		_ = p.file.Close()
		return nil, &OpError{"watch", epfd, err}
	}
	return p, nil
}

// poll fetches what is ready, without blocking.
func (p *poller) poll() (int, error) {
	p.fetch(0)
	return p.ready, p.err
}

// wait fetches what is ready; it blocks until something is.
func (p *poller) wait() (int, error) {
	if p.file == nil {
		p.fetch(threadWait)
		for p.ready == 0 && p.err == nil {
			p.fetch(threadWait)
		}
		return p.ready, p.err
	}
	if err := p.conn.Read(p.once); err != nil {
		return 0, &OpError{"wait", p.epfd, err}
	}
	return p.ready, p.err
}

// look tells the runtime's poller whether the wait is over.
func (p *poller) look(uintptr) bool {
	p.fetch(0)
	return p.ready > 0 || p.err != nil
}

// fetch fills the batch. It blocks for at most limit, in milliseconds. A call
// that was interrupted counts as one that found nothing.
//
// It must be a call of its own: at its entry the runtime can stop the
// goroutine, which is what an interrupted wait was interrupted for.
//
//go:noinline
func (p *poller) fetch(limit time.Duration) {
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(p.epfd),
		uintptr(unsafe.Pointer(&p.batch[0])), uintptr(len(p.batch)), uintptr(limit.Milliseconds()), 0, 0)
	p.ready, p.err = int(n), nil
	if errno != 0 {
		p.ready = 0
		if errno != unix.EINTR {
			p.err = &OpError{"wait", p.epfd, errno}
		}
	}
}

// control adds, changes or removes a descriptor. Threads: any.
func (p *poller) control(op, fd int, events Events, t token) error {
	e := unix.EpollEvent{Events: uint32(events), Fd: int32(t.index), Pad: int32(t.generation)}
	return unix.EpollCtl(p.epfd, op, fd, &e)
}

func (p *poller) close() error {
	if p.file != nil {
		return p.file.Close()
	}
	return unix.Close(p.epfd)
}
