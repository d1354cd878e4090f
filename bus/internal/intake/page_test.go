// SPDX-License-Identifier: Apache-2.0

package intake

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tagbus/bus/internal/wire"
	"tagbus/subscription"
)

// Messages come in order, with their targets and positions; those without a target are
// counted and not shown.
func TestIntake_pageIsDeliveredToItsTargets(t *testing.T) {
	b := newBed()
	b.asked = map[tag]bool{1: true, 2: true, 3: false}
	b.aims = map[tag][]string{1: {"a"}, 2: {"a", "b"}}
	records := slices.Concat(plain(1, "x", "y"), plain(3, "no"), plain(2, "z"), plain(1, "u"))
	got, p := b.run(t, pageOf(t, false, false, records...))
	want := []string{"[a] 1:1=x", "[a] 1:2=y", "[a b] 2:1=z", "[a] 1:3=u"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if want := (Page{Messages: 4, Bytes: 4, Unwanted: 1}); p != want {
		t.Errorf("got %+v, want %+v", p, want)
	}
	if b.aimed != 3 {
		t.Errorf("targets were looked up %d times, want once for each tag", b.aimed)
	}
	if sums := b.in.Sums(); sums.Messages != 4 || sums.Pages != 1 {
		t.Errorf("got %+v in all", sums)
	}
}

// A run of plain messages may be read behind the first one, by one or by all, until the
// targets change.
func TestIntake_runIsReadBehindAMessage(t *testing.T) {
	for _, way := range []string{"one by one", "all at once"} {
		t.Run(way, func(t *testing.T) {
			b := newBed()
			b.asked = map[tag]bool{1: true, 2: true}
			b.aims = map[tag][]string{1: {"a"}, 2: {"b"}}
			data := pageOf(t, false, false, append(plain(1, "x", "y", "z"), plain(2, "u")...)...)
			if err := b.in.Open(wire.Split(data)); err != nil || !b.in.Next() {
				t.Fatalf("no message: %v", err)
			}
			if way == "all at once" {
				run, messages := b.in.Reader.Run()
				b.in.DeliveredAll(messages, len(run)-messages*wire.PlainBytes)
			}
			for b.in.Same() {
				data, ok := b.in.Reader.NextPlain()
				if !ok {
					break
				}
				if position := b.in.Delivered(len(data)); position == 2 {
					b.in.Changed()
				}
			}
			want := uint64(3)
			if way == "one by one" {
				want = 2
			}
			if got := b.in.Position(); got != want {
				t.Errorf("the run ends at %d, want %d", got, want)
			}
			for b.in.Next() {
			}
			p, err := b.in.End(false)
			if want := (Page{Messages: 4, Bytes: 4}); err != nil || p != want {
				t.Errorf("got %+v, %v; want %+v", p, err, want)
			}
		})
	}
}

// A change while a page is delivered finds other targets for the rest of it, and a target
// that has the old ones can see that.
func TestIntake_targetsChangeWithinAPage(t *testing.T) {
	b := newBed()
	b.asked = map[tag]bool{1: true}
	b.aims = map[tag][]string{1: {"a"}}
	if err := b.in.Open(wire.Split(pageOf(t, false, false, plain(1, "x", "y", "z")...))); err != nil {
		t.Fatal(err)
	}
	var got []string
	for b.in.Next() {
		before := b.in.Targets()
		got = append(got, before[0])
		if len(got) == 1 {
			if b.in.Moved() {
				t.Error("nothing has changed")
			}
			b.aims[1] = []string{"b"}
			if b.in.Changed(); !b.in.Moved() || before[0] != "a" {
				t.Error("a change is not seen, or changes what is in use")
			}
		}
	}
	if want := []string{"a", "b", "b"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	b.aims[1] = nil
	b.in.Changed()
	if _, p := b.run(t, pageOf(t, false, false, plain(1, "x")...)); p.Unwanted != 1 || p.Messages != 0 {
		t.Errorf("without targets: got %+v", p)
	}
}

// A page that asks is answered: was its last message handled?
func TestIntake_pageIsAcknowledged(t *testing.T) {
	for _, x := range []struct {
		name        string
		targets     []string
		fails       int // the number of the message that fails; 0: none
		ack, broken bool
		want        []string
	}{
		{"it does not ask", []string{"a"}, 0, false, false, nil},
		{"handled", []string{"a"}, 0, true, false, []string{"&{Tag:1 Position:2 Failed:false}"}},
		{"the last one fails", []string{"a"}, 2, true, false, []string{"&{Tag:1 Position:2 Failed:true}"}},
		{"an earlier one fails", []string{"a"}, 1, true, false, []string{"&{Tag:1 Position:2 Failed:false}"}},
		{"unwanted", nil, 0, true, false, []string{"&{Tag:1 Position:2 Failed:true}"}},
		{"the connection has ended", []string{"a"}, 0, true, true, nil},
	} {
		t.Run(x.name, func(t *testing.T) {
			b := newBed()
			b.asked, b.aims = map[tag]bool{1: true}, map[tag][]string{1: x.targets}
			if err := b.in.Open(wire.Split(pageOf(t, false, x.ack, plain(1, "x", "y")...))); err != nil {
				t.Fatal(err)
			}
			for n := 1; b.in.Next(); n++ {
				if n == x.fails {
					b.in.Fails()
				}
			}
			if _, err := b.in.End(x.broken); err != nil {
				t.Fatal(err)
			}
			if got := b.take(); !slices.Equal(got, x.want) {
				t.Errorf("got %v, want %v", got, x.want)
			}
		})
	}
}

// A page whose messages have positions shows what the policy has left out.
func TestIntake_pageWithPositionsShowsWhatIsLeftOut(t *testing.T) {
	b := newBed()
	b.asked, b.aims = map[tag]bool{1: true}, map[tag][]string{1: {"a"}}
	got, _ := b.run(t, pageOf(t, true, false, record{1, 3, "x"}, record{1, 4, "y"}, record{1, 10, "z"}))
	if want := []string{"[a] 1:3=x", "[a] 1:4=y", "[a] 1:10=z"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if n := b.lost[subscription.CauseLeftOut]; n != 7 || b.gapped[1] != 7 || b.in.Known(0).Get(1).Gap != 7 {
		t.Errorf("got %d left out, told of %d; want 7", n, b.gapped[1])
	}
}

// What a page must not be ends it, with the messages before.
func TestIntake_pageBreaksTheProtocol(t *testing.T) {
	damaged := pageOf(t, false, false, plain(1, "x", "y")...)
	for _, x := range []struct {
		name      string
		page      []byte
		delivered uint64
		want      any // a type of error
	}{
		{"a tag that was not asked for", pageOf(t, false, false, append(plain(1, "x"), plain(9, "y")...)...), 1, new(Violation)},
		{"back", pageOf(t, true, false, record{1, 5, "x"}, record{1, 5, "y"}), 1, new(Violation)},
		{"too far", pageOf(t, true, false, record{1, 1 << 60, "x"}), 0, new(Violation)},
		{"cut off", damaged[:len(damaged)-1], 1, new(*wire.Error)},
	} {
		t.Run(x.name, func(t *testing.T) {
			b := newBed()
			b.asked, b.aims = map[tag]bool{1: true}, map[tag][]string{1: {"a"}}
			if err := b.in.Open(wire.Split(x.page)); err != nil {
				t.Fatal(err)
			}
			for b.in.Next() {
			}
			if !errors.As(b.in.Err(), x.want) {
				t.Errorf("got %v, want a %T", b.in.Err(), x.want)
			}
			if p, err := b.in.End(true); err != nil || p.Messages != x.delivered {
				t.Errorf("got %+v, %v; want %d messages", p, err, x.delivered)
			}
		})
	}
	if err := newTestIntake().Open([]byte{wire.Kind, 0, 0}, nil); !errors.As(err, new(*wire.Error)) {
		t.Errorf("a page without a header: got %v", err)
	}
}

// Messages cost no memory, beyond what the first one of a tag does.
func TestIntake_pageCostsNoAllocation(t *testing.T) {
	b := newBed()
	b.asked, b.aims = map[tag]bool{1: true, 2: true}, map[tag][]string{1: {"a"}, 2: {"a", "b"}}
	var records []record
	for range 100 {
		records = append(records, slices.Concat(plain(1, "x", "y"), plain(2, "z"))...)
	}
	data := pageOf(t, false, false, records...)
	if n := testing.AllocsPerRun(100, func() {
		if err := b.in.Open(wire.Split(data)); err != nil {
			t.Fatal(err)
		}
		for b.in.Next() {
		}
		if _, err := b.in.End(false); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("got %v allocations for a page", n)
	}
}
