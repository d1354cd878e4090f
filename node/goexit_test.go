// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"

	"tagbus/bus"
	"tagbus/netio/reactor"
	"tagbus/node"
	"tagbus/tags"
)

// patience bounds what is expected to come at once. It is only used up by a test that
// fails.
const patience = 20 * time.Second

// within returns what f returns, or fails the test.
func within[T any](t *testing.T, what string, f func() T) T {
	t.Helper()
	result := make(chan T, 1)
	go func() { result <- f() }()
	select {
	case v := <-result:
		return v
	case <-time.After(patience):
		t.Fatalf("%s: did not return within %v", what, patience)
		panic("not reached")
	}
}

// exits are callbacks of a node that end the goroutine of its loop.
var exits = []struct {
	name string
	set  func(t *testing.T, n *node.Node, cfg *bus.SubscriberConfig) bus.Handler
}{
	{"a handler", func(t *testing.T, _ *node.Node, _ *bus.SubscriberConfig) bus.Handler {
		t.Helper()
		return func(bus.Message) { new(testing.T).FailNow() }
	}},
	{"a handler that goes on", func(t *testing.T, _ *node.Node, _ *bus.SubscriberConfig) bus.Handler {
		t.Helper()
		return func(bus.Message) {
			defer runtime.Goexit() // again, in a deferred function
			runtime.Goexit()
		}
	}},
	{"an event", func(t *testing.T, _ *node.Node, cfg *bus.SubscriberConfig) bus.Handler {
		t.Helper()
		cfg.OnEvent = func(bus.Event) { runtime.Goexit() }
		return func(bus.Message) {}
	}},
	{"a posted function", func(t *testing.T, n *node.Node, _ *bus.SubscriberConfig) bus.Handler {
		t.Helper()
		return func(bus.Message) { n.Loop().Post(runtime.Goexit) }
	}},
	{"a timer", func(t *testing.T, n *node.Node, _ *bus.SubscriberConfig) bus.Handler {
		t.Helper()
		timer, err := n.Loop().NewTimer(runtime.Goexit)
		if err != nil {
			t.Fatal(err)
		}
		started := false
		return func(bus.Message) {
			if started {
				return // or each message puts it off
			}
			started = true
			if err := timer.StartOnce(1); err != nil {
				t.Error(err)
			}
		}
	}},
}

// TestNode_Close_whenTheLoopEndsByGoexit: Close did not return, nor did what waited for the
// loop. t.FailNow in a handler is enough.
func TestNode_Close_whenTheLoopEndsByGoexit(t *testing.T) {
	for _, exit := range exits {
		t.Run(exit.name, func(t *testing.T) {
			for _, loops := range []int{1, 3} {
				dir := t.TempDir()
				there := openNodeWith(t, node.Config{Bus: dir, Backend: "tcp"}) // as n, for its Loops
				p, err := there.NewPublisher(bus.PublisherConfig{Tags: tags.Of(1, 2)})
				if err != nil {
					t.Fatal(err)
				}
				n, err := node.Open(node.Config{Bus: dir, Loops: loops, Backend: "tcp", Loop: reactor.Config{Logger: slog.New(slog.DiscardHandler)}})
				if err != nil {
					t.Fatal(err)
				}
				var cfg bus.SubscriberConfig
				h := exit.set(t, n, &cfg)
				waitForTheEnd(t, p, n, cfg, h)
				err = within(t, "Node.Close", n.Close)
				if !errors.Is(err, reactor.ErrGoexit) || !strings.Contains(err.Error(), "FailNow") {
					t.Errorf("Node.Close: got %v, want ErrGoexit", err)
				}
				if err := within(t, "second Node.Close", n.Close); err != nil {
					t.Errorf("second Node.Close: got %v, want nil", err)
				}
			}
		})
	}
}

// waitForTheEnd makes all kinds of calls wait for a loop that ends, each on a subscriber
// or publisher of n.
func waitForTheEnd(t *testing.T, p *bus.Publisher, n *node.Node, cfg bus.SubscriberConfig, h bus.Handler) {
	t.Helper()
	s, err := n.NewSubscriber(cfg)
	if err != nil {
		t.Fatal(err)
	}
	own, err := n.NewPublisher(bus.PublisherConfig{Tags: tags.Of(9), Listening: bus.Listening{Listen: listen()}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Subscribe(tags.Of(1), h); err != nil && !errors.Is(err, bus.ErrClosed) {
		t.Fatal(err)
	}
	queue, err := s.Subscribe(tags.Of(2), nil)
	if err != nil && !errors.Is(err, bus.ErrClosed) {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { // until the loop has ended
		for {
			select {
			case <-done:
				return
			default:
				_ = p.Publish(1, nil)
				p.Flush()
				runtime.Gosched()
			}
		}
	}()
	defer close(done)
	if queue != nil {
		if err := within(t, "Messages", func() (last error) {
			for _, err := range queue.Messages(t.Context()) {
				last = err
			}
			return last
		}); !errors.Is(err, bus.ErrClosed) {
			t.Errorf("Messages: got %v, want ErrClosed", err)
		}
	}
	if err := within(t, "WaitSubscribers", func() error { return own.WaitSubscribers(t.Context(), 1, tags.Of(9)) }); !errors.Is(err, bus.ErrClosed) {
		t.Errorf("WaitSubscribers: got %v, want ErrClosed", err)
	}
	if _, err := n.NewSubscriber(bus.SubscriberConfig{}); !errors.Is(err, bus.ErrClosed) {
		t.Errorf("NewSubscriber: got %v, want ErrClosed", err)
	}
	if n.Loop().Post(func() {}) {
		t.Error("Post: got true, want false after the end of the loop")
	}
	if err := within(t, "Publisher.Close", own.Close); err != nil {
		t.Errorf("Publisher.Close: got %v, want nil", err)
	}
	if err := within(t, "Subscriber.Close", s.Close); err != nil {
		t.Errorf("Subscriber.Close: got %v, want nil", err)
	}
}

func TestNode_Close_whenTheLoopEndsAtOnce(t *testing.T) {
	n, err := node.Open(node.Config{Bus: t.TempDir(), Backend: "tcp", Loop: reactor.Config{Logger: slog.New(slog.DiscardHandler), Init: runtime.Goexit}})
	if err != nil {
		t.Fatal(err)
	}
	if err := within(t, "Node.Close", n.Close); !errors.Is(err, reactor.ErrGoexit) || !strings.Contains(err.Error(), "init callback") {
		t.Errorf("Node.Close: got %v, want ErrGoexit and the init callback", err)
	}
}

// TestNode_ofWhichAWorkerEnds: the loops beside that of the callbacks call nothing of
// the program but OnPanic.
func TestNode_ofWhichAWorkerEnds(t *testing.T) {
	n, err := node.Open(node.Config{Bus: t.TempDir(), Loops: 3, Backend: "tcp", Loop: reactor.Config{Logger: slog.New(slog.DiscardHandler)}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := n.NewPublisher(bus.PublisherConfig{Tags: tags.Of(1), Listening: bus.Listening{Listen: listen()}})
	if err != nil {
		t.Fatal(err)
	}
	node.Loops(n)[2].Post(runtime.Goexit)
	if err := within(t, "WaitSubscribers", func() error { return p.WaitSubscribers(t.Context(), 1, tags.Of(1)) }); !errors.Is(err, bus.ErrClosed) {
		t.Errorf("WaitSubscribers: got %v, want ErrClosed", err)
	}
	if err := within(t, "Node.Close", n.Close); !errors.Is(err, reactor.ErrGoexit) {
		t.Errorf("Node.Close: got %v, want ErrGoexit", err)
	}
}
