// SPDX-License-Identifier: Apache-2.0

package retain_test

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"tagbus/bus/internal/retain"
	"tagbus/internal/testkit"
	"tagbus/netio"
)

// page is memory of a transport, which counts how often it is kept.
type page struct {
	bytes int
	kept  int
}

func (p *page) Bytes() int { return p.bytes }
func (p *page) Release()   { p.kept-- }

// keep keeps the page once more.
func (p *page) keep() (netio.Retained, error) {
	p.kept++
	return p, nil
}

// message is what a user has of a message.
type message struct {
	origin *retain.Origin
	turn   uint32
	data   []byte
}

// of returns a message of this turn.
func of(o *retain.Origin, data []byte) message { return message{o, o.Turn(), data} }

func (m *message) retain() error {
	kept, turn, data, err := m.origin.Retain(m.turn, m.data)
	if err == nil {
		*m = message{kept, turn, data}
	}
	return err
}

// check compares what a Retainer counts with what it is to count.
func check(tb interface {
	Helper()
	Errorf(string, ...any)
}, r *retain.Retainer, messages, bytes int, refused uint64,
) {
	tb.Helper()
	if m, b, n := r.Stats(); m != messages || b != bytes || n != refused {
		tb.Errorf("got %d messages in %d bytes, %d refused; want %d in %d, %d", m, b, n, messages, bytes, refused)
	}
}

func TestMessagesOfOneMemoryKeepItTogether(t *testing.T) {
	r := retain.New(1 << 20)
	memory := &page{bytes: 1000}
	var o retain.Origin
	o.Init(r, memory.keep)
	data := make([]byte, 10)
	a, b := of(&o, data[:4]), of(&o, data[4:])
	for _, m := range []*message{&a, &b, &a} { // a second time
		if err := m.retain(); err != nil {
			t.Fatal(err)
		}
	}
	if &a.data[0] != &data[0] || &b.data[0] != &data[4] {
		t.Errorf("a message is copied")
	}
	check(t, r, 2, 1000+2*retain.MessageBytes, 0)
	o.Next()
	c := of(&o, data) // of the same memory, as of a read with two pages
	if err := c.retain(); err != nil {
		t.Fatal(err)
	}
	check(t, r, 3, 1000+3*retain.MessageBytes, 0)
	if memory.kept != 1 {
		t.Errorf("the memory is kept %d times, want 1", memory.kept)
	}
	for i, m := range []message{b, c, a} {
		for range 2 { // the second time changes nothing
			if !m.origin.Release(m.turn) {
				t.Errorf("message %d was not retained", i)
			}
		}
	}
	check(t, r, 0, 0, 0)
	if memory.kept != 0 {
		t.Errorf("all is released, and the memory is kept %d times", memory.kept)
	}
	if err := a.retain(); !errors.Is(err, retain.ErrOver) {
		t.Errorf("a released message: got %v, want %v", err, retain.ErrOver)
	}
}

func TestAMessageIsOverAfterItsTurn(t *testing.T) {
	r := retain.New(1 << 20)
	memory := &page{bytes: 1000}
	var o retain.Origin
	o.Init(r, memory.keep)
	late := of(&o, nil)
	o.Next()
	if err := late.retain(); !errors.Is(err, retain.ErrOver) {
		t.Errorf("got %v, want %v", err, retain.ErrOver)
	}
	if late.origin.Release(late.turn) {
		t.Error("it was retained")
	}
	check(t, r, 0, 0, 0)
}

func TestAMessageThatWasNotReceivedIsCopied(t *testing.T) {
	id := retain.ID{1, 2, 3}
	tests := []struct {
		name   string
		origin *retain.Origin
		id     retain.ID
	}{
		{"a plain one", nil, retain.ID{}},
		{"a request", retain.Made(id), id},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			data := []byte("abc")
			m := message{test.origin, 0, data}
			if m.origin.Release(m.turn) {
				t.Error("it was retained before Retain")
			}
			if got := m.origin.ID(m.turn); got != test.id {
				t.Errorf("got the id %v, want %v", got, test.id)
			}
			if err := m.retain(); err != nil {
				t.Fatal(err)
			}
			clear(data)
			again := m
			if err := again.retain(); err != nil || &again.data[0] != &m.data[0] {
				t.Errorf("retained again: got error %v, or another copy", err)
			}
			if got := m.origin.ID(m.turn); string(m.data) != "abc" || got != test.id {
				t.Errorf("got %q with id %v, want the data and the id of before", m.data, got)
			}
			for range 2 { // the second time changes nothing
				if !m.origin.Release(m.turn) {
					t.Error("it was not retained")
				}
			}
			if got := again.origin.ID(again.turn); got != (retain.ID{}) {
				t.Errorf("released: got the id %v, want none", got)
			}
			if err := again.retain(); !errors.Is(err, retain.ErrOver) {
				t.Errorf("released: got %v, want %v", err, retain.ErrOver)
			}
		})
	}
}

func TestMemoryThatCannotBeKeptIsCopied(t *testing.T) {
	tests := []struct {
		name string
		err  error
		want error
	}{
		{"by a transport that never spares any", netio.ErrNotSupported, nil},
		{"for now", netio.ErrNoResources, nil},
		{"since the connection has ended", netio.ErrClosed, retain.ErrOver},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := retain.New(1 << 20)
			var o retain.Origin
			o.Init(r, func() (netio.Retained, error) { return nil, test.err })
			data := []byte("abc")
			all := []message{of(&o, data), of(&o, data)}
			for i := range all {
				if err := all[i].retain(); !errors.Is(err, test.want) {
					t.Fatalf("got %v, want %v", err, test.want)
				}
			}
			if test.want != nil {
				check(t, r, 0, 0, 0)
				return
			}
			clear(data)
			check(t, r, 2, 2*(3+retain.MessageBytes), 0)
			for _, m := range all {
				if string(m.data) != "abc" || cap(m.data) != 3 {
					t.Errorf("got %q in %d bytes, want a copy", m.data, cap(m.data))
				}
				m.origin.Release(m.turn)
			}
			check(t, r, 0, 0, 0)
		})
	}
}

func TestBeyondTheLimitNothingIsKept(t *testing.T) {
	const limit = 1000 + 2*retain.MessageBytes
	r := retain.New(limit)
	first, second := &page{bytes: 1000}, &page{bytes: 1}
	var o, other, copied retain.Origin
	o.Init(r, first.keep)
	other.Init(r, second.keep)
	copied.Init(r, func() (netio.Retained, error) { return nil, netio.ErrNotSupported })
	var all [2]message
	for i := range all {
		all[i] = of(&o, nil)
		if err := all[i].retain(); err != nil {
			t.Fatal(err)
		}
	}
	refuse := func(o *retain.Origin) {
		t.Helper()
		m := of(o, []byte("x"))
		if err := m.retain(); !errors.Is(err, retain.ErrLimit) || string(m.data) != "x" {
			t.Errorf("got %v and data %q, want %v and the data as it is", err, m.data, retain.ErrLimit)
		}
	}
	refuse(&o)
	o.Next()
	refuse(&o) // the same memory, asked for again
	refuse(&other)
	refuse(&copied)
	check(t, r, 2, limit, 4)
	if first.kept != 1 || second.kept != 0 {
		t.Errorf("got the memory kept %d and %d times, want once and never", first.kept, second.kept)
	}
	all[0].origin.Release(all[0].turn)
	m := of(&o, nil)
	if err := m.retain(); err != nil {
		t.Errorf("after a release: got %v, want none", err)
	}
	check(t, r, 2, limit, 4)
}

// TestWhatIsKeptIsWhatCounts compares a Retainer with a simple model, over messages of
// pages of any size, retained and released in any order.
func TestWhatIsKeptIsWhatCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 5000).Draw(t, "limit")
		r := retain.New(limit)
		var pages []*page
		var o retain.Origin
		o.Init(r, func() (netio.Retained, error) { return pages[len(pages)-1].keep() })
		next := func() {
			o.Next()
			pages = append(pages, &page{bytes: rapid.IntRange(0, 2000).Draw(t, "bytes")})
		}
		next()
		type retained struct {
			message
			page *page
		}
		var all []retained
		refused := uint64(0)
		bytes := func() (n int) {
			seen := make(map[*page]bool)
			for _, m := range all {
				n += retain.MessageBytes
				if !seen[m.page] {
					n += m.page.bytes
				}
				seen[m.page] = true
			}
			return n
		}
		t.Repeat(map[string]func(*rapid.T){
			"next": func(*rapid.T) { next() },
			"retain": func(t *rapid.T) {
				at := pages[len(pages)-1]
				m := of(&o, nil)
				before := all
				all = append(all, retained{page: at})
				fits := bytes() <= limit
				switch err := m.retain(); {
				case err == nil && fits:
					all[len(all)-1].message = m
				case errors.Is(err, retain.ErrLimit) && !fits:
					all = before
					refused++
				default:
					t.Fatalf("got %v, want room: %v", err, fits)
				}
			},
			"release": func(t *rapid.T) {
				if len(all) == 0 {
					t.Skip("nothing is retained")
				}
				i := rapid.IntRange(0, len(all)-1).Draw(t, "which")
				m := all[i]
				all[i] = all[len(all)-1]
				all = all[:len(all)-1]
				m.origin.Release(m.turn)
				m.origin.Release(m.turn)
			},
			"": func(t *rapid.T) {
				check(t, r, len(all), bytes(), refused)
				for _, p := range pages {
					kept := 0
					for _, m := range all {
						if m.page == p {
							kept = 1
						}
					}
					if p.kept != kept {
						t.Fatalf("a page is kept %d times, want %d", p.kept, kept)
					}
				}
			},
		})
	})
}

func TestHeapsOfOneSizeAreDifferentMemory(t *testing.T) {
	r := retain.New(1 << 20)
	var o retain.Origin
	o.Init(r, func() (netio.Retained, error) { return retain.Heap(100), nil })
	for range 2 {
		m := of(&o, nil)
		if err := m.retain(); err != nil {
			t.Fatal(err)
		}
		o.Next()
	}
	check(t, r, 2, 2*(100+retain.MessageBytes), 0)
}

// TestRetainingAllocatesNothing: not in the long run, when as much is released
// as is retained.
func TestRetainingAllocatesNothing(t *testing.T) {
	if testkit.Race {
		t.Skip("the race detector allocates")
	}
	var o retain.Origin
	memory := retain.Heap(1000)
	o.Init(retain.New(1<<20), func() (netio.Retained, error) { return memory, nil })
	var held [10]message
	allocations := testing.AllocsPerRun(1000, func() {
		o.Next()
		for i := range held {
			held[i].origin.Release(held[i].turn)
			held[i] = of(&o, nil)
			if err := held[i].retain(); err != nil {
				t.Fatal(err)
			}
		}
	})
	if allocations > 1 { // of the memory that is retained first in a turn
		t.Errorf("got %v allocations for 10 messages of a turn, want at most 1", allocations)
	}
}
