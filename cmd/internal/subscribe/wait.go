// SPDX-License-Identifier: Apache-2.0

package subscribe

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"tagbus/bus"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/offers"
	"tagbus/cmd/internal/session"
	"tagbus/cmd/internal/units"
)

const (
	// watchInterval is the time between two looks at what has arrived.
	watchInterval = 50 * time.Millisecond

	// unsubscribeTime is how long publishers may take to acknowledge.
	unsubscribeTime = time.Second
)

// wait waits for the end, says that it has come, and leaves everything at rest.
func (r *run) wait(ctx context.Context, stopping func()) error {
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		r.watch()
	}()
	var told sync.WaitGroup
	told.Go(r.tell)
	told.Go(r.tellLeftOut)
	told.Go(r.tellOwner)
	told.Go(r.tellPeers)
	go r.ending.EndByRefusal(ctx, r.subscription.Wait)
	<-r.ending.Done()
	stopping()
	<-watched
	told.Wait()
	err := errors.Join(r.ending.Err(), r.unsubscribe(ctx))
	r.account(ctx)
	if r.directory != nil {
		r.listed = session.ListedBy(r.directory)
	}
	if r.receiver.output != nil { // what has arrived is written, whatever has failed
		err = errors.Join(err, r.finishOutput(ctx))
	}
	return err
}

// tellPeers says what there is to receive from while nothing of it is connected.
func (r *run) tellPeers() {
	if r.flags.Receive {
		offers.TellReceiver(r.console, func() int { return r.subscriber.Stats().Publishers }, r.ending.Done())
		return
	}
	offers.Tell(r.console, r.subscriber, r.directory, r.flags.Tags, r.ending.Done())
}

// unsubscribe ends the subscription in order: the publishers hear of it before
// the connections close, so that what is still on its way is no loss at either
// end. A stopped publisher does not answer, and is not waited for.
func (r *run) unsubscribe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unsubscribeTime)
	defer cancel()
	err := r.subscription.Unsubscribe(ctx)
	if errors.Is(err, bus.ErrClosed) || errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// watch notes when messages arrive, and ends the run when none do.
func (r *run) watch() {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	began, seen := time.Now(), uint64(0)
	active := began
	messages, bytes := cli.NewMeter(), cli.NewMeter()
	if r.flags.outputName() != "-" || !cli.IsTerminal(r.streams.Out) { // a message would stand behind it
		r.console.Live(func() string { return r.liveLine(r.subscriber.Stats(), began, messages, bytes) })
	}
	for {
		select {
		case <-tick.C:
		case <-r.ending.Done():
			if r.subscriber.Stats().Messages != seen {
				r.last = time.Now()
			}
			return
		}
		if n := r.subscriber.Stats().Messages; n != seen {
			seen, r.last = n, time.Now()
			active = r.last
		}
		if r.receiver.output != nil && r.unwritten() > 0 {
			active = time.Now() // it is our own output that is waited for
		}
		if r.flags.Timeout > 0 && time.Since(active) >= r.flags.Timeout {
			r.ending.End("timeout", fmt.Errorf("no message for %v (--timeout): %s received, %s connected",
				r.flags.Timeout, units.FormatCount(seen), units.FormatNumber(r.subscriber.Stats().Publishers, r.peers())))
		}
	}
}
