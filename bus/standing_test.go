package bus

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tagbus/subscription"
)

func TestWhereASubscriberStands(t *testing.T) {
	list := func(positions ...subscription.Position) (b []byte) {
		for l := range positionLists(positions) {
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
			var s standing
			got, err := func() ([]subscription.Position, error) {
				for _, m := range test.lists {
					if err := s.add(&m, 500); err != nil {
						return nil, err
					}
				}
				of, err := s.take(&test.then)
				if err != nil {
					return nil, err
				}
				var positions []subscription.Position
				for err == nil && len(of.lists) > 0 {
					positions, err = of.decode(positions)
				}
				if err != nil {
					return nil, err
				}
				return positions, nil
			}()
			if (err != nil) != (test.err != "") || err != nil && (!errors.Is(err, ErrProtocol) || !strings.Contains(err.Error(), test.err)) {
				t.Fatalf("got %v, want an error with %q", err, test.err)
			}
			if d := cmp.Diff(test.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if err == nil && (len(s.lists) > 0 || s.count > 0) {
				t.Error("it does not forget")
			}
		})
	}
}
