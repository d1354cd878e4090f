// SPDX-License-Identifier: Apache-2.0

package door

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/directory/etcd/internal/held"
)

// sent is what a client sends, for tests.
type sent struct{ bytes.Buffer }

// frame adds a frame.
func (s *sent) frame(kind, flags byte, stream uint32, payload []byte) *sent {
	n := len(payload)
	s.Write([]byte{byte(n >> 16), byte(n >> 8), byte(n), kind, flags})
	s.Write(binary.BigEndian.AppendUint32(nil, stream))
	s.Write(payload)
	return s
}

func (s *sent) headers(stream uint32) *sent {
	return s.frame(frameHeaders, 0x4, stream, []byte("head"))
}
func (s *sent) reset(stream uint32) *sent { return s.frame(frameReset, 0, stream, make([]byte, 4)) }

// message adds so many bytes of a message, with its prefix, in frames.
func (s *sent) message(stream uint32, size, of int, flags byte) *sent {
	all := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(size)), make([]byte, size)...)[:of]
	for part := range slices.Chunk(all, 16<<10) {
		last := byte(0)
		if len(part) == 0 || &part[len(part)-1] == &all[len(all)-1] {
			last = flags
		}
		s.frame(frameData, last, stream, part)
	}
	return s
}

// metered is a meter, and what its connection is.
type metered struct {
	*meter
	ended chan struct{}
	once  sync.Once
}

func (m *metered) cut() { m.once.Do(func() { close(m.ended) }) }

func newMetered(all *held.Answers, caller string) *metered {
	m := &metered{ended: make(chan struct{})}
	m.meter = newMeter(all, &held.Conn{Caller: caller, Ended: m.ended, Cut: m.cut})
	m.skip = 0
	return m
}

// room returns how much is held by the requests of a meter, and by how many.
func (m *metered) room() (held, many int) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	for _, r := range m.streams {
		if r.room != nil {
			held, many = held+r.room.Bytes(), many+1
		}
	}
	return held, many
}

// What counts is what has begun and is not whole, and what is whole, large and has no answer,
// however the bytes are cut.
func TestMeterCountsRequestsThatHaveNoAnswer(t *testing.T) {
	const small, large = 1 << 10, 1 << 20
	for _, test := range []struct {
		name       string
		in         func(s *sent)
		out        func(s *sent)
		held, many int
	}{
		{"a stream without data", func(s *sent) { s.headers(1) }, nil, 0, 0},
		{"a small request", func(s *sent) { s.headers(1).message(1, small, small+5, flagEnd) }, nil, 0, 0},
		{"a part of a prefix", func(s *sent) { s.headers(1).message(1, small, 3, 0) }, nil, shortest, 1},
		{"a part of a small request", func(s *sent) { s.headers(1).message(1, small, small, 0) }, nil, shortest, 1},
		{"a part of a large one", func(s *sent) { s.headers(1).message(1, large, 100, 0) }, nil, large + 5, 1},
		{"one that is larger than any", func(s *sent) { s.headers(1).message(1, 100<<20, 100, 0) }, nil, longest, 1},
		{"many", func(s *sent) {
			for i := range uint32(7) {
				s.headers(2*i+1).message(2*i+1, large, 100, 0)
			}
		}, nil, 7 * (large + 5), 7},
		{"a large one that is whole", func(s *sent) { s.headers(1).message(1, large, large+5, flagEnd) }, nil, large + 5, 1},
		{"and is answered", func(s *sent) { s.headers(1).message(1, large, large+5, flagEnd) }, func(s *sent) {
			s.headers(1).frame(frameData, 0, 1, make([]byte, 100)).frame(frameHeaders, 0x4|flagEnd, 1, []byte("trailer"))
		}, 0, 0},
		{"or refused", func(s *sent) { s.headers(1).message(1, large, 100, 0) }, func(s *sent) { s.reset(1) }, 0, 0},
		{"a large one in a stream of many, and the next", func(s *sent) {
			s.headers(1).message(1, large, large+5, 0).message(1, small, small+5, 0)
		}, nil, 0, 0},
		{"one that is given up", func(s *sent) { s.headers(1).message(1, large, 1000, 0).reset(1) }, nil, 0, 0},
		{"one that ends too early", func(s *sent) { s.headers(1).message(1, large, 1000, flagEnd) }, nil, 0, 0},
		{"data of no stream", func(s *sent) { s.message(1, large, 1000, 0).headers(3).message(5, large, 1000, 0) }, nil, 0, 0},
		{"padding, and other frames", func(s *sent) {
			data := append([]byte{50, 0, 0, 0, 4, 0}, make([]byte, 500+50)...)
			s.frame(4, 0, 0, make([]byte, 12)).headers(1).frame(frameData, flagPadded, 1, data).frame(6, 0, 0, make([]byte, 8))
			s.frame(frameData, flagPadded, 1, []byte{200}).frame(frameData, 0, 1, nil)
		}, nil, shortest, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			var in, out sent
			test.in(&in)
			if test.out != nil {
				test.out(&out)
			}
			random := rand.New(rand.NewPCG(1, 2))
			for range 20 {
				m := newMetered(&held.Answers{Bounds: requestBounds}, "a")
				feed := func(b []byte, use func([]byte) error) {
					for len(b) > 0 {
						n := min(len(b), 1+random.IntN(40_000))
						if random.IntN(4) == 0 {
							n = min(len(b), 1+random.IntN(5))
						}
						if err := use(b[:n]); err != nil {
							t.Fatal(err)
						}
						b = b[n:]
					}
				}
				feed(in.Bytes(), m.receives)
				feed(out.Bytes(), func(b []byte) error { m.sends(b); return nil })
				if held, many := m.room(); held != test.held || many != test.many {
					t.Fatalf("got %d bytes of %d requests, want %d of %d", held, many, test.held, test.many)
				}
				m.cut()
			}
		})
	}
}

// A connection that begins more than has room is not read, and ends after a second if others wait, or after
// 30. The connection of another caller is read meanwhile.
func TestMeterLetsAConnectionWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := &held.Answers{Bounds: requestBounds}
		greedy, other := newMetered(all, "a"), newMetered(all, "b")
		begin := func(m *metered, first, many uint32) error {
			var s sent
			for i := range many {
				s.headers(first+2*i).message(first+2*i, 1<<20, 100, 0)
			}
			return m.receives(s.Bytes())
		}
		began := time.Now()
		if err := begin(greedy, 1, 15); err != nil || time.Since(began) > 0 {
			t.Fatalf("got %v after %v, want room for 15", err, time.Since(began))
		}
		result := make(chan error, 1)
		go func() { result <- begin(greedy, 101, 1) }()
		synctest.Wait()
		if err := begin(other, 1, 1); err != nil || time.Since(began) > 0 {
			t.Errorf("another caller: got %v after %v, want room at once", err, time.Since(began))
		}
		<-greedy.ended
		if err := <-result; err != nil && !errors.Is(err, net.ErrClosed) || time.Since(began) > 2*time.Second {
			t.Errorf("got %v after %v, want that the connection is cut after a second or two", err, time.Since(began))
		}
		var whole sent
		for part := range slices.Chunk(make([]byte, 1<<20-95), 16<<10) { // it is whole then
			whole.frame(frameData, 0, 1, part)
		}
		if err := other.receives(whole.frame(frameData, flagEnd, 1, nil).Bytes()); err != nil {
			t.Error(err)
		}
		<-other.ended
		if took := time.Since(began); took < 30*time.Second || took > 31*time.Second {
			t.Errorf("the other one ended after %v, want 30s", took)
		}
		synctest.Wait()
		if !all.HasRoom(&held.Conn{Caller: "c"}, requestBounds.InAll) {
			t.Error("got no room after all have ended")
		}
	})
}

// FuzzMeter: whatever a client sends, and however that is cut, it counts alike, and is given back at its end.
func FuzzMeter(f *testing.F) {
	var s sent
	f.Add(s.headers(1).message(1, 100, 50, 0).reset(1).headers(3).message(3, 100, 50, flagEnd).Bytes(), 3)
	f.Fuzz(func(t *testing.T, in []byte, at int) {
		at = min(len(in), max(0, at))
		var counted [2]string
		for i, parts := range [][][]byte{{in}, {in[:at], in[at:]}} {
			m := newMetered(nil, "a") // what is in touched would take room
			for _, part := range parts {
				m.in.feed(part, m.takes)
			}
			partial := 0
			for _, r := range m.streams {
				if r.isPartial() {
					partial += r.left
				}
			}
			counted[i] = fmt.Sprint(len(m.streams), partial)
			var ends sent
			for stream := range m.streams {
				ends.reset(stream)
			}
			if m.sends(ends.Bytes()); len(m.streams) != 0 {
				t.Errorf("got %d streams after their end", len(m.streams))
			}
		}
		if counted[0] != counted[1] {
			t.Errorf("got %q and %q", counted[0], counted[1])
		}
	})
}
