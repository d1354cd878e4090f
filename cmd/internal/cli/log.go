// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"tagbus/cmd/internal/options"
	"tagbus/internal/stream"
)

// Log are the flags about what a command says on standard error. The zero value is the
// default.
type Log struct {
	LogFormat LogFormat `placeholder:"FORMAT" help:"Form of what is said on standard error: text; json (an object a line); or journal (a syslog priority before each line, which systemd reads, and no time). Default: journal if JOURNAL_STREAM names standard error, else text, on a terminal in colour unless NO_COLOR is set."`
	LogLevel  LogLevel  `default:"info" placeholder:"LEVEL" help:"Say what is as important as this, or more: debug, info, warn or error. The summary is always said. Default ${default}."`
	Quiet     bool      `short:"q" help:"Say nothing on standard error but errors and the summary: as --log-level error."`
}

// LogFormat is a form of lines. The zero value chooses by where they go.
type LogFormat string

// The forms.
const (
	LogText    LogFormat = "text"    // for people: the time first, on a terminal that of the day
	LogJSON    LogFormat = "json"    // an object a line
	LogJournal LogFormat = "journal" // for the journal of systemd, which adds time and program
)

// UnmarshalText reads text, json or journal.
func (f *LogFormat) UnmarshalText(text []byte) error {
	switch LogFormat(text) {
	case LogText, LogJSON, LogJournal:
		*f = LogFormat(text)
		return nil
	}
	return fmt.Errorf("got %q, want text, json or journal", text)
}

// LogLevel is the least level that is said. The zero value is info.
type LogLevel = options.LogLevel

// level returns the least level that is said.
func (l Log) level() slog.Level {
	if l.Quiet {
		return slog.LevelError
	}
	return slog.Level(l.LogLevel)
}

// format returns the form of lines to out.
func (l Log) format(out io.Writer) LogFormat {
	switch {
	case l.LogFormat != "":
		return l.LogFormat
	case isJournal(out):
		return LogJournal
	default:
		return LogText
	}
}

// handler returns what writes the records of a program to a writer, as they would be
// written to out.
func (l Log) handler(program string, out, to io.Writer) slog.Handler {
	switch format := l.format(out); {
	case format == LogJSON:
		// The console has looked at the levels.
		h := slog.NewJSONHandler(safeJSON{to}, &slog.HandlerOptions{Level: slog.LevelDebug})
		return h.WithAttrs([]slog.Attr{slog.String("program", program)})
	case format == LogJournal:
		return newLines(to, true, journalStyle)
	case IsTerminal(out):
		return newLines(to, false, terminalStyle(program, mayColour()))
	default:
		return newLines(to, false, fileStyle(program))
	}
}

// IsTerminal reports whether a person sees what is written to a stream, or types what is
// read from it. Threads: any.
func IsTerminal(s any) bool { return stream.IsTerminal(s) }

// isJournal reports whether out is what JOURNAL_STREAM names, as DEVICE:INODE: a
// service of systemd that redirects standard error inherits the variable too.
func isJournal(out io.Writer) bool {
	f, ok := out.(*os.File)
	name := os.Getenv("JOURNAL_STREAM")
	if !ok || name == "" {
		return false
	}
	info, err := f.Stat()
	if err != nil {
		return false
	}
	return name == fileName(info)
}

// mayColour reports whether a terminal may be sent colours (no-color.org).
func mayColour() bool { return os.Getenv("NO_COLOR") == "" && !isDumb() }

// isDumb reports whether a terminal shows sequences instead of following them.
func isDumb() bool { return os.Getenv("TERM") == "dumb" }

// safeJSON writes lines of JSON, safe to show.
type safeJSON struct{ to io.Writer }

// Write writes one line.
func (s safeJSON) Write(line []byte) (int, error) {
	if _, err := s.to.Write([]byte(printableJSON(strings.TrimSuffix(string(line), "\n")) + "\n")); err != nil {
		return 0, err
	}
	return len(line), nil
}
