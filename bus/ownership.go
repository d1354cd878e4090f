// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"fmt"

	"tagbus/bus/internal/fanout"
	"tagbus/bus/internal/tagset"
	"tagbus/subscription"
	"tagbus/tags"
)

// ownership says which connections get the messages of a tag: those of all
// subscribers that ask for it, or that of one owner. A Publisher and the part of a
// Sender that queues and sends differ in this and in which side dials.
//
// fan.Mu is held in all methods except expel and freed.
type ownership interface {
	// use notes that a tag is used for the first time.
	use(tag tags.Tag)

	// check returns why a connection may not have the tags of a subscription. A
	// *DuplicateError ends the connection; any other error only refuses.
	check(l *link, w *fanout.Wish) error

	// checkSteps returns the cost of check.
	checkSteps(w *fanout.Wish) int

	// handOver notes that a connection gets sets. It returns the tags that the cache
	// must forget, because another connection has had some of them.
	handOver(l *link, sets []tags.Set) (lost []tags.Set)

	// entered notes that a group of subscriptions is active. Loop only.
	entered(l *link)

	// expel refuses a subscription for the error of check, and ends the connection.
	// Loop only.
	expel(l *link, id uint64, duplicate *DuplicateError)

	// freed notes that a connection has given up tags. Loop only.
	freed()

	// giveUp stops waiting for peers that cannot come back to an ending publisher. Loop
	// only.
	giveUp()
}

// shared is the ownership of a Publisher's tags: every subscriber may have them.
type shared struct{}

func (shared) use(tags.Tag)                          {}
func (shared) check(*link, *fanout.Wish) error       { return nil }
func (shared) checkSteps(*fanout.Wish) int           { return 0 }
func (shared) handOver(*link, []tags.Set) []tags.Set { return nil }
func (shared) entered(*link)                         {}
func (shared) expel(*link, uint64, *DuplicateError)  {}
func (shared) freed()                                {}
func (shared) giveUp()                               {}

// exclusive is the ownership of a Sender's tags: each has one owner, the receiver that
// subscribed to it first.
type exclusive struct {
	sender *senderImpl

	// Guarded by fan.Mu.
	last  tagset.Owners // receivers, beyond their connections: cached messages of one are not sent to another
	using []tags.Tag    // used for the first time, and not yet wanted
}

// use implements ownership: the receiver of the tag is connected to, soon.
func (x *exclusive) use(tag tags.Tag) {
	if x.using = append(x.using, tag); len(x.using) == 1 {
		x.sender.pub.loop.Post(x.wantUsed)
	}
}

// wantUsed connects to the receivers of the tags that are used since the last call.
// Loop only.
func (x *exclusive) wantUsed() {
	p := x.sender.pub
	p.fan.Mu.Lock()
	used := x.using
	x.using = nil
	p.fan.Mu.Unlock()
	x.sender.want(tags.Of(used...))
}

// check implements ownership: no other receiver has a tag, and this one has it in one
// lane only, since a message is sent once.
func (x *exclusive) check(l *link, w *fanout.Wish) error {
	if other := x.duplicate(l, w.Set); other != nil {
		other.Second = l.peer
		return other
	}
	for _, n := range l.out.Lanes {
		if lane := w.Request.Lane; n.Number != lane && n.Overlaps(w.Set) {
			return fmt.Errorf("bus: a receiver subscribed to tags in lanes %d and %d", n.Number, lane)
		}
	}
	return nil
}

// checkSteps implements ownership: another owner is looked for among all receivers.
func (x *exclusive) checkSteps(w *fanout.Wish) int { return len(x.sender.pub.links) * w.Set.Parts() }

// duplicate returns a receiver other than l that has tags of a set, or nil.
// fan.Mu is held.
func (x *exclusive) duplicate(l *link, set tags.Set) *DuplicateError {
	p := x.sender.pub
	for other := range p.links {
		if other == l {
			continue
		}
		if both, some := other.out.Common(set); some {
			return &DuplicateError{Tags: both, First: other.peer}
		}
	}
	return nil
}

// handOver implements ownership: messages sent to another receiver were handled there,
// or may have been.
func (x *exclusive) handOver(l *link, sets []tags.Set) (lost []tags.Set) {
	if !x.sender.pub.fan.HasCache() {
		return nil
	}
	return x.last.HandOver(l.peer.Instance, sets)
}

// entered implements ownership: a duplicate after this one is reported again.
func (x *exclusive) entered(l *link) { x.sender.dialed[l].alarmed = "" }

// expel implements ownership: the owner may go, and then the receiver is dialed again.
func (x *exclusive) expel(l *link, id uint64, duplicate *DuplicateError) {
	out := x.sender.dialed[l]
	out.report(duplicate)
	b, err := subscription.Append(nil, refusal(id, duplicate))
	if err != nil {
		out.fail(err)
		return
	}
	l.closeAfter(b, duplicate)
}

// freed implements ownership: another receiver may have waited for them.
func (x *exclusive) freed() { x.sender.freed() }

// giveUp implements ownership: a receiver cannot come back if it is not in the
// directory, or another one has its tags. Its Lost event has told what is
// unconfirmed.
func (x *exclusive) giveUp() {
	x.sender.pub.accounts.GiveUp(func(instance string) (reachable bool) {
		out := x.sender.outlets[instance]
		return out != nil && out.contact.Listed && x.duplicate(nil, out.contact.Entry.Tags) == nil
	})
}
