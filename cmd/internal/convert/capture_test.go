// SPDX-License-Identifier: Apache-2.0

package convert_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"strings"
	"testing"

	"tagbus/cmd/internal/convert"
	"tagbus/cmd/internal/rec/rectest"
	"tagbus/cmd/internal/record"
	"tagbus/cmd/internal/units"
	"tagbus/recording"
)

// size returns the size of a file of the same name as a codec, once it is there. It is what
// the recording of a capture takes, made apart.
func size(b *bed, from, codec string) string {
	b.Helper()
	name := codec + "-apart.tbr"
	if r := b.run(from, "--out", name, "--codec", codec); r.status != 0 {
		b.Fatalf("got status %d: %s", r.status, r.said)
	}
	return units.FormatBytes(float64(len(b.file(name))))
}

// capture writes a pcap file of packets, of which some bytes were cut.
func (b *bed) capture(name string, link record.LinkType, cut int, packets ...[]byte) {
	b.Helper()
	var file bytes.Buffer
	w, err := record.NewWriter(record.Format{Kind: record.Pcap}, &file, link)
	must(b, err)
	for i, p := range packets {
		info := record.Info{LinkType: link, Time: at(i), Length: uint32(len(p) + cut)}
		must(b, w.Write(record.Packet{Data: p, Known: true, Info: info}))
	}
	must(b, w.End())
	must(b, os.WriteFile(b.path(name), file.Bytes(), 0o600))
}

// TestCapturesWithATag: what the capture knows of a packet stands before it, and the
// recording is whole.
func TestCapturesWithATag(t *testing.T) {
	b := newBed(t)
	packets := [][]byte{[]byte("frame 1"), {}, []byte("frame 3")}
	b.capture("a.pcap", 1, 100, packets...)
	b.capture("b.pcap", 113, 0, packets[0])
	if r := b.run("a.pcap", "b.pcap", "--out", "run.tbr", "--tag", "0x1000"); r.status != 0 {
		t.Fatalf("got status %d: %s", r.status, r.said)
	}
	got := messagesOf(b.read("run.tbr"))
	for i, want := range append(packets, packets[0]) {
		p, err := record.Open([]byte(got[i].Data))
		must(t, err)
		link, cut, when := record.LinkType(1), 100, at(i)
		if i == 3 {
			link, cut, when = 113, 0, at(0)
		}
		if !p.Known || string(p.Data) != string(want) || p.LinkType != link || !p.Time.Equal(when) || int(p.Length) != len(want)+cut ||
			got[i].Tag != 0x1000 || got[i].Counter != uint64(i+1) || got[i].Peer.Name != "a.pcap" {
			t.Errorf("packet %d: got %+v in %+v, want %q at %v", i, p, got[i], want, when)
		}
	}
	if report := rectest.Verify(t, b.path("run.tbr")); !report.Whole() {
		t.Errorf("got %v, want that it is whole", report)
	}
}

// TestACaptureThatEndsTooEarly is read as far as it is whole, and the recording says so.
func TestACaptureThatEndsTooEarly(t *testing.T) {
	b := newBed(t)
	b.capture("a.pcap", 1, 0, []byte("frame 1"), []byte("frame 2"))
	must(t, os.WriteFile(b.path("a.pcap"), b.file("a.pcap")[:len(b.file("a.pcap"))-3], 0o600))
	r := b.run("a.pcap", "--out", "run.tbr", "--tag", "1")
	if want := "a.pcap: record 2: " + record.ErrTruncated.Error(); r.status != 1 || !strings.Contains(r.said, want) {
		t.Errorf("got status %d and %s, want 1 and %s", r.status, r.said, want)
	}
	got := b.read("run.tbr")
	if last := got[len(got)-1]; len(messagesOf(got)) != 1 || last.Kind != recording.Stopped || !last.Failed {
		t.Errorf("got %+v, want 1 message, and that the recording is not whole", got)
	}
}

func TestCapturesAndRecordingsTogether(t *testing.T) {
	b := newBed(t)
	b.capture("a.pcap", 1, 0, []byte("frame 1"))
	b.record("run.tbr", 256, all()...)
	if r := b.run("a.pcap", "run.tbr", "--out", "b.tbr"); !errors.Is(r.err, convert.ErrMixedInputs) || r.status != 2 {
		t.Errorf("got status %d and %v, want 2 and ErrMixedInputs", r.status, r.err)
	}
}

// TestWhatIsNoCaptureIsNamed: before there is a new file.
func TestWhatIsNoCaptureIsNamed(t *testing.T) {
	b := newBed(t)
	must(t, os.WriteFile(b.path("a.cap"), []byte("snoop\x00\x00\x00\x00\x00\x00\x02"), 0o600))
	r := b.run("a.cap", "--out", "run.tbr", "--tag", "1")
	if r.status != 2 || !errors.Is(r.err, record.ErrDamaged) || !strings.Contains(r.err.Error(), "a capture of snoop") {
		t.Errorf("got status %d and %v, want 2 and what it is", r.status, r.err)
	}
	if _, err := os.Stat(b.path("run.tbr")); err == nil {
		t.Error("got a recording of it")
	}
}

// TestACaptureWithABinaryClock: its times are rounded, which is said once.
func TestACaptureWithABinaryClock(t *testing.T) {
	le := binary.LittleEndian
	block := func(kind uint32, body []byte) []byte {
		b := le.AppendUint32(le.AppendUint32(nil, kind), uint32(len(body)+12))
		return le.AppendUint32(append(b, body...), uint32(len(body)+12))
	}
	section := append(le.AppendUint32(nil, 0x1a2b3c4d), 1, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255)
	intf := []byte{1, 0, 0, 0, 0, 0, 0, 0, 9, 0, 1, 0, 0x80 | 28, 0, 0, 0}
	file := append(block(0x0a0d0d0a, section), block(1, intf)...)
	for i := range uint64(3) {
		ticks := uint64(1_700_000_000)<<28 + i
		packet := le.AppendUint32(le.AppendUint32(make([]byte, 4), uint32(ticks>>32)), uint32(ticks))
		file = append(file, block(6, append(le.AppendUint64(packet, 4<<32|4), "data"...))...)
	}
	b := newBed(t)
	must(t, os.WriteFile(b.path("a.pcapng"), file, 0o600))
	r := b.run("a.pcapng", "--out", "run.tbr", "--tag", "1")
	if r.status != 0 || strings.Count(r.said, "2^-28") != 1 || !strings.Contains(r.said, "a.pcapng: times are in steps of 2^-28 s, and are rounded to the nanosecond") {
		t.Errorf("got status %d and %s, want 0 and the note once", r.status, r.said)
	}
	if got := messagesOf(b.read("run.tbr")); len(got) != 3 {
		t.Errorf("got %d messages, want 3", len(got))
	}
}
