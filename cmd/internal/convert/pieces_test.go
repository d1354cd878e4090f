// SPDX-License-Identifier: Apache-2.0

package convert_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"tagbus/bus"
	"tagbus/cmd/internal/convert"
	"tagbus/cmd/internal/record"
	"tagbus/recording"
	"tagbus/tags"
)

// mostCaptured is the most bytes of a packet that Wireshark reads.
const mostCaptured = 256 << 10

// noise returns data in which no piece is like another.
func noise(n int) string {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{byte(n)})
	_, _ = r.Read(b)
	return string(b)
}

// long is a recording with messages and an event that are too long for a packet, and
// messages that are just not.
func long() []recording.Record {
	request := msg(60, bob, 1, 2, 9, noise(700_000))
	request.Message.Message = request.WithRequestID(bus.RequestIDOf([16]byte{1, 2, 3, 15: 16}))
	var many []tags.Tag
	for n := range 20_000 {
		many = append(many, tags.Tag(2*n+1))
	}
	return []recording.Record{
		event(0, recording.Event{Kind: recording.Joined, Peer: alice, Tags: tags.Of(many...)}),
		msg(1, alice, 1, 1, 0, "short"),
		msg(2, alice, 1, 2, 3, noise(mostCaptured-20)),
		msg(3, bob, 1, 1, 0, noise(mostCaptured-19)),
		msg(4, alice, 1, 3, 255, noise(2*mostCaptured)),
		request,
		msg(61, alice, 1, 4, 0, "end"),
	}
}

// packets returns the packets of a capture.
func (b *bed) packets(name string) (all [][]byte) {
	b.Helper()
	r, err := record.NewReader(record.Format{Kind: record.Pcapng}, bytes.NewReader(b.file(name)), 1<<20)
	must(b, err)
	for {
		p, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		must(b, err)
		all = append(all, bytes.Clone(p))
	}
}

// TestLongMessagesComeBack from packets that Wireshark can read.
func TestLongMessagesComeBack(t *testing.T) {
	b := newBed(t)
	b.record("run.tbr", 1<<20, long()...)
	b.run("run.tbr", "--to", "pcapng", "--out", "run.pcapng")
	packets := b.packets("run.pcapng")
	for i, p := range packets {
		if len(p) > mostCaptured {
			t.Errorf("packet %d: got %d bytes, want at most %d", i, len(p), mostCaptured)
		}
	}
	// Of the event, which has 380 kB, 2; of the messages 1, 1, 2, 3, 3 and 1.
	if len(packets) != 13 {
		t.Errorf("got %d packets, want 13", len(packets))
	}
	if r := b.run("run.pcapng", "--out", "back.tbr"); r.status != 0 {
		t.Fatalf("got status %d: %s", r.status, r.said)
	}
	got := b.read("back.tbr")
	differ(t, ofAll(long()), got[:len(got)-1]) // the last is why convert stopped
}

// TestPiecesThatAreMissing make no message of what is left.
func TestPiecesThatAreMissing(t *testing.T) {
	b := newBed(t)
	first, second := msg(0, alice, 5, 1, 0, noise(600_000)), msg(1, alice, 5, 2, 0, "good")
	other := msg(0, alice, 5, 3, 0, noise(600_001))
	b.record("run.tbr", 1<<20, first, second, other, msg(0, alice, 5, 4, 0, noise(600_000)))
	b.run("run.tbr", "--to", "pcapng", "--out", "run.pcapng")
	p := b.packets("run.pcapng") // 3 pieces, a message, 3 pieces, 3 pieces
	if len(p) != 10 {
		t.Fatalf("got %d packets, want 10", len(p))
	}
	change := func(packet []byte, at int, to byte) []byte {
		c := bytes.Clone(packet)
		c[at] = to
		return c
	}
	tests := []struct {
		name    string
		packets [][]byte
		want    []string // what is said
		data    []string // of the messages
	}{
		{"none", p[:4], nil, []string{string(first.Data), "good"}},
		{"the first", p[1:4], []string{"packet 1: ", "packet 2: "}, []string{"good"}},
		{"the middle", slices.Concat(p[:1], p[2:4]), []string{"packet 2: ", "in front of it 262136 of the 600020 bytes of a packet in pieces are there"}, []string{"good"}},
		{"the last", slices.Concat(p[:2], p[3:4]), []string{"packet 3: "}, []string{"good"}},
		{"the end", p[:2], []string{"its end: "}, nil},
		{"the first twice", slices.Concat(p[:1], p[:4]), []string{"packet 2: "}, []string{string(first.Data), "good"}},
		{"those of two mixed", slices.Concat(p[:1], p[5:6], p[1:2], p[3:4]), []string{"packet 2: ", "a piece at 262116 of 600001 bytes, and those before are not there", "packet 3: "}, []string{"good"}},
		{"that of a like one", slices.Concat(p[:1], p[8:9], p[2:4]), []string{"packet 2: "}, []string{"good"}},
		{"one of another length", slices.Concat(p[:1], [][]byte{change(p[1], 27, p[1][27]+1)}, p[2:4]), []string{"packet 2: "}, []string{"good"}},
		{"no place", [][]byte{change(p[0], 19, 4)[:27], p[3]}, []string{"a piece of 0 bytes at 0 of 0"}, []string{"good"}},
		{"a place behind the end", [][]byte{change(p[0], 20, 1), p[3]}, []string{"packet 1: "}, []string{"good"}},
		{"an end before the piece", [][]byte{change(p[0], 25, 0), p[3]}, []string{"packet 1: "}, []string{"good"}},
		{"more than fits in a block", [][]byte{change(p[0], 24, 255), p[3]}, []string{"packet 1: "}, []string{"good"}},
	}
	for i, test := range tests {
		in, out := fmt.Sprintf("%d.pcap", i), fmt.Sprintf("%d.tbr", i)
		b.capture(in, 147, 0, test.packets...)
		r := b.run(in, "--out", out)
		for _, want := range test.want {
			if !strings.Contains(r.said, want) {
				t.Errorf("%s: got %s, want %s in it", test.name, r.said, want)
			}
		}
		if bad := r.status != 0; bad != (test.want != nil) || bad != strings.Contains(r.said, convert.ErrPacket.Error()) {
			t.Errorf("%s: got status %d: %s", test.name, r.status, r.said)
		}
		var data []string
		for _, m := range messagesOf(b.read(out)) {
			data = append(data, m.Data)
		}
		if !slices.Equal(data, test.data) {
			t.Errorf("%s: got %d messages, want %d", test.name, len(data), len(test.data))
		}
	}
}

// TestPiecesOfTwoFiles are not put together.
func TestPiecesOfTwoFiles(t *testing.T) {
	b := newBed(t)
	b.record("run.tbr", 1<<20, msg(0, alice, 1, 1, 0, noise(600_000)))
	b.run("run.tbr", "--to", "pcapng", "--out", "run.pcapng")
	p := b.packets("run.pcapng")
	b.capture("a.pcap", 147, 0, p[0])
	b.capture("b.pcap", 147, 0, p[1], p[2])
	r := b.run("a.pcap", "b.pcap", "--out", "two.tbr")
	for _, want := range []string{"a.pcap: its end: ", "b.pcap: packet 1: ", "b.pcap: packet 2: "} {
		if !strings.Contains(r.said, want) {
			t.Errorf("got %s, want %s in it", r.said, want)
		}
	}
	if got := messagesOf(b.read("two.tbr")); r.status != 1 || len(got) != 0 {
		t.Errorf("got status %d and %d messages, want 1 and none", r.status, len(got))
	}
}

// TestPiecesOfTwoPublishers are not put together, although they are alike.
func TestPiecesOfTwoPublishers(t *testing.T) {
	b := newBed(t)
	data := noise(600_000)
	b.record("run.tbr", 1<<20, msg(0, bob, 2, 1, 0, "short"), msg(1, alice, 1, 1, 0, data), msg(2, bob, 1, 1, 0, data))
	b.run("run.tbr", "--to", "pcapng", "--out", "run.pcapng")
	file := b.file("run.pcapng")
	const packetBlock = 6
	for at, n := 0, 0; at < len(file); at += int(binary.LittleEndian.Uint32(file[at+4:])) {
		if binary.LittleEndian.Uint32(file[at:]) != packetBlock {
			continue
		}
		if n++; n == 3 { // the second piece of alice becomes one of the first interface
			binary.LittleEndian.PutUint32(file[at+8:], 0)
		}
	}
	must(t, os.WriteFile(b.path("run.pcapng"), file, 0o600))
	r := b.run("run.pcapng", "--out", "back.tbr")
	if want := "packet 3: " + convert.ErrPacket.Error() + ": in front of it "; r.status != 1 || !strings.Contains(r.said, want) {
		t.Errorf("got status %d: %s, want 1 and %s", r.status, r.said, want)
	}
	if got := messagesOf(b.read("back.tbr")); len(got) != 2 || got[1].Peer != *bob || got[1].Data != data {
		t.Errorf("got %d messages, want the two of bob", len(got))
	}
}

// TestWiresharkShowsLongMessages: the pieces that it shows are the messages.
func TestWiresharkShowsLongMessages(t *testing.T) {
	b := newBed(t)
	b.record("run.tbr", 1<<20, long()...)
	b.run("run.tbr", "--to", "pcapng", "--out", "run.pcapng")
	var got []string
	for _, row := range b.tshark("run.pcapng", "tagbus.counter", "tagbus.data", "tagbus.text", "tagbus.piece.offset", "tagbus.piece.of") {
		data, err := hex.DecodeString(row[1])
		must(t, err)
		rest := string(data) + row[2]
		if row[3] == "" || row[3] == "0" {
			got = append(got, row[0]+" ")
		}
		whole := &got[len(got)-1]
		*whole += rest
		if row[3] != "" && fmt.Sprint(len(*whole)-len(row[0])-1-len(rest)) != row[3] {
			t.Errorf("got a piece at %s of %s, want one at %d", row[3], row[4], len(*whole)-len(row[0])-1-len(rest))
		}
	}
	for i, r := range ofAll(long()) {
		want := fmt.Sprintf("%d %s", r.Counter, r.Data)
		if r.Kind != 0 {
			want = " " + r.Tags
		}
		if i >= len(got) || got[i] != want {
			t.Errorf("record %d: tshark shows another one", i)
		}
	}
	if len(got) != len(long()) {
		t.Errorf("got %d records, want %d", len(got), len(long()))
	}
}

// tshark returns fields of each packet of a capture, as tshark prints them with the
// dissector of deploy/.
func (b *bed) tshark(name string, fields ...string) (rows [][]string) {
	b.Helper()
	if _, err := exec.LookPath("tshark"); err != nil {
		b.Skip("needs tshark of the Debian package tshark")
	}
	const dissector = "../../../deploy/wireshark/tagbus.lua"
	_, err := os.ReadFile(dissector) // the result of the test depends on it
	must(b, err)
	args := []string{"-n", "-X", "lua_script:" + dissector, "-r", b.path(name), "-T", "fields", "-E", "separator=;"}
	for _, f := range fields {
		args = append(args, "-e", f)
	}
	command := exec.CommandContext(b.Context(), "tshark", args...)
	var errs bytes.Buffer
	command.Stderr = &errs
	out, err := command.Output()
	if err != nil || strings.Contains(errs.String(), "Lua:") {
		b.Fatalf("tshark: %v: %s", err, &errs)
	}
	for line := range strings.Lines(string(out)) {
		rows = append(rows, strings.Split(strings.TrimSuffix(line, "\n"), ";"))
	}
	return rows
}
