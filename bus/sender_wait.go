// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"context"
	"errors"
	"fmt"

	"tagbus/tags"
)

// WaitReceivers waits until every tag of a set has a connected receiver that has
// subscribed, so that Send finds it.
//
//   - set: of SenderConfig.Tags, if that names any. Their receivers are dialed.
//   - Errors: *PublishError with ErrUnknownTag; ErrClosed; ErrOnLoop;
//     tags.ErrTooComplex, wrapped, when the sets have too many overlapping masks
//     to compare; the cause of the end of ctx.
//   - Threads: any.
func (handle *Sender) WaitReceivers(ctx context.Context, set tags.Set) error {
	s := senderOf(handle)
	foreign, err := set.Without(s.pub.cfg.Tags)
	if err != nil {
		return fmt.Errorf("bus: wait for receivers of %s: %w", shortSet(set), err)
	}
	for tag := range foreign.All() {
		return &PublishError{Tag: tag, Err: ErrUnknownTag, sender: true}
	}
	if !s.pub.loop.Post(func() {
		wants := s.wants.Load().Union(set)
		s.wants.Store(&wants)
		s.want(set)
		s.listing.Load().Changed()
	}) {
		return ErrClosed
	}
	if err := s.pub.WaitSubscribers(ctx, 1, set); err != nil {
		if errors.Is(err, ErrClosed) || errors.Is(err, ErrOnLoop) {
			return err
		}
		return fmt.Errorf("bus: wait for receivers of %s: %w", shortSet(set), err)
	}
	return nil
}

// Offers looks which receivers of the directory have a tag of a set, and if none has,
// which are nearest to it, as Subscriber.Offers.
//
//   - Errors, threads, blocking: as Subscriber.Offers.
func (handle *Sender) Offers(ctx context.Context, wanted tags.Set) (Offers, error) {
	s := senderOf(handle)
	if s.ended.Load() {
		return Offers{}, ErrClosed
	}
	return s.asking().offers(ctx, wanted)
}

func (s *senderImpl) asking() offersAsked {
	return offersAsked{s.pub.loop, &s.pub.work, s.pub.closer.Ended(), func() (all []*peerContact) {
		for _, out := range s.outlets {
			all = append(all, &out.contact)
		}
		return all
	}, true}
}
