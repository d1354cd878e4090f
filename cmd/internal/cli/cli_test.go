// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"unicode"
	"unicode/utf8"

	"go.uber.org/goleak"

	"tagbus/bus"
	"tagbus/cmd/internal/cli"
	"tagbus/node"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// flags is the smallest command line.
type flags struct {
	cli.Common
	Number int `help:"A number."`
}

func TestParse(t *testing.T) {
	tests := []struct {
		name     string
		args     []string
		code     int
		run      bool
		out, err string // parts
	}{
		{"a good line", []string{"--bus", "dir"}, 0, true, "", ""},
		{"help", []string{"--help"}, 0, false, "Usage: tool --bus=DIR", ""},
		{"the version", []string{"--version"}, 0, false, "tool ", ""},
		{"the fabrics", []string{"--fabrics"}, 0, false, "memory that may be locked: ", ""},
		{"a flag is missing", nil, 2, false, "", "tool: missing flags: --bus=DIR\ntool: see tool --help\n"},
		{"an unknown flag", []string{"--bus", "dir", "--bsu", "x"}, 2, false, "", `tool: unknown flag --bsu, did you mean "--bus"?`},
		{"a value of another type", []string{"--bus", "dir", "--number", "many"}, 2, false, "", `tool: --number: expected a valid 64 bit int but got "many"`},
		{"a word too many", []string{"--bus", "dir", "word"}, 2, false, "", "tool: unexpected argument word"},
		{"a bus without name", []string{"--bus", ""}, 2, false, "", "tool: --bus: got no directory, want its path\n"},
		{"a name with a line feed", []string{"--bus", "dir", "--name", "a\nb"}, 2, false, "", `tool: --name: got "a\nb", want printable text`},
		{"time going back", []string{"--bus", "dir", "--duration=-1s"}, 2, false, "", "--duration: got -1s, want a positive time"},
		{"a beat into the past", []string{"--bus", "dir", "--heartbeat=-1s", "--heartbeat-timeout=-2s"}, 2, false, "", "--heartbeat: got -1s, want 0 or more; --heartbeat-timeout: got -2s, want 0 or more"},
		{"an expiry that every publisher would miss", []string{"--bus", "dir", "--expiry=10ms"}, 2, false, "", "--expiry: got 10ms, want at least 1s"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var out, errs bytes.Buffer
			code, run := cli.Parse(cli.Program{Name: "tool", Description: "A tool."}, new(flags), test.args, cli.Streams{Out: &out, Err: &errs})
			if code != test.code || run != test.run {
				t.Errorf("got code %d and run %v, want %d and %v", code, run, test.code, test.run)
			}
			if !strings.Contains(out.String(), test.out) || (test.out == "") != (out.Len() == 0) {
				t.Errorf("got output %q, want it to hold %q", out.String(), test.out)
			}
			if !strings.Contains(errs.String(), test.err) || (test.err == "") != (errs.Len() == 0) {
				t.Errorf("got error output %q, want it to hold %q", errs.String(), test.err)
			}
		})
	}
}

func TestCode(t *testing.T) {
	tests := []struct {
		name string
		err  error
		want int
	}{
		{"no error", nil, cli.ExitDone},
		{"any error", errors.New("x"), cli.ExitFailed},
		{"a usage error", fmt.Errorf("outer: %w", &cli.UsageError{Err: errors.New("bad 1")}), cli.ExitUsage},
		{"a bad configuration", fmt.Errorf("outer: %w", bus.ErrInvalidConfig), cli.ExitUsage},
		{"an unknown backend", node.ErrUnknownBackend, cli.ExitUsage},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := cli.Code(test.err); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}

// TestTextSpeaksOfFlags keeps the words of the configuration away from those who
// see a command line. It breaks when a field gets another name.
func TestTextSpeaksOfFlags(t *testing.T) {
	err := bus.PublisherConfig{PageBytes: 1, MaxMessageBytes: -1, FlushInterval: -5, Name: strings.Repeat("x", 300)}.Validate()
	got := cli.Text(err)
	for _, flag := range []string{"--page-bytes is 1", "--max-message-bytes is -1", "--flush-interval is -5ns", "--name has 300 bytes", "--tags is empty"} {
		if !strings.Contains(got, flag) {
			t.Errorf("got %q, want it to hold %q", got, flag)
		}
	}
	for _, word := range []string{"PageBytes", "Config", "\n"} {
		if strings.Contains(got, word) {
			t.Errorf("got %q, want no %q in it", got, word)
		}
	}
	if got := cli.Text(bus.PublisherConfig{QueueBytes: 1, PoolBytes: 1}.Validate()); strings.Contains(got, "QueueBytes") {
		t.Errorf("got %q, want no QueueBytes in it", got)
	}
	err = &bus.PublishError{Tag: 5, Bytes: 2, Limit: 1, Err: bus.ErrMessageTooLarge}
	if got := cli.Text(err); !strings.HasSuffix(got, "raise --max-message-bytes of the publisher") {
		t.Errorf("got %q, want it to end with the flag", got)
	}
}

// TestConsoleIsDeafOnceClosed: a goroutine that waits for a file or pipe may be
// left behind.
func TestConsoleIsDeafOnceClosed(t *testing.T) {
	var out bytes.Buffer
	c := cli.NewConsole("tool", &out, false)
	c.Say("before")
	c.Close()
	c.Say("after")
	c.Notice("after")
	if got, want := out.String(), "tool: before\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestConsole(t *testing.T) {
	event := bus.Event{Kind: bus.Gap, Tag: 5, Count: 3, Peer: &bus.Peer{Name: "pub"}}
	talk := func(c *cli.Console) {
		c.Say("said %d", 1)
		c.Notice("noticed")
		c.Event(event)
		c.Fail(errors.New("broken"))
		c.Summary("summary")
		c.Close()
	}
	tests := []struct {
		name  string
		quiet bool
		want  string
	}{
		{
			"everything", false,
			"tool: said 1\ntool: noticed\ntool: gap pub 3 messages of tag 0x0000000000000005: these messages are lost\ntool: broken\ntool: summary\n",
		},
		{"quiet", true, "tool: broken\ntool: summary\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			talk(cli.NewConsole("tool", &out, test.quiet))
			if got := out.String(); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

func TestConsoleShowsSomeEventsOfAKind(t *testing.T) {
	var out bytes.Buffer
	c := cli.NewConsole("tool", &out, false)
	for range 50 {
		c.Event(bus.Event{Kind: bus.Gap})
	}
	c.Event(bus.Event{Kind: bus.Goodbye})
	c.Close()
	got := out.String()
	if n := strings.Count(got, "tool: gap"); n != 20 {
		t.Errorf("got %d lines about gaps, want 20", n)
	}
	for _, want := range []string{"tool: goodbye\n", "tool: 30 more gap events not shown\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("got no %q in\n%s", want, got)
		}
	}
}

func TestTheSummaryIsTheLastLine(t *testing.T) {
	var out bytes.Buffer
	c := cli.NewConsole("tool", &out, false)
	for range 50 {
		c.Event(bus.Event{Kind: bus.Gap})
	}
	c.Summary("all is well")
	c.Close()
	if got, want := out.String(), "tool: 30 more gap events not shown\ntool: all is well\n"; !strings.HasSuffix(got, want) {
		t.Errorf("got an end of %q, want %q", got[max(0, len(got)-100):], want)
	}
}

// blockedWriter takes nothing until it is released.
type blockedWriter struct {
	released chan struct{}
	bytes.Buffer
}

func (w *blockedWriter) Write(p []byte) (int, error) {
	<-w.released
	return w.Buffer.Write(p)
}

func TestNoticeDoesNotWaitForTheTerminal(t *testing.T) {
	w := &blockedWriter{released: make(chan struct{})}
	c := cli.NewConsole("tool", w, false)
	for range 1000 {
		c.Notice("line")
	}
	close(w.released)
	c.Close()
	if got, want := w.String(), "more lines not shown: standard error was not read in time\n"; !strings.HasSuffix(got, want) {
		t.Errorf("got an end of %q, want %q", got[len(got)-100:], want)
	}
}

// TestAConsoleIsSafeToLookAt: whatever it is told to write.
func TestAConsoleIsSafeToLookAt(t *testing.T) {
	const hostile = "x\x1b[2J\nsubscriber: all is well\r\u202e\u0085\xff"
	var out bytes.Buffer
	c := cli.NewConsole("tool", &out, false)
	c.Say("said %s", hostile)
	c.Notice("noticed %s", hostile)
	c.Event(bus.Event{Kind: bus.Problem, Err: errors.New(hostile), Peer: &bus.Peer{Name: hostile}})
	c.Fail(errors.New(hostile))
	c.Logger().Warn(hostile, hostile, hostile)
	c.Summary("%s", hostile)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	var args bytes.Buffer
	if code, _ := cli.Parse(cli.Program{Name: "tool"}, new(flags), []string{hostile}, cli.Streams{Out: &out, Err: &args}); code != cli.ExitUsage {
		t.Errorf("got code %d for a word too many, want %d", code, cli.ExitUsage)
	}
	out.Write(args.Bytes())
	lines := strings.SplitAfter(out.String(), "\n")
	if len(lines) != 6+2+1 {
		t.Errorf("got %d lines, want 8:\n%q", len(lines)-1, lines)
	}
	for _, line := range lines {
		line = strings.TrimSuffix(line, "\n")
		if !utf8.ValidString(line) || strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("got %q, want it safe to show", line)
		}
		if line != "" && !strings.HasPrefix(line, "tool: ") {
			t.Errorf("got a forged line %q", line)
		}
	}
}

func TestSignals(t *testing.T) {
	ctx, hurry, stop := cli.Signals(t.Context())
	defer stop()
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	var signal *cli.SignalError
	if cause := context.Cause(ctx); !errors.As(cause, &signal) || signal.Signal != syscall.SIGTERM {
		t.Errorf("got %v, want %v", cause, syscall.SIGTERM)
	}
	if err := hurry.Err(); err != nil {
		t.Errorf("after one signal: got %v, want no hurry", err)
	}
}

func TestPrintJSON(t *testing.T) {
	var out bytes.Buffer
	if err := cli.PrintJSON(&out, map[string]int{"a": 1}); err != nil || out.String() != "{\"a\":1}\n" {
		t.Errorf("got %q, %v, want one line", out.String(), err)
	}
	out.Reset()
	hostile := "\x1b[2J\n\u202e\u0085\U000e0001\x7f"
	if err := cli.PrintJSON(&out, hostile); err != nil || strings.ContainsFunc(strings.TrimSpace(out.String()), func(r rune) bool { return !unicode.IsPrint(r) }) {
		t.Errorf("got %q, %v, want it safe to show", out.String(), err)
	}
	var back string
	if err := json.Unmarshal(out.Bytes(), &back); err != nil || back != hostile {
		t.Errorf("got %q, %v when it is read, want %q", back, err, hostile)
	}
	var unsupported *json.UnsupportedTypeError
	if err := cli.PrintJSON(&out, func() {}); !errors.As(err, &unsupported) {
		t.Errorf("got %v, want the encoder's error", err)
	}
}
