// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"

	"tagbus/bus/internal/tagset"
	"tagbus/bus/internal/workqueue"
	"tagbus/netio"
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

	distance uint64
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

const (
	maxOffers       = 3  // that are named
	stepsPerOffer   = 8  // of the loop, beside those for the tags
	setStepsPerStep = 16 // of the tags package, in the time of one of the loop
)

// maxOfferSteps is how many steps the loop takes for Offers: after these it looks at no
// other publisher. Tests make it smaller.
var maxOfferSteps = 2 << 20

// offersAsked is what Offers asks.
type offersAsked struct {
	loop      netio.Loop
	work      *workqueue.Queue
	ended     <-chan struct{}
	contacts  func() []*peerContact // on the loop
	receivers bool
}

// offers asks, on the loop or off it.
func (a offersAsked) offers(ctx context.Context, wanted tags.Set) (Offers, error) {
	if a.loop.OnLoop() {
		var found Offers
		told := false
		look := a.job(ctx, wanted, func(o Offers) { found, told = o, true })
		for done := false; !done; {
			_, done = look(workqueue.SliceSteps)
		}
		if !told {
			return Offers{}, offersEnd(ctx)
		}
		return found, nil
	}
	if a.loop.OnAnyLoop() {
		return Offers{}, ErrOnLoop
	}
	result := make(chan Offers, 1)
	if !a.loop.Post(func() { a.work.Add(a.job(ctx, wanted, func(o Offers) { result <- o })) }) {
		return Offers{}, ErrClosed
	}
	select {
	case o := <-result:
		return o, nil
	case <-a.ended:
		return Offers{}, ErrClosed
	case <-ctx.Done():
		return Offers{}, offersEnd(ctx)
	}
}

func offersEnd(ctx context.Context) error {
	return fmt.Errorf("bus: offers: %w", context.Cause(ctx))
}

// job returns the job that calls tell with the offers, unless ctx ends. Loop only.
func (a offersAsked) job(ctx context.Context, wanted tags.Set, tell func(Offers)) workqueue.Job {
	left := slices.DeleteFunc(a.contacts(), func(c *peerContact) bool { return !c.listed })
	// In a fixed order, so that the same publishers are named each time.
	slices.SortFunc(left, func(a, b *peerContact) int { return cmp.Compare(a.entry.Instance, b.entry.Instance) })
	found := Offers{Wanted: wanted, Publishers: len(left), receivers: a.receivers}
	near := tagset.Ends(wanted)
	total := 0
	return func(budget int) (steps int, done bool) {
		if ctx.Err() != nil {
			return 1, true
		}
		for len(left) > 0 && steps < budget {
			if total > maxOfferSteps {
				found.Unseen, left = len(left), nil
				break
			}
			cost := found.look(left[0], near)
			steps, total, left = steps+cost, total+cost, left[1:]
		}
		if len(left) > 0 {
			return steps, false
		}
		tell(found)
		return max(steps, 1), true
	}
}

// look adds a peer.
func (o *Offers) look(c *peerContact, near []tags.Tag) (steps int) {
	set := c.entry.Tags
	most := 2*(set.Parts()+o.Wanted.Parts()) + setStepsPerStep*workqueue.SliceSteps
	budget := tags.NewBudget(most)
	serves, err := budget.Intersects(set, o.Wanted)
	steps = stepsPerOffer + (most-max(0, budget.Left()))/setStepsPerStep
	if serves || err != nil { // an error: it cannot be ruled out
		o.Serving++
		return steps
	}
	offer := Offer{Peer: c.describe(), Tags: set, distance: tagset.Distance(set, near)}
	at := sort.Search(len(o.Nearest), func(i int) bool { return o.Nearest[i].distance > offer.distance })
	o.Nearest = slices.Insert(o.Nearest, at, offer)
	o.Nearest = o.Nearest[:min(len(o.Nearest), maxOffers)]
	return steps + set.Parts()
}
