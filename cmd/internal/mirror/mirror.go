// SPDX-License-Identifier: Apache-2.0

// Package mirror is the command tagbus mirror: it copies the entries of one directory into
// another as long as it runs, so that programs move from one to the other one by one. No
// message passes through it.
//
// A copy has the instance of what it was made of, and names the mirror
// (directory.Entry.Mirror). Copies are not copied, so two mirrors in opposite directions
// make no circle. Of two mirrors in the same direction one has the copy of an entry; when it
// goes, the other makes one.
package mirror

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nuid"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/tool"
)

const name = "tagbus mirror"

// reportInterval is how often it is said how a mirror stands, while that changes.
const reportInterval = time.Second

// Command is the command line of tagbus mirror.
type Command struct {
	tool.NoBus
	From string `arg:"" help:"Bus whose entries are copied, as --bus of the other commands: a folder, or the URL of another kind of directory."`
	To   string `arg:"" help:"Bus into which they are copied."`

	Both     bool          `help:"Copy the entries of TO into FROM, too."`
	Expiry   time.Duration `placeholder:"TIME" help:"How long an entry may give no sign of life before it is taken for gone; also how long a copy outlives a mirror that is killed. Default: that of each kind of directory."`
	Duration time.Duration `placeholder:"TIME" help:"Stop after this time. Default: never."`

	cli.Log
}

// Buses implements tool.BusNamer.
func (c *Command) Buses() []string { return []string{c.From, c.To} }

// Check reports what is wrong with the flags.
func (c *Command) Check() error {
	var errs []error
	if c.From == "" || c.To == "" {
		errs = append(errs, errors.New("FROM and TO: got an empty bus, want the path of a folder or a URL"))
	} else if same(c.From, c.To) {
		errs = append(errs, fmt.Errorf("FROM and TO: both are %s, want two buses", c.From))
	}
	if c.Expiry < 0 {
		errs = append(errs, fmt.Errorf("--expiry: got %v, want a positive time", c.Expiry))
	}
	if c.Duration < 0 {
		errs = append(errs, fmt.Errorf("--duration: got %v, want a positive time", c.Duration))
	}
	return errors.Join(errs...)
}

// Run mirrors until a signal, or for the duration.
func (c *Command) Run(ctx context.Context, e *tool.Env) error {
	from, err := open(c.From, c.Expiry)
	if err != nil {
		return err
	}
	to, err := open(c.To, c.Expiry)
	if err != nil {
		return errors.Join(err, from.Close())
	}
	r := &run{cmd: c, env: e, console: cli.NewConsole(name, e.Err, c.Log), ended: "signal"}
	r.console.Follow(ctx)
	r.console.SayWaits()
	err = r.between(ctx, from, to)
	return r.report(errors.Join(err, from.Close(), to.Close()))
}

// errDuration is why a mirror ends at the end of --duration.
var errDuration = errors.New("the duration is over")

// run is one run of the command.
type run struct {
	cmd     *Command
	env     *tool.Env
	console *cli.Console
	copiers []*copier
	ended   string // signal, duration or error
}

// between mirrors two directories until ctx ends, or for the duration.
func (r *run) between(ctx context.Context, from, to directory.Directory) error {
	id := nuid.Next()
	r.copiers = append(r.copiers, newCopier(id, from, to, r.problem))
	if r.cmd.Both {
		r.copiers = append(r.copiers, newCopier(id, to, from, r.problem))
		for _, c := range r.copiers {
			c.quietTo = true // it is the first one of the other
		}
	}
	hurry := r.env.Hurry
	if hurry == nil {
		hurry = context.WithoutCancel(ctx)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if r.cmd.Duration > 0 {
		ctx, cancel = context.WithTimeoutCause(ctx, r.cmd.Duration, errDuration)
		defer cancel()
	}
	arrow := "to"
	if r.cmd.Both {
		arrow = "to and from"
	}
	r.console.Tell(slog.LevelInfo, "mirroring", nil, "copying the entries of %s %s %s", r.cmd.From, arrow, r.cmd.To)
	defer cli.Ready(r.console, func(f func()) bool { f(); return true })()
	var all sync.WaitGroup
	errs := make([]error, len(r.copiers))
	for i, c := range r.copiers {
		all.Go(func() {
			defer cancel() // one that fails ends the other
			errs[i] = c.run(ctx, hurry)
		})
	}
	r.watch(ctx)
	all.Wait()
	if errors.Is(context.Cause(ctx), errDuration) {
		r.ended = "duration"
	}
	return errors.Join(errs...)
}

// problem says what fails. Threads: any. Blocks: never.
func (r *run) problem(err error) { r.console.Event(bus.Event{Kind: bus.Problem, Err: err}) }

// watch says how it stands, whenever that has changed, until ctx ends.
func (r *run) watch(ctx context.Context) {
	tick := time.NewTicker(reportInterval)
	defer tick.Stop()
	said := make([]standing, len(r.copiers))
	for i := range r.copiers {
		said[i] = r.standing(i)
	}
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		for i := range r.copiers {
			if now := r.standing(i); now != said[i] {
				said[i] = now
				r.console.Tell(slog.LevelInfo, "mirrored", cli.Fields(now), "%v", now)
			}
		}
	}
}

// standing returns how one direction stands.
func (r *run) standing(i int) standing {
	from, to := r.cmd.From, r.cmd.To
	if i > 0 {
		from, to = to, from
	}
	return r.copiers[i].counts.standing(from, to)
}
