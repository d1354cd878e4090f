// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/alecthomas/kong"

	"tagbus/bus"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/lossfile"
	"tagbus/cmd/internal/session"
	"tagbus/internal/stream"
	"tagbus/tags"
)

const (
	program = "publisher"

	description = `Publish messages on a bus: records of a file or of standard input, or those of an emulated detector.

Ends with status 0 when all is published and every subscriber has received it, 1 when something failed, when a receiver or this command denies what is to be sent, or when --duration ended it before --count was reached, and 2 when the command line makes no sense. SIGINT, SIGTERM and SIGHUP stop it in order (SIGHUP reads certificates and policy again if there are some, unless the terminal has gone); a second one, half a second later or more, gives up what it waits for.`

	// inputGrace is how long a read of the input may take to end once nothing
	// more is wanted. One that waits for a pipe never ends.
	inputGrace = 100 * time.Millisecond
)

// errDuration is the cause of the end of a context.
var errDuration = errors.New("duration is over")

// about is what the help and the man page say before the flags.
var about = cli.Program{Name: program, Description: description}

// Model returns the flags of the command.
func Model() (*kong.Application, error) { return cli.Model(about, new(Flags)) }

// Main runs the command and returns its exit code.
func Main(args []string, s cli.Streams) int { return MainAs(program, args, s) }

// MainAs is Main with another name in the help, and in what is said of a command line that
// makes no sense.
func MainAs(name string, args []string, s cli.Streams) int {
	cli.IgnoreClosedPipes()
	signals := cli.TakeSignals(program, s.Err)
	defer signals.Stop()
	var flags Flags
	if code, run := cli.Parse(cli.Program{Name: name, Description: description}, &flags, args, s); !run {
		return code
	}
	signals.Reread(&flags.Security)
	return Run(signals.Asked, signals.Hurry, program, &flags, s)
}

// Defaults returns flags as they are by default, to publish records of standard input that
// are lines. They have no bus and no tags.
func Defaults() (*Flags, error) {
	f := new(Flags)
	err := cli.Defaults(about, f, "--bus=", "--tags=", "--input=-", "--record=lines")
	return f, err
}

// Run publishes as flags say, which were checked, and returns the exit code.
//
//   - ctx: ends the run in order, with the cause that is a signal.
//   - hurry: ends when nothing is to be waited for any more.
//   - name: of the program, as it says it of itself.
func Run(ctx, hurry context.Context, name string, flags *Flags, s cli.Streams) int {
	s.Out = stream.NewOutput(s.Out, nil)
	r := &run{name: name, flags: flags, console: cli.NewConsole(name, s.Err, flags.Log), stdin: s.In, hurry: hurry, presence: session.Presence{Wanted: flags.Tags}}
	r.audience.Advertised = len(flags.Advertise) > 0
	r.audience.Everywhere = !r.audience.Advertised && flags.Listen.Addr().IsUnspecified()
	r.console.Follow(ctx)
	r.console.SayWaits()
	err := r.run(ctx)
	return r.report(err, s)
}

// run is one run of the command.
type run struct {
	name    string
	flags   *Flags
	console *cli.Console
	stdin   io.Reader
	hurry   context.Context // ends when nothing is to be waited for any more

	source   source
	producer producer
	lossFile *lossfile.Writer // nil: none
	unacked  atomic.Uint64    // messages sent and not acknowledged
	audience session.Audience // told nothing of a sender

	presence session.Presence         // of receivers
	waiting  atomic.Pointer[tags.Tag] // of the message that is being sent and may wait; nil: none does
	unsent   atomic.Pointer[tags.Tag] // of the message for which there was no receiver at the end; nil: none

	started time.Time // publishing
	elapsed time.Duration
	stats   bus.PublisherStats
	ended   string // why publishing ended
}

// run publishes all that there is to publish.
func (r *run) run(ctx context.Context) (err error) {
	server, err := r.flags.ServeMetrics(program, r.console.Say)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	defer r.closeLosses()
	stopped := ctx // by a signal
	if r.flags.Duration > 0 {
		var cancel func()
		ctx, cancel = context.WithTimeoutCause(ctx, r.flags.Duration, errDuration)
		defer cancel()
	}
	r.liveWaiting(func() string { return "the input " + r.flags.Input })
	if opened, err := r.openSource(ctx); !opened {
		return err
	}
	n, closed, err := r.flags.Node(r.console, server)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closed()) }()
	if err := r.openProducer(n, server.Addr()); err != nil {
		return err
	}
	if err := server.Register(r.producer.metrics()); err != nil {
		return err
	}
	server.Show(r.producer.State)
	r.keepLosses()
	stopping := cli.Ready(r.console, n.Loop().Post)
	told := r.tellReceivers()
	err = r.publishAll(ctx)
	away := r.inputAway()
	stopping()
	told()
	if err != nil {
		return errors.Join(err, r.drain(stopped, err))
	}
	return errors.Join(r.drain(stopped, nil), r.shortcoming(), away, unackedError(r.unacked.Load()))
}

func (r *run) onEvent(e bus.Event) {
	if r.flags.Send {
		r.presence.See(e)
	}
	r.audience.See(e)
	r.console.Event(e)
}

// publishAll waits for subscribers and publishes until the source, the count,
// the duration or ctx ends.
func (r *run) publishAll(ctx context.Context) error {
	if r.flags.WaitSubscribers > 0 {
		if err := r.waitSubscribers(ctx); err != nil {
			return r.end(err)
		}
	}
	r.started = time.Now()
	messages, bytes := cli.NewMeter(), cli.NewMeter()
	r.live(func() string { return r.liveLine(r.producer.Stats(), messages, bytes) })
	done := make(chan error, 1)
	go func() { done <- r.loop(ctx) }()
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		// The loop ends by itself, or waits for its input: then Drain keeps
		// out what it would still publish.
		grace := time.NewTimer(inputGrace)
		defer grace.Stop()
		select {
		case err = <-done:
		case <-grace.C:
			err = context.Cause(ctx)
		}
	}
	return r.end(err)
}

// end tells the orderly ends from the others.
func (r *run) end(err error) error {
	var signal *cli.SignalError
	switch {
	case err == nil && r.flags.Count > 0:
		r.ended = "count"
	case err == nil:
		r.ended = "end of input"
	case errors.As(err, &signal):
		r.ended = "signal"
	case errors.Is(err, errDuration):
		r.ended = "duration"
	default:
		r.ended = "error"
		return err
	}
	return nil
}

// shortcoming returns what makes an orderly end a failure.
func (r *run) shortcoming() error {
	verb, peer := "published", "subscriber"
	if r.flags.Send {
		verb, peer = "sent", "receiver"
	}
	switch published := r.stats.Messages; {
	case r.ended != "duration": // a signal asks it to stop before
		return r.unsentError()
	case r.source == nil && r.flags.Count == 0 && r.flags.WaitSubscribers == 0: // any number was asked for
		return nil
	case r.source == nil:
		return fmt.Errorf("%s nothing in %v (--duration): %s", verb, r.flags.Duration, r.unopened())
	case r.started.IsZero():
		return fmt.Errorf("%s nothing in %v (--duration): the %ss that were waited for did not come", verb, r.flags.Duration, peer)
	case published == 0 && r.flags.Send && r.flags.Count > 0 && r.audience.Subscribed.Load() == 0:
		return fmt.Errorf("sent 0 of %d messages (--count) in %v (--duration): no receiver of %v came to %s%s", r.flags.Count, r.flags.Duration, r.flags.Tags, r.flags.Bus, r.orRefused(": start subscriber --receive"))
	case published < uint64(r.flags.Count):
		return fmt.Errorf("%s %d of %d messages (--count) in %v (--duration)", verb, published, r.flags.Count, r.flags.Duration)
	}
	return r.unsentError()
}

// drain gives the subscribers what is left, and tells them why it is not all.
//
//   - failure: of publishing; nil if there was none.
func (r *run) drain(ctx context.Context, failure error) error {
	err := session.Drain(ctx, r.hurry, r.producer, r.flags.DrainTimeout, failure, func(draining context.Context, _ time.Duration) {
		r.sayWaiting(draining, ctx.Err() != nil)
	})
	if !r.started.IsZero() {
		r.elapsed = time.Since(r.started)
	}
	r.stats = r.producer.Stats()
	return err
}
