// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

const (
	// quiet is how long a line is not said again that etcd says again.
	quiet = time.Minute

	// maxLines is how many different lines are told apart. Further ones count as one.
	maxLines = 256
)

// usual are warnings of etcd about what is as it is meant to be, or what the member says
// itself, in other words.
var usual = []string{
	"Running http and grpc server on single port",
	"serving client traffic insecurely",
	"data-dir used by this member must be removed", // ErrRemoved says it
	"simple token is not cryptographically signed", // of users, which a directory need not have
	"Validation on configuration change failed",    // two members join at once: one is asked to wait
	"Failed to detect schema version",              // for a moment after the start
	"failed to update storage version",             // the same
	"waiting for ReadIndex response took too long", // before a member leads, which the member says
}

// core passes what etcd says on to a slog.Logger: warnings and worse, each line at most
// once in a while with the number of those that were left out.
//
// Threads: any.
type core struct {
	zapcore.LevelEnabler

	to     *slog.Logger
	with   []zapcore.Field
	shared *lines
}

// lines are those that were said.
type lines struct {
	sync.Mutex
	said    map[string]*line
	removed bool // the member is none any more
	ends    bool // Close was called: only what ends the process matters
	fatal   func(error)
}

// line is one that etcd says.
type line struct {
	at      time.Time // it was said
	omitted int       // since then
}

// exit ends the process. Tests replace it.
var exit = os.Exit

// newCore returns a core. fatal is called before the process ends because of a line.
func newCore(to *slog.Logger, fatal func(error)) *core {
	return &core{LevelEnabler: zapcore.WarnLevel, to: to, shared: &lines{said: make(map[string]*line), fatal: fatal}}
}

// logger returns what etcd is given.
func (c *core) logger() *zap.Logger { return zap.New(c, zap.WithPanicHook(ending{})) }

// ending is what becomes of the process when etcd panics in a line. It does so for errors of its own,
// whose stacks are wanted, and for those of the disk, of which Write has said what is to be done.
type ending struct{}

// OnWrite implements zapcore.CheckWriteHook.
func (ending) OnWrite(entry *zapcore.CheckedEntry, fields []zapcore.Field) {
	if ofSystem(fields) {
		exit(1)
	}
	panic(entry.Message)
}

// ofSystem reports whether one of the fields is an error of the system, as those of a disk are.
func ofSystem(fields []zapcore.Field) bool {
	return slices.ContainsFunc(fields, func(f zapcore.Field) bool {
		err, ok := f.Interface.(error)
		return ok && f.Type == zapcore.ErrorType && errors.As(err, new(syscall.Errno))
	})
}

// end makes the rest not be said: etcd complains of what Close does to it.
func (c *core) end() {
	c.shared.Lock()
	defer c.shared.Unlock()
	c.shared.ends = true
}

// wasRemoved reports whether etcd has said that the member was removed.
func (c *core) wasRemoved() bool {
	c.shared.Lock()
	defer c.shared.Unlock()
	return c.shared.removed
}

// With implements zapcore.Core.
func (c *core) With(fields []zapcore.Field) zapcore.Core {
	with := *c
	with.with = append(c.with[:len(c.with):len(c.with)], fields...)
	return &with
}

// Check implements zapcore.Core.
func (c *core) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(entry.Level) {
		return checked.AddCore(entry, c)
	}
	return checked
}

// Sync implements zapcore.Core.
func (c *core) Sync() error { return nil }

// Write implements zapcore.Core.
func (c *core) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	fields = append(c.with[:len(c.with):len(c.with)], fields...)
	attrs, cause := attributes(fields)
	if strings.Contains(cause, "permanently removed") {
		c.shared.Lock()
		c.shared.removed = true
		c.shared.Unlock()
	}
	switch {
	case entry.Level == zapcore.FatalLevel, entry.Level == zapcore.PanicLevel && ofSystem(fields): // the process exits when this returns
		c.shared.fatal(fatalError(entry.Message, cause))
	case slices.ContainsFunc(usual, func(s string) bool { return strings.Contains(entry.Message, s) }):
	case entry.Level >= zapcore.DPanicLevel:
		c.to.Error("etcd: "+entry.Message, attrs...)
	default:
		omitted, say := c.shared.pass(entry.Message, entry.Time)
		if !say {
			return nil
		}
		if omitted > 0 {
			attrs = append(attrs, slog.Int("omitted", omitted))
		}
		level := slog.LevelWarn
		if entry.Level >= zapcore.ErrorLevel {
			level = slog.LevelError
		}
		c.to.Log(context.Background(), level, "etcd: "+entry.Message, attrs...)
	}
	return nil
}

// pass reports whether a line is to be said, and how often it was not since it was.
func (l *lines) pass(message string, now time.Time) (omitted int, say bool) {
	l.Lock()
	defer l.Unlock()
	if l.ends {
		return 0, false
	}
	one := l.said[message]
	if one == nil {
		if len(l.said) >= maxLines {
			message = ""
		}
		if one = l.said[message]; one == nil {
			one = &line{at: now.Add(-quiet)}
			l.said[message] = one
		}
	}
	if now.Sub(one.at) < quiet {
		one.omitted++
		return 0, false
	}
	omitted, one.at, one.omitted = one.omitted, now, 0
	return omitted, true
}

// attributes returns fields for slog, and the error among them as text.
func attributes(fields []zapcore.Field) (attrs []any, cause string) {
	values := zapcore.NewMapObjectEncoder()
	for _, field := range fields {
		field.AddTo(values)
		if err, ok := field.Interface.(error); ok && field.Type == zapcore.ErrorType {
			cause = err.Error()
		}
	}
	names := make([]string, 0, len(values.Fields))
	for name := range values.Fields {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		attrs = append(attrs, slog.Any(name, values.Fields[name]))
	}
	return attrs, cause
}

// fatalError says with what etcd cannot go on.
func fatalError(message, cause string) error {
	hint := "check the disk of the folder of data; if it is damaged, remove the member from the directory, clear the folder, and join again"
	switch {
	case strings.Contains(message, "file descriptor limit"), strings.Contains(cause, "too many open files"):
		hint = "the member needs more than 150 open files, and one for each connection: raise their limit (ulimit -n, LimitNOFILE= of systemd), and start the member again"
	case strings.Contains(cause, "cannot allocate memory"):
		hint = "the member needs more memory or address space: raise the limit (ulimit -v, LimitAS= and MemoryMax= of systemd), and start the member again"
	case strings.Contains(cause, "no space left on device"), strings.Contains(cause, "disk quota exceeded"):
		hint = "the disk is full: free space on the disk of the folder of data, and start the member again"
	case strings.Contains(cause, "file too large"):
		hint = "the member needs larger files: raise the limit of their size (ulimit -f, LimitFSIZE= of systemd), and start the member again"
	case strings.Contains(cause, "read-only file system"):
		hint = "the file system of the folder of data has become read-only: check the disk, and start the member again"
	}
	text := "member: etcd cannot go on: " + message
	if cause != "" {
		text += ": " + cause
	}
	return errors.New(text + ": " + hint)
}

// describe returns members as a list for an error.
func describe(names []string) string {
	switch len(names) {
	case 0:
		return "no member"
	case 1:
		return names[0]
	default:
		return fmt.Sprintf("%s and %s", strings.Join(names[:len(names)-1], ", "), names[len(names)-1])
	}
}
