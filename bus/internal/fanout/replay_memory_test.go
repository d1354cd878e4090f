// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"testing"

	"tagbus/bus/internal/cache"
	"tagbus/bus/internal/ledger"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// A replay has reserved its memory. Between two slices of it others publish while the pool
// is empty, and take the rests of buffers; the rest of the buffer that the replay is writing
// is not theirs.
func TestAReplayKeepsItsMemory(t *testing.T) {
	const pageBytes, buffers, replayed = 4096, 32, 3
	pool, err := netio.NewPool(buffers, pageBytes)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := cache.New(1, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	b := newBytesBed(t, subscription.Policy{}, 1, Config{
		Pool: pool, Cache: kept, PageBytes: pageBytes, QueueBytes: 2 * buffers * pageBytes, MaxMessageBytes: 1 << 16, Served: tags.Of(0, 1, 2, 3),
	})
	want, err := tags.Range(1, replayed)
	if err != nil {
		t.Fatal(err)
	}
	for tag := range want.All() {
		if err := b.fan.Publish(tag, 0, make([]byte, pageBytes*11/10), nil); err != nil {
			t.Fatal(err)
		}
	}
	g := joining(t, &b.fan, Wish{Request: &subscription.Subscribe{ID: 1, Lane: 1, Replay: 1}, Set: want})
	for done := false; !done; {
		_, done = g.Run(1)
		if len(g.lanes) > 0 && g.lanes[0].planned { // the memory is reserved
			b.publish(0, 100, buffers*pageBytes)
		}
	}
	if n := b.fan.Replayed(); n != replayed {
		t.Errorf("%d messages were replayed, want %d", n, replayed)
	}
}

// joining returns the job that makes the subscription of a new subscriber active.
func joining(t *testing.T, fan *Fanout, w Wish) *Group {
	t.Helper()
	var box Outbox
	box.Init(fan, &modelEndpoint{read: func([]byte) {}, refuses: true}, func(err error) { t.Fatal(err) })
	return box.Subscribe([]Wish{w}, Terms{
		Check:    func(*Wish) (refusal, fault error) { return nil, nil },
		Steps:    func(*Wish) int { return 1 },
		Account:  func(w *Wish) *ledger.Lane { return account(2, w) },
		HandOver: func([]tags.Set) []tags.Set { return nil },
		Entered:  func() {},
	})
}
