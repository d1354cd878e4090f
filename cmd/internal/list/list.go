// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package list is the command tagbus ls, which lists the instances of a bus.
package list

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/state"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/overview"
	"tagbus/cmd/internal/tool"
	"tagbus/cmd/internal/units"
	"tagbus/internal/sanitize"
	"tagbus/tags"
)

// Command is the command line of ls.
type Command struct {
	Tags    tags.Set   `arg:"" optional:"" help:"Only those that have one of these tags."`
	Role    string     `placeholder:"ROLE" help:"Only those of a role: publisher, receiver, subscriber or sender, or all of these. Default: publishers and receivers."`
	Name    string     `placeholder:"GLOB" help:"Only those with such a name, for example 'felix-*'."`
	Host    string     `placeholder:"GLOB" help:"Only those on such a host."`
	Sort    string     `default:"name" placeholder:"KEY" help:"Order: name, since (the newest first), or rate, bytes, lost (the most first; they imply -v). Default ${default}."`
	Head    int        `placeholder:"N" help:"Only the first N."`
	Verbose bool       `short:"v" help:"Ask each for its subscribers (or senders), rates and losses. Rates take two looks, a second apart."`
	Watch   tool.Watch `placeholder:"[TIME]" help:"Look again and again, each TIME. Default 2s."`
}

// Check reports what is wrong with the flags.
func (c *Command) Check() error {
	var errs []error
	if c.Role != "" && !slices.Contains(roles, c.Role) {
		errs = append(errs, fmt.Errorf("--role: got %q, want %s or all", c.Role, strings.Join(roles[:len(roles)-1], ", ")))
	}
	for _, glob := range []struct{ flag, pattern string }{{"--name", c.Name}, {"--host", c.Host}} {
		if _, err := path.Match(glob.pattern, ""); err != nil {
			errs = append(errs, fmt.Errorf("%s: got %q, want a name with * and ?, each [ with its ]", glob.flag, glob.pattern))
		}
	}
	if orders[c.Sort] == nil {
		errs = append(errs, fmt.Errorf("--sort: got %q, want name, rate, bytes, lost or since", c.Sort))
	}
	return errors.Join(append(errs, tool.CheckHead(c.Head))...)
}

// anyRole is the value of --role for all of them.
const anyRole = "all"

// roles are the values of --role.
var roles = []string{string(state.Publisher), string(state.Receiver), string(state.Subscriber), string(state.Sender), anyRole}

// clients reports whether clients are listed.
func (c *Command) clients() bool {
	return c.Role == anyRole || c.Role == string(state.Subscriber) || c.Role == string(state.Sender)
}

// verbose reports whether the processes are asked.
func (c *Command) verbose() bool {
	return c.Verbose || c.Sort == "rate" || c.Sort == "bytes" || c.Sort == "lost"
}

// Run runs the command.
func (c *Command) Run(ctx context.Context, e *tool.Env) error {
	directory, watcher := e.Directory, e.Watcher
	if c.clients() {
		directory, watcher = e.Everyone, e.WatcherOfAll
	}
	d, err := directory()
	if err != nil {
		return err
	}
	l := &lister{Command: c, env: e}
	look := func() overview.Overview {
		o := entriesOf(d)
		if c.Watch == 0 || len(o.Rows) == 0 {
			l.old = l.findDead(ctx, &o)
		}
		return o
	}
	if c.verbose() {
		w, err := watcher()
		if err != nil {
			return err
		}
		look = func() overview.Overview { return l.ask(ctx, w) }
	}
	return e.Repeat(ctx, c.Watch, func(ctx context.Context, out io.Writer) error {
		o := look()
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		return l.show(out, o)
	})
}

// lister is one run of the command.
type lister struct {
	*Command
	env *tool.Env
	old []overview.Dead // are listed, and not renewed
}

// findDead adds the programs that have gone without a word, and returns the entries that are listed all the
// same and not renewed.
func (l *lister) findDead(ctx context.Context, o *overview.Overview) []overview.Dead {
	listed, entries := make(map[string]bool), make([]directory.Entry, 0, len(o.Rows))
	for i := range o.Rows {
		listed[o.Rows[i].Entry.Instance] = true
		entries = append(entries, o.Rows[i].Entry)
	}
	o.Dead = slices.DeleteFunc(l.env.Dead(), func(d overview.Dead) bool { return listed[d.Entry.Instance] })
	return l.env.Unrenewed(ctx, entries)
}

// ask looks at the bus and asks the processes.
func (l *lister) ask(ctx context.Context, w *overview.Watcher) overview.Overview {
	if !l.clients() {
		return w.Rated(ctx, l.keep, state.Question{}, l.env.Timeout)
	}
	// Publishers tell of the clients that say nothing of themselves.
	asked := func(e *directory.Entry) bool { return !e.Role.IsClient() || l.keep(e) }
	o := w.Rated(ctx, asked, state.Question{Peers: state.MaxPeers}, l.env.Timeout)
	o.Clients()
	o.Unconnected()
	return o
}

// entriesOf returns what a directory lists.
func entriesOf(d directory.Directory) overview.Overview {
	entries, err := d.List()
	o := overview.Overview{Time: time.Now(), Problem: err}
	for _, e := range entries {
		o.Rows = append(o.Rows, overview.Row{Entry: e})
	}
	return o
}

// keep reports whether an entry is wanted.
func (l *lister) keep(e *directory.Entry) bool {
	matches := func(pattern, text string) bool {
		ok, _ := path.Match(pattern, text) // Check has seen the pattern
		return pattern == "" || ok
	}
	return (l.Role == "" || l.Role == anyRole || l.Role == string(overview.RoleOf(e))) && matches(l.Name, e.Name) && matches(l.Host, e.Host) &&
		(l.Tags.IsEmpty() || l.Tags.Intersects(e.Tags))
}

// show writes a look.
//
// Errors: those of out and of the directory; those of tool.Denied.
func (l *lister) show(out io.Writer, o overview.Overview) error {
	notes := l.env.Err
	if l.Watch > 0 && !l.env.JSON {
		notes = out
	}
	all := len(o.Rows)
	rows := l.rows(o)
	if o.Problem != nil && all == 0 {
		err := l.env.Problem(o.Problem)
		if l.Watch == 0 {
			return err
		}
		fmt.Fprintf(notes, "%s\n", cli.Text(err))
		return nil
	}
	shown := tool.First(rows, l.Head)
	if err := l.write(out, o.Time, shown); err != nil {
		return err
	}
	l.notes(notes, o, rows, len(shown), all)
	if l.Watch > 0 {
		return nil
	}
	return tool.Denied(o)
}

// oldLines says which entries that are listed are not renewed, a line for each of the first few.
func (l *lister) oldLines() (lines []string) {
	more := 0
	for i := range l.old {
		d := &l.old[i]
		switch {
		case !l.keep(&d.Entry):
		case len(lines) == maxReasons:
			more++
		default:
			lines = append(lines, fmt.Sprintf("%s on %s: its entry was not renewed since %s: it has gone, is stopped, or cannot write: tagbus ls -v asks it",
				sanitize.Text(overview.Label(d.Entry.Name, d.Entry.Instance)), sanitize.Text(cmp.Or(d.Entry.Host, "an unknown host")), units.FormatTime(d.Since)))
		}
	}
	if more > 0 {
		lines = append(lines, fmt.Sprintf("%d more entries were not renewed", more))
	}
	return lines
}
