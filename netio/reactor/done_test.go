// SPDX-License-Identifier: Apache-2.0

//go:build linux

package reactor_test

import (
	"context"
	"log/slog"
	"runtime"
	"testing"

	"tagbus/netio/reactor"
)

func TestEventLoop_Done_isClosedBehindTheLastCallback(t *testing.T) {
	tests := []struct {
		name string
		last func(*reactor.EventLoop)
	}{
		{"Stop", (*reactor.EventLoop).Stop},
		{"Goexit", func(*reactor.EventLoop) { runtime.Goexit() }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			loop := newLoop(t, reactor.Config{Logger: slog.New(slog.DiscardHandler)})
			begun, release, ran := make(chan struct{}), make(chan struct{}), false
			loop.Post(func() { close(begun); <-release; tt.last(loop) })
			loop.Post(func() { ran = true })
			select {
			case <-loop.Done():
				t.Error("Done before Run: got closed, want open")
			default:
			}
			go func() { _ = loop.Run(context.Background()) }()
			await(t, begun, "the callback")
			select {
			case <-loop.Done():
				t.Error("Done in a callback: got closed, want open")
			default:
			}
			close(release)
			await(t, loop.Done(), "Done")
			if loop.Running() || !ran {
				t.Errorf("behind Done: got Running %t and the last post run %t, want false and true", loop.Running(), ran)
			}
			_ = loop.Close()
			await(t, loop.Done(), "Done after Close")
		})
	}
}

func TestEventLoop_Done_ofALoopThatNeverRanIsClosedByClose(t *testing.T) {
	loop := newLoop(t, reactor.Config{})
	if err := loop.Close(); err != nil {
		t.Fatalf("Close: got error %v, want none", err)
	}
	await(t, loop.Done(), "Done")
}
