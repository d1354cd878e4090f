// SPDX-License-Identifier: Apache-2.0

package load_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tagbus/bench/internal/load"
)

const size = 64

// message returns a message as a publisher makes it.
func message(sequence uint64, lane uint32) []byte {
	b := load.NewMessage(size)
	load.Stamp(b, sequence, lane, 0)
	return b
}

func end(total uint64) []byte { return message(total, load.EndLane) }

// changed returns a message with a bit of one byte turned.
func changed(b []byte, at int) []byte {
	b[at] ^= 1
	return b
}

func TestChecker(t *testing.T) {
	again := func(b []byte, n int) [][]byte {
		var all [][]byte
		for range n {
			all = append(all, b)
		}
		return all
	}
	tests := []struct {
		name     string
		messages [][]byte
		want     load.SubResult
		ends     bool
	}{
		{"all arrive in order", [][]byte{message(0, 0), message(1, 0), end(2)}, load.SubResult{Received: 2, Sampled: 1}, true},
		{"two lanes have an order each", [][]byte{message(0, 1), message(0, 0), end(2)}, load.SubResult{Received: 2, Sampled: 2}, true},
		{"the end comes before the last", [][]byte{message(0, 0), end(2), message(1, 0), end(2)}, load.SubResult{Received: 2, Sampled: 1}, true},
		{"one is missing", append([][]byte{message(0, 0), message(2, 0)}, again(end(3), 5)...), load.SubResult{Received: 2, Sampled: 1}, false},
		{"one is missing and has been waited for", append([][]byte{message(0, 0), message(2, 0)}, again(end(3), 21)...), load.SubResult{Received: 2, Sampled: 1}, true},
		{"two have changed places", [][]byte{message(1, 0), message(0, 0), end(2)}, load.SubResult{Received: 2, Sampled: 1, Disordered: 1}, true},
		{"a bit of the sequence is wrong", [][]byte{changed(message(0, 0), 0)}, load.SubResult{Corrupt: 1}, false},
		{"a bit of the lane is wrong", [][]byte{changed(message(0, 0), 8)}, load.SubResult{Corrupt: 1}, false},
		{"a bit of the pattern is wrong", [][]byte{changed(message(0, 0), size-1)}, load.SubResult{Received: 1, Sampled: 1, Corrupt: 1}, false},
		{"a lane that does not exist", [][]byte{message(0, 2)}, load.SubResult{Corrupt: 1}, false},
		{"too short for a header", [][]byte{message(0, 0)[:8]}, load.SubResult{Corrupt: 1}, false},
		{"a byte is missing at the end", [][]byte{message(0, 0)[:size-1]}, load.SubResult{Corrupt: 1}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := load.NewChecker(load.Options{Size: size, Tags: 2})
			ended := false
			for _, m := range test.messages {
				ended = c.Take(m)
			}
			if ended != test.ends {
				t.Errorf("last message: got end %v, want %v", ended, test.ends)
			}
			ignored := cmpopts.IgnoreFields(load.SubResult{}, "Role", "LastNS", "Latency", "Extra")
			if diff := cmp.Diff(test.want, c.Result(), ignored); diff != "" {
				t.Errorf("result differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCheckerDoesNotAllocate(t *testing.T) {
	c := load.NewChecker(load.Options{Size: size, Tags: 1})
	m := message(0, 0)
	if got := testing.AllocsPerRun(100, func() { c.Take(m) }); got != 0 {
		t.Errorf("allocations of Take: got %v, want 0", got)
	}
}

func BenchmarkChecker(b *testing.B) {
	c := load.NewChecker(load.Options{Size: size, Tags: 1})
	m := load.NewMessage(size)
	b.ReportAllocs()
	for sequence := range uint64(b.N) {
		load.Stamp(m, sequence, 0, 0)
		c.Take(m)
	}
}

// Where all messages are read, each is compared, and not one in 1,024.
func TestChecker_readAll(t *testing.T) {
	for _, all := range []bool{false, true} {
		c := load.NewChecker(load.Options{Size: size, Tags: 1, ReadAll: all})
		for sequence := range uint64(5) {
			c.Take(message(sequence, 0))
		}
		c.Take(changed(message(5, 0), size-1))
		c.Take(end(6))
		want := load.SubResult{Sampled: 1}
		if all {
			want = load.SubResult{Sampled: 6, Corrupt: 1}
		}
		if got := c.Result(); got.Sampled != want.Sampled || got.Corrupt != want.Corrupt {
			t.Errorf("ReadAll %v: got %d compared, of which %d are wrong; want %d and %d", all, got.Sampled, got.Corrupt, want.Sampled, want.Corrupt)
		}
	}
}
