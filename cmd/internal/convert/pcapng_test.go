// SPDX-License-Identifier: Apache-2.0

package convert_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tagbus/bus"
	"tagbus/cmd/internal/convert"
	"tagbus/recording"
	"tagbus/tags"
)

// TestARecordingComesBackFromPcapng equal in everything, events included.
func TestARecordingComesBackFromPcapng(t *testing.T) {
	b := newBed(t)
	b.record("run.tbr", 256, all()...)
	if r := b.run("run.tbr", "--to", "pcapng", "--out", "run.pcapng"); r.status != 0 {
		t.Fatalf("got status %d: %s", r.status, r.said)
	}
	for _, codec := range []string{"none", "s2", "zstd"} {
		b.wants(0, fmt.Sprintf("5 messages and 8 events written to %s.tbr as recording: %s\n", codec, size(b, "run.pcapng", codec)), "run.pcapng", "--out", codec+".tbr", "--codec", codec)
		differ(t, ofAll(all()), b.read(codec+".tbr"))
	}
}

// TestPartsOfCaptures: what is asked for of a capture.
func TestPartsOfCaptures(t *testing.T) {
	b := newBed(t)
	b.record("run.tbr", 256, all()...)
	b.run("run.tbr", "--to", "pcapng", "--out", "run.pcapng")
	tests := []struct {
		args []string
		want func(r entry) bool
	}{
		{[]string{"--tags", "2"}, func(r entry) bool { return r.Tag == 2 || r.Kind != 0 && r.Tag == 0 }},
		{[]string{"--publisher", "alice"}, func(r entry) bool { return r.Peer == *alice || r.Kind == recording.Stopped }},
		{[]string{"--from", "+10ms", "--until", "+80ms"}, func(r entry) bool {
			return r.At >= at(10).Format(time.RFC3339Nano) && r.At < at(80).Format(time.RFC3339Nano)
		}},
	}
	for i, test := range tests {
		out := fmt.Sprintf("%d.tbr", i)
		if r := b.run(append([]string{"run.pcapng", "--out", out}, test.args...)...); r.status != 0 {
			t.Errorf("%q: got status %d: %s", test.args, r.status, r.said)
		}
		var want []entry
		for _, r := range ofAll(all()) {
			if test.want(r) {
				want = append(want, r)
			}
		}
		got := b.read(out)
		if last := len(got) - 1; i == 2 && got[last].Kind == recording.Stopped { // that of convert
			got = got[:last]
		}
		differ(t, want, got)
	}
}

// TestAStepOfTheClockIsOfNoPublisher: it is there whichever is asked for.
func TestAStepOfTheClockIsOfNoPublisher(t *testing.T) {
	b := newBed(t)
	step := recording.SteppedBy(at(15), time.Hour)
	b.record("run.tbr", 256, msg(10, alice, 1, 1, 0, "a"), recording.Record{Event: &step}, msg(20, bob, 1, 1, 0, "b"),
		event(90, recording.Event{Kind: recording.Stopped, Text: "by a signal"}))
	b.run("run.tbr", "--to", "pcapng", "--out", "run.pcapng")
	for _, args := range [][]string{{"--publisher", "alice"}, {"--tags", "1"}} {
		out := args[1] + ".tbr"
		if r := b.run(append([]string{"run.pcapng", "--out", out}, args...)...); r.status != 0 {
			t.Errorf("%q: got status %d: %s", args, r.status, r.said)
		}
		kinds := make(map[recording.EventKind]int)
		for _, r := range b.read(out) {
			kinds[r.Kind]++
		}
		if kinds[recording.Stepped] != 1 || kinds[recording.Stopped] != 1 {
			t.Errorf("%q: got %v, want the step and the end", args, kinds)
		}
	}
}

// fields are what tshark prints of each packet.
var fields = []string{
	"frame.time_epoch", "frame.interface_description", "tagbus.kind", "tagbus.tag", "tagbus.counter", "tagbus.status", "tagbus.request",
	"tagbus.data", "tagbus.last", "tagbus.count", "tagbus.cause", "tagbus.failed", "tagbus.text",
}

// TestWiresharkShowsEachMessage reads a capture with tshark and the dissector of deploy/.
func TestWiresharkShowsEachMessage(t *testing.T) {
	b := newBed(t)
	b.record("run.tbr", 256, all()...)
	b.run("run.tbr", "--to", "pcapng", "--out", "run.pcapng")
	var got, want []string
	for _, row := range b.tshark("run.pcapng", fields...) {
		got = append(got, strings.Join(row, ";"))
	}
	for _, r := range ofAll(all()) {
		want = append(want, strings.Join(shownBy(t, r), ";"))
	}
	differ(t, want, got)
}

// shownBy returns the fields of a record as tshark is to print them.
func shownBy(t *testing.T, r entry) []string {
	when, err := time.Parse(time.RFC3339Nano, r.At)
	must(t, err)
	row := make([]string, len(fields))
	row[0] = fmt.Sprintf("%d.%09d", when.Unix(), when.Nanosecond())
	if r.Peer != (bus.Peer{}) {
		text, err := json.Marshal(map[string]any{})
		must(t, err)
		text = fmt.Appendf(text[:0], `{"instance":"%s","name":%q,"host":"%s","pid":%d,"address":"%s"}`, r.Peer.Instance, r.Peer.Name, r.Peer.Host, r.Peer.PID, r.Peer.Addr)
		row[1] = string(text)
	}
	row[2], row[3] = fmt.Sprint(int(r.Kind)), fmt.Sprintf("0x%016x", uint64(r.Tag))
	number := fmt.Sprint(r.Counter)
	switch r.Kind {
	case 0:
		row[4], row[5], row[7] = number, fmt.Sprintf("0x%02x", uint8(r.Status)), hex.EncodeToString([]byte(r.Data))
		if r.Request != (bus.RequestID{}).String() {
			row[6] = "0102030000000000" + "0000000000000010"
		}
		return row
	case recording.Position:
		row[8] = number
	case recording.Gap:
		row[9], row[10] = number, fmt.Sprint(int(r.Cause))
	default:
	}
	row[11], row[12] = map[bool]string{false: "0", true: "1"}[r.Failed], r.Text
	if r.Kind == recording.Joined {
		row[12] = r.Tags
	}
	return row
}

// TestPacketsThatAreNone are named and passed over.
func TestPacketsThatAreNone(t *testing.T) {
	good := make([]byte, 24)
	binary.BigEndian.PutUint64(good, 5)
	binary.BigEndian.PutUint64(good[8:], 1)
	good[16] = 1
	change := func(at int, to byte) []byte {
		b := bytes.Clone(good)
		b[at] = to
		return b
	}
	joined := append(change(17, 1)[:20], "1-0"...)
	packets := [][]byte{good[:19], change(16, 2), change(17, 9), change(19, 1), joined, good}
	b := newBed(t)
	b.capture("bad.pcap", 147, 0, packets...)
	r := b.run("bad.pcap", "--out", "bad.tbr")
	for i, want := range []string{
		"it has 19 bytes, and a packet 20 or more", "its version is 2, and this program knows 1", "its kind is 9, and this program knows 0 to 8",
		"it has 4 of 16 bytes of the id of a request", "the tags of its publisher: ",
	} {
		if line := fmt.Sprintf("bad.pcap: packet %d: %v: %s", i+1, convert.ErrPacket, want); !strings.Contains(r.said, line) {
			t.Errorf("got %s, want %s in it", r.said, line)
		}
	}
	got := b.read("bad.tbr")
	if r.status != 1 || len(got) != 2 || got[0].Tag != tags.Tag(5) || got[0].Data != "\x00\x00\x00\x00" || got[1].Kind != recording.Stopped || !got[1].Failed {
		t.Errorf("got status %d and %+v, want 1, the good packet, and that the recording is not whole", r.status, got)
	}
	b.capture("cut.pcap", 147, 8, good)
	if r := b.run("cut.pcap", "--out", "cut.tbr"); !strings.Contains(r.said, "the capture has 24 of its 32 bytes: it is passed over") || r.status != 1 {
		t.Errorf("got status %d and %s, want that the packet is cut", r.status, r.said)
	}
}

func TestOtherLinkTypesNeedATag(t *testing.T) {
	b := newBed(t)
	b.capture("eth.pcap", 1, 0, []byte("frame"))
	r := b.run("eth.pcap", "--out", "eth.tbr")
	if !errors.Is(r.err, convert.ErrLinkType) || r.status != 1 {
		t.Errorf("got status %d and %v, want 1 and ErrLinkType", r.status, r.err)
	}
}
