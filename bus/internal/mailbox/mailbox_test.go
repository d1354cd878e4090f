// SPDX-License-Identifier: Apache-2.0

package mailbox

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"

	"tagbus/internal/testkit"
	"tagbus/subscription"
)

// key names messages in tests.
type key struct{ source, tag int }

// box is one whose messages have numbers.
type box = Box[key, int]

// lossless returns a box for Push.
func lossless(limit int) *box { return New[key, int](limit, subscription.Block) }

// takeAll takes what Next has made ready.
func takeAll(mail *box) (data []string) {
	for {
		_, text, ok := mail.Take()
		if !ok {
			return data
		}
		data = append(data, string(text))
	}
}

func TestMessagesKeepTheirOrderAndContent(t *testing.T) {
	mail := lossless(1 << 20)
	var want []string
	for block := range 5 { // so that both blocks are used again
		want = want[:0]
		for i := range 100 {
			data := []byte(strconv.Itoa(block*1000 + i)) // its length varies
			want = append(want, string(data))
			if i%7 == 0 {
				data, want[i] = nil, ""
			}
			mail.Push(i, data)
			clear(data) // Push must have copied it
		}
		if drained, err := mail.Next(t.Context()); drained || err != nil {
			t.Fatalf("got drained %v, %v want neither", drained, err)
		}
		for i := range want {
			m, data, ok := mail.Take()
			if !ok || m != i || string(data) != want[i] {
				t.Fatalf("message %d: got %d %q, %v want %q", i, m, data, ok, want[i])
			}
			if cap(data) != len(data) {
				t.Fatalf("message %d: a reader that appends would overwrite the next one", i)
			}
		}
		if m, _, ok := mail.Take(); ok {
			t.Fatalf("got %d after the last message", m)
		}
	}
}

func TestABoxTellsWhenItIsFull(t *testing.T) {
	tests := []struct {
		name  string
		limit int
		data  []string
		full  int // index of the first push that finds it full
	}{
		{"by bytes", 3*MessageBytes + 9, []string{"abc", "def", "ghi", "j"}, 2},
		{"by empty messages", 4 * MessageBytes, []string{"", "", "", "", ""}, 3},
		{"by one large message", 10, []string{"a message above the limit"}, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			mail := lossless(test.limit)
			for i, data := range test.data {
				if got := mail.Push(i, []byte(data)); got != (i >= test.full) {
					t.Errorf("push %d: got full %v", i, got)
				}
			}
			drained, err := mail.Next(t.Context())
			if got := takeAll(mail); !drained || err != nil || !slices.Equal(got, test.data) {
				t.Errorf("got drained %v, %v, %q want drained and %q", drained, err, got, test.data)
			}
			mail.limit = 1 << 20
			mail.Push(0, []byte("after"))
			if drained, err := mail.Next(t.Context()); drained || err != nil {
				t.Errorf("the next block: got drained %v, %v want neither", drained, err)
			}
		})
	}
}

// A run counts as its messages do, and is taken as one, in its place.
func TestARunCountsAsItsMessages(t *testing.T) {
	mail := lossless(3*MessageBytes + 9)
	if mail.Push(0, []byte("abc")) {
		t.Error("full after one message")
	}
	if mail.PushRun(1, []byte("-def"), 3+MessageBytes) {
		t.Error("full after a run of one")
	}
	if !mail.PushRun(2, []byte("-ghi-j"), 4+2*MessageBytes) {
		t.Error("not full after a run of two")
	}
	drained, err := mail.Next(t.Context())
	if got, want := takeAll(mail), []string{"abc", "-def", "-ghi-j"}; !drained || err != nil || !slices.Equal(got, want) {
		t.Errorf("got drained %v, %v, %q want drained and %q", drained, err, got, want)
	}
	if mail.PushRun(3, []byte("-k"), 1+MessageBytes) {
		t.Error("what was read still counts")
	}
	mail.Close(nil)
	if mail.PushRun(4, []byte("-late"), 4+9*MessageBytes) {
		t.Error("an ended box is full, and its reader would never drain it")
	}
}

func TestABoxEnds(t *testing.T) {
	reason := errors.New("the reason")
	tests := []struct {
		name   string
		causes []error
		want   error
	}{
		{"in order", []error{nil}, ErrEnd},
		{"with a reason", []error{reason}, reason},
		{"for the first reason", []error{reason, errors.New("another"), nil}, reason},
		{"in order and not for a later reason", []error{nil, reason}, ErrEnd},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			mail := lossless(1)
			mail.Push(1, []byte("before"))
			for _, cause := range test.causes {
				mail.Close(cause)
			}
			if mail.Push(2, []byte("late")) {
				t.Errorf("an ended box is full, and its reader would never drain it")
			}
			if drained, err := mail.Next(t.Context()); !drained || err != nil {
				t.Errorf("got drained %v, %v want what was queued before the end", drained, err)
			}
			if got := takeAll(mail); !slices.Equal(got, []string{"before"}) {
				t.Errorf("got %q, want what was queued before the end", got)
			}
			for range 2 {
				if _, err := mail.Next(t.Context()); err != test.want { //nolint:errorlint // exactly this one
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
		wake func(mail *box, cancel context.CancelCauseFunc)
		want error
	}{
		{"by a message", func(mail *box, _ context.CancelCauseFunc) { mail.Push(1, nil); mail.Wake() }, nil},
		{"by the end", func(mail *box, _ context.CancelCauseFunc) { mail.Close(nil) }, ErrEnd},
		{"by an end with a reason", func(mail *box, _ context.CancelCauseFunc) { mail.Close(cause) }, cause},
		{"by the end of its context", func(_ *box, cancel context.CancelCauseFunc) { cancel(cause) }, cause},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mail := lossless(1 << 20)
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				mail.Push(0, []byte("a")) // leaves a token of its wake-up behind
				if _, err := mail.Next(ctx); err != nil {
					t.Fatal(err)
				}
				takeAll(mail)
				done := make(chan error, 1)
				go func() {
					_, err := mail.Next(ctx)
					done <- err
				}()
				synctest.Wait()
				select {
				case err := <-done:
					t.Fatalf("it did not wait: %v", err)
				default:
				}
				test.wake(mail, cancel)
				synctest.Wait()
				if got := <-done; got != test.want { //nolint:errorlint // exactly this one
					t.Errorf("got %v, want %v", got, test.want)
				}
			})
		})
	}
}

func TestAnEndedContextLosesNoMessage(t *testing.T) {
	mail := lossless(1 << 20)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := mail.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	mail.Push(1, []byte("a"))
	mail.Push(2, []byte("b"))
	if _, err := mail.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, data, ok := mail.Take(); !ok || string(data) != "a" {
		t.Errorf("got %q, %v want a", data, ok)
	}
	// Here a loop over the messages breaks; another one begins with take.
	mail.Push(3, []byte("c"))
	if got := takeAll(mail); !slices.Equal(got, []string{"b"}) {
		t.Errorf("got %q, want b", got)
	}
	if _, err := mail.Next(ctx); err != nil {
		t.Errorf("got %v, want what is there", err)
	}
	if got := takeAll(mail); !slices.Equal(got, []string{"c"}) {
		t.Errorf("got %q, want c", got)
	}
}

// The loop pushes until the box is full and goes on when the reader says that
// it is drained; the reader stops and resumes at random.
func TestABoxBetweenTwoGoroutines(t *testing.T) {
	const count = 50_000
	mail := lossless(100 * MessageBytes)
	room := make(chan struct{}, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		data := make([]byte, 0, 16)
		for i := range count {
			data = strconv.AppendInt(data[:0], int64(i), 10)
			full := mail.Push(i, data[:len(data)*(i&1)])
			mail.Wake()
			if full {
				<-room
			}
		}
		mail.Close(nil)
	})
	rnd := rand.New(rand.NewPCG(1, 2))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for i := 0; ; {
		m, data, ok := mail.Take()
		if ok {
			want := strconv.Itoa(i)[:len(strconv.Itoa(i))*(i&1)]
			if m != i || string(data) != want {
				t.Fatalf("got message %d %q, want %d %q", m, data, i, want)
			}
			i++
			continue
		}
		ctx := t.Context()
		if rnd.IntN(4) == 0 {
			ctx = ended
		}
		drained, err := mail.Next(ctx)
		if drained {
			room <- struct{}{}
		}
		if errors.Is(err, context.Canceled) && ctx == ended {
			continue
		}
		if err != nil {
			if err != ErrEnd || i != count { //nolint:errorlint // exactly this one
				t.Errorf("got %v after %d messages, want the end after %d", err, i, count)
			}
			break
		}
	}
	wg.Wait()
}

func TestABoxAllocatesNothingInTheLongRun(t *testing.T) {
	if testkit.Race {
		t.Skip("the race detector allocates")
	}
	mail := lossless(1 << 20)
	data := make([]byte, 100)
	round := func() {
		for i := range 200 {
			mail.Push(i, data)
		}
		if _, err := mail.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		for {
			if _, _, ok := mail.Take(); !ok {
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
	mail := New[key, *int](1<<20, subscription.Block)
	mail.Push(new(int), nil)
	if _, err := mail.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	mail.Take()
	mail.Close(nil)
	_, _ = mail.Next(t.Context())
	for _, m := range mail.reading.messages[:cap(mail.reading.messages)] {
		if m != nil {
			t.Errorf("it still holds the message")
		}
	}
}

func TestMemoryThatIsLeftStaysAsItIs(t *testing.T) {
	mail := lossless(1 << 20)
	var kept [][]byte
	var want []string
	for i := range 10 {
		text := strconv.Itoa(i)
		mail.Push(i, []byte(text))
		if _, err := mail.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, data, _ := mail.Take()
		if i%3 == 0 {
			if n := mail.Leave(); n < len(data) || n != mail.Leave() {
				t.Errorf("message %d: got %d bytes left, want at least %d, and the same again", i, n, len(data))
			}
			kept, want = append(kept, data), append(want, text)
		}
	}
	mail.Close(nil)
	_, _ = mail.Next(t.Context())
	for i, data := range kept {
		if string(data) != want[i] {
			t.Errorf("got %q, want %q", data, want[i])
		}
	}
}

func BenchmarkBox(b *testing.B) {
	b.ReportAllocs()
	b.SetBytes(256)
	mail := lossless(64 << 10)
	data := make([]byte, 256)
	for i := 0; b.Loop(); i++ {
		if !mail.Push(i, data) {
			continue
		}
		if _, err := mail.Next(b.Context()); err != nil {
			b.Fatal(err)
		}
		for ok := true; ok; {
			_, _, ok = mail.Take()
		}
	}
}
