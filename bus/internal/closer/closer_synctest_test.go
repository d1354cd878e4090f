// SPDX-License-Identifier: Apache-2.0

package closer_test

import (
	"errors"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus/internal/closer"
	"tagbus/internal/testkit/memnet"
	"tagbus/netio"
)

var errFault = errors.New("fault")

// bed is something with a backend and callbacks, that counts how often it is closed.
type bed struct {
	t *testing.T
	*closer.Closer
	backend netio.Backend
	loop    *memnet.Loop
	other   *memnet.Loop // of another node
	closes  int
	later   bool
}

// run runs a test in a bubble, with a new bed.
func run(t *testing.T, test func(b *bed)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &bed{t: t, Closer: closer.New(), loop: memnet.NewLoop(), other: memnet.NewLoop()}
		defer b.loop.Close()
		defer b.other.Close()
		var err error
		b.backend, err = memnet.New().Opener(b.loop, memnet.Config{Host: netip.MustParseAddr("10.0.0.1")})(netio.NopHandler{})
		if err != nil {
			t.Fatal(err)
		}
		test(b)
		_ = b.backend.Close()
	})
}

func (b *bed) close() error {
	return b.Close(b.backend, func() (later bool, err error) {
		b.closes++
		if b.later {
			return true, nil
		}
		return false, errors.Join(errFault, b.backend.Close())
	})
}

func (b *bed) isEnded() bool {
	select {
	case <-b.Ended():
		return true
	default:
		return false
	}
}

// expect compares the state.
func (b *bed) expect(begun, ended bool) {
	b.t.Helper()
	if b.Begun() != begun || b.isEnded() != ended {
		b.t.Errorf("got begun %v and ended %v, want %v and %v", b.Begun(), b.isEnded(), begun, ended)
	}
}

// calls reports whether a callback runs now.
func (b *bed) calls() (ran bool) {
	b.loop.Do(func() { b.Call(func() { ran = true }) })
	return ran
}

func TestTheFirstCloseDoesTheWork(t *testing.T) {
	run(t, func(b *bed) {
		b.expect(false, false)
		if !b.calls() {
			t.Error("no callback runs before Close")
		}
		if err := b.close(); !errors.Is(err, errFault) {
			t.Errorf("got %v, want the error of the work", err)
		}
		b.expect(true, true)
		for range 2 {
			if err := b.close(); err != nil || b.closes != 1 {
				t.Errorf("again: got %v and %d closes, want one", err, b.closes)
			}
		}
		if b.calls() {
			t.Error("a callback runs after Close")
		}
	})
}

func TestACloseWithoutBackend(t *testing.T) {
	c := closer.New()
	for _, want := range []error{errFault, nil} {
		if err := c.Close(nil, func() (bool, error) { return false, errFault }); !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
	c.Call(func() { t.Error("a callback runs after Close") })
}

func TestCloseWaitsForTheRunningCallback(t *testing.T) {
	run(t, func(b *bed) {
		const takes = time.Hour
		began, running := time.Now(), make(chan struct{})
		b.loop.Post(func() {
			b.Call(func() {
				close(running)
				time.Sleep(takes)
			})
		})
		<-running
		_ = b.close()
		if waited := time.Since(began); waited != takes {
			t.Errorf("Close has returned after %v, want %v", waited, takes)
		}
	})
}

func TestALaterCloseWaitsForTheFirst(t *testing.T) {
	run(t, func(b *bed) {
		const takes = time.Hour
		began := time.Now()
		b.later = true
		_ = b.close()
		b.expect(true, false)
		time.AfterFunc(takes, func() {
			b.loop.Do(func() {
				_ = b.backend.Close()
				b.End()
			})
		})
		_ = b.close()
		if waited := time.Since(began); waited != takes || b.closes != 1 {
			t.Errorf("the second Close has returned after %v, want %v", waited, takes)
		}
		b.expect(true, true)
	})
}

// TestACloseOnALoopWaitsForNothing: inside a callback, and on the loop of another node.
func TestACloseOnALoopWaitsForNothing(t *testing.T) {
	run(t, func(b *bed) {
		b.loop.Do(func() {
			b.Call(func() {
				b.later = true
				_ = b.close()
				_ = b.close() // would wait for this callback
			})
		})
		b.other.Do(func() { _ = b.close() }) // would wait for the loop
		b.expect(true, false)
		if !b.calls() {
			t.Error("a Close that could not wait keeps callbacks out")
		}
		b.loop.Do(func() {
			_ = b.backend.Close()
			b.End()
		})
		_ = b.close()
		if b.closes != 1 || b.calls() {
			t.Errorf("got %d closes, want one, and no callback after a Close that could wait", b.closes)
		}
	})
}
