// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package info is the command tagbus info, which shows what is known of one publisher, receiver,
// subscriber or sender, or of one tag.
package info

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/state"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/overview"
	"tagbus/cmd/internal/table"
	"tagbus/cmd/internal/tool"
	"tagbus/cmd/internal/units"
	"tagbus/internal/sanitize"
	"tagbus/tags"
)

// Command is the command line of info.
type Command struct {
	Of    string     `arg:"" name:"what" help:"Name or instance of a publisher, receiver, subscriber or sender, or a tag."`
	Watch tool.Watch `placeholder:"[TIME]" help:"Look again and again, each TIME. Default 2s."`
}

// Check reports what is wrong with the flags.
func (c *Command) Check() error {
	if c.Of == "" {
		return errors.New("got no name: want a name, an instance or a tag")
	}
	return nil
}

// Run runs the command.
func (c *Command) Run(ctx context.Context, e *tool.Env) error {
	d, err := e.Everyone()
	if err != nil {
		return err
	}
	w, err := e.WatcherOfAll()
	if err != nil {
		return err
	}
	look := &looker{of: c.Of, env: e, dir: d, watcher: w}
	return e.Repeat(ctx, c.Watch, look.look)
}

// looker is one run of the command.
type looker struct {
	of      string
	env     *tool.Env
	dir     directory.Directory
	watcher *overview.Watcher
}

// question is what is asked of one process that is looked at.
var question = state.Question{Peers: state.MaxPeers, Busiest: 20}

// look finds what is meant and writes it.
func (l *looker) look(ctx context.Context, out io.Writer) error {
	entries, err := l.dir.List()
	if err != nil && len(entries) == 0 {
		return l.env.Problem(err)
	}
	found := called(entries, l.of)
	switch tag, tagErr := tags.Parse(l.of); {
	case len(found) == 1 && found[0].Role.IsClient():
		return l.client(ctx, out, &found[0])
	case len(found) == 1:
		return l.instance(ctx, out, found[0].Instance)
	case len(found) > 1:
		return l.ambiguous(out, found)
	case tagErr == nil:
		return l.tag(ctx, out, tag)
	default:
		return l.peer(ctx, out, entries)
	}
}

// unread returns an error if the directory may have more than it shows, which may be what is looked for, or of the same name.
func (l *looker) unread(problem error) error {
	if incomplete := directory.Incomplete(problem); incomplete != nil {
		return fmt.Errorf("the directory is not read whole: %w", l.env.Problem(incomplete))
	}
	return nil
}

// called returns the entries of an instance or a name.
func called(entries []directory.Entry, name string) (found []directory.Entry) {
	for _, e := range entries {
		if e.Instance == name {
			return []directory.Entry{e}
		}
		if e.Name == name {
			found = append(found, e)
		}
	}
	if isClient := func(e directory.Entry) bool { return e.Role.IsClient() }; !allOf(found, isClient) {
		found = slices.DeleteFunc(found, isClient) // a publisher has its name from those that look for it
	}
	return found
}

func allOf[T any](all []T, is func(T) bool) bool {
	return !slices.ContainsFunc(all, func(x T) bool { return !is(x) })
}

// candidate is one of several that are called alike.
type candidate struct {
	Role     state.Role `json:"role"`
	Instance string     `json:"instance"`
	Name     string     `json:"name"`
	Host     string     `json:"host,omitempty"`
	PID      int        `json:"pid"`
}

// ambiguous lists the entries that a name may mean.
//
//   - Errors: *tool.StatusError, and those of the writer.
func (l *looker) ambiguous(out io.Writer, found []directory.Entry) error {
	var all []candidate
	for i := range found {
		e := &found[i]
		all = append(all, candidate{overview.RoleOf(e), e.Instance, e.Name, e.Host, e.PID})
	}
	return l.choose(out, all)
}

func (l *looker) choose(out io.Writer, all []candidate) error {
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Host, b.Host), cmp.Compare(a.PID, b.PID), cmp.Compare(a.Instance, b.Instance))
	})
	fmt.Fprintf(l.env.Err, "%d are called %s: name one of them by its instance\n", len(all), sanitize.Text(l.of))
	t := table.New(out, l.env.JSON, table.Text("INSTANCE"), table.Text("ROLE"), table.Text("HOST"), table.Number("PID"))
	for _, c := range all {
		if err := t.Row(c, c.Instance, string(c.Role), c.Host, units.FormatKnown(c.PID)); err != nil {
			return err
		}
	}
	return errors.Join(t.Flush(), &tool.StatusError{Code: cli.ExitUsage})
}

// instance writes what is known of an instance that is listed.
func (l *looker) instance(ctx context.Context, out io.Writer, instance string) error {
	o := l.watcher.Rated(ctx, func(e *directory.Entry) bool { return e.Instance == instance }, question, l.env.Timeout)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if len(o.Rows) == 0 {
		return fmt.Errorf("%s has just left the bus", sanitize.Text(l.of))
	}
	r := &o.Rows[0]
	if r.State == nil {
		return l.silent(out, r, o.Time)
	}
	var unread error
	if l.of != instance {
		unread = l.unread(o.Problem)
	}
	if l.env.JSON {
		return errors.Join(table.New(out, true).Row(r.State), unread)
	}
	writeState(out, r, l.telling(ctx, o.Rows))
	return unread
}

// silent writes what the directory knows of an instance that has not answered.
func (l *looker) silent(out io.Writer, r *overview.Row, now time.Time) error {
	if !l.env.JSON {
		writeEntry(out, &r.Entry, now)
		return fmt.Errorf("%s could not be asked: %w", sanitize.Text(l.of), r.Err)
	}
	err := table.New(out, true).Row(struct {
		candidate
		Error string `json:"error"`
	}{candidate{overview.RoleOf(&r.Entry), r.Entry.Instance, r.Entry.Name, r.Entry.Host, r.Entry.PID}, cli.Text(r.Err)})
	return errors.Join(err, &tool.StatusError{Code: cli.ExitFailed})
}

// peer writes what publishers and receivers know of one that is not listed: a subscriber or
// a sender.
func (l *looker) peer(ctx context.Context, out io.Writer, entries []directory.Entry) error {
	o := l.watcher.Rated(ctx, tells, state.Question{Peers: state.MaxPeers}, l.env.Timeout)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	links := linksTo(o, l.of)
	if instances := distinct(links); len(instances) > 1 {
		return l.choose(out, instances)
	}
	if len(links) == 0 {
		return errors.Join(l.nothing(entries, o), l.unread(o.Problem))
	}
	return errors.Join(l.links(out, o.Time, links, nil, nil, nil), l.unread(o.Problem))
}

// tells reports whether an entry is of one that tells of its peers.
func tells(e *directory.Entry) bool { return !e.Role.IsClient() }

// nothing returns an error for what nothing is called, with what is called like it.
func (l *looker) nothing(entries []directory.Entry, o overview.Overview) error {
	var names []string
	add := func(all ...string) {
		for _, name := range all {
			if name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	for _, e := range entries {
		add(e.Name, e.Instance)
	}
	unknown := 0
	for _, r := range o.Rows {
		if r.State == nil {
			unknown++
			continue
		}
		for _, p := range slices.Concat(r.State.Peers, r.State.Gone) {
			add(p.Name, p.Instance)
		}
	}
	const most = 3
	near := cli.Nearest(l.of, names)
	for i := range near {
		near[i] = sanitize.Text(near[i])
	}
	text := "nothing in " + l.env.Bus + " is called " + sanitize.Text(l.of)
	gone := tool.DeadLines(o, func(e *directory.Entry) bool { return e.Instance == l.of || e.Name == l.of })
	switch {
	case len(gone) > 0:
		return errors.New(sanitize.Text(l.of) + " is not there any more: " + strings.Join(gone, "; "))
	case len(near) > 0:
		text += ": did you mean " + strings.Join(near[:min(most, len(near))], " or ") + "?"
	case len(entries) == 0 && len(o.Dead) > 0:
		text += ": it has no program that lives. " + strings.Join(tool.DeadLines(o, nil), "; ")
	case len(entries) == 0:
		text += ": it is empty. Start a publisher, or a receiver, with the same --bus"
	default:
		text += ", and it is no tag: tagbus ls --role all lists what there is"
	}
	if unknown > 0 {
		text += fmt.Sprintf(" (%d of %d could not be asked for theirs)", unknown, len(o.Rows))
	}
	return errors.New(text)
}

// name returns what people call an instance.
func name(name, instance string) string { return cmp.Or(name, instance) }
