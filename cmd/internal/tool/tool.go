// SPDX-License-Identifier: Apache-2.0

// Package tool is what the commands of tagbus have in common: the bus that they look at, and
// what they write to.
package tool

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/alecthomas/kong"

	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/options"
)

// Flags are those of all commands.
type Flags struct {
	Bus        string        `placeholder:"DIR|URL" help:"Directory through which publishers and subscribers find each other: a folder, or etcd://HOST,HOST/NAME."`
	Backend    string        `placeholder:"NAME" help:"Transport of the bus: auto, or some of shm, tcp, tls, rdma, rdma:PROVIDER and rdma:PROVIDER@DEVICE with commas between them. Default auto, which is shm,tls with --cert."`
	Timeout    time.Duration `default:"2s" placeholder:"TIME" help:"How long an instance may take to answer. Default ${default}."`
	JSON       bool          `name:"json" help:"Print one JSON object a line instead of a table."`
	MaxEntries int           `placeholder:"N" help:"How many entries of programs that may live are followed in a folder, as the programs of the bus have it. Default 4096."`
	cli.Security
	Config  string           `placeholder:"FILE" help:"Read values of flags from a TOML file. Its keys are their names without the dashes in front: bus = \"/run/bus\". Those of a command are in a table of its name: [ls]."`
	Version kong.VersionFlag `help:"Print the version and stop."`
}

// Check reports what is wrong with the flags.
func (f *Flags) Check() error {
	if f.Timeout <= 0 {
		return fmt.Errorf("--timeout: got %v, want more than 0", f.Timeout)
	}
	return errors.Join(options.CheckEntries(f.MaxEntries), f.Security.Check(f.Backend))
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

// NoBus is what a command embeds that never looks at one.
type NoBus struct{}

// NeedsBus implements Busless.
func (NoBus) NeedsBus() bool { return false }

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
		if options.CheckBus(bus) != nil {
			return bus
		}
	}
	return ""
}

// CheckHead reports what is wrong with --head.
func CheckHead(n int) error {
	if n < 0 {
		return fmt.Errorf("--head: got %d, want 1 or more", n)
	}
	return nil
}

// First returns the rows that --head leaves; 0: all.
func First[R any](rows []R, head int) []R {
	if head > 0 {
		rows = rows[:min(head, len(rows))]
	}
	return rows
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

	opened
}

// StatusError ends a command with a status of its own, when all was said already.
type StatusError struct{ Code int }

// Error says the status.
func (e *StatusError) Error() string { return fmt.Sprintf("status %d", e.Code) }

// Status returns what a command returns to end with a status: nil for that of success.
func Status(code int) error {
	if code == cli.ExitDone {
		return nil
	}
	return &StatusError{code}
}

// Code returns the exit status for what a command returned.
func Code(err error) int {
	if status := (*StatusError)(nil); errors.As(err, &status) {
		return status.Code
	}
	return cli.Code(err)
}
