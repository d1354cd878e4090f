package bus

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"

	"tagbus/tags"
)

func queueMessage(n int, data string) Message {
	return Message{Tag: tags.Tag(n), Status: Status(n), Counter: uint64(n), Data: []byte(data)}
}

// takeAll takes what next has made ready.
func takeAll(q *messageQueue) (data []string) {
	for {
		m, ok := q.take()
		if !ok {
			return data
		}
		data = append(data, string(m.Data))
	}
}

func TestMessageQueueKeepsOrderAndContent(t *testing.T) {
	q := newMessageQueue(1<<20, newRetainer(defaultRetainBytes))
	var want []string
	for block := range 5 { // so that both blocks are used again
		want = want[:0]
		for i := range 100 {
			data := []byte(strconv.Itoa(block*1000 + i)) // its length varies
			want = append(want, string(data))
			if i%7 == 0 {
				data, want[i] = nil, ""
			}
			q.push(Message{Tag: tags.Tag(i), Status: 3, Counter: uint64(i), Data: data})
			clear(data) // push must have copied it
		}
		if drained, err := q.next(t.Context()); drained || err != nil {
			t.Fatalf("got drained %v, %v want neither", drained, err)
		}
		for i := range want {
			m, ok := q.take()
			if !ok || m.Tag != tags.Tag(i) || m.Status != 3 || m.Counter != uint64(i) || string(m.Data) != want[i] {
				t.Fatalf("message %d: got %v %q, %v want %q", i, m, m.Data, ok, want[i])
			}
			if cap(m.Data) != len(m.Data) {
				t.Fatalf("message %d: a reader that appends would overwrite the next one", i)
			}
		}
		if m, ok := q.take(); ok {
			t.Fatalf("got %v after the last message", m)
		}
	}
}

func TestMessageQueueTellsWhenItIsFull(t *testing.T) {
	tests := []struct {
		name  string
		limit int
		data  []string
		full  int // index of the first push that finds it full
	}{
		{"by bytes", 3*messageCost + 9, []string{"abc", "def", "ghi", "j"}, 2},
		{"by empty messages", 4 * messageCost, []string{"", "", "", "", ""}, 3},
		{"by one large message", 10, []string{"a message above the limit"}, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			q := newMessageQueue(test.limit, newRetainer(defaultRetainBytes))
			for i, data := range test.data {
				if got := q.push(queueMessage(i, data)); got != (i >= test.full) {
					t.Errorf("push %d: got full %v", i, got)
				}
			}
			drained, err := q.next(t.Context())
			if got := takeAll(q); !drained || err != nil || !slices.Equal(got, test.data) {
				t.Errorf("got drained %v, %v, %q want drained and %q", drained, err, got, test.data)
			}
			q.limit = 1 << 20
			q.push(queueMessage(0, "after"))
			if drained, err := q.next(t.Context()); drained || err != nil {
				t.Errorf("the next block: got drained %v, %v want neither", drained, err)
			}
		})
	}
}

func TestMessageQueueEnds(t *testing.T) {
	reason := errors.New("the reason")
	tests := []struct {
		name   string
		causes []error
		want   error
	}{
		{"in order", []error{nil}, errQueueEnd},
		{"with a reason", []error{reason}, reason},
		{"for the first reason", []error{reason, errors.New("another"), nil}, reason},
		{"in order and not for a later reason", []error{nil, reason}, errQueueEnd},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			q := newMessageQueue(1, newRetainer(defaultRetainBytes))
			q.push(queueMessage(1, "before"))
			for _, cause := range test.causes {
				q.close(cause)
			}
			if q.push(queueMessage(2, "late")) {
				t.Errorf("an ended queue is full, and its reader would never drain it")
			}
			if drained, err := q.next(t.Context()); !drained || err != nil {
				t.Errorf("got drained %v, %v want what was queued before the end", drained, err)
			}
			if got := takeAll(q); !slices.Equal(got, []string{"before"}) {
				t.Errorf("got %q, want what was queued before the end", got)
			}
			for range 2 {
				if _, err := q.next(t.Context()); err != test.want { //nolint:errorlint // exactly this one
					t.Errorf("got %v, want %v", err, test.want)
				}
			}
		})
	}
}

func TestAReaderThatWaitsIsWoken(t *testing.T) {
	cause := errors.New("enough")
	tests := []struct {
		name string
		wake func(q *messageQueue, cancel context.CancelCauseFunc)
		want error
	}{
		{"by a message", func(q *messageQueue, _ context.CancelCauseFunc) { q.push(queueMessage(1, "")) }, nil},
		{"by the end", func(q *messageQueue, _ context.CancelCauseFunc) { q.close(nil) }, errQueueEnd},
		{"by an end with a reason", func(q *messageQueue, _ context.CancelCauseFunc) { q.close(cause) }, cause},
		{"by the end of its context", func(_ *messageQueue, cancel context.CancelCauseFunc) { cancel(cause) }, cause},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newMessageQueue(1<<20, newRetainer(defaultRetainBytes))
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				q.push(queueMessage(0, "a")) // leaves a token of its wake-up behind
				if _, err := q.next(ctx); err != nil {
					t.Fatal(err)
				}
				takeAll(q)
				done := make(chan error, 1)
				go func() {
					_, err := q.next(ctx)
					done <- err
				}()
				synctest.Wait()
				select {
				case err := <-done:
					t.Fatalf("it did not wait: %v", err)
				default:
				}
				test.wake(q, cancel)
				synctest.Wait()
				if got := <-done; got != test.want { //nolint:errorlint // exactly this one
					t.Errorf("got %v, want %v", got, test.want)
				}
			})
		})
	}
}

func TestAnEndedContextLosesNoMessage(t *testing.T) {
	q := newMessageQueue(1<<20, newRetainer(defaultRetainBytes))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := q.next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	q.push(queueMessage(1, "a"))
	q.push(queueMessage(2, "b"))
	if _, err := q.next(t.Context()); err != nil {
		t.Fatal(err)
	}
	if m, ok := q.take(); !ok || string(m.Data) != "a" {
		t.Errorf("got %q, %v want a", m.Data, ok)
	}
	// Here a loop over the messages breaks; another one begins with take.
	q.push(queueMessage(3, "c"))
	if got := takeAll(q); !slices.Equal(got, []string{"b"}) {
		t.Errorf("got %q, want b", got)
	}
	if _, err := q.next(ctx); err != nil {
		t.Errorf("got %v, want what is there", err)
	}
	if got := takeAll(q); !slices.Equal(got, []string{"c"}) {
		t.Errorf("got %q, want c", got)
	}
}

// The loop pushes until the queue is full and goes on when the reader says that
// it is drained; the reader stops and resumes at random.
func TestMessageQueueBetweenTwoGoroutines(t *testing.T) {
	const count = 50_000
	q := newMessageQueue(100*messageCost, newRetainer(defaultRetainBytes))
	room := make(chan struct{}, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		data := make([]byte, 0, 16)
		for i := range count {
			data = strconv.AppendInt(data[:0], int64(i), 10)
			if q.push(Message{Counter: uint64(i), Data: data[:len(data)*(i&1)]}) {
				<-room
			}
		}
		q.close(nil)
	})
	rnd := rand.New(rand.NewPCG(1, 2))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for i := 0; ; {
		m, ok := q.take()
		if ok {
			want := strconv.Itoa(i)[:len(strconv.Itoa(i))*(i&1)]
			if m.Counter != uint64(i) || string(m.Data) != want {
				t.Fatalf("got message %d %q, want %d %q", m.Counter, m.Data, i, want)
			}
			i++
			continue
		}
		ctx := t.Context()
		if rnd.IntN(4) == 0 {
			ctx = ended
		}
		drained, err := q.next(ctx)
		if drained {
			room <- struct{}{}
		}
		if errors.Is(err, context.Canceled) && ctx == ended {
			continue
		}
		if err != nil {
			if err != errQueueEnd || i != count { //nolint:errorlint // exactly this one
				t.Errorf("got %v after %d messages, want the end after %d", err, i, count)
			}
			break
		}
	}
	wg.Wait()
}
