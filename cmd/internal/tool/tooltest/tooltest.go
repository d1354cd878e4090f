// SPDX-License-Identifier: Apache-2.0

// Package tooltest reads and runs command lines of tagbus in tests, as package tagbus does.
package tooltest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/tool"
	"tagbus/internal/testkit"
)

// Read returns the command C, a struct of flags, that a command line without quotes makes.
//
//   - Errors: those of reading and of Check.
func Read[C any](line string) (*C, error) {
	c := new(C)
	parser, err := kong.New(c)
	if err != nil {
		return nil, err
	}
	if _, err = parser.Parse(strings.Fields(line)); err == nil {
		err = check(c)
	}
	return c, err
}

// MustRead is Read of a command line that makes sense.
func MustRead[C any](tb testing.TB, line string) *C {
	tb.Helper()
	c, err := Read[C](line)
	testkit.Must(tb, err)
	return c
}

// check checks a command that can be checked.
func check(command any) error {
	if c, ok := command.(cli.Flags); ok {
		return c.Check()
	}
	return nil
}

// Run runs a command that needs no bus, and returns what it wrote and its status. What is wrong with it stands behind what it
// wrote to standard error.
//
//   - commands: a pointer to a struct whose fields are the commands. --json is a flag of all.
func Run(ctx context.Context, tb testing.TB, commands any, args ...string) (out, errs string, status int) {
	tb.Helper()
	flags := struct {
		kong.Plugins
		JSON bool `name:"json"`
	}{Plugins: kong.Plugins{commands}}
	parser, err := kong.New(&flags)
	testkit.Must(tb, err)
	read, err := parser.Parse(args)
	testkit.Must(tb, err)
	var o, x bytes.Buffer
	env := &tool.Env{Flags: &tool.Flags{JSON: flags.JSON}, Streams: cli.Streams{Out: &o, Err: &x}}
	command := read.Selected().Target.Addr().Interface().(interface {
		tool.Busless
		Run(ctx context.Context, e *tool.Env) error
	})
	if command.NeedsBus() {
		tb.Errorf("%v needs a bus", args)
	}
	if err = check(command); err != nil {
		err = &cli.UsageError{Err: err}
	} else {
		err = command.Run(ctx, env)
	}
	if said := (*tool.StatusError)(nil); err != nil && !errors.As(err, &said) {
		fmt.Fprintln(&x, err)
	}
	return o.String(), x.String(), tool.Code(err)
}
