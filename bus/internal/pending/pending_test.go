// SPDX-License-Identifier: Apache-2.0

package pending_test

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tagbus/bus/internal/pending"
)

// model is a book with maps, of which nothing is forgotten.
type model struct {
	book     *pending.Book[string]
	all      []*pending.Request[string] // in the order of their numbers
	waiting  map[int]bool
	answered map[int]bool
	counts   pending.Counts
}

const most = 5

func TestModelOfABook(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &model{book: pending.New[string](most), waiting: make(map[int]bool), answered: make(map[int]bool)}
		other := pending.New[string](1)
		pick := func() int { return rapid.IntRange(0, len(m.all)-1).Draw(t, "request") }
		t.Repeat(map[string]func(*rapid.T){
			"begin": func(t *rapid.T) {
				q, err := m.book.Begin([]byte{byte(len(m.all))})
				if full := len(m.waiting) == most; full != errors.Is(err, pending.ErrFull) {
					t.Fatalf("got %v, with %d waiting", err, len(m.waiting))
				} else if !full {
					m.waiting[len(m.all)] = true
					m.all = append(m.all, q)
				}
			},
			"cancel": func(t *rapid.T) {
				if len(m.all) == 0 {
					t.Skip("none yet")
				}
				i := pick()
				if got := m.book.Cancel(m.all[i]); got != m.waiting[i] {
					t.Fatalf("got %v, want %v", got, m.waiting[i])
				}
				delete(m.waiting, i)
			},
			"answer": func(t *rapid.T) {
				if len(m.all) == 0 {
					t.Skip("none yet")
				}
				m.answer(t, pick())
			},
			"answer of another": func(t *rapid.T) {
				q, _ := other.Begin(nil)
				id := q.ID
				other.Cancel(q)
				if rapid.Bool().Draw(t, "like one of its own") && len(m.all) > 0 {
					id = m.all[pick()].ID
					n := rapid.SampledFrom([]uint64{1, 2, 1 << 63, 1<<64 - 1}).Draw(t, "difference")
					at := rapid.SampledFrom([]int{0, 8}).Draw(t, "at")
					binary.LittleEndian.PutUint64(id[at:], binary.LittleEndian.Uint64(id[at:])+n)
				}
				m.book.Answer(id, func() string { t.Fatal("a request takes it"); return "" })
				m.counts.Others++
			},
			"match":         func(t *rapid.T) { m.match(t, rapid.Byte().Draw(t, "at most")) },
			"match nothing": func(*rapid.T) { m.book.Match(nil, nil); m.counts.WithoutID++ },
			"": func(t *rapid.T) {
				got, waiting := m.book.Counts()
				if got != m.counts || waiting != len(m.waiting) {
					t.Fatalf("got %+v and %d waiting\nwant %+v and %d", got, waiting, m.counts, len(m.waiting))
				}
			},
		})
	})
}

func (m *model) answer(t *rapid.T, i int) {
	q := m.all[i]
	m.book.Answer(q.ID, func() string { return "by id" })
	switch {
	case m.waiting[i]:
		m.took(t, i, "by id")
		return
	case m.answered[i]:
		m.counts.Duplicates++
	default:
		m.counts.Late++
		m.answered[i] = true
	}
	if len(q.Reply) > 0 {
		t.Fatal("a request that does not wait has a reply")
	}
}

// match gives a reply to the oldest request whose command is at least limit.
func (m *model) match(t *rapid.T, limit byte) {
	m.book.Match(func(command []byte) bool { return command[0] >= limit }, func() string { return "by match" })
	for i := range m.all {
		if m.waiting[i] && byte(i) >= limit {
			m.took(t, i, "by match")
			return
		}
	}
	m.counts.WithoutID++
}

// took notes that a request which waited has a reply.
func (m *model) took(t *rapid.T, i int, want string) {
	q := m.all[i]
	select {
	case got := <-q.Reply:
		if got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	default:
		t.Fatalf("request %d has no reply", i)
	}
	delete(m.waiting, i)
	m.answered[i] = true
	m.counts.Replies++
}

func TestIDsAreUnique(t *testing.T) {
	seen := make(map[pending.ID]bool)
	for range 100 {
		b := pending.New[string](100)
		for range 100 {
			q, err := b.Begin(nil)
			if err != nil || seen[q.ID] || q.ID == (pending.ID{}) {
				t.Fatalf("got %x, %v: it is zero or there twice", q.ID, err)
			}
			seen[q.ID] = true
		}
	}
}

// A book remembers what became of the newest requests only. What is older is late however
// often it comes, and is not mistaken for a newer one with the same place.
func TestABookForgetsOldRequests(t *testing.T) {
	b := pending.New[string](2 * pending.Window)
	begin := func() *pending.Request[string] {
		q, err := b.Begin(nil)
		if err != nil {
			t.Fatal(err)
		}
		return q
	}
	answer := func(q *pending.Request[string]) { b.Answer(q.ID, func() string { return "r" }) }
	first := begin()
	answer(first)
	<-first.Reply
	old := begin() // which waits for longer than it is remembered
	var all []*pending.Request[string]
	for range pending.Window {
		all = append(all, begin())
	}
	answer(first)
	answer(first)
	if c, waiting := b.Counts(); c != (pending.Counts{Replies: 1, Late: 2}) || waiting != pending.Window+1 {
		t.Errorf("got %+v and %d waiting, want that the first is late", c, waiting)
	}
	slices.Reverse(all)
	for _, q := range append(all, old) {
		answer(q)
		select {
		case <-q.Reply:
		default:
			t.Fatal("a request that waits got no reply")
		}
	}
	answer(all[0])
	answer(old)
	if c, waiting := b.Counts(); c != (pending.Counts{Replies: pending.Window + 2, Late: 3, Duplicates: 1}) || waiting != 0 {
		t.Errorf("got %+v and %d waiting", c, waiting)
	}
}

// TestIDsCannotBeGuessed: some ids of a requester tell neither the next one, nor that
// they are of one requester.
func TestIDsCannotBeGuessed(t *testing.T) {
	b := pending.New[string](1000)
	var ids []pending.ID
	for range 1000 {
		q, err := b.Begin(nil)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, q.ID)
	}
	for at := range ids[0] {
		seen := make(map[byte]int)
		for _, id := range ids {
			seen[id[at]]++
		}
		// Of 1,000 random bytes some 251 values of 256 come, and each 4 times.
		if len(seen) < 200 {
			t.Errorf("byte %d of 1,000 ids: got %d values, want random ones", at, len(seen))
		}
		step := make(map[byte]int)
		for i := range len(ids) - 1 {
			step[ids[i+1][at]-ids[i][at]]++
		}
		if len(step) < 200 {
			t.Errorf("byte %d of 1,000 ids: got %d differences to the next one, want random ones", at, len(step))
		}
	}
}
