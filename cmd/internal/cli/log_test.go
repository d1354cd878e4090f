// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"unicode"
	"unicode/utf8"

	"tagbus/bus"
	"tagbus/cmd/internal/cli"
	"tagbus/internal/testkit"
)

func TestTheFlagsOfTheLog(t *testing.T) {
	tests := []struct {
		name, args string
		want       cli.Log
		err        string
	}{
		{"the default", "", cli.Log{}, ""},
		{"json", "--log-format json --log-level warn", cli.Log{LogFormat: cli.LogJSON, LogLevel: 4}, ""},
		{"the journal", "--log-format journal --log-level debug", cli.Log{LogFormat: cli.LogJournal, LogLevel: -4}, ""},
		{"text", "--log-format text --log-level error -q", cli.Log{LogFormat: cli.LogText, LogLevel: 8, Quiet: true}, ""},
		{"another format", "--log-format xml", cli.Log{}, "tool: --log-format: got \"xml\", want text, json or journal\ntool: see tool --help\n"},
		{"another level", "--log-level loud", cli.Log{}, "tool: --log-level: got \"loud\", want debug, info, warn or error\ntool: see tool --help\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got flags
			var out, errs bytes.Buffer
			args := append([]string{"--bus", "dir"}, strings.Fields(test.args)...)
			cli.Parse(cli.Program{Name: "tool"}, &got, args, cli.Streams{Out: &out, Err: &errs})
			if errs.String() != test.err || test.err == "" && got.Log != test.want {
				t.Errorf("got %+v and %q, want %+v and %q", got.Log, errs.String(), test.want, test.err)
			}
		})
	}
}

// TestALogOfTheJournal: systemd says in JOURNAL_STREAM what it reads.
func TestALogOfTheJournal(t *testing.T) {
	reader, writer, err := os.Pipe()
	testkit.Must(t, err)
	defer reader.Close()
	var st syscall.Stat_t
	testkit.Must(t, syscall.Fstat(int(writer.Fd()), &st))
	t.Setenv("JOURNAL_STREAM", fmt.Sprintf("%d:%d", st.Dev, st.Ino))
	say := func(out *os.File, log cli.Log) {
		c := cli.NewConsole("tool", out, log)
		c.Warn("look")
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	say(writer, cli.Log{})
	say(writer, cli.Log{LogFormat: cli.LogText})
	writer.Close()
	var got bytes.Buffer
	if _, err := got.ReadFrom(reader); err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(got.String(), "\n")
	if lines[0] != "<4>look\n" || texts(t, lines[1]) != "tool: look\n" {
		t.Errorf("got %q, want <4>look and then a text with time and level", lines)
	}

	file, err := os.CreateTemp(t.TempDir(), "")
	testkit.Must(t, err)
	defer file.Close()
	say(file, cli.Log{}) // the service has redirected its standard error
	text, err := os.ReadFile(file.Name())
	if err != nil || texts(t, string(text)) != "tool: look\n" {
		t.Errorf("another file: got %q and %v, want a text", text, err)
	}
}

// TestAConsoleIsSafeToLookAt: whatever it is told to write, in any format.
func TestAConsoleIsSafeToLookAt(t *testing.T) {
	starts := map[cli.LogFormat]string{cli.LogText: "tool: ", cli.LogJSON: `{"time":"`, cli.LogJournal: "<"}
	for format, start := range starts {
		t.Run(string(format), func(t *testing.T) {
			const hostile = "x\x1b[2J\nsubscriber: all is well\r\u202e\u0085\xff"
			var out bytes.Buffer
			c := cli.NewConsole("tool", &out, cli.Log{LogFormat: format})
			c.Say("said %s", hostile)
			c.Notice("noticed %s", hostile)
			c.Event(bus.Event{Kind: bus.Problem, Err: errors.New(hostile), Peer: &bus.Peer{Name: hostile, Instance: hostile, Host: hostile}})
			c.Fail(errors.New(hostile))
			c.Logger().With(hostile, hostile).WithGroup(hostile).Warn(hostile, hostile, errors.New(hostile))
			c.Summary(text(hostile))
			testkit.Must(t, c.Close())
			got := out.String()
			if format == cli.LogText {
				got = texts(t, got)
			}
			lines := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
			if len(lines) != 6 {
				t.Errorf("got %d lines, want 6:\n%q", len(lines), lines)
			}
			for _, line := range lines {
				checkSafe(t, line)
				if !strings.HasPrefix(line, start) {
					t.Errorf("got a forged line %q", line)
				}
				if format == cli.LogJSON && !json.Valid([]byte(line)) {
					t.Errorf("got %q, want JSON", line)
				}
			}
		})
	}
}

func TestAWrongCommandLineIsSafeToLookAt(t *testing.T) {
	var out, errs bytes.Buffer
	code, _ := cli.Parse(cli.Program{Name: "tool"}, new(flags), []string{"x\x1b[2J\nsubscriber: all is well\r\u202e\u0085\xff"}, cli.Streams{Out: &out, Err: &errs})
	if code != cli.ExitUsage {
		t.Errorf("got code %d for a word too many, want %d", code, cli.ExitUsage)
	}
	lines := strings.Split(strings.TrimSuffix(errs.String(), "\n"), "\n")
	if len(lines) != 2 {
		t.Errorf("got %d lines, want 2: %q", len(lines), lines)
	}
	for _, line := range lines {
		checkSafe(t, line)
		if !strings.HasPrefix(line, "tool: ") {
			t.Errorf("got a forged line %q", line)
		}
	}
}

func checkSafe(t *testing.T, line string) {
	t.Helper()
	if !utf8.ValidString(line) || strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) {
		t.Errorf("got %q, want it safe to show", line)
	}
}
