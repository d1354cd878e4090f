// SPDX-License-Identifier: Apache-2.0

package lossfile

import (
	"cmp"
	"slices"
	"time"

	"tagbus/bus/state"
	"tagbus/tags"
)

const (
	// maxLines is how many kinds of losses have a line at a time, those with most. Others
	// are added up: those of a peer, a policy and a cause, and beyond maxSums those of a
	// cause.
	maxLines = 100
	maxSums  = 16

	// maxKinds is how many kinds of losses wait to be written; others are added up at once.
	maxKinds = 1 << 16
)

// kind is what is added up in one line.
type kind struct {
	peer   Peer
	tag    tags.Tag
	summed bool // of several tags
	policy string
	cause  state.Cause
}

// amount is how much of a kind was lost.
type amount struct {
	count       uint64
	tags        int
	first, last time.Time
}

// add adds b, of which no tag is among those of a.
func (a *amount) add(b *amount) {
	a.count += b.count
	a.tags += b.tags
	if a.first.IsZero() || b.first.Before(a.first) {
		a.first = b.first
	}
	if b.last.After(a.last) {
		a.last = b.last
	}
}

// loss is an amount of a kind.
type loss struct {
	kind
	amount
}

// put adds to what waits. mu is held.
func (w *Writer) put(l loss) {
	a := w.waiting[l.kind]
	if a == nil && len(w.waiting) >= maxKinds {
		l.kind = l.ofCause()
		l.tags = 0 // it may be among those that are counted
		a = w.waiting[l.kind]
	}
	if a == nil {
		a = new(amount)
		w.waiting[l.kind] = a
	}
	l.tags = max(l.tags-a.tags, 0) // the others are the same ones
	a.add(&l.amount)
}

// take returns what is to be written now: the largest amounts, and the others added up.
func (w *Writer) take() []loss {
	w.mu.Lock()
	waiting := w.waiting
	if len(waiting) == 0 {
		w.mu.Unlock()
		return nil
	}
	w.waiting = make(map[kind]*amount)
	w.mu.Unlock()
	byCause := make(map[kind]*amount)
	for k, a := range waiting {
		if k == k.ofCause() {
			byCause[k] = a
			delete(waiting, k)
		}
	}
	losses := sorted(waiting)
	sums := make(map[kind]*amount)
	for _, l := range losses[min(maxLines, len(losses)):] {
		sum(sums, l.ofPeer(), &l.amount)
	}
	ofPeers := sorted(sums)
	for _, l := range ofPeers[min(maxSums, len(ofPeers)):] {
		sum(byCause, l.ofCause(), &l.amount)
	}
	return slices.Concat(losses[:min(maxLines, len(losses))], ofPeers[:min(maxSums, len(ofPeers))], sorted(byCause))
}

// ofPeer returns the kind of all tags of the same peer, policy and cause.
func (k kind) ofPeer() kind {
	return kind{peer: k.peer, summed: true, policy: k.policy, cause: k.cause}
}

// ofCause returns the kind of all losses of the same cause.
func (k kind) ofCause() kind { return kind{summed: true, cause: k.cause} }

func sum(sums map[kind]*amount, k kind, a *amount) {
	if sums[k] == nil {
		sums[k] = new(amount)
	}
	sums[k].add(a)
}

// sorted returns amounts, the largest first.
func sorted(amounts map[kind]*amount) []loss {
	losses := make([]loss, 0, len(amounts))
	for k, a := range amounts {
		losses = append(losses, loss{k, *a})
	}
	slices.SortFunc(losses, func(a, b loss) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.tag, b.tag), cmp.Compare(a.peer.Instance, b.peer.Instance),
			cmp.Compare(a.policy, b.policy), cmp.Compare(a.cause, b.cause))
	})
	return losses
}
