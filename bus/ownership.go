package bus

import (
	"tagbus/bus/internal/fanout"
	"tagbus/tags"
)

// ownership says which connections get the messages of a tag: those of all
// subscribers that ask for it, or that of one owner. A Publisher and the part of a
// Sender that queues and sends differ in this and in which side dials.
//
// fanout.mu is held in all methods except expel.
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

	// giveUp stops waiting for peers that cannot come back to an ending publisher. Loop
	// only.
	giveUp()
}

// shared is the ownership of a Publisher's tags: every subscriber may have them.
type shared struct{}

func (shared) use(tags.Tag) {}

func (shared) check(*link, *fanout.Wish) error { return nil }

func (shared) checkSteps(*fanout.Wish) int { return 0 }

func (shared) handOver(*link, []tags.Set) []tags.Set { return nil }

func (shared) entered(*link) {}

func (shared) expel(*link, uint64, *DuplicateError) {}

func (shared) giveUp() {}
