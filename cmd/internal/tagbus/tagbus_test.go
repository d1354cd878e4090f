// SPDX-License-Identifier: Apache-2.0

//go:build linux

package tagbus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/alecthomas/kong"

	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/tool"
	"tagbus/internal/testkit"
)

func TestEachCommandRunsAndHasHelp(t *testing.T) {
	app, err := Model()
	testkit.Must(t, err)
	for _, node := range append(app.Leaves(true), app.Children...) {
		if node.Help == "" {
			t.Errorf("%s has no help", node.Name)
		}
		if len(node.Children) > 0 {
			continue
		}
		target := node.Target.Addr().Interface()
		if _, ok := target.(command); !ok && programs[node.Name] == nil {
			t.Errorf("%s: %T has no method Run", node.Name, target)
		}
	}
	for name := range programs {
		if !strings.Contains(strings.Join(names(app.Children), " "), name) {
			t.Errorf("%s is no command of the help", name)
		}
	}
}

func names(nodes []*kong.Node) (all []string) {
	for _, n := range nodes {
		all = append(all, n.Name)
	}
	return all
}

// TestNoVariableMeansTwoFlags: those of publish and subscribe are the programs' own.
func TestNoVariableMeansTwoFlags(t *testing.T) {
	app, err := Model()
	testkit.Must(t, err)
	of := make(map[string]string)
	add := func(where string, flags []*kong.Flag) {
		for _, f := range flags {
			for _, variable := range f.Envs {
				if other, used := of[variable]; used {
					t.Errorf("%s: of %s --%s and of %s", variable, where, f.Name, other)
				}
				of[variable] = where + " --" + f.Name
			}
		}
	}
	add("tagbus", app.Flags)
	for _, node := range app.Leaves(true) {
		if !node.Passthrough {
			add(strings.TrimPrefix(node.Path(), "tagbus "), node.Flags)
		}
	}
	if of["TAGBUS_HZ_COUNT"] != "hz --count" || of["TAGBUS_BUS"] != "tagbus --bus" || of["TAGBUS_REC_CAT_PRINT"] != "rec cat --print" {
		t.Errorf("got %v, want TAGBUS_BUS, TAGBUS_HZ_COUNT and TAGBUS_REC_CAT_PRINT in it", of)
	}
}

// ending is a command that ends in some way.
type ending func(ctx context.Context, e *tool.Env) error

func (f ending) Run(ctx context.Context, e *tool.Env) error { return f(ctx, e) }

// closed is a pipe without a reader.
type closed struct{}

func (closed) Write([]byte) (int, error) { return 0, fmt.Errorf("write: %w", syscall.EPIPE) }

func TestHowACommandEnds(t *testing.T) {
	tests := []struct {
		name   string
		run    ending
		status int
		said   string
	}{
		{"done", func(context.Context, *tool.Env) error { return nil }, 0, ""},
		{"failed", func(context.Context, *tool.Env) error { return errors.New("x: gone\n\x1b[2J") }, 1, "tagbus: try: x: gone; \\x1b[2J\n"},
		{"makes no sense", func(context.Context, *tool.Env) error { return &cli.UsageError{Err: errors.New("no")} }, 2, "tagbus: try: no\n"},
		{"all was said", func(context.Context, *tool.Env) error { return &tool.StatusError{Code: 2} }, 2, ""},
		{"the reader has gone", func(ctx context.Context, e *tool.Env) error {
			_, err := fmt.Fprintln(e.Out, "row")
			if ctx.Err() == nil {
				return errors.New("the context goes on")
			}
			return err
		}, 0, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var errs bytes.Buffer
			status := runCommand(t.Context(), t.Context(), "try", test.run, new(tool.Flags), cli.Streams{Out: closed{}, Err: &errs})
			if status != test.status || errs.String() != test.said {
				t.Errorf("got status %d and %q, want %d and %q", status, &errs, test.status, test.said)
			}
		})
	}
}

func TestABusMustBeNamed(t *testing.T) {
	t.Setenv("TAGBUS_BUS", "")
	var errs bytes.Buffer
	status := Main([]string{"ls"}, cli.Streams{Err: &errs})
	if want := "tagbus: ls: " + tool.ErrNoBus.Error() + "\ntagbus: see tagbus ls --help\n"; status != 2 || errs.String() != want {
		t.Errorf("got status %d and %q, want 2 and %q", status, &errs, want)
	}
	var out bytes.Buffer
	if status := Main([]string{"completion", "zsh"}, cli.Streams{Out: &out}); status != 0 || !strings.HasPrefix(out.String(), "#compdef tagbus\n") {
		t.Errorf("completion: got status %d and %.40q, want a script", status, &out)
	}
}
