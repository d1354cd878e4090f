// SPDX-License-Identifier: Apache-2.0

package netio_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tagbus/internal/testkit"
	"tagbus/netio"
)

// newPool returns a pool that is closed at the end of the test, when all of its
// buffers must be back.
func newPool(tb testing.TB, buffers, bufferBytes int) *netio.Pool {
	tb.Helper()
	p, err := netio.NewPool(buffers, bufferBytes)
	if err != nil {
		tb.Fatalf("NewPool(%d, %d): got error %v, want none", buffers, bufferBytes, err)
	}
	tb.Cleanup(func() {
		if err := p.Close(); err != nil {
			tb.Errorf("Close: got error %v, want none", err)
		}
	})
	return p
}

func TestNewPoolRefusesWhatIsNoPool(t *testing.T) {
	for _, tt := range [][2]int{{0, 1}, {1, 0}, {-1, 1}, {1, -1}} {
		_, err := netio.NewPool(tt[0], tt[1])
		if !errors.Is(err, netio.ErrInvalidParams) {
			t.Errorf("NewPool(%d, %d): got error %v, want %v", tt[0], tt[1], err, netio.ErrInvalidParams)
		}
	}
}

func TestPoolHandsOutEachBufferOnce(t *testing.T) {
	p := newPool(t, 5, 100)
	var keys []netio.Key
	var all []*netio.Buffer
	for b := p.Get(); b != nil; b = p.Get() {
		keys = append(keys, b.Key())
		all = append(all, b)
		if len(b.Bytes()) != 0 || b.Available() != 100 {
			t.Errorf("buffer %d: got %d bytes and %d available, want 0 and 100", b.Key(), len(b.Bytes()), b.Available())
		}
	}
	if diff := cmp.Diff([]netio.Key{0, 1, 2, 3, 4}, keys); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	if p.Free() != 0 || p.Buffers() != 5 {
		t.Errorf("an empty pool: got %d free of %d buffers, want 0 of 5", p.Free(), p.Buffers())
	}
	// What one writes, no other sees.
	for i, b := range all {
		copy(b.Extend(100), strings.Repeat(string(rune('a'+i)), 100))
	}
	for i, b := range all {
		if want := strings.Repeat(string(rune('a'+i)), 100); string(b.Bytes()) != want {
			t.Errorf("buffer %d: got %q, want %q", i, b.Bytes(), want)
		}
		b.Release()
	}
	if p.Free() != 5 {
		t.Errorf("free after release: got %d, want 5", p.Free())
	}
}

func TestPoolReturnsTheBufferUsedLastEmpty(t *testing.T) {
	p := newPool(t, 3, 10)
	first, second := p.Get(), p.Get()
	first.Extend(10)
	second.Release()
	first.Release()
	got := p.Get()
	if got != first || len(got.Bytes()) != 0 || got.Available() != 10 {
		t.Errorf("Get: got buffer %d with %d bytes, want buffer %d with 0", got.Key(), len(got.Bytes()), first.Key())
	}
	got.Release()
}

func TestPoolBuffersLieInItsRegionOnCacheLines(t *testing.T) {
	p := newPool(t, 3, 70)
	if got := len(p.Region()); got != 3*128 {
		t.Errorf("region of 3 buffers of 70 bytes: got %d bytes, want %d", got, 3*128)
	}
	for i := range 3 {
		b := p.Get()
		b.Extend(70)[0] = byte(0xA0 + i)
		if got := p.Region()[i*128]; got != byte(0xA0+i) {
			t.Errorf("byte %d of the region: got %#x, want the first of buffer %d, %#x", i*128, got, i, 0xA0+i)
		}
		defer b.Release()
	}
}

func TestPoolRemembersItsLowest(t *testing.T) {
	p := newPool(t, 4, 1)
	steps := []struct {
		name string
		do   func()
		want int
	}{
		{"nothing was taken", func() {}, 4},
		{"three were taken and came back", func() {
			a, b, c := p.Get(), p.Get(), p.Get()
			a.Release()
			b.Release()
			c.Release()
		}, 1},
		{"nothing since", func() {}, 4},
		{"one is taken and another came back", func() { p.Get().Release() }, 3},
	}
	for _, s := range steps {
		s.do()
		if got := p.MinFree(); got != s.want {
			t.Errorf("MinFree when %s: got %d, want %d", s.name, got, s.want)
		}
	}
}

func TestPoolCloseWaitsForItsBuffers(t *testing.T) {
	p, err := netio.NewPool(2, 10)
	if err != nil {
		t.Fatalf("NewPool: got error %v, want none", err)
	}
	b := p.Get()
	if err := p.Close(); err == nil || !strings.Contains(err.Error(), "1 of 2") {
		t.Errorf("Close with a buffer in use: got error %v, want one that says 1 of 2", err)
	}
	b.Extend(10)[9] = 1 // the memory is still there
	b.Release()
	for range 2 {
		if err := p.Close(); err != nil {
			t.Errorf("Close: got error %v, want none", err)
		}
	}
	if b := p.Get(); b != nil {
		t.Errorf("Get after Close: got buffer %d, want none", b.Key())
	}
}

func TestReleasingTwicePanics(t *testing.T) {
	p := newPool(t, 2, 10)
	p.Get().Release()
	b := p.Get()
	b.Release()
	defer func() {
		got := fmt.Sprint(recover())
		if want := fmt.Sprintf("netio: buffer %d released twice", b.Key()); got != want {
			t.Errorf("second Release: got panic %q, want %q", got, want)
		}
		if p.Free() != 2 {
			t.Errorf("free after a second Release: got %d, want 2", p.Free())
		}
	}()
	b.Release()
}

func TestPoolIsForManyGoroutines(t *testing.T) {
	p := newPool(t, 3, 8)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := 0; n < 1000; {
				b := p.Get()
				if b == nil {
					continue
				}
				// Two owners of one buffer would race, or see the other's number.
				if err := b.WriteUint64(uint64(i)); err != nil {
					t.Errorf("WriteUint64: got error %v, want none", err)
				}
				if got := b.Bytes()[0]; got != byte(i) {
					t.Errorf("buffer %d: got %d of another owner, want %d", b.Key(), got, i)
				}
				b.Release()
				n++
			}
		})
	}
	all.Wait()
	if p.Free() != 3 {
		t.Errorf("free in the end: got %d, want 3", p.Free())
	}
}

func TestPoolDoesNotAllocate(t *testing.T) {
	if testkit.Race {
		t.Skip("the race detector allocates")
	}
	p := newPool(t, 2, 64)
	data := make([]byte, 32)
	got := testing.AllocsPerRun(100, func() {
		b := p.Get()
		if _, err := b.WriteVector(data, data); err != nil {
			t.Errorf("WriteVector: got error %v, want none", err)
		}
		b.MarkSent(p)
		b.ReleaseSent()
	})
	if got != 0 {
		t.Errorf("allocations of Get, WriteVector and Release: got %v, want 0", got)
	}
}

func BenchmarkPool(b *testing.B) {
	p := newPool(b, 4, 64)
	b.ReportAllocs()
	for b.Loop() {
		p.Get().Release()
	}
}

func TestRetireWaitsForTheLastBuffer(t *testing.T) {
	p, err := netio.NewPool(2, 10)
	if err != nil {
		t.Fatal(err)
	}
	b := p.Get()
	p.Retire()
	if p.Get() != nil {
		t.Error("a retired pool hands out a buffer")
	}
	if _, err := b.Write([]byte("still mine")); err != nil {
		t.Errorf("write to a buffer of a retired pool: got %v, want none", err)
	}
	b.Release() // unmaps
	p.Retire()
	if err := p.Close(); err != nil {
		t.Errorf("close of a retired pool: got %v, want none", err)
	}
}

func TestAwaitFree(t *testing.T) {
	p := newPool(t, 2, 8)
	calls := 0
	p.OnFree(func() {
		if p.Free() == 0 { // also: the lock is not held
			t.Error("free buffers inside OnFree: got 0, want at least 1")
		}
		calls++
	})
	a, b := p.Get(), p.Get()
	b.Release() // there is no waiting caller
	if !p.AwaitFree() {
		t.Error("AwaitFree with a free buffer: got false, want true")
	}
	b = p.Get()
	for range 2 {
		if p.AwaitFree() {
			t.Error("AwaitFree without a free buffer: got true, want false")
		}
	}
	if calls != 0 {
		t.Errorf("calls of OnFree before a buffer came back: got %d, want 0", calls)
	}
	a.Release()
	b.Release() // the wait is over
	if calls != 1 {
		t.Errorf("calls of OnFree: got %d, want 1", calls)
	}
	if !p.AwaitFree() {
		t.Error("AwaitFree after it was answered: got false, want true")
	}
}
