// SPDX-License-Identifier: Apache-2.0

package out_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"tagbus/bridge/durable"
	"tagbus/bridge/kafka"
	"tagbus/bridge/out"
	"tagbus/bus"
	"tagbus/tags"
)

// TestBridge_twoOnOneTopic at a time: the one that began first ends and names the other, which has all messages once.
func TestBridge_twoOnOneTopic(t *testing.T) {
	r := &real{bed: newBed(t), r: rand.New(rand.NewPCG(34, 2))}
	r.engine = topic(r.bed, 1)
	p, _, end := r.publisher(realTags, func(c *bus.PublisherConfig) { c.CacheMessages = 1000 })
	published := make(map[tags.Tag]uint64)
	publish := func(n int) {
		for i := range n {
			tag := tags.Tag(1 + i%5)
			r.publish(p, tag, 1)
			published[tag]++
		}
	}
	r.begin()
	first, log := r.bridge, r.log
	r.must(p.WaitSubscribers(t.Context(), 1, realTags))
	publish(500)
	pace := time.NewTicker(time.Millisecond)
	defer pace.Stop()
	for first.Stats().Messages < 500 {
		<-pace.C
	}
	r.log = nil
	r.begin()
	r.must(p.WaitSubscribers(t.Context(), 2, realTags))
	for failed := false; !failed; {
		publish(5)
		select {
		case <-first.Failed():
			failed = true
		case <-pace.C:
		}
	}
	var taken *kafka.TakenError
	err := first.Close(t.Context())
	if unwritten := (*out.UnwrittenError)(nil); !errors.As(err, &unwritten) || !errors.As(err, &taken) || !errors.Is(err, durable.ErrRefused) || !strings.Contains(taken.Writer, "tagbus-bridge on ") {
		t.Errorf("got %v from the first bridge, want a *kafka.TakenError", err)
	}
	r.must(log.Close())
	publish(100)
	if err := p.Drain(t.Context()); err != nil && !errors.Is(err, bus.ErrUndelivered) {
		t.Error(err)
	}
	end()
	r.must(r.bridge.Close(context.WithoutCancel(t.Context())))
	got, err := r.readChains(p)
	r.must(err)
	for tag, n := range published {
		if c := got[tag]; c == nil || c.begin != 1 || c.next != n+1 || c.messages != n || c.lost != 0 {
			t.Errorf("tag %v: got %+v, want all %d messages", tag, c, n)
		}
	}
	r.must(r.log.Close())
}
