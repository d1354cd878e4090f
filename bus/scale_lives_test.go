// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"tagbus/tags"
)

// lifeOfATagSet goes through what happens to subscriptions to n used tags.
func lifeOfATagSet(b *scaleBed, n int) {
	p := b.publisher(1, n, true)
	part := func(from, to int) tags.Set {
		set, err := tags.Range(tags.Tag(from), tags.Tag(to))
		must(b.tb, err)
		return set
	}
	ctx := b.tb.Context()
	var sub, all *Subscription
	b.op("subscribe", func() {
		var err error
		sub, err = b.s.Subscribe(part(1, n/3), func(Message) {})
		must(b.tb, err)
		must(b.tb, sub.Wait(ctx))
	})
	b.op("subscribe to everything", func() {
		var err error
		all, err = b.s.SubscribeWith(tags.Everything(), func(Message) {}, SubscriptionConfig{Policy: Policy{Kind: DropNewest}})
		must(b.tb, err)
		must(b.tb, all.Wait(ctx))
	})
	b.op("stats", func() {
		_, err := b.s.TagStats(ctx)
		must(b.tb, err)
	})
	b.op("resubscribe", func() {
		b.cut(p)
		b.had(Resubscribed, 2)
	})
	b.op("a directory event", func() {
		must(b.tb, p.AddTags(tags.Of(tags.MaxTag)))
		b.until(func() bool { return subscriberOf(b.s).sources[p.Instance()].contact.Entry.Tags.Contains(tags.MaxTag) })
	})
	b.op("remove most", func() {
		must(b.tb, sub.Remove(part(1, n/3-100)))
		must(b.tb, sub.Wait(ctx))
	})
	b.op("add others, and prune", func() {
		must(b.tb, sub.Add(part(n/3+1, n)))
		must(b.tb, sub.Wait(ctx))
	})
	b.op("unsubscribe", func() { must(b.tb, all.Unsubscribe(ctx)) })
	b.on(func() {
		known := subscriberOf(b.s).sources[p.Instance()].in.Known(0)
		if want := n - n/3 + 100; known.Len() != want || known.Moving() {
			b.tb.Errorf("got %d tags remembered in the end, and moving %v; want %d, false", known.Len(), known.Moving(), want)
		}
	})
}

// lifeOfSubscriptions goes through what happens to n subscriptions to a tag each.
func lifeOfSubscriptions(b *scaleBed, n int) {
	p := b.publisher(1, n, true)
	subs := make([]*Subscription, n)
	ctx := b.tb.Context()
	first, err := b.s.Subscribe(tags.Of(1), func(Message) {}) // so that the connection is there
	must(b.tb, err)
	must(b.tb, first.Wait(ctx))
	b.op("subscribe", func() {
		for i := range subs {
			var err error
			subs[i], err = b.s.SubscribeWith(tags.Of(tags.Tag(i+1)), func(Message) {}, SubscriptionConfig{Duplicates: DuplicatesNewest})
			must(b.tb, err)
		}
		for _, sub := range subs {
			must(b.tb, sub.Wait(ctx))
		}
	})
	b.op("a directory event", func() {
		must(b.tb, p.AddTags(tags.Of(tags.MaxTag)))
		b.until(func() bool { return subscriberOf(b.s).sources[p.Instance()].contact.Entry.Tags.Contains(tags.MaxTag) })
	})
	b.op("resubscribe", func() {
		b.cut(p)
		b.had(Resubscribed, n)
	})
	b.op("a publisher of the same tags", func() {
		b.publisher(1, n, false)
		b.had(Subscribed, n)
		b.had(Unsubscribed, n) // from the older one
	})
	b.op("unsubscribe", func() {
		for _, sub := range subs[1:] {
			must(b.tb, sub.Close())
		}
		must(b.tb, subs[0].Unsubscribe(ctx))
		b.until(func() bool { return len(subscriberOf(b.s).leaving) == 0 })
	})
}
