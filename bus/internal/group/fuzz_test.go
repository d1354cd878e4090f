// SPDX-License-Identifier: Apache-2.0

package group_test

import (
	"testing"

	"tagbus/bus/internal/group"
	"tagbus/subscription"
	"tagbus/tags"
)

// FuzzGroups lets three connections send anything. An input is messages, each behind two
// bytes: the connection, and the length.
func FuzzGroups(f *testing.F) {
	seed := func(messages ...subscription.Message) {
		var input []byte
		for i, m := range messages {
			b, err := subscription.Append(nil, m)
			if err != nil {
				f.Fatal(err)
			}
			input = append(append(input, byte(i%2), byte(len(b))), b...)
		}
		f.Add(input)
	}
	one, ranges, masks := binary(f, tags.Of(1)), binary(f, single(100)), binary(f, masked(10))
	seed(&subscription.Subscribe{ID: 1, Set: one}, &subscription.Subscribe{ID: 1, Set: masks, WithNext: true})
	seed(&subscription.Subscribe{ID: 1, Set: ranges[:50], More: true}, &subscription.Subscribe{ID: 1, Set: one}, &subscription.Subscribe{ID: 1, Set: ranges[50:]})
	seed(&subscription.Positions{ID: 1, List: []byte{5, 7}}, &subscription.Subscribe{ID: 2, Set: one}, &subscription.Subscribe{ID: 1, Set: one, Resume: true, WithNext: true})
	seed(&subscription.Subscribe{ID: 1, Set: []byte{1, 0x80, 0x80, 0x08}, More: true}, &subscription.Positions{ID: 3, List: make([]byte, 200)})
	f.Fuzz(func(t *testing.T, input []byte) {
		ended := make(map[int]bool)
		g := &group.Groups[int]{Lanes: 2, Bytes: 4096}
		g.Evict = func(c, bytes int) {
			if bytes <= g.Bytes || g.Has(c) {
				t.Errorf("evicted %d at %d bytes, limit %d", c, bytes, g.Bytes)
			}
			ended[c] = true
		}
		for len(input) >= 2 {
			c, n := int(input[0]%3), min(int(input[1]), len(input)-2)
			m, err := subscription.Decode(input[2 : 2+n])
			input = input[2+n:]
			if err != nil || ended[c] {
				continue
			}
			if err := take(g, c, m, 10); err != nil {
				g.Drop(c)
				ended[c] = true
			}
			if s, ok := m.(*subscription.Subscribe); ok && !s.More && !s.WithNext {
				for _, sub := range g.Take(c) {
					if sub.Set.IsEmpty() || sub.Request.Set != nil {
						t.Errorf("got %+v, want a set, and a request without it", sub)
					}
				}
			}
			if g.Held() < 0 || g.Held() > g.Bytes || g.Len() > 3 || g.Len() == 0 && g.Held() > 0 {
				t.Fatalf("got %d groups of %d bytes, limit %d", g.Len(), g.Held(), g.Bytes)
			}
		}
		for c := range 3 {
			g.Drop(c)
		}
		if g.Len() != 0 || g.Held() != 0 {
			t.Errorf("dropped: got %d groups of %d bytes", g.Len(), g.Held())
		}
	})
}
