// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/cmd/internal/cli"
)

// A command whose standard error was not read never came to its end.
func TestAnUnreadConsoleHoldsUpNoWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &blockedWriter{released: make(chan struct{})}
		c := cli.NewConsole("tool", w, false)
		begin := time.Now()
		for range 10_000 {
			c.Say("line")
			c.Fail(errors.New("broken"))
			c.Notice("event")
		}
		c.Summary("summary")
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
		c := cli.NewConsole("tool", w, false)
		const lines = 1000
		for range lines {
			c.Say("line")
		}
		c.Summary("summary")
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
		c := cli.NewConsole("tool", w, false)
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

// slowWriter takes a time for each write.
type slowWriter struct {
	each time.Duration
	strings.Builder
}

func (w *slowWriter) Write(p []byte) (int, error) {
	time.Sleep(w.each)
	return w.Builder.Write(p)
}
