// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"context"

	"tagbus/tags"
)

// Offers looks which publishers of the directory have a tag of a set, and if none has,
// which are nearest to it. Distances are to the lowest 64 ranges and patterns of the set.
//
//   - Errors: ErrClosed; ErrOnLoop on the loop of another node; the cause of the end of
//     ctx.
//   - Threads: any. Blocks: until the loop has looked, between other work: some 100 ms for
//     10,000 publishers. On the loop it looks at once.
func (s *Subscriber) Offers(ctx context.Context, wanted tags.Set) (Offers, error) {
	if s.closed.Load() {
		return Offers{}, ErrClosed
	}
	return s.asking().offers(ctx, wanted)
}

func (s *Subscriber) asking() offersAsked {
	return offersAsked{s.loop, &s.work, s.closer.Ended(), func() (all []*peerContact) {
		for _, src := range s.sources {
			all = append(all, &src.contact)
		}
		return all
	}, false}
}
