// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"testing"

	"tagbus/subscription"
	"tagbus/tags"
)

type conn struct{ name string }

// book is one of a test, whose subscribers are remembered by their names.
type book = Book[*conn, string]

// open makes an account with lanes of so many entries, of a subscriber that is
// connected.
func open(b *book, instance string, lanes, entries int) *conn {
	l := &conn{instance}
	for number := range lanes {
		n := b.Open(instance, l, instance, uint16(number), subscription.Policy{}, lanes, func(uint16) bool { return true })
		for tag := range entries {
			n.Add(1, tags.Tag(tag), 1)
		}
	}
	return l
}

// What is remembered of those that have gone is bounded in lanes too.
func TestTheGoneAreForgottenByTheirLanes(t *testing.T) {
	var b book
	for i := range 100 {
		b.Leave(fmt.Sprint(i), open(&b, fmt.Sprint(i), 16, 1000), false)
	}
	entries := 0
	for _, a := range b.byInstance {
		entries += a.entries()
	}
	if one := 16 * (1000 + laneEntries); entries > maxGoneTags || entries < maxGoneTags-one {
		t.Errorf("got %d entries of %d subscribers, want up to %d", entries, len(b.byInstance), maxGoneTags)
	}
	if sums := b.Sums(); sums.Lost.Sum() != 100*16*1000 {
		t.Errorf("got %d lost in all, want %d", sums.Lost.Sum(), 100*16*1000)
	}
}

// When all accounts take too much, the largest goes, of those connected.
func TestTheLargestAccountGoesFirst(t *testing.T) {
	var b book
	open(&b, "small", 1, 10)
	open(&b, "large", 2, 500)
	b.Leave("gone", open(&b, "gone", 2, 1000), false)
	if a, _ := b.Largest(1e6); a != nil {
		t.Errorf("within the limit: got %v, want none", a.Peer)
	}
	a, n := b.Largest(1000)
	if a == nil || a.Peer != "large" || n != 2*(500+laneEntries) {
		t.Fatalf("got %+v with %d entries, want large with %d", a, n, 2*(500+laneEntries))
	}
	lane := a.Lanes()[0]
	b.Forget(a)
	if b.Of("large") != nil {
		t.Error("got the account that was forgotten, want none")
	}
	lane.Add(1, 1_000_000, 1) // of a connection that has yet to end
	if got, want := b.entries.Load(), int64(10+laneEntries+2*(1000+laneEntries)); got != want {
		t.Errorf("got %d entries in all, want %d", got, want)
	}
	if a, _ := b.Largest(int(b.entries.Load())); a != nil {
		t.Errorf("at the limit: got %v, want none", a.Peer)
	}
}

// A connection that was replaced, or that never subscribed, takes nothing from the
// account.
func TestOnlyTheConnectionOfAnAccountLeavesIt(t *testing.T) {
	var b book
	first := open(&b, "x", 1, 1)
	second := open(&b, "x", 1, 0)
	if known := b.Leave("x", first, true); !known || b.Of("x").Link != second {
		t.Errorf("the first leaves: got known %v, connection %v; want true, the second", known, b.Of("x").Link)
	}
	if b.Leave("y", first, true) {
		t.Error("got an account of a stranger")
	}
	b.Leave("x", second, true)
	gone := b.Of("x").gone
	if b.Leave("x", first, false); !b.Returns("x") || b.Of("x").gone != gone {
		t.Error("a connection without subscriptions has changed the account")
	}
	if !b.Owes("x", first) {
		t.Error("got that nothing is owed, want that it is")
	}
}
