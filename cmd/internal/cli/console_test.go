// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"tagbus/bus"
	"tagbus/cmd/internal/cli"
)

// text is a summary without figures.
type text string

func (t text) String() string { return string(t) }

// lineStart is what stands before the text of a line in a file.
var lineStart = regexp.MustCompile(`(?m)^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(Z|[+-]\d\d:\d\d) (DEBUG|INFO|WARN|ERROR) `)

// texts returns lines without their times and levels, which all must have.
func texts(t *testing.T, lines string) string {
	t.Helper()
	if got, want := len(lineStart.FindAllString(lines, -1)), strings.Count(lines, "\n"); got != want {
		t.Errorf("got %d lines with time and level, want %d of\n%s", got, want, lines)
	}
	return lineStart.ReplaceAllString(lines, "")
}

// TestConsoleIsDeafOnceClosed: a goroutine that waits for a file or pipe may be
// left behind.
func TestConsoleIsDeafOnceClosed(t *testing.T) {
	var out bytes.Buffer
	c := cli.NewConsole("tool", &out, cli.Log{})
	c.Say("before")
	c.Close()
	c.Say("after")
	c.Notice("after")
	if got, want := texts(t, out.String()), "tool: before\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestConsoleShowsSomeEventsOfAKind(t *testing.T) {
	var out bytes.Buffer
	c := cli.NewConsole("tool", &out, cli.Log{})
	for range 50 {
		c.Event(bus.Event{Kind: bus.Gap})
	}
	c.Event(bus.Event{Kind: bus.Goodbye})
	c.Close()
	got := texts(t, out.String())
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
	c := cli.NewConsole("tool", &out, cli.Log{})
	for range 50 {
		c.Event(bus.Event{Kind: bus.Gap})
	}
	c.Summary(text("all is well"))
	c.Close()
	if got, want := texts(t, out.String()), "tool: 30 more gap events not shown\ntool: all is well\n"; !strings.HasSuffix(got, want) {
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
