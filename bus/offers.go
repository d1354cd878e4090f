// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"tagbus/bus/internal/offers"
	"tagbus/bus/internal/workqueue"
	"tagbus/tags"
)

// Offers says which publishers the directory has, as seen by a subscriber that wants
// some tags, or which receivers, as seen by a sender. Its text is for people who wonder why
// nothing comes, or goes.
type Offers struct {
	Wanted     tags.Set
	Publishers int // or receivers, that are in the directory and speak of their tags
	Serving    int // of these, have a wanted tag, or may have one
	Unseen     int // of these, were not looked at: their sets are too large

	// Nearest are up to 3 of those without a wanted tag: those with the least distance
	// between a wanted tag and one of theirs.
	Nearest []Offer

	receivers bool // not publishers
}

// Offer is what one publisher has.
type Offer struct {
	Peer *Peer // as the directory describes it
	Tags tags.Set
}

// None reports whether there are publishers, and none of them has a wanted tag.
func (o Offers) None() bool { return o.Publishers > 0 && o.Serving == 0 && o.Unseen == 0 }

// String returns the offers as a line of bounded length.
func (o Offers) String() string {
	role := "publisher"
	if o.receivers {
		role = "receiver"
	}
	text := fmt.Sprintf("%d %ss here", o.Publishers, role)
	if o.Publishers == 1 {
		text = fmt.Sprintf("1 %s here", role)
	}
	if !o.None() {
		return fmt.Sprintf("%s, %d of tags %s", text, o.Serving, shortSet(o.Wanted))
	}
	var near []string
	for _, offer := range o.Nearest {
		set := "none"
		if !offer.Tags.IsEmpty() {
			set = shortSet(offer.Tags)
		}
		near = append(near, fmt.Sprintf("%v has %s", offer.Peer, set))
	}
	return fmt.Sprintf("%s, none of tags %s; nearest sets: %s", text, shortSet(o.Wanted), strings.Join(near, ", "))
}

// maxOfferSteps is how many steps the loop takes for Offers: after these it looks at no
// other publisher. Tests make it smaller.
var maxOfferSteps = 2 << 20

// offers looks what peers offer.
//
//   - receivers: they are none of publishers.
//   - peers: calls yield for each of them, on the loop.
func (s *side) offers(ctx context.Context, wanted tags.Set, receivers bool, peers func(yield func(*peerContact) bool)) (Offers, error) {
	o, err := workqueue.Ask(ctx, s.asked(), func(tell func(Offers)) workqueue.Job {
		listed := slices.DeleteFunc(slices.Collect(peers), func(c *peerContact) bool { return !c.Listed })
		// In a fixed order, so that the same publishers are named each time.
		slices.SortFunc(listed, func(a, b *peerContact) int { return cmp.Compare(a.Entry.Instance, b.Entry.Instance) })
		search := offers.Search[*peerContact]{Wanted: wanted, Peers: listed, Tags: func(c *peerContact) tags.Set { return c.Entry.Tags }, MaxSteps: maxOfferSteps}
		return search.Job(ctx, func(found offers.Found[*peerContact]) {
			o := Offers{Wanted: wanted, Publishers: len(listed), Serving: found.Serving, Unseen: found.Unseen, receivers: receivers}
			for _, near := range found.Nearest {
				o.Nearest = append(o.Nearest, Offer{Peer: near.Peer.Describe(), Tags: near.Tags})
			}
			tell(o)
		})
	})
	return o, unanswered("offers", err)
}
