// SPDX-License-Identifier: Apache-2.0

//go:build linux

package reactor

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"tagbus/internal/goroutine"
)

// EventLoop calls functions when something happens; see the package comment. It
// is made by New, run once by Run, and closed by Close.
//
//	New → Run … Stop → Run returns → Close
type EventLoop struct {
	config   Config
	epoch    time.Time // zero of the clock in now
	poller   *poller
	table    table
	prepares atomic.Pointer[[]*Registration]
	watchdog watchdog
	counters counters

	life      atomic.Int32 // one of the constants below
	done      chan struct{}
	leave     atomic.Int32  // why the loop is to stop; 0: it is not
	goroutine atomic.Uint64 // that of Run, for its stack; 0: it does not run
	self      atomic.Uint64 // the same, as goroutine.Self has it
	behalf    sync.Mutex    // held by OnBehalf
	onBehalf  atomic.Uint64 // goroutine that does the work of a loop that does not run, as goroutine.Self has it
	running   atomic.Uint64 // callback that runs, see begin; 0: none

	// Only on the loop.
	current    *Registration // whose callback runs; nil for functions
	sequence   uint64        // number of callbacks begun
	next       int           // place in the batch, or in preparing
	events     uint64        // callbacks in this turn
	maySleep   bool          // all PrepareWaits agree
	preparing  []*Registration
	again      []*Signal // to be called in the next turn
	answering  []*Signal // to be called in this turn
	nextAgain  int       // place in answering
	postsEnd   int       // place in the posts where the turn ends
	awakeSince time.Duration
	gap        time.Duration // length of the last pause
	newsOnly   int           // turns since the last look at descriptors, while the loop spins
	initPanic  *Panic
	lastPanic  *Panic
	exits      int // callbacks that called runtime.Goexit
	goexit     *GoexitError
	woundUp    bool // see windUp

	_ [64]byte // what follows is written by other goroutines

	sleeping atomic.Bool // a wake-up is needed
	posts    posts
}

// Values of EventLoop.life.
const (
	lifeCreated = iota
	lifeRunning
	lifeEnded
	lifeClosed
)

// Values of EventLoop.leave.
const (
	byStop = iota + 1
	byContext
	byGoexit
)

// New returns a loop that does not run yet. Sources, timers, signals and posts
// can be given to it at once.
//
// Errors: those of Config.Validate; *OpError if a descriptor cannot be made,
// EMFILE for instance. It takes two descriptors. Threads: any.
//
// Source: netio_eventloop_init.
func New(config Config) (*EventLoop, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	l := &EventLoop{config: config.withDefaults(), epoch: time.Now(), done: make(chan struct{})}
	l.table.init()
	l.prepares.Store(new([]*Registration))
	var err error
	if l.poller, err = newPoller(l.config.Wait, l.config.MaxEvents); err != nil {
		return nil, err
	}
	return l, nil
}

// Run makes the calling goroutine the loop until Stop is called or ctx is done.
// The callback that runs at that time is the last, except for posted functions, see
// Post, and PrepareWaits. If the loop was stopped before Run, then Run calls
// Init, the posted functions and the PrepareWaits, and returns.
//
// Errors: nil after Stop; context.Cause(ctx) if ctx ended it; *Panic if Init
// panicked; ErrRunning and ErrClosed if it runs or has run; *OpError if epoll
// fails or the thread cannot be pinned. Threads: one, once. With WaitThread it
// holds a thread and one of GOMAXPROCS.
//
// A callback that calls runtime.Goexit, as testing.T.FailNow does, ends the
// goroutine in Run, which does not return. The loop ends as if it were stopped, and
// Close returns a *GoexitError. To hear of that end, defer what is to follow Run.
//
// Source: netio_run.
func (l *EventLoop) Run(ctx context.Context) error {
	if !l.life.CompareAndSwap(lifeCreated, lifeRunning) {
		if l.life.Load() == lifeRunning {
			return ErrRunning
		}
		return ErrClosed
	}
	defer l.end()
	release, err := l.takeThread()
	if err != nil {
		return err
	}
	defer release()
	if ctx.Err() != nil {
		l.stop(byContext)
	}
	defer context.AfterFunc(ctx, func() { l.stop(byContext) })()

	defer goroutine.EnterLoop()()
	l.enter()
	l.awakeSince = l.now()
	l.counters.began.Store(int64(l.awakeSince))
	l.watchdog.start(l)
	defer l.watchdog.stop()
	defer l.windUpExiting()

	l.init()
	err = l.run()
	l.windUp()
	switch {
	case l.initPanic != nil:
		return l.initPanic
	case err != nil:
		return err
	case l.leave.Load() == byContext:
		return context.Cause(ctx)
	}
	return nil
}

// init calls Config.Init. If that panics the loop ends.
func (l *EventLoop) init() {
	if l.config.Init == nil {
		return
	}
	l.begin(initIndex, nil)
	if !l.try(func(*EventLoop) { l.config.Init() }) {
		l.initPanic = l.lastPanic
		l.Stop()
	}
}

// end is the last thing that Run does, also if a callback called
// runtime.Goexit.
func (l *EventLoop) end() {
	l.posts.close()
	l.counters.ended.Store(int64(l.now()))
	l.goroutine.Store(0)
	l.self.Store(0)
	l.life.Store(lifeEnded)
	close(l.done)
}

// enter makes the calling goroutine that of the loop.
func (l *EventLoop) enter() {
	l.goroutine.Store(goroutine.ID())
	l.self.Store(goroutine.Self())
}

// takeThread binds the goroutine to its thread, and the thread to the
// processors, as configured. release undoes both.
func (l *EventLoop) takeThread() (release func(), err error) {
	if l.config.Wait != WaitThread {
		return func() {}, nil
	}
	if runtime.GOMAXPROCS(0) == 1 {
		l.config.Logger.Warn("event loop takes the only processor: raise GOMAXPROCS by the number of loops with WaitThread")
	}
	runtime.LockOSThread()
	if len(l.config.CPUs) == 0 {
		return runtime.UnlockOSThread, nil
	}
	var before unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		runtime.UnlockOSThread()
		return nil, &OpError{"read affinity", -1, err}
	}
	if err := unix.SchedSetaffinity(0, l.config.cpuSet()); err != nil {
		runtime.UnlockOSThread()
		return nil, &OpError{"pin thread", -1, err}
	}
	return func() {
		_ = unix.SchedSetaffinity(0, &before) // what was allowed before is allowed again
		runtime.UnlockOSThread()
	}, nil
}

// Stop ends Run after the callback that is running. It does not wait for that.
// Posts that were accepted still run; events, expirations and fires that wait
// are not served. A second Stop does nothing; a Stop before Run holds for Run.
//
// Threads: any, also callbacks. Blocks: never.
//
// Source: netio_terminate.
func (l *EventLoop) Stop() { l.stop(byStop) }

func (l *EventLoop) stop(why int32) {
	l.leave.CompareAndSwap(0, why)
	l.wake()
}

func (l *EventLoop) stopping() bool { return l.leave.Load() != 0 }

// Close releases the descriptors of the loop, and closes the timers and signals
// that are still open. Functions that were posted to a loop that never ran are
// forgotten.
//
// Errors: ErrRunning if Run has not returned, and then nothing changes;
// *OpError that names the sources that are still registered, and then all is closed
// nevertheless, except their descriptors; *GoexitError if a callback has ended the
// goroutine of the loop; *OpError. A second Close does nothing and returns nil.
// Threads: any but the loop.
func (l *EventLoop) Close() error {
	for {
		life := l.life.Load()
		if life == lifeRunning {
			return ErrRunning
		}
		if life == lifeClosed {
			return nil
		}
		if l.life.CompareAndSwap(life, lifeClosed) {
			if life == lifeCreated {
				close(l.done)
			}
			break
		}
	}
	l.posts.close()
	owned, leak := l.closeTable()
	var errs []error
	for _, c := range owned {
		errs = append(errs, c.Close())
	}
	if l.goexit != nil {
		errs = append(errs, l.goexit)
	}
	return errors.Join(append(errs, l.poller.close(), leak)...)
}

// closeTable refuses new registrations, returns the timers and signals, and
// closes the registrations of all others.
func (l *EventLoop) closeTable() (owned []closer, leak error) {
	t := &l.table
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	var names []string
	for i := range t.used {
		r := t.at(uint32(i))
		switch {
		case r == nil:
		case r.owned != nil:
			owned = append(owned, r.owned)
		default:
			t.remove(r)
			if r.source != nil {
				names = append(names, r.String())
			}
		}
	}
	if len(names) > 0 {
		leak = &OpError{"close", -1, fmt.Errorf("%d sources still registered: %s", len(names), strings.Join(names, ", "))}
	}
	return owned, leak
}
