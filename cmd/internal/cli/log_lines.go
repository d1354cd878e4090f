// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"

	"tagbus/internal/sanitize"
)

// lines is a slog.Handler that writes each record as a line for people, safe to show.
//
// Fields that the text says already (said) are left out, unless all of them are asked
// for.
//
// Threads: Handle one at a time, the other methods any.
type lines struct {
	to     io.Writer
	all    bool
	style  lineStyle
	fields slog.Handler // writes the fields of a record to buffer
	buffer *bytes.Buffer
}

// lineStyle returns what stands before and after the text of a record.
type lineStyle func(r *slog.Record) (before, after string)

func newLines(to io.Writer, all bool, style lineStyle) *lines {
	buffer := new(bytes.Buffer)
	fields := slog.NewTextHandler(buffer, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && (a.Key == slog.LevelKey || a.Key == slog.MessageKey) {
			return slog.Attr{} // the style has one, the line the other
		}
		if isNested(a) {
			return slog.Attr{} // what has lists within is for json
		}
		return a
	}})
	return &lines{to: to, all: all, style: style, fields: fields, buffer: buffer}
}

// said marks fields that the text of their record says too: a group without a name, of
// which slog writes the members as if they stood alone.
func said(fields []slog.Attr) slog.Attr { return slog.Attr{Value: slog.GroupValue(fields...)} }

func isSaid(a slog.Attr) bool { return a.Key == "" && a.Value.Kind() == slog.KindGroup }

// Enabled implements slog.Handler.
func (l *lines) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements slog.Handler.
func (l *lines) Handle(ctx context.Context, r slog.Record) error {
	var rest slog.Record // without time
	r.Attrs(func(a slog.Attr) bool {
		if l.all || !isSaid(a) {
			rest.AddAttrs(a)
		}
		return true
	})
	l.buffer.Reset()
	if err := l.fields.Handle(ctx, rest); err != nil {
		return err
	}
	text := r.Message
	if fields := bytes.TrimSuffix(l.buffer.Bytes(), []byte("\n")); len(fields) > 0 {
		text += " " + string(fields)
	}
	before, after := l.style(&r)
	_, err := l.to.Write([]byte(before + sanitize.Line(text) + after + "\n"))
	return err
}

// WithAttrs implements slog.Handler.
func (l *lines) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *l
	with.fields = l.fields.WithAttrs(attrs)
	return &with
}

// WithGroup implements slog.Handler.
func (l *lines) WithGroup(name string) slog.Handler {
	with := *l
	with.fields = l.fields.WithGroup(name)
	return &with
}

// fileStyle begins a line with time and level, which stay in the same place for tools.
func fileStyle(program string) lineStyle {
	return func(r *slog.Record) (before, after string) {
		return fmt.Sprintf("%s %v %s: ", r.Time.Format("2006-01-02T15:04:05.000Z07:00"), r.Level, program), ""
	}
}

// terminalStyle begins a line with the time of day, and names the level only where a
// person has to look.
func terminalStyle(program string, colour bool) lineStyle {
	const yellow, red, normal = "\x1b[33m", "\x1b[31m", "\x1b[0m"
	return func(r *slog.Record) (before, after string) {
		word, on := "", ""
		switch {
		case r.Level >= slog.LevelError:
			word, on = "error: ", red
		case r.Level >= slog.LevelWarn:
			word, on = "warning: ", yellow
		case r.Level < slog.LevelInfo:
			word = "debug: "
		}
		if colour && on != "" {
			word, after = on+word, normal
		}
		return r.Time.Format("15:04:05 ") + program + ": " + word, after
	}
}

// journalStyle begins a line with the priority of its level, as sd-daemon(3) says.
func journalStyle(r *slog.Record) (before, after string) {
	const failed, warning, information, debug = 3, 4, 6, 7
	priority := debug
	switch {
	case r.Level >= slog.LevelError:
		priority = failed
	case r.Level >= slog.LevelWarn:
		priority = warning
	case r.Level >= slog.LevelInfo:
		priority = information
	}
	return fmt.Sprintf("<%d>", priority), ""
}
