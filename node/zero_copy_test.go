// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"errors"
	"sync/atomic"
	"testing"

	"tagbus/bus"
	"tagbus/tags"
)

func TestNode_payloadsComeBackWhenTheLoopHasEnded(t *testing.T) {
	dir := t.TempDir()
	n := openNode(t, dir)
	p, err := n.NewPublisher(bus.PublisherConfig{Tags: tags.Of(1), Listening: bus.Listening{Listen: listen()}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := openNode(t, dir).NewSubscriber(bus.SubscriberConfig{})
	if err != nil {
		t.Fatal(err)
	}
	reads := make(chan struct{})
	defer close(reads)
	if _, err := s.Subscribe(tags.Of(1), func(bus.Message) { <-reads }); err != nil {
		t.Fatal(err)
	}
	if err := p.WaitSubscribers(t.Context(), 1, tags.Of(1)); err != nil {
		t.Fatal(err)
	}
	if err := p.Publish(1, nil); err != nil { // from now on the tag is known
		t.Fatal(err)
	}
	data := make([]byte, 1<<20)
	var done atomic.Int64
	accepted := int64(-1)
	for ; err == nil; err = p.PublishZeroCopy(1, 0, data, func() { done.Add(1) }) {
		accepted++
	}
	if !errors.Is(err, bus.ErrNoResources) {
		t.Fatalf("got error %v, want %v", err, bus.ErrNoResources)
	}
	n.Loop().Stop()
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if accepted == 0 || done.Load() != accepted {
		t.Errorf("got %d of %d payloads back, want all", done.Load(), accepted)
	}
}
