// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package recorder is the command tagbus record: it writes messages into a recording, which
// says by itself what is missing in it.
package recorder

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"time"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/offers"
	"tagbus/cmd/internal/session"
	"tagbus/cmd/internal/tool"
	"tagbus/internal/build"
	"tagbus/internal/stuck"
	"tagbus/recording"
)

const (
	name = "tagbus record"

	// unsubscribeTime is how long publishers may take to acknowledge the end.
	unsubscribeTime = time.Second

	// watchInterval is the time between two looks at what has arrived and at what is
	// written.
	watchInterval = 50 * time.Millisecond
)

// run is one run of the command.
type run struct {
	cmd     *Command
	env     *tool.Env
	console *cli.Console
	post    func(func()) bool // runs a function on the loop

	directory directory.Directory // nil: in tests
	silent    error               // it has not answered once; nil: it has

	disk   disk
	intake *intake
	writer *writer
	ending *session.Ending

	subscriber   *bus.Subscriber
	subscription *bus.Subscription
	presence     session.Presence
	positions    positions
	leaving      map[string]bool // publishers that have not acknowledged the end; nil: it has not begun. Loop only
	left         chan struct{}   // closed when all have

	began      time.Time
	last       time.Time     // when a message was seen
	wrote      chan struct{} // closed when all is written
	writeErr   error         // set before that
	notWritten uint64        // messages
	stats      bus.SubscriberStats
}

// Run records until the count, the time, a goodbye, a signal or a failure.
func (c *Command) Run(ctx context.Context, e *tool.Env) error {
	d, err := newFolder(c.File, c.Force)
	if err != nil {
		return err
	}
	if d.fifo && c.rotates() {
		return &cli.UsageError{Err: errors.New("FILE is no regular file, which has no parts: leave --rotate-bytes and --rotate-every out")}
	}
	if c.rotates() {
		if err := d.partsFit(); err != nil {
			return &cli.UsageError{Err: err}
		}
	}
	d.sync = c.Fsync != Fsync{}
	defer d.abandon()
	r, err := newRun(c, e, d)
	if err != nil {
		return err
	}
	r.console.Follow(ctx)
	r.console.SayWaits()
	if err := r.open(ctx); err != nil {
		return errors.Join(err, r.console.Close())
	}
	n, err := e.Node()
	if err != nil {
		return errors.Join(err, r.writer.close(), r.console.Close())
	}
	r.post, r.directory = n.Loop().Post, n.Directory()
	cfg := bus.SubscriberConfig{Common: bus.Common{Name: c.name(), OnEvent: r.onEvent}}
	if r.subscriber, err = n.NewSubscriber(cfg); err != nil {
		return errors.Join(err, r.writer.close(), r.console.Close())
	}
	defer cli.Ready(r.console, r.post)()
	return r.run(ctx)
}

// name returns what publishers and the recording show.
func (c *Command) name() string {
	if c.Name == "" {
		return name
	}
	return c.Name
}

func newRun(c *Command, e *tool.Env, d disk) (*run, error) {
	in, err := newIntake(c)
	if err != nil {
		return nil, err
	}
	r := &run{
		cmd: c, env: e, disk: d, intake: in, ending: session.NewEnding(), began: time.Now(), wrote: make(chan struct{}), left: make(chan struct{}),
		positions: newPositions(), presence: session.Presence{Wanted: c.Tags, Began: time.Now()},
		console: cli.NewConsole(name, e.Err, cli.Log{Quiet: c.Quiet}),
	}
	in.counted = func() { r.ending.End("count", nil) }
	in.failed = func(err error) { r.ending.End("error", err) }
	return r, nil
}

// open makes the first part, under a name that is not yet its own. Blocks: a FIFO, until it
// has a reader, or ctx ends.
func (r *run) open(ctx context.Context) error {
	host, _ := os.Hostname() // only for people
	version, _ := build.Version()
	h := recording.Header{Host: host, Name: r.cmd.name(), Version: version, Tags: r.cmd.Tags, Policy: r.cmd.Policy.String()}
	done := stuck.Go(func() (*writer, error) { return newWriter(r.cmd, r.disk, h) })
	slow := time.NewTimer(patience)
	defer slow.Stop()
	for {
		select {
		case got := <-done:
			r.writer = got.Value
			return got.Err
		case <-slow.C:
			r.console.Tell(slog.LevelInfo, "waiting", nil, "waiting for %s to open: a FIFO needs a reader", r.cmd.File)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// run subscribes, records, and says at the end whether the recording is whole. It closes the
// subscriber.
func (r *run) run(ctx context.Context) error {
	err := r.subscribe()
	if err != nil {
		return errors.Join(err, r.writer.close(), r.subscriber.Close(), r.console.Close())
	}
	r.wait(ctx)
	return r.report(r.stop(ctx))
}

// subscribe starts to record.
func (r *run) subscribe() (err error) {
	if err := r.writer.begin(); err != nil { // only now, when all else works, is a file replaced
		return err
	}
	r.onLoop(func() { // so that no page comes before the functions are set
		if r.subscription, err = r.subscriber.SubscribeBatch(r.cmd.Tags, r.intake.page, r.cmd.subscription()); err == nil {
			r.intake.pause, r.intake.resume = r.subscription.Pause, r.subscription.Resume
		}
	})
	if err != nil {
		return err
	}
	go func() {
		defer close(r.wrote)
		r.writeErr = r.write()
	}()
	r.console.Tell(slog.LevelInfo, "recording", nil, "recording %v to %s, waiting for publishers in %s", r.cmd.Tags, r.cmd.File, r.env.Bus)
	return nil
}

// write writes blocks until the last one.
func (r *run) write() (err error) {
	for b := range r.intake.full {
		if r.writer.broken {
			continue // what still comes is not written
		}
		bytes := b.Bytes()
		if err = r.writer.write(b); err != nil {
			r.ending.End("disk", err)
		}
		r.intake.written(b, bytes, r.post)
	}
	closed := r.writer.close()
	if r.writer.broken {
		return err // that is why it has ended
	}
	return closed
}

// onLoop runs a function on the loop and waits for it.
func (r *run) onLoop(f func()) {
	done := make(chan struct{})
	if r.post(func() { f(); close(done) }) {
		<-done
		return
	}
	f() // the loop has ended
}

// onEvent follows the bus. On the loop.
func (r *run) onEvent(e bus.Event) {
	r.console.Event(e)
	// What comes behind the end is of our own making, except losses and an acknowledgement
	// whose messages have come before it is told.
	if r.leaving != nil && e.Kind != bus.Gap && e.Kind != bus.Subscribed {
		r.presence.Meet(e)
		r.leaves(e)
		return
	}
	if record, ok := recording.EventOf(e, time.Now()); ok {
		r.intake.event(record)
	}
	if e.Kind == bus.Subscribed {
		r.positions.ask()
	}
	if lastGone := r.presence.See(e); lastGone && r.cmd.UntilGoodbye {
		r.ending.End("goodbye", nil)
	}
}

// wait waits for the end.
func (r *run) wait(ctx context.Context) {
	defer r.ending.EndBy(ctx, r.cmd.Duration)()
	go r.ending.EndByRefusal(ctx, r.subscription.Wait)
	var beside sync.WaitGroup
	beside.Go(r.notePositions)
	beside.Go(func() { offers.Tell(r.console, r.subscriber, r.directory, r.cmd.Tags, r.ending.Done()) })
	r.watch()
	beside.Wait()
}

// watch notes when messages arrive, and has blocks written that fill slowly, until the end.
func (r *run) watch() {
	tick := time.NewTicker(min(watchInterval, r.cmd.FlushEvery))
	defer tick.Stop()
	messages, bytes := cli.NewMeter(), cli.NewMeter()
	r.console.Live(func() string { return r.liveLine(messages, bytes) })
	seen := uint64(0)
	for ended := false; !ended; {
		select {
		case <-tick.C:
			r.post(func() { r.intake.flush(r.cmd.FlushEvery) })
		case <-r.ending.Done():
			ended = true
		}
		if n := r.intake.messages.Load(); n != seen {
			seen, r.last = n, time.Now()
		}
	}
}
