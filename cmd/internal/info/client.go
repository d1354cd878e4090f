// SPDX-License-Identifier: Apache-2.0

//go:build linux

package info

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/state"
	"tagbus/cmd/internal/overview"
	"tagbus/cmd/internal/table"
	"tagbus/internal/sanitize"
)

// clientObject is a client of which only the entry is known, and what it is not connected to, as
// JSON has it.
type clientObject struct {
	candidate
	Backend   string    `json:"backend"`
	Tags      string    `json:"tags"`
	Since     time.Time `json:"since,omitzero"`
	Connected *int      `json:"connected_peers,omitempty"`  // nil: not known
	Lacking   []string  `json:"not_connected_to,omitempty"` // instances that have a tag that it wants
	Untold    []string  `json:"not_asked,omitempty"`        // of these that could not be asked
}

// client writes what is known of a client that is listed: by what it is connected to, or else
// by what it says of itself, or by its entry alone.
func (l *looker) client(ctx context.Context, out io.Writer, e *directory.Entry) error {
	keep := func(other *directory.Entry) bool { return tells(other) || other.Instance == e.Instance }
	o := l.watcher.Rated(ctx, keep, question, l.env.Timeout)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	stands := overview.NewContacts(o.Rows).Of(e)
	unasked := unaskedError(stands.Untold)
	incomplete := directory.Incomplete(o.Problem)
	if incomplete != nil && len(stands.Connected) == 0 { // what it wants may be among what is not read
		unasked = errors.Join(unasked, l.unread(o.Problem))
	}
	links := linksTo(o, e.Instance)
	if len(links) > 0 && !links[0].Gone {
		return errors.Join(l.links(out, o.Time, links, e, answerOf(o, e), &stands), unasked)
	}
	for i := range o.Rows {
		switch r := &o.Rows[i]; {
		case r.Entry.Instance != e.Instance || r.State == nil:
		case l.env.JSON:
			return table.New(out, true).Row(r.State)
		default:
			writeState(out, r, nil)
			return nil
		}
	}
	if len(links) > 0 {
		return errors.Join(l.links(out, o.Time, links, e, nil, &stands), unasked)
	}
	if l.env.JSON {
		object := clientObject{
			candidate: candidate{overview.RoleOf(e), e.Instance, e.Name, e.Host, e.PID}, Backend: e.Backend, Tags: sanitize.Cut(e.Tags.String(), state.MaxTagsText), Since: e.Since,
			Lacking: instances(stands.Lacking), Untold: instances(stands.Untold),
		}
		if unasked == nil {
			object.Connected = new(int)
		}
		return errors.Join(table.New(out, true).Row(object), unasked)
	}
	p := page{out}
	p.head(name(e.Name, e.Instance), overview.RoleOf(e), e.Host, e.PID)
	p.say("instance", "%s", e.Instance)
	p.clientEntry(e, o.Time)
	p.contact(e, &stands, incomplete == nil)
	return unasked
}

// unaskedError returns an error that names those that could not be asked; nil if there are none.
func unaskedError(rows []*overview.Row) error {
	if len(rows) == 0 {
		return nil
	}
	r := rows[0]
	text := overview.NamesOf(rows[:1]) + " could not be asked for all its peers"
	if len(rows) > 1 {
		text += fmt.Sprintf(", nor %s", plural(len(rows)-1, "other", "others"))
	}
	if r.Err == nil {
		return errors.New(text)
	}
	return fmt.Errorf("%s: %w", text, r.Err)
}

func instances(rows []*overview.Row) (all []string) {
	for _, r := range rows {
		all = append(all, r.Entry.Instance)
	}
	return all
}

// contact writes to what a client is not connected to, of what has a tag that it wants.
//
//   - whole: all entries of the directory are known.
func (p page) contact(e *directory.Entry, c *overview.Contact, whole bool) {
	other := peerWord(overview.RoleOf(e))
	switch {
	case len(c.Connected) > 0:
	case len(c.Untold) > 0:
		p.say("connected", "not known: not every %s could be asked", other)
	case len(c.Lacking) > 0 || c.Unchecked:
		p.say("connected", "to no %s", other)
	case !whole:
		p.say("connected", "not known: the directory is not read whole")
	default:
		p.say("connected", "to no %s: none here has a tag that it wants", other)
	}
	if len(c.Lacking) > 0 {
		p.say("lacks", "%s, with tags that it wants: its log, and tagbus check on its host, say why", overview.NamesOf(c.Lacking))
	}
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
