// SPDX-License-Identifier: Apache-2.0

package recording_test

import (
	"bytes"
	"testing"
	"time"

	"tagbus/bus"
	"tagbus/recording"
)

// timesOf returns a recording with a message at each of these times, in blocks of a few messages.
func timesOf(t *testing.T, id byte, times ...time.Duration) *recording.Reader {
	t.Helper()
	var b bytes.Buffer
	w, err := recording.NewWriter(&b, recording.Header{ID: recording.ID{id}}, recording.Config{BlockBytes: 256})
	must(t, err)
	begin := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	for i, at := range times {
		must(t, w.Append(begin.Add(at), &bus.Message{Tag: 1, Counter: uint64(i + 1), Data: make([]byte, 40)}))
	}
	must(t, w.Close())
	return open(t, b.Bytes())
}

// runAt returns the times of a message each 10 ms in a second.
func runAt(begin time.Duration) (all []time.Duration) {
	for i := range 100 {
		all = append(all, begin+time.Duration(i)*10*time.Millisecond)
	}
	return all
}

// TestReaders_Recorded: holes are none of the time with data, whatever lies where in blocks.
func TestReaders_Recorded(t *testing.T) {
	const run = 990 * time.Millisecond
	join := func(runs ...[]time.Duration) (all []time.Duration) {
		for _, r := range runs {
			all = append(all, r...)
		}
		return all
	}
	var slow []time.Duration
	for i := range 30 {
		slow = append(slow, time.Duration(i)*10*time.Minute)
	}
	a := join(runAt(0), runAt(time.Hour))
	tests := []struct {
		name  string
		files recording.Readers
		want  time.Duration
		holes []time.Duration
	}{
		{"nothing", recording.Readers{timesOf(t, 1)}, 0, nil},
		{"one message", recording.Readers{timesOf(t, 1, 0)}, 0, nil},
		{"two that are far from one another", recording.Readers{timesOf(t, 1, 0, time.Hour)}, time.Hour, nil},
		{"a run", recording.Readers{timesOf(t, 1, runAt(0)...)}, run, nil},
		{"a stop", recording.Readers{timesOf(t, 1, a...)}, 2 * run, []time.Duration{time.Hour - run}},
		{"a short stop", recording.Readers{timesOf(t, 1, join(runAt(0), runAt(30*time.Second))...)}, 30*time.Second + run, nil},
		{"a clock that was set back", recording.Readers{timesOf(t, 1, join(runAt(0), runAt(-time.Hour))...)}, 2 * run, nil},
		{"two stops", recording.Readers{timesOf(t, 1, join(a, runAt(2*time.Hour))...)}, 3 * run, []time.Duration{time.Hour - run, time.Hour - run}},
		{"slow messages", recording.Readers{timesOf(t, 1, slow...)}, 290 * time.Minute, nil},
		{"two recordings of the same", recording.Readers{timesOf(t, 1, a...), timesOf(t, 2, a...)}, 2 * run, []time.Duration{time.Hour - run}},
		{"one behind the other", recording.Readers{timesOf(t, 1, runAt(time.Hour)...), timesOf(t, 2, runAt(0)...)}, 2 * run, []time.Duration{time.Hour - run}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, holes := test.files.Recorded()
			var lengths []time.Duration
			for _, h := range holes {
				lengths = append(lengths, h.Length())
			}
			if got != test.want || len(lengths) != len(test.holes) {
				t.Fatalf("got %v with holes of %v, want %v with %v", got, lengths, test.want, test.holes)
			}
			for i, l := range lengths {
				if l != test.holes[i] {
					t.Errorf("got a hole of %v, want %v", l, test.holes[i])
				}
			}
		})
	}
}
