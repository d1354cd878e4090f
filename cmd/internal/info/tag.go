// SPDX-License-Identifier: Apache-2.0

//go:build linux

package info

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"tagbus/bus/directory"
	"tagbus/bus/state"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/overview"
	"tagbus/cmd/internal/table"
	"tagbus/cmd/internal/tool"
	"tagbus/internal/sanitize"
	"tagbus/tags"
)

// tagObject is what one publisher or receiver knows of a tag, as JSON has it.
type tagObject struct {
	Role     state.Role `json:"role"`
	Instance string     `json:"instance"`
	Name     string     `json:"name,omitempty"`
	Host     string     `json:"host,omitempty"`
	state.Tag
	Error string `json:"error,omitempty"`
}

// tag writes what is known of a tag.
func (l *looker) tag(ctx context.Context, out io.Writer, tag tags.Tag) error {
	wanted := make(map[string]bool)
	serves := func(e *directory.Entry) bool {
		if has := e.Tags.Contains(tag); !has || !e.Role.IsClient() {
			return has
		}
		wanted[e.Instance] = true
		return false
	}
	o := l.watcher.Rated(ctx, serves, state.Question{Peers: state.MaxPeers, Tags: tags.Of(tag)}, l.env.Timeout)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if len(o.Rows) == 0 {
		text := ""
		if len(wanted) > 0 {
			text = fmt.Sprintf(", and %s it: tagbus ls %v --role all", plural(len(wanted), "client wants", "clients want"), tag)
		}
		return errors.Join(fmt.Errorf("no publisher or receiver in %s has the tag %v%s", l.env.Bus, tag, text), l.unread(o.Problem))
	}
	var err error
	if l.env.JSON {
		err = tagJSON(out, tag, o.Rows)
	} else {
		l.tagText(out, tag, o)
	}
	unread := l.unread(o.Problem)
	if unread == nil && allOf(o.Rows, func(r overview.Row) bool { return r.State == nil }) {
		unread = &tool.StatusError{Code: cli.ExitFailed} // why is in the rows
	}
	return errors.Join(err, unread)
}

func tagJSON(out io.Writer, tag tags.Tag, rows []overview.Row) error {
	t := table.New(out, true)
	for i := range rows {
		r := &rows[i]
		object := tagObject{Role: overview.RoleOf(&r.Entry), Instance: r.Entry.Instance, Name: r.Entry.Name, Host: r.Entry.Host, Tag: of(r.State, tag)}
		if r.Err != nil {
			object.Error = cli.Text(r.Err)
		}
		if err := t.Row(object); err != nil {
			return err
		}
	}
	return nil
}

// of returns what an instance knows of a tag.
func of(s *state.State, tag tags.Tag) state.Tag {
	if s != nil {
		for _, t := range s.Asked {
			if t.Tag == tag {
				return t
			}
		}
	}
	return state.Tag{Tag: tag}
}

func (l *looker) tagText(out io.Writer, tag tags.Tag, o overview.Overview) {
	p := page{out}
	fmt.Fprintf(out, "%v\n", tag)
	slices.SortFunc(o.Rows, func(a, b overview.Row) int {
		return cmp.Or(cmp.Compare(name(a.Entry.Name, a.Entry.Instance), name(b.Entry.Name, b.Entry.Instance)), cmp.Compare(a.Entry.Host, b.Entry.Host), cmp.Compare(a.Entry.Instance, b.Entry.Instance))
	})
	publishers := 0
	t := table.New(out, false, tagColumns(table.Text("SERVED BY"))...)
	var failed error
	for i := range o.Rows {
		r := &o.Rows[i]
		if overview.RoleOf(&r.Entry) == state.Publisher {
			publishers++
		}
		called := name(r.Entry.Name, r.Entry.Instance)
		if r.State == nil {
			failed = errors.Join(failed, fmt.Errorf("%s could not be asked: %w", sanitize.Text(called), r.Err))
			_ = t.Row(nil, called)
			continue
		}
		known := of(r.State, tag)
		addTag(t, called, r.State, &known)
	}
	if f := tag.Fields(); f.Version == tags.FormatVersion {
		p.say("fields", "detector %d, connector %d, link %d, e-link %d, %v, protocol %d, stream %d", f.Detector, f.Connector, f.Link, f.ELink, f.Direction, f.Protocol, f.Stream)
	}
	if publishers > 1 {
		p.say("publishers", "%d: each numbers its messages for itself, and subscribers get those of all", publishers)
	}
	p.table(t)
	if failed != nil {
		fmt.Fprintf(out, "\n%s\n", cli.Text(failed))
	}
	for i := range o.Rows {
		if s := o.Rows[i].State; s != nil {
			p.subscribers(s, tag)
		}
	}
}

// subscribers writes the peers that have subscribed to a tag, and of a receiver all: senders
// do not say which tags they send.
func (p page) subscribers(s *state.State, tag tags.Tag) {
	t := table.New(p.out, false, laneColumns(peerWord(s.Role))...)
	for i := range s.Peers {
		peer := s.Peers[i]
		if s.Sending != nil {
			peer.Lanes = slices.DeleteFunc(slices.Clone(peer.Lanes), func(l state.Lane) bool { return !slices.Contains(l.Wanted, tag) })
			if len(peer.Lanes) == 0 {
				continue
			}
		}
		addLanes(t, name(peer.Name, peer.Instance), s, &peer)
	}
	if t.Len() == 0 {
		return
	}
	fmt.Fprintln(p.out)
	called := sanitize.Text(name(s.Name, s.Instance))
	if s.Sending == nil {
		fmt.Fprintf(p.out, "Senders to %s, of whatever tag:\n", called)
	} else {
		fmt.Fprintf(p.out, "Subscribers of it at %s:\n", called)
	}
	_ = t.Flush()
}
