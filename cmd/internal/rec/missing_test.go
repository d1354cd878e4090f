// SPDX-License-Identifier: Apache-2.0

package rec_test

import (
	"encoding/json"
	"strings"
	"testing"

	"tagbus/bus"
	"tagbus/recording"
)

// TestWhatIsMissingIsSaidInFewLines: a compressed file of some KiB has millions of events that
// each say why it is not whole.
func TestWhatIsMissingIsSaidInFewLines(t *testing.T) {
	b := newBed(t)
	const n = 500
	full := event(60, recording.Event{Kind: recording.Stopped, Failed: true, Text: "the disk is full" + strings.Repeat(" and\x1b", 400)})
	records := msgs(0, alice, 1, 1, 5)
	for range n {
		records = append(records, full)
	}
	b.record("a.tbr", header(1), records...)
	b.record("b.tbr", header(2), join(msgs(0, alice, 2, 1, 5), full)...)
	tests := []struct {
		name, line string
		lines      int
		last       string
	}{
		{"cut", "cut a.tbr --from +1ms", 21, "and 480 more"},
		{"parts", "merge a.tbr", 21, "and 480 more"},
		{"union", "merge a.tbr b.tbr", 2, "the recorder stopped before its time: the disk is full and"},
	}
	for _, test := range tests {
		out := test.name + ".tbr"
		var said struct{ Missing []string }
		must(t, json.Unmarshal([]byte(b.says(test.line+" --json --out "+out, 1).out), &said))
		if len(said.Missing) != test.lines || !strings.HasPrefix(said.Missing[len(said.Missing)-1], test.last) {
			t.Errorf("%s: got %d lines %.200q, want %d, the last: %s", test.name, len(said.Missing), said.Missing, test.lines, test.last)
		}
		for _, line := range said.Missing {
			if len(line) > 1024 || strings.Contains(line, "\x1b") {
				t.Errorf("%s: got a line of %d bytes, want it to be safe and short: %.100q", test.name, len(line), line)
			}
		}
		got := b.lines(out)
		if last := got[len(got)-1]; len(last) > 24<<10 || !strings.HasPrefix(last, "stopped by a failure: ") {
			t.Errorf("%s: got the last event in %d bytes: %.100q", test.name, len(last), last)
		}
	}
	got := b.says("cut a.tbr --from +1ms --out d.tbr", 1, "\n  not whole: and 480 more\n")
	if lines := strings.Count(got.out, "\n"); lines != 22 {
		t.Errorf("got %d lines, want 22", lines)
	}
}

// TestTextsAreKeptShort: those of events that stay in memory until the end.
func TestTextsAreKeptShort(t *testing.T) {
	b := newBed(t)
	long := "it broke" + strings.Repeat(" and", 2000)
	lost := func(ms int, p *bus.Peer) recording.Record {
		return event(ms, recording.Event{Kind: recording.Lost, Peer: p, Text: long})
	}
	other := gap(20, alice, 1, 3, recording.CauseOther)
	other.Event.Text = long
	step := recording.Record{Event: &recording.Event{Kind: recording.Stepped, Time: at(25), Text: long}}
	b.record("a.tbr", header(1), join(joined(0, alice, 1), msgs(0, alice, 1, 1, 2), other, step, lost(30, alice), stop(99))...)
	b.record("b.tbr", header(2), join(joined(0, bob, 2), msgs(0, bob, 2, 1, 2), stop(99))...)
	b.says("cut a.tbr --from +50ms --out cut.tbr", 1)
	b.says("merge a.tbr b.tbr --out merged.tbr", 0)
	texts := func(name, begin string) (n int) {
		for _, line := range b.lines(name) {
			if strings.HasPrefix(line, begin) {
				if n++; len(line) > 400 || !strings.Contains(line, "it broke and") {
					t.Errorf("%s: got %d bytes, want the beginning of the text: %.100q", name, len(line), line)
				}
			}
		}
		return n
	}
	if texts("cut.tbr", "lost ") != 1 || texts("merged.tbr", "gap ") != 1 {
		t.Error("the events are not there")
	}
	for line := range strings.Lines(b.says("info a.tbr", 0, "stepped: it broke and").out) {
		if len(line) > 400 {
			t.Errorf("info: got a line of %d bytes: %.100q", len(line), line)
		}
	}
}
