// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"testing"

	"tagbus/bus/internal/cache"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// What is published between two slices of a replay is part of what a resumed subscription has missed, as far as
// there is room.
func TestAReplayOfWhatComesMeanwhile(t *testing.T) {
	const pageBytes, buffers, size = 4096, 64, 1000
	for _, test := range []struct {
		name                      string
		before, meanwhile, queued int
		least, most               uint64
	}{
		{"all", 3, 5, 64 * pageBytes, 8, 8},
		{"all, of a tag that had none to be replayed", 0, 5, 64 * pageBytes, 5, 5},
		{"as many as there is room for", 3, 30, 8 * pageBytes, 10, 16}, // half of the queue
	} {
		t.Run(test.name, func(t *testing.T) {
			pool, err := netio.NewPool(buffers, pageBytes)
			if err != nil {
				t.Fatal(err)
			}
			kept, err := cache.New(100, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			b := newBytesBed(t, subscription.Policy{}, 1, Config{
				Pool: pool, Cache: kept, PageBytes: pageBytes, QueueBytes: test.queued, MaxMessageBytes: pageBytes, Served: tags.Of(0, 1),
			})
			publish := func(n int) {
				for range n {
					if err := b.fan.Publish(1, 0, make([]byte, size), nil); err != nil {
						t.Fatal(err)
					}
				}
			}
			publish(1) // so that the tag is known
			publish(test.before)
			g := joining(t, &b.fan, Wish{
				Request: &subscription.Subscribe{ID: 1, Lane: 1, Resume: true}, Set: tags.Of(1), stands: []subscription.Position{{Tag: 1, Count: 1}},
			})
			come := false
			for done := false; !done; {
				_, done = g.Run(1)
				if !come && len(g.lanes) > 0 && g.lanes[0].planned {
					come = true
					publish(test.meanwhile)
				}
			}
			if n := b.fan.Replayed(); n < test.least || n > test.most {
				t.Errorf("%d messages were replayed, want %d to %d", n, test.least, test.most)
			}
		})
	}
}
