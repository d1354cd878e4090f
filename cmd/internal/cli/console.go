package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/term"

	"tagbus/bus"
)

// Console writes what a command says to people: lines, and on a terminal below
// them a line that is renewed twice a second.
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
	missed  atomic.Uint64 // lines for which there was no room
	events  [16]atomic.Uint64
}

const (
	liveInterval = 500 * time.Millisecond

	// maxEvents is how many events of one kind are printed.
	maxEvents = 20
)

// NewConsole returns a console that writes to out. Close it.
//
//   - quiet: only errors and the summary are written.
func NewConsole(program string, out io.Writer, quiet bool) *Console {
	c := &Console{program: program, out: out, quiet: quiet, lines: make(chan string, 256), quit: make(chan struct{}), done: make(chan struct{})}
	go c.run(c.isTerminal() && !quiet)
	return c
}

func (c *Console) isTerminal() bool {
	f, ok := c.out.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Live sets what the renewed line says.
func (c *Console) Live(line func() string) { c.live.Store(&line) }

// Say writes a line, unless quiet. Blocks: while the terminal does not take it.
func (c *Console) Say(format string, args ...any) {
	if !c.quiet {
		c.lines <- c.line(format, args...)
	}
}

// Fail writes a line about an error.
func (c *Console) Fail(err error) { c.lines <- c.line("%s", Text(err)) }

// Summary writes the last line, even if quiet; before it, how much was not shown.
func (c *Console) Summary(format string, args ...any) {
	c.sayNotShown()
	c.lines <- c.line(format, args...)
}

func (c *Console) line(format string, args ...any) string {
	return c.program + ": " + fmt.Sprintf(format, args...)
}

// Notice is Say for the loop, where nothing may block: what finds no room is
// counted and left out.
func (c *Console) Notice(format string, args ...any) {
	if c.quiet {
		return
	}
	select {
	case c.lines <- c.line(format, args...):
	default:
		c.missed.Add(1)
	}
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
		if errors.Is(e.Err, bus.ErrLeftOut) {
			return "" // as it was asked for
		}
		return ": these messages are lost"
	default:
		return ""
	}
}

// Close writes what is left, and returns when all is written. What is said
// after it, by a goroutine that waits for a file or pipe and was left behind, is
// dropped.
func (c *Console) Close() {
	c.sayNotShown()
	close(c.quit)
	<-c.done
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
		c.Say("%d more lines not shown: the terminal was too slow", n)
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
			fmt.Fprintln(c.out, line)
		case <-c.quit:
			hide()
			for len(c.lines) > 0 {
				fmt.Fprintln(c.out, <-c.lines)
			}
			return
		case <-tick:
			if live := c.live.Load(); live != nil {
				fmt.Fprint(c.out, clearLine, c.fit((*live)()))
				shown = true
			}
		}
	}
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
