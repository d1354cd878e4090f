// SPDX-License-Identifier: Apache-2.0

package rec_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"tagbus/internal/flock"
	"tagbus/recording"
)

// TestTheCommandsAgreeHowAFileEnds: each of them says the same of a file, and what to do.
func TestTheCommandsAgreeHowAFileEnds(t *testing.T) {
	records := join(joined(0, alice, 1), msgs(10, alice, 1, 1, 20), ended(300, alice), stop(310))
	tests := []struct {
		name    string
		size    func(whole int) int
		locked  bool
		same    string   // that info, verify and index say
		info    []string // more of them
		verify  string
		exclude string // that none says
	}{
		{"whole", func(n int) int { return n }, false, "", nil, "whole\n", "was not closed"},
		{"empty", func(int) int { return 0 }, false, "ends within its header: nothing is in it", nil, "-> a.tbr: remove it", "rec index"},
		{"within the fixed header", func(int) int { return 20 }, false, "ends within its header: nothing is in it", nil, "-> a.tbr: remove it", "rec index"},
		{"within the fields", func(int) int { return 50 }, false, "ends within its header: nothing is in it", nil, "-> a.tbr: remove it", "rec index"},
		{"without its end", func(n int) int { return n - 40 }, false, "", []string{"its index is damaged"}, "-> tagbus rec index a.tbr", "remove it"},
		{"without its end, being written", func(n int) int { return n - 40 }, true, "is being written now", nil, "-> a.tbr: verify it again once its recorder has ended", "rec index"},
		{"within its header, being written", func(int) int { return 50 }, true, "is being written now", []string{"nothing is in it yet"}, "-> a.tbr: verify it again", "remove it"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := newBed(t)
			b.record("a.tbr", header(1), records...)
			whole, err := os.ReadFile(b.path("a.tbr"))
			must(t, err)
			must(t, os.WriteFile(b.path("a.tbr"), whole[:test.size(len(whole))], 0o600))
			if test.locked {
				f, err := os.OpenFile(b.path("a.tbr"), os.O_RDWR, 0)
				must(t, err)
				defer func() { must(t, f.Close()) }()
				if !flock.Exclusive(f, func() {}) {
					t.Fatal("the file cannot be locked")
				}
			}
			code := 1
			if test.name == "whole" {
				code = 0
			}
			b.says("info a.tbr", code, append(test.info, test.same)...)
			b.says("verify a.tbr", code, append(test.info, test.same, test.verify)...)
			if test.same != "" {
				b.says("index a.tbr", 2, test.same)
			}
			for _, line := range []string{"info a.tbr", "verify a.tbr"} {
				if out := b.run(line); strings.Contains(out.out, test.exclude) {
					t.Errorf("%s: got %s, want no %q", line, out.out, test.exclude)
				}
			}
		})
	}
}

func TestInfoShowsTheDayWhereItDiffers(t *testing.T) {
	b := newBed(t)
	night := int(12 * time.Hour / time.Millisecond)
	b.record("a.tbr", header(1), join(joined(0, alice, 1), msgs(night-20, alice, 1, 1, 4))...)
	b.says("info --exact a.tbr", 0, "2026-11-24 23:59:59.980  2026-11-25 00:00:00.010")
	b.record("b.tbr", header(2), join(joined(0, alice, 1), msgs(0, alice, 1, 1, 4))...)
	b.says("info --exact b.tbr", 0, " 12:00:00.000  12:00:00.030")
}

// TestAClockThatStepped is noted, with an event or without.
func TestAClockThatStepped(t *testing.T) {
	b := newBed(t)
	hour := int(time.Hour / time.Millisecond)
	back := msgs(-hour, alice, 1, 5, 8)
	step := recording.Record{Event: ptr(recording.SteppedBy(at(-hour), -time.Hour))}
	b.record("told.tbr", header(1), join(joined(0, alice, 1), msgs(0, alice, 1, 1, 4), step, back)...)
	b.says("verify told.tbr", 0, "the clock of the recorder was set back by 1h0m0s at 2026-11-24T11:00:00.000Z")
	b.says("info told.tbr", 0, "stepped: the clock of the recorder was set back by 1h0m0s")
	b.says("cat told.tbr", 0, "stepped: the clock of the recorder was set back by 1h0m0s")
	b.says("verify told.tbr --json", 0, `"clock_steps":1,`)
	b.says("info told.tbr --json", 0, `"clock_steps":1,`)
	b.says("cat told.tbr --json", 0, `"event":"stepped"`, `"step_seconds":-3600,`)
	b.record("none.tbr", header(4), join(joined(0, alice, 1), msgs(0, alice, 1, 1, 4))...)
	b.says("info none.tbr told.tbr --json", 0, `none.tbr"`, `"clock_steps":0,`, `"clock_steps":1,`)
	b.record("untold.tbr", header(2), join(joined(0, alice, 1), msgs(0, alice, 1, 1, 4), back)...)
	b.says("verify untold.tbr", 0, "the clock of the recorder was set back by 1h0m0.03s at 2026-11-24T11:00:00.000Z")
	b.record("a.tbr", header(3), join(joined(0, alice, 1), msgs(0, alice, 1, 1, 40), msgs(-hour, alice, 1, 41, 99))...)
	b.says("info a.tbr", 0, "its times go back by", "the clock of the recorder was set back")
	b.says("info a.tbr --json", 0, `"clock_steps":1,"clock_back_seconds":`)
	twice := join(joined(0, alice, 1), msgs(0, alice, 1, 1, 40), msgs(-hour, alice, 1, 41, 99), msgs(-2*hour, alice, 1, 100, 160))
	b.record("twice.tbr", header(5), twice...)
	for _, line := range []string{"info twice.tbr --json", "verify twice.tbr --json"} {
		b.says(line, 0, `"clock_steps":2,`)
	}
}

func ptr[T any](v T) *T { return &v }
