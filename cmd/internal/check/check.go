// SPDX-License-Identifier: Apache-2.0

// Package check is the command tagbus check, which says what is wrong with a bus as this host
// sees it.
//
// Looking (looker) is apart from judging: what was seen is a value, and each group of checks
// is a function from it to findings, in a file of its own. A further group, for example of
// certificates, is a field of seen and a function in judges.
package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/directory/file"
	"tagbus/bus/state"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/options"
	"tagbus/cmd/internal/overview"
	"tagbus/cmd/internal/tool"
	"tagbus/internal/build"
)

// Command is tagbus check, with its flags.
type Command struct {
	Expiry  *time.Duration `placeholder:"TIME" help:"How long a program in the directory may give no sign of life, as the programs of the bus have it. Default 5s in a folder, 30s elsewhere."`
	Verbose bool           `short:"v" help:"Show each finding by itself, and what is all right."`
	Quiet   bool           `help:"With --verbose: leave out what is all right."`
	Nagios  bool           `help:"Print the summary first, as plugins of monitoring systems do."`
	Watch   tool.Watch     `placeholder:"[TIME]" help:"Look again and again, and print what has changed."`
}

// Check reports what is wrong with the flags.
func (c *Command) Check() error {
	if d := c.Expiry; d != nil && *d <= 0 {
		return fmt.Errorf("--expiry: got %v, want more than 0", *d)
	}
	if c.Nagios && c.Watch != 0 {
		return errors.New("--nagios is for one look: leave --watch out")
	}
	return nil
}

// Run looks at the bus and prints what it finds.
//
// Errors: *tool.StatusError with 1 for warnings and 2 for errors; those of writing.
func (c *Command) Run(ctx context.Context, e *tool.Env) error {
	if c.Nagios && e.JSON {
		return &cli.UsageError{Err: errors.New("--nagios is text: leave --json out")}
	}
	l, err := c.looker(e)
	if err != nil {
		return err
	}
	s := l.look(ctx)
	all := judge(s)
	if err := c.write(e.Out, e.JSON, s, all); err != nil {
		return err
	}
	if c.Watch != 0 {
		return c.watch(ctx, e, l, all)
	}
	return statusOf(all)
}

// watch looks again and again until ctx ends, and prints what has changed. The status is
// that of the last whole look.
func (c *Command) watch(ctx context.Context, e *tool.Env, l *looker, before []Finding) error {
	tick := time.NewTicker(c.Watch.Every())
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return statusOf(before)
		case <-tick.C:
		}
		s := l.look(ctx)
		if s.ended != nil {
			return statusOf(before)
		}
		now := judge(s)
		was, is := before, now
		if !c.Verbose && !e.JSON {
			was, is = grouped(before), grouped(now)
		}
		if err := writeChanges(e.Out, e.JSON, changes(time.Now(), was, is), summary(s, now)); err != nil {
			return err
		}
		before = now
	}
}

// statusOf returns nil if nothing is worse than a note.
func statusOf(all []Finding) error { return tool.Status(statusFor(worst(all))) }

// Defaults of --expiry.
const (
	folderExpiry = 5 * time.Second // file.Config.Expiry
	otherExpiry  = 30 * time.Second
)

// looker returns one that looks at the bus of a command line.
//
// Errors: for a directory that is no folder, those of Env.Directory.
func (c *Command) looker(e *tool.Env) (*looker, error) {
	program, _ := build.Version()
	host, _ := os.Hostname() // unknown: all entries count as those of this host
	l := &looker{
		bus:     e.Bus,
		us:      us{host: host, backend: e.Transport(e.Backend), program: program},
		host:    func() hostSeen { return lookAtHost(os.DirFS("/")) },
		process: func(pid int) processSeen { return lookAtProcess(os.DirFS("/"), pid) },
		own:     ownAddresses,
		asker: func() (asker, error) {
			o, err := e.Observer()
			if err != nil {
				return nil, err // not a nil *Observer in an interface
			}
			return o, nil
		},
		tell: func(ctx context.Context, rows []overview.Row) map[string]*state.State { return clientsOf(ctx, e, rows) },
		dial: func() []directory.Entry { return dialersOf(e) },
	}
	guard, err := e.Guard()
	if err != nil {
		return nil, err
	}
	if guard != nil {
		l.self = func() *selfSeen { return lookAtSelf(guard.Access(), time.Now()) }
	}
	path, isFolder, err := directory.Folder(e.Bus)
	if err != nil {
		return nil, options.NameBus(err)
	}
	if isFolder {
		l.us.expiry, l.us.maxEntries = folderExpiry, cmp.Or(e.MaxEntries, maxEntries)
		look := file.Config{MaxFiles: e.MaxEntries}
		l.folder = func() folderSeen { return lookAtFolder(path, look) }
		l.again = func() (file.Survey, error) { return file.Look(path, look) }
	} else {
		d, err := e.Directory()
		if err != nil {
			return nil, err
		}
		l.us.expiry = otherExpiry
		l.list = d.List
	}
	if c.Expiry != nil {
		l.us.expiry = *c.Expiry
	}
	return l, nil
}

// clientsOf asks the clients that may say why they do not use a better transport.
func clientsOf(ctx context.Context, e *tool.Env, rows []overview.Row) map[string]*state.State {
	return e.ClientStates(ctx, overview.Telling(rows, dialersOf(e)))
}

// dialersOf returns the subscribers and senders that are listed, as far as they can be read: no
// program depends on their entries.
func dialersOf(e *tool.Env) []directory.Entry {
	d, err := e.Everyone()
	if err != nil {
		return nil
	}
	entries, _ := d.List()
	return slices.DeleteFunc(entries, func(e directory.Entry) bool { return !e.Role.IsClient() })
}
