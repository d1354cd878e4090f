// SPDX-License-Identifier: Apache-2.0

// Package tool is what the commands of tagbus have in common: the bus that they look at, and
// what they write to.
package tool

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/alecthomas/kong"

	"tagbus/bus/directory"
	"tagbus/bus/observer"
	"tagbus/bus/state"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/overview"
	"tagbus/node"
)

// Flags are those of all commands.
type Flags struct {
	Bus     string        `placeholder:"DIR|URL" help:"Directory through which publishers and subscribers find each other: a folder, or etcd://HOST,HOST/NAME."`
	Backend string        `placeholder:"NAME" help:"Transport of the bus: tcp, tls, rdma or rdma:PROVIDER. Default tls with --cert, else tcp."`
	Timeout time.Duration `default:"2s" placeholder:"TIME" help:"How long an instance may take to answer. Default ${default}."`
	JSON    bool          `name:"json" help:"Print one JSON object a line instead of a table."`
	cli.Security
	Config  string           `placeholder:"FILE" help:"Read values of flags from a TOML file. Its keys are their names without the dashes in front: bus = \"/run/bus\". Those of a command are in a table of its name: [ls]."`
	Version kong.VersionFlag `help:"Print the version and stop."`
}

// Check reports what is wrong with the flags.
func (f *Flags) Check() error {
	if f.Timeout <= 0 {
		return fmt.Errorf("--timeout: got %v, want more than 0", f.Timeout)
	}
	return f.Security.Check(f.Backend)
}

// BusOf implements cli.BusUser.
func (f *Flags) BusOf(command any) string {
	if named, ok := command.(BusNamer); ok {
		return strange(named.Buses())
	}
	busless, ok := command.(Busless)
	optional, both := command.(BusOptional)
	if !ok || busless.NeedsBus() || both && optional.UsesBus() {
		return f.Bus
	}
	return ""
}

// Busless is a command that may not look at a bus.
type Busless interface {
	// NeedsBus reports whether --bus is missing if it is not given.
	NeedsBus() bool
}

// BusOptional is a Busless command that looks at a bus if one is given.
type BusOptional interface {
	// UsesBus reports whether a bus that is given is looked at.
	UsesBus() bool
}

// BusNamer is a Busless command that looks at buses of its own.
type BusNamer interface {
	// Buses returns them, as --bus has one.
	Buses() []string
}

// strange returns the first of some buses that the program cannot open, or "".
func strange(buses []string) string {
	for _, bus := range buses {
		if cli.CheckBus(bus) != nil {
			return bus
		}
	}
	return ""
}

// ErrNoBus is what is wrong with a command line without a bus.
var ErrNoBus = errors.New("missing flags: --bus=DIR|URL, or the environment variable TAGBUS_BUS")

// Env is what a command runs with. Its parts are opened when they are asked for first.
//
// Threads: one.
type Env struct {
	*Flags
	cli.Streams

	// Hurry ends at a second signal, when nothing is to be waited for any more. nil: never.
	Hurry context.Context

	guard    *cli.Guard
	node     *node.Node
	observer *observer.Observer
}

// Node returns the node through which the command looks at the bus.
func (e *Env) Node() (*node.Node, error) {
	if e.node != nil {
		return e.node, nil
	}
	g, err := e.Guard()
	if err != nil {
		return nil, err
	}
	n, err := node.Open(node.Config{Bus: e.Bus, Backend: e.Transport(e.Backend), Access: g.Access(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, cli.NameBus(err)
	}
	e.node = n
	return n, nil
}

// Guard returns the certificates and the policy of the command; nil if it has none. What is
// wrong with them later is written to standard error.
//
// Errors: those of cli.Security.Open.
func (e *Env) Guard() (g *cli.Guard, err error) {
	if e.guard == nil {
		e.guard, err = e.Open(func(level slog.Level, text string) {
			if level >= slog.LevelWarn {
				fmt.Fprintf(e.Err, "tagbus: warning: %s\n", text)
			}
		})
	}
	return e.guard, err
}

// Observer returns what asks instances for their state.
func (e *Env) Observer() (*observer.Observer, error) {
	if e.observer != nil {
		return e.observer, nil
	}
	n, err := e.Node()
	if err != nil {
		return nil, err
	}
	o, err := n.NewObserver(observer.Config{Name: "tagbus", Timeout: e.Timeout})
	if err != nil {
		return nil, err
	}
	e.observer = o
	return o, nil
}

// Watcher returns what looks at the whole bus.
func (e *Env) Watcher() (*overview.Watcher, error) {
	o, err := e.Observer()
	if err != nil {
		return nil, err
	}
	d, err := e.Directory()
	if err != nil {
		return nil, err
	}
	return overview.New(d, worded{o}), nil
}

// worded asks as another, and says what failed in the words of the command line.
type worded struct{ overview.Asker }

// Ask implements overview.Asker.
func (w worded) Ask(ctx context.Context, d directory.Entry, q state.Question) (state.State, error) {
	s, err := w.Asker.Ask(ctx, d, q)
	if err != nil {
		err = &wordedError{err}
	}
	return s, err
}

// wordedError is an error with the text that cli.Text gives it.
type wordedError struct{ err error }

// Error says what failed.
func (e *wordedError) Error() string { return cli.Text(e.err) }

// Unwrap returns the error.
func (e *wordedError) Unwrap() error { return e.err }

// Close closes what was opened.
func (e *Env) Close() error {
	defer e.guard.Close() // after what asks it
	if e.node == nil {
		return nil
	}
	return e.node.Close() // with the observer
}

// StatusError ends a command with a status of its own, when all was said already.
type StatusError struct{ Code int }

// Error says the status.
func (e *StatusError) Error() string { return fmt.Sprintf("status %d", e.Code) }

// Code returns the exit status for what a command returned.
func Code(err error) int {
	if status := (*StatusError)(nil); errors.As(err, &status) {
		return status.Code
	}
	return cli.Code(err)
}
