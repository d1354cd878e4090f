// SPDX-License-Identifier: Apache-2.0

package pull

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"tagbus/bus/internal/mailbox"
	"tagbus/bus/internal/retain"
	"tagbus/bus/internal/wire"
	"tagbus/tags"
)

// TestWhatComesIsTaken pushes random pages into each kind of queue, and reads now and then.
func TestWhatComesIsTaken(t *testing.T) {
	forEach(t, func(t *testing.T, kind string) {
		for seed := range uint64(20) {
			r := rand.New(rand.NewPCG(seed, 1))
			b, numbers := newBed(kind, 10<<20, 0), make(map[tags.Tag]uint64)
			var want, got []string
			for range 30 {
				want = append(want, b.randomPage(r, numbers)...)
				if r.IntN(3) == 0 {
					if err := b.reader().Wait(t.Context()); err != nil {
						t.Fatal(err)
					}
					got = append(got, b.ready()...)
				}
			}
			b.close(nil)
			for b.reader().Wait(t.Context()) == nil {
				got = append(got, b.ready()...)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("seed %d (-want +got):\n%s", seed, diff)
			}
		}
	})
}

// TestBatchesHaveWhatComes is TestWhatComesIsTaken for batches, which are counted, too.
func TestBatchesHaveWhatComes(t *testing.T) {
	for _, kind := range []string{"batches", "lossy batches"} {
		t.Run(kind, func(t *testing.T) {
			for seed := range uint64(20) {
				r := rand.New(rand.NewPCG(seed, 2))
				b, numbers := newBed(kind, 10<<20, 0), make(map[tags.Tag]uint64)
				var want, got []string
				take := func() error {
					batch, err := b.batches.Take(false)
					if err != nil {
						return err
					}
					has, requests := texts(batch), false
					for _, x := range batch.Parts() {
						requests = requests || x.ID != (wire.ID{})
					}
					if batch.Len() != len(has) || batch.HasRequests() != requests {
						t.Fatalf("a batch of %d messages says %d, requests %v", len(has), batch.Len(), batch.HasRequests())
					}
					got = append(got, has...)
					batch.Release(batch.Generation())
					return nil
				}
				for range 30 {
					want = append(want, b.randomPage(r, numbers)...)
					if r.IntN(3) == 0 {
						if err := take(); err != nil {
							t.Fatal(err)
						}
					}
				}
				err := error(nil)
				for err == nil {
					err = take()
				}
				if diff := cmp.Diff(want, got); diff != "" || !errors.Is(err, ErrEmpty) {
					t.Fatalf("seed %d: got error %v, want %v (-want +got):\n%s", seed, err, ErrEmpty, diff)
				}
			}
		})
	}
}

// TestAQueueSaysWhenItIsFullAndDrained: one that may lose messages is never full.
func TestAQueueSaysWhenItIsFullAndDrained(t *testing.T) {
	for _, kind := range []string{"messages", "batches"} {
		t.Run(kind, func(t *testing.T) {
			b := newBed(kind, 4*(mailbox.MessageBytes+2), 0)
			for i, full := range []bool{false, true, true} {
				if got := b.page(message{Counter: 1}, "ab", "cd"); got != full {
					t.Errorf("after %d messages: full is %v, want %v", 2*i+2, got, full)
				}
			}
			if err := b.reader().Wait(t.Context()); err != nil { // all of Messages, one page of Batches
				t.Fatal(err)
			}
			for b.batches != nil && b.batches.filled.Len() > 1 {
				if b.loop.endTurn(); b.drained != 0 {
					t.Error("drained, and more than half is left")
				}
				if err := b.reader().Wait(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if b.loop.endTurn(); b.drained != 1 {
				t.Errorf("drained %d times, want once", b.drained)
			}
		})
	}
}

func TestAQueueEndsBehindItsMessages(t *testing.T) {
	forEach(t, func(t *testing.T, kind string) {
		reason := errors.New("reason")
		for _, test := range []struct {
			name        string
			first, want error
		}{{"without a reason", nil, ErrEnd}, {"for a reason", reason, reason}} {
			t.Run(test.name, func(t *testing.T) {
				b := newBed(kind, 1<<20, 0)
				b.page(message{Data: []byte("before")})
				b.close(test.first)
				b.close(errors.New("another"))
				b.page(message{Data: []byte("late")})
				if err := b.reader().Wait(t.Context()); err != nil {
					t.Fatalf("what came before: got %v", err)
				}
				if got := b.ready(); len(got) != 1 {
					t.Errorf("got %q, want what came before", got)
				}
				for range 2 {
					if err := b.reader().Wait(t.Context()); !errors.Is(err, test.want) {
						t.Errorf("got %v, want %v", err, test.want)
					}
				}
			})
		}
	})
}

// TestAReaderSaysWhyItHasStopped: for whatever reason its context has ended, that is not the end of
// the queue.
func TestAReaderSaysWhyItHasStopped(t *testing.T) {
	forEach(t, func(t *testing.T, kind string) {
		synctest.Test(t, func(t *testing.T) {
			b := newBed(kind, 1<<20, 0)
			ctx, stop := context.WithCancelCause(t.Context())
			got := make(chan error)
			go func() { got <- b.reader().Wait(ctx) }()
			synctest.Wait()
			stop(io.EOF)
			if err := <-got; !errors.Is(err, io.EOF) || errors.Is(err, ErrEnd) {
				t.Errorf("got %v, want %v", err, io.EOF)
			}
			b.page(message{Data: []byte("later")})
			b.loop.endTurn()
			if err := b.reader().Wait(t.Context()); err != nil || len(b.ready()) != 1 {
				t.Errorf("a message that came later: got %v", err)
			}
		})
	})
}

// TestAMessageIsOverAfterWait, unless it is retained.
func TestAMessageIsOverAfterWait(t *testing.T) {
	forEach(t, func(t *testing.T, kind string) {
		b := newBed(kind, 1<<20, 1<<20)
		var origins []*retain.Origin
		var turns []uint32
		var kept [][]byte
		for i := range 3 {
			b.page(message{Data: []byte("data")})
			if err := b.reader().Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			r := b.reader()
			_, data, _ := r.Take()
			if i == 1 {
				_, _, held, err := r.Origin.Retain(r.Turn, data)
				if err != nil {
					t.Fatal(err)
				}
				kept = append(kept, held)
			}
			origins, turns = append(origins, r.Origin), append(turns, r.Turn)
		}
		if _, _, _, err := origins[0].Retain(turns[0], nil); !errors.Is(err, retain.ErrOver) {
			t.Errorf("the first message: got %v, want %v", err, retain.ErrOver)
		}
		b.page(message{Data: []byte("more")})
		if err := b.reader().Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if string(kept[0]) != "data" {
			t.Errorf("a retained message became %q", kept[0])
		}
	})
}
