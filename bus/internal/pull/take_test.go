// SPDX-License-Identifier: Apache-2.0

package pull

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"tagbus/bus/internal/retain"
)

// TestBatches_Take_countsAllButOne, and a batch beyond the limit stays where it is.
func TestBatches_Take_countsAllButOne(t *testing.T) {
	b := newBed("batches", 1<<20, 6000+retain.MessageBytes)
	for i := range uint64(3) {
		b.page(message{Counter: i, Data: make([]byte, 5000)})
		b.pages.last, b.memory = nil, &memory{bytes: 6000}
		b.pages.Retain = b.memory.Retain
	}
	first, second := take(t, b, true), take(t, b, true)
	for range 2 {
		if _, err := b.batches.Take(true); !errors.Is(err, retain.ErrLimit) {
			t.Fatalf("got %v, want %v", err, retain.ErrLimit)
		}
	}
	first.Release(first.Generation())
	if third := take(t, b, true); third.Parts()[0].Counter != 2 {
		t.Errorf("got batch %d after a refusal, want 2", third.Parts()[0].Counter)
	}
	second.Release(second.Generation())
	if n, bytes, _ := b.retainer.Stats(); n != 0 || bytes != 0 {
		t.Errorf("got %d retained, %d bytes, want none beside the one that does not count", n, bytes)
	}
}

// TestBatches_Notify_onceInATurn, and only after ErrEmpty.
func TestBatches_Notify_onceInATurn(t *testing.T) {
	for _, kind := range []string{"batches", "lossy batches"} {
		t.Run(kind, func(t *testing.T) {
			b, told := newBed(kind, 1<<20, 0), 0
			b.batches.Notify(func() { told++ })
			came := func(want int) {
				t.Helper()
				for range 3 {
					b.page(message{Data: []byte("a")})
				}
				if b.loop.endTurn(); told != want {
					t.Errorf("told %d times, want %d", told, want)
				}
			}
			came(0)
			err := error(nil)
			for err == nil {
				_, err = b.batches.Take(false)
			}
			came(1)
			came(1)
			for err = nil; err == nil; {
				_, err = b.batches.Take(false)
			}
			if b.close(nil); told != 2 {
				t.Errorf("closed: told %d times, want 2", told)
			}
		})
	}
}

// TestBatches_Next_wakesAllThatWait, though a turn of the loop wakes one.
func TestBatches_Next_wakesAllThatWait(t *testing.T) {
	for _, kind := range []string{"batches", "lossy batches"} {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const readers = 5
				b := newBed(kind, 1<<20, 0)
				got, ended := 0, make(chan int)
				for range readers {
					go func() {
						n := 0
						for {
							batch, err := b.batches.Next(t.Context())
							if err != nil {
								break
							}
							n += batch.Len()
							batch.Release(batch.Generation())
						}
						ended <- n
					}()
				}
				for range 3 {
					synctest.Wait()
					for range 10 {
						b.page(message{Data: []byte("a")})
					}
					b.loop.endTurn()
				}
				synctest.Wait()
				b.close(nil)
				for range readers {
					got += <-ended
				}
				if got != 30 {
					t.Errorf("got %d messages, want 30", got)
				}
			})
		})
	}
}

// TestBatches_Next_tellsTheOthersLater: one reader takes all that has come and goes away, and the other is told of
// what comes then.
func TestBatches_Next_tellsTheOthersLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, took := newBed("batches", 1<<20, 0), make(chan error, 2)
		for range 2 {
			go func() {
				_, err := b.batches.Next(t.Context())
				took <- err
			}()
		}
		for n := range 2 {
			synctest.Wait()
			b.page(message{Data: []byte("a")})
			b.loop.endTurn()
			if synctest.Wait(); len(took) != n+1 {
				t.Errorf("%d readers have a batch, want %d", len(took), n+1)
			}
		}
		b.close(nil)
	})
}

// dying is a context that ends without a word.
type dying struct {
	context.Context
	dead atomic.Bool
}

func (c *dying) Err() error {
	if c.dead.Load() {
		return context.Canceled
	}
	return nil
}

// TestBatches_Next_leavesTheOthersTheRest: a reader was woken for all that has come, and goes away before it
// has seen the last of it.
func TestBatches_Next_leavesTheOthersTheRest(t *testing.T) {
	for name, first := range map[string]func(b *bed, add func()){
		"because it has a batch": func(b *bed, add func()) { // Next, and something comes before it returns
			_, _ = b.batches.Take(false)
			<-b.batches.woken
			_, _ = b.batches.Take(false)
			add()
			b.batches.pass()
		},
		"because its context ends": func(b *bed, _ func()) {
			ctx := &dying{Context: context.Background()}
			b.loop.Post(func() { ctx.dead.Store(true) })
			_, _ = b.batches.Next(ctx)
		},
	} {
		for _, kind := range []string{"batches", "lossy batches"} {
			t.Run(kind+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b, took := newBed(kind, 1<<20, 0), make(chan error, 1)
					add := func() {
						b.page(message{Data: []byte("a")})
						b.loop.endTurn()
					}
					go first(b, add)
					synctest.Wait()
					go func() {
						_, err := b.batches.Next(t.Context())
						took <- err
					}()
					synctest.Wait()
					add()
					if synctest.Wait(); len(took) != 1 {
						t.Error("a reader waits, although there is something")
					}
					b.close(nil)
				})
			})
		}
	}
}
