// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"testing"

	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// A subscriber that may lose messages and does not read holds its queue in very short
// pages. That holds up no other.
func TestShortPagesOfALossyLaneHoldUpNobody(t *testing.T) {
	const pageBytes, buffers = 4096, 64
	pool, err := netio.NewPool(buffers, pageBytes)
	if err != nil {
		t.Fatal(err)
	}
	b := newBytesBed(t, subscription.Policy{}, 0, Config{
		Pool: pool, PageBytes: pageBytes, QueueBytes: buffers * pageBytes / 2, MaxMessageBytes: 1 << 10, Served: tags.Of(1),
	})
	var fast, slow Outbox
	slow.Init(&b.fan, &modelEndpoint{read: func([]byte) {}, refuses: true}, func(err error) { t.Fatal(err) })
	b.subscribe(&slow, tags.Of(1), subscription.Policy{Kind: subscription.DropNewest})
	ep := &modelEndpoint{read: func([]byte) {}}
	if ep.pool, err = netio.NewPool(1, 1<<16); err != nil {
		t.Fatal(err)
	}
	fast.Init(&b.fan, ep, func(err error) { t.Fatal(err) })
	b.subscribe(&fast, tags.Of(1), subscription.Policy{})
	for i := range 2 * buffers * pageBytes / 16 {
		if err := b.fan.Publish(1, 0, nil, nil); err != nil {
			t.Fatalf("message %d: %v; the slow lane holds %d of %d bytes, the fast one %d; %d of %d buffers are free", i, err,
				slow.Lanes[0].pinned.Load(), slow.Lanes[0].limit, fast.Lanes[0].pinned.Load(), pool.Free(), buffers)
		}
		b.fan.Flush()
		for ep.complete(&fast) {
		}
	}
}
