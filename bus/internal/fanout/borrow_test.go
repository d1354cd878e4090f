// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"errors"
	"testing"

	"tagbus/bus/internal/wire"
	"tagbus/internal/invariants"
)

// What a user writes to a payload that it has published is found when the last subscriber has it.
func TestAPayloadIsWrittenToWhileItIsLent(t *testing.T) {
	fan := newFanoutOf(t, 8)
	s := &stream{fan: fan}
	if err := fan.open(askFor(10), s); err != nil {
		t.Fatal(err)
	}
	l, turn, err := fan.Borrow(100)
	if err != nil {
		t.Fatal(err)
	}
	mem, p := l.Data(turn), s.page
	p.lend(make([]byte, wire.MaxOverhead), payload{mem: mem, chunk: l.piece.Chunk})
	p.refs.Store(1)
	mem[50]++
	defer func() {
		if caught := recover() != nil; caught != invariants.Enabled {
			t.Errorf("got a panic %t, want %t, as the build says", caught, invariants.Enabled)
		}
	}()
	fan.release(p)
}

// A loan that ends gives back what it has taken, also to callers that wait for memory.
func TestBorrowedMemoryComesBack(t *testing.T) {
	fan := newFanoutOf(t, 8)
	const most = 100
	var all []*Loan
	var turns []uint32
	for {
		l, turn, err := fan.Borrow(most)
		if err != nil {
			if !errors.Is(err, ErrNoRoom) || !fan.dry.Load() || !fan.wantReady.Load() {
				t.Errorf("got %v, dry %v, ready wanted %v, want ErrNoRoom and both", err, fan.dry.Load(), fan.wantReady.Load())
			}
			break
		}
		all, turns = append(all, l), append(turns, turn)
	}
	if n := len(all) * most; n < int(fan.lossyBytes)-most || n > int(fan.lossyBytes) {
		t.Fatalf("got %d bytes in loans, want up to half of the pool, %d", n, fan.lossyBytes)
	}
	if !all[0].Abort(turns[0]) || all[0].Abort(turns[0]) {
		t.Error("Abort: got false, and then true; want the opposite")
	}
	if fan.dry.Load() {
		t.Error("those that wait for memory were not told")
	}
	l, turn, err := fan.Borrow(most)
	if err != nil || l.Data(turns[0]) != nil || len(l.Data(turn)) != most {
		t.Errorf("got %v and %d bytes, want a loan that the earlier one does not reach", err, len(l.Data(turn)))
	}
	l.Abort(turn)
	for i, l := range all[1:] {
		l.Abort(turns[i+1])
	}
	if held := fan.borrowed.held.Load(); held != 0 {
		t.Errorf("in the end %d bytes are lent", held)
	}
}

// The room for headers does not halve what the pool takes: loans that fill a buffer together do so when memory is short.
func TestFanout_Borrow_manyFitWhenMemoryIsShort(t *testing.T) {
	const pageBytes, pages = 4096, 16
	for _, share := range []int{1, 2, 4, lentShare} {
		fan := newFanoutOf(t, pages)
		fan.cfg.PageBytes, fan.cfg.MaxMessageBytes = pageBytes, pageBytes
		var all []*Loan
		for {
			l, _, err := fan.Borrow(pageBytes / share)
			if err != nil {
				break
			}
			all = append(all, l)
			fan.borrowed.held.Add(-l.size) // as if it were published, and waited for a subscriber
		}
		if got, least := len(all), share*pages*3/4; got < least {
			t.Errorf("got %d loans of a page / %d in %d pages, want at least %d", got, share, pages, least)
		}
		for _, l := range all {
			fan.borrowed.held.Add(l.size)
			l.end(true)
		}
	}
}
