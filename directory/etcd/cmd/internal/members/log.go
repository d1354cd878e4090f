// SPDX-License-Identifier: Apache-2.0

package members

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"tagbus/internal/sanitize"
)

// lines writes records as lines for people: the time, the program, the text, and what
// belongs to it.
//
// Threads: any.
type lines struct {
	mutex *sync.Mutex
	to    io.Writer
	level slog.Level
	timed bool // the journal of systemd has times itself
	with  []slog.Attr
}

// newLogger returns what writes in a form, text or json, what is at least of a level, and
// what writes the rest at the end.
func newLogger(err io.Writer, form, level string) (log *slog.Logger, stop func()) {
	var least slog.Level
	_ = least.UnmarshalText([]byte(level)) // it is one of four
	to := newQueue(err)
	if form == "json" {
		return slog.New(slog.NewJSONHandler(to, &slog.HandlerOptions{Level: least})).With("program", program), to.stop
	}
	return slog.New(&lines{mutex: new(sync.Mutex), to: to, level: least, timed: os.Getenv("JOURNAL_STREAM") == ""}), to.stop
}

// Enabled implements slog.Handler.
func (l *lines) Enabled(_ context.Context, level slog.Level) bool { return level >= l.level }

// WithGroup implements slog.Handler.
func (l *lines) WithGroup(string) slog.Handler { return l }

// WithAttrs implements slog.Handler.
func (l *lines) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *l
	with.with = append(l.with[:len(l.with):len(l.with)], attrs...)
	return &with
}

// Handle implements slog.Handler.
func (l *lines) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	if l.timed {
		b.WriteString(r.Time.UTC().Format(time.RFC3339) + " ")
	}
	b.WriteString(program + ": ")
	if r.Level >= slog.LevelWarn {
		b.WriteString(strings.ToLower(r.Level.String()) + ": ")
	}
	b.WriteString(r.Message)
	add := func(a slog.Attr) bool {
		value := fmt.Sprint(a.Value.Any())
		if strings.Contains(value, " ") {
			value = fmt.Sprintf("%q", value)
		}
		fmt.Fprintf(&b, " %s=%s", a.Key, value)
		return true
	}
	for _, a := range l.with {
		add(a)
	}
	r.Attrs(add)
	line := bytes.NewBufferString(sanitize.Line(b.String()) + "\n")
	l.mutex.Lock()
	defer l.mutex.Unlock()
	_, err := line.WriteTo(l.to)
	return err
}
