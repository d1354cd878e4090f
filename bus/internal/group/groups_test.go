// SPDX-License-Identifier: Apache-2.0

package group_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"tagbus/bus/internal/group"
	"tagbus/subscription"
	"tagbus/tags"
)

const noTags = 0 // that are known

// groupsOf returns groups of connections that are numbers, with a record of those whose
// groups were dropped.
func groupsOf(lanes, bytes int) (g *group.Groups[int], evicted *[]int) {
	evicted = new([]int)
	return &group.Groups[int]{Lanes: lanes, Bytes: bytes, Evict: func(c, _ int) { *evicted = append(*evicted, c) }}, evicted
}

func binary(tb testing.TB, set tags.Set) []byte {
	tb.Helper()
	b, err := set.MarshalBinary()
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// single returns n tags, none beside another.
func single(n int) tags.Set {
	list := make([]tags.Tag, n)
	for i := range list {
		list[i] = tags.Tag(2 * i)
	}
	return tags.Of(list...)
}

// masked returns n masks that do not become one.
func masked(n int) (set tags.Set) {
	for i := range n {
		set = set.Union(tags.Match(tags.Tag(i)<<1|1, tags.Tag(1<<40-1)))
	}
	return set
}

// ask sends a request for a set.
func ask(t *testing.T, g *group.Groups[int], c int, m subscription.Subscribe, set tags.Set) (refused, err error) {
	t.Helper()
	parts, err := group.Parts(m, set)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range parts {
		if refused, err = g.Subscribe(c, part, noTags); err != nil || refused != nil {
			return refused, err
		}
	}
	return nil, nil
}

func same(a, b tags.Set) bool { return a.String() == b.String() }

func TestAGroupIsPutTogether(t *testing.T) {
	g, evicted := groupsOf(16, 1<<30)
	large := single(20_000)
	if err := g.Positions(1, &subscription.Positions{ID: 1, List: []byte{5, 7}}, noTags); err != nil || !g.Has(1) || g.Within(1) {
		t.Fatalf("after positions: got %v, has %v, within %v, want true, false", err, g.Has(1), g.Within(1))
	}
	for i, m := range []subscription.Subscribe{
		{ID: 1, Resume: true, WithNext: true},
		{ID: 2, WithNext: true},
		{ID: 3, Lane: 4, Policy: "latest"},
	} {
		refused, err := ask(t, g, 1, m, []tags.Set{tags.Of(5), large, tags.Of(9)}[i])
		if refused != nil || err != nil || !g.Within(1) {
			t.Fatalf("subscription %d: refused %v, error %v, within %v", m.ID, refused, err, g.Within(1))
		}
	}
	if g.Len() != 1 || g.Held() < 3*512 {
		t.Errorf("got %d groups of %d bytes, want 1 with the cost of three subscriptions", g.Len(), g.Held())
	}
	got := g.Take(1)
	if len(got) != 3 || !same(got[0].Set, tags.Of(5)) || !same(got[1].Set, large) || !same(got[2].Set, tags.Of(9)) {
		t.Fatalf("got %d subscriptions, want those that were asked for", len(got))
	}
	if got[0].Standing.Count() != 1 || got[1].Standing.Count() != 0 {
		t.Errorf("got %d and %d positions, want 1 of the first", got[0].Standing.Count(), got[1].Standing.Count())
	}
	if r := got[2].Request; r.ID != 3 || r.Lane != 4 || r.Policy != "latest" || r.Set != nil {
		t.Errorf("got request %+v, want that of 3 without its set", r)
	}
	if g.Len() != 0 || g.Held() != 0 || g.Has(1) || g.Take(1) != nil || len(*evicted) > 0 {
		t.Errorf("taken: got %d groups, %d bytes, evicted %v, want none", g.Len(), g.Held(), *evicted)
	}
}

func TestConnectionsDoNotMix(t *testing.T) {
	g, _ := groupsOf(16, 1<<20)
	for c := range 3 {
		if _, err := g.Subscribe(c, &subscription.Subscribe{ID: uint64(c), Set: []byte{1, 1}, More: true}, noTags); err != nil {
			t.Fatal(err)
		}
	}
	g.Drop(1)
	g.Drop(1)
	for _, c := range []int{0, 2} {
		_, err := g.Subscribe(c, &subscription.Subscribe{ID: uint64(c), Set: []byte{5, 0, 0}}, noTags)
		if got := g.Take(c); err != nil || len(got) != 1 || !same(got[0].Set, tags.Of(5)) {
			t.Errorf("connection %d: got %d subscriptions, %v want 1", c, len(got), err)
		}
	}
	if g.Len() != 0 || g.Held() != 0 {
		t.Errorf("got %d groups, %d bytes, want none", g.Len(), g.Held())
	}
}

// A set that is too large is refused, alone, without being kept.
func TestTooLargeSetsAreRefused(t *testing.T) {
	tests := []struct {
		name string
		set  []byte
		want string
	}{
		{"a head of too many ranges", []byte{1, 0x81, 0x80, 0x08, 1}, "131073 ranges"},
		{"a head of very many ranges", []byte{1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, "18446744073709551615 ranges"},
		{"too many masks", binary(t, masked(subscription.MaxMasks+1)), "subscribe to ranges instead"},
		{"masks without end", append([]byte{1, 0}, make([]byte, 20*subscription.MaxMasks+64)...), "masks: subscribe to ranges"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g, _ := groupsOf(16, 1<<30)
			if refused, err := ask(t, g, 1, subscription.Subscribe{ID: 1, WithNext: true}, tags.Of(1)); refused != nil || err != nil {
				t.Fatal(refused, err)
			}
			var refused, err error
			for part := range slices.Chunk(test.set, 1000) {
				refused, err = g.Subscribe(1, &subscription.Subscribe{ID: 2, Set: part, More: true}, noTags)
				if refused != nil || err != nil {
					t.Fatalf("got %v, %v before the end", refused, err)
				}
			}
			refused, err = g.Subscribe(1, &subscription.Subscribe{ID: 2}, noTags)
			if err != nil || !errors.Is(refused, subscription.ErrTooManyTags) || !strings.Contains(refused.Error(), test.want) {
				t.Errorf("got %v, %v want refused with %q", refused, err, test.want)
			}
			if got := g.Take(1); len(got) != 1 || got[0].Request.ID != 1 || g.Held() != 0 {
				t.Errorf("got %d subscriptions and %d bytes left, want the first one", len(got), g.Held())
			}
		})
	}
}

// A refused set costs nothing from the moment on when it is clear that it is refused.
func TestNothingIsKeptOfASetThatIsRefused(t *testing.T) {
	g, evicted := groupsOf(16, 1<<20)
	part := make([]byte, subscription.MaxControlBytes-128)
	copy(part, []byte{1, 0xff, 0xff, 0xff, 0xff, 1})
	for range 200 {
		if refused, err := g.Subscribe(1, &subscription.Subscribe{ID: 1, Set: part, More: true}, noTags); refused != nil || err != nil {
			t.Fatal(refused, err)
		}
	}
	if g.Held() != 0 || len(*evicted) > 0 {
		t.Errorf("got %d bytes, evicted %v, want 0 and none", g.Held(), *evicted)
	}
	if refused, _ := g.Subscribe(1, &subscription.Subscribe{ID: 1}, noTags); refused == nil || g.Take(1) != nil {
		t.Errorf("got refused %v, want an error and no subscription", refused)
	}
}

func TestWhatBreaksTheProtocol(t *testing.T) {
	positions := func(id uint64, n int) *subscription.Positions {
		return &subscription.Positions{ID: id, List: make([]byte, 2*n)}
	}
	one := binary(t, tags.Of(1))
	tests := []struct {
		name     string
		messages []subscription.Message
		want     string
	}{
		{"parts mixed", []subscription.Message{&subscription.Subscribe{ID: 1, Set: one[:1], More: true}, &subscription.Subscribe{ID: 2, Set: one}}, "parts of subscriptions 1 and 2 mixed"},
		{"no set at all", []subscription.Message{&subscription.Subscribe{ID: 1}}, "tags: decode"},
		{"a damaged set", []subscription.Message{&subscription.Subscribe{ID: 1, Set: []byte{1, 1, 5}}}, "1 ranges claimed"},
		{"a set of another version, for ever", []subscription.Message{&subscription.Subscribe{ID: 1, Set: make([]byte, tags.MaxHeadBytes), More: true}}, "does not begin as one"},
		{"positions of two subscriptions", []subscription.Message{positions(1, 1), positions(2, 1)}, "mixed"},
		{"positions of another subscription", []subscription.Message{positions(1, 1), &subscription.Subscribe{ID: 2, Set: one, Resume: true}}, "new subscription 2"},
		{"positions of one that does not resume", []subscription.Message{positions(1, 1), &subscription.Subscribe{ID: 1, Set: one}}, "new subscription 1"},
		{"more positions than tags", []subscription.Message{positions(1, 1025)}, "more than 1024 positions"},
		{"more positions in all than lanes allow", []subscription.Message{
			positions(1, 1024), &subscription.Subscribe{ID: 1, Set: one, Resume: true, WithNext: true},
			positions(2, 1024), &subscription.Subscribe{ID: 2, Set: one, Resume: true, WithNext: true},
			positions(3, 1), &subscription.Subscribe{ID: 3, Set: one, Resume: true, WithNext: true},
		}, "group with 2049 positions, of 2048"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g, _ := groupsOf(2, 1<<20)
			for i, m := range test.messages {
				err := take(g, 1, m, noTags)
				if i+1 < len(test.messages) {
					if err != nil {
						t.Fatalf("message %d: got %v, want nil", i, err)
					}
					continue
				}
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("got %v, want an error with %q", err, test.want)
				}
			}
		})
	}
}

// take gives a message to groups.
func take(g *group.Groups[int], c int, m subscription.Message, known int) (err error) {
	switch m := m.(type) {
	case *subscription.Positions:
		err = g.Positions(c, m, known)
	case *subscription.Subscribe:
		_, err = g.Subscribe(c, m, known)
	}
	return err
}

func TestAnEmptySetIsAnError(t *testing.T) {
	g, _ := groupsOf(16, 1<<20)
	if _, err := ask(t, g, 1, subscription.Subscribe{ID: 1}, tags.Set{}); !errors.Is(err, group.ErrEmptySet) {
		t.Errorf("got %v, want ErrEmptySet", err)
	}
}

// A group is bounded in subscriptions, and in ranges and masks.
func TestAGroupIsBounded(t *testing.T) {
	tests := []struct {
		name  string
		set   tags.Set
		lanes int
		most  int
	}{
		{"subscriptions", tags.Of(1), 16, group.Max},
		{"ranges", single(subscription.MaxParts / 4), 1, 4},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g, _ := groupsOf(test.lanes, 1<<30)
			for i := range test.most + 1 {
				refused, err := ask(t, g, 1, subscription.Subscribe{ID: uint64(i), WithNext: true}, test.set)
				if refused != nil || (err != nil) != (i == test.most) {
					t.Fatalf("subscription %d: got %v, %v want an error at %d", i, refused, err, test.most)
				}
			}
		})
	}
}

// If all groups take too much, the oldest one goes, which may be the one that grows.
func TestTheOldestGroupGoesFirst(t *testing.T) {
	const part = 4000
	g, evicted := groupsOf(16, 5*part)
	g.Evict = func(c, bytes int) {
		if bytes <= g.Bytes || g.Has(c) {
			t.Errorf("got %d bytes taken, limit %d, has %v, want more and a group that is gone", bytes, g.Bytes, g.Has(c))
		}
		*evicted = append(*evicted, c)
	}
	head := append([]byte{1, 0x80, 0x80, 0x08}, make([]byte, part-4)...) // of as many ranges as are allowed
	for c, want := range [][]int{nil, nil, nil, nil, nil, {0}, {0, 1}} {
		if _, err := g.Subscribe(c, &subscription.Subscribe{ID: 1, Set: head, More: true}, noTags); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(*evicted, want) || g.Held() > g.Bytes {
			t.Errorf("after %d: got evicted %v, %d bytes, want %v", c, *evicted, g.Held(), want)
		}
	}
	if _, err := g.Subscribe(2, &subscription.Subscribe{ID: 1, Set: head}, noTags); err != nil || g.Has(2) || g.Take(2) != nil {
		t.Errorf("the oldest one grows: got %v, has %v, want it gone", err, g.Has(2))
	}
	if err := g.Positions(3, &subscription.Positions{ID: 2, List: make([]byte, 4000)}, 10_000); err != nil || g.Has(3) {
		t.Errorf("the oldest one grows by positions: got %v, has %v, want it gone", err, g.Has(3))
	}
}
