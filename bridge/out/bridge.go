// SPDX-License-Identifier: Apache-2.0

package out

import (
	"context"
	"errors"
	"sync"
	"time"

	"tagbus/bridge/durable"
	"tagbus/bridge/internal/follow"
	"tagbus/bridge/internal/spool"
	"tagbus/bridge/internal/writer"
	"tagbus/bridge/record"
	"tagbus/bus"
	"tagbus/recording"
)

// unsubscribeTime is how long publishers may take to acknowledge the end.
const unsubscribeTime = time.Second

// Errors of the log, for errors.As.
type (
	// ForeignError means that the log has something under a key that no bridge has written.
	ForeignError = writer.ForeignError
	// UnwrittenError means that a bridge has ended before the log had everything.
	UnwrittenError = writer.UnwrittenError
	// TooLargeError means that a message is larger than the log takes.
	TooLargeError = writer.TooLargeError
	// TooManyError means that more publishers and tags than Config.MaxChains are alive or not stored yet, or that the
	// names of the publishers are longer than 64 MiB.
	TooManyError = follow.TooManyError
	// SpoolSilentError means that the file system of the spool does not answer.
	SpoolSilentError = writer.SpoolSilentError
	// OtherLogError means that a spool has messages for another log.
	OtherLogError = spool.OtherLogError
)

// Errors of the spool, for errors.Is.
var (
	// ErrSpoolInUse means that another bridge uses the folder.
	ErrSpoolInUse = spool.ErrInUse
	// ErrSpoolFull means that it has SpoolBytes.
	ErrSpoolFull = spool.ErrFull
)

// Stats are the counts of a bridge.
type Stats = writer.Stats

// Opener opens subscribers; a *node.Node does.
type Opener interface {
	NewSubscriber(cfg bus.SubscriberConfig) (*bus.Subscriber, error)
}

// Bridge writes messages into a log.
//
// Threads: any, for all methods.
type Bridge struct {
	cfg          Config
	writer       *writer.Writer
	subscriber   *bus.Subscriber
	subscription *bus.Subscription

	ask     chan struct{} // positions would tell something new; has room for one
	stop    context.Context
	halt    context.CancelFunc
	running sync.WaitGroup

	mu     sync.Mutex
	ends   []end
	gone   []string // the publishers whose chains were ended last: the subscriber still has their positions
	paused bool     // before there was a subscription to pause
}

// Start begins to write what is published from now on, and what publishers have kept. The log stays the
// caller's, who closes it after the Bridge.
//
//   - Errors: those of Config.Validate; those of opening the spool, ErrSpoolInUse, an *OtherLogError, a *SpoolSilentError;
//     durable.ErrRefused and ErrClosed of the log, which it asks for the last records; a *ForeignError; a *TooManyError; the cause of the
//     end of ctx; those of NewSubscriber and SubscribeBatch.
//   - Blocks: for the log, which may be away, as long as ctx lasts.
func Start(ctx context.Context, open Opener, log durable.Log, cfg Config) (*Bridge, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	b := &Bridge{cfg: cfg.withDefaults(), ask: make(chan struct{}, 1)}
	cfg = b.cfg
	kept, err := writer.OpenSpool(ctx, cfg.Spool, log.Name(), cfg.SpoolBytes, cfg.SpoolPatience)
	if err != nil {
		return nil, err
	}
	b.writer, err = writer.New(ctx, writer.Config{
		Spool: kept, SpoolPatience: cfg.SpoolPatience,
		Log: log, MaxBytes: cfg.HeldBytes, MaxChains: cfg.MaxChains, RecordBytes: min(cfg.RecordBytes, log.MaxRecordBytes()), RecordMessages: cfg.RecordMessages,
		MaxFlights: cfg.Flights, RetryMin: cfg.Retry, RetryMax: cfg.RetryMax,
		Pause: b.pause, Resume: b.resume, Ask: b.wake, Report: cfg.OnProblem,
	}, cfg.Tags)
	if err != nil {
		return nil, err
	}
	if err := b.subscribe(open); err != nil {
		return nil, errors.Join(err, b.writer.Close(ctx))
	}
	b.stop, b.halt = context.WithCancel(context.Background())
	b.running.Go(b.follow)
	return b, nil
}

func (b *Bridge) subscribe(open Opener) error {
	s, err := open.NewSubscriber(bus.SubscriberConfig{Common: bus.Common{Name: b.cfg.Name, OnEvent: b.onEvent, Monitor: b.cfg.Monitor}})
	if err != nil {
		return err
	}
	sub, err := s.SubscribeBatch(b.cfg.Tags, b.onPage, b.cfg.Subscription)
	if err != nil {
		return errors.Join(err, s.Close())
	}
	b.subscriber = s
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.subscription = sub; b.paused {
		sub.Pause()
	}
	return nil
}

// onPage takes a page. On the loop.
func (b *Bridge) onPage(page []bus.Message) { b.writer.Page(time.Now(), page) }

// pause makes the publishers do what the policy says.
func (b *Bridge) pause() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.paused = true; b.subscription != nil {
		b.subscription.Pause()
	}
}

func (b *Bridge) resume() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.paused = false; b.subscription != nil {
		b.subscription.Resume()
	}
}

// wake has the positions looked at.
func (b *Bridge) wake() {
	select {
	case b.ask <- struct{}{}:
	default: // asked already
	}
}

// onEvent follows the bus. On the loop.
func (b *Bridge) onEvent(e bus.Event) {
	now := time.Now()
	if r, ok := recording.EventOf(e, now); ok {
		switch r.Kind {
		case recording.Gap:
			b.wake() // its count is in the positions, too
		case recording.Ended:
			how := record.Goodbye
			if r.Failed {
				how = record.Failed
			}
			b.ended(end{e.Peer.Instance, how, now, r.Text})
		case recording.Vanished:
			b.ended(end{e.Peer.Instance, record.Vanished, now, r.Text})
		case recording.Joined:
			b.back(e.Peer.Instance)
		default:
		}
	}
	b.cfg.OnEvent(e)
}

// Failed is closed when the log refuses for good, or has what no bridge wrote: nothing more is written then. It is closed at
// more than Config.MaxChains, too: nothing more is read then, and what was is written. Close returns why.
func (b *Bridge) Failed() <-chan struct{} { return b.writer.Failed() }

// Stats returns the counts so far.
func (b *Bridge) Stats() Stats { return b.writer.Stats() }

// Subscriber returns the subscriber of the bridge, for its state and its metrics.
func (b *Bridge) Subscriber() *bus.Subscriber { return b.subscriber }

// Close leaves the bus, and waits until the log has all that has come.
//
//   - Errors: an *UnwrittenError when ctx ends before, or the bridge has failed; a *TooManyError.
//   - Blocks: a second for publishers that do not answer, and for the log.
func (b *Bridge) Close(ctx context.Context) error {
	b.halt()
	b.running.Wait()
	leaving, cancel := context.WithTimeout(ctx, unsubscribeTime)
	defer cancel()
	b.settle(leaving)                       // from here on positions count what is not for this bridge any more
	_ = b.subscription.Unsubscribe(leaving) // a publisher that is stopped does not answer
	closed := b.subscriber.Close()
	b.endAll(b.takeEnds())
	return errors.Join(closed, b.writer.Close(ctx))
}
