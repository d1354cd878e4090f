// SPDX-License-Identifier: Apache-2.0

//go:build linux

package recorder

import (
	"bytes"
	"testing"
	"time"

	"tagbus/bus"
	"tagbus/internal/testkit"
	"tagbus/recording"
)

func TestAStepOfTheClockIsSeen(t *testing.T) {
	begin := time.Date(2026, 11, 25, 1, 0, 0, 0, time.UTC)
	tests := []struct {
		name           string
		wall, elapsed  time.Duration
		want, wantNext time.Duration
	}{
		{"as much on both", time.Second, time.Second, 0, 0},
		{"set back", -time.Hour, time.Second, -time.Hour - time.Second, 0},
		{"set forward", time.Hour, time.Second, time.Hour - time.Second, 0},
		{"disciplined for an hour", time.Hour + 2*time.Second, time.Hour, 0, 0},
		{"a little", time.Second + 99*time.Millisecond, time.Second, 0, 0},
		{"a leap second", 9 * time.Second, 10 * time.Second, -time.Second, 0},
	}
	for _, test := range tests {
		var c clock
		if got := c.step(begin, 5*time.Second); got != 0 {
			t.Errorf("%s: got %v at the first look", test.name, got)
		}
		if got := c.step(begin.Add(test.wall), 5*time.Second+test.elapsed); got != test.want {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
		if got := c.step(begin.Add(test.wall+time.Second), 6*time.Second+test.elapsed); got != test.wantNext {
			t.Errorf("%s: got %v afterwards, want %v", test.name, got, test.wantNext)
		}
	}
}

// TestAStepOfTheClockIsRecorded in front of the message that comes behind it.
func TestAStepOfTheClockIsRecorded(t *testing.T) {
	in, err := newIntake(&Command{QueueBytes: 1 << 20})
	testkit.Must(t, err)
	in.clock.wall = time.Now().Round(0).Add(time.Hour) // as it was before the step
	in.clock.elapsed = time.Since(begun)
	in.page(nil)
	b := in.builder.Seal(nil)
	if b.Messages() != 0 || b.Bytes() == 0 {
		t.Errorf("got %d messages and %d bytes, want an event", b.Messages(), b.Bytes())
	}
}

// TestAnEventBehindAStepOfTheClock has the new time: the step stands in front of it, and is
// counted once.
func TestAnEventBehindAStepOfTheClock(t *testing.T) {
	for _, step := range []time.Duration{-time.Hour, time.Hour} {
		in, err := newIntake(&Command{QueueBytes: 1 << 20})
		testkit.Must(t, err)
		before := time.Now().Round(0).Add(-step)
		in.clock.wall, in.clock.elapsed = before, time.Since(begun)
		testkit.Must(t, in.builder.AppendPage(before, []bus.Message{{Tag: 1, Counter: 1, Publisher: &bus.Peer{Instance: "a"}}}))
		in.event(recording.Event{Kind: recording.Lost, Time: time.Now(), Peer: &bus.Peer{Instance: "a"}})
		in.page([]bus.Message{{Tag: 1, Counter: 2, Publisher: &bus.Peer{Instance: "a"}}})
		var file bytes.Buffer
		w, err := recording.NewBlockWriter(&file, recording.Header{}, recording.Config{})
		testkit.Must(t, err)
		testkit.Must(t, w.WriteBlock(in.builder.Seal(nil)))
		r, err := recording.NewReader(bytes.NewReader(file.Bytes()), int64(file.Len()), recording.ReaderConfig{})
		testkit.Must(t, err)
		report, err := recording.Verify(r)
		testkit.Must(t, err)
		if c := report.Clock; c.Count != 1 || (c.Largest-step).Abs() > time.Minute {
			t.Errorf("set by %v: got %v, want one step", step, c)
		}
		var kinds []recording.EventKind
		for r, err := range r.Records(recording.Query{}) {
			testkit.Must(t, err)
			if r.Event != nil {
				kinds = append(kinds, r.Event.Kind)
			}
		}
		if len(kinds) != 2 || kinds[0] != recording.Stepped || kinds[1] != recording.Lost {
			t.Errorf("set by %v: got %v, want the step in front of the event", step, kinds)
		}
	}
}
