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
func (s *Sender) WaitReceivers(ctx context.Context, set tags.Set) error {
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
