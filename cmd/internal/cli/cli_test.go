// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unicode"

	"go.uber.org/goleak"

	"tagbus/bus"
	"tagbus/cmd/internal/cli"
	"tagbus/internal/stuck"
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
		{"help", []string{"--help"}, 0, false, "Usage: tool --bus=DIR|URL", ""},
		{"the version", []string{"--version"}, 0, false, "tool ", ""},
		{"the fabrics", []string{"--fabrics"}, 0, false, "memory that may be locked: ", ""},
		{"a flag is missing", nil, 2, false, "", "tool: missing flags: --bus=DIR|URL\ntool: see tool --help\n"},
		{"an unknown flag", []string{"--bus", "dir", "--bsu", "x"}, 2, false, "", `tool: unknown flag --bsu, did you mean "--bus"?`},
		{"a value of another type", []string{"--bus", "dir", "--number", "many"}, 2, false, "", `tool: --number: got "many", want a whole number, for example 10`},
		{"a word too many", []string{"--bus", "dir", "word"}, 2, false, "", "tool: unexpected argument word"},
		{"a bus without name", []string{"--bus", ""}, 2, false, "", "tool: --bus: got no directory, want the path of a folder or a URL\n"},
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
	err := bus.PublisherConfig{Sending: bus.Sending{PageBytes: 1, MaxMessageBytes: -1, FlushInterval: -5}, Common: bus.Common{Name: strings.Repeat("x", 300)}}.Validate()
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
	if got := cli.Text(bus.PublisherConfig{Sending: bus.Sending{QueueBytes: 1, PoolBytes: 1}}.Validate()); strings.Contains(got, "QueueBytes") {
		t.Errorf("got %q, want no QueueBytes in it", got)
	}
	err = &bus.PublishError{Tag: 5, Bytes: 2, Limit: 1, Err: bus.ErrMessageTooLarge}
	if got := cli.Text(err); !strings.HasSuffix(got, "raise --max-message-bytes of the publisher") {
		t.Errorf("got %q, want it to end with the flag", got)
	}
}

// TestTextSaysOneCauseOnce: a directory that is away fails the withdrawal, and then the Close.
func TestTextSaysOneCauseOnce(t *testing.T) {
	away := errors.New("the servers do not answer")
	err := errors.Join(errors.Join(away, errors.New("draining failed")), errors.New(away.Error()))
	if got, want := cli.Text(err), "the servers do not answer; draining failed"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSignals(t *testing.T) {
	for _, waits := stuck.Waiting(); waits; _, waits = stuck.Waiting() {
		runtime.Gosched() // for a file of another test, which is about to come: the signal would end the process
	}
	signals := cli.TakeSignals("test", t.Output())
	defer signals.Stop()
	ctx, hurry := signals.Asked, signals.Hurry
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
