package bus

import (
	"testing"

	"tagbus/internal/tests"
)

func TestMessageQueueAllocatesNothingInTheLongRun(t *testing.T) {
	if tests.Race {
		t.Skip("the race detector allocates")
	}
	q := newMessageQueue(1<<20, newRetainer(defaultRetainBytes))
	data := make([]byte, 100)
	round := func() {
		for range 200 {
			q.push(Message{Data: data})
		}
		if _, err := q.next(t.Context()); err != nil {
			t.Fatal(err)
		}
		for {
			if _, ok := q.take(); !ok {
				return
			}
		}
	}
	round() // there are two blocks to grow
	if n := testing.AllocsPerRun(100, round); n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
}

func TestABlockThatWasReadHoldsNoPointers(t *testing.T) {
	q := newMessageQueue(1<<20, newRetainer(defaultRetainBytes))
	q.push(Message{Publisher: new(Peer)})
	if _, err := q.next(t.Context()); err != nil {
		t.Fatal(err)
	}
	takeAll(q)
	q.close(nil)
	_, _ = q.next(t.Context())
	for _, m := range q.reading.messages[:cap(q.reading.messages)] {
		if m.Publisher != nil {
			t.Errorf("it still holds the publisher")
		}
	}
}

func BenchmarkMessageQueue(b *testing.B) {
	b.ReportAllocs()
	b.SetBytes(256)
	q := newMessageQueue(64<<10, newRetainer(defaultRetainBytes))
	data := make([]byte, 256)
	for b.Loop() {
		if !q.push(Message{Data: data}) {
			continue
		}
		if _, err := q.next(b.Context()); err != nil {
			b.Fatal(err)
		}
		for ok := true; ok; {
			_, ok = q.take()
		}
	}
}
