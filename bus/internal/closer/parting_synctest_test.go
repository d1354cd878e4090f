// SPDX-License-Identifier: Apache-2.0

package closer_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus/internal/closer"
	"tagbus/netio"
)

// partingBed is a bed that says goodbye.
type partingBed struct {
	*bed
	said chan struct{}
	says bool // with the farewell

	mu    sync.Mutex
	order []string // of the calls
}

const patience = time.Minute

func (b *partingBed) part() error {
	note := func(what string) func() {
		return func() {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.order = append(b.order, what)
		}
	}
	farewell := func() {
		note("farewell")()
		if b.says {
			close(b.said)
		}
	}
	return b.Close(&closing{b.backend, note("backend")}, func() (bool, error) {
		return b.Part(&closing{b.backend, note("backend")}, closer.Parting{
			Shutdown: note("shutdown"), Farewell: farewell, Said: b.said, Patience: patience, Wait: note("wait"),
		})
	})
}

// closing is a backend that tells of its Close.
type closing struct {
	netio.Backend
	closes func()
}

func (c *closing) Close() error {
	c.closes()
	return c.Backend.Close()
}

// A close waits for the goodbye, unless it is called on a loop, and ends all in order.
func TestPart(t *testing.T) {
	outside, inside := []string{"shutdown", "farewell", "wait", "backend"}, []string{"shutdown", "farewell", "backend"}
	for _, test := range []struct {
		name  string
		close func(b *partingBed) // calls part
		takes time.Duration
		calls []string
	}{
		{"goodbye is said", func(b *partingBed) {
			b.says = true
			_ = b.part()
		}, 0, outside},
		{"goodbye is said late", func(b *partingBed) {
			time.AfterFunc(patience/2, func() { close(b.said) })
			_ = b.part()
		}, patience / 2, outside},
		{"goodbye is not said", func(b *partingBed) { _ = b.part() }, patience, outside},
		{"on the loop", func(b *partingBed) { b.loop.Do(func() { _ = b.part() }) }, 0, inside},
		{"on another loop", func(b *partingBed) { b.other.Do(func() { _ = b.part() }) }, 0, inside},
		{"the loop has ended", func(b *partingBed) {
			b.loop.Close()
			_ = b.part()
		}, 0, []string{"shutdown", "backend"}},
		{"the loop has ended, on another one", func(b *partingBed) {
			b.loop.Close()
			b.other.Do(func() { _ = b.part() })
		}, 0, []string{"shutdown", "backend"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			run(t, func(b *bed) {
				p := &partingBed{bed: b, said: make(chan struct{})}
				began := time.Now()
				test.close(p)
				if took := time.Since(began); took != test.takes {
					t.Errorf("took %v, want %v", took, test.takes)
				}
				<-p.Ended()
				synctest.Wait()
				if !slices.Equal(p.order, test.calls) {
					t.Errorf("got %q, want %q", p.order, test.calls)
				}
			})
		})
	}
}
