// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"tagbus/internal/sanitize"
)

// Console writes what a command says to people and to their tools: records, each as a
// line in the form that Log asks for, and on a terminal below them a line that is renewed
// twice a second. Each line is made safe to show.
//
// One goroutine writes; the records wait for it in a queue. A writer that is not read
// holds up no caller for longer than stuckAfter: a record that finds no room then is
// counted and left out.
//
// Threads: any.
type Console struct {
	program string
	out     io.Writer
	log     Log
	handler slog.Handler // called by run only
	records chan queued
	quit    chan struct{} // closed by Close
	done    chan struct{} // closed when all is written
	live    atomic.Pointer[func() string]
	written atomic.Uint64 // records
	stuck   atomic.Bool   // nothing was taken for stuckAfter, nor since
	missed  atomic.Uint64 // records for which there was no room
	events  [eventSlots]quota

	ctx    context.Context // of Follow; nil: none
	signal sync.Once       // it was said
}

// queued is a record that waits to be written by its handler.
type queued struct {
	handler slog.Handler
	record  slog.Record
}

// ErrStuck is returned by Console.Close when standard error has taken nothing for so
// long that the rest is given up.
var ErrStuck = errors.New("standard error is not read: what was to be said is lost")

const (
	// queuedRecords is how many records wait for the writer.
	queuedRecords = 256

	// stuckAfter is how long standard error may take nothing before the console
	// stops waiting for it.
	stuckAfter = 2 * time.Second

	liveInterval = 500 * time.Millisecond
)

// NewConsole returns a console that writes to out. Close it.
func NewConsole(program string, out io.Writer, log Log) *Console {
	c := &Console{
		program: program, out: out, log: log, handler: log.handler(program, out, out),
		records: make(chan queued, queuedRecords), quit: make(chan struct{}), done: make(chan struct{}),
	}
	go c.run(IsTerminal(out) && !isDumb() && log.format(out) == LogText && c.enabled(slog.LevelInfo))
	return c
}

// enabled reports whether records of a level are said.
func (c *Console) enabled(level slog.Level) bool { return level >= c.log.level() }

// Say writes a line. Blocks: while the queue is full and standard error takes some of it
// now and then.
func (c *Console) Say(format string, args ...any) {
	c.Tell(slog.LevelInfo, "", nil, format, args...)
}

// Warn writes a line about what a person should look at. Blocks: as Say.
func (c *Console) Warn(format string, args ...any) {
	c.Tell(slog.LevelWarn, "", nil, format, args...)
}

// Tell writes a line that is a record with fields. Blocks: as Say.
//
//   - kind: which of the records of a command it is, for programs.
//   - fields: what of the text programs ask for. They are not part of a text for people.
func (c *Console) Tell(level slog.Level, kind string, fields []slog.Attr, format string, args ...any) {
	if c.enabled(level) {
		c.put(c.record(level, kind, fields, format, args...))
	}
}

// Fail writes a line about an error. Blocks: as Say.
func (c *Console) Fail(err error) { c.put(c.failure(err)) }

func (c *Console) failure(err error) queued {
	return c.record(slog.LevelError, "error", nil, "%s", Text(err))
}

// Summary writes the last line, at every level; before it, how much was not shown.
// Blocks: as Say.
//
//   - sum: its text is the line, and what it is in JSON the fields.
func (c *Console) Summary(sum fmt.Stringer) {
	c.saySignal()
	c.sayNotShown()
	c.put(c.record(slog.LevelInfo, "summary", Fields(sum), "%s", sum.String()))
}

func (c *Console) record(level slog.Level, kind string, fields []slog.Attr, format string, args ...any) queued {
	r := slog.NewRecord(time.Now(), level, sanitize.Linef(format, args...), 0)
	if kind != "" {
		r.AddAttrs(said(append([]slog.Attr{slog.String("kind", kind)}, fields...)))
	}
	return queued{c.handler, r}
}

// put queues a record, and waits for room while there is hope.
func (c *Console) put(q queued) {
	for !c.offer(q) {
		if c.stuck.Load() {
			c.missed.Add(1)
			return
		}
		written := c.written.Load()
		timer := time.NewTimer(stuckAfter)
		select {
		case c.records <- q:
			timer.Stop()
			return
		case <-timer.C:
			c.stuck.Store(c.written.Load() == written)
		}
	}
}

// offer queues a record if there is room. Blocks: never.
func (c *Console) offer(q queued) (queued bool) {
	select {
	case c.records <- q:
		return true
	default:
		return false
	}
}

// Notice is Warn for the loop, where nothing may block: what finds no room is counted
// and left out.
func (c *Console) Notice(format string, args ...any) {
	if c.enabled(slog.LevelWarn) {
		c.try(c.record(slog.LevelWarn, "", nil, format, args...))
	}
}

// try queues a record, or counts it as left out. Blocks: never.
func (c *Console) try(q queued) {
	if !c.offer(q) {
		c.missed.Add(1)
	}
}

// Close writes what is left, and returns when all is written. What is said
// after it, by a goroutine that waits for a file or pipe and was left behind, is
// dropped.
//
//   - Errors: ErrStuck. The goroutine that writes then stays behind.
//   - Blocks: until all is written, or nothing was for stuckAfter.
func (c *Console) Close() error {
	c.saySignal()
	c.sayNotShown()
	close(c.quit)
	for {
		written := c.written.Load()
		timer := time.NewTimer(stuckAfter)
		select {
		case <-c.done:
			timer.Stop()
			return nil
		case <-timer.C:
			if c.written.Load() == written {
				return ErrStuck
			}
		}
	}
}

// sayNotShown says how much was not shown since it was last said.
func (c *Console) sayNotShown() {
	for slot := range c.events {
		if n := c.events[slot].forget(); n > 0 {
			c.Warn(eventsNotShown, n, slotName(slot))
		}
	}
	if n := c.missed.Swap(0); n > 0 {
		c.Warn("%d more lines not shown: standard error was not read in time", n)
	}
}

// run writes.
//
//   - live: also the renewed line.
func (c *Console) run(live bool) {
	defer close(c.done)
	const clearLine = "\r\x1b[K"
	var tick <-chan time.Time
	if live {
		ticker := time.NewTicker(liveInterval)
		defer ticker.Stop()
		tick = ticker.C
	}
	shown := false
	hide := func() {
		if shown {
			fmt.Fprint(c.out, clearLine)
			shown = false
		}
	}
	for {
		select {
		case q := <-c.records:
			hide()
			c.write(q)
		case <-c.quit:
			hide()
			for len(c.records) > 0 {
				c.write(<-c.records)
			}
			return
		case <-tick:
			if line := c.live.Load(); line != nil {
				fmt.Fprint(c.out, clearLine, fit(sanitize.Line(waits()+(*line)()), c.out))
				shown = true
			}
		}
	}
}

func (c *Console) write(q queued) {
	_ = q.handler.Handle(context.Background(), q.record) // where could it be said?
	c.written.Add(1)
	c.stuck.Store(false)
}
