// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package sub is the command tagbus sub: it shows messages, without harm to the bus.
package sub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/offers"
	"tagbus/cmd/internal/session"
	"tagbus/cmd/internal/tool"
	"tagbus/internal/stream"
	"tagbus/tags"
)

const (
	name = "tagbus sub"

	// unsubscribeTime is how long publishers may take to acknowledge the end.
	unsubscribeTime = time.Second

	// grace is how long standard output may take nothing, after the end, of what waits.
	grace = time.Second

	// graceOfFiles is the same with a folder for messages (--out), which may be on a slow disk.
	graceOfFiles = 30 * time.Second
)

// run is one run of the command.
type run struct {
	cmd     *Command
	env     *tool.Env
	console *cli.Console

	subscriber   *bus.Subscriber
	subscription *bus.Subscription
	queue        *queue
	shown        *shower
	account      account
	presence     session.Presence
	directory    directory.Directory // nil: in tests

	publishers int // connected at the end

	began   time.Time
	taken   chan struct{} // closed when nothing more is taken from the bus
	done    chan struct{} // closed at the end
	ended   string        // why it has ended
	endedAt time.Time
	err     error // nil if that is no failure
}

// account is what the command has seen and not shown itself. The goroutine that takes
// messages writes it; it is read when that has ended.
type account struct {
	tags     map[tags.Tag]struct{} // seen; at most maxTags
	filtered uint64                // messages of another status
	leftOut  uint64                // messages for which the queue had no room
	ended    string                // why no more are taken, if that is not because of the end
	err      error
}

// maxTags is how many tags are counted, and of how many the time of the last message is
// known.
const maxTags = 1 << 16

// Run shows messages until the count, the time, a signal or the end of the output.
func (c *Command) Run(ctx context.Context, e *tool.Env) error {
	c.json = e.JSON
	if c.format() == Raw && c.Out == "" && cli.IsTerminal(e.Out) {
		return &cli.UsageError{Err: errors.New("--format raw: standard output is a terminal, which obeys what is in messages: send it to a file or a pipe")}
	}
	n, err := e.Node()
	if err != nil {
		return err
	}
	r := newRun(c, e)
	r.console.Follow(ctx)
	r.console.SayWaits()
	cfg := bus.SubscriberConfig{Common: bus.Common{Name: name, OnEvent: r.onEvent}}
	if r.subscriber, err = n.NewSubscriber(cfg); err != nil {
		return errors.Join(err, r.console.Close())
	}
	r.directory = n.Directory()
	return r.run(ctx)
}

func newRun(c *Command, e *tool.Env) *run {
	r := &run{cmd: c, env: e, began: time.Now(), console: cli.NewConsole(name, e.Err, cli.Log{Quiet: c.Quiet}), taken: make(chan struct{}), done: make(chan struct{}), presence: session.Presence{Wanted: c.Tags, Began: time.Now()}}
	r.account.tags = make(map[tags.Tag]struct{})
	return r
}

// run subscribes, shows, and says at the end what was seen. It closes the subscriber.
func (r *run) run(ctx context.Context) error {
	err := r.open()
	if err == nil {
		r.show(ctx)
		err = r.err
	} else {
		r.ended = "error"
	}
	stats := r.subscriber.Stats()
	err = errors.Join(err, r.subscriber.Close())
	if r.directory != nil && err == nil && r.ended == "time" { // else it was asked to stop before
		listed := session.ListedBy(r.directory)
		r.presence.Settle(listed, r.endedAt)
		err = listed.Silent()
	}
	return r.report(r.summary(stats), err)
}

// open opens the output and subscribes.
func (r *run) open() (err error) {
	if r.shown, err = newShower(r.cmd, stream.Aside(r.env.Out)); err != nil {
		return err
	}
	r.queue = newQueue()
	cfg := r.cmd.subscription()
	if cfg.Policy.Lossless() {
		r.console.Say("--policy %v: publishers wait for this command when it is slow, and all their other subscribers with them; --policy latest does not", cfg.Policy)
	}
	r.subscription, err = r.subscriber.SubscribeWith(r.cmd.Tags, nil, cfg)
	return err
}

// show takes and shows messages until the end.
func (r *run) show(ctx context.Context) {
	taking, stopTaking := context.WithCancel(context.Background())
	defer stopTaking()
	go func() {
		defer close(r.taken)
		defer r.queue.close()
		r.take(taking)
	}()
	shown := make(chan error, 1)
	go func() { shown <- r.shown.showAll(r.queue) }()
	told := make(chan struct{})
	go func() {
		defer close(told)
		offers.Tell(r.console, r.subscriber, r.directory, r.cmd.Tags, r.done)
	}()
	over, stopOver := r.over()
	defer stopOver()
	select {
	case <-ctx.Done():
		r.ended = "signal"
	case <-over:
		r.ended = "time"
	case <-r.taken: // the count, or an error
	case err := <-shown:
		r.outputEnded(err)
		shown <- nil
	}
	r.endedAt = time.Now()
	close(r.done)
	<-told
	r.publishers = r.subscriber.Stats().Publishers
	ending, cancel := context.WithTimeout(context.Background(), unsubscribeTime)
	defer cancel()
	// A publisher that is stopped does not answer, and is not waited for.
	_ = r.subscription.Unsubscribe(ending)
	stopTaking()
	r.queue.abort()
	<-r.taken
	if r.account.ended != "" && r.err == nil {
		r.ended, r.err = r.account.ended, r.account.err
	}
	r.finish(shown)
}

// over returns what is closed when the time of --for is over.
func (r *run) over() (over <-chan time.Time, stop func() bool) {
	if r.cmd.For <= 0 {
		return nil, func() bool { return true }
	}
	t := time.NewTimer(r.cmd.For)
	return t.C, t.Stop
}

// take takes messages from the bus until the count is reached or ctx ends, and puts them
// into the queue. It never waits for the output, unless the policy is to.
func (r *run) take(ctx context.Context) {
	count := uint64(r.cmd.Count)
	waits := r.cmd.subscription().Policy.Lossless()
	last := newLast()
	for m, err := range r.subscription.Messages(ctx) {
		if err != nil {
			if ctx.Err() == nil && !errors.Is(err, bus.ErrClosed) {
				r.account.ended, r.account.err = "error", err
			}
			return
		}
		now := time.Now()
		if !r.cmd.Status.has(m.Status) {
			r.account.filtered++
			continue
		}
		if len(r.account.tags) < maxTags {
			r.account.tags[m.Tag] = struct{}{}
		}
		item := item{m, now, last.since(m.Tag, now)}
		if waits {
			r.queue.wait(item)
		} else if !r.queue.offer(item) {
			r.account.leftOut++
			continue
		}
		if count > 0 && r.queue.count() == count {
			r.account.ended = "count"
			return
		}
	}
}

// outputEnded ends the run because the output takes no more.
func (r *run) outputEnded(err error) {
	switch {
	case errors.Is(err, syscall.EPIPE), errors.Is(err, io.ErrClosedPipe):
		r.ended = "closed output"
	case err != nil:
		r.ended, r.err = "error", err
	default: // all is shown that was taken
		<-r.taken
	}
}

// finish waits for the output to take what waits, as long as it takes some of it.
func (r *run) finish(shown <-chan error) {
	to, patience := "standard output", grace
	if r.cmd.Out != "" {
		to, patience = "standard output, or the folder of --out,", graceOfFiles
	}
	tick := time.NewTicker(patience)
	defer tick.Stop()
	for before := uint64(0); ; {
		select {
		case err := <-shown:
			if err != nil {
				r.outputEnded(err)
			}
			return
		case <-tick.C:
			now := r.shown.progress.Load()
			if now == before {
				r.err = errors.Join(r.err, fmt.Errorf("%s has taken nothing for %v: what waits for it is not printed", to, patience))
				return
			}
			before = now
		}
	}
}

// onEvent says what keeps messages from this command. On the loop.
func (r *run) onEvent(e bus.Event) {
	select {
	case <-r.done: // what follows is of our own making
		r.presence.Meet(e)
	default:
		r.presence.See(e)
	}
	switch e.Kind {
	case bus.Refused, bus.Problem, bus.Vanished, bus.Duplicate:
		r.console.Event(e)
	default: // the last line counts the losses
	}
}
