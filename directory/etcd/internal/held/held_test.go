// SPDX-License-Identifier: Apache-2.0

package held

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/grpc/mem"
)

// dialled returns a connection of a caller, which a test ends, and whether it was cut.
func dialled(t *testing.T, caller any) (*Conn, *atomic.Bool) {
	cut, ended := new(atomic.Bool), make(chan struct{})
	end := sync.OnceFunc(func() { close(ended) })
	t.Cleanup(end)
	return &Conn{Caller: caller, Ended: ended, Cut: func() { cut.Store(true); end() }}, cut
}

const long = 20 << 20

// holding returns how many bytes are held.
func holding(a *Answers) int {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return a.held
}

// A caller that asks and does not read holds little, keeps no other one waiting, and is cut off as soon as its
// room is needed. One beside it that reads gets all answers, also if it is the same caller for the member.
func TestUntakenAnswersGiveWay(t *testing.T) {
	for _, test := range []struct {
		name           string
		greedy, honest any
		most           time.Duration
	}{{"of another caller", "greedy", "honest", 0}, {"of another connection", "both", "both", hurried + lookEvery}} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var a Answers
				greedy, cut := dialled(t, test.greedy)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				for range 100 {
					go func() { _, _ = a.Take(ctx, greedy, long) }()
				}
				synctest.Wait()
				if got := holding(&a); got == 0 || got > ForCaller {
					t.Errorf("got %d bytes held, want some, and at most %d", got, ForCaller)
				}
				honest, cutToo := dialled(t, test.honest)
				began := time.Now()
				for range 10 {
					answer, err := a.Take(ctx, honest, long)
					if err != nil {
						t.Fatal(err)
					}
					answer.Release()
				}
				if took := time.Since(began); took > test.most {
					t.Errorf("got 10 answers after %v, want %v at most", took, test.most)
				}
				<-time.After(hurried + 2*lookEvery)
				synctest.Wait()
				if !cut.Load() || cutToo.Load() {
					t.Errorf("got greedy cut: %t, honest cut: %t, want the greedy one alone", cut.Load(), cutToo.Load())
				}
				if got := holding(&a); got != 0 {
					t.Errorf("got %d bytes held in the end, want none", got)
				}
			})
		})
	}
}

// All callers together have a bound, too, and the one that holds least comes first.
func TestUntakenAnswersOfManyCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a Answers
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for i := range 20 {
			greedy, _ := dialled(t, i)
			for range 128 {
				go func() { _, _ = a.Take(ctx, greedy, long) }()
			}
		}
		synctest.Wait()
		if got := holding(&a); got < InAll-long || got > InAll {
			t.Errorf("got %d bytes held, want about %d", got, InAll)
		}
		honest, cut := dialled(t, "honest")
		for i := range 5 {
			began := time.Now()
			answer, err := a.Take(ctx, honest, long)
			if err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took > 2*(hurried+lookEvery) {
				t.Errorf("answer %d: got it after %v, want %v at most", i, took, 2*(hurried+lookEvery))
			}
			answer.Release()
		}
		if cut.Load() {
			t.Error("got a connection cut that takes its answers, want it to stand")
		}
	})
}

// An answer that is left is not held for ever, though nothing else needs its room; what is taken is no
// matter, however long that goes on.
func TestLeftAnswersEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a Answers
		left, cut := dialled(t, "a")
		taking, cutToo := dialled(t, "a")
		if _, err := a.Take(t.Context(), left, 1); err != nil {
			t.Fatal(err)
		}
		last, err := a.Take(t.Context(), taking, 1)
		for range 10 {
			if err != nil {
				t.Fatal(err)
			}
			<-time.After(untaken / 5)
			next, nextErr := a.Take(t.Context(), taking, 1)
			last.Release()
			last, err = next, nextErr
		}
		if !cut.Load() || cutToo.Load() {
			t.Errorf("got left cut: %t, taken cut: %t, want the first one alone", cut.Load(), cutToo.Load())
		}
	})
}

// What a request had is free when it fails, when its connection ends, and when it turns out to be shorter.
func TestRoomComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a Answers
		c, _ := dialled(t, "a")
		whole, err := a.Take(t.Context(), c, 2*ForCaller)
		if err != nil || holding(&a) != ForCaller {
			t.Fatalf("got %d bytes held, %v, want %d", holding(&a), err, ForCaller)
		}
		if a.HasRoom(c, 1) {
			t.Error("got room, want none")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := a.Take(ctx, c, 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the end of its time", err)
		}
		whole.Shrink(5)
		whole.Shrink(7)
		if holding(&a) != 5 || !a.HasRoom(c, 1) {
			t.Errorf("got %d bytes held, want 5", holding(&a))
		}
		for range 2 {
			whole.Release()
		}
		if holding(&a) != 0 {
			t.Errorf("got %d bytes held, want none", holding(&a))
		}
		if _, err := a.Take(t.Context(), c, 9); err != nil {
			t.Fatal(err)
		}
		c.Cut()
		synctest.Wait()
		if holding(&a) != 0 || len(a.callers) != 0 {
			t.Errorf("got %d bytes held for %d callers, want none", holding(&a), len(a.callers))
		}
	})
}

// So many requests wait, and not more.
func TestRequestsThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a Answers
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		c, _ := dialled(t, "a")
		for range maxWaiting + 1 {
			go func() { _, _ = a.Take(ctx, c, ForCaller) }()
		}
		synctest.Wait()
		if _, err := a.Take(ctx, c, 1); !errors.Is(err, ErrTooMany) {
			t.Errorf("got %v, want %v", err, ErrTooMany)
		}
		other, _ := dialled(t, "b")
		if _, err := a.Take(ctx, other, 1); err != nil {
			t.Errorf("another caller: got %v, want nil", err)
		}
	})
}

// The codec writes what that of gRPC does, and says when an answer is written.
func TestCodec(t *testing.T) {
	for _, length := range []int{10, 1 << 10, 1 << 20} {
		t.Run(strconv.Itoa(length), func(t *testing.T) {
			var a Answers
			c, _ := dialled(t, "a")
			answer, err := a.Take(t.Context(), c, length)
			if err != nil {
				t.Fatal(err)
			}
			sent := &etcdserverpb.RangeResponse{Kvs: []*mvccpb.KeyValue{{Value: make([]byte, length)}}}
			bytes, err := Codec().Marshal(answer.Of(sent))
			if err != nil {
				t.Fatal(err)
			}
			if holding(&a) == 0 {
				t.Error("got no bytes held before it is written, want some")
			}
			view := bytes[0]
			view.Ref()
			bytes.Free()
			got := new(etcdserverpb.RangeResponse)
			if err := Codec().Unmarshal(mem.BufferSlice{view}, got); err != nil || len(got.Kvs) != 1 || len(got.Kvs[0].Value) != length {
				t.Errorf("got %v, %v, want what was sent", got, err)
			}
			view.Free()
			if holding(&a) != 0 {
				t.Errorf("got %d bytes held, want none", holding(&a))
			}
		})
	}
}
