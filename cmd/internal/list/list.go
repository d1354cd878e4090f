// SPDX-License-Identifier: Apache-2.0

// Package list is the command tagbus ls: who is there?
package list

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/state"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/overview"
	"tagbus/cmd/internal/tool"
	"tagbus/tags"
)

// Command is the command line of ls.
type Command struct {
	Tags    tags.Set   `arg:"" optional:"" help:"Only those that have one of these tags."`
	Role    string     `placeholder:"ROLE" help:"Only those of a role: publisher or receiver."`
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
	if c.Role != "" && c.Role != string(state.Publisher) && c.Role != string(state.Receiver) {
		errs = append(errs, fmt.Errorf("--role: got %q, want publisher or receiver; subscribers and senders are not in the directory: tagbus info NAME of a publisher shows them", c.Role))
	}
	for _, glob := range []struct{ flag, pattern string }{{"--name", c.Name}, {"--host", c.Host}} {
		if _, err := path.Match(glob.pattern, ""); err != nil {
			errs = append(errs, fmt.Errorf("%s: got %q, want a name with * and ?, each [ with its ]", glob.flag, glob.pattern))
		}
	}
	if orders[c.Sort] == nil {
		errs = append(errs, fmt.Errorf("--sort: got %q, want name, rate, bytes, lost or since", c.Sort))
	}
	if c.Head < 0 {
		errs = append(errs, fmt.Errorf("--head: got %d, want 1 or more", c.Head))
	}
	return errors.Join(errs...)
}

// verbose reports whether the processes are asked.
func (c *Command) verbose() bool {
	return c.Verbose || c.Sort == "rate" || c.Sort == "bytes" || c.Sort == "lost"
}

// Run runs the command.
func (c *Command) Run(ctx context.Context, e *tool.Env) error {
	d, err := e.Directory()
	if err != nil {
		return err
	}
	l := &lister{Command: c, env: e}
	look := func() overview.Overview { return entriesOf(d) }
	if c.verbose() {
		w, err := e.Watcher()
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
}

// ask looks at the bus and asks the processes.
func (l *lister) ask(ctx context.Context, w *overview.Watcher) overview.Overview {
	return w.Rated(ctx, l.keep, state.Question{}, l.env.Timeout)
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
	return (l.Role == "" || l.Role == string(roleOf(e))) && matches(l.Name, e.Name) && matches(l.Host, e.Host) &&
		(l.Tags.IsEmpty() || l.Tags.Intersects(e.Tags))
}

// roleOf returns the role of an entry as states have it.
func roleOf(e *directory.Entry) state.Role {
	if e.Role == directory.Publisher {
		return state.Publisher
	}
	return state.Role(e.Role)
}

// show writes a look.
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
	shown := rows
	if l.Head > 0 && l.Head < len(rows) {
		shown = rows[:l.Head]
	}
	if err := l.write(out, o.Time, shown); err != nil {
		return err
	}
	l.notes(notes, o, rows, len(shown), all)
	return nil
}
