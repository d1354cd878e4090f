// SPDX-License-Identifier: Apache-2.0

package rec_test

import (
	"os"
	"strings"
	"testing"

	"tagbus/cmd/internal/rec/rectest"
	"tagbus/recording"
	"tagbus/tags"
)

// wantLines compares what is in a recording.
func (b *bed) wantLines(name string, want ...string) {
	b.Helper()
	got := strings.Join(b.lines(name), "\n")
	got = zeros.ReplaceAllString(got, "0x$1")
	if w := strings.Join(want, "\n"); got != w {
		b.Errorf("%s: got\n%s\nwant\n%s", name, got, w)
	}
}

func TestCutByTime(t *testing.T) {
	b := newBed(t)
	b.record("a.tbr", header(1), simple()...)
	b.wants("cut a.tbr --from +480ms --to +520ms --out b.tbr", 0, "b.tbr: 4 messages and 5 events\n")
	b.wantLines("b.tbr",
		"joined alice@host1:11 (10.0.0.1:4001) tags 0x1-0x2",
		"joined bob@host2:12 tags 0x3",
		"position alice@host1:11 (10.0.0.1:4001) tag 0x1 begins behind message 48",
		"0x1 49 alice 49", "0x1 50 alice 50",
		"position bob@host2:12 tag 0x3 begins behind message 0",
		"0x3 1 bob 1", "0x3 2 bob 2",
		"stopped: cut from "+b.path("a.tbr"))
	if r := rectest.Verify(b, b.path("b.tbr")); !r.Whole() || r.Files[0].ID == (recording.ID{1}) || r.Files[0].Host != "recorder1" || r.Files[0].Policy != "block" {
		t.Errorf("got %v of %+v, want a whole recording of its own", r, r.Files[0].Header)
	}
	b.says("cut a.tbr --from +10m --out empty.tbr --json", 1, `"messages":0,`)
	if r := rectest.Verify(b, b.path("empty.tbr")); !r.Whole() {
		t.Errorf("got %v, want an empty recording that is whole", r)
	}
}

func TestCutByTagMakesNoHoles(t *testing.T) {
	b := newBed(t)
	records := simple()
	records = append(records[:75:75], append(join(gap(710, alice, 1, 4, recording.CauseFull), event(720, recording.Event{Kind: recording.Vanished, Peer: bob})), records[75:]...)...)
	b.record("a.tbr", header(1), records...)
	b.wants("cut a.tbr --tags 2 --out b.tbr", 0, "b.tbr: 24 messages and 3 events\n") // joined, ended, stopped
	if r := rectest.Verify(b, b.path("b.tbr")); !r.Whole() || !r.Files[0].Tags.Equal(tags.Of(2)) || r.Total().Messages != 24 {
		t.Errorf("got %v, want it whole: what is missing is of other tags", r)
	}
	b.says("cut a.tbr --publisher bob --out c.tbr --codec zstd", 0)
	if r := rectest.Verify(b, b.path("c.tbr")); r.Whole() || r.Total().Messages != 20 {
		t.Errorf("got %v, want it not whole: bob has vanished", r)
	}
}

// TestCutIsHonest: what is missing of the recording within the cut is missing in the cut.
func TestCutIsHonest(t *testing.T) {
	tests := []struct {
		name    string
		records []recording.Record
		change  func([]byte) []byte
		flags   string
		status  int
		why     string // in the reasons of the cut; "": it is whole
	}{
		{"a gap within", join(msgs(0, alice, 1, 1, 5), gap(55, alice, 1, 3, recording.CauseFull), msgs(60, alice, 1, 9, 12), stop(99)), nil, "--from +20ms", 0, "3 messages are lost: full 3"},
		{"a gap before", join(msgs(0, alice, 1, 1, 5), gap(55, alice, 1, 3, recording.CauseFull), msgs(60, alice, 1, 9, 12), stop(99)), nil, "--from +60ms", 0, ""},
		{"a gap of another tag", join(msgs(0, alice, 1, 1, 5), gap(55, alice, 2, 3, recording.CauseFull), stop(99)), nil, "--tags 1", 0, ""},
		{"a hole without a gap", join(msgs(0, alice, 1, 1, 5), msgs(60, alice, 1, 9, 12), stop(99)), nil, "--from +20ms", 0, "3 messages are missing, and no event says why"},
		{"a connection that is lost meanwhile", join(joined(0, alice, 1), msgs(0, alice, 1, 1, 5), event(45, recording.Event{Kind: recording.Lost, Peer: alice}), stop(99)), nil, "--from +50ms", 1, "the connection to publisher alice"},
		{"a connection that is back", join(joined(0, alice, 1), event(1, recording.Event{Kind: recording.Lost, Peer: alice}), joined(2, alice, 1), msgs(5, alice, 1, 1, 5), stop(99)), nil, "--from +3ms", 0, ""},
		{"a publisher that has gone", join(joined(0, alice, 1), ended(3, alice), event(4, recording.Event{Kind: recording.Vanished, Peer: bob}), stop(99)), nil, "--from +50ms", 1, ""},
		{"a full disk", join(msgs(0, alice, 1, 1, 5), event(90, recording.Event{Kind: recording.Stopped, Failed: true, Text: "the disk is full"})), nil, "--from +20ms", 1, "the disk is full"},
		{"a full disk, later", join(msgs(0, alice, 1, 1, 5), event(90, recording.Event{Kind: recording.Stopped, Failed: true, Text: "the disk is full"})), nil, "--to +20ms", 0, ""},
		{"a file that was cut off", simple(), func(data []byte) []byte { return data[:len(data)-500] }, "--from +20ms", 1, "was not closed"},
		{"a file that was cut off, later", simple(), func(data []byte) []byte { return data[:len(data)-500] }, "--to +20ms", 0, ""},
		{"a damaged block", simple(), damageBlock(2), "--from +20ms", 1, "1 block could not be read"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := newBed(t)
			b.record("a.tbr", header(1), test.records...)
			if test.change != nil {
				b.change("a.tbr", test.change)
			}
			b.says("cut a.tbr --out b.tbr "+test.flags, test.status)
			r := rectest.Verify(b, b.path("b.tbr"))
			if why := strings.Join(r.Reasons, "\n"); r.Whole() != (test.why == "") || !strings.Contains(why, test.why) {
				t.Errorf("got reasons %q, want %q", why, test.why)
			}
		})
	}
}

// TestCutBetweenMessagesAndTheirPosition, which is written a moment after the publisher has joined: what lies
// between it and the cut is not missing in that. A later one passes over what a merged recording has not.
func TestCutBetweenMessagesAndTheirPosition(t *testing.T) {
	position := func(ms int, n uint64) recording.Record {
		return event(ms, recording.Event{Kind: recording.Position, Peer: alice, Tag: 1, Count: n})
	}
	early := join(joined(0, alice, 1), msgs(1, alice, 1, 101, 105), position(55, 100), msgs(60, alice, 1, 106, 110), stop(199))
	tests := []struct {
		name    string
		records []recording.Record
		want    string // reasons why the cut is not whole
	}{
		{"a position of what is cut off", early, ""},
		{"a hole behind it", join(early[:len(early)-1], msgs(120, alice, 1, 114, 115), stop(199)), "3 messages are missing, and no event says why"},
		{"a publisher that joins in the cut", join(joined(0, bob, 1), joined(52, alice, 1), position(53, 100), msgs(60, alice, 1, 106, 110), stop(199)), "5 messages are missing, and no event says why"},
		{"a tag that comes in the cut", join(joined(0, alice, 2), joined(52, alice, 1), position(53, 100), msgs(60, alice, 1, 106, 110), stop(199)), "5 messages are missing, and no event says why"},
		{"a position between messages", join(joined(0, alice, 1), msgs(1, alice, 1, 1, 9), position(100, 20), msgs(110, alice, 1, 21, 22), stop(199)), ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := newBed(t)
			b.record("a.tbr", header(1), test.records...)
			b.says("cut a.tbr --from +50ms --out b.tbr", 0)
			if r := rectest.Verify(b, b.path("b.tbr")); strings.Join(r.Reasons, "\n") != test.want {
				t.Errorf("got %v, want %q in\n%s", r, test.want, strings.Join(b.lines("b.tbr"), "\n"))
			}
		})
	}
}

// TestABlockThatIsReadTwiceIsNamedOnce: its events across --from for the cut, its table and its events for info.
func TestABlockThatIsReadTwiceIsNamedOnce(t *testing.T) {
	b := newBed(t)
	b.record("a.tbr", header(1), simple()...)
	b.change("a.tbr", damageBlock(0))
	for _, line := range []string{"cut a.tbr --from +30ms --out b.tbr", "info a.tbr"} {
		if got := b.says(line, 1, "block 0 at offset"); strings.Count(got.err, "it is passed over") != 1 {
			t.Errorf("%s: got\n%swant it once", line, got.err)
		}
	}
	if r := rectest.Verify(b, b.path("b.tbr")); !strings.Contains(strings.Join(r.Reasons, "\n"), "1 block could not be read") {
		t.Errorf("got %v, want one block", r)
	}
}

func TestCutOfParts(t *testing.T) {
	b := newBed(t)
	h := header(1)
	b.record("a.tbr", h, msgs(0, alice, 1, 1, 5)...)
	h.Part = 1
	b.record("b.tbr", h, join(msgs(100, alice, 1, 6, 9), stop(200))...)
	b.says("cut b.tbr a.tbr --from +30ms --out c.tbr", 0, "c.tbr: 6 messages")
	if r := rectest.Verify(b, b.path("c.tbr")); !r.Whole() {
		t.Errorf("got %v, want it whole", r)
	}
	b.says("cut b.tbr --to +10m --out d.tbr", 1, "part 0 of recording 01000000000000000000000000000000 was not there")
}

func TestCutRefuses(t *testing.T) {
	b := newBed(t)
	b.record("a.tbr", header(1), simple()...)
	b.record("b.tbr", header(2), simple()...)
	b.says("cut a.tbr --out c.tbr", 2, "nothing says what is to be cut out")
	b.says("cut a.tbr b.tbr --tags 1 --out c.tbr", 2, "tagbus rec merge makes one of them")
	b.says("cut a.tbr --tags 1 --out b.tbr", 2, "b.tbr exists")
	b.says("cut a.tbr --from +1s --to +1ms --out c.tbr", 2, "--to: got")
	b.says("cut a.tbr --tags 1 --out none/c", 1, "--out: open none/c")
	if _, err := os.Stat(b.path("c.tbr")); !os.IsNotExist(err) {
		t.Errorf("got %v, want no file", err)
	}
}
