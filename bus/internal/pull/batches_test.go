// SPDX-License-Identifier: Apache-2.0

package pull

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tagbus/bus/internal/retain"
	"tagbus/bus/internal/wire"
	"tagbus/internal/testkit"
	"tagbus/netio"
	"tagbus/tags"
)

// take takes a batch that must be there.
func take(t *testing.T, b *bed, counts bool) *Batch[string] {
	t.Helper()
	batch, err := b.batches.Take(counts)
	if err != nil {
		t.Fatal(err)
	}
	return batch
}

// TestBatches_keepAPageInTheMemoryOfTheTransport, if that is worthwhile, until the last batch in it is
// released.
func TestBatches_keepAPageInTheMemoryOfTheTransport(t *testing.T) {
	b := newBed("batches", 1<<20, 0)
	data := []byte(strings.Repeat("x", 5000))
	b.page(message{Data: data})
	b.page(message{Data: data})
	first, second := take(t, b, false), take(t, b, false)
	if &first.Parts()[0].Data[0] != &data[0] {
		t.Error("a page that fills half of its memory is copied")
	}
	first.Release(first.Generation())
	if b.memory.kept-b.memory.released != 1 {
		t.Errorf("kept %d times while a batch is used, want once", b.memory.kept-b.memory.released)
	}
	second.Release(second.Generation())
	if b.memory.kept != b.memory.released {
		t.Errorf("kept %d times after the last batch", b.memory.kept-b.memory.released)
	}
}

// TestBatch_itsMessagesKeepItsMemory, also when it is released.
func TestBatch_itsMessagesKeepItsMemory(t *testing.T) {
	b := newBed("batches", 1<<20, 1<<20)
	b.page(message{Data: make([]byte, 5000)})
	batch := take(t, b, false)
	origin, turn := batch.Origin()
	kept, keptTurn, _, err := origin.Retain(turn, batch.Parts()[0].Data)
	if err != nil {
		t.Fatal(err)
	}
	batch.Release(batch.Generation())
	if b.memory.kept-b.memory.released != 1 {
		t.Errorf("the memory is kept %d times for a message, want once", b.memory.kept-b.memory.released)
	}
	kept.Release(keptTurn)
	if b.memory.kept != b.memory.released {
		t.Errorf("the memory is kept %d times after all", b.memory.kept-b.memory.released)
	}
}

func TestBatches_KeepOnly(t *testing.T) {
	b := newBed("batches", 1<<20, 0)
	b.add(message{Tag: 1, Data: []byte("a"), ID: wire.ID{7}})
	b.add(message{Tag: 2, Data: []byte("b")})
	b.add(message{Tag: 1, Counter: 2}, "c", "d")
	b.add(message{Tag: 3, Counter: 5}, "e", "f")
	b.batches.KeepOnly(tags.Of(2, 3))
	if n, first := b.batches.Added(); n != 3 || first != 2 {
		t.Errorf("got %d messages, the first of tag %v, want 3, of tag 2", n, first)
	}
	b.batches.Commit(&b.pages)
	batch := take(t, b, false)
	want := []string{text("", 2, 0, 0, []byte("b"), wire.ID{}), text("", 3, 0, 5, []byte("e"), wire.ID{}), text("", 3, 0, 6, []byte("f"), wire.ID{})}
	if diff := cmp.Diff(want, texts(batch)); diff != "" || batch.HasRequests() || batch.bytes != 3 {
		t.Errorf("got %d bytes, requests %v (-want +got):\n%s", batch.bytes, batch.HasRequests(), diff)
	}
	b.add(message{Tag: 1, Data: []byte("a")})
	b.batches.KeepOnly(tags.Of(2))
	if n, _ := b.batches.Added(); n != 0 {
		t.Errorf("got %d messages of tags that are not kept", n)
	}
	b.batches.Discard()
	if _, err := b.batches.Take(false); !errors.Is(err, ErrEmpty) {
		t.Errorf("got %v of a page that is discarded", err)
	}
}

func TestBatch_aGenerationIsOneUse(t *testing.T) {
	b := newBed("batches", 1<<20, 1<<20)
	b.page(message{Data: []byte("a")})
	batch := take(t, b, false)
	old := batch.Generation()
	for range 2 {
		if err := batch.Retain(old); err != nil {
			t.Fatal(err)
		}
	}
	if n, _, _ := b.retainer.Stats(); n != 1 {
		t.Errorf("retained twice, it counts %d times", n)
	}
	batch.Over(old)
	if batch.Generation() != old {
		t.Error("a retained batch is over")
	}
	batch.Release(old)
	if n, _, _ := b.retainer.Stats(); n != 0 {
		t.Errorf("released, it counts %d times", n)
	}
	b.page(message{Data: []byte("b")})
	if again := take(t, b, false); again != batch {
		t.Fatal("it is not used again")
	}
	batch.Release(old)
	batch.Over(old)
	if err := batch.Retain(old); !errors.Is(err, retain.ErrOver) || len(texts(batch)) != 1 {
		t.Errorf("an old handle: got %v and %q, want %v and the batch as it is", err, texts(batch), retain.ErrOver)
	}
	batch.Over(batch.Generation())
	if batch.Len() != 0 {
		t.Error("a batch that is not retained is not over")
	}
}

func TestBatches_Deliver(t *testing.T) {
	data := []byte(strings.Repeat("x", 5000))
	for _, test := range []struct {
		name      string
		err       error // of the transport
		retain    bool
		panics    bool
		inPlace   bool // after retain
		keptAfter int
	}{
		{"that reads", nil, false, false, true, 0},
		{"that panics", nil, false, true, true, 0},
		{"that retains", nil, true, false, true, 1},
		{"that retains and panics", nil, true, true, true, 1},
		{"that retains a copy", netio.ErrNotSupported, true, false, false, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBed("batches", 1<<20, 1<<20)
			b.memory.err = test.err
			b.add(message{Data: data})
			var batch *Batch[string]
			var handle uint32
			func() {
				defer func() {
					if v := recover(); (v != nil) != test.panics {
						t.Errorf("recovered %v", v)
					}
				}()
				b.batches.Deliver(&b.pages, func(got *Batch[string]) {
					batch, handle = got, got.Generation()
					if &got.Parts()[0].Data[0] != &data[0] {
						t.Error("the page is copied before it is delivered")
					}
					if test.retain {
						if err := got.Retain(handle); err != nil {
							t.Error(err)
						}
					}
					if inPlace := &got.Parts()[0].Data[0] == &data[0]; inPlace != test.inPlace {
						t.Errorf("in place is %v, want %v", inPlace, test.inPlace)
					}
					if test.panics {
						panic("of the handler")
					}
				})
			}()
			if over := batch.Generation() != handle; over == test.retain {
				t.Errorf("over is %v, retained %v", over, test.retain)
			}
			if kept := b.memory.kept - b.memory.released; kept != test.keptAfter {
				t.Errorf("the memory is kept %d times, want %d", kept, test.keptAfter)
			}
			if batch.page != nil {
				t.Error("the page is over, and the batch refers to it")
			}
			batch.Release(handle)
			if n, bytes, _ := b.retainer.Stats(); n != 0 || bytes != 0 || b.memory.kept != b.memory.released {
				t.Errorf("released: %d retained, %d bytes, the memory %d times", n, bytes, b.memory.kept-b.memory.released)
			}
		})
	}
}

// TestBatches_ofAMailboxHaveOnePublisher, and are of one piece of memory.
func TestBatches_ofAMailboxHaveOnePublisher(t *testing.T) {
	b := newBed("lossy batches", 10<<20, 0)
	for range mostMessages + 1 {
		b.add(message{Publisher: "a"})
	}
	b.add(message{Publisher: "b", Data: make([]byte, ownBytes)})
	b.add(message{Publisher: "b", Data: make([]byte, 1)})
	b.add(message{Publisher: "b", Data: make([]byte, 2*ownBytes)})
	var got []int
	for {
		batch, err := b.batches.Take(false)
		if err != nil {
			break
		}
		got = append(got, batch.Len())
	}
	if diff := cmp.Diff([]int{mostMessages, 1, 1, 1, 1}, got); diff != "" {
		t.Errorf("batches (-want +got):\n%s", diff)
	}
}

// TestTakingAllocatesNothing: not in the long run, except for the memory of pages that are kept.
func TestTakingAllocatesNothing(t *testing.T) {
	if testkit.Race {
		t.Skip("the race detector allocates")
	}
	forEach(t, func(t *testing.T, kind string) {
		b := newBed(kind, 1<<20, 0)
		run := runOf([]string{"a", "b", "c"})
		m, lost := message{Data: []byte("data")}, func(key) {}
		once := func() {
			for range 10 {
				switch {
				case b.lossy && b.batches != nil:
					b.batches.PushLossy(key{1}, &m, lost)
				case b.lossy:
					b.messages.PushLossy(key{1}, &m, lost)
				case b.batches != nil:
					b.batches.Add(&m)
					b.batches.AddRun(&m, run, 3)
					b.batches.Commit(&b.pages)
				default:
					b.messages.Push(&m)
					b.messages.PushRun(&m, run, 3)
				}
			}
			for i := 0; b.batches != nil && !b.lossy && i < 10 || i < 1; i++ {
				if err := b.reader().Wait(t.Context()); err != nil {
					t.Fatal(err)
				}
				for _, _, ok := b.reader().Take(); ok; _, _, ok = b.reader().Take() {
				}
			}
		}
		once()
		if n := testing.AllocsPerRun(100, once); n > 0 {
			t.Errorf("got %v allocations for 10 pages", n)
		}
	})
}
