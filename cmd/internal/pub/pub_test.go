// SPDX-License-Identifier: Apache-2.0

package pub

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/publish"
	"tagbus/cmd/internal/tool"
	"tagbus/cmd/internal/tool/tooltest"
)

// An internal test: what becomes of the flags is seen before anything is published.
func TestFlagsAreThoseOfPublisher(t *testing.T) {
	for _, test := range []struct {
		line    string
		differs func(*publish.Flags) bool
	}{
		{"5", func(f *publish.Flags) bool {
			return f.Input != "-" || f.Record.String() != "lines" || f.WaitSubscribers != 1 || f.Emulate != nil || f.PageBytes != 130900 || f.DrainTimeout != 30*time.Second || f.WaitTime != 30*time.Second || f.Loops != 1
		}},
		{"5 in --record fixed:8 --loop --wait 3 --status 9 --rate 2k --for 3s", func(f *publish.Flags) bool {
			return f.Input != "in" || f.Record.String() != "fixed:8" || !f.Loop || f.WaitSubscribers != 3 || f.Status != 9 || f.Rate != 2000 || f.Duration != 3*time.Second
		}},
		{"* in --record pcap --no-record-header --map offset:8", func(f *publish.Flags) bool {
			return !f.NoRecordHeader || f.Map.String() != "offset:8"
		}},
		{"5 --emulate 24-30 --stamp --count 7 --wait-subscribers 0 --duration 1s", func(f *publish.Flags) bool {
			return f.Input != "" || f.Record != nil || f.Emulate.Max != 30 || !f.Stamp || f.Count != 7 || f.WaitSubscribers != 0 || f.Duration != time.Second
		}},
	} {
		c, err := tooltest.Read[Command](test.line)
		if err != nil {
			t.Errorf("%s: %v", test.line, err)
			continue
		}
		f, err := c.flags(&tool.Flags{Bus: "b", Backend: "rdma", JSON: true})
		if err != nil || f.Bus != "b" || f.Backend != "rdma" || !f.JSON || !f.Tags.Contains(5) || test.differs(f) {
			t.Errorf("%s: got %+v and error %v", test.line, f, err)
		}
	}
}

// Texts of the command publisher name flags, also where tagbus pub says them.
func TestFlagsThatAreNamedAreThere(t *testing.T) {
	known := map[string]bool{ // arguments here, flags of all commands, and of what pub does not do
		"--send": true, "--ack": true, "--receive": true, "--listen-also": true, "--bus": true, "--json": true, "--policies": true, "--input": true, "--tags": true,
	}
	parser, err := kong.New(new(Command))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range parser.Model.Flags {
		for _, name := range append(f.Aliases, f.Name) {
			known["--"+name] = true
		}
	}
	files, err := filepath.Glob("../publish/*.go")
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, "_test.go") || strings.HasSuffix(file, "/flags.go") {
			continue
		}
		for line := range strings.Lines(string(text)) {
			code, _, _ := strings.Cut(line, "//")
			for _, name := range regexp.MustCompile("--[a-z][a-z-]*").FindAllString(code, -1) {
				named++
				if !known[name] {
					t.Errorf("%s names %s, which tagbus pub does not have: %s", file, name, line)
				}
			}
		}
	}
	if named < 20 {
		t.Errorf("got %d names of flags, want those of the texts of publisher", named)
	}
}

func TestUsage(t *testing.T) {
	for _, test := range []struct{ line, want string }{
		{"", `expected "<tags>"`},
		{"5 in --size 10", "--size makes messages up, and in has some: give one of them"},
		{"5 --size 10 --record lines", "--record is for --input"},
		{"5 --size 10 --stamp", "--stamp needs --emulate with messages of 24 bytes or more"},
		{"5 --loop", "--loop needs a file: standard input cannot be read again"},
		{"5 --wait=-1", "--wait-subscribers: got -1, want 0 or more"},
		{"5 --wait-time=-1s", "--wait-time: got -1s, want a positive time, or 0 to wait until they come"},
		{"5 --record csv", `--record: unknown record format: "csv": want fixed:N, lines, length32, pcap, pcapng or raw`},
	} {
		if _, err := tooltest.Read[Command](test.line); err == nil || cli.Text(err) != test.want {
			t.Errorf("%s: got %v, want %s", test.line, err, test.want)
		}
	}
}
