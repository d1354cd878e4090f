// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package targets is the command tagbus targets, which lists what Prometheus scrapes.
package targets

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tagbus/bus/directory"
	"tagbus/bus/directory/signed"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/overview"
	"tagbus/cmd/internal/tool"
	"tagbus/cmd/internal/units"
	"tagbus/internal/sanitize"
	"tagbus/internal/stuck"
)

// Command is the command line of targets.
type Command struct {
	Output string     `short:"o" placeholder:"FILE" help:"Write to this file instead, in one step, so that a reader sees all of a list or all of the next one."`
	Watch  tool.Watch `placeholder:"[TIME]" help:"Look again and again, each TIME; with --output the file is written when something has changed. Default 2s."`
}

// Check reports what is wrong with the flags.
func (c *Command) Check() error {
	if strings.HasSuffix(c.Output, string(filepath.Separator)) {
		return fmt.Errorf("--output: got the folder %s, want a file", c.Output)
	}
	return nil
}

// Run runs the command.
func (c *Command) Run(ctx context.Context, e *tool.Env) error {
	d, err := e.Everyone()
	if err != nil {
		return err
	}
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("which entries are of this host cannot be seen: %w", err)
	}
	l := &lister{Command: c, env: e, host: host}
	l.read()
	quiet := *e // the list is JSON, and of several only the newest counts
	flags := *e.Flags
	flags.JSON = true
	quiet.Flags = &flags
	return quiet.Repeat(ctx, c.Watch, func(ctx context.Context, out io.Writer) error {
		entries, err := d.List()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return l.show(out, entries, err)
	})
}

// lister is one run of the command.
type lister struct {
	*Command
	env   *tool.Env
	host  string  // this one
	last  []byte  // what was written last; nil: nothing
	known []Group // what it says, or the file before
	notes string  // what was said last
}

// read takes the targets that an earlier run has left in the file. Those of another program are none.
func (l *lister) read() {
	if info, err := stuck.Stat(l.Output); err != nil || !info.Mode().IsRegular() { // a pipe would be waited for
		return
	}
	if text, err := stuck.ReadFile(l.Output); err == nil && json.Unmarshal(text, &l.known) != nil {
		l.known = nil
	}
}

// show writes what a look has found.
//
//   - problem: of the directory. If nothing is known because of it, the list that was
//     written before stays, and so do targets whose entries may be missing because of it:
//     Prometheus goes on asking the programs that it knows.
func (l *lister) show(out io.Writer, entries []directory.Entry, problem error) error {
	if problem != nil && len(entries) == 0 {
		if l.Watch == 0 {
			return l.env.Problem(problem)
		}
		l.say(cli.Text(l.env.Problem(problem)))
		return nil
	}
	groups, left := Of(entries, l.host)
	groups = with(groups, l.missing(problem))
	text, err := marshal(groups)
	if err != nil {
		return err
	}
	if l.Output == "" {
		_, err = out.Write(text)
	} else if l.last == nil || !bytes.Equal(text, l.last) {
		err = replace(l.Output, text)
	}
	if err != nil {
		return err
	}
	l.last, l.known = text, groups
	var notes []string
	if left.Unserved > 0 {
		notes = append(notes, units.FormatNumber(left.Unserved, "program")+" without metrics: start them with --metrics")
	}
	if left.Unreachable > 0 {
		notes = append(notes, units.FormatNumber(left.Unreachable, "program")+" of other hosts with metrics that only their own host reaches: give --metrics an address of the network")
	}
	if problem != nil {
		notes = append(notes, cli.Text(problem))
	}
	l.say(strings.Join(notes, "\n"))
	if l.Watch == 0 && directory.Incomplete(problem) != nil {
		return &tool.StatusError{Code: cli.ExitFailed}
	}
	return nil
}

// missing returns the targets known before whose entries a look may lack: all while the directory does not answer, and
// those of entries that it has and does not show, as their certificate has ended. One damaged file keeps no target: it
// may be there for years, and its program writes it again.
func (l *lister) missing(problem error) []Group {
	var refused []string
	for p := range directory.Problems(problem) {
		if r, ok := errors.AsType[*signed.RefusedError](p); ok {
			refused = append(refused, r.Instance)
		} else if !errors.Is(p, directory.ErrHarmless) && !errors.Is(p, directory.ErrHidden) {
			return l.known
		}
	}
	var kept []Group
	for _, g := range l.known {
		if slices.ContainsFunc(strings.Split(g.Labels[labelInstance], ","), func(instance string) bool { return slices.Contains(refused, instance) }) {
			kept = append(kept, g)
		}
	}
	return kept
}

// with returns groups, and those known before whose monitor none of them has, in order.
func with(groups, known []Group) []Group {
	listed := make(map[string]bool)
	for _, g := range groups {
		listed[g.Targets[0]] = true
	}
	for _, g := range known {
		if len(g.Targets) == 1 && !listed[g.Targets[0]] {
			groups = append(groups, g)
		}
	}
	slices.SortFunc(groups, order)
	return groups
}

// order compares targets by their place in a list.
func order(a, b Group) int {
	return cmp.Or(cmp.Compare(a.Labels[labelHost], b.Labels[labelHost]), cmp.Compare(a.Targets[0], b.Targets[0]))
}

// say writes notes that differ from those before.
func (l *lister) say(notes string) {
	if notes != l.notes && notes != "" {
		for line := range strings.SplitSeq(notes, "\n") {
			fmt.Fprintln(l.env.Err, sanitize.Line(line))
		}
	}
	l.notes = notes
}

// Group is a target in the form of Prometheus.
type Group struct {
	Targets []string          `json:"targets"`
	Labels  map[string]string `json:"labels"`
}

// LeftOut counts the entries that are no targets.
type LeftOut struct {
	Unserved    uint64 // their programs serve no metrics
	Unreachable uint64 // their metrics are on the loopback interface of another host
}

// The labels of a target. Prometheus keeps none of them by itself: metrics have labels name
// and host with another meaning.
const (
	labelInstance = "__meta_tagbus_instance"
	labelName     = "__meta_tagbus_name"
	labelHost     = "__meta_tagbus_host"
	labelRole     = "__meta_tagbus_role"
)

// Of returns a target for each monitor that entries name, in order.
//
//   - host: of the program that reads them.
//   - Labels: of a program with several entries, those of the entries with commas between.
func Of(entries []directory.Entry, host string) (groups []Group, left LeftOut) {
	byMonitor := make(map[string][]*directory.Entry)
	for i := range entries {
		e := &entries[i]
		switch {
		case !e.Monitor.IsValid():
			left.Unserved++
		case e.Monitor.Addr().Unmap().IsLoopback() && e.Host != host:
			left.Unreachable++
		default:
			at := e.Monitor.String()
			byMonitor[at] = append(byMonitor[at], e)
		}
	}
	for at, of := range byMonitor {
		all := func(field func(*directory.Entry) string) string {
			var texts []string
			for _, e := range of {
				if text := field(e); text != "" && !slices.Contains(texts, text) {
					texts = append(texts, text)
				}
			}
			slices.Sort(texts)
			return strings.Join(texts, ",")
		}
		groups = append(groups, Group{Targets: []string{at}, Labels: map[string]string{
			labelInstance: all(func(e *directory.Entry) string { return e.Instance }),
			labelName:     all(func(e *directory.Entry) string { return e.Name }),
			labelHost:     all(func(e *directory.Entry) string { return e.Host }),
			labelRole:     all(func(e *directory.Entry) string { return string(overview.RoleOf(e)) }),
		}})
	}
	slices.SortFunc(groups, order)
	return groups, left
}

// marshal returns groups as an array of which each line is a target.
func marshal(groups []Group) ([]byte, error) {
	text := []byte("[")
	for i, g := range groups {
		if i > 0 {
			text = append(text, ',')
		}
		line, err := json.Marshal(g)
		if err != nil {
			return nil, err
		}
		text = append(append(text, "\n  "...), line...)
	}
	if len(groups) > 0 {
		text = append(text, '\n')
	}
	return append(text, "]\n"...), nil
}

// replace makes text the content of a file, which others always see as a whole.
func replace(name string, text []byte) (err error) {
	f, err := stuck.CreateTemp(name, "."+filepath.Base(name)+".*.tmp") // Prometheus reads no such name
	if err != nil {
		return fmt.Errorf("--output: %w", cli.FileError(name, err))
	}
	defer func() {
		if err != nil {
			_ = stuck.Remove(f.Name()) // it is not there if its creation failed
			err = fmt.Errorf("--output: %w", cli.FileError(name, err))
		}
	}()
	_, err = f.Write(text)
	if err == nil {
		err = f.Chmod(0o644) // Prometheus is another user
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = stuck.Rename(f.Name(), name)
	}
	return err
}
