// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"bytes"
	"slices"
	"testing"

	"tagbus/bus/internal/wire"
)

func TestADoneThatPanicsKeepsNoOtherPayload(t *testing.T) {
	loop := &modelLoop{}
	b := &loans{loop: loop}
	var called []int
	for i := range 3 {
		b.add(func() {
			if called = append(called, i); i == 0 {
				panic("the user's")
			}
		})
	}
	func() {
		defer func() { _ = recover() }()
		b.settle()
	}()
	b.settle() // as Close does
	if len(called) != 3 || len(loop.posted) != 1 {
		t.Errorf("got calls %v and %d posts, want each once and 1 post", called, len(loop.posted))
	}
}

func TestADoneThatGivesBackMoreLetsTheLoopGoOn(t *testing.T) {
	loop := &modelLoop{}
	b := &loans{loop: loop}
	calls := 0
	var again func()
	again = func() {
		if calls++; calls < 5 {
			b.add(again)
		}
	}
	b.add(again)
	for want := 1; want <= 5; want++ {
		if b.settle(); calls != want || len(loop.posted) != min(want+1, 5) {
			t.Fatalf("turn %d: got %d calls and %d posts, want %d and %d", want, calls, len(loop.posted), want, min(want+1, 5))
		}
	}
}

// A page of a loan is one piece, its header directly before the payload, unless the loan fills a whole page.
func TestLoan_pageIsOnePiece(t *testing.T) {
	const pageBytes = 4096
	fan := newFanoutOf(t, 8)
	fan.cfg.PageBytes, fan.cfg.MaxMessageBytes = pageBytes, pageBytes
	for _, test := range []struct{ size, pieces int }{{pageBytes / lentShare, 1}, {pageBytes - frontBytes, 1}, {pageBytes, 2}} {
		l, turn, err := fan.Borrow(test.size)
		if err != nil {
			t.Fatal(err)
		}
		data := l.Data(turn)
		if len(data) != test.size || cap(data) != test.size {
			t.Fatalf("got %d bytes of %d, want %d", len(data), cap(data), test.size)
		}
		for i := range data {
			data[i] = byte(i)
		}
		p, w := new(page), &wire.Writer{Mem: make([]byte, 0, wire.MaxOverhead)}
		w.Header(7, 3, 0, test.size)
		w.Messages = 1
		header := w.Mem
		p.lend(header, payload{mem: l.piece.Mem, front: l.front, chunk: l.piece.Chunk})
		if got := bytes.Join(p.vector(), nil); len(p.vector()) != test.pieces || !bytes.Equal(got, append(slices.Clip(header), data...)) {
			t.Errorf("a loan of %d bytes: got %d pieces of %d bytes, want %d of %d, header and payload", test.size, len(p.vector()), len(got), test.pieces, len(header)+len(data))
		}
		if written, want := p.complete(w, place{}), len(header)*(test.pieces-1); written != want {
			t.Errorf("a loan of %d bytes: got %d bytes of the arena written, want %d", test.size, written, want)
		}
		l.Abort(turn)
	}
	if held := fan.borrowed.held.Load(); held != 0 {
		t.Errorf("in the end %d bytes are lent", held)
	}
}
