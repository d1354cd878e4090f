// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"context"

	"tagbus/tags"
)

// Offers looks which receivers of the directory have a tag of a set, and if none has,
// which are nearest to it, as Subscriber.Offers.
//
//   - Errors, threads, blocking: as Subscriber.Offers.
func (s *Sender) Offers(ctx context.Context, wanted tags.Set) (Offers, error) {
	if s.ended.Load() {
		return Offers{}, ErrClosed
	}
	return s.asking().offers(ctx, wanted)
}

func (s *Sender) asking() offersAsked {
	return offersAsked{s.pub.loop, &s.pub.work, s.pub.closer.Ended(), func() (all []*peerContact) {
		for _, out := range s.outlets {
			all = append(all, &out.contact)
		}
		return all
	}, true}
}
