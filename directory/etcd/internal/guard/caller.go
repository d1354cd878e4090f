// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"net"
	"time"

	"google.golang.org/grpc/peer"

	"tagbus/directory/etcd/internal/held"
	"tagbus/identity"
)

// connOf returns the connection of a request; nil: what is held for it is not counted.
func connOf(ctx context.Context) *held.Conn {
	if p, ok := peer.FromContext(ctx); ok {
		if at, ok := p.Addr.(*Addr); ok {
			return at.Conn
		}
	}
	return nil
}

// callerOf returns which caller makes a request; nil: none is known.
func callerOf(ctx context.Context) Caller {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return nil
	}
	switch at := p.Addr.(type) {
	case *Addr:
		return at.Caller
	case *net.UnixAddr: // the socket in the folder of data, which only its owner reaches
		return owner{}
	}
	return nil
}

// owner is the user of the member at its socket.
type owner struct{}

// administers reports whether a caller is an administrator, as far as that is known at once: of one
// without a certificate it takes long to find out, so that its request is looked at first.
func administers(caller Caller) bool {
	switch c := caller.(type) {
	case nil:
		return false
	case owner:
		return true
	default:
		return !c.Principal().IsAnonymous() && c.Rank() == Administrator
	}
}

func (owner) Principal() identity.Principal { return identity.Principal{} }
func (owner) Rank() Rank                    { return Administrator }
func (owner) Spend(int, time.Time) bool     { return true }
func (owner) String() string                { return "the user of the member" }
