// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"context"
	"errors"
	"testing"

	"tagbus/bus"
	"tagbus/node"
	"tagbus/tags"
)

// TestNode_aHandlerDoesNotWaitForAnotherNode: two nodes whose handlers waited for each other
// waited for ever.
func TestNode_aHandlerDoesNotWaitForAnotherNode(t *testing.T) {
	for _, loops := range []int{1, 3} {
		dir := t.TempDir()
		a, b := openNodeWith(t, node.Config{Bus: dir, Loops: loops}), openNodeWith(t, node.Config{Bus: dir, Loops: loops})
		p, err := b.NewPublisher(bus.PublisherConfig{Tags: tags.Of(1)})
		if err != nil {
			t.Fatal(err)
		}
		other, err := b.NewSubscriber(bus.SubscriberConfig{})
		if err != nil {
			t.Fatal(err)
		}
		foreign, err := other.Subscribe(tags.Of(99), nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err := a.NewSubscriber(bus.SubscriberConfig{})
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if _, err := s.Subscribe(tags.Of(1), func(bus.Message) {
			defer close(done)
			for name, err := range map[string]error{
				"Publisher.Drain":           p.Drain(ctx),
				"Publisher.WaitSubscribers": p.WaitSubscribers(ctx, 2, tags.Of(1)),
				"Subscription.Wait":         foreign.Wait(ctx),
				"Subscription.Unsubscribe":  foreign.Unsubscribe(ctx),
				"Node.Close":                b.Close(),
			} {
				if !errors.Is(err, bus.ErrOnLoop) {
					t.Errorf("%s of another node, in a handler: got %v, want ErrOnLoop", name, err)
				}
			}
			if err := other.Close(); err != nil { // does not wait
				t.Errorf("Subscriber.Close of another node, in a handler: got %v, want nil", err)
			}
		}); err != nil {
			t.Fatal(err)
		}
		if err := p.WaitSubscribers(t.Context(), 1, tags.Of(1)); err != nil {
			t.Fatal(err)
		}
		if err := p.Publish(1, nil); err != nil {
			t.Fatal(err)
		}
		p.Flush()
		within(t, "the handler", func() struct{} { return <-done })
		if err := within(t, "Close of the other node", b.Close); err != nil {
			t.Errorf("Close of the other node: got %v, want nil", err)
		}
	}
}
