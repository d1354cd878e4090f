// SPDX-License-Identifier: Apache-2.0

package kafka_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tagbus/bridge/durable"
	"tagbus/bridge/internal/kafkaserver"
	"tagbus/tags"
)

// partitioned returns a log with several partitions, the last positions of its 10 keys, and the texts of its 30 records in the
// order of their times, which differ.
func partitioned(t *testing.T) (second durable.Log, last map[string]durable.Position, want []string) {
	t.Helper()
	cfg, _ := topic(t, kafkaserver.Brokers(t), 3)
	log := open(t, cfg)
	last = make(map[string]durable.Position)
	used := make(map[durable.Position]bool)
	for i := range 30 {
		instance := fmt.Sprint(i % 10)
		last[instance] = must(t, log, instance, last[instance], fmt.Sprint(i))
		used[last[instance]>>48] = true
		want = append(want, fmt.Sprint(i))
		for now := time.Now(); time.Since(now) < 2*time.Millisecond; { // times of records have milliseconds
		}
	}
	if len(used) != 3 {
		t.Errorf("got records in %d partitions, want 3", len(used))
	}
	_ = log.Close()
	return open(t, cfg), last, want
}

// TestLog_severalPartitions keeps each key in one of them, and reads them in the order of time.
func TestLog_severalPartitions(t *testing.T) {
	second, last, want := partitioned(t)
	if got := read(t, second, durable.Query{}); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q, want the order of time", got)
	}
	n := 0
	for e, err := range second.Tails(t.Context(), tags.Everything()) {
		if n++; err != nil || e.Position != last[e.Key.Instance] {
			t.Errorf("got %d as the last of %s, %v, want %d", e.Position, e.Key.Instance, err, last[e.Key.Instance])
		}
	}
	if n != 10 {
		t.Errorf("got %d keys, want 10", n)
	}
}

// TestLog_spansOfSeveralPartitions are from one time to another.
func TestLog_spansOfSeveralPartitions(t *testing.T) {
	second, last, want := partitioned(t)
	for _, err := range second.Read(t.Context(), durable.Query{Start: durable.Start{After: last["1"]}}) {
		if !errors.Is(err, durable.ErrRefused) || !strings.Contains(err.Error(), "begin at a time") {
			t.Errorf("got %v, want that a number is refused", err)
		}
	}
	for _, err := range second.Read(t.Context(), durable.Query{End: durable.End{Before: last["1"]}}) {
		if !errors.Is(err, durable.ErrRefused) || !strings.Contains(err.Error(), "end at a time") {
			t.Errorf("got %v, want that a number is refused", err)
		}
	}
	var middle time.Time
	for e, err := range second.Read(t.Context(), durable.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		if string(e.Data) == "15" {
			middle = e.Time
		}
	}
	if got := read(t, second, durable.Query{End: durable.End{Time: middle}}); fmt.Sprint(got) != fmt.Sprint(want[:15]) {
		t.Errorf("got %q up to a time, want the first 15", got)
	}
	if got := read(t, second, durable.Query{Start: durable.Start{Time: middle}}); fmt.Sprint(got) != fmt.Sprint(want[15:]) {
		t.Errorf("got %q from a time on, want the last 15", got)
	}
	var got []string // with a Read that goes on where the one before has ended
	at := durable.Position(0)
	for e, err := range second.Read(t.Context(), durable.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		got, at = append(got, string(e.Data)), e.Position
		if len(got) == 12 {
			break
		}
	}
	got = append(got, read(t, second, durable.Query{Start: durable.Start{After: at}})...)
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q in two parts, want all in the order of time", got)
	}
}
