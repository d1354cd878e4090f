// SPDX-License-Identifier: Apache-2.0

package members_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"tagbus/directory/etcd/cmd/internal/members"
)

// stuck is a writer that is not read until it is released.
type stuck struct {
	bytes.Buffer

	release chan struct{}
}

// Write waits, and then takes a line.
func (s *stuck) Write(line []byte) (int, error) {
	<-s.release
	return s.Buffer.Write(line)
}

// A writer that is not read holds up nothing.
func TestStandardErrorIsNotRead(t *testing.T) {
	to := &stuck{release: make(chan struct{})}
	log, stop := members.NewLogger(to, "text", "info")
	for i := range 10_000 {
		log.Info("line", "number", i)
	}
	close(to.release)
	stop()
	got := to.String()
	if n := strings.Count(got, "\n"); n > 300 || n < 200 {
		t.Errorf("got %d lines of 10,000, want about 256", n)
	}
	if !strings.Contains(got, "number=0\n") || !strings.Contains(got, "lines were left out, since standard error was not read") {
		t.Errorf("got %q, want the first line, and that some were left out", got)
	}
}

func TestLines(t *testing.T) {
	t.Setenv("JOURNAL_STREAM", "1:2")
	var out bytes.Buffer
	log, stop := members.NewLogger(&out, "text", "info")
	log = log.With("a", 1)
	log.Debug("not said")
	log.Info("one")
	log.WithGroup("g").Warn("two\n\x1b[31m", "b", "c d")
	stop()
	want := "tagbus-directory: one a=1\n" + `tagbus-directory: warn: two; \x1b[31m a=1 b="c d"` + "\n"
	if got := out.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	out.Reset()
	log, stop = members.NewLogger(&out, "json", "warn")
	log.Log(t.Context(), slog.LevelError, "three")
	stop()
	stop()
	if got := out.String(); !strings.Contains(got, `"msg":"three"`) || !strings.Contains(got, `"program":"tagbus-directory"`) {
		t.Errorf("got %q, want a line of JSON", got)
	}
}
