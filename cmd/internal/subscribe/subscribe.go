// SPDX-License-Identifier: Apache-2.0

package subscribe

import (
	"context"
	"errors"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/emulate"
	"tagbus/cmd/internal/latency"
	"tagbus/cmd/internal/lossfile"
	"tagbus/cmd/internal/session"
	"tagbus/internal/stream"
	"tagbus/internal/stuck"
)

const (
	program = "subscriber"

	description = `Receive messages from a bus: write them to a file or to standard output, check them, or count them.

Ends with status 0 when all that was asked for has arrived, 1 when something failed here or at a publisher, when a publisher or this command denies tags that are asked for, when --duration ended it before, or when messages were lost that --policy does not allow to be lost, and 2 when the command line makes no sense. SIGINT, SIGTERM and SIGHUP stop it in order (SIGHUP reads certificates and policy again if there are some, unless the terminal has gone), as does a closed pipe at standard output; a second signal, half a second later or more, gives up what it waits for.`
)

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
	ctx := signals.Asked
	s.Out = stream.NewOutput(s.Out, nil)
	r := &run{
		flags: &flags, console: cli.NewConsole(program, s.Err, flags.Log), streams: s,
		ending: session.NewEnding(), received: make(chan struct{}), hurry: signals.Hurry, presence: session.Presence{Wanted: flags.Tags},
	}
	if !flags.Receive { // senders connect by themselves
		r.presence.Began = time.Now()
	}
	r.console.Follow(ctx)
	r.console.SayWaits()
	return r.report(r.run(ctx))
}

// run is one run of the command.
type run struct {
	flags   *Flags
	console *cli.Console
	streams cli.Streams
	hurry   context.Context // ends when nothing is to be waited for any more

	subscriber   subscriber
	subscription subscription
	receiver     receiver
	received     chan struct{} // closed when the queue has been read to its end
	ending       *session.Ending
	lossFile     *lossfile.Writer // nil: none
	presence     session.Presence
	directory    directory.Directory // nil: with --receive, to which senders connect
	listed       session.Listed      // there, at the end
	tags         []bus.TagStats      // at the end
	owned        func() *ownedError  // with --receive: by another receiver
	refused      atomic.Bool         // because another receiver has the tags

	last       time.Time // message seen; written by watch
	notWritten uint64    // messages that have arrived
	stuck      bool      // the output still holds the receiver
}

// run receives until one of the ends that the flags name.
func (r *run) run(ctx context.Context) (err error) {
	server, err := r.flags.ServeMetrics(program, r.console.Say)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	defer r.closeLosses() // after the node, whose last events are of losses
	r.receiver = receiver{limit: uint64(r.flags.Count), notice: r.console.Notice}
	if r.flags.Verify {
		r.receiver.verifier = new(emulate.Verifier)
	}
	n, closed, err := r.flags.Node(r.console, server)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closed()) }()
	if !r.flags.Receive {
		r.directory = n.Directory()
	}
	r.newLossFile()
	if err := r.openSubscriber(n, server.Addr()); err != nil {
		return err
	}
	if err := server.Register(r.subscriber.metrics()); err != nil {
		return err
	}
	if v := r.receiver.verifier; v != nil {
		if err := server.Register(latency.NewCollector(&v.Latency)); err != nil {
			return err
		}
	}
	defer r.ending.EndBy(ctx, r.flags.Duration)()
	if r.flags.outputName() != "" {
		if opened, err := r.open(); !opened {
			return err
		}
		defer r.abandonOutput()
	}
	if err := r.subscribe(); err != nil {
		return err
	}
	server.Show(r.subscriber.State)
	r.lossFile.Start(r.subscriber.Instance(), nil)
	return r.wait(ctx, cli.Ready(r.console, n.Loop().Post))
}

// open opens the output; false means that it could not, or that the run ended
// first, for a FIFO opens for writing only once it has a reader.
func (r *run) open() (opened bool, err error) {
	done := stuck.Go(func() (*output, error) { return openOutput(r.flags, r.streams.Out, r.console.Say, r.outputFailed) })
	select {
	case got := <-done:
		r.receiver.output = got.Value
		return got.Err == nil, got.Err
	case <-r.ending.Done():
		return false, r.ending.Err()
	}
}

// subscribe starts to receive. Messages that are written go through the
// subscription's queue, which lets a slow output slow the publishers down; the
// others are looked at on the loop, where they are.
func (r *run) subscribe() error {
	handler := r.handle
	if r.receiver.output != nil {
		handler = nil
	}
	sub, err := r.subscriber.subscribe(handler)
	if err != nil {
		return err
	}
	r.subscription = sub
	if r.receiver.output == nil {
		return nil
	}
	// Only now, when all else works, may a file be replaced.
	if err := r.receiver.output.begin(); err != nil {
		return err
	}
	go func() {
		defer close(r.received)
		r.iterate()
	}()
	return nil
}

// handle takes a message on the loop.
func (r *run) handle(m bus.Message) {
	if limit := r.receiver.limit; limit != 0 && r.receiver.messages == limit {
		return
	}
	if last, _ := r.receiver.take(m); last {
		r.ending.End("count", nil)
	}
}

// iterate takes the messages from the queue until it ends.
func (r *run) iterate() {
	for m, err := range r.subscription.Messages(context.Background()) {
		if err != nil {
			r.ending.End("error", err)
			return
		}
		last, err := r.receiver.take(m)
		if err != nil {
			r.outputFailed(err)
			return
		}
		if last {
			r.ending.End("count", nil)
			return
		}
	}
}

// outputFailed ends the run: in order if the reader of the output has gone.
func (r *run) outputFailed(err error) {
	if errors.Is(err, syscall.EPIPE) {
		r.ending.End("closed output", nil)
	} else {
		r.ending.End("error", err)
	}
}

// onEvent follows the bus. On the loop.
func (r *run) onEvent(e bus.Event) {
	ended := r.ending.Ended() // before the event is said: what reads that may end the run
	e = cli.LeftOut(e, r.flags.Policy)
	r.console.Event(e)
	r.keepLoss(e)
	if ended { // it is of our own making, or its messages have ended the run
		r.presence.Meet(e)
		return
	}
	r.seeOwner(e)
	if lastGone := r.presence.See(e); lastGone && r.flags.UntilGoodbye {
		r.ending.End("goodbye", nil)
	}
}

// abandonOutput releases the output of a run that has failed before it began.
func (r *run) abandonOutput() {
	if !r.receiver.output.begun {
		_ = r.receiver.output.close() // nothing was written, and the failure is known
	}
}
