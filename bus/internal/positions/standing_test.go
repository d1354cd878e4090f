// SPDX-License-Identifier: Apache-2.0

package positions_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tagbus/bus/internal/positions"
	"tagbus/subscription"
)

func TestWhereASubscriberStands(t *testing.T) {
	list := func(p ...subscription.Position) (b []byte) {
		for l := range positions.Lists(p) {
			b = append(b, l...)
		}
		return b
	}
	one, two := list(subscription.Position{Tag: 5, Count: 7}), list(subscription.Position{Tag: 6, Count: 1}, subscription.Position{Tag: 9, Count: 300})
	tests := []struct {
		name  string
		lists []subscription.Positions
		then  subscription.Subscribe
		want  []subscription.Position
		err   string
	}{
		{"nothing is said", nil, subscription.Subscribe{ID: 1}, nil, ""},
		{"all tags stand at 0", nil, subscription.Subscribe{ID: 1, Resume: true}, nil, ""},
		{
			"several lists",
			[]subscription.Positions{{ID: 1, List: one}, {ID: 1, List: two}},
			subscription.Subscribe{ID: 1, Resume: true},
			[]subscription.Position{{Tag: 5, Count: 7}, {Tag: 6, Count: 1}, {Tag: 9, Count: 300}},
			"",
		},
		{"lists that do not ascend", []subscription.Positions{{ID: 1, List: two}, {ID: 1, List: one}}, subscription.Subscribe{ID: 1, Resume: true}, nil, "after"},
		{"a tag in two lists", []subscription.Positions{{ID: 1, List: one}, {ID: 1, List: one}}, subscription.Subscribe{ID: 1, Resume: true}, nil, "after"},
		{"a list cut off", []subscription.Positions{{ID: 1, List: one[:1]}}, subscription.Subscribe{ID: 1, Resume: true}, nil, "damaged list"},
		{"two subscriptions", []subscription.Positions{{ID: 1, List: one}, {ID: 2, List: two}}, subscription.Subscribe{ID: 1, Resume: true}, nil, "mixed"},
		{"another subscription follows", []subscription.Positions{{ID: 1, List: one}}, subscription.Subscribe{ID: 2, Resume: true}, nil, "new subscription 2"},
		{"a new one follows", []subscription.Positions{{ID: 1, List: one}}, subscription.Subscribe{ID: 1}, nil, "new subscription 1"},
		{
			"more than the limit",
			[]subscription.Positions{{ID: 1, List: make([]byte, 600)}, {ID: 1, List: make([]byte, 600)}},
			subscription.Subscribe{ID: 1, Resume: true},
			nil, "more than 500 positions",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var s positions.Standing
			got, err := stands(&s, test.lists, &test.then)
			if (err != nil) != (test.err != "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Fatalf("got %v, want an error with %q", err, test.err)
			}
			if d := cmp.Diff(test.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if err == nil && (s.Left() > 0 || s.Count() > 0) {
				t.Error("it does not forget")
			}
		})
	}
}

// stands returns what s makes of lists and the Subscribe behind them, of 500 positions at
// most.
func stands(s *positions.Standing, lists []subscription.Positions, then *subscription.Subscribe) (all []subscription.Position, err error) {
	for _, m := range lists {
		if err := s.Add(&m, 500); err != nil {
			return nil, err
		}
	}
	of, err := s.Take(then)
	for err == nil && of.Left() > 0 {
		all, err = of.Next(all)
	}
	if err != nil {
		return nil, err
	}
	return all, nil
}

// Count is a bound from above of what Next returns, without reading the lists.
func TestAddCountsAtLeastThePositions(t *testing.T) {
	tests := []struct {
		name string
		list []byte
		want int
	}{
		{"an empty list takes memory too", nil, 1},
		{"one position", []byte{5, 7}, 1},
		{"half a position", []byte{5}, 1},
		{"long numbers", []byte{0x80, 1, 0x80, 0x80, 1, 1, 1}, 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var s positions.Standing
			if err := s.Add(&subscription.Positions{ID: 1, List: test.list}, 2); err != nil || s.Count() != test.want {
				t.Errorf("got %d, %v want %d", s.Count(), err, test.want)
			}
			if s.Left() != 1 {
				t.Errorf("got %d lists, want 1", s.Left())
			}
		})
	}
}
