// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"maps"
	"slices"

	"tagbus/netio"
)

// users are the publishers, subscribers, senders and receivers that are open on a node.
type users struct {
	open map[uint64]closer
	last uint64 // number of the newest
}

type closer interface{ Close() error }

// all returns the users in the order of their opening.
func (u *users) all() []closer {
	var all []closer
	for _, number := range slices.Sorted(maps.Keys(u.open)) {
		all = append(all, u.open[number])
	}
	return all
}

// closeAll closes users of a node, the last opened first.
func closeAll(users []closer) (errs []error) {
	for _, user := range slices.Backward(users) {
		errs = append(errs, user.Close())
	}
	return errs
}

// open opens a user of the node, and keeps it for Close until its backend is closed.
func open[T closer](n *Node, open func(netio.Opener) (T, error)) (T, error) {
	var none T
	n.mu.Lock()
	refused := n.refuse()
	n.users.last++
	number := n.users.last
	n.mu.Unlock()
	if refused != nil {
		return none, refused
	}
	user, err := open(n.openerFor(number))
	if err != nil {
		return none, err
	}
	n.mu.Lock()
	if refused = n.refuse(); refused == nil {
		n.users.open[number] = user
	}
	n.mu.Unlock()
	if refused != nil {
		return none, errors.Join(refused, user.Close())
	}
	return user, nil
}

// openerFor returns the opener for one user, which forgets the user with its backend.
func (n *Node) openerFor(number uint64) netio.Opener {
	return func(h netio.Handler) (netio.Backend, error) {
		b, err := n.opener(h)
		if err != nil {
			return nil, err
		}
		return &userBackend{Backend: b, closed: func() {
			n.mu.Lock()
			defer n.mu.Unlock()
			delete(n.users.open, number)
		}}, nil
	}
}

// userBackend is the backend of one user of a node. It reports its Close.
type userBackend struct {
	netio.Backend
	closed func()
}

// Backends implements netio.MultiBackend.
func (b *userBackend) Backends() []netio.Backend { return netio.Backends(b.Backend) }

// Close implements netio.Backend. On a loop the backend closes behind it; until then
// the node keeps the user, whose Close waits.
func (b *userBackend) Close() error {
	if b.Loop().OnAnyLoop() {
		err := b.Backend.Close()
		go func() {
			_ = b.Backend.Close() // waits for the last callback
			b.closed()
		}()
		return err
	}
	defer b.closed()
	return b.Backend.Close()
}
