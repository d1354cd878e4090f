// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/term"

	"tagbus/bus"
	"tagbus/internal/plain"
)

// Console writes what a command says to people: lines, and on a terminal below
// them a line that is renewed twice a second. Each line is made safe to show.
//
// One goroutine writes; the lines wait for it in a queue. A writer that is not read
// holds up no caller for longer than stuckAfter: a line that finds no room then is
// counted and left out.
//
// Threads: any.
type Console struct {
	program string
	out     io.Writer
	quiet   bool
	lines   chan string
	quit    chan struct{} // closed by Close
	done    chan struct{} // closed when all is written
	live    atomic.Pointer[func() string]
	written atomic.Uint64 // lines
	stuck   atomic.Bool   // nothing was taken for stuckAfter, nor since
	missed  atomic.Uint64 // lines for which there was no room
	events  [16]atomic.Uint64
}

// ErrStuck is returned by Console.Close when standard error has taken nothing for so
// long that the rest is given up.
var ErrStuck = errors.New("standard error is not read: what was to be said is lost")

const (
	// queuedLines is how many lines wait for the writer.
	queuedLines = 256

	// stuckAfter is how long standard error may take nothing before the console
	// stops waiting for it.
	stuckAfter = 2 * time.Second

	liveInterval = 500 * time.Millisecond

	// maxEvents is how many events of one kind are printed.
	maxEvents = 20
)

// NewConsole returns a console that writes to out. Close it.
//
//   - quiet: only errors and the summary are written.
func NewConsole(program string, out io.Writer, quiet bool) *Console {
	c := &Console{program: program, out: out, quiet: quiet, lines: make(chan string, queuedLines), quit: make(chan struct{}), done: make(chan struct{})}
	go c.run(c.isTerminal() && !quiet)
	return c
}

func (c *Console) isTerminal() bool {
	f, ok := c.out.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Live sets what the renewed line says.
func (c *Console) Live(line func() string) { c.live.Store(&line) }

// Say writes a line, unless quiet. Blocks: while the queue is full and standard
// error takes some of it now and then.
func (c *Console) Say(format string, args ...any) {
	if !c.quiet {
		c.put(c.line(format, args...))
	}
}

// Fail writes a line about an error. Blocks: as Say.
func (c *Console) Fail(err error) { c.put(c.line("%s", Text(err))) }

// Summary writes the last line, even if quiet; before it, how much was not shown.
// Blocks: as Say.
func (c *Console) Summary(format string, args ...any) {
	c.sayNotShown()
	c.put(c.line(format, args...))
}

func (c *Console) line(format string, args ...any) string {
	return plain.Line(c.program + ": " + fmt.Sprintf(format, args...))
}

// put queues a line, and waits for room while there is hope.
func (c *Console) put(line string) {
	for !c.offer(line) {
		if c.stuck.Load() {
			c.missed.Add(1)
			return
		}
		written := c.written.Load()
		timer := time.NewTimer(stuckAfter)
		select {
		case c.lines <- line:
			timer.Stop()
			return
		case <-timer.C:
			c.stuck.Store(c.written.Load() == written)
		}
	}
}

// offer queues a line if there is room. Blocks: never.
func (c *Console) offer(line string) (queued bool) {
	select {
	case c.lines <- line:
		return true
	default:
		return false
	}
}

// Notice is Say for the loop, where nothing may block: what finds no room is
// counted and left out.
func (c *Console) Notice(format string, args ...any) {
	if c.quiet {
		return
	}
	c.tryLine(c.line(format, args...))
}

// tryLine queues a line, or counts it as left out. Blocks: never.
func (c *Console) tryLine(line string) {
	if !c.offer(line) {
		c.missed.Add(1)
	}
}

// Logger returns a logger whose records become lines, even if quiet. It never
// blocks: event loops log.
func (c *Console) Logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(logLines{c}, &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && a.Key == slog.TimeKey {
			return slog.Attr{} // no other line has it
		}
		return a
	}}))
}

// logLines makes each record of a slog.Handler a line.
type logLines struct{ *Console }

func (l logLines) Write(record []byte) (int, error) {
	l.tryLine(l.line("%s", bytes.TrimSuffix(record, []byte("\n"))))
	return len(record), nil
}

// Event writes an event of the bus and what it means for the person who reads
// it. Of each kind only the first 20 are written. Blocks: never.
func (c *Console) Event(e bus.Event) {
	if n := c.events[int(e.Kind)%len(c.events)].Add(1); n > maxEvents {
		return
	}
	c.Notice("%s%s", flagNames.Replace(e.String()), advice(e))
}

// advice says what an event means and what to do, where its error does not.
func advice(e bus.Event) string {
	switch e.Kind {
	case bus.Vanished:
		return ": it went without goodbye: nobody knows how many of its last messages are missing"
	case bus.Gap:
		return ": these messages are lost"
	default:
		return ""
	}
}

// Close writes what is left, and returns when all is written. What is said
// after it, by a goroutine that waits for a file or pipe and was left behind, is
// dropped.
//
//   - Errors: ErrStuck. The goroutine that writes then stays behind.
//   - Blocks: until all is written, or nothing was for stuckAfter.
func (c *Console) Close() error {
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
	for kind := range c.events {
		if n := c.events[kind].Load(); n > maxEvents {
			c.Say("%d more %v events not shown", n-maxEvents, bus.EventKind(kind))
			c.events[kind].Add(maxEvents - n)
		}
	}
	if n := c.missed.Swap(0); n > 0 {
		c.Say("%d more lines not shown: standard error was not read in time", n)
	}
}

func (c *Console) run(terminal bool) {
	defer close(c.done)
	const clearLine = "\r\x1b[K"
	var tick <-chan time.Time
	if terminal {
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
		case line := <-c.lines:
			hide()
			c.write(line)
		case <-c.quit:
			hide()
			for len(c.lines) > 0 {
				c.write(<-c.lines)
			}
			return
		case <-tick:
			if live := c.live.Load(); live != nil {
				fmt.Fprint(c.out, clearLine, c.fit(plain.Line((*live)())))
				shown = true
			}
		}
	}
}

func (c *Console) write(line string) {
	fmt.Fprintln(c.out, line)
	c.written.Add(1)
	c.stuck.Store(false)
}

// fit cuts a line off where the terminal would wrap it: what is wrapped cannot
// be cleared.
func (c *Console) fit(line string) string {
	f, ok := c.out.(*os.File)
	if !ok {
		return line
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 || len(line) < width {
		return line
	}
	return line[:width-1]
}
