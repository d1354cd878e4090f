// SPDX-License-Identifier: Apache-2.0

// Package top is the command top of tagbus: which instances and links of a bus are busy,
// slow or losing, one look a second.
package top

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/term"

	"tagbus/bus/state"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/overview"
	"tagbus/cmd/internal/screen"
	"tagbus/cmd/internal/tool"
	"tagbus/internal/stream"
)

// Command is the command with its flags.
type Command struct {
	Filter   string        `arg:"" optional:"" help:"Show only rows with this in a name, host or id, or only those that serve these tags."`
	By       string        `enum:"queue,lost,msgs,bytes" default:"queue" help:"What the rows are sorted by, the largest first: queue (stalled peers, and then the fullest queue), lost, msgs or bytes. Default ${default}."`
	View     string        `enum:"instances,links" default:"instances" help:"What a row is: instances (of publishers and receivers) or links (from a publisher to a subscriber). Default ${default}."`
	Interval time.Duration `default:"1s" placeholder:"TIME" help:"Time from look to look, at least: looks take at most 8 % of a processor, so many publishers are looked at less often. Default ${default}."`
	Count    int           `placeholder:"N" help:"Print N tables, one each interval, and stop, instead of showing them live."`
	Once     bool          `short:"o" help:"Print one table and stop, as --count 1 does."`
}

// minInterval is the shortest time from look to look.
const minInterval = 100 * time.Millisecond

// Check reports what is wrong with the flags together.
func (c *Command) Check() error {
	var errs []error
	if c.Interval < minInterval {
		errs = append(errs, fmt.Errorf("--interval: got %v, want at least %v", c.Interval, minInterval))
	}
	if c.Count < 0 {
		errs = append(errs, fmt.Errorf("--count: got %d, want 1 or more", c.Count))
	}
	if c.Once && c.Count > 1 {
		errs = append(errs, fmt.Errorf("--once is one table: got --count %d too", c.Count))
	}
	return errors.Join(errs...)
}

// Run shows the bus until q is pressed or ctx ends, or prints tables.
func (c *Command) Run(ctx context.Context, e *tool.Env) (err error) {
	tables := c.Count
	if c.Once {
		tables = 1
	}
	in, out := terminal(e)
	if tables == 0 && !e.JSON && out == nil {
		return &cli.UsageError{Err: errors.New(noTerminal)}
	}
	w, err := e.Watcher()
	if err != nil {
		return err
	}
	looker := &looker{watcher: w, patience: e.Timeout}
	looker.links.Store(c.View == "links")
	if tables > 0 || e.JSON {
		p := &printer{command: c, out: e.Out, problems: e.Err, json: e.JSON, width: widthOf(e), look: looker.look}
		return p.run(ctx, tables)
	}
	s, err := screen.Open(in, out)
	if err != nil {
		return err
	}
	defer func() { // also on a panic, so that its text can be read
		if err = errors.Join(err, s.Close()); errors.Is(err, screen.ErrGone) {
			err = nil // with the terminal goes what it was for
		}
	}()
	v := newView(c, e.Bus, os.Getenv("NO_COLOR") == "")
	v.switched = looker.links.Store
	return run(ctx, s, v, looker.look, &pace{interval: c.Interval, used: processorTime})
}

// terminal returns the files of the terminal, or nil if what is written is not shown on
// one that follows sequences. Keys come from standard input, or else from the terminal
// that controls the process.
func terminal(e *tool.Env) (in, out *os.File) {
	out = stream.File(e.Out)
	if !stream.IsTerminal(out) || os.Getenv("TERM") == "dumb" {
		return nil, nil
	}
	if stream.IsTerminal(e.In) {
		return stream.File(e.In), out
	}
	in, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil, nil
	}
	return in, out
}

// widthOf returns the columns of the terminal, or 0 if there is none.
func widthOf(e *tool.Env) int {
	if out := stream.File(e.Out); out != nil {
		if width, _, err := term.GetSize(int(out.Fd())); err == nil {
			return width
		}
	}
	return 0
}

// looker looks at a bus, and asks for as much as is shown of one of its size.
type looker struct {
	watcher  *overview.Watcher
	patience time.Duration
	entries  int         // of the last look
	links    atomic.Bool // are shown
}

const (
	// allLinks is how many are asked for in all if links are shown, as long as each entry
	// tells of leastPeers. For instances it takes the worst peer of each.
	allLinks   = 4000
	leastPeers = 8
)

func (l *looker) look(ctx context.Context) overview.Overview {
	peers := leastPeers
	switch {
	case l.entries > allLinks/leastPeers && !l.links.Load():
		peers = 1
	case l.entries > 0:
		peers = max(leastPeers, allLinks/l.entries)
	}
	o := l.watcher.Look(ctx, nil, state.Question{Peers: peers}, l.patience)
	l.entries = len(o.Rows)
	return o
}

// noTerminal says what to do without a terminal to show frames on.
const noTerminal = "standard output is no terminal: give --once or --count N for tables, or --json"
