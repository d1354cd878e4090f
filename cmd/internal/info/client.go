// SPDX-License-Identifier: Apache-2.0

//go:build linux

package info

import (
	"context"
	"fmt"
	"io"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/state"
	"tagbus/cmd/internal/table"
	"tagbus/internal/sanitize"
)

// clientObject is a client that is connected to nothing and says nothing of itself, as JSON has
// it.
type clientObject struct {
	candidate
	Backend   string    `json:"backend"`
	Tags      string    `json:"tags"`
	Since     time.Time `json:"since,omitzero"`
	Connected int       `json:"connected_peers"`
}

// client writes what is known of a client that is listed: by what it is connected to, or else
// by what it says of itself, or by its entry alone.
func (l *looker) client(ctx context.Context, out io.Writer, e *directory.Entry) error {
	keep := func(other *directory.Entry) bool { return tells(other) || other.Instance == e.Instance }
	o := l.watcher.Rated(ctx, keep, question, l.env.Timeout)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if links := linksTo(o, e.Instance); len(links) > 0 && !links[0].Gone {
		return l.links(out, o.Time, links, e, answerOf(o, e))
	}
	for i := range o.Rows {
		switch r := &o.Rows[i]; {
		case r.Entry.Instance != e.Instance || r.State == nil:
		case l.env.JSON:
			return table.New(out, true).Row(r.State)
		default:
			writeState(out, r, o.Time, nil)
			return nil
		}
	}
	if l.env.JSON {
		return table.New(out, true).Row(clientObject{
			candidate{roleOf(e), e.Instance, e.Name, e.Host, e.PID}, e.Backend, sanitize.Cut(e.Tags.String(), state.MaxTagsText), e.Since, 0,
		})
	}
	p := page{out}
	p.head(name(e.Name, e.Instance), roleOf(e), e.Host, e.PID)
	p.say("instance", "%s", e.Instance)
	p.clientEntry(e, o.Time)
	other := "publisher"
	if e.Role == directory.Sender {
		other = "receiver"
	}
	p.say("connected", "to no %s", other)
	return nil
}

// clientEntry writes what the directory knows of a client.
func (p page) clientEntry(e *directory.Entry, now time.Time) {
	p.say("listed", "%s", when(now, e.Since))
	if e.Monitor.IsValid() {
		p.say("monitor", "http://%v", e.Monitor)
	}
	p.say("tags", "%s", sanitize.Cut(e.Tags.String(), state.MaxTagsText))
}

// plural returns a number with what it counts.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
