// SPDX-License-Identifier: Apache-2.0

//go:build linux

package recorder

import (
	"context"
	"errors"
	"time"

	"tagbus/bus"
	"tagbus/cmd/internal/session"
)

// stop leaves the bus, and waits until what has arrived is written.
func (r *run) stop(ctx context.Context) error {
	r.lastPositions()
	ending, cancel := context.WithTimeout(context.Background(), unsubscribeTime)
	defer cancel()
	left := time.Now()
	r.onLoop(r.beginLeave)
	// A publisher that is stopped does not answer, and is not waited for.
	if err := r.subscription.Unsubscribe(ending); err == nil {
		select {
		case <-r.left: // what they have reported as lost is in the recording
		case <-ending.Done():
		}
	}
	r.stats = r.subscriber.Stats()
	closed := r.subscriber.Close()
	listed := session.Listed{}
	if r.directory != nil {
		listed = session.ListedBy(r.directory)
	}
	r.silent = listed.Silent()
	r.onLoop(func() {
		r.presence.Settle(listed, left)
		r.intake.end(r.stopped())
	})
	return errors.Join(r.ending.Err(), closed, r.finish(ctx))
}

// beginLeave notes which publishers are to acknowledge the end. On the loop.
func (r *run) beginLeave() {
	r.leaving = make(map[string]bool)
	for id := range r.presence.Connected() {
		r.leaving[id] = true
	}
	if len(r.leaving) == 0 {
		close(r.left)
	}
}

// leaves follows the end. On the loop.
func (r *run) leaves(e bus.Event) {
	switch e.Kind {
	case bus.Unsubscribed, bus.Lost, bus.Goodbye, bus.Vanished:
		if e.Peer == nil || !r.leaving[e.Peer.Instance] {
			return
		}
		if delete(r.leaving, e.Peer.Instance); len(r.leaving) == 0 {
			close(r.left)
		}
	default:
	}
}
