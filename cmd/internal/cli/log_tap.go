// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"log/slog"

	"tagbus/internal/sanitize"
)

// Logger returns a logger whose records become lines. It never blocks: event loops log.
func (c *Console) Logger() *slog.Logger { return slog.New(tap{c, c.handler}) }

// tap is a slog.Handler that queues records for another one.
type tap struct {
	console *Console
	to      slog.Handler
}

// Enabled implements slog.Handler.
func (t tap) Enabled(_ context.Context, level slog.Level) bool { return t.console.enabled(level) }

// Handle implements slog.Handler. A value becomes text now: what it refers to may change.
func (t tap) Handle(_ context.Context, r slog.Record) error {
	fixed := slog.NewRecord(r.Time, r.Level, sanitize.Line(r.Message), 0)
	r.Attrs(func(a slog.Attr) bool {
		if a.Value = a.Value.Resolve(); a.Value.Kind() == slog.KindAny {
			a.Value = slog.StringValue(fmt.Sprint(a.Value.Any()))
		}
		fixed.AddAttrs(a)
		return true
	})
	t.console.try(queued{t.to, fixed})
	return nil
}

// WithAttrs implements slog.Handler.
func (t tap) WithAttrs(attrs []slog.Attr) slog.Handler { return tap{t.console, t.to.WithAttrs(attrs)} }

// WithGroup implements slog.Handler.
func (t tap) WithGroup(name string) slog.Handler { return tap{t.console, t.to.WithGroup(name)} }
