// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"context"
	"errors"
	"fmt"

	"tagbus/acl"
	"tagbus/bus/internal/observe"
	"tagbus/bus/internal/snapshot"
	"tagbus/bus/state"
	"tagbus/identity"
	"tagbus/internal/alarm"
	"tagbus/netio"
	"tagbus/subscription"
)

// What the sides that listen, a Publisher and a Receiver, do for observers.

// watching is the peer of an observer.
type watching struct {
	peer *Peer
	who  *identity.Peer // nil without Access
}

// newObservers returns what answers the observers of an instance.
func newObservers(loop netio.Loop, alarms *alarm.Clock, access Access, describe func(context.Context, state.Question) (state.State, error), event func(Event)) *observe.Server {
	return observe.New(observe.Config{
		Post: loop.Post, Alarms: alarms,
		Describe: func(ctx context.Context, peer any, q state.Question) (state.State, error) {
			return describeTo(ctx, access, peer.(watching).who, describe, q)
		},
		Broken: func(o *observe.Observer, err error) {
			event(Event{Kind: Problem, Peer: o.Peer().(watching).peer, Err: fmt.Errorf("%w: %w", ErrProtocol, err)})
		},
	})
}

// describeTo returns the state of an instance without the tags that an observer may not ask
// for.
//
// Errors: those of describe; *AccessError if it may ask for none any more; that it does not
// count any more.
func describeTo(ctx context.Context, access Access, who *identity.Peer, describe func(context.Context, state.Question) (state.State, error), q state.Question) (state.State, error) {
	if access == nil {
		return describe(ctx, q)
	}
	d := doorTo(access)
	err := errors.Join(d.Expired(who), outsideOf(d.Enters(who, acl.Describe)))
	if err != nil {
		return state.State{}, err
	}
	may := access.Allowed(who.Principal, acl.Describe)
	q.Tags, _ = access.Split(who.Principal, acl.Describe, q.Tags)
	s, err := describe(ctx, q)
	if err == nil {
		snapshot.Limit(&s, may)
	}
	return s, err
}

// observable returns why an observer cannot be answered, or nil.
func observable(h subscription.Hello) error {
	if h.MaxMessageBytes < subscription.MaxControlBytes {
		return fmt.Errorf("%w: observer receives at most %d bytes at once, want %d", ErrProtocol, h.MaxMessageBytes, subscription.MaxControlBytes)
	}
	return nil
}
