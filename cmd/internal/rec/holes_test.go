// SPDX-License-Identifier: Apache-2.0

package rec_test

import (
	"strings"
	"testing"
	"time"

	"tagbus/recording"
)

// TestRatesAreOfTheTimeWithData: a stop of an hour makes them no smaller, and is named, as is a
// clock that was set.
func TestRatesAreOfTheTimeWithData(t *testing.T) {
	b := newBed(t)
	hour := int(time.Hour / time.Millisecond)
	run := func(ms int, first uint64) []recording.Record { return msgs(ms, alice, 1, first, first+199) } // 2 s
	b.record("stop.tbr", header(1), join(joined(0, alice, 1), run(0, 1), run(hour, 201))...)
	b.says("info stop.tbr", 0, "nothing was recorded for 59m58s from 2026-11-24 12:00:01.990 on: rates are those of the time with data", "101 /s")
	b.says("verify stop.tbr", 0, "nothing was recorded for 59m58s from 2026-11-24 12:00:01.990 on; there is data of 3.98 s")
	for _, line := range []string{"info stop.tbr --json", "verify stop.tbr --json"} {
		b.says(line, 0, `"recorded_seconds":3.98,"holes":1,`)
	}
	b.record("back.tbr", header(2), join(joined(0, alice, 1), run(0, 1), run(-hour, 201))...)
	b.says("info back.tbr", 0, "its times go back by", "101 /s")
	b.record("parts.tbr", header(3), join(joined(0, alice, 1), run(0, 1))...)
	b.record("later.tbr", header(4), join(joined(0, alice, 1), run(hour, 1))...)
	b.says("info parts.tbr later.tbr", 0, "nothing was recorded for 59m58s", "101 /s")
	b.record("same.tbr", header(5), join(joined(0, alice, 1), run(0, 1))...)
	if out := b.says("info parts.tbr same.tbr", 0, "201 /s").out; strings.Contains(out, "nothing was recorded") { // both have all
		t.Errorf("got %s, want no hole", out)
	}
}

// TestWhatIsSlowHasNoHoles: its messages are as far from one another as usual.
func TestWhatIsSlowHasNoHoles(t *testing.T) {
	b := newBed(t)
	var slow []recording.Record
	for i := range 20 {
		slow = append(slow, msg(i*600_000, alice, 1, uint64(i+1)))
	}
	b.record("slow.tbr", header(1), join(joined(0, alice, 1), slow)...)
	b.record("two.tbr", header(2), join(joined(0, alice, 1), slow[:2])...)
	for _, file := range []string{"slow.tbr", "two.tbr"} {
		if out := b.says("info "+file, 0, "of data").out; strings.Contains(out, "nothing was recorded") {
			t.Errorf("%s: got %s, want no hole", file, out)
		}
	}
	b.record("gone.tbr", header(3), join(joined(0, alice, 1), slow, msg(1_000_000_000, alice, 1, 21))...)
	b.says("info gone.tbr", 0, "nothing was recorded for 274h36m40s from 2026-11-24 15:10:00.000 on")
}

// TestManyHolesLeaveRoom.
func TestManyHolesLeaveRoom(t *testing.T) {
	b := newBed(t)
	var all []recording.Record
	for i := range 9 { // runs of a second, and between them an hour
		all = append(all, msgs(i*3_600_000, alice, 1, uint64(i*100+1), uint64(i*100+100))...)
	}
	b.record("a.tbr", header(1), join(joined(0, alice, 1), all)...)
	out := b.says("info a.tbr", 0, "nothing was recorded 3 times more, for 2h59m57s in all").out
	if got := strings.Count(out, "nothing was recorded for 59m59s"); got != 5 {
		t.Errorf("got %d holes named in %s, want 5", got, out)
	}
}
