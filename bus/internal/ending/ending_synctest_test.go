// SPDX-License-Identifier: Apache-2.0

package ending_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus/internal/ending"
	"tagbus/bus/internal/ledger"
	"tagbus/subscription"
)

const patience = 5 * time.Second

// bed is a publisher of which only the end is there. A connection is a number.
type bed struct {
	mu        sync.Mutex // is held by a test, except while it waits
	book      ledger.Book[int, struct{}]
	end       *ending.Ending[int, struct{}]
	connected int
}

func newBed() *bed {
	b := new(bed)
	b.mu.Lock()
	b.end = ending.New(&b.book, patience)
	return b
}

// connect opens an account for a connection.
func (b *bed) connect(instance string, l int) {
	b.connected++
	b.book.Open(instance, l, struct{}{}, 0, subscription.Policy{}, 16, func(uint16) bool { return false })
}

// leave ends a connection.
//
//   - owed: an account.
func (b *bed) leave(instance string, l int, owed bool, unconfirmed uint64) {
	b.connected--
	b.book.Leave(instance, l, owed)
	b.end.Left(instance, unconfirmed)
	b.end.Look(b.connected)
}

// wait begins to wait, and returns the result.
func (b *bed) wait(ctx context.Context) <-chan error {
	result := make(chan error, 1)
	go func() {
		result <- b.end.Wait(ctx, func() {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.end.Look(b.connected)
		})
	}()
	return result
}

// pass lets time pass.
func (b *bed) pass(d time.Duration) {
	b.mu.Unlock()
	time.Sleep(d)
	synctest.Wait()
	b.mu.Lock()
}

func ends(t *testing.T, result <-chan error, want bool) {
	t.Helper()
	synctest.Wait()
	if got := len(result) > 0; got != want {
		t.Fatalf("the wait has ended: got %v, want %v", got, want)
	}
}

func TestEnding_waitsForTheLastConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed()
		b.connect("a", 1)
		if b.leave("a", 1, false, 0); b.end.State() != ending.Open {
			t.Fatalf("got %v, want it open", b.end.State())
		}
		b.connect("b", 2)
		if !b.end.Advance(ending.Draining) || b.end.Advance(ending.Draining) || b.end.Begun() {
			t.Error("want the end to begin once, and not to wait yet")
		}
		result := b.wait(t.Context())
		b.end.Begin()
		b.end.Look(b.connected)
		ends(t, result, false)
		if b.end.Takes("stranger") || !b.end.Takes("b") {
			t.Error("want only subscribers that are owed an account to be taken")
		}
		b.leave("b", 2, false, 0)
		ends(t, result, true)
		b.end.Look(b.connected) // once more
		if n, messages := b.end.Missing(); <-result != nil || n != 0 || messages != 0 {
			t.Errorf("got %d connections missing, %d messages", n, messages)
		}
	})
}

func TestEnding_waitsForOneThatIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed()
		b.connect("a", 1)
		b.connect("b", 2)
		b.connect("c", 3)
		b.leave("a", 1, true, 0)
		b.pass(3 * time.Second)
		b.leave("b", 2, true, 0)
		b.end.Advance(ending.Draining)
		result := b.wait(t.Context())
		b.end.Begin()
		b.leave("c", 3, false, 7) // it said goodbye, and has not confirmed all
		b.pass(2*time.Second + patience/25)
		ends(t, result, false) // a is given up
		if !b.end.MayReturn("b") || b.end.MayReturn("c") {
			t.Error("want b to be able to come back, and not c")
		}
		b.pass(3 * time.Second)
		ends(t, result, true)
		if n, messages := b.end.Missing(); <-result != nil || n != 3 || messages != 7 {
			t.Errorf("got %d connections missing, %d messages, want 3 and 7", n, messages)
		}
	})
}

func TestEnding_closed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed()
		b.connect("a", 1)
		b.leave("a", 1, true, 0)
		b.end.Advance(ending.Draining)
		b.end.Begin()
		result := b.wait(t.Context())
		if !b.end.Advance(ending.Closed) || b.end.Advance(ending.Draining) || b.end.MayReturn("a") || b.end.Takes("a") {
			t.Error("want a closed publisher to take none")
		}
		b.end.Look(b.connected)
		ends(t, result, true)
	})
}

func TestEnding_context(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed()
		b.connect("a", 1)
		b.end.Advance(ending.Draining)
		b.end.Begin()
		ctx, cancel := context.WithCancelCause(t.Context())
		result := b.wait(ctx)
		ends(t, result, false)
		reason := errors.New("no time")
		cancel(reason)
		if err := <-result; !errors.Is(err, reason) {
			t.Errorf("got %v, want %v", err, reason)
		}
	})
}
