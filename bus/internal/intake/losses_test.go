// SPDX-License-Identifier: Apache-2.0

package intake

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tagbus/bus/internal/ledger"
	"tagbus/bus/internal/positions"
	"tagbus/bus/internal/wire"
	"tagbus/subscription"
	"tagbus/tags"
)

type tag = tags.Tag

func newTestIntake() *Intake[string, int] { return &newBed().in }

// at is a position.
func at(t tag, n uint64) subscription.Position { return subscription.Position{Tag: t, Count: n} }

// What control messages say of positions and losses, by what is known before.
func TestIntake_positionsShowWhatIsMissing(t *testing.T) {
	lost := func(cause subscription.Cause, total bool, n uint64) func(*Intake[string, int]) error {
		return func(in *Intake[string, int]) error {
			return in.Lost(&subscription.Lost{Cause: cause, Total: total, List: list(at(1, n))})
		}
	}
	begins := func(n uint64) func(*Intake[string, int]) error {
		return func(in *Intake[string, int]) error { return in.Positions(0, list(at(1, n))) }
	}
	goodbye := func(n uint64) func(*Intake[string, int]) error {
		return func(in *Intake[string, int]) error { return in.Goodbye(&subscription.Goodbye{List: list(at(1, n))}) }
	}
	const full, conn = subscription.CauseFull, subscription.CauseConnection
	for _, x := range []struct {
		name     string
		owed     bool
		received int
		does     []func(*Intake[string, int]) error
		position uint64
		lost     ledger.Counts
		told     uint64 // to the user
		sent     []string
		breaks   bool
	}{
		{name: "begins", does: []func(*Intake[string, int]) error{begins(7)}, position: 7},
		{name: "was away", owed: true, received: 3, does: []func(*Intake[string, int]) error{begins(5)}, position: 5, lost: ledger.Counts{conn: 2}, told: 2, sent: []string{"1:2"}},
		{name: "nothing missed", owed: true, received: 3, does: []func(*Intake[string, int]) error{begins(3)}, position: 3},
		{name: "goes back", owed: true, received: 3, does: []func(*Intake[string, int]) error{begins(2)}, position: 3, breaks: true},
		{name: "beyond all", does: []func(*Intake[string, int]) error{begins(positions.Max + 1)}, breaks: true},
		{name: "a notice", owed: true, received: 1, does: []func(*Intake[string, int]) error{lost(full, false, 4)}, position: 5, lost: ledger.Counts{full: 4}, told: 4},
		{name: "a notice of nothing", owed: true, received: 1, does: []func(*Intake[string, int]) error{lost(full, false, 0)}, position: 1, breaks: true},
		{name: "a notice of too much", owed: true, received: 1, does: []func(*Intake[string, int]) error{lost(full, false, positions.Max)}, position: 1, breaks: true},
		{
			name: "totals before the position", owed: true, received: 3,
			does:     []func(*Intake[string, int]) error{lost(full, true, 2), begins(9)},
			position: 9, lost: ledger.Counts{full: 2, conn: 4}, told: 6, sent: []string{"1:4"},
		},
		{
			name: "totals again", owed: true, received: 3,
			does:     []func(*Intake[string, int]) error{lost(full, false, 2), lost(full, true, 2), begins(5)},
			position: 5, lost: ledger.Counts{full: 2}, told: 2,
		},
		{
			name: "totals of a subscription that was closed", received: 3,
			does:     []func(*Intake[string, int]) error{lost(full, true, 2), begins(9)},
			position: 9, lost: ledger.Counts{full: 2},
		},
		{name: "an end", received: 3, does: []func(*Intake[string, int]) error{goodbye(5)}, position: 5, lost: ledger.Counts{ledger.Ended: 2}, told: 2},
	} {
		t.Run(x.name, func(t *testing.T) {
			b := newBed()
			b.asked, b.aims = map[tag]bool{1: x.owed}, map[tag][]string{1: {"a"}}
			if x.received > 0 {
				b.run(t, pageOf(t, false, false, plain(1, make([]string, x.received)...)...))
			}
			var err error
			for _, do := range x.does {
				err = errors.Join(err, do(&b.in))
			}
			if broken := errors.As(err, new(Violation)); broken != x.breaks {
				t.Errorf("got %v, want a violation: %v", err, x.breaks)
			}
			known := b.in.Known(0).Get(1)
			if got := known.Tally.Lost(); known.Tally.Position != x.position || got != x.lost {
				t.Errorf("got position %d, lost %v; want %d, %v", known.Tally.Position, got, x.position, x.lost)
			}
			if b.gapped[1] != x.told {
				t.Errorf("the user is told of %d, want %d", b.gapped[1], x.told)
			}
			var sent []string
			for _, m := range b.sent {
				for p, err := range subscription.PositionsOf(m.(*subscription.Missed).List) {
					if err != nil {
						t.Fatal(err)
					}
					sent = append(sent, fmt.Sprintf("%d:%d", p.Tag, p.Count))
				}
			}
			if !slices.Equal(sent, x.sent) {
				t.Errorf("the publisher is told %v, want %v", sent, x.sent)
			}
		})
	}
}

// A list that cannot be read is no Violation, and a tag that was not asked for is one.
func TestIntake_controlMessagesAreNotTrusted(t *testing.T) {
	b := newBed()
	cut := []byte{0xff}
	for what, err := range map[string]error{
		"positions": b.in.Positions(0, cut),
		"goodbye":   b.in.Goodbye(&subscription.Goodbye{List: cut}),
		"lost":      b.in.Lost(&subscription.Lost{List: cut}),
	} {
		if err == nil || errors.As(err, new(Violation)) {
			t.Errorf("%s cut off: got %v", what, err)
		}
	}
	for what, err := range map[string]error{
		"positions": b.in.Positions(3, list(at(1, 1))),
		"goodbye":   b.in.Goodbye(&subscription.Goodbye{Lane: 3, List: list(at(1, 1))}),
		"lost":      b.in.Lost(&subscription.Lost{Lane: 3, List: list(at(1, 1))}),
	} {
		if !errors.As(err, new(Violation)) {
			t.Errorf("%s of a tag that was not asked for: got %v", what, err)
		}
	}
	if n := b.in.Lanes(); n != 0 {
		t.Errorf("got %d lanes of nothing that was asked for", n)
	}
}

// What is received and lost is told once on each connection, and again on the next one.
func TestIntake_whatIsDroppedIsTold(t *testing.T) {
	b := newBed()
	b.asked, b.aims = map[tag]bool{1: true, 2: true}, map[tag][]string{1: {"a"}, 2: {"a"}}
	expect := func(when string, want ...string) {
		t.Helper()
		b.in.TellDropped()
		var got []string
		for _, m := range b.sent {
			switch m := m.(type) {
			case *subscription.Received:
				got = append(got, fmt.Sprintf("received %d", m.Messages))
			case *subscription.Dropped:
				text := fmt.Sprintf("dropped %d for %d", m.Messages, m.Cause)
				for p, err := range subscription.PositionsOf(m.List) {
					if err != nil {
						t.Fatal(err)
					}
					text += fmt.Sprintf(" %d:%d", p.Tag, p.Count)
				}
				got = append(got, text)
			}
		}
		if b.sent = nil; !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", when, got, want)
		}
	}
	b.in.Greeted(true)
	b.in.Begin(0)
	expect("nothing is dropped", "received 0")
	b.run(t, pageOf(t, false, false, append(plain(1, "x", "y"), plain(2, "z")...)...))
	b.in.Drop(0, 1, ledger.Queue, 1, false)
	b.in.Drop(0, 2, ledger.Panic, 1, false)
	b.in.Drop(0, 2, ledger.Queue, 1, true) // superseded
	if b.reports != 2 || b.gaps[ledger.Queue] != 2 || b.gaps[ledger.Panic] != 0 || b.in.Sums().Superseded != 1 {
		t.Errorf("got %d reports, gaps %v, superseded %d", b.reports, b.gaps, b.in.Sums().Superseded)
	}
	b.waits = true
	expect("the publisher does not read")
	if b.reports != 3 {
		t.Error("it is not told later")
	}
	b.waits = false
	queue, panics := fmt.Sprintf("dropped 1 for %d 1:1", ledger.Queue), fmt.Sprintf("dropped 1 for %d 2:1", ledger.Panic)
	expect("it reads", "received 3", queue, panics)
	expect("nothing is new")
	b.in.Disconnected()
	b.in.Greeted(true)
	expect("the lane is not acknowledged again")
	b.in.Begin(0)
	expect("the next connection", "received 3", queue, panics)
	b.in.Disconnected()
	b.in.Greeted(false)
	b.in.Begin(0)
	expect("a publisher that does not take it", "received 3")
}

// A tag may be forgotten and wanted again between a loss and the report of it: nothing of it is
// known then, and a publisher ends a connection for a total of 0.
func TestIntake_reportHasNoTagOfWhichNothingIsKnown(t *testing.T) {
	n := new(lane[string, int])
	for tag := tags.Tag(1); tag <= 2; tag++ {
		n.tags.Add(tag, func(*Tag[string, int]) {})
	}
	n.tags.Get(2).Tally.Drop(ledger.Queue, 3)
	var got []subscription.Position
	for p, err := range subscription.PositionsOf(n.dropped(ledger.Queue, []tags.Tag{1, 2, 3})) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, p)
	}
	if want := []subscription.Position{{Tag: 2, Count: 3}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Losses of a tag that is forgotten are counted and told all the same.
func TestIntake_lossOfAForgottenTagIsTold(t *testing.T) {
	b := newBed()
	b.in.Drop(0, 7, ledger.Queue, 2, false)
	if b.lost[ledger.Queue] != 2 || b.gapped[7] != 2 {
		t.Errorf("got %v lost, told of %d; want 2", b.lost, b.gapped[7])
	}
}

// Where the tags of a set stand is told in order, for few tags of many as for many of few.
func TestIntake_Stands(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBed()
		var want []subscription.Position
		first := rapid.Uint64Range(1, 50).Draw(t, "first")
		set, err := tags.Range(tag(first), tag(first+rapid.Uint64Range(0, 200).Draw(t, "more")))
		if err != nil {
			t.Fatal(err)
		}
		for n := range tag(rapid.IntRange(0, 100).Draw(t, "known")) {
			b.asked[n] = false
			if err := b.in.Positions(0, list(at(n, uint64(n%3)))); err != nil {
				t.Fatal(err)
			}
			if n%3 > 0 && n%2 == 0 && set.Contains(n) {
				want = append(want, at(n, uint64(n%3)))
			}
		}
		var got []subscription.Position
		due := func(n tag) bool { return n%2 == 0 && set.Contains(n) }
		job := b.in.Stands(0, set, due, func(p subscription.Position) { got = append(got, p) })
		for done := false; !done; {
			_, done = job(rapid.IntRange(1, 40).Draw(t, "budget"))
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

// A publisher that publishes, loses, and is lost: both ends agree, and every message of the
// tag was delivered or is lost by a cause.
func TestIntake_missesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBed()
		b.asked, b.aims = map[tag]bool{1: true}, map[tag][]string{1: {"a"}}
		b.in.Greeted(true)
		var published, sent uint64 // sent: received or told
		missed, full := uint64(0), uint64(0)
		t.Repeat(map[string]func(*rapid.T){
			"a page": func(t *rapid.T) {
				n := rapid.IntRange(1, 5).Draw(t, "messages")
				if err := b.in.Open(wire.Split(pageOf(t, false, false, plain(1, make([]string, n)...)...))); err != nil {
					t.Fatal(err)
				}
				for b.in.Next() {
				}
				if _, err := b.in.End(false); err != nil {
					t.Fatal(err)
				}
				published, sent = published+uint64(n), sent+uint64(n)
			},
			"a notice": func(t *rapid.T) {
				n := rapid.Uint64Range(1, 5).Draw(t, "messages")
				if err := b.in.Lost(&subscription.Lost{Cause: subscription.CauseFull, List: list(at(1, n))}); err != nil {
					t.Fatal(err)
				}
				published, sent, full = published+n, sent+n, full+n
			},
			"a connection is lost": func(t *rapid.T) {
				published += rapid.Uint64Range(0, 5).Draw(t, "messages")
				b.in.Disconnected()
				b.in.Greeted(true)
				if published == 0 {
					return
				}
				if err := b.in.Positions(0, list(at(1, published))); err != nil {
					t.Fatal(err)
				}
				missed, sent = missed+published-sent, published
			},
		})
		if published == 0 {
			return
		}
		tally := &b.in.Known(0).Get(1).Tally
		lost := tally.Lost()
		if tally.Position != published || tally.Position != tally.Delivered+lost.Missing() {
			t.Fatalf("got position %d, delivered %d, lost %v; published %d", tally.Position, tally.Delivered, lost, published)
		}
		if lost[subscription.CauseConnection] != missed || lost[subscription.CauseFull] != full || b.gapped[1] != missed+full {
			t.Fatalf("got %v lost, told of %d; want %d with connections, %d full", lost, b.gapped[1], missed, full)
		}
	})
}
