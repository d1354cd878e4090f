// SPDX-License-Identifier: Apache-2.0

package convert_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"tagbus/cmd/internal/rec/rectest"
	"tagbus/recording"
	"tagbus/tags"
)

// hellos is a whole recording of 50 messages.
func hellos() []recording.Record {
	records := []recording.Record{event(0, recording.Event{Kind: recording.Joined, Peer: alice, Tags: tags.Of(1)})}
	for n := range 50 {
		records = append(records, msg(n+1, alice, 1, uint64(n+1), 0, fmt.Sprintf("hello %d", n+1)))
	}
	return append(records, event(90, recording.Event{Kind: recording.Ended, Peer: alice}), event(91, recording.Event{Kind: recording.Stopped, Text: "by a signal"}))
}

// TestWhatIsMissingGoesAlong: a recording that is not whole does not become whole by way of
// another format, although no counter shows what is missing at its end.
func TestWhatIsMissingGoesAlong(t *testing.T) {
	tests := []struct {
		name   string
		change func(file []byte) []byte
		status int
		why    string // "": it is whole
	}{
		{"nothing", func(f []byte) []byte { return f }, 0, ""},
		{"killed in a block", func(f []byte) []byte { return f[:len(f)*2/3] }, 1, "it was not closed: the last block of its recorder is missing ("},
		{"killed behind a block", func(f []byte) []byte { return f[:bytes.LastIndex(f, []byte("TBRb"))] }, 1, "it was not closed: the last block of its recorder is missing"},
		{"a damaged header", func(f []byte) []byte { f[50] ^= 1; return f }, 1, "file header at offset 44: checksum is wrong"},
		{"a damaged block", func(f []byte) []byte {
			f[bytes.LastIndex(f, []byte("hello"))]++
			return f
		}, 1, "1 block could not be read"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := newBed(t)
			b.record("run.tbr", 256, hellos()...)
			must(t, os.WriteFile(b.path("run.tbr"), test.change(b.file("run.tbr")), 0o600))
			if whole := rectest.Verify(b, b.path("run.tbr")).Whole(); whole != (test.why == "") {
				t.Fatalf("got %v before, want %v", whole, test.why == "")
			}
			for _, to := range []string{"csv", "mcap", "pcapng"} {
				r := b.run("run.tbr", "--to", to, "--out", "run."+to)
				if r.status != test.status || !strings.Contains(r.said, test.why) {
					t.Errorf("%s: got status %d and %s, want %d and %s", to, r.status, r.said, test.status, test.why)
				}
				if test.why != "" && !bytes.Contains(b.file("run."+to), []byte("converted by tagbus rec convert: ")) {
					t.Errorf("%s: does not say what is missing", to)
				}
			}
			if r := b.run("run.pcapng", "--out", "back.tbr"); r.status != 0 {
				t.Fatalf("got status %d and %s", r.status, r.said)
			}
			if test.why == "" {
				differ(t, b.read("run.tbr"), b.read("back.tbr"))
			}
			if back := rectest.Verify(b, b.path("back.tbr")); back.Whole() != (test.why == "") || !strings.Contains(back.String(), test.why) {
				t.Errorf("got %v, want %s in it", back, test.why)
			}
		})
	}
}

// TestAPartOfAnIncompleteRecording is complete if all of it is there.
func TestAPartOfAnIncompleteRecording(t *testing.T) {
	b := newBed(t)
	b.record("run.tbr", 256, hellos()...)
	f := b.file("run.tbr")
	must(t, os.WriteFile(b.path("run.tbr"), f[:len(f)*2/3], 0o600))
	b.run("run.tbr", "--to", "csv", "--out", "run.csv", "--until", "+10ms")
	if got := string(b.file("run.csv")); !strings.Contains(got, ",message,") || strings.Contains(got, ",stopped,") {
		t.Errorf("got %s, want messages, and that nothing is missing", got)
	}
}

// TestAPacketIsMissing: the recording of a capture says so, although its packets say why the
// recorder stopped.
func TestAPacketIsMissing(t *testing.T) {
	b := newBed(t)
	b.record("run.tbr", 256, hellos()...)
	b.run("run.tbr", "--to", "pcapng", "--out", "run.pcapng")
	f := b.file("run.pcapng")
	f[bytes.LastIndex(f, []byte("hello"))-4] = 9 // its version
	must(t, os.WriteFile(b.path("run.pcapng"), f, 0o600))
	if r := b.run("run.pcapng", "--out", "back.tbr"); r.status != 1 || !strings.Contains(r.said, "packet 51: ") {
		t.Errorf("got status %d and %s, want 1 and the packet", r.status, r.said)
	}
	if back := rectest.Verify(b, b.path("back.tbr")); back.Whole() || !strings.Contains(back.String(), "1 packets or more could not be read") {
		t.Errorf("got %v, want that a packet is missing", back)
	}
}

// TestAPartThatIsNotThere is missing in the new file, too.
func TestAPartThatIsNotThere(t *testing.T) {
	b := newBed(t)
	var first, second bytes.Buffer
	w, err := recording.NewWriter(&first, recording.Header{}, recording.Config{})
	must(t, err)
	records := hellos()
	for i, r := range records {
		if i == len(records)/2 {
			must(t, w.Rotate(&second))
		}
		if r.Event != nil {
			must(t, w.AppendEvent(*r.Event))
		} else {
			must(t, w.Append(r.Time, &r.Message.Message))
		}
	}
	must(t, w.Close())
	must(t, os.WriteFile(b.path("0.tbr"), first.Bytes(), 0o600))
	must(t, os.WriteFile(b.path("1.tbr"), second.Bytes(), 0o600))
	for i, test := range []struct {
		files []string
		why   string
	}{
		{[]string{"0.tbr", "1.tbr"}, ""},
		{[]string{"0.tbr"}, "part 1 of recording "},
		{[]string{"1.tbr"}, "part 0 of recording "},
	} {
		between, back := fmt.Sprintf("%d.pcapng", i), fmt.Sprintf("back%d.tbr", i)
		b.run(append(test.files, "--to", "pcapng", "--out", between)...)
		b.run(between, "--out", back)
		if report := rectest.Verify(b, b.path(back)); report.Whole() != (test.why == "") || !strings.Contains(report.String(), test.why) {
			t.Errorf("%q: got %v, want %s in it", test.files, report, test.why)
		}
	}
}
