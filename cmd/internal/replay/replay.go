// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package replay is the command tagbus replay: it publishes a recording again.
//
// A goroutine reads ahead (ahead), with the time at which each message is due (schedule).
// The goroutine of the command waits for these times (metronome) and publishes. Counters
// are those of the new publisher. So a recording of a replay has what the first one has,
// with other times and counters that have no holes.
package replay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/session"
	"tagbus/cmd/internal/tool"
	"tagbus/cmd/internal/units"
	"tagbus/recording"
	"tagbus/tags"
)

const name = "tagbus replay"

// run is one run of the command.
type run struct {
	cmd     *Command
	env     *tool.Env
	console *cli.Console
	hurry   context.Context                                   // ends when nothing is to be waited for any more
	open    func(bus.PublisherConfig) (*bus.Publisher, error) // sets dir
	dir     directory.Directory
	nap     func(time.Duration)

	files  *files
	mapper mapper
	query  recording.Query
	begin  time.Time // of the earliest file

	tags       tags.Set // that are published
	publishers int      // of the recording
	shared     int      // tags that several of them had, or --map has made one

	found   account // by the look, or with --no-check by the first pass
	flaws   []string
	damages damages

	publisher *bus.Publisher
	audience  session.Audience
	at        atomic.Int64 // how far the replay is, in ns of its time
	metronome *metronome   // nil: as fast as possible, or not begun

	started time.Time // publishing
	elapsed time.Duration
	passes  int // that were played to their end
	stats   bus.PublisherStats
	ended   string // why publishing ended
}

// Run publishes the recording.
func (c *Command) Run(ctx context.Context, e *tool.Env) error {
	r := newRun(c, e)
	r.console.Follow(ctx)
	r.console.SayWaits()
	r.open = func(cfg bus.PublisherConfig) (*bus.Publisher, error) {
		n, err := e.Node()
		if err != nil {
			return nil, err
		}
		r.dir = n.Directory()
		return n.NewPublisher(cfg)
	}
	return r.report(r.run(ctx))
}

func newRun(c *Command, e *tool.Env) *run {
	r := &run{cmd: c, env: e, console: cli.NewConsole(name, e.Err, cli.Log{Quiet: c.Quiet}), hurry: e.Hurry, nap: nap}
	if r.hurry == nil {
		r.hurry = context.Background()
	}
	r.audience.Everywhere = len(c.Advertise) == 0 && c.Listen.Addr().IsUnspecified() // else its advice is about --listen
	return r
}

// run opens the files, publishes, and closes all.
func (r *run) run(ctx context.Context) (err error) {
	if r.mapper, err = newMapper(r.cmd.Map); err != nil {
		return err
	}
	if r.files, err = openFiles(r.cmd.Files); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.files.Close()) }()
	if err := r.prepare(ctx); err != nil {
		return r.end(err)
	}
	cfg := r.cmd.config(r.tags, r.found.largest)
	cfg.OnEvent = r.onEvent
	if r.publisher, err = r.open(cfg); err != nil {
		return cli.NameListen("--listen", cfg.Listen, err)
	}
	defer func() { err = errors.Join(err, r.publisher.Close()) }()
	r.files.aside() // from here on there is more to do at the end than to read
	self := cli.Common{Name: r.cmd.Name}
	id, addr := r.publisher.Instance(), r.publisher.Addr()
	r.audience.Told.Set(cli.AnnouncedBy(r.publisher.State))
	r.console.Tell(slog.LevelInfo, "publishing", self.SelfFields(id, addr), "%s publishes on %s", self.Self(id), cli.Place(addr, r.audience.Told.Addresses(), len(r.cmd.Advertise) > 0))
	r.sayOthers()
	err = r.end(r.publishAll(ctx))
	away := r.files.away()
	if err != nil {
		return errors.Join(err, r.drain(ctx, err))
	}
	return errors.Join(r.drain(ctx, nil), r.shortcoming(), away)
}

// prepare finds what is to be published, and says what is wrong with the files.
func (r *run) prepare(ctx context.Context) error {
	if err := r.inspect(); err != nil {
		return err
	}
	if err := r.choose(); err != nil {
		return err
	}
	if r.cmd.NoCheck {
		return nil
	}
	return r.look(ctx)
}

func (r *run) onEvent(e bus.Event) {
	r.audience.See(e)
	r.console.Event(e)
}

// end tells the orderly ends from the others.
func (r *run) end(err error) error {
	switch signal := (*cli.SignalError)(nil); {
	case err == nil:
		r.ended = "end of recording"
	case errors.As(err, &signal), errors.Is(err, context.Canceled): // a closed output ends the command, too
		r.ended = "signal"
	default:
		r.ended = "error"
		return err
	}
	return nil
}

// shortcoming returns what makes an orderly end a failure.
func (r *run) shortcoming() error {
	switch {
	case r.ended == "signal":
		return nil
	case r.passes > 0 && r.found.messages == 0: // which only a pass without a look can find
		return r.noMessages()
	}
	why := r.flaws
	if n := r.damages.count(); n > 0 {
		why = append(why, units.FormatNumber(n, "block")+" cannot be read")
	}
	if wanted := r.cmd.Loop.passes(); r.passes < wanted || wanted == 0 {
		times := "without end"
		if wanted > 0 {
			times = units.FormatNumber(wanted, "time")
		}
		why = append(why, fmt.Sprintf("it was played %s, and not %s, for no message could be read any more", units.FormatNumber(r.passes, "time"), times))
	}
	if len(why) == 0 {
		return nil
	}
	return fmt.Errorf("what was published is not all of the recording: %s", strings.Join(why, "; "))
}
