// SPDX-License-Identifier: Apache-2.0

//go:build linux

package reactor

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sys/unix"

	"tagbus/internal/validate"
)

// WaitMode is the way in which an idle loop blocks.
type WaitMode int

const (
	// WaitNetpoll parks the goroutine of the loop in the poller of the Go
	// runtime, which watches the epoll descriptor of the loop. Nothing but a
	// few bytes of stack is held while the loop is idle. Post wakes the loop at
	// once, and it takes its turn among the goroutines that can run. When these
	// keep all processors busy, the runtime polls for events each 10 ms only:
	// so late the loop hears of descriptors, timers and signals.
	WaitNetpoll WaitMode = iota

	// WaitThread gives the loop an operating system thread of its own, which
	// blocks in epoll_pwait without telling the scheduler: a wake-up does not
	// wait for other goroutines. The price is one of GOMAXPROCS for as long as
	// Run runs, an interruption every 10 ms even if the loop is idle, and some
	// 0.1 ms more for each stop of the world. A program with such loops raises
	// GOMAXPROCS by their number before the first Run; with GOMAXPROCS=1
	// everything else in the program would get its turn only every 10 ms.
	WaitThread
)

// String returns the name of the mode.
func (m WaitMode) String() string {
	switch m {
	case WaitNetpoll:
		return "netpoll"
	case WaitThread:
		return "thread"
	default:
		return "unknown"
	}
}

// Defaults and limits of Config.
const (
	defaultMaxEvents  = 64
	defaultStallLimit = 500 * time.Millisecond

	maxMaxEvents = 1 << 16 // more than a turn should ever serve
	minStall     = time.Millisecond
	maxCPU       = 1024 // bits in a unix.CPUSet
)

// Config says how an EventLoop behaves. The zero value is a good loop.
type Config struct {
	// Init is called on the loop before anything else; nil is allowed. If it
	// panics, Run returns a *Panic as error: a loop that is not set up has
	// nothing to live for.
	Init func()

	// MaxEvents is the number of descriptors served in one turn, at most
	// 65,536; the rest is served in the next ones, round robin. Default: 64.
	MaxEvents int

	// Wait is the way in which an idle loop blocks. Default: WaitNetpoll.
	Wait WaitMode

	// BusyPoll is how long an idle loop keeps looking for events before it
	// blocks. It avoids the price of a wake-up, some 5 to 50 microseconds, and
	// uses a whole processor meanwhile. It adapts: after a pause that was
	// longer than BusyPoll the loop blocks at once, until events come faster
	// again. 20 to 500 microseconds are useful. Default: 0, off.
	BusyPoll time.Duration

	// CPUs are the processors, from 0, on which the thread of the loop may run
	// while Run runs. It needs WaitThread. Default: empty, no restriction.
	CPUs []int

	// StallLimit is how long a callback, or the callbacks of a turn together,
	// may take before the watchdog reports it, at least 1 ms. The report comes
	// not later than 1.5 StallLimit after the beginning, while the callback is
	// still running. Default: 500 ms. Negative: no watchdog.
	StallLimit time.Duration

	// OnStall is called once for each stall, on a goroutine that is not the
	// loop. It must return: Run waits for it. Default: log a warning.
	OnStall func(Stall)

	// OnPanic is called on the loop for each panic of a callback, and for each
	// runtime.Goexit, with a *GoexitError, which ends the loop. It may call
	// Stop. A panic in OnPanic itself is not recovered, so panicking again is
	// the way to let the program crash. Default: log an error.
	OnPanic func(*Panic)

	// Logger gets what OnStall and OnPanic would get if they are nil. Default:
	// slog.Default().
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	validate.Default(&c.MaxEvents, defaultMaxEvents)
	validate.Default(&c.StallLimit, defaultStallLimit)
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.OnStall == nil {
		logger := c.Logger
		c.OnStall = func(s Stall) {
			logger.Warn("event loop is blocked", "source", s.Source, "for", s.For, "callbacks", s.Callbacks, "stack", s.Stack)
		}
	}
	if c.OnPanic == nil {
		logger := c.Logger
		c.OnPanic = func(p *Panic) {
			text := "panic in a callback of the event loop"
			if errors.Is(p, ErrGoexit) {
				text = "a callback has ended the event loop"
			}
			logger.Error(text, "source", p.Source, "panic", p.Value, "stack", string(p.Stack))
		}
	}
	return c
}

// Validate returns all that is wrong with c, joined; each is a *ConfigError.
// New calls it.
func (c Config) Validate() error {
	var v validate.Violations
	refuse := func(name string, value any, reason string) { v.Join(&ConfigError{name, value, reason}) }
	if c.MaxEvents < 0 || c.MaxEvents > maxMaxEvents {
		refuse("MaxEvents", c.MaxEvents, "must be 1 to 65536, or 0 for the default")
	}
	if c.Wait != WaitNetpoll && c.Wait != WaitThread {
		refuse("Wait", int(c.Wait), "must be WaitNetpoll or WaitThread")
	}
	if c.BusyPoll < 0 || c.BusyPoll > validate.MaxDuration {
		refuse("BusyPoll", c.BusyPoll, fmt.Sprintf("must be 0 to %v", validate.MaxDuration))
	}
	if len(c.CPUs) > 0 && c.Wait != WaitThread {
		refuse("CPUs", c.CPUs, "needs Wait: WaitThread, because only a thread can be pinned")
	}
	for _, cpu := range c.CPUs {
		if cpu < 0 || cpu >= maxCPU {
			refuse("CPUs", cpu, "must be 0 to 1023")
		}
	}
	if c.StallLimit > 0 && (c.StallLimit < minStall || c.StallLimit > validate.MaxDuration) {
		refuse("StallLimit", c.StallLimit, fmt.Sprintf("must be 1ms to %v, or negative for no watchdog", validate.MaxDuration))
	}
	return v.Err()
}

// cpuSet returns the processors in the form of the system.
func (c Config) cpuSet() *unix.CPUSet {
	var set unix.CPUSet
	for _, cpu := range c.CPUs {
		set.Set(cpu)
	}
	return &set
}
