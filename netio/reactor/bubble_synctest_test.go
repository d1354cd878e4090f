// SPDX-License-Identifier: Apache-2.0

//go:build linux

package reactor_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"tagbus/netio/reactor"
)

// A loop and its users may be in a bubble of testing/synctest, or one of them: real sockets
// work there. A fake timer does not, while the loop waits.
func TestEventLoop_isWokenFromAndInABubble(t *testing.T) {
	t.Run("the loop", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			loop, err := reactor.New(reactor.Config{})
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan error)
			go func() { done <- loop.Run(context.Background()) }()
			expectWoken(loop)
			loop.Stop()
			if err := <-done; err != nil {
				t.Errorf("Run: got error %v, want none", err)
			}
			if err := loop.Close(); err != nil {
				t.Errorf("Close: got error %v, want none", err)
			}
		})
	})
	t.Run("a user", func(t *testing.T) {
		loop, _ := started(t, reactor.Config{})
		synctest.Test(t, func(*testing.T) { expectWoken(loop) })
	})
}

func expectWoken(loop *reactor.EventLoop) {
	for range 3 {
		var ran atomic.Bool // a channel of the bubble is for the bubble only
		loop.Post(func() { ran.Store(true) })
		for !ran.Load() {
			runtime.Gosched()
		}
		for range 100_000 { // until it sleeps again
			runtime.Gosched()
		}
	}
}
