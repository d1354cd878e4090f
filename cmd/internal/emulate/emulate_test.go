// SPDX-License-Identifier: Apache-2.0

package emulate_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"strings"
	"testing"
	"time"

	"tagbus/bus"
	"tagbus/cmd/internal/emulate"
	"tagbus/cmd/internal/units"
	"tagbus/internal/testkit"
	"tagbus/tags"
)

func sizes(tb testing.TB, text string) emulate.Sizes {
	tb.Helper()
	var s emulate.Sizes
	if err := s.UnmarshalText([]byte(text)); err != nil {
		tb.Fatalf("sizes %q: %v", text, err)
	}
	return s
}

func TestSizes(t *testing.T) {
	tests := []struct {
		name, text string
		min, max   units.Bytes
		bad        string // part of the error
	}{
		{"one size", "1KiB", 1024, 1024, ""},
		{"a range", "40-400", 40, 400, ""},
		{"a range with suffixes", "1KiB-1MiB", 1 << 10, 1 << 20, ""},
		{"nothing at all", "0", 0, 0, ""},
		{"a range the wrong way round", "400-40", 0, 0, "want the smaller size first"},
		{"a range without end", "40-", 0, 0, `not a quantity: ""`},
		{"a word", "big", 0, 0, `"big"`},
		{"more than a header can say", "2GiB", 0, 0, "want at most 1073741824 bytes"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got emulate.Sizes
			err := got.UnmarshalText([]byte(test.text))
			switch {
			case test.bad == "" && (err != nil || got.Min != test.min || got.Max != test.max):
				t.Errorf("got %v, %v, want %d to %d", got, err, test.min, test.max)
			case test.bad != "" && (!errors.Is(err, emulate.ErrSizes) || !strings.Contains(err.Error(), test.bad)):
				t.Errorf("got error %v, want one with %q", err, test.bad)
			}
		})
	}
}

// TestLayout fixes the format, for checkers in other programs.
func TestLayout(t *testing.T) {
	tests := []struct {
		name, size string
		counter    uint64
		want       string // beginning, without the checksum
	}{
		{"header and pattern", "40", 0x0102030405060708, "0807060504030201" + "28000000"},
		{"header only", "16", 1, "0100000000000000" + "10000000"},
		{"counter and complements", "15", 0x0102030405060708, "0807060504030201" + "f7f8f9fafbfcfd"},
		{"part of a counter", "3", 0x0102030405060708, "080706"},
		{"nothing", "0", 5, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := emulate.NewGenerator(sizes(t, test.size)).Next(test.counter)
			if text := hex.EncodeToString(got[:len(test.want)/2]); text != test.want {
				t.Errorf("got %s, want %s", text, test.want)
			}
			if len(got) < emulate.HeaderBytes {
				return
			}
			rest := append(bytes.Clone(got[:12]), got[16:]...)
			want := crc32.Checksum(rest, crc32.MakeTable(crc32.Castagnoli))
			if crc := binary.LittleEndian.Uint32(got[12:]); crc != want {
				t.Errorf("checksum: got %08x, want %08x", crc, want)
			}
		})
	}
}

func TestGeneratorRepeatsItself(t *testing.T) {
	a, b := emulate.NewGenerator(sizes(t, "0-100")), emulate.NewGenerator(sizes(t, "0-100"))
	seen := map[int]bool{}
	for counter := uint64(1); counter < 5000; counter++ {
		x, y := a.Next(counter), b.Next(counter)
		if !bytes.Equal(x, y) {
			t.Fatalf("message %d: got %x and %x from two generators, want the same", counter, x, y)
		}
		seen[len(x)] = true
	}
	if len(seen) != 101 {
		t.Errorf("got %d different sizes of 0 to 100, want all 101", len(seen))
	}
}

// TestPatternsDiffer guards against a pattern that a stale page would also have.
func TestPatternsDiffer(t *testing.T) {
	g := emulate.NewGenerator(sizes(t, "64"))
	before := map[string]uint64{}
	for counter := uint64(1); counter <= 251; counter++ {
		pattern := string(g.Next(counter)[emulate.HeaderBytes:])
		if other := before[pattern]; other != 0 {
			t.Fatalf("messages %d and %d have the same pattern", other, counter)
		}
		before[pattern] = counter
	}
}

// step is a message as it might arrive: with the content of one message and
// the counter that the bus gave it.
type step struct {
	content, counter uint64
	flip             int // byte to damage, counted from 1
	want             error
}

func TestVerifier(t *testing.T) {
	tests := []struct {
		name, size string
		steps      []step
		want       [3]uint64 // corrupt, duplicates, missing
	}{
		{"all is well", "64", []step{{1, 1, 0, nil}, {2, 2, 0, nil}}, [3]uint64{}},
		{"it begins in the middle", "64", []step{{7, 7, 0, nil}, {8, 8, 0, nil}}, [3]uint64{}},
		{"a replay of the middle of a run", "64", []step{{1001, 1, 0, nil}, {1002, 2, 0, nil}, {1005, 3, 0, emulate.ErrMissing}}, [3]uint64{0, 0, 2}},
		{"a replay of short messages of the middle", "1", []step{{200, 1, 0, nil}, {201, 2, 0, nil}}, [3]uint64{}},
		{"content that is behind", "64", []step{{1, 1001, 0, nil}, {2, 1002, 0, nil}, {2, 1003, 0, emulate.ErrDuplicate}}, [3]uint64{0, 1, 0}},
		{"a loss that the bus knows", "64", []step{{1, 1, 0, nil}, {5, 5, 0, nil}}, [3]uint64{}},
		{
			"a loss that the bus does not know is counted once", "64",
			[]step{{1, 1, 0, nil}, {4, 2, 0, emulate.ErrMissing}, {5, 3, 0, nil}},
			[3]uint64{0, 0, 2},
		},
		{
			"a message twice under one counter", "64",
			[]step{{1, 1, 0, nil}, {1, 1, 0, emulate.ErrDuplicate}, {2, 2, 0, nil}},
			[3]uint64{0, 1, 0},
		},
		{
			"a message twice under two counters", "64",
			[]step{{1, 1, 0, nil}, {1, 2, 0, emulate.ErrDuplicate}, {2, 3, 0, nil}},
			[3]uint64{0, 1, 0},
		},
		{"a damaged counter", "64", []step{{1, 1, 1, emulate.ErrCorrupt}}, [3]uint64{1, 0, 0}},
		{"a damaged size", "64", []step{{1, 1, 9, emulate.ErrCorrupt}}, [3]uint64{1, 0, 0}},
		{"a damaged checksum", "64", []step{{1, 1, 13, emulate.ErrCorrupt}}, [3]uint64{1, 0, 0}},
		{"a damaged pattern", "64", []step{{1, 1, 64, emulate.ErrCorrupt}, {2, 2, 0, nil}}, [3]uint64{1, 0, 0}},
		{"short messages", "1", []step{{255, 255, 0, nil}, {256, 256, 0, nil}}, [3]uint64{}},
		{"a short message missing", "1", []step{{255, 255, 0, nil}, {257, 256, 0, emulate.ErrMissing}}, [3]uint64{0, 0, 1}},
		{"a short message twice", "2", []step{{256, 256, 0, nil}, {256, 257, 0, emulate.ErrDuplicate}}, [3]uint64{0, 1, 0}},
		{"a damaged complement", "9", []step{{1, 1, 9, emulate.ErrCorrupt}}, [3]uint64{1, 0, 0}},
		{"empty messages", "0", []step{{1, 1, 0, nil}, {2, 2, 0, nil}, {2, 2, 0, emulate.ErrDuplicate}}, [3]uint64{0, 1, 0}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g, v := emulate.NewGenerator(sizes(t, test.size)), new(emulate.Verifier)
			for i, s := range test.steps {
				data := bytes.Clone(g.Next(s.content))
				if s.flip > 0 {
					data[s.flip-1] ^= 0x10
				}
				err := v.Check(bus.Message{Tag: 5, Counter: s.counter, Data: data, Publisher: &bus.Peer{Instance: "a"}})
				if !errors.Is(err, s.want) {
					t.Errorf("step %d: got %v, want %v", i, err, s.want)
				}
			}
			if got := [3]uint64{v.Corrupt, v.Duplicates, v.Missing}; got != test.want {
				t.Errorf("counts: got %v, want %v", got, test.want)
			}
		})
	}
}

func TestCountersThatTheBusPassesOverMustBeReported(t *testing.T) {
	tests := []struct {
		name     string
		counters []uint64
		reported uint64
		want     uint64
	}{
		{"none", []uint64{4, 5, 6}, 0, 0},
		{"reported", []uint64{1, 5, 8}, 5, 0},
		{"more was reported, before the first or behind the last", []uint64{4, 8}, 9, 0},
		{"not all was reported", []uint64{1, 5, 8}, 3, 2},
		{"nothing came", nil, 3, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g, v := emulate.NewGenerator(sizes(t, "20")), new(emulate.Verifier)
			for _, counter := range test.counters {
				testkit.Must(t, v.Check(bus.Message{Tag: 5, Counter: counter, Data: g.Next(counter), Publisher: &bus.Peer{Instance: "a"}}))
			}
			err := v.Compare("a", 5, test.reported)
			if errors.Is(err, emulate.ErrMissing) != (test.want > 0) || v.Missing != test.want {
				t.Errorf("got %d missing and error %v, want %d", v.Missing, err, test.want)
			}
		})
	}
}

// What a publisher has made while a policy kept the tag back is not missing.
func TestCountersOfATagThatWasKeptBack(t *testing.T) {
	for _, test := range []struct {
		name                string
		reported, published uint64
		want                uint64
	}{
		{"none of what was had", 0, 4, 0}, // 1, 2, 8 and 9
		{"reported", 1, 5, 0},
		{"not reported", 0, 6, 2},
		{"all", 0, 9, 5},
		{"not more than was passed over", 0, 20, 5},
	} {
		t.Run(test.name, func(t *testing.T) {
			g, v := emulate.NewGenerator(sizes(t, "20")), new(emulate.Verifier)
			for _, counter := range []uint64{1, 2, 8, 9} {
				testkit.Must(t, v.Check(bus.Message{Tag: 5, Counter: counter, Data: g.Next(counter), Publisher: &bus.Peer{Instance: "a"}}))
			}
			err := v.CompareParts("a", 5, test.reported, test.published)
			if errors.Is(err, emulate.ErrMissing) != (test.want > 0) || v.Missing != test.want {
				t.Errorf("got %d missing and error %v, want %d", v.Missing, err, test.want)
			}
		})
	}
}

func TestStamps(t *testing.T) {
	tests := []struct {
		size string
		want uint64 // messages with a time
	}{{"24", 3}, {"100", 3}, {"23", 0}, {"3", 0}}
	for _, test := range tests {
		t.Run(test.size, func(t *testing.T) {
			g, v := emulate.NewGenerator(sizes(t, test.size)), new(emulate.Verifier)
			plain := bytes.Clone(g.Next(1))
			g.Stamp()
			for counter := uint64(2); counter < 5; counter++ {
				testkit.Must(t, v.Check(bus.Message{Tag: 5, Counter: counter, Data: g.Next(counter), Publisher: &bus.Peer{Instance: "a"}}))
			}
			if got := v.Latency.Total(); got.Messages != test.want || got.Max < 0 || got.Max > time.Minute {
				t.Errorf("got %+v, want %d messages", got, test.want)
			}
			again := emulate.NewGenerator(sizes(t, test.size)).Next(1)
			if !bytes.Equal(plain, again) {
				t.Errorf("a generator without stamps: got %x, want %x", again, plain)
			}
		})
	}
}

func TestVerifierKeepsPublishersAndTagsApart(t *testing.T) {
	v, g := new(emulate.Verifier), emulate.NewGenerator(sizes(t, "20"))
	before, after := &bus.Peer{Instance: "a"}, &bus.Peer{Instance: "a"} // a reconnect gives a new Peer
	other := &bus.Peer{Instance: "b"}
	steps := []struct {
		from    *bus.Peer
		tag     tags.Tag
		counter uint64
		want    error
	}{
		{before, 1, 1, nil},
		{before, 2, 1, nil},
		{other, 1, 1, nil},
		{nil, 1, 1, nil},
		{after, 1, 2, nil},
		{after, 1, 1, emulate.ErrDuplicate},
		{other, 1, 2, nil},
	}
	for i, s := range steps {
		err := v.Check(bus.Message{Tag: s.tag, Counter: s.counter, Data: g.Next(s.counter), Publisher: s.from})
		if !errors.Is(err, s.want) {
			t.Errorf("step %d: got %v, want %v", i, err, s.want)
		}
	}
}

func TestNothingIsAllocatedPerMessage(t *testing.T) {
	if testkit.Race {
		t.Skip("the race detector allocates")
	}
	g, v := emulate.NewGenerator(sizes(t, "0-2000")), new(emulate.Verifier)
	peer := &bus.Peer{Instance: "a"}
	counter := uint64(0)
	got := testing.AllocsPerRun(1000, func() {
		counter++
		testkit.Must(t, v.Check(bus.Message{Tag: 1, Counter: counter, Data: g.Next(counter), Publisher: peer}))
	})
	if got != 0 {
		t.Errorf("got %v allocations per message, want 0", got)
	}
}

func BenchmarkGenerateAndCheck(b *testing.B) {
	for _, size := range []string{"40", "1KiB", "64KiB"} {
		b.Run("size="+size, func(b *testing.B) {
			g, v, peer := emulate.NewGenerator(sizes(b, size)), new(emulate.Verifier), &bus.Peer{Instance: "a"}
			b.ReportAllocs()
			b.SetBytes(int64(sizes(b, size).Max))
			for counter := uint64(1); b.Loop(); counter++ {
				testkit.Must(b, v.Check(bus.Message{Tag: 1, Counter: counter, Data: g.Next(counter), Publisher: peer}))
			}
		})
	}
}
