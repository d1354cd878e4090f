// SPDX-License-Identifier: Apache-2.0

//go:build linux

package reactor

import (
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// waker is what ends a wait of the poller: a timer with WaitNetpoll, an eventfd with
// WaitThread. It is used by any goroutine, also while it is closed and after that.
type waker struct {
	gate  *os.File    // nil for WaitThread
	timer *time.Timer // nil for WaitThread, and for a loop that was made in a bubble

	mu sync.Mutex // held to write fd and to close it
	fd int        // -1: closed, or WaitNetpoll
}

// past is a time that is over. Compared with the present it costs a look at one clock;
// without a monotonic part, at two.
var past = time.Now()

// inBubble reports whether the caller is in a bubble of testing/synctest. There no timer runs
// as long as a goroutine waits for the system, and it is the year 2000 or a little later, which
// comes before the start of the process.
func inBubble() bool { return time.Since(past) < 0 }

// longPast is over in a bubble too.
var longPast = time.Unix(1, 0)

// openWaker needs the gate, if there is to be one.
func (p *poller) openWaker() (err error) {
	w := &p.waker
	if p.gate != nil {
		gate := p.gate
		w.gate = gate
		if inBubble() {
			return nil
		}
		w.timer = time.AfterFunc(time.Hour, func() {
			_ = gate.SetReadDeadline(past) // fails if the gate is closed, and no wait goes on
		})
		w.timer.Stop()
		return nil
	}
	if w.fd, err = newEventfd(); err != nil {
		return err
	}
	if err := p.control(unix.EPOLL_CTL_ADD, w.fd, Readable|EdgeTriggered, token{index: wakeIndex}); err != nil {
		return &OpError{"register", w.fd, err}
	}
	return nil
}

// wake ends the wait that goes on or, if there is none, the next one. Threads: any,
// also after close.
//
// It may be late: an event has ended the wait for which it was meant, and it ends the
// next one, which finds nothing. One that comes at the end of a wait is forgotten with
// the deadline. So what the loop is to find must be there before wake, and the loop has
// to look for it after each wait.
//
// With WaitNetpoll an event of an eventfd would wake the loop only when a thread polls
// for events. Beside goroutines that can always run, as those that call runtime.Gosched
// to wait, none does for 10 ms. A read deadline that is over, on the gate, needs no
// event: it makes the goroutine of the loop runnable at once.
//
// It is set by a timer that is due, not here. Here the loop would have to run on the
// processor of the caller next, and another one would take it away only after some
// 100 µs if the caller goes on working: at 1 KiB a fifth of the throughput. A timer that
// is due is run by the processor that is first, the caller's when the caller gives way, or
// an idle one. BenchmarkWake has all cases.
func (p *poller) wake() {
	w := &p.waker
	if w.gate != nil {
		if w.timer == nil || inBubble() {
			_ = w.gate.SetReadDeadline(longPast)
		} else {
			w.timer.Reset(0)
		}
		return
	}
	w.mu.Lock()
	if w.fd >= 0 {
		notify(w.fd)
	}
	w.mu.Unlock()
}

func (w *waker) close() error {
	if w.timer != nil {
		w.timer.Stop()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fd < 0 {
		return nil
	}
	err := unix.Close(w.fd)
	w.fd = -1
	return err
}
