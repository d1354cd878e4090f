// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"testing"

	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// A lane that is busy for hours keeps nothing of the streams that it has shared with
// subscribers which have left.
func TestABusyLaneForgetsStreamsThatAreGone(t *testing.T) {
	const pageBytes, buffers = 4096, 64
	pool, err := netio.NewPool(buffers, pageBytes)
	if err != nil {
		t.Fatal(err)
	}
	b := newBytesBed(t, subscription.Policy{}, 0, Config{
		Pool: pool, PageBytes: pageBytes, QueueBytes: buffers * pageBytes / 2, MaxMessageBytes: 1 << 10, Served: tags.Of(1),
	})
	b.fan.cfg.FlushInterval = 0
	var slow Outbox
	slow.Init(&b.fan, &modelEndpoint{read: func([]byte) {}, refuses: true}, func(err error) { t.Fatal(err) })
	b.subscribe(&slow, tags.Of(1), subscription.Policy{})
	for range 100 {
		box, ep := new(Outbox), &modelEndpoint{read: func([]byte) {}}
		if ep.pool, err = netio.NewPool(1, 1<<16); err != nil {
			t.Fatal(err)
		}
		box.Init(&b.fan, ep, func(err error) { t.Fatal(err) })
		b.subscribe(box, tags.Of(1), subscription.Policy{})
		if err := b.fan.Publish(1, 0, nil, nil); err != nil {
			t.Fatal(err)
		}
		for ep.complete(box) {
		}
		ep.drop()
		box.Kill()
		leave := box.Leave()
		for done := false; !done; {
			_, done = leave(1000)
		}
		b.fan.Mu.Lock()
		box.CloseAccounts(false, 0)
		box.Free()
		b.fan.Mu.Unlock()
		b.loop.turn()
		b.fan.flushDue()
	}
	if n := len(slow.Lanes[0].awaited); n > 2 {
		t.Errorf("the busy lane knows %d streams, there are %d", n, len(*b.fan.streams.Load()))
	}
}
