// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/cmd/internal/cli"
	"tagbus/internal/testkit/pty"
)

// A command whose standard error was not read never came to its end.
func TestAnUnreadConsoleHoldsUpNoWriter(t *testing.T) {
	for _, format := range []cli.LogFormat{cli.LogText, cli.LogJSON, cli.LogJournal} {
		t.Run(string(format), func(t *testing.T) { unreadConsole(t, cli.Log{LogFormat: format}) })
	}
}

func unreadConsole(t *testing.T, log cli.Log) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &blockedWriter{released: make(chan struct{})}
		c := cli.NewConsole("tool", w, log)
		begin := time.Now()
		for range 10_000 {
			c.Say("line")
			c.Fail(errors.New("broken"))
			c.Notice("event")
		}
		c.Summary(text("summary"))
		if err := c.Close(); !errors.Is(err, cli.ErrStuck) {
			t.Errorf("got %v from Close, want ErrStuck", err)
		}
		if took := time.Since(begin); took > 10*time.Second {
			t.Errorf("the end took %v, want some seconds", took)
		}
		close(w.released)
		synctest.Wait()
	})
}

// TestASlowConsoleLosesNothingThatWasSaid: as long as some of it is taken.
func TestASlowConsoleLosesNothingThatWasSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &slowWriter{each: time.Second}
		c := cli.NewConsole("tool", w, cli.Log{})
		const lines = 1000
		for range lines {
			c.Say("line")
		}
		c.Summary(text("summary"))
		if err := c.Close(); err != nil {
			t.Errorf("got %v from Close, want nil", err)
		}
		if got := strings.Count(w.String(), "tool: line\n"); got != lines || !strings.HasSuffix(w.String(), "tool: summary\n") {
			t.Errorf("got %d lines and an end of %q, want %d and the summary", got, w.String()[max(0, w.Len()-40):], lines)
		}
	})
}

// TestAConsoleThatIsReadAgainGoesOn and says what it has left out.
func TestAConsoleThatIsReadAgainGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &blockedWriter{released: make(chan struct{})}
		c := cli.NewConsole("tool", w, cli.Log{})
		for range 300 {
			c.Say("line")
		}
		close(w.released)
		synctest.Wait()
		c.Say("after")
		if err := c.Close(); err != nil {
			t.Errorf("got %v from Close, want nil", err)
		}
		got := w.String()
		if !strings.Contains(got, "tool: after\n") || !strings.HasSuffix(got, " more lines not shown: standard error was not read in time\n") {
			t.Errorf("got an end of %q, want the line after, and how many are missing", got[max(0, len(got)-200):])
		}
	})
}

// TestALoopDoesNotWaitForTheTerminal, whatever it has to say.
func TestALoopDoesNotWaitForTheTerminal(t *testing.T) {
	for name, say := range map[string]func(c *cli.Console){
		"notices": func(c *cli.Console) { c.Notice("line") },
		"events":  func(c *cli.Console) { c.Event(bus.Event{Kind: bus.Gap}); c.Event(bus.Event{Kind: bus.Lost}) },
		"a log":   func(c *cli.Console) { c.Logger().Warn("line") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &blockedWriter{released: make(chan struct{})}
				c := cli.NewConsole("tool", w, cli.Log{})
				for range 300 { // more than may wait
					c.Notice("before")
				}
				begin := time.Now()
				for range 100 {
					say(c)
				}
				if took := time.Since(begin); took > 0 {
					t.Errorf("it took %v, want no time", took)
				}
				close(w.released)
				if err := c.Close(); err != nil {
					t.Error(err)
				}
				if got := w.String(); !strings.HasSuffix(got, "more lines not shown: standard error was not read in time\n") {
					t.Errorf("got an end of %q, want it to say that lines are missing", got[max(0, len(got)-200):])
				}
			})
		})
	}
}

// TestNoLiveLine where it is not wanted: it would stand between the records of tools.
func TestNoLiveLine(t *testing.T) {
	tests := []struct {
		name string
		log  cli.Log
		want string // the summary
	}{
		{"quiet", cli.Log{Quiet: true}, "TIME tool: done\r\n"},
		{"only warnings", cli.Log{LogLevel: cli.LogLevel(slog.LevelWarn)}, "TIME tool: done\r\n"},
		{"the journal", cli.Log{LogFormat: cli.LogJournal}, "<6>done kind=summary\r\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			screen, program := pty.Open(t)
			synctest.Test(t, func(t *testing.T) {
				c := cli.NewConsole("tool", program, test.log)
				c.Live(func() string {
					t.Error("the line is asked for")
					return "so far 7"
				})
				time.Sleep(5 * time.Second)
				c.Summary(text("done"))
				if err := c.Close(); err != nil {
					t.Error(err)
				}
				test.want = strings.ReplaceAll(test.want, "TIME", time.Now().Format("15:04:05"))
			})
			if got := pty.ReadUntil(t, screen, "\n"); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// slowWriter takes a time for each write.
type slowWriter struct {
	each time.Duration
	strings.Builder
}

func (w *slowWriter) Write(p []byte) (int, error) {
	time.Sleep(w.each)
	return w.Builder.Write(p)
}
