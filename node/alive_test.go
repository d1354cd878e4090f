// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"context"
	"errors"
	"log/slog"
	"regexp"
	"runtime"
	"sync"
	"testing"
	"time"

	"tagbus/bus"
	"tagbus/netio/reactor"
	"tagbus/node"
)

func TestNode_Alive_whileTheLoopRuns(t *testing.T) {
	for _, loops := range []int{1, 3} {
		n, err := node.Open(node.Config{Bus: t.TempDir(), Loops: loops})
		if err != nil {
			t.Fatal(err)
		}
		if err := n.Alive(t.Context()); err != nil {
			t.Errorf("%d loops: got %v, want nil", loops, err)
		}
		onLoop := make(chan error)
		n.Loop().Post(func() { onLoop <- n.Alive(t.Context()) })
		if err := <-onLoop; err != nil {
			t.Errorf("on the loop: got %v, want nil", err)
		}
		if err := n.Close(); err != nil {
			t.Error(err)
		}
		if err := n.Alive(t.Context()); !errors.Is(err, bus.ErrClosed) {
			t.Errorf("after Close: got %v, want ErrClosed", err)
		}
	}
}

// TestNode_Alive_aLoopThatIsHeldIsNot: many looks at it leave one thing to do.
func TestNode_Alive_aLoopThatIsHeldIsNot(t *testing.T) {
	n := openNode(t, t.TempDir())
	held, release := make(chan struct{}), make(chan struct{})
	n.Loop().Post(func() {
		close(held)
		<-release
	})
	<-held
	before := n.Loop().Stats().Posts
	var looks sync.WaitGroup
	for range 100 {
		looks.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
			defer cancel()
			err := n.Alive(ctx)
			if want := regexp.MustCompile(`^node: an event loop does not turn for [0-9.]+m?s: a callback runs, or waits, on it$`); !errors.Is(err, node.ErrStuck) || !want.MatchString(err.Error()) {
				t.Errorf("got %v, want ErrStuck and %v", err, want)
			}
		})
	}
	looks.Wait()
	close(release)
	if err := n.Alive(t.Context()); err != nil {
		t.Errorf("when it turns again: got %v, want nil", err)
	}
	// What held it, the look of all, and the last one.
	if got := n.Loop().Stats().Posts - before; got > 3 {
		t.Errorf("got %d functions run on the loop, want 3 at most", got)
	}
}

func TestNode_Alive_notWhenTheLoopHasEnded(t *testing.T) {
	n, err := node.Open(node.Config{Bus: t.TempDir(), Loop: reactor.Config{Logger: slog.New(slog.DiscardHandler)}})
	if err != nil {
		t.Fatal(err)
	}
	n.Loop().Post(runtime.Goexit)
	<-n.Loop().Done()
	err = n.Alive(t.Context())
	if want := "bus: closed: an event loop of the node has ended: close the node, which says why"; !errors.Is(err, bus.ErrClosed) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := n.Close(); !errors.Is(err, reactor.ErrGoexit) {
		t.Errorf("close: got %v, want ErrGoexit", err)
	}
}
