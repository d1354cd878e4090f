// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"context"

	"tagbus/bus/directory"
	"tagbus/tags"
)

// listed returns the entry of the subscriber as it is now. ok is false at its end. Blocks: for
// the loop.
func (s *subscriberImpl) listed() (e directory.Entry, ok bool) {
	result := make(chan tags.Set, 1)
	if !s.loop.Post(func() {
		wanted, _ := s.wanted()
		result <- wanted
	}) {
		return e, false
	}
	select {
	case wanted := <-result:
		return clientEntry(directory.Entry{
			Instance: s.instance, Name: s.cfg.Name, Host: s.host, Role: directory.Subscriber, Backend: s.backends.Names(), Since: s.opened,
		}, wanted, s.cfg.Monitor), true
	case <-s.closer.Ended():
		return e, false
	}
}

// Offers looks which publishers of the directory have a tag of a set, and if none has,
// which are nearest to it. Distances are to the lowest 64 ranges and patterns of the set.
//
//   - Errors: ErrClosed; ErrOnLoop on the loop of another node; the cause of the end of
//     ctx.
//   - Threads: any. Blocks: until the loop has looked, between other work: some 100 ms for
//     10,000 publishers. On the loop it looks at once.
func (handle *Subscriber) Offers(ctx context.Context, wanted tags.Set) (Offers, error) {
	s := subscriberOf(handle)
	if s.closed.Load() {
		return Offers{}, ErrClosed
	}
	return s.asking().offers(ctx, wanted)
}

func (s *subscriberImpl) asking() offersAsked {
	return offersAsked{s.loop, &s.work, s.closer.Ended(), func() (all []*peerContact) {
		for _, src := range s.sources {
			all = append(all, &src.contact)
		}
		return all
	}, false}
}
