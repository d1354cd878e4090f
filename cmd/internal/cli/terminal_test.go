// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"errors"
	"log/slog"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/publish"
	"tagbus/cmd/internal/subscribe"
	"tagbus/internal/testkit"
	"tagbus/internal/testkit/pty"
)

func TestLiveLineOnATerminal(t *testing.T) {
	t.Setenv("TERM", "xterm")
	screen, program := pty.Open(t)
	c := cli.NewConsole("tool", program, cli.Log{})
	c.Live(func() string { return "so far 7" })
	pty.ReadUntil(t, screen, "\r\x1b[Kso far 7\r\x1b[Kso far 7") // it is renewed
	c.Say("a line")
	// A line takes the place of the live one.
	got := pty.ReadUntil(t, screen, "a line\r\n")
	if !regexp.MustCompile(`\r\x1b\[K\d\d:\d\d:\d\d tool: a line\r\n$`).MatchString(got) {
		t.Errorf("got %q, want the live line cleared before the line", got)
	}
	c.Summary(text("summary"))
	c.Close()
	pty.ReadUntil(t, screen, "tool: summary\r\n")
}

// TestLinesOnATerminal: the level is named where a person has to look, in colour unless
// that is not wanted.
func TestLinesOnATerminal(t *testing.T) {
	tests := []struct {
		name          string
		noColor, term string
		want          string // without the times
	}{
		{"colours", "", "xterm", "tool: debug: detail\r\ntool: said\r\ntool: \x1b[33mwarning: look\x1b[0m\r\ntool: \x1b[31merror: broken\x1b[0m\r\ntool: done\r\n"},
		{"NO_COLOR", "1", "xterm", "tool: debug: detail\r\ntool: said\r\ntool: warning: look\r\ntool: error: broken\r\ntool: done\r\n"},
		{"a terminal that has none", "", "dumb", "tool: debug: detail\r\ntool: said\r\ntool: warning: look\r\ntool: error: broken\r\ntool: done\r\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("NO_COLOR", test.noColor)
			t.Setenv("TERM", test.term)
			screen, program := pty.Open(t)
			c := cli.NewConsole("tool", program, cli.Log{LogLevel: cli.LogLevel(slog.LevelDebug)})
			c.Tell(slog.LevelDebug, "", nil, "detail")
			c.Say("said")
			c.Warn("look")
			c.Fail(errors.New("broken"))
			c.Summary(text("done"))
			c.Close()
			got := regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d `).ReplaceAllString(pty.ReadUntil(t, screen, "done\r\n"), "")
			if got != test.want {
				t.Errorf("got\n%q, want\n%q", got, test.want)
			}
		})
	}
}

// TestTheLiveLineFitsTheTerminal: what is wrapped cannot be cleared. A character takes
// more than a byte.
func TestTheLiveLineFitsTheTerminal(t *testing.T) {
	t.Setenv("TERM", "xterm")
	screen, program := pty.Open(t)
	pty.SetSize(t, program, 80, 24)
	c := cli.NewConsole("tool", program, cli.Log{})
	c.Live(func() string { return strings.Repeat("µ", 100) })
	pty.ReadUntil(t, screen, "\r\x1b[K"+strings.Repeat("µ", 79)+"\r\x1b[K")
	c.Close()
}

// TestACommandShowsWhatItWaitsFor: a terminal that shows nothing looks like a program
// that hangs.
func TestACommandShowsWhatItWaitsFor(t *testing.T) {
	t.Setenv("TERM", "xterm")
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { testkit.ReleaseFIFO(t, fifo) }) // the goroutine that opens it is left behind
	tests := []struct {
		name, args, want string
		main             func([]string, cli.Streams) int
		code             int
	}{
		{"for subscribers", "--emulate 10 --wait-subscribers 2", "s for 2 subscribers that together want all of the tags, 0 so far", publish.Main, cli.ExitFailed},
		{"for receivers", "--emulate 10 --send", "s for receivers in DIR that have 0x0000000000000005", publish.Main, cli.ExitFailed}, // its message has none to the end
		{"for input", "--record lines --input " + fifo, "s for the input " + fifo, publish.Main, cli.ExitDone},
		{"for publishers", "", "s for publishers in DIR that have 0x0000000000000005", subscribe.Main, cli.ExitDone},
		{"for senders", "--receive", "s for senders in DIR that send to 0x0000000000000005", subscribe.Main, cli.ExitDone},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			screen, program := pty.Open(t)
			code := make(chan int, 1)
			dir := t.TempDir() // they would find each other
			want := strings.ReplaceAll(test.want, "DIR", dir)
			args := append([]string{"--bus", dir, "--tags", "5", "--duration", "2s"}, strings.Fields(test.args)...)
			go func() { code <- test.main(args, cli.Streams{Err: program}) }()
			shown := pty.ReadUntil(t, screen, want)
			if !regexp.MustCompile(`\r\x1b\[Kwaiting \d` + regexp.QuoteMeta(want)).MatchString(shown) {
				t.Errorf("got %q, want a renewed line", shown)
			}
			if got := <-code; got != test.code {
				t.Errorf("got exit code %d, want %d", got, test.code)
			}
		})
	}
}

// TestNoRenewedLine: a message that is shown on the terminal would stand behind the renewed
// line, one that is typed there would be hidden with it, and a terminal that knows no
// sequences would show those that clear it.
func TestNoRenewedLine(t *testing.T) {
	for _, test := range []struct {
		name, args, term string
		main             func([]string, cli.Streams) int
	}{
		{"among printed messages", "--print hex", "xterm", subscribe.Main},
		{"among messages", "--output -", "xterm", subscribe.Main},
		{"among typed messages", "--input - --record lines", "xterm", publish.Main},
		{"on a terminal without sequences", "", "dumb", subscribe.Main},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("TERM", test.term)
			screen, program := pty.Open(t)
			code := make(chan int, 1)
			args := append([]string{"--bus", t.TempDir(), "--tags", "5", "--duration", "1100ms"}, strings.Fields(test.args)...)
			go func() { code <- test.main(args, cli.Streams{In: program, Out: program, Err: program}) }()
			if shown := pty.ReadUntil(t, screen, "ended by duration\r\n"); strings.Contains(shown, "\x1b[K") {
				t.Errorf("got %q, want no renewed line", shown)
			}
			if got := <-code; got != cli.ExitDone {
				t.Errorf("got exit code %d, want %d", got, cli.ExitDone)
			}
		})
	}
}
