// SPDX-License-Identifier: Apache-2.0

package convert_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tagbus/cmd/internal/convert"
	"tagbus/cmd/internal/rec/rectest"
	"tagbus/cmd/internal/record"
	"tagbus/recording"
)

// TestGolden: the files for other programs stay as they are.
func TestGolden(t *testing.T) {
	b := newBed(t)
	b.record("run.tbr", 256, all()...)
	for _, format := range []string{"mcap", "pcapng", "csv", "length32"} {
		out := "run." + format
		if r := b.run("run.tbr", "--to", format, "--out", out, "--mixed="+map[bool]string{true: "true", false: "false"}[format == "length32"]); r.status != 0 {
			t.Fatalf("%s: got status %d: %s", format, r.status, r.said)
		}
		golden := filepath.Join("testdata", out)
		if os.Getenv("TAGBUS_GOLDEN") == "write" {
			must(t, os.WriteFile(golden, b.file(out), 0o600))
		}
		want, err := os.ReadFile(golden)
		must(t, err)
		if got := b.file(out); !bytes.Equal(got, want) {
			t.Errorf("%s: got %d bytes %x, want %s (TAGBUS_GOLDEN=write writes it)", format, len(got), got, golden)
		}
	}
}

func TestLength32HasTheDataOfOneTag(t *testing.T) {
	b := newBed(t)
	b.record("run.tbr", 256, all()...)
	r := b.run("run.tbr", "--to", "length32", "--out", "run.l32")
	if !errors.Is(r.err, convert.ErrSeveralTags) || r.status != 1 {
		t.Errorf("got status %d and %v, want 1 and ErrSeveralTags", r.status, r.err)
	}
	if _, err := os.Stat(b.path("run.l32")); err == nil {
		t.Error("the incomplete file is there")
	}
	tests := []struct {
		name  string
		args  []string
		wants func(r entry) bool
	}{
		{"one.l32", []string{"--tags", "1"}, func(r entry) bool { return r.Tag == 1 }},
		{"all.l32", []string{"--mixed"}, func(entry) bool { return true }},
	}
	for _, test := range tests {
		r := b.run(append([]string{"run.tbr", "--to", "length32", "--out", test.name}, test.args...)...)
		if r.status != 0 || !strings.Contains(r.said, "no tag, counter, status, time or publisher\n7 messages lost, which length32 cannot say\n") {
			t.Errorf("got status %d and %s, want 0 and what is not kept", r.status, r.said)
		}
		reader, err := record.NewReader(record.Format{Kind: record.Length32}, bytes.NewReader(b.file(test.name)), 1<<20)
		must(t, err)
		for _, want := range messagesOf(ofAll(all())) {
			if !test.wants(want) {
				continue
			}
			if got, err := reader.Next(); err != nil || string(got) != want.Data {
				t.Errorf("got %q, %v, want %q", got, err, want.Data)
			}
		}
		if _, err := reader.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("got %v at the end, want io.EOF", err)
		}
	}
}

// TestTimesBefore1970 have a place in CSV only.
func TestTimesBefore1970(t *testing.T) {
	b := newBed(t)
	old := msg(0, alice, 1, 1, 0, "old")
	old.Time = old.Time.AddDate(-100, 0, 0)
	b.record("old.tbr", 256, old)
	for _, format := range []string{"mcap", "pcapng"} {
		if r := b.run("old.tbr", "--to", format, "--out", "old."+format); !errors.Is(r.err, convert.ErrTime) || r.status != 1 {
			t.Errorf("%s: got status %d and %v, want 1 and ErrTime", format, r.status, r.err)
		}
	}
	if r := b.run("old.tbr", "--to", "csv", "--out", "-"); r.status != 0 || !strings.Contains(r.out, "\r\n1926-11-24T12:00:00.123456789Z,message,") {
		t.Errorf("csv: got status %d and %q", r.status, r.out)
	}
}

// TestDamageIsPassedOver: the rest of the recording is there, and the status says that it
// is not all.
func TestDamageIsPassedOver(t *testing.T) {
	b := newBed(t)
	b.record("run.tbr", 256, all()...)
	file := b.file("run.tbr")
	file[bytes.Index(file, bytes.Repeat([]byte("x"), 100))] = 'y'
	must(t, os.WriteFile(b.path("run.tbr"), file, 0o600))
	r := b.run("run.tbr", "--to", "csv", "--out", "run.csv", "--json")
	if !strings.Contains(r.said, recording.ErrChecksum.Error()) || !strings.Contains(r.said, "it is passed over") || r.status != 1 {
		t.Errorf("got status %d and %s, want 1 and the checksum", r.status, r.said)
	}
	var s struct {
		Messages, Damaged, Bytes int
		Format                   string
	}
	must(t, json.Unmarshal([]byte(r.out), &s))
	rows := bytes.Count(b.file("run.csv"), []byte(",message,"))
	if s.Messages != rows || rows == 0 || rows >= 5 || s.Damaged != 1 || s.Format != "csv" || s.Bytes != len(b.file("run.csv")) {
		t.Errorf("got %+v and %d rows, want a part of the 5 messages", s, rows)
	}
	// A file that was cut off is no damage, and is named.
	b.record("cut.tbr", 256, all()...)
	cut := b.file("cut.tbr")
	must(t, os.WriteFile(b.path("cut.tbr"), cut[:len(cut)*2/3], 0o600))
	r = b.run("cut.tbr", "--to", "csv", "--out", "-")
	if !strings.Contains("\n"+r.said, "\nnot whole: cut.tbr: it was not closed: the last block of its recorder is missing (") {
		t.Errorf("got %s, want that the file was cut off", r.said)
	}
}

func TestOutputsThatAreRefused(t *testing.T) {
	b := newBed(t)
	b.record("run.tbr", 256, all()...)
	b.record("there.csv", 256)
	before := b.file("run.tbr")
	for out, want := range map[string]error{"run.tbr": convert.ErrIsInput, "there.csv": os.ErrExist} {
		if r := b.run("run.tbr", "--to", "csv", "--out", out); !errors.Is(r.err, want) || r.status != 2 {
			t.Errorf("%s: got status %d and %v, want 2 and %v", out, r.status, r.err, want)
		}
	}
	if !bytes.Equal(b.file("run.tbr"), before) {
		t.Error("the input has changed")
	}
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("needs a terminal: %v", err)
	}
	defer func() { must(t, terminal.Close()) }()
	if r := b.runTo(terminal, "run.tbr", "--to", "mcap", "--out", "-"); !errors.Is(r.err, convert.ErrTerminal) || r.status != 2 {
		t.Errorf("a terminal: got status %d and %v, want 2 and ErrTerminal", r.status, r.err)
	}
}

func TestCommandLinesThatMakeNoSense(t *testing.T) {
	b := newBed(t)
	b.record("run.tbr", 256, all()...)
	b.capture("a.pcap", 1, 0, []byte("frame"))
	tests := []struct{ args, want string }{
		{"run.tbr --out x.csv", "--to: what is the recording to become? want mcap, pcapng, length32 or csv"},
		{"run.tbr --to xml --out x.csv", `--to: got "xml", want mcap, pcapng, length32 or csv`},
		{"run.tbr --to csv --codec lz4 --out x.csv", `--codec: got "lz4", want none`},
		{"run.tbr --to mcap --codec s2 --out x.csv", `--codec: got "s2", want none or lz4 or zstd`},
		{"run.tbr --to mcap --data text --out x.csv", "--data is for --to csv"},
		{"run.tbr --to mcap --mixed --out x.csv", "--mixed is for --to length32"},
		{"run.tbr --to mcap --tag 1 --out x.csv", "--tag is for captures"},
		{"run.tbr --to csv --from +2s --until +1s --out x.csv", "--until: got "},
		{"a.pcap --to csv --out x.csv", "--to: captures become a recording"},
		{"none.tbr --to csv --out x.csv", "none.tbr: no such file or directory"},
	}
	for _, test := range tests {
		if r := b.run(strings.Fields(test.args)...); r.status != 2 || !strings.Contains(r.said, test.want) {
			t.Errorf("%s: got status %d and %s, want 2 and %s", test.args, r.status, r.said, test.want)
		}
		if _, err := os.Stat(b.path("x.csv")); err == nil {
			t.Errorf("%s: the file is there", test.args)
		}
	}
}

// TestASignalRemovesTheFile: it is not complete.
func TestASignalRemovesTheFile(t *testing.T) {
	b := newBed(t)
	var records []recording.Record
	for i := range 5000 {
		records = append(records, msg(i, alice, 1, uint64(i+1), 0, ""))
	}
	b.record("run.tbr", 256, records...)
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stopped)
	b.ctx = ctx
	if r := b.run("run.tbr", "--to", "csv", "--out", "x.csv"); !errors.Is(r.err, stopped) {
		t.Errorf("got %v, want the cause", r.err)
	}
	if _, err := os.Stat(b.path("x.csv")); err == nil {
		t.Error("the incomplete file is there")
	}
}

// TestASignalRemovesTheFile_atAnyTime, also where nothing of what is read is selected.
func TestASignalRemovesTheFile_atAnyTime(t *testing.T) {
	b := newBed(t)
	b.record("run.tbr", 256, all()...)
	for _, args := range [][]string{
		{"run.tbr", "--to", "csv", "--out", "x.csv"}, {"run.tbr", "--to", "mcap", "--out", "x.mcap"}, {"run.tbr", "--to", "csv", "--publisher", "none", "--out", "x.csv"},
	} {
		out := b.path(args[len(args)-1])
		for n := int64(0); ; n++ {
			ctx, hasEnded := rectest.Ends(t.Context(), n)
			b.ctx = ctx
			r := b.run(slices.Clone(args)...)
			_, missing := os.Stat(out)
			if _ = os.Remove(out); !hasEnded() {
				if n == 0 || missing != nil {
					t.Errorf("%q: got %+v and no file: %v, when nothing ends it after %d looks", args, r, missing, n)
				}
				break
			}
			if !errors.Is(r.err, context.Canceled) || missing == nil || strings.Contains(r.said, "passed over") {
				t.Fatalf("%q: got %+v and a file: %v, when it is ended at look %d, want the cause", args, r, missing == nil, n)
			}
		}
	}
}
