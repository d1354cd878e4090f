// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"context"
	"fmt"

	"tagbus/bus/internal/observe"
	"tagbus/bus/state"
	"tagbus/internal/alarm"
	"tagbus/netio"
	"tagbus/subscription"
)

// What the sides that listen, a Publisher and a Receiver, do for observers.

// newObservers returns what answers the observers of an instance.
func newObservers(loop netio.Loop, alarms *alarm.Clock, describe func(context.Context, state.Question) (state.State, error), event func(Event)) *observe.Server {
	return observe.New(observe.Config{
		Post: loop.Post, Alarms: alarms, Describe: describe,
		Broken: func(o *observe.Observer, err error) {
			event(Event{Kind: Problem, Peer: o.Peer().(*Peer), Err: fmt.Errorf("%w: %w", ErrProtocol, err)})
		},
	})
}

// observable returns why an observer cannot be answered, or nil.
func observable(h subscription.Hello) error {
	if h.MaxMessageBytes < subscription.MaxControlBytes {
		return fmt.Errorf("%w: observer receives at most %d bytes at once, want %d", ErrProtocol, h.MaxMessageBytes, subscription.MaxControlBytes)
	}
	return nil
}
