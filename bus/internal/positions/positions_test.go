// SPDX-License-Identifier: Apache-2.0

package positions_test

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tagbus/bus/internal/positions"
	"tagbus/subscription"
	"tagbus/tags"
)

// far returns n positions whose tags are far apart, so that each takes many bytes.
func far(n int) (all []subscription.Position) {
	for i := range n {
		all = append(all, subscription.Position{Tag: tags.Tag(i+1) << 40, Count: positions.Max - uint64(i)})
	}
	return all
}

// read returns the positions of lists, each of which must fit a control message.
func read(t *testing.T, lists [][]byte) (all []subscription.Position) {
	t.Helper()
	for _, list := range lists {
		message, err := subscription.Append(nil, &subscription.Positions{ID: 1<<64 - 1, List: list})
		if err != nil || len(message) > subscription.MaxControlBytes {
			t.Errorf("got a message of %d bytes, %v want %d at most", len(message), err, subscription.MaxControlBytes)
		}
		for p, err := range subscription.PositionsOf(list) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, p)
		}
	}
	return all
}

func TestListsFitControlMessages(t *testing.T) {
	tests := []struct {
		name     string
		n, lists int
	}{
		{"none", 0, 0},
		{"one", 1, 1},
		{"some", 100, 1},
		{"more than one message has room for", subscription.MaxControlBytes / 10, 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			want := far(test.n)
			lists := slices.Collect(positions.Lists(want))
			if got := read(t, lists); !slices.Equal(got, want) {
				t.Errorf("got %d positions back, want %d", len(got), len(want))
			}
			if len(lists) != test.lists {
				t.Errorf("got %d lists, want %d", len(lists), test.lists)
			}
		})
	}
}

func TestListsMayBeLeftEarly(t *testing.T) {
	n := 0
	for range positions.Lists(far(subscription.MaxControlBytes)) {
		n++
		break // going on after this would panic
	}
	if n != 1 {
		t.Errorf("got %d lists, want 1", n)
	}
}

// A list that is taken is the receiver's: what is added later is in another one.
func TestATakenListStays(t *testing.T) {
	var list positions.List
	if got := list.Take(); got != nil {
		t.Errorf("empty: got %x, want nil", got)
	}
	list.Add(subscription.Position{Tag: 5, Count: 7})
	first := list.Take()
	if full := list.Add(subscription.Position{Tag: 5, Count: 8}); full != nil {
		t.Errorf("got the full list %x, want nil", full)
	}
	second := list.Take()
	if !bytes.Equal(first, []byte{5, 7}) || !bytes.Equal(second, []byte{5, 8}) {
		t.Errorf("got %x and %x, want 0507 and 0508", first, second)
	}
}

// A list is cut when the next position comes, so that none is empty.
func TestAFullListComesWithTheNextPosition(t *testing.T) {
	var list positions.List
	var lists [][]byte
	want := far(subscription.MaxControlBytes / 4)
	for _, p := range want {
		if full := list.Add(p); full != nil {
			lists = append(lists, full)
		}
	}
	lists = append(lists, list.Take())
	if got := read(t, lists); !slices.Equal(got, want) {
		t.Errorf("got %d positions back, want %d", len(got), len(want))
	}
	if !slices.EqualFunc(lists, slices.Collect(positions.Lists(want)), bytes.Equal) {
		t.Error("Lists cuts elsewhere")
	}
}

func TestAMergeSorts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m positions.Merge
		var want []subscription.Position
		take := func() {
			slices.SortStableFunc(want, positions.Compare)
			p, ok := m.Pop()
			if ok != (len(want) > 0) || ok && p.Tag != want[0].Tag {
				t.Fatalf("got %v, %v want the first of %v", p, ok, want)
			}
			if ok { // positions of a tag are in any order
				i := slices.Index(want, p)
				want = slices.Delete(want, i, i+1)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				var piece []subscription.Position
				for range rapid.IntRange(0, 10).Draw(t, "n") {
					piece = append(piece, subscription.Position{Tag: tags.Tag(rapid.IntRange(0, 30).Draw(t, "tag")), Count: uint64(len(want) + len(piece))})
				}
				want = append(want, piece...)
				m.Add(piece)
			},
			"pop": func(*rapid.T) { take() },
		})
		for range len(want) + 1 {
			take()
		}
	})
}
