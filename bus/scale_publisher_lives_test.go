// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"fmt"
	"math/rand/v2"

	"tagbus/bus"
	"tagbus/subscription"
	"tagbus/tags"
)

// every returns n tags of which no two are neighbours: as many ranges.
func every(n int) []tags.Tag {
	list := make([]tags.Tag, n)
	for i := range list {
		list[i] = tags.Tag(2 * i)
	}
	return list
}

// tagsOfAPublisher goes through what happens to n tags, which are n ranges.
func tagsOfAPublisher(b *prices, n int) {
	tb, list := b.tb, every(n)
	b.open(2*n, bus.PublisherConfig{Sending: bus.Sending{CacheMessages: 1}})
	s, replayed := b.lean(b.p, "ranges"), b.lean(b.p, "replayed")
	b.op("publish for the first time", func() { b.publish(list) })
	b.op("subscribe", func() { s.subscribed(tb, subscription.Subscribe{ID: 1}, tags.Of(list...)) })
	b.op("subscribe, with replay", func() {
		replayed.subscribed(tb, subscription.Subscribe{ID: 1, Replay: 1}, b.p.Tags())
	})
	b.op("change one tag", func() { s.subscribed(tb, subscription.Subscribe{ID: 1}, tags.Of(list[1:]...)) })
	b.op("publish to two", func() { b.publish(list) })
	b.op("remove half of the tags", func() { must(tb, b.p.RemoveTags(tagRange(tb, 0, tags.Tag(n)))) })
	b.op("add them again", func() { must(tb, b.p.AddTags(tagRange(tb, 0, tags.Tag(n)))) })
	b.op("stats", func() { b.p.Stats() })
	b.op("unsubscribe", func() {
		s.send(tb, &subscription.Unsubscribe{ID: 1})
		for s.take(tb).Kind() != subscription.KindUnsubscribed { // goodbyes of the removed tags come before
		}
	})
	b.op("disconnect", func() { b.quits(replayed) })
	b.quits(s)
	if routed := bus.RoutedTo(b.p.Publisher, 0); routed != n {
		tb.Errorf("got %d tags without a subscriber in the end, want %d", routed, n)
	}
	drainOfAPublisher(b, tags.Of(list...))
}

// drainOfAPublisher ends the publisher in order, with a subscriber.
func drainOfAPublisher(b *prices, set tags.Set) {
	s := b.lean(b.p, "last")
	s.subscribed(b.tb, subscription.Subscribe{ID: 1}, set)
	s.send(b.tb, &subscription.Received{})
	b.op("drain", func() {
		drained := make(chan error)
		go func() { drained <- b.p.Drain(b.tb.Context()) }()
		for m := s.take(b.tb); m.Kind() != subscription.KindGoodbye || len(m.(*subscription.Goodbye).List) > 0; m = s.take(b.tb) {
		}
		s.send(b.tb, &subscription.Goodbye{})
		if err := <-drained; err != nil {
			b.tb.Log(err) // others have confirmed nothing
		}
	})
}

// groupsOfAPublisher goes through what happens to n subscriptions to a tag each, of one
// connection.
func groupsOfAPublisher(b *prices, n int) {
	tb, list := b.tb, every(n)
	b.open(2*n, bus.PublisherConfig{Sending: bus.Sending{CacheMessages: 1}})
	b.publish(list)
	group := func(s *lean, resume bool, first tags.Tag) {
		for i, tag := range list {
			s.ask(tb, subscription.Subscribe{ID: uint64(i + 1), WithNext: i+1 < n, Resume: resume}, tags.Of(first+tag))
		}
		s.wants(tb, subscription.KindSubscribed, n)
	}
	s := b.lean(b.p, "group")
	b.op("subscribe in a group", func() { group(s, false, 0) })
	b.op("change in a group", func() { group(s, false, 1) })
	b.op("stats", func() { b.p.Stats() })
	b.op("unsubscribe each", func() {
		for i := range list {
			s.send(tb, &subscription.Unsubscribe{ID: uint64(i + 1)})
		}
		s.wants(tb, subscription.KindUnsubscribed, n)
	})
	again := b.lean(b.p, "again")
	b.op("resume in a group", func() {
		for _, positions := range listsOf(list) {
			again.send(tb, &subscription.Positions{ID: 1, List: positions})
		}
		group(again, true, 0)
	})
	b.op("disconnect", func() { b.quits(again) })
}

// listsOf returns lists of positions in which each tag stands at 1.
func listsOf(list []tags.Tag) (lists [][]byte) {
	const inOne = 4096
	for at := 0; at < len(list); at += inOne {
		var positions []byte
		last := tags.Tag(0)
		for _, tag := range list[at:min(at+inOne, len(list))] {
			positions = subscription.AppendPosition(positions, last, subscription.Position{Tag: tag, Count: 1})
			last = tag
		}
		lists = append(lists, positions)
	}
	return lists
}

// subscribersOfAPublisher goes through what one connection does beside n others, each
// with a tag of its own and one that all have.
func subscribersOfAPublisher(b *prices, n int) {
	tb, all := b.tb, tags.Tag(2*n)
	b.open(2*n+2, bus.PublisherConfig{})
	b.publish(append(every(n), all))
	crowd := make([]*lean, n)
	for i := range crowd {
		crowd[i] = b.lean(b.p, fmt.Sprint("one of many ", i))
		crowd[i].subscribed(tb, subscription.Subscribe{ID: 1}, tags.Of(tags.Tag(2*i), all))
	}
	b.op("stats", func() { b.p.Stats() })
	b.op("a new tag", func() { b.publish([]tags.Tag{all + 1}) })
	var s *lean
	b.op("another one", func() { s = b.lean(b.p, "another") })
	b.op("subscribe to the tag of all", func() { s.subscribed(tb, subscription.Subscribe{ID: 1}, tags.Of(all)) })
	b.op("publish to all", func() { b.publish([]tags.Tag{all}) })
	b.op("change", func() { s.subscribed(tb, subscription.Subscribe{ID: 1}, tags.Of(0)) })
	b.op("disconnect", func() { b.quits(s) })
	for _, s := range crowd {
		b.quits(s)
	}
}

// routesOfAPublisher has next to n routes, as many as tags: subscribers of random
// halves, so that no two tags have the same ones.
func routesOfAPublisher(b *prices, n int) {
	const halves = 20
	tb := b.tb
	b.open(n-1, bus.PublisherConfig{})
	list := tagsFrom(n)
	b.publish(list)
	random := rand.New(rand.NewPCG(5, 6))
	for i := range halves {
		b.lean(b.p, fmt.Sprint("half ", i)).subscribed(tb, subscription.Subscribe{ID: 1}, half(random, n))
	}
	routes, _, _ := bus.RoutesOf(b.p.Publisher)
	if routes < n*9/10 {
		tb.Fatalf("got %d routes, want about %d", routes, n)
	}
	s := b.lean(b.p, "another")
	b.op("subscribe to one tag", func() { s.subscribed(tb, subscription.Subscribe{ID: 1}, tags.Of(0)) })
	b.op("subscribe to everything", func() { s.subscribed(tb, subscription.Subscribe{ID: 2}, b.p.Tags()) })
	b.op("stats", func() { b.p.Stats() })
	b.op("publish", func() { b.publish(list) })
	b.op("disconnect", func() { b.quits(s) })
}

// tagsFrom returns the tags from 0 to n-1.
func tagsFrom(n int) []tags.Tag {
	list := make([]tags.Tag, n)
	for i := range list {
		list[i] = tags.Tag(i)
	}
	return list
}

// lanesOfAPublisher goes through what happens to the most lanes that a connection may
// have, each with a subscription to n tags.
func lanesOfAPublisher(b *prices, n int) {
	const lanes = 16
	tb := b.tb
	b.open(2*n, bus.PublisherConfig{Sending: bus.Sending{CacheMessages: 1}})
	b.publish(every(n))
	s, set := b.lean(b.p, "lanes"), tags.Of(every(n)...)
	b.op("subscribe in each lane", func() {
		for i := range uint16(lanes) {
			s.subscribed(tb, subscription.Subscribe{ID: uint64(i + 1), Lane: i, Policy: fmt.Sprintf("sample:%d", i+1), Replay: 1}, set)
		}
	})
	b.op("publish to all lanes", func() { b.publish(every(n)) })
	b.op("disconnect", func() { b.quits(s) })
}
