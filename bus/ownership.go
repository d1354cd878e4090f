package bus

import "tagbus/tags"

// ownership says which connections get the messages of a tag: those of all
// subscribers that ask for it, or that of one owner. A Publisher and the part of a
// Sender that queues and sends differ in this and in which side dials.
//
// Publisher.mu is held in all methods except expel.
type ownership interface {
	// use takes the news that a tag is used for the first time.
	use(tag tags.Tag)

	// check reports why a connection may not have the tags of a subscription. A
	// *DuplicateError ends the connection; any other error only refuses.
	check(l *link, w *wish) error

	// checkSteps returns what check costs.
	checkSteps(w *wish) int

	// handOver takes the news that a connection gets sets, and returns the tags of
	// which the cache is to forget all: another connection has had some of them.
	handOver(l *link, sets []tags.Set) (lost []tags.Set)

	// entered takes the news that a group of subscriptions is active. Loop only.
	entered(l *link)

	// expel refuses a subscription for what check has found, and ends the
	// connection. Loop only.
	expel(l *link, id uint64, duplicate *DuplicateError)

	// giveUp ceases to wait for peers that cannot come back, when the publisher
	// ends. Loop only.
	giveUp()
}

// shared is the ownership of a Publisher's tags: every subscriber may have them.
type shared struct{}

func (shared) use(tags.Tag) {}

func (shared) check(*link, *wish) error { return nil }

func (shared) checkSteps(*wish) int { return 0 }

func (shared) handOver(*link, []tags.Set) []tags.Set { return nil }

func (shared) entered(*link) {}

func (shared) expel(*link, uint64, *DuplicateError) {}

func (shared) giveUp() {}
