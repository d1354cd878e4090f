// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"sync"
	"testing"

	"tagbus/bus/internal/ledger"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// sinkEndpoint takes everything. What it has taken completes when it is told so.
type sinkEndpoint struct {
	netio.Endpoint
	buffer *netio.Pool
	keys   []netio.Key
}

func (e *sinkEndpoint) Capabilities() netio.Capabilities { return netio.Capabilities{AnyMemory: true} }

func (e *sinkEndpoint) Send(key netio.Key, _ []byte, _ ...[]byte) error {
	e.keys = append(e.keys, key)
	return nil
}

func (e *sinkEndpoint) Buffer() (*netio.Buffer, error) { return e.buffer.Get(), nil }

func (e *sinkEndpoint) SendBuffer(b *netio.Buffer) error {
	e.keys = append(e.keys, b.Key())
	b.Release()
	return nil
}

func (e *sinkEndpoint) complete(box *Outbox) {
	for len(e.keys) > 0 {
		key := e.keys[0]
		e.keys = e.keys[1:]
		box.Completed(key)
	}
	e.keys = nil
}

// BenchmarkPublish is the cost of publishing 40 B, beside what no way of publishing can do
// without: an uncontended mutex and the copy.
func BenchmarkPublish(b *testing.B) {
	data := make([]byte, 40)
	b.Run("mutex-and-copy", func(b *testing.B) {
		var mu sync.Mutex
		page, at := make([]byte, 130_900), 0
		for b.Loop() {
			mu.Lock()
			if at+44 > len(page) {
				at = 0
			}
			at += copy(page[at:], data) + 4
			mu.Unlock()
		}
	})
	b.Run("Publish", func(b *testing.B) {
		benchmarkPublish(b, func(fan *Fanout) error { return fan.Publish(1, 0, data, nil) })
	})
	b.Run("quick", func(b *testing.B) {
		var t *tagState
		benchmarkPublish(b, func(fan *Fanout) error {
			if t == nil {
				t = fan.tags.Get(1)
			}
			if t.publishQuick(1, data) {
				return nil
			}
			return fan.Publish(1, 0, data, nil)
		})
	})
}

func benchmarkPublish(b *testing.B, publish func(*Fanout) error) {
	const pageBytes = 130_900
	pool, err := netio.NewPool(64, pageBytes)
	if err != nil {
		b.Fatal(err)
	}
	bed := newBytesBed(b, subscription.Policy{}, 0, Config{Pool: pool, PageBytes: pageBytes, QueueBytes: 32 * pageBytes, MaxMessageBytes: 1 << 20, Served: tags.Of(1)})
	var box Outbox
	control, err := netio.NewPool(1, 1<<16)
	if err != nil {
		b.Fatal(err)
	}
	ep := &sinkEndpoint{buffer: control}
	box.Init(&bed.fan, ep, func(err error) { b.Fatal(err) })
	bed.subscribe(&box, tags.Of(1), subscription.Policy{})
	ep.complete(&box)
	for i := 0; b.Loop(); i++ {
		if err := publish(&bed.fan); err != nil {
			b.Fatal(err)
		}
		if i&4095 == 0 {
			ep.complete(&box)
		}
	}
}

// subscribe makes a connection want tags.
func (b *bytesBed) subscribe(box *Outbox, set tags.Set, policy subscription.Policy) {
	g := box.Subscribe([]Wish{{Request: &subscription.Subscribe{ID: 1, Lane: 1}, Set: set}}, Terms{
		Check:    func(w *Wish) (refusal, fault error) { w.Policy = policy; return nil, nil },
		Steps:    func(*Wish) int { return 1 },
		Account:  func(w *Wish) *ledger.Lane { return account(1, w) },
		HandOver: func([]tags.Set) []tags.Set { return nil },
		Entered:  func() {},
	})
	for done := false; !done; {
		_, done = g.Run(100)
	}
}
