// SPDX-License-Identifier: Apache-2.0

// Package options reads values of flags: those that the commands and the C library have in common. It
// needs none of what serves a command, such as metrics and consoles.
package options

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"tagbus/cmd/internal/words"
	"tagbus/internal/fileflags"
)

// Read reads flags that are given as text within a program: as a command line is read, without
// help, environment and files.
//
//   - flags: a pointer to a struct as kong takes it.
//   - Errors: their text is in the words of the command line, and names the flag.
func Read(flags any, args []string) error {
	parser, err := kong.New(flags, kong.NoDefaultHelp(), kong.Name("tagbus"), kong.Exit(func(int) {}), Durations)
	if err != nil {
		return err
	}
	read, err := parser.Parse(args)
	if err == nil {
		fileflags.Name(read)
		return nil
	}
	return errors.New(strings.TrimSpace(HouseWords(Text(err))))
}

// Text returns an error as one line, safe to show, in the words of the command line. What ends
// fails for one cause at many calls: of joined errors with the same text one is shown.
func Text(err error) string {
	var lines []string
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return words.Of(strings.Join(lines, "\n"))
}

// CheckEntries says what is wrong with --max-entries; 0 is the default.
func CheckEntries(n int) error {
	if n < 0 || n > maxEntries {
		return fmt.Errorf("--max-entries: got %d, want 1 to %d", n, maxEntries)
	}
	return nil
}

const maxEntries = 1 << 20 // of file.Config.MaxFiles

// LogLevel is the least level that is said. The zero value is info.
type LogLevel slog.Level

var logLevels = map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}

// UnmarshalText reads debug, info, warn or error.
func (l *LogLevel) UnmarshalText(text []byte) error {
	level, ok := logLevels[string(text)]
	if !ok {
		return fmt.Errorf("got %q, want debug, info, warn or error", text)
	}
	*l = LogLevel(level)
	return nil
}
